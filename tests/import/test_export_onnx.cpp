// Models as ONNX files and back: the same model in every bit, the same bytes twice, and one sentence for what
// has no form there. What other readers make of the files is tests/onnx/verify_exports.py.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "engine/graph/evaluate.h"
#include "engine/import/import_model.h"
#include "engine/import/onnx/export_onnx.h"
#include "engine/model/quantize.h"
#include "tests/import/random_graphs.h"
#include "tests/import/run_model.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

std::string bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct World {
    TestHeap heap;
    TemporaryFolder folder;

    std::string written(const Model& model, int opset = 13, std::uint64_t inline_bytes = 0) {
        onnx::OnnxExport options;
        options.opset = opset;
        options.inline_bytes = inline_bytes;
        std::string path = folder.file("m.onnx");
        onnx::export_onnx(model, path.c_str(), options, heap.structures());
        return path;
    }
    HeapPtr<Model> read(const std::string& path, const ImportOptions& options = {}) {
        return import_model(path.c_str(), options, heap.structures(), heap.tensors());
    }
    HeapPtr<Model> read_bytes(const std::string& bytes) { return read(folder.write("changed.onnx", bytes)); }
    std::string refusal(const Model& model, int opset = 13) {
        return failure_of([&] { written(model, opset); }).text;
    }
    // A graph of one operator on x [2, 4].
    HeapPtr<Model> model_of(Op op, std::initializer_list<Attribute> attributes = {}) {
        Graph graph(heap.structures());
        const ValueId x = graph.input("x", DType::f32, {2, 4});
        graph.output("y", graph.apply(op, {x}, attributes));
        return Model::create(graph, 1, heap.structures(), heap.tensors());
    }
    // That the file gives this model back, and is written the same again: from what was read, too.
    bool comes_back(const Model& model, int opset) {
        const std::string path = written(model, opset), bytes = bytes_of_file(path);
        const auto again = read(path);
        const bool same = is_same_model(model, *again, heap.structures()) &&
                          model.tokenizer.has_value() == again->tokenizer.has_value();
        return same && bytes_of_file(written(model, opset)) == bytes &&
               bytes_of_file(written(*again, opset)) == bytes;
    }
};

void assert_contains(const std::string& text, const std::string& part) {
    if (text.find(part) == text.npos) print_error("\"%s\" does not say \"%s\"\n", text.c_str(), part.c_str());
    assert_true(text.find(part) != text.npos);
}

constexpr int kOpsets[] = {13, 17, 20, 21};

void test_builders_come_back(void**) {
    World world;
    for (const NamedModel& built : built_models(world.heap.structures(), world.heap.tensors()))
        for (const int opset : kOpsets) {
            const bool same = world.comes_back(*built.model, opset);
            if (!same) print_error("%s, opset %d: another model\n", built.name.c_str(), opset);
            assert_true(same);
        }
}

// Every operator that is written is drawn; what is read back computes the same bits.
void test_random_graphs_come_back(void**) {
    World world;
    std::set<Op> taken;
    for (int i = 0; i < kRandomGraphs; ++i) {
        RandomGraph random(static_cast<std::uint64_t>(i) + 1, world.heap.structures());
        random.make();
        taken.insert(random.taken().begin(), random.taken().end());
        const NamedModel made = random_model(i, world.heap.structures(), world.heap.tensors());
        for (const int opset : kOpsets) {
            const bool same = world.comes_back(*made.model, opset);
            if (!same) print_error("%s, opset %d: another model\n", made.name.c_str(), opset);
            assert_true(same);
        }
        const auto again = world.read(world.written(*made.model));
        const auto expected = run_model(*made.model, world.heap.structures()),
                   actual = run_model(*again, world.heap.structures());
        assert_true(expected.bits == actual.bits);
    }
    int count = 0;
    const onnx::WriteRow* const rows = onnx::write_rows(&count);
    for (int i = 0; i < count; ++i) {
        const bool drawn = taken.count(rows[i].op) > 0 || rows[i].op == Op::dropout;
        if (!drawn) print_error("no random graph has the operator %s\n", op_row(rows[i].op).name);
        assert_true(drawn);
    }
}

// The nodes of a file and not the description beside them, where they are asked for.
void test_an_exact_graph(void**) {
    World world;
    const auto model = world.model_of(Op::silu);
    const std::string path = world.written(*model);
    ImportOptions exact;
    exact.onnx.exact_graph = true;
    const auto read = world.read(path, exact);
    assert_true(read->graph.producer(read->graph.outputs[0].value).op == Op::mul);
    assert_true(world.read(path)->graph.producer(model->graph.outputs[0].value).op == Op::silu);
}

// Without Volta's own description the nodes alone say what the model computes.
void test_nodes_mean_the_model(void**) {
    World world;
    int understood = 0, tried = 0;
    for (int i = 0; i < kRandomGraphs; ++i) {
        const NamedModel made = random_model(i, world.heap.structures(), world.heap.tensors());
        std::string bytes = bytes_of_file(world.written(*made.model, kOpsets[i % 4]));
        const std::size_t key = bytes.find("volta.model");
        assert_true(key != bytes.npos);
        bytes[key] = 'V';
        ++tried;
        HeapPtr<Model> plain;
        const Failure failure = failure_of([&] { plain = world.read_bytes(bytes); });
        if (plain == nullptr) {
            assert_int_equal(failure.status, VOLTA_UNSUPPORTED);
            continue;
        }
        ++understood;
        const auto expected = run_model(*made.model, world.heap.structures()),
                   actual = run_model(*plain, world.heap.structures());
        const double difference = largest_difference(expected, actual);
        if (!(difference <= 2e-5)) print_error("%s: a difference of %g\n", made.name.c_str(), difference);
        assert_true(difference <= 2e-5);
    }
    print_message("%d of %d files are understood without their description\n", understood, tried);
    assert_true(understood * 2 > tried);
}

// A description is believed only where the nodes are the ones that it is written as.
void test_changed_files_are_read_as_they_are(void**) {
    World world;
    const auto model = world.model_of(Op::relu);
    const std::string bytes = bytes_of_file(world.written(*model));
    assert_int_equal(world.read_bytes(bytes)->graph.nodes[1].op, static_cast<int>(Op::relu));
    std::string other = bytes;
    const std::size_t node = other.find("\"\004Relu");  // field 4, four bytes
    assert_true(node != other.npos);
    other.replace(node + 2, 4, "Selu");
    assert_int_equal(world.read_bytes(other)->graph.nodes[1].op, static_cast<int>(Op::selu));
    // Each byte of the description changed: the same graph, by its nodes, or the file is refused.
    const std::size_t begin = bytes.find("volta.model") + 14;
    for (std::size_t at = begin; at < bytes.size(); at += 7) {
        std::string damaged = bytes;
        damaged[at] = damaged[at] == 'A' ? 'B' : 'A';
        HeapPtr<Model> read;
        const Failure failure = failure_of([&] { read = world.read_bytes(damaged); });
        if (read != nullptr)
            assert_int_equal(read->graph.nodes[1].op, static_cast<int>(Op::relu));
        else
            assert_true(failure.status == VOLTA_CORRUPT_MODEL || failure.status == VOLTA_UNSUPPORTED);
    }
}

// Weights that were trained elsewhere stay: the graph is the same, its parameters are the file's.
void test_other_weights_are_taken(void**) {
    World world;
    Graph graph(world.heap.structures());
    const ValueId x = graph.input("x", DType::f32, {-1, 2});
    const ValueId w = graph.parameter("w", {2, 2}, {VOLTA_INIT_CONSTANT, 0.75, 0});
    graph.output("y", graph.apply(Op::matmul, {x, w}));
    const auto model = Model::create(graph, 1, world.heap.structures(), world.heap.tensors());
    std::string bytes = bytes_of_file(world.written(*model));
    const float old = 0.75f, changed = -3;
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&old), 4) +
                                      std::string(reinterpret_cast<const char*>(&old), 4));
    assert_true(at != bytes.npos);
    bytes.replace(at, 4, reinterpret_cast<const char*>(&changed), 4);
    const auto read = world.read_bytes(bytes);
    const auto* values = static_cast<const float*>(read->parameters[0].data);
    assert_true(values[0] == changed && values[1] == old);
    assert_string_equal(print(read->graph, world.heap.structures()).c_str(),
                        print(model->graph, world.heap.structures()).c_str());
}

void test_texts_and_tokenizer_come_back(void**) {
    World world;
    auto models = built_models(world.heap.structures(), world.heap.tensors());
    Model& model = *models[0].model;
    model.set_metadata("voltac.pictures.classes", "cat\ndog");
    model.tokenizer.emplace(Tokenizer::make_byte(world.heap.structures()));
    const std::string path = world.written(model), bytes = bytes_of_file(path);
    assert_contains(bytes, "voltac.pictures.classes");
    assert_contains(bytes, "volta.tokenizer\022\004byte");
    const auto again = world.read(path);
    assert_true(is_same_model(model, *again, world.heap.structures()));
    assert_true(again->tokenizer && again->tokenizer->kind() == TokenizerKind::byte);
}

void test_weights_beside_the_file(void**) {
    World world;
    auto models = built_models(world.heap.structures(), world.heap.tensors());
    const Model& model = *models[0].model;
    const std::string path = world.written(model, 13, 1), bytes = bytes_of_file(path),
                      data = bytes_of_file(path + ".data");
    assert_true(data.size() >= 4 * 31 * 16 && bytes.size() < data.size() + 65536);
    assert_true(is_same_model(model, *world.read(path), world.heap.structures()));
    world.written(model, 13, 1);
    assert_true(bytes_of_file(path) == bytes && bytes_of_file(path + ".data") == data);
    assert_int_equal(truncate((path + ".data").c_str(), 100), 0);
    assert_contains(failure_of([&] { world.read(path); }).text, "of a file of 100");
}

void test_stored_weights(void**) {
    World world;
    auto models = built_models(world.heap.structures(), world.heap.tensors());
    const auto stored =
        quantize(*models[0].model, DType::int8, world.heap.structures(), world.heap.tensors());
    const auto small = quantize(*models[0].model, DType::int4, world.heap.structures(), world.heap.tensors());
    assert_true(world.comes_back(*stored, 21));
    assert_contains(world.refusal(*stored, 20),
                    "(parameter, opset 20): the parameter 'block.0.fc_proj.weight' is stored as "
                    "int8, which is written from opset 21 on");
    assert_contains(world.refusal(*small, 21), "is stored as int4, which is not written");
}

void test_refusals(void**) {
    World world;
    std::pmr::memory_resource* const heap = world.heap.structures();
    {
        Graph graph(heap);
        const ValueId x = graph.input("x", DType::f32, {2, 4});
        graph.output("dx", graph.apply(Op::relu_grad, {x, x}));
        const auto model = Model::create(graph, 1, heap, world.heap.tensors());
        assert_contains(world.refusal(*model),
                        "node 1 (relu_grad, opset 13): the operator has no form in ONNX");
    }
    {
        Graph graph(heap);
        const ValueId x = graph.input("x", DType::f32, {2, 4});
        const ValueId each = graph.parameter("w", {4}, {});
        const ValueId y = graph.apply(Op::instance_norm, {x, each, each});
        graph.output("y", graph.apply(Op::neg, {y + 1}));
        const auto model = Model::create(graph, 1, heap, world.heap.tensors());
        assert_contains(world.refusal(*model),
                        "node 3 (neg, opset 13): its input 0 is a result of node 2 (instance_norm) that has "
                        "no form in ONNX");
    }
    {
        Graph graph(heap);
        const ValueId x = graph.input("x", DType::f32, {2, 4});
        graph.input("y", DType::f32, {2, 4});
        graph.output("y", graph.apply(Op::neg, {x}));
        const auto model = Model::create(graph, 1, heap, world.heap.tensors());
        assert_contains(world.refusal(*model), "the output 'y' has the name of an input or a parameter");
    }
    {
        Graph graph(heap);
        const ValueId x = graph.input("x", DType::f32, {-1, 4});
        graph.output("y", graph.apply(Op::reshape, {x}, {list(Attr::shape, {1, 4})}));
        const auto model = Model::create(graph, 1, heap, world.heap.tensors());
        assert_contains(world.refusal(*model), "only some of the extents that are open have a result");
    }
    const auto model = world.model_of(Op::relu);
    assert_contains(failure_of([&] {
                        onnx::export_onnx(*model, "/nonexistent/m.onnx", {}, world.heap.structures());
                    }).text,
                    "/nonexistent/m.onnx");
}

// An input that is an output, an output that is there twice, and names that the nodes would have had.
void test_names(void**) {
    World world;
    Graph graph(world.heap.structures());
    const ValueId x = graph.input("relu_1/Relu", DType::f32, {2});
    const ValueId y = graph.apply(Op::relu, {x});
    graph.output("relu_1/Relu", x);
    graph.output("a", y);
    graph.output("b", y);
    graph.output("constant_0", graph.scalar(2));
    const ValueId negative = graph.apply(Op::neg, {x});  // node 3
    graph.output("neg_3/Neg", graph.apply(Op::exp, {negative}));
    const auto model = Model::create(graph, 1, world.heap.structures(), world.heap.tensors());
    assert_true(world.comes_back(*model, 13));
    std::string bytes = bytes_of_file(world.written(*model));
    bytes[bytes.find("volta.model")] = 'V';
    const auto plain = world.read_bytes(bytes);
    assert_int_equal(plain->graph.outputs.size(), 5);
    assert_true(run_model(*plain, world.heap.structures()).bits ==
                run_model(*model, world.heap.structures()).bits);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_builders_come_back),
        cmocka_unit_test(test_random_graphs_come_back),
        cmocka_unit_test(test_an_exact_graph),
        cmocka_unit_test(test_nodes_mean_the_model),
        cmocka_unit_test(test_changed_files_are_read_as_they_are),
        cmocka_unit_test(test_other_weights_are_taken),
        cmocka_unit_test(test_texts_and_tokenizer_come_back),
        cmocka_unit_test(test_weights_beside_the_file),
        cmocka_unit_test(test_stored_weights),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
