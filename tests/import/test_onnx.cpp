// ONNX files made here: what becomes of them, and what is refused. The official cases are tests/onnx.
#include <unistd.h>

#include <cmath>
#include <limits>

#include "engine/graph/evaluate.h"
#include "engine/import/import_model.h"
#include "engine/model/batch_statistics.h"
#include "tests/import/onnx_files.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

// Files in a folder of their own, imported.
struct World {
    TestHeap heap;
    TemporaryFolder folder;
    HeapPtr<Model> import(const std::string& bytes, const ImportOptions& options = {}) {
        return import_model(folder.write("model.onnx", bytes).c_str(), options, heap.structures(),
                            heap.tensors());
    }
    HeapPtr<Model> import(const OnnxGraph& graph, const ImportOptions& options = {}) {
        return import(onnx_file(graph), options);
    }
    std::string refusal(const std::string& bytes, const ImportOptions& options = {}) {
        return failure_of([&] { import(bytes, options); }).text;
    }
    std::string refusal(const OnnxGraph& graph) { return refusal(onnx_file(graph)); }
};

void assert_contains(const std::string& text, const std::string& part) {
    if (text.find(part) == text.npos) print_error("\"%s\" does not say \"%s\"\n", text.c_str(), part.c_str());
    assert_true(text.find(part) != text.npos);
}

// The first output, where all extents of the inputs are known and they are filled with 1, 2, 3, ...
std::vector<float> run(const Model& model, World& world) {
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
    std::vector<float> values(result.real.begin(), result.real.end());
    if (values.empty()) values.assign(result.integer.begin(), result.integer.end());
    return values;
}

OnnxGraph unary(const std::string& op, const Names& extents, const Messages& attributes = {}) {
    return {{node(op, {"x"}, {"y"}, attributes)}, {}, {port("x", kFloat, extents)}, {port("y", kFloat, {})}};
}

// Weights are parameters of their names, inputs and outputs keep theirs.
void test_names_and_weights(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {node("MatMul", {"x", "layer.weight"}, {"h"}), node("Add", {"h", "layer.bias"}, {"i"}),
                   node("Mul", {"i", "half"}, {"y"})};
    graph.initializers = {float_tensor("layer.weight", {2, 3}, {1, 2, 3, 4, 5, 6}),
                          float_tensor("layer.bias", {3}, {1, 1, 1}), float_tensor("half", {}, {0.5f})};
    graph.inputs = {port("x", kFloat, {"2", "2"}),
                    port("layer.weight", kFloat, {"2", "3"})};  // as files of IR 3 have it
    graph.outputs = {port("y", kFloat, {})};
    const auto model = world.import(graph);
    assert_int_equal(model->parameters.size(), 2);  // one number is a constant
    assert_string_equal(model->parameters[0].name.c_str(), "layer.weight");
    assert_string_equal(model->parameters[1].name.c_str(), "layer.bias");
    assert_true(model->graph.find_source("x") >= 0);
    assert_string_equal(model->graph.outputs[0].name.c_str(), "y");
    const std::vector<float> expected = {5, 6.5f, 8, 10, 13.5f, 17};
    assert_true(run(*model, world) == expected);
}

// Every way in which a tensor may be written, with the same values.
void test_encodings(void**) {
    const std::vector<float> expected = {1, -2, 3};
    const auto typed = [&](int type, auto add) {
        return message([&](protozero::pbf_writer& writer) {
            add_head(writer, "w", type, {3});
            add(writer);
        });
    };
    const std::vector<std::int32_t> halves = {0x3c00, 0xc000, 0x4200}, brains = {0x3f80, 0xc000, 0x4040},
                                    whole = {1, -2, 3};
    const std::vector<std::int64_t> wide = {1, -2, 3};
    const std::vector<double> doubles = {1, -2, 3};
    const Messages real = {
        raw_tensor<float>("w", kFloat, {3}, {1, -2, 3}),
        raw_tensor<double>("w", kDouble, {3}, {1, -2, 3}),
        raw_tensor<std::uint16_t>("w", kHalf, {3}, {0x3c00, 0xc000, 0x4200}),
        raw_tensor<std::uint16_t>("w", kBrain, {3}, {0x3f80, 0xc000, 0x4040}),
        typed(kFloat, [&](auto& w) { w.add_packed_float(4, expected.begin(), expected.end()); }),
        typed(kFloat,
              [&](auto& w) {
                  for (const float value : expected) w.add_float(4, value);
              }),
        typed(kDouble, [&](auto& w) { w.add_packed_double(10, doubles.begin(), doubles.end()); }),
        typed(kHalf, [&](auto& w) { w.add_packed_int32(5, halves.begin(), halves.end()); }),
        typed(kBrain, [&](auto& w) { w.add_packed_int32(5, brains.begin(), brains.end()); }),
    };
    const Messages integers = {
        raw_tensor<std::int64_t>("w", kInt64, {3}, {1, -2, 3}),
        raw_tensor<std::int32_t>("w", kInt32, {3}, {1, -2, 3}),
        raw_tensor<std::int8_t>("w", kInt8, {3}, {1, -2, 3}),
        typed(kInt64, [&](auto& w) { w.add_packed_int64(7, wide.begin(), wide.end()); }),
        typed(kInt64,
              [&](auto& w) {
                  for (const std::int64_t value : wide) w.add_int64(7, value);
              }),
        typed(kInt32, [&](auto& w) { w.add_packed_int32(5, whole.begin(), whole.end()); }),
        typed(kInt8, [&](auto& w) { w.add_packed_int32(5, whole.begin(), whole.end()); }),
    };
    World world;
    for (const Messages* list : {&real, &integers})
        for (const std::string& tensor : *list) {
            OnnxGraph graph;
            graph.nodes = {node("Identity", {"w"}, {"y"})};
            graph.initializers = {tensor};
            graph.outputs = {port("y", kFloat, {})};
            const auto model = world.import(graph);
            assert_true(run(*model, world) == expected);
            assert_int_equal(model->parameters.size(), list == &real ? 1 : 0);
        }
}

// The batch stays open through the chains of shapes that exporters write.
void test_open_extents(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {node("Shape", {"x"}, {"shape"}),
                   node("Gather", {"shape", "zero"}, {"batch"}),
                   node("Unsqueeze", {"batch", "first"}, {"batch1"}),
                   node("Concat", {"batch1", "rest"}, {"to"}, {int_attribute("axis", 0)}),
                   node("Reshape", {"x", "to"}, {"flat"}),
                   node("MatMul", {"flat", "w"}, {"y"})};
    graph.initializers = {int_tensor("zero", {}, {0}), int_tensor("first", {1}, {0}),
                          int_tensor("rest", {1}, {6}), float_tensor("w", {6, 2}, std::vector<float>(12, 1))};
    graph.inputs = {port("x", kFloat, {"N", "2", "3"})};
    graph.outputs = {port("y", kFloat, {"N", "2"})};
    const auto model = world.import(graph);
    for (const std::int64_t batch : {1, 5}) {
        const Shape shape = {batch, 2, 3};
        const Graph concrete = specialize(model->graph, &shape, 1, world.heap.structures());
        assert_true(concrete.shape(concrete.outputs[0].value) == Shape({batch, 2}));
    }
    // An operator that has no result for all extents says so, with what can be given.
    graph.nodes[3] = node("Concat", {"rest", "batch1"}, {"to"}, {int_attribute("axis", 0)});
    graph.nodes[5] = node("Slice", {"flat", "first", "rest", "one"}, {"y"});
    graph.initializers.push_back(int_tensor("one", {1}, {1}));
    assert_contains(world.refusal(graph), "left open: x[N, 2, 3]");
    volta_input_shape shape = {"x", 3, {6, -1, -1}};
    ImportOptions options;
    options.onnx = {&shape, 1};
    const auto bound = world.import(graph, options);
    assert_true(bound->graph.shape(bound->graph.outputs[0].value) == Shape({6, 6}));
    shape.name = "nothing";
    assert_contains(world.refusal(onnx_file(graph), options),
                    "a shape is given for 'nothing', which is no input");
    shape = {"x", 3, {6, 3, -1}};
    assert_contains(world.refusal(onnx_file(graph), options),
                    "axis 1 of the input 'x' has the extent 2, the shape that is given has 3");
}

// Parts of an open axis that are the same for every extent: all of it, without its ends, its last element.
void test_slices_of_open_axes(void**) {
    World world;
    OnnxGraph graph;
    graph.inputs = {port("x", kFloat, {"T", "2"})};
    graph.outputs = {port("y", kFloat, {})};
    graph.initializers = {int_tensor("zero", {1}, {0}),        int_tensor("one", {1}, {1}),
                          int_tensor("last", {1}, {-1}),       int_tensor("three", {1}, {3}),
                          int_tensor("end", {1}, {INT64_MAX}), int_tensor("index", {}, {-1})};
    const struct {
        std::string node;
        Shape of_ten;
    } cases[] = {
        {node("Slice", {"x", "zero", "end", "zero"}, {"y"}), {10, 2}},
        {node("Slice", {"x", "one", "end", "zero"}, {"y"}), {9, 2}},
        {node("Slice", {"x", "zero", "last", "zero"}, {"y"}), {9, 2}},
        {node("Slice", {"x", "last", "end", "zero"}, {"y"}), {1, 2}},
        {node("Gather", {"x", "index"}, {"y"}), {2}},
    };
    const Shape ten = {10, 2};
    for (const auto& one : cases) {
        graph.nodes = {one.node};
        const auto model = world.import(graph);
        const Graph concrete = specialize(model->graph, &ten, 1, world.heap.structures());
        assert_true(concrete.shape(concrete.outputs[0].value) == one.of_ten);
    }
    graph.nodes = {node("Slice", {"x", "zero", "three", "zero"}, {"y"})};
    assert_contains(world.refusal(graph), "it takes a part of axis 0, whose extent is open");
    // All of an extent of 1 and of one of 13, and not of 1000.
    graph.initializers.push_back(int_tensor("many", {1}, {512}));
    graph.initializers.push_back(int_tensor("late", {1}, {-512}));
    graph.nodes = {node("Slice", {"x", "zero", "many", "zero"}, {"y"})};
    assert_contains(world.refusal(graph), "it takes at most 512 elements of axis 0, whose extent is open");
    graph.nodes = {node("Slice", {"x", "late", "end", "zero"}, {"y"})};
    assert_contains(world.refusal(graph), "it takes at most 512 elements of axis 0, whose extent is open");
    graph.nodes = {node("Slice", {"x", "zero", "end", "zero", "three"}, {"y"})};
    assert_contains(world.refusal(graph), "its step is 3 on axis 0, whose extent is open");
}

// An LSTM of any number of sequences, whose first state is written as zeros of that shape.
void test_state_of_an_open_batch(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {
        node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "one"}, {"batch"}),
        node("Concat", {"one", "batch", "two"}, {"state"}, {int_attribute("axis", 0)}),
        node("ConstantOfShape", {"state"}, {"zeros"}),
        node("LSTM", {"x", "w", "r", "", "", "zeros", "zeros"}, {"y"}, {int_attribute("hidden_size", 2)})};
    graph.initializers = {int_tensor("one", {1}, {1}), int_tensor("two", {1}, {2}),
                          float_tensor("w", {1, 8, 3}, std::vector<float>(24, 0.5f)),
                          float_tensor("r", {1, 8, 2}, std::vector<float>(16, 0.25f))};
    graph.inputs = {port("x", kFloat, {"4", "N", "3"})};
    graph.outputs = {port("y", kFloat, {})};
    const auto model = world.import(graph);
    const Shape five = {4, 5, 3};
    const Graph concrete = specialize(model->graph, &five, 1, world.heap.structures());
    assert_true(concrete.shape(concrete.outputs[0].value) == Shape({4, 1, 5, 2}));
    graph.nodes[3] = node("ConstantOfShape", {"state"}, {"zeros"},
                          {tensor_attribute("value", float_tensor("", {1}, {1}))});
    assert_contains(world.refusal(graph), "(LSTM, opset 17): 'zeros' is computed from extents that are open");
}

// With two open extents of one name and one of another.
void test_open_extents_are_told_apart(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {node("Add", {"a", "b"}, {"y"})};
    graph.inputs = {port("a", kFloat, {"N", "4"}), port("b", kFloat, {"N", "4"})};
    graph.outputs = {port("y", kFloat, {})};
    world.import(graph);
    graph.inputs[1] = port("b", kFloat, {"M", "4"});
    assert_contains(world.refusal(graph), "only some of the extents that are open have a result");
    graph.inputs[1] = port("b", kFloat, {"", "4"});
    assert_contains(world.refusal(graph), "left open: a[N, 4], b[?, 4]");
}

// A mask of integers that is only moved and made real is f32; tokens stay integers.
void test_integers_that_are_made_real(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {node("Unsqueeze", {"mask", "axis"}, {"wide"}),
                   node("Cast", {"wide"}, {"real"}, {int_attribute("to", kFloat)}),
                   node("Sub", {"one", "real"}, {"hidden"}),
                   node("Cast", {"tokens"}, {"narrow"}, {int_attribute("to", kInt32)}),
                   node("Gather", {"table", "narrow"}, {"rows"}),
                   node("Add", {"rows", "hidden"}, {"y"})};
    graph.initializers = {int_tensor("axis", {1}, {2}), float_tensor("one", {}, {1}),
                          float_tensor("table", {4, 3}, std::vector<float>(12, 0.5f))};
    graph.inputs = {port("tokens", kInt64, {"N", "2"}), port("mask", kInt64, {"N", "2"})};
    graph.outputs = {port("y", kFloat, {})};
    const auto model = world.import(graph);
    const auto dtype = [&](const char* name) {
        return model->graph.value(model->graph.find_source(name)).dtype;
    };
    assert_true(dtype("tokens") == DType::i32);
    assert_true(dtype("mask") == DType::f32);
    graph.nodes[4] = node("Gather", {"table", "mask"}, {"rows"});
    assert_contains(world.refusal(graph), "(Cast, opset 17): it makes float of int64");
    graph.nodes = {node("Equal", {"mask", "two"}, {"y"})};
    graph.initializers = {int_tensor("two", {}, {2})};
    assert_true(world.import(graph)->graph.outputs.size() == 1);
    graph.nodes = {node("Equal", {"mask", "tokens"}, {"y"})};
    assert_contains(world.refusal(graph), "it compares int64 that are not known");
    graph.nodes = {node("Equal", {"mask", "two"}, {"y"})};
    graph.initializers = {int_tensor("two", {}, {INT64_MAX})};
    assert_contains(world.refusal(graph),
                    "its input 1 has an element of 9223372036854775807, which float does not hold");
}

// Exporters make one initialiser of equal tensors; statistics that training writes are their own all the
// same.
void test_shared_statistics(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {node("BatchNormalization", {"x", "ones", "zeros", "zeros", "ones"}, {"h"}),
                   node("BatchNormalization", {"h", "ones", "zeros", "zeros", "ones"}, {"y"})};
    graph.initializers = {float_tensor("ones", {2}, {1, 1}), float_tensor("zeros", {2}, {0, 0})};
    graph.inputs = {port("x", kFloat, {"N", "2", "3"})};
    graph.outputs = {port("y", kFloat, {})};
    const auto model = world.import(graph);
    const Graph training =
        with_batch_statistics(model->graph, std::pmr::vector<char>(world.heap.structures()),
                              world.heap.structures());  // or it throws
    assert_int_equal(model->parameters.size(), 6);
    assert_non_null(model->find_parameter("y/running_variance"));
    assert_true(static_cast<const float*>(model->find_parameter("y/running_variance")->data)[1] == 1);
}

void test_nodes_in_any_order(void**) {
    World world;
    OnnxGraph graph = unary("Neg", {"2"});
    graph.nodes = {node("Abs", {"h"}, {"y"}), node("Neg", {"x"}, {"h"}),
                   node("NoSuchOperator", {"x"}, {"unused"})};
    assert_true(run(*world.import(graph), world) ==
                std::vector<float>({1, 2}));  // what nobody needs is left out
    graph.nodes = {node("Add", {"h", "x"}, {"y"}), node("Neg", {"y"}, {"h"})};
    assert_contains(world.refusal(graph), "its nodes go in a circle: node 0 (Add) needs its own result");
    graph.nodes = {node("Abs", {"h"}, {"y"})};
    assert_contains(world.refusal(graph), "no node writes 'h', which a node of operator 'Abs' needs");
    graph.nodes = {node("Abs", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})};
    assert_contains(world.refusal(graph), "two values have the name 'y'");
    graph.nodes = {node("Abs", {"x"}, {"h", "second"}), node("Neg", {"second"}, {"y"})};
    assert_contains(world.refusal(graph),
                    "its input 0, 'second', is a result that its operator does not give");
}

struct Refused {
    OnnxGraph graph;
    const char* text;
};

void test_refusals(void**) {
    World world;
    OnnxGraph foreign = unary("Gelu", {"2"});
    foreign.nodes = {node("FusedGelu", {"x"}, {"y"}, {}, "com.microsoft")};
    OnnxGraph newest = unary("Abs", {"2"});
    newest.opset = 99;
    OnnxGraph integers = unary("Neg", {"2"});
    integers.inputs = {port("x", kInt64, {"2"})};
    OnnxGraph old = unary("Gelu", {"2"});
    OnnxGraph halves = unary("Sqrt", {"2"});
    halves.inputs = {port("x", kHalf, {"2"})};
    const Refused cases[] = {
        {unary("NoSuch", {"2"}), "node 'the NoSuch' (NoSuch, opset 17): the operator is not imported"},
        {foreign, "(FusedGelu of the domain com.microsoft): its operators are not imported"},
        {newest, "it is written for opset 99; those from 1 to 28 are imported"},
        {old, "node 'the Gelu' (Gelu, opset 17): the operator is not in this opset"},
        {unary("Abs", {"2"}, {int_attribute("axis", 1)}),
         "node 'the Abs' (Abs, opset 17): its attribute 'axis' is none that version 13 of the operator has"},
        {unary("LeakyRelu", {"2"}, {int_attribute("alpha", 1)}), "its attribute 'alpha' is of another kind"},
        {unary("DepthToSpace", {"1", "4", "2", "2"}), "its attribute 'blocksize' is missing"},
        {unary("DepthToSpace", {"1", "4", "2", "2"}, {int_attribute("blocksize", -1)}),
         "its attribute 'blocksize' is -1"},
        {integers, "its input 0 is int64"},
        {halves, "(Sqrt, opset 17): it computes in float16, whose roundings a model does not have"},
        {unary("Abs", std::vector<std::string>(9, "1")), "has more than 8 axes"},
        {unary("MaxPool", {"1", "1", "4", "4", "4", "4"}, {ints_attribute("kernel_shape", {2, 2, 2, 2})}),
         "has 4 spatial axes"},
    };
    for (const Refused& one : cases) assert_contains(world.refusal(one.graph), one.text);
}

std::string byte_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                        const std::vector<std::int8_t>& values) {
    return raw_tensor(name, kInt8, shape, values);
}

// Integers of the file become what they stand for: one scale and zero point for each place of an axis.
void test_quantized_weights(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {node("DequantizeLinear", {"q", "scale", "zero"}, {"w"}, {int_attribute("axis", 1)}),
                   node("MatMul", {"x", "w"}, {"y"})};
    graph.initializers = {byte_tensor("q", {2, 2}, {-128, 127, 4, 5}), float_tensor("scale", {2}, {0.5f, 2}),
                          byte_tensor("zero", {2}, {0, 7})};
    graph.inputs = {port("x", kFloat, {"1", "2"})};
    graph.outputs = {port("y", kFloat, {})};
    const auto model = world.import(graph);
    assert_int_equal(model->parameters.size(), 1);
    assert_string_equal(model->parameters[0].name.c_str(), "w");
    const std::vector<float> expected = {-64 + 2 * 2, 240 + 2 * -4};
    assert_true(run(*model, world) == expected);
    graph.initializers[1] = float_tensor("scale", {3}, {1, 1, 1});
    assert_contains(world.refusal(graph), "its scale or zero point is [3], its tensor [2, 2]");
}

// Sums of products of integers are exact up to 2^24; those that may be above it are real numbers or nothing.
void test_sums_of_integers(void**) {
    World world;
    const auto graph_of = [](std::int64_t terms, const char* reader, const Messages& attributes) {
        OnnxGraph graph;
        graph.nodes = {node("MatMulInteger", {"x", "w"}, {"s"}), node(reader, {"s"}, {"y"}, attributes)};
        graph.initializers = {
            byte_tensor("w", {terms, 1}, std::vector<std::int8_t>(static_cast<std::size_t>(terms), 3))};
        graph.inputs = {port("x", kUint8, {"1", std::to_string(terms)})};
        graph.outputs = {port("y", kInt32, {})};
        return graph;
    };
    constexpr int kSum = 3 * 514 * 515 / 2;
    const std::vector<float> expected = {static_cast<float>(kSum)};
    assert_true(run(*world.import(graph_of(514, "Identity", {})), world) == expected);  // 514 * 255 * 128
    assert_contains(world.refusal(graph_of(515, "Identity", {})),
                    "'s' are sums of integers, which may be more than float holds");
    world.import(graph_of(515, "Cast", {int_attribute("to", kFloat)}));
}

// Integers of flags, places and known numbers are counted with while the model runs; others are not.
void test_counted_integers(void**) {
    World world;
    OnnxGraph graph;
    graph.nodes = {node("Less", {"x", "half"}, {"flags"}),
                   node("Cast", {"flags"}, {"ones"}, {int_attribute("to", kInt64)}),
                   node("Expand", {"ones", "shape"}, {"wide"}),
                   node("ReduceSum", {"wide"}, {"count"}, {int_attribute("keepdims", 0)}),
                   node("ArgMax", {"x"}, {"place"}, {int_attribute("keepdims", 0)}),
                   node("Mul", {"count", "place"}, {"product"}),
                   node("Sub", {"product", "seven"}, {"y"})};
    graph.initializers = {float_tensor("half", {}, {2.5f}), int_tensor("shape", {2}, {4, 3}),
                          int_tensor("seven", {1}, {7})};
    graph.inputs = {port("x", kFloat, {"3"})};
    graph.outputs = {port("y", kInt64, {})};
    assert_true(run(*world.import(graph), world) == std::vector<float>{8 * 2 - 7});
    graph.initializers[1] = int_tensor("shape", {2}, {8388608, 3});
    assert_contains(world.refusal(graph), "(ReduceSum, opset 17): its integers may be more than float holds");
    // A constant is as large as its value, not as its shape.
    graph.nodes = {node("ConstantOfShape", {"shape"}, {"c"},
                        {tensor_attribute("value", int_tensor("", {1}, {(1 << 24) - 2}))}),
                   node("Add", {"c", "place"}, {"y"}),
                   node("ArgMax", {"x"}, {"place"}, {int_attribute("keepdims", 0)})};
    graph.initializers[1] = int_tensor("shape", {1}, {1});
    assert_contains(world.refusal(graph), "(Add, opset 17): its integers may be more than float holds");
    graph.initializers[1] = int_tensor("shape", {2}, {4096, 4096});
    assert_contains(world.refusal(graph),
                    "(Add, opset 17): its input 0 is int64, of which a model computes nothing");
}

// A batch that is open through planes, rows and halves of it.
void test_volumes_and_selections(void**) {
    World world;
    OnnxGraph graph =
        unary("MaxPool", {"N", "1", "2", "2", "2"}, {ints_attribute("kernel_shape", {2, 2, 2})});
    assert_true(world.import(graph)->graph.nodes.size() > 2);
    graph.inputs = {port("x", kFloat, {"1", "1", "2", "2", "2"})};
    assert_true(run(*world.import(graph), world) == std::vector<float>{8});
    graph = {{node("Conv", {"x", "w"}, {"y"})}, {}, {port("x", kFloat, {"N", "1", "3", "2", "2"})}, {}};
    graph.initializers = {float_tensor("w", {1, 1, 2, 2, 2}, {1, 0, 0, 0, 0, 0, 0, 100})};
    graph.outputs = {port("y", kFloat, {})};
    world.import(graph);
    graph.inputs = {port("x", kFloat, {"1", "1", "3", "2", "2"})};
    const std::vector<float> sums = {801, 1205};
    assert_true(run(*world.import(graph), world) == sums);
    // Equal ones, and one that is as low as what is taken already.
    graph = {{node("Mul", {"x", "c"}, {"z"}), node("TopK", {"z", "k"}, {"v", "y"})}, {}, {}, {}};
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    graph.initializers = {float_tensor("c", {4}, {kLowest, 1.5f, 1, kLowest}), int_tensor("k", {1}, {4})};
    graph.inputs = {port("x", kFloat, {"4"})};
    graph.outputs = {port("y", kInt64, {})};
    const std::vector<float> order = {1, 2, 0, 3};
    assert_true(run(*world.import(graph), world) == order);
}

// Files that lie about their sizes.
void test_hostile_files(void**) {
    World world;
    const std::string whole = onnx_file(unary("Abs", {"2"}));
    constexpr std::size_t kOpset = 4;  // bytes of the last field, without which it is a file of opset 1
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
        if (bytes != whole.size() - kOpset) assert_true(!world.refusal(whole.substr(0, bytes)).empty());
    OnnxGraph graph = unary("Abs", {"2"});
    graph.nodes = {node("Add", {"x", "w"}, {"y"})};
    graph.initializers = {float_tensor("w", {1000000000, 1000}, {1})};
    assert_contains(world.refusal(graph),
                    "tensor 'w' has 4 bytes, its shape [1000000000, 1000] of float needs 4000000000000");
    graph.initializers = {
        message([](protozero::pbf_writer& writer) { add_head(writer, "w", kFloat, {1000000000}); })};
    assert_contains(world.refusal(graph),
                    "tensor 'w' has 0 elements, its shape [1000000000] needs 1000000000");
    graph.initializers = {float_tensor("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, {})};
    assert_contains(world.refusal(graph), "tensor 'w' has too many elements");
    graph.initializers = {float_tensor("w", {-1}, {})};
    assert_contains(world.refusal(graph), "tensor 'w' has a negative extent");
    // A thousand million elements of one: no memory before it runs.
    graph.initializers = {int_tensor("shape", {1}, {1000000000})};
    graph.nodes = {node("ConstantOfShape", {"shape"}, {"w"}), node("Add", {"x", "w"}, {"y"})};
    graph.inputs = {port("x", kFloat, {"1"})};
    assert_true(world.import(graph)->graph.constants.size() == 1);
    graph.nodes = {node("Range", {"zero", "most", "one"}, {"r"}), node("Identity", {"r"}, {"y"})};
    graph.initializers = {int_tensor("zero", {}, {0}), int_tensor("most", {}, {INT64_MAX}),
                          int_tensor("one", {}, {1})};
    assert_contains(world.refusal(graph), "(Range, opset 17): it goes from 0 to 9223372036854775807 by 1");
    // Inputs that are not there, of operators on what is known.
    graph.initializers = {int_tensor("zero", {}, {0}), int_tensor("one", {}, {1})};
    graph.nodes = {node("Reshape", {"one"}, {"y"})};
    assert_contains(world.refusal(graph), "(Reshape, opset 17): its input 1 is left out");
    graph.nodes = {node("Max", {"zero", "", "one"}, {"y"})};
    assert_contains(world.refusal(graph), "(Max, opset 17): its input 1 is left out");
    graph.nodes = {node("Neg", {"x"}, {"y"})};
    graph.outputs = {port("y", kFloat, {}), port("y", kFloat, {})};
    assert_contains(world.refusal(graph), "there is already an output of this name");
    // More nodes than a model may have.
    OnnxGraph many;
    many.inputs = {port("x", kFloat, {"1"})};
    many.outputs = {port("v100000", kFloat, {})};
    for (int i = 0; i < 100000; ++i)
        many.nodes.push_back(
            node("Neg", {i == 0 ? "x" : "v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
    assert_contains(world.refusal(many), "it has more than 65536 nodes");
}

// What a file may make an import keep: twice its size and 64 MiB, as the fuzz target has it, with as many
// nodes as there may be and both lanes of an open extent.
void test_memory_of_many_nodes(void**) {
    OnnxGraph many;
    many.inputs = {port("x", kFloat, {"N", "4"})};
    many.outputs = {port("v65000", kFloat, {})};
    for (int i = 0; i < 65000; ++i)
        many.nodes.push_back(
            node("HardSigmoid", {i == 0 ? "x" : "v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
    World world;
    const std::string bytes = onnx_file(many);
    world.import(bytes);
    assert_true(world.heap.most_bytes <= 2 * bytes.size() + (std::size_t{64} << 20));
}

// The branch of a condition that is known takes the place of its node, with values of the graph around it.
void test_branches(void**) {
    World world;
    const auto branch = [](const std::string& name, const Messages& nodes, const Messages& tensors,
                           const std::string& output) {
        const std::string graph = message([&](protozero::pbf_writer& writer) {
            for (const std::string& one : nodes) writer.add_message(1, one);
            for (const std::string& one : tensors) writer.add_message(5, one);
            writer.add_message(12, port(output, kFloat, {}));
        });
        return message([&](protozero::pbf_writer& writer) {
            writer.add_string(1, name);
            writer.add_message(6, graph);
            writer.add_int32(20, 5);
        });
    };
    OnnxGraph graph;
    graph.nodes = {node("Neg", {"x"}, {"h"}), node("Shape", {"x"}, {"s"}), node("Size", {"s"}, {"rank"}),
                   node("Equal", {"rank", "one"}, {"is_vector"}),
                   node("If", {"is_vector"}, {"y"},
                        {branch("then_branch", {node("Add", {"h", "w"}, {"a"})},
                                {float_tensor("w", {2}, {10, 20})}, "a"),
                         branch("else_branch", {node("NoSuch", {"h"}, {"b"})}, {}, "b")})};
    graph.initializers = {int_tensor("one", {}, {1})};
    graph.inputs = {port("x", kFloat, {"2"})};
    graph.outputs = {port("y", kFloat, {})};
    const auto model = world.import(graph);
    assert_true(run(*model, world) == std::vector<float>({9, 18}));
    assert_string_equal(model->parameters[0].name.c_str(), "w");
    graph.inputs = {port("x", kFloat, {"1", "2"})};
    assert_contains(world.refusal(graph), "(NoSuch, opset 17): the operator is not imported");
    graph.inputs = {port("x", kFloat, {"2"}), port("is_vector", kBool, {})};
    graph.nodes[3] = node("Identity", {"one"}, {"unused"});
    assert_contains(world.refusal(graph), "(If, opset 17): its condition is not known before the model runs");
    // What is outside is not written anew inside.
    graph.inputs = {port("x", kFloat, {"2"})};
    graph.nodes[3] = node("Equal", {"rank", "one"}, {"is_vector"});
    graph.nodes[4] =
        node("If", {"is_vector"}, {"y"}, {branch("then_branch", {node("Abs", {"x"}, {"h"})}, {}, "h")});
    assert_contains(world.refusal(graph), "two values have the name 'h'");
    graph.nodes[4] = node("If", {"is_vector"}, {"y"}, {branch("then_branch", {}, {}, "h")});
    assert_true(run(*world.import(graph), world) == std::vector<float>({-1, -2}));
}

// Graphs in graphs in attributes: nobody goes down far.
void test_depth(void**) {
    World world;
    std::string inner;
    for (int depth = 0; depth < 100000; ++depth) {
        const std::string graph = inner;
        const std::string attribute = message([&](protozero::pbf_writer& writer) {
            writer.add_string(1, "then_branch");
            writer.add_message(6, graph);
            writer.add_int32(20, 5);
        });
        const std::string one = node("If", {"c"}, {"y"}, {attribute});
        inner = message([&](protozero::pbf_writer& writer) { writer.add_message(1, one); });
        if (inner.size() > (std::size_t{1} << 18)) break;
    }
    OnnxGraph graph = unary("Abs", {"2"});
    const std::string attribute = message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, "then_branch");
        writer.add_message(6, inner);
        writer.add_int32(20, 5);
    });
    graph.nodes = {node("If", {"x"}, {"y"}, {attribute})};
    assert_contains(world.refusal(graph), "its graphs lie deeper than 16 in each other");
    // One that is imported takes no graph.
    graph.nodes = {node("Abs", {"x"}, {"y"}, {attribute})};
    assert_contains(world.refusal(graph), "its attribute 'then_branch' is none that version 13");
}

// Data beside the model: below its folder and nowhere else.
void test_external_data(void**) {
    World world;
    const auto graph_with = [](const std::string& location, const std::string& offset,
                               const std::string& length) {
        OnnxGraph graph = unary("Abs", {"2"});
        graph.nodes = {node("Add", {"x", "w"}, {"y"})};
        graph.initializers = {message([&](protozero::pbf_writer& writer) {
            add_head(writer, "w", kFloat, {2});
            for (const auto& pair : {std::pair<std::string, std::string>{"location", location},
                                     {"offset", offset},
                                     {"length", length}})
                writer.add_message(13, message([&](protozero::pbf_writer& entry) {
                                       entry.add_string(1, pair.first);
                                       entry.add_string(2, pair.second);
                                   }));
            writer.add_int32(14, 1);
        })};
        return graph;
    };
    world.folder.write("weights.bin", bytes_of(std::vector<float>{9, 10, 20}));
    assert_true(run(*world.import(graph_with("weights.bin", "4", "8")), world) ==
                std::vector<float>({11, 22}));
    assert_contains(world.refusal(graph_with("weights.bin", "8", "8")),
                    "tensor 'w' lies at bytes 8 to 16 of a file of 12");
    assert_contains(world.refusal(graph_with("weights.bin", "18446744073709551615", "8")),
                    "at an offset or of a length that is no number");
    assert_contains(world.refusal(graph_with("weights.bin", "0", "4")), "tensor 'w' has 4 bytes");
    for (const char* path : {"/etc/passwd", "../passwd", "a/../../b", "..", ""})
        assert_contains(world.refusal(graph_with(path, "0", "8")),
                        "which is no path below the model's folder");
    assert_contains(world.refusal(graph_with("missing.bin", "0", "8")), "missing.bin");
    assert_int_equal(symlink("/etc/passwd", world.folder.file("link").c_str()), 0);
    assert_contains(world.refusal(graph_with("link", "0", "8")),
                    "a link that leads out of the model's folder");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_weights),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_open_extents),
        cmocka_unit_test(test_slices_of_open_axes),
        cmocka_unit_test(test_state_of_an_open_batch),
        cmocka_unit_test(test_open_extents_are_told_apart),
        cmocka_unit_test(test_nodes_in_any_order),
        cmocka_unit_test(test_shared_statistics),
        cmocka_unit_test(test_integers_that_are_made_real),
        cmocka_unit_test(test_quantized_weights),
        cmocka_unit_test(test_sums_of_integers),
        cmocka_unit_test(test_counted_integers),
        cmocka_unit_test(test_volumes_and_selections),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_hostile_files),
        cmocka_unit_test(test_memory_of_many_nodes),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_external_data),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
