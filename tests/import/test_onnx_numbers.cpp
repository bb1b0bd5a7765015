// ONNX's operators on numbers that the file has, which an import computes itself, some that models compute
// with seldom, and the sentence of each that cannot be: one row each. The official cases are tests/onnx.
#include <cstring>

#include "tests/import/onnx_nodes.h"

namespace {
using namespace volta;
using namespace volta::test;

// What rows may name, beside the input x: 1, 2, 3, 4, 5, 6.
const Messages& constants() {
    static const Messages all = {
        int_tensor("a", {2, 3}, {5, -3, 2, 0, 7, -8}),
        int_tensor("b", {3}, {2, -2, 3}),
        int_tensor("c", {3}, {4, -9, 3}),
        int_tensor("i", {2}, {1, 0}),
        int_tensor("zero", {1}, {0}),
        int_tensor("one", {1}, {1}),
        int_tensor("two", {1}, {2}),
        int_tensor("five", {1}, {5}),
        int_tensor("minus", {1}, {-1}),
        int_tensor("minus five", {1}, {-5}),
        int_tensor("huge", {1}, {std::int64_t{1} << 40}),
        int_tensor("two two", {2}, {2, 2}),
        int_tensor("minus two", {2}, {-1, 2}),
        int_tensor("one two", {2}, {1, 2}),
        int_tensor("deep", {2, 1}, {2, 0}),
        int_tensor("ids", {3}, {1, -1, 5}),
        int_tensor("depth", {1}, {3}),
        int_tensor("pads", {4}, {0, -1, 0, 1}),
        int_tensor("far pads", {4}, {std::int64_t{1} << 40, 0, 0, 0}),
        int_tensor("too many pads", {4}, {0, -2, 0, -2}),
        float_tensor("r", {4}, {0.5f, 1.5f, -2.5f, 2.25f}),
        float_tensor("s", {4}, {1, 0, -2, 9}),
        float_tensor("off on", {2}, {0, 1}),
        float_tensor("scale", {2}, {1, 3}),
        float_tensor("bias", {2}, {0, 10}),
        float_tensor("w", {1, 1, 2}, {1, 2}),
        raw_tensor("t", kBool, {2}, std::vector<std::int8_t>{1, 0}),
        raw_tensor("f", kBool, {2}, std::vector<std::int8_t>{0, 0}),
    };
    return all;
}

OnnxGraph graph_of(const Messages& nodes, std::int64_t opset, const Names& extents) {
    OnnxGraph graph{nodes, constants(), {port("x", kFloat, extents)}, {port("y", kFloat, {})}};
    graph.opset = opset;
    return graph;
}

// Real numbers that are no weights.
std::string listed(const std::string& name, const std::vector<float>& values) {
    return node("Constant", {}, {name}, {floats_attribute("value_floats", values)});
}
std::string halves() { return listed("q", {0.5f, 1.5f, -2.5f, 2.25f}); }

struct Computed {
    Messages nodes;  // one of them gives y
    std::vector<float> expected;
    std::int64_t opset = 17;
    Names extents = {"2", "3"};
};
// clang-format off
const Computed kComputed[] = {
    // Known numbers.
    {{node("Floor", {"r"}, {"y"})}, {0, 1, -3, 2}},
    {{node("Ceil", {"r"}, {"y"})}, {1, 2, -2, 3}},
    {{node("Round", {"r"}, {"y"})}, {0, 2, -2, 2}},
    {{node("And", {"t", "f"}, {"y"})}, {0, 0}},
    {{node("Or", {"t", "f"}, {"y"})}, {1, 0}},
    {{node("Xor", {"t", "t"}, {"y"})}, {0, 0}},
    {{node("Less", {"r", "s"}, {"y"})}, {1, 0, 1, 1}},
    {{node("BitwiseAnd", {"a", "b"}, {"y"})}, {0, -4, 2, 0, 6, 0}, 18},
    {{node("BitwiseOr", {"a", "b"}, {"y"})}, {7, -1, 3, 2, -1, -5}, 18},
    {{node("Max", {"a", "b", "c"}, {"y"})}, {5, -2, 3, 4, 7, 3}},
    {{node("Min", {"a", "b", "c"}, {"y"})}, {2, -9, 2, 0, -9, -8}},
    {{node("Max", {"b"}, {"y"})}, {2, -2, 3}},
    {{node("Cast", {"s"}, {"y"}, {int_attribute("to", kBool)})}, {1, 0, 1, 1}},
    {{node("Cast", {"r"}, {"y"}, {int_attribute("to", kInt64)})}, {0, 1, -2, 2}},
    {{node("CastLike", {"r", "b"}, {"y"})}, {0, 1, -2, 2}},
    {{node("Transpose", {"a"}, {"y"})}, {5, 0, -3, 7, 2, -8}},
    {{node("Transpose", {"a"}, {"y"}, {ints_attribute("perm", {1, 0})})}, {5, 0, -3, 7, 2, -8}},
    {{node("Tile", {"b", "two"}, {"y"})}, {2, -2, 3, 2, -2, 3}},
    {{node("Tile", {"a", "one two"}, {"y"})}, {5, -3, 2, 5, -3, 2, 0, 7, -8, 0, 7, -8}},
    {{node("ReduceProd", {"a"}, {"y"}, {ints_attribute("axes", {1})})}, {-30, 0}},
    {{node("ReduceMax", {"a"}, {"y"}, {ints_attribute("axes", {0})})}, {5, 7, 2}},
    {{node("ReduceMin", {"a"}, {"y"}, {ints_attribute("axes", {0}), int_attribute("keepdims", 0)})}, {0, -3, -8}},
    {{node("Split", {"a"}, {"other", "y"}, {int_attribute("axis", 0)})}, {0, 7, -8}},
    {{node("Split", {"a"}, {"y", "other"}, {int_attribute("axis", 1), ints_attribute("split", {2, 1})})}, {5, -3, 0, 7}, 11},
    {{node("GatherElements", {"b", "i"}, {"y"})}, {-2, 2}},
    {{node("Constant", {}, {"y"}, {float_attribute("value_float", 2.5f)})}, {2.5f}},
    {{node("Constant", {}, {"y"}, {floats_attribute("value_floats", {1, -2.5f})})}, {1, -2.5f}},
    {{halves(), node("Floor", {"q"}, {"y"})}, {0, 1, -3, 2}},
    {{halves(), node("Round", {"q"}, {"y"})}, {0, 2, -2, 2}},
    {{halves(), listed("p", {1, 0, -2, 9}), node("Less", {"q", "p"}, {"y"})}, {1, 0, 1, 1}},
    {{halves(), node("Cast", {"q"}, {"y"}, {int_attribute("to", kBool)})}, {1, 1, 1, 1}},
    {{halves(), node("Cast", {"q"}, {"y"}, {int_attribute("to", kInt64)})}, {0, 1, -2, 2}},
    {{halves(), node("CastLike", {"q", "b"}, {"y"})}, {0, 1, -2, 2}},
    {{halves(), node("GatherElements", {"q", "i"}, {"y"})}, {1.5f, 0.5f}},
    // With the input.
    {{node("OneHot", {"ids", "depth", "off on"}, {"y"})}, {0, 1, 0, 0, 0, 1, 0, 0, 0}},
    {{node("Pad", {"x", "pads"}, {"y"})}, {2, 3, 0, 5, 6, 0}},
    {{node("Trilu", {"x"}, {"y"})}, {1, 2, 3, 0, 5, 6}},
    {{node("Trilu", {"x", "one"}, {"y"}, {int_attribute("upper", 0)})}, {1, 2, 0, 4, 5, 6}},
    {{node("LpNormalization", {"x"}, {"y"}, {int_attribute("p", 1)})}, {1 / 6.f, 2 / 6.f, 3 / 6.f, 4 / 15.f, 5 / 15.f, 6 / 15.f}},
    {{node("LpNormalization", {"x"}, {"y"}, {int_attribute("axis", 0)})}, {0.242536f, 0.371391f, 0.447214f, 0.970143f, 0.928477f, 0.894427f}},
    {{node("Swish", {"x"}, {"y"})}, {0.731059f, 1.761594f, 2.857722f, 3.928055f, 4.966536f, 5.985164f}, 24},
    {{node("Swish", {"x"}, {"y"}, {float_attribute("alpha", 2)})}, {0.880797f, 1.964028f, 2.992582f, 3.998659f, 4.999773f, 5.999963f}, 24},
    {{node("GroupNormalization", {"x", "scale", "bias"}, {"y"}, {int_attribute("num_groups", 2), float_attribute("epsilon", 0)})},
     {-1, 1, 7, 13}, 18, {"1", "4", "1"}},
    {{node("IsInf", {"x"}, {"y"}, {int_attribute("detect_negative", 0), int_attribute("detect_positive", 0)})}, {0, 0, 0, 0, 0, 0}},
    {{node("Einsum", {"x", "x"}, {"y"}, {text_attribute("equation", "...i,...i->...")})}, {14, 77}},
    {{node("ArgMax", {"x"}, {"at"}, {int_attribute("axis", 1)}), node("Cast", {"at"}, {"y"}, {int_attribute("to", kBool)})}, {1, 1}},
};

struct Refused {
    Messages nodes;
    const char* text;
    std::int64_t opset = 17;
    Names extents = {"2", "3"};
};
const Refused kRefused[] = {
    {{node("Add", {"a", "two two"}, {"y"})}, "[2, 3] does not broadcast with [2]"},
    {{node("Expand", {"one", "huge"}, {"y"})}, "has more than"},
    {{node("Reshape", {"b", "two two"}, {"y"})}, "[3] does not become [2, 2]"},
    {{node("Reshape", {"b", "minus two"}, {"y"})}, "[3] does not become its shape: 3 elements by 2"},
    {{node("Reshape", {"b", "minus five"}, {"y"})}, "its shape has an extent of -5"},
    {{node("Where", {"b", "a", "a"}, {"y"})}, "its inputs are int64, int64 and int64"},
    {{node("Concat", {"a", "b"}, {"y"}, {int_attribute("axis", 0)})}, "its input 1 has the shape [3]"},
    {{node("Slice", {"a", "i", "two"}, {"y"})}, "it has 2 starts, 1 ends, 2 axes and 0 steps"},
    {{node("Split", {"b", "five"}, {"y"})}, "a part has 5 elements"},
    {{node("Transpose", {"a"}, {"y"}, {ints_attribute("perm", {0})})}, "its perm has 1 axes"},
    {{node("Transpose", {"a"}, {"y"}, {ints_attribute("perm", {0, 0})})}, "its perm is no order of the axes"},
    {{node("Tile", {"b", "two two"}, {"y"})}, "it has 2 repeats"},
    {{node("Tile", {"b", "minus"}, {"y"})}, "it repeats -1 times"},
    {{node("Range", {"b", "one", "one"}, {"y"})}, "its inputs are not three numbers of one type"},
    {{node("Div", {"b", "zero"}, {"y"})}, "it divides an integer by 0"},
    {{node("GatherElements", {"b", "five"}, {"y"})}, "its index 5 is none of 3"},
    {{node("GatherElements", {"a", "i"}, {"y"})}, "its indices [2] have other axes than [2, 3]"},
    {{listed("q", {1e30f}), node("Cast", {"q"}, {"y"}, {int_attribute("to", kInt64)})}, "an element of 1e+30 becomes no integer"},
    {{listed("q", {1, 2, 3}), node("Add", {"b", "q"}, {"y"})}, "its inputs are int64 and float"},
    // Of the input, whose elements an import does not know.
    {{node("Flatten", {"x"}, {"y"}, {int_attribute("axis", 5)})}, "its axis 5 is none of 2"},
    {{node("Squeeze", {"x", "one"}, {"y"})}, "axis 1 of [2, 3] is not 1"},
    {{node("Concat", {"x", "b"}, {"y"}, {int_attribute("axis", 0)})}, "its inputs are float and int64"},
    {{node("Split", {"x"}, {"y", "z"}, {int_attribute("axis", 1)})}, "3 elements are no 2 equal parts"},
    {{node("Split", {"x", "two two"}, {"y", "z"}, {int_attribute("axis", 1)})}, "its part 1 has 2 elements"},
    {{node("Split", {"x", "b"}, {"y", "z"}, {int_attribute("axis", 1)})}, "it has 3 parts and 2 outputs"},
    {{node("Split", {"x", "two"}, {"y"}, {int_attribute("axis", 1)})}, "its parts have 2 of 3 elements"},
    {{node("Slice", {"x", "i", "two"}, {"y"})}, "it has 2 starts, 1 ends, 2 axes and 2 steps"},
    {{node("Gather", {"x", "five"}, {"y"})}, "its index 5 is none of 2"},
    {{node("Expand", {"x", "two two"}, {"y"})}, "[2, 3] does not broadcast with [2, 2]"},
    {{node("Tile", {"x", "b"}, {"y"})}, "it has 3 repeats for 2 axes"},
    {{node("Tile", {"x", "minus two"}, {"y"})}, "it repeats -1 times"},
    {{node("DepthToSpace", {"x"}, {"y"}, {int_attribute("blocksize", 3)})}, "[1, 4, 2, 2] has no blocks of 3", 17, {"1", "4", "2", "2"}},
    {{node("SpaceToDepth", {"x"}, {"y"}, {int_attribute("blocksize", 3)})}, "[1, 4, 2, 2] has no blocks of 3", 17, {"1", "4", "2", "2"}},
    {{node("Trilu", {"x"}, {"y"})}, "its matrices are [3]", 17, {"3"}},
    {{node("GatherND", {"x", "a"}, {"y"})}, "its indices name 3 axes of [2, 3]"},
    {{node("Pad", {"x", "far pads"}, {"y"})}, "it pads by 1099511627776"},
    {{node("Pad", {"x", "huge"}, {"y"})}, "it has 1 pads for 2 axes"},
    {{node("Pad", {"x", "too many pads"}, {"y"})}, "it takes more than there is of axis 1"},
    {{node("Unsqueeze", {"x", "a"}, {"y"})}, "it names an axis twice"},
    {{node("MatMul", {"x", "x"}, {"y"})}, "[2, 3]"},
    {{node("Gemm", {"x", "r"}, {"y"})}, "its inputs are [2, 3] and [4]"},
    {{node("Gemm", {"x", "x", "r"}, {"y"}, {int_attribute("transB", 1)})}, "its C [4] does not broadcast to [2, 2]"},
    {{node("Einsum", {"x", "x"}, {"y"}, {text_attribute("equation", "ij->i")})}, "its equation has 1 terms for 2 inputs"},
    {{node("Einsum", {"x"}, {"y"}, {text_attribute("equation", "ijk->i")})}, "its equation has 3 letters for 2 axes"},
    {{node("Einsum", {"x"}, {"y"}, {text_attribute("equation", "i_j->i")})}, "its equation has a character that is none of an equation"},
    {{node("PRelu", {"x", "r"}, {"y"})}, "its slope [4] does not broadcast to [2, 3]"},
    {{node("OneHot", {"ids", "depth", "r"}, {"y"})}, "its values are [4]"},
    {{node("ReduceProd", {"x"}, {"y"}, {int_attribute("noop_with_empty_axes", 1)})}, "it reduces no axis, by its noop_with_empty_axes", 18},
    {{node("GroupNormalization", {"x", "scale", "bias"}, {"y"}, {int_attribute("num_groups", 2)})}, "3 channels are no 2 groups", 18},
    {{node("MaxPool", {"x"}, {"y"}, {ints_attribute("kernel_shape", {2, 2})})}, "its kernel_shape has 2 entries for 1 spatial axes", 17, {"1", "1", "4"}},
    {{node("MaxPool", {"x"}, {"y"}, {ints_attribute("kernel_shape", {2}), ints_attribute("strides", {1, 1})})}, "its strides has 2 entries for 1 axes", 17, {"1", "1", "4"}},
    {{node("MaxPool", {"x"}, {"y"}, {ints_attribute("kernel_shape", {2}), ints_attribute("strides", {-1})})}, "its strides has an entry of -1", 17, {"1", "1", "4"}},
    {{node("MaxPool", {"x"}, {"y"}, {ints_attribute("kernel_shape", {2}), ints_attribute("strides", {0})})}, "its window has 2 taps, a stride of 0 and a dilation of 1", 17, {"1", "1", "4"}},
    {{node("Resize", {"x", "", "r"}, {"y"})}, "it has 4 scales for 2 axes"},
    {{node("Resize", {"x", "", "", "b"}, {"y"})}, "it has 3 sizes for 2 axes"},
    {{node("Resize", {"x", "", "bias"}, {"y"})}, "its scale of axis 0 is 0"},
    {{node("QuantizeLinear", {"x", "r"}, {"y"})}, "its input 1 is [4]"},
    {{node("Attention", {"x", "x", "x"}, {"y"}, {int_attribute("q_num_heads", 2), int_attribute("kv_num_heads", 2)})}, "a width of 3 is not divided by 2 heads", 23, {"1", "2", "3"}},
    {{node("Attention", {"x", "x", "x"}, {"y"}, {int_attribute("q_num_heads", 3), int_attribute("kv_num_heads", 2)})}, "it has 3 query heads and 2 of keys", 23, {"1", "2", "3"}},
    {{node("Attention", {"x", "x", "x"}, {"y"}, {int_attribute("q_num_heads", 1), int_attribute("kv_num_heads", 1)})}, "its inputs are [2, 3], [2, 3] and [2, 3]", 23},
    {{node("Softmax", {"x"}, {"y"}, {int_attribute("axis", 7)})}, "its axis 7 is none of 2 axes"},
    {{node("Gather", {"x", "huge"}, {"y"})}, "1099511627776"},
    {{node("NegativeLogLikelihoodLoss", {"x", "a"}, {"y"})}, "its inputs are [2, 3] and [2, 3]"},
    {{node("ScatterND", {"x", "deep", "x"}, {"y"})}, "its index 2 is none of 2"},
    {{node("ScatterElements", {"x", "a", "r"}, {"y"})}, "none of 2"},
    {{node("Conv", {"x", "w"}, {"y"})}, "its weight is [1, 1, 2]", 17, {"1", "1", "4", "4"}},
    {{node("Conv", {"x", "w"}, {"y"}, {ints_attribute("kernel_shape", {3})})}, "its kernel_shape is not that of its weight [1, 1, 2]", 17, {"1", "1", "4"}},
    {{node("ConvTranspose", {"x", "w"}, {"y"}, {ints_attribute("output_shape", {3, 3})})}, "its output_shape has 2 entries", 17, {"1", "1", "4"}},
    {{node("ConvTranspose", {"x", "w"}, {"y"}, {ints_attribute("output_shape", {-3})})}, "its output_shape has an entry of -3", 17, {"1", "1", "4"}},
    {{node("ConvTranspose", {"x", "w"}, {"y"}, {ints_attribute("strides", {0})})}, "its strides, dilations or kernel have an entry of 0", 17, {"1", "1", "4"}},
    {{node("RNN", {"x", "w", "w"}, {"y"}, {texts_attribute("activations", {"Relu"})})}, "its activations are not the usual ones", 17, {"1", "1", "2"}},
    {{node("RNN", {"x", "w", "w"}, {"y"}, {int_attribute("hidden_size", 2)})}, "its weights are [1, 1, 2] and [1, 1, 2]", 17, {"1", "1", "2"}},
    {{node("RotaryEmbedding", {"x", "w", "w"}, {"y"})}, "its cosines or sines are", 23, {"1", "1", "2", "2"}},
};
// clang-format on

// The first output, where the input is 1, 2, 3, ...
std::vector<float> run_counted(const Model& model, OnnxWorld& world) {
    std::pmr::vector<EvalTensor<float>> tensors(model.graph.values.size(), world.heap.structures());
    std::size_t parameter = 0;
    for (const SourceInfo& source : model.graph.sources) {
        const Node& node = model.graph.node(source.node);
        auto& tensor = tensors[static_cast<std::size_t>(node.first_output)];
        const auto count = static_cast<std::size_t>(model.graph.shape(node.first_output).elements());
        if (node.op == Op::parameter) {
            const float* data = static_cast<const float*>(model.parameters[parameter++].data);
            tensor.real.assign(data, data + count);
        } else {
            for (std::size_t i = 0; i < count; ++i) tensor.real.push_back(static_cast<float>(i + 1));
        }
    }
    evaluate(model.graph, tensors);
    const auto& result = tensors[static_cast<std::size_t>(model.graph.outputs[0].value)];
    return {result.real.begin(), result.real.end()};
}

void test_what_is_computed(void**) {
    OnnxWorld world;
    int wrong = 0;
    for (const Computed& row : kComputed) {
        OnnxGraph graph = graph_of(row.nodes, row.opset, row.extents);
        // Whatever y's type is, as real numbers beside the input.
        graph.nodes.push_back(node("Cast", {"y"}, {"real"}, {int_attribute("to", kFloat)}));
        graph.nodes.push_back(node("Sub", {"x", "x"}, {"none"}));
        graph.nodes.push_back(node("ReduceSum", {"none"}, {"nothing"}, {int_attribute("keepdims", 0)}));
        graph.nodes.push_back(node("Add", {"real", "nothing"}, {"sum"}));
        graph.outputs = {port("sum", kFloat, {})};
        std::vector<float> found;
        const Failure failure = failure_of([&] { found = run_counted(*world.import(graph), world); });
        bool same = found.size() == row.expected.size();
        for (std::size_t i = 0; same && i < found.size(); ++i)
            same = std::fabs(found[i] - row.expected[i]) <= 2e-6f * std::fmax(1.0f, std::fabs(found[i]));
        if (same) continue;
        ++wrong;
        print_error("row %d: %s", static_cast<int>(&row - kComputed), failure.text);
        for (const float value : found) print_error(" %.7g", static_cast<double>(value));
        print_error("\n");
    }
    assert_int_equal(wrong, 0);
}

void test_what_is_refused(void**) {
    OnnxWorld world;
    int wrong = 0;
    for (const Refused& row : kRefused) {
        const Failure failure =
            failure_of([&] { world.import(graph_of(row.nodes, row.opset, row.extents)); });
        if (failure.status != VOLTA_OK && std::strstr(failure.text, row.text) != nullptr) continue;
        ++wrong;
        print_error("row %d, '%s': %s\n", static_cast<int>(&row - kRefused), row.text, failure.text);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(world.heap.held, 0);
}

// What is wrong before any operator is looked at.
struct RefusedFile {
    void (*change)(OnnxGraph& graph);
    const char* text;
};
constexpr int kString = 8;
// clang-format off
const RefusedFile kRefusedFiles[] = {
    {[](OnnxGraph& g) { g.inputs = {port("x", kString, {"2"})}; }, "the input 'x' is of string, which is not imported"},
    {[](OnnxGraph& g) { g.inputs = {port("step/x", kFloat, {"2"})}; }, "the input 'step/x' takes a name that is kept for training"},
    {[](OnnxGraph& g) { g.outputs = {port("z", kFloat, {})}; }, "no node writes 'z', which the output 'z' is"},
    {[](OnnxGraph& g) { g.outputs.clear(); }, "its graph has no outputs"},
    {[](OnnxGraph& g) { g.initializers = {raw_tensor("w", kString, {1}, std::vector<float>{1})}; }, "its input 1 is string, of which a model computes nothing"},
    {[](OnnxGraph& g) { g.initializers = {float_tensor("w", std::vector<std::int64_t>(9, 1), {1})}; }, "tensor 'w' has more than 8 axes"},
    {[](OnnxGraph& g) { g.initializers = {raw_tensor("w", kDouble, {1}, std::vector<double>{1e300})}; }, "'w' has an element of 1e+300, which float does not hold"},
};
// clang-format on

void test_what_is_refused_of_files(void**) {
    OnnxWorld world;
    int wrong = 0;
    for (const RefusedFile& row : kRefusedFiles) {
        OnnxGraph graph{
            {node("Add", {"x", "w"}, {"y"})}, {}, {port("x", kFloat, {"2"})}, {port("y", kFloat, {})}};
        graph.initializers = {float_tensor("w", {1}, {1})};
        row.change(graph);
        const Failure failure = failure_of([&] { world.import(graph); });
        if (failure.status != VOLTA_OK && std::strstr(failure.text, row.text) != nullptr) continue;
        ++wrong;
        print_error("row %d, '%s': %s\n", static_cast<int>(&row - kRefusedFiles), row.text, failure.text);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(world.heap.held, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_what_is_computed),
                                cmocka_unit_test(test_what_is_refused),
                                cmocka_unit_test(test_what_is_refused_of_files)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
