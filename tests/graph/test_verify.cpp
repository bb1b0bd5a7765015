// verify accepts what is built and refuses every single defect, naming node and rule.
#include "tests/graph/graphs.h"

namespace {
using namespace volta;
using namespace volta::test;

// A training step in small: forward, an accumulating gradient, its norm, an update.
//   0 x  1 w  2 v  3 one(constant)  4 matmul  5 matmul transpose_a accumulate  6 square_sum @reduce
//   7 factors (state)  8 sgd @update -> 8, 9
Graph build_step() {
    Graph g(heap());
    const ValueId x = g.input("data", DType::f32, {4, 3});
    const ValueId w = g.parameter("w", {3, 2}, {});
    const ValueId v = g.state("w/v", DType::f32, {3, 2});
    const ValueId one = g.scalar(1);
    const ValueId y = g.apply(Op::matmul, {x, w});
    const ValueId gradient =
        g.apply(Op::matmul, {x, y}, {number(Attr::transpose_a, 1), number(Attr::accumulate, 1)});
    const ValueId norm = g.apply(Op::square_sum, {gradient}, {}, Phase::reduce);
    const ValueId factors = g.state("factors", DType::f32, {3});
    g.apply(Op::sgd, {w, gradient, v, factors, one}, {}, Phase::update);
    g.output("result", y);
    g.output("norm", norm);
    return g;
}

struct Defect {
    const char* sentence;
    void (*make)(Graph& graph);
};
const Defect kDefects[] = {
    {"graph: node 4 (matmul): an input stands behind it", [](Graph& g) { g.nodes[4].inputs[0] = 4; }},
    {"graph: node 4 (matmul): an input stands behind it", [](Graph& g) { g.nodes[4].inputs[0] = -1; }},
    {"graph: node 4 (matmul): matmul: inner extents differ: [4, 3] x [4, 3]",
     [](Graph& g) { g.nodes[4].inputs[1] = 0; }},
    {"graph: node 4 (matmul): matmul: takes 2 to 32767 inputs, not 1",
     [](Graph& g) { g.nodes[4].inputs.pop_back(); }},
    {"graph: node 4 (matmul): its outputs are not the next values",
     [](Graph& g) { g.nodes[4].first_output = 3; }},
    {"graph: node 4 (matmul): its outputs are not the next values",
     [](Graph& g) { g.nodes[4].output_count = 0; }},
    {"graph: node 8 (sgd): its outputs are not the next values",
     [](Graph& g) { g.nodes[8].output_count = 3; }},
    {"graph: node 4 (matmul): another node claims to write its output",
     [](Graph& g) { g.values[4].producer = 5; }},
    {"graph: node 4 (matmul): its output is not what its inputs give",
     [](Graph& g) {
         g.values[4].shape = {4, 1};
     }},
    {"graph: node 4 (matmul): its output is not what its inputs give",
     [](Graph& g) { g.values[4].dtype = DType::i32; }},
    {"graph: node 4 (matmul): its attributes are not complete and in order",
     [](Graph& g) { g.nodes[4].attributes.pop_back(); }},
    {"graph: node 4 (matmul): its attributes are not complete and in order",
     [](Graph& g) { std::swap(g.nodes[4].attributes[0], g.nodes[4].attributes[1]); }},
    {"graph: node 4 (matmul): matmul: there is no attribute epsilon",
     [](Graph& g) { g.nodes[4].attributes.push_back(number(Attr::epsilon, 1)); }},
    {"graph: node 4 (matmul): matmul: transpose_a 2 is not between 0 and 1",
     [](Graph& g) { g.nodes[4].attributes[0].number = 2; }},
    {"graph: node 4 (?): there is no such operator", [](Graph& g) { g.nodes[4].op = Op::count_; }},
    {"graph: node 6 (square_sum): it carries a body",
     [](Graph& g) {
         g.nodes[6].body.ops.emplace_back();
         g.nodes[6].body.ops[0].op = Op::neg;
     }},
    {"graph: node 4 (matmul): there is no such operator in its body",
     [](Graph& g) { g.nodes[4].body.ops.emplace_back(); }},
    {"graph: node 8 (sgd): it has a wrong number of outputs",
     [](Graph& g) {
         g.nodes[8].output_count = 1;
         g.values.pop_back();
     }},
    // Phases.
    {"graph: node 4 (matmul): there is no such phase",
     [](Graph& g) { g.nodes[4].phase = static_cast<Phase>(3); }},
    {"graph: node 6 (square_sum): it reads a value that does not outlive its micro-batch",
     [](Graph& g) { g.nodes[6].inputs[0] = 4; }},
    {"graph: node 5 (matmul): it accumulates outside of phase each",
     [](Graph& g) { g.nodes[5].phase = Phase::reduce; }},
    {"graph: node 10 (running_statistics): it accumulates outside of phase each",  // reduce has a whole
                                                                                   // batch's
     [](Graph& g) {
         const ValueId mean = g.input("statistics", DType::f32, Shape{3});
         g.apply(Op::running_statistics, {mean, mean, mean, mean}, {number(Attr::elements, 2)},
                 Phase::update);
     }},
    {"graph: node 5 (matmul): it reads a value of a later phase",
     [](Graph& g) { g.nodes[4].phase = Phase::reduce; }},
    {"graph: node 6 (square_sum): it reads a value of a later phase",
     [](Graph& g) {
         g.apply(Op::square_sum, {4}, {}, Phase::each);
         std::swap(g.nodes[6].phase, g.nodes[9].phase);
         g.nodes[6].phase = Phase::each;
         g.nodes[5].phase = Phase::update;
         g.nodes[5].attributes[2].number = 0;
         g.nodes[5].inputs[1] = 4;
         g.nodes[4].phase = Phase::each;
         g.nodes[5].inputs = {0, 0};
         g.nodes[5].attributes[0].number = 1;
         g.values[5].shape = {3, 3};
     }},
    // In place.
    {"graph: node 8 (sgd): it overwrites neither parameter nor state",
     [](Graph& g) { g.nodes[8].inputs[0] = 5; }},
    {"graph: node 8 (sgd): it overwrites outside of phase update",
     [](Graph& g) { g.nodes[8].phase = Phase::reduce; }},
    {"graph: node 8 (sgd): it reads what it overwrites twice", [](Graph& g) { g.nodes[8].inputs[1] = 1; }},
    {"graph: node 8 (sgd): a later node reads what it overwrites",
     [](Graph& g) { g.apply(Op::neg, {1}, {}, Phase::update); }},
    {"graph: node 8 (sgd): it overwrites an output of the graph", [](Graph& g) { g.output("w", 1); }},
    // Sources and outputs.
    {"graph: node 0 (input): its shape is not the declared one",
     [](Graph& g) {
         g.values[0].shape = {4, 4};
     }},
    {"graph: node 0 (input): its shape is not the declared one",
     [](Graph& g) {
         g.sources[0].declared = {-1, 3};
     }},
    {"graph: node 1 (parameter): it is not described as a source", [](Graph& g) { g.sources[1].node = 2; }},
    {"graph: 5 sources are described, 4 exist", [](Graph& g) { g.sources.push_back(g.sources[0]); }},
    {"graph: node 1 (parameter): a source has one output and nothing else",
     [](Graph& g) { g.nodes[1].inputs.push_back(0); }},
    {"graph: node 3 (constant): its data are not there", [](Graph& g) { g.nodes[3].data = 1; }},
    {"graph: node 3 (constant): its data are not there", [](Graph& g) { g.constants[0].push_back(0); }},
    {"graph: two sources are named \"data\"", [](Graph& g) { g.nodes[1].name = "data"; }},
    {"graph: two outputs are named \"result\"", [](Graph& g) { g.outputs[1].name = "result"; }},
    {"graph: the output \"result\" names no value", [](Graph& g) { g.outputs[0].value = 10; }},
    {"graph: 11 values, but the nodes write 10", [](Graph& g) { g.values.push_back(g.values[0]); }},
};

void test_what_is_built_is_accepted(void**) {
    const Failure failure = failure_of([] { verify(build_step()); });
    assert_failure("step", failure, VOLTA_OK, "");
}

void test_every_defect_is_refused(void**) {
    for (const Defect& defect : kDefects) {
        Graph graph = build_step();
        defect.make(graph);
        const Failure failure = failure_of([&] { verify(graph); });
        assert_failure(defect.sentence, failure, VOLTA_INTERNAL, defect.sentence);
    }
}

// Readers of an earlier phase run before the update wherever they stand.
void test_earlier_phases_may_read_what_is_overwritten(void**) {
    Graph graph = build_step();
    graph.apply(Op::neg, {1});
    const Failure failure = failure_of([&] { verify(graph); });
    assert_failure("reader", failure, VOLTA_OK, "");
}

// One token of one sequence; the caches are states, which the node overwrites.
Graph build_generation() {
    Graph g(heap());
    const Shape cache = {1, 1, 1, 16, 16};
    const ValueId keys = g.state("keys", DType::f32, cache), values = g.state("values", DType::f32, cache);
    const ValueId slots = g.input("slots", DType::i32, {1, 1}),
                  positions = g.input("positions", DType::i32, {1, 1});
    const ValueId qkv = g.input("qkv", DType::f32, {1, 1, 48});
    g.apply(Op::cached_attention, {keys, values, slots, positions, qkv},
            {number(Attr::heads, 1), number(Attr::packed, 1)});
    return g;
}

// What writes in place without being an update belongs to every run.
void test_caches_are_overwritten_in_every_run(void**) {
    Graph graph = build_generation();
    const Failure right = failure_of([&] { verify(graph); });
    assert_failure("each", right, VOLTA_OK, "");
    graph.nodes.back().phase = Phase::update;
    const Failure late = failure_of([&] { verify(graph); });
    assert_failure("update", late, VOLTA_INTERNAL,
                   "graph: node 5 (cached_attention): it overwrites outside of phase each");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_built_is_accepted),
        cmocka_unit_test(test_every_defect_is_refused),
        cmocka_unit_test(test_earlier_phases_may_read_what_is_overwritten),
        cmocka_unit_test(test_caches_are_overwritten_in_every_run),
    };
    return cmocka_run_group_tests_name("verify", tests, nullptr, nullptr);
}
