// Building, copying and specializing graphs.
#include <new>
#include <string>
#include <vector>

#include "tests/graph/graphs.h"

namespace {
using namespace volta;
using namespace volta::test;

// A small graph of every kind of source, two operators with several outputs, a constant and outputs.
void build_sample(Graph& graph) {
    const ValueId tokens = graph.input("tokens", DType::i32, {-1, -1});
    const ValueId table = graph.parameter("table", {16, 8}, {VOLTA_INIT_NORMAL, 0.02, 0});
    const ValueId scale = graph.parameter("scale", {8}, {VOLTA_INIT_CONSTANT, 1, 0});
    const ValueId bias = graph.parameter("bias", {8}, {});
    const ValueId half = graph.scalar(0.5f);
    const ValueId x = graph.apply(Op::gather, {table, tokens});
    const ValueId halved = graph.apply(Op::mul, {x, half});
    const ValueId y = graph.apply(Op::layer_norm, {halved, scale, bias});
    graph.state("moments", DType::f32, {2, 3});
    graph.output("y", y);
    graph.output("mean", y + 1);
}

void test_attributes_are_complete_and_in_order(void**) {
    Graph graph(heap());
    graph.apply(Op::slice, {reals(graph, {8})}, {number(Attr::end, 5), number(Attr::axis, -0.0)});
    const Node& node = graph.nodes.back();
    assert_int_equal(node.attributes.size(), 3);
    const bool in_order = node.attributes[0] == number(Attr::axis, 0) &&
                          node.attributes[1] == number(Attr::begin, 0) &&
                          node.attributes[2] == number(Attr::end, 5);
    assert_true(in_order);
    assert_null(node.find(Attr::heads));
    assert_true(node.number(Attr::begin) == 0 && node.number(Attr::end) == 5);
}

void test_equal_constants_are_kept_once(void**) {
    Graph graph(heap());
    const ValueId a = graph.scalar(1), b = graph.scalar(1), zero = graph.scalar(0.0f),
                  minus_zero = graph.scalar(-0.0f);
    assert_int_equal(graph.producer(a).data, graph.producer(b).data);
    assert_int_not_equal(graph.producer(zero).data, graph.producer(minus_zero).data);
    assert_int_equal(graph.constants.size(), 3);
}

void test_streams_follow_the_parameters(void**) {
    Graph graph(heap());
    build_sample(graph);
    assert_int_equal(graph.source(graph.value(graph.find_source("table")).producer).stream, 0);
    assert_int_equal(graph.source(graph.value(graph.find_source("bias")).producer).stream, 2);
    assert_int_equal(graph.find_source("nothing"), -1);
}

// Names in any order, more than a look at each would find in time: found, refused when taken, free again.
void test_many_names(void**) {
    constexpr int kCount = 3001;  // a prime: the names come in an order of their own
    const auto name_of = [](int i) { return "layer." + std::to_string(i * 1009 % kCount) + ".weight"; };
    Graph graph(heap());
    std::vector<ValueId> values;
    for (int i = 0; i < kCount; ++i) {
        values.push_back(graph.parameter(name_of(i).c_str(), {}, {}));
        graph.output(name_of(i).c_str(), values.back());
    }
    verify(graph);
    const auto is_refused = [&](const char* expected, const auto& call) {
        try {
            call();
        } catch (const Error& error) {
            return std::string(error.what()).find(expected) != std::string::npos;
        }
        return false;
    };
    Graph copy(graph, heap());
    for (Graph* const one : {&graph, &copy}) {
        int found = 0, refused = 0;
        for (int i = 0; i < kCount; ++i) {
            const std::string name = name_of(i), more = name + "s", less = name.substr(0, name.size() - 1);
            found += one->find_source(name.c_str()) == values[static_cast<size_t>(i)] &&
                     one->find_source(more.c_str()) < 0 && one->find_source(less.c_str()) < 0;
            refused += is_refused("already a source", [&] { one->parameter(name.c_str(), {}, {}); }) &&
                       is_refused("already an output", [&] { one->output(name.c_str(), 0); });
        }
        assert_int_equal(found, kCount);
        assert_int_equal(refused, kCount);
        one->outputs.clear();
        one->output(name_of(7).c_str(), 0);
        const bool is_taken = is_refused("already an output", [&] { one->output(name_of(7).c_str(), 1); });
        assert_true(is_taken);
        one->output(name_of(8).c_str(), 0);
        assert_int_equal(one->outputs.size(), 2);
        verify(*one);
    }
}

void test_what_is_cut_off_is_free_again(void**) {
    Graph graph(heap());
    const ValueId x = graph.input("x", DType::f32, {4});
    const ValueId half = graph.apply(Op::neg, {x});
    const std::pmr::string before = print(graph, heap());
    const std::size_t nodes = graph.nodes.size();
    for (const char* const name : {"w", "b", "a"})
        graph.apply(Op::add, {half, graph.parameter(name, {4}, {})});
    graph.cut(graph.nodes.size());
    assert_true(graph.find_source("a") >= 0);
    graph.cut(nodes);
    assert_string_equal(print(graph, heap()).c_str(), before.c_str());
    for (const char* const name : {"a", "b", "w"}) assert_int_equal(graph.find_source(name), -1);
    const ValueId again = graph.parameter("b", {4}, {});
    assert_int_equal(graph.find_source("b"), again);
    assert_int_equal(graph.find_source("x"), x);
    verify(graph);
    graph.cut(0);
    assert_true(graph.nodes.empty() && graph.values.empty() && graph.sources.empty());
    assert_int_equal(graph.input("x", DType::f32, {4}), 0);
}

void test_copies_are_equal_and_independent(void**) {
    Graph graph(heap());
    build_sample(graph);
    Graph copy(graph, heap());
    verify(copy);
    const std::pmr::string before = print(graph, heap());
    assert_text("copy", print(copy, heap()).c_str(), before.c_str());
    copy.apply(Op::neg, {1});
    assert_text("original", print(graph, heap()).c_str(), before.c_str());

    Graph by_node(heap());
    std::pmr::vector<ValueId> renamed(heap());
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id)
        copy_node(graph, id, by_node, renamed);
    for (const GraphOutput& output : graph.outputs) by_node.output(output.name.c_str(), output.value);
    assert_text("copy_node", print(by_node, heap()).c_str(), before.c_str());
}

void test_a_copied_node_needs_its_inputs(void**) {
    Graph graph(heap()), target(heap());
    graph.apply(Op::neg, {reals(graph, {4})});
    std::pmr::vector<ValueId> renamed(heap());
    const Failure failure = failure_of([&] { copy_node(graph, 1, target, renamed); });
    assert_failure("copy_node", failure, VOLTA_INTERNAL, "neg is copied before its input %0");
}

// ---- Specializing ----

void test_specializing_infers_every_shape_anew(void**) {
    Graph graph(heap());
    build_sample(graph);
    const Shape shape = {4, 7};
    const Graph concrete = specialize(graph, &shape, 1, heap());
    verify(concrete);
    assert_true(concrete.shape(concrete.outputs[0].value) == (Shape{4, 7, 8}));
    assert_true(concrete.shape(concrete.outputs[1].value) == (Shape{4, 7}));
    assert_true(concrete.sources[0].declared == shape);
    assert_true(graph.shape(graph.outputs[1].value) == (Shape{1, 1}));
    assert_int_equal(concrete.sources.size(), graph.sources.size());
}

void test_specializing_names_the_input_that_does_not_fit(void**) {
    Graph graph(heap());
    graph.input("pixels", DType::f32, {-1, 784});
    graph.input("lengths", DType::i32, {-1});
    static const struct {
        Shape shapes[2];
        const char* sentence;
    } kCases[] = {
        {{{32, 783}, {32}}, "input \"pixels\": expected shape [-1, 784], got [32, 783]"},
        {{{784}, {32}}, "input \"pixels\": expected shape [-1, 784], got [784]"},
        {{{32, 784}, {-1}}, "input \"lengths\": expected shape [-1], got [-1]"},
    };
    for (const auto& test : kCases) {
        const Failure failure = failure_of([&] { specialize(graph, test.shapes, 2, heap()); });
        assert_failure(test.sentence, failure, VOLTA_SHAPE_MISMATCH, test.sentence);
    }
    const Failure count = failure_of([&] { specialize(graph, kCases[0].shapes, 1, heap()); });
    assert_failure("count", count, VOLTA_INVALID_ARGUMENT,
                   "1 input shapes are given for a graph of 2 inputs");
    const Shape huge[] = {{std::int64_t{1} << 60, 784}, {1}};
    const Failure overflow = failure_of([&] { specialize(graph, huge, 2, heap()); });
    assert_failure("overflow", overflow, VOLTA_SHAPE_MISMATCH,
                   "pixels: the shape [1152921504606846976, 784] has too many elements");
}

void test_specializing_reports_what_breaks_behind_the_inputs(void**) {
    Graph graph(heap());
    const ValueId tokens = graph.input("tokens", DType::i32, {-1, -1});
    graph.apply(Op::position_ids, {tokens}, {number(Attr::limit, 256)});
    const Shape shape = {2, 300};
    const Failure failure = failure_of([&] { specialize(graph, &shape, 1, heap()); });
    assert_failure("context", failure, VOLTA_SHAPE_MISMATCH,
                   "position_ids: a sequence of 300 tokens is longer than the context 256");
}

// ---- Memory ----

// Refuses the n-th allocation, counts the bytes that are out, and never touches the default resource.
class FailingHeap final : public std::pmr::memory_resource {
  public:
    long long refuse_at = -1, count = 0, bytes = 0;

  private:
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        if (count++ == refuse_at) throw std::bad_alloc();
        bytes += static_cast<long long>(size);
        return heap()->allocate(size, alignment);
    }
    void do_deallocate(void* pointer, std::size_t size, std::size_t alignment) override {
        bytes -= static_cast<long long>(size);
        heap()->deallocate(pointer, size, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
};

// The steps of building, one call each, so that a refused one can be tried again.
using BuildStep = void (*)(Graph& graph);
const BuildStep kSteps[] = {
    [](Graph& g) {
        g.input("a tensor with a name that no small string holds", DType::f32, {4, 5});
    },
    [](Graph& g) {
        g.parameter("another tensor with a name that no small string holds", {5, 3}, {});
    },
    [](Graph& g) { g.scalar(2); },
    [](Graph& g) {
        g.apply(Op::matmul, {0, 1});
    },
    [](Graph& g) {
        g.apply(Op::mul, {3, 2});
    },
    [](Graph& g) { g.apply(Op::sum, {4}, {list(Attr::axes, {0})}); },
    [](Graph& g) { g.output("an output with a name that no small string holds", 5); },
};

void test_a_refused_allocation_leaves_the_graph_as_it_was(void**) {
    long long refused = 0, differences = 0, leaked = 0;
    std::pmr::memory_resource* const before =
        std::pmr::set_default_resource(std::pmr::null_memory_resource());
    for (long long n = 0; n < 200; ++n) {
        FailingHeap memory;
        memory.refuse_at = n;
        {
            Graph graph(&memory);
            for (const BuildStep step : kSteps) {
                const std::pmr::string text = print(graph, heap());
                try {
                    step(graph);
                } catch (const std::bad_alloc&) {
                    ++refused;
                    differences += print(graph, heap()) != text;
                    step(graph);
                }
            }
            memory.refuse_at = -1;
            verify(graph);
            differences += graph.nodes.size() != 6 || graph.outputs.size() != 1;
        }
        leaked += memory.bytes;
    }
    std::pmr::set_default_resource(before);
    assert_true(refused > 20);
    assert_int_equal(differences, 0);
    assert_int_equal(leaked, 0);
}

void test_a_graph_lives_on_one_heap(void**) {
    FailingHeap memory;
    std::pmr::memory_resource* const before =
        std::pmr::set_default_resource(std::pmr::null_memory_resource());
    long long held = 0;
    {
        Graph graph(&memory);
        build_sample(graph);
        Graph copy(graph, &memory);
        const Shape shape = {4, 7};
        Graph concrete = specialize(graph, &shape, 1, &memory);
        copy = std::move(concrete);
        held = memory.bytes;
    }
    std::pmr::set_default_resource(before);
    assert_true(held > 0);
    assert_int_equal(memory.bytes, 0);
}

// ---- The table ----

void test_every_row_is_complete(void**) {
    for (int i = 0; i < kOpCount; ++i) {
        const OpRow& row = op_row(static_cast<Op>(i));
        assert_int_equal(static_cast<int>(row.op), i);
        assert_ptr_equal(find_op(row.name), &row);
        assert_true((row.gradient != nullptr) != (row.no_gradient != nullptr));
        assert_non_null(row.shape);
        assert_true(row.inputs_text && row.outputs_text && row.formula && *row.formula);
        assert_true(row.min_inputs <= row.max_inputs);
        for (int a = 1; a < row.attribute_count; ++a)
            assert_true(row.attributes[a - 1].key < row.attributes[a].key);
    }
    assert_null(find_op("convolve"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_are_complete_and_in_order),
        cmocka_unit_test(test_equal_constants_are_kept_once),
        cmocka_unit_test(test_streams_follow_the_parameters),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_what_is_cut_off_is_free_again),
        cmocka_unit_test(test_copies_are_equal_and_independent),
        cmocka_unit_test(test_a_copied_node_needs_its_inputs),
        cmocka_unit_test(test_specializing_infers_every_shape_anew),
        cmocka_unit_test(test_specializing_names_the_input_that_does_not_fit),
        cmocka_unit_test(test_specializing_reports_what_breaks_behind_the_inputs),
        cmocka_unit_test(test_a_refused_allocation_leaves_the_graph_as_it_was),
        cmocka_unit_test(test_a_graph_lives_on_one_heap),
        cmocka_unit_test(test_every_row_is_complete),
    };
    return cmocka_run_group_tests_name("graph", tests, nullptr, nullptr);
}
