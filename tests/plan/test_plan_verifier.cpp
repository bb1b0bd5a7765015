// The plan verifier refuses every plan that was broken by hand: one row per way to break one.
#include "engine/passes/pass.h"
#include "engine/plan/plan.h"
#include "tests/passes/sample_graphs.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

HeapPtr<Plan> plan_of(Graph graph, std::uint32_t micro_batches) {
    PlanOptions options;
    options.micro_batches = micro_batches;
    return make_plan(std::move(graph), options, test_heap());
}

// The three plans that are broken: a training step of three micro-batches, inference, and outputs that are
// copies.
HeapPtr<Plan> step_plan() { return plan_of(step_graph(3), 3); }
HeapPtr<Plan> mlp_plan() { return plan_of(mlp_graph(), 1); }
HeapPtr<Plan> arithmetic_plan() { return plan_of(arithmetic_graph(), 1); }
// An update that reads a parameter, before the update that overwrites it.
HeapPtr<Plan> update_plan() {
    Graph graph(test_heap());
    const ValueId w = graph.parameter("w", {4}, {}), v = graph.state("w/v", DType::f32, {4});
    const ValueId g = graph.input("step/g", DType::f32, {4}),
                  factors = graph.input("step/factors", DType::f32, {3});
    const ValueId clip = graph.scalar(1);
    const ValueId old = graph.apply(Op::neg, {w}, {}, Phase::update);
    graph.apply(Op::sgd, {w, g, v, factors, clip}, {}, Phase::update);
    graph.output("minus w", old);
    return plan_of(std::move(graph), 1);
}

// A look-up by ids, and a state of integers beside it, of which nothing is known.
HeapPtr<Plan> state_plan() {
    Graph graph(test_heap());
    const ValueId table = graph.parameter("table", {10, 4}, {});
    graph.state("counts", DType::i32, {3});
    graph.output("y", graph.apply(Op::gather, {table, graph.input("ids", DType::i32, {3})}));
    return plan_of(std::move(graph), 1);
}

// (x w) + t and its exponential, t = tanh(x): results of an epilogue, and what it reads.
HeapPtr<Plan> epilogue_plan() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {6, 8}), w = graph.parameter("w", {8, 8}, {});
    const ValueId t = graph.apply(Op::tanh, {x});
    Body body{Allocator(test_heap())};
    BodyOp& sum = body.ops.emplace_back();
    sum.op = Op::add;
    sum.inputs.assign({~0, ~1});
    BodyOp& power = body.ops.emplace_back();
    power.op = Op::exp;
    power.inputs.assign({0});
    body.results = {0, 1};
    const ValueId inputs[] = {x, w, t};
    const ValueId two = graph.apply(Op::matmul, inputs, 3, nullptr, 0, Phase::each, &body);
    graph.output("left", graph.apply(Op::softmax, {two}));
    graph.output("right", graph.apply(Op::softmax, {two + 1}));
    return plan_of(std::move(graph), 1);
}

// e + e, e * sum(e), and two results of t = tanh(x): what may share memory, and what may not.
HeapPtr<Plan> twice_plan() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {2, 64});
    const ValueId e = graph.apply(Op::exp, {x}),
                  sum = graph.apply(Op::sum, {e}, {number(Attr::keep_dims, 1)});
    graph.output("product", graph.apply(Op::relu, {graph.apply(Op::mul, {e, sum})}));
    graph.output("twice", graph.apply(Op::relu, {graph.apply(Op::add, {e, e})}));
    Body body{Allocator(test_heap())};
    for (const Op op : {Op::neg, Op::abs}) {
        BodyOp& added = body.ops.emplace_back();
        added.op = op;
        added.inputs.push_back(~0);
    }
    body.results = {0, 1};
    const ValueId t = graph.apply(Op::tanh, {x}),
                  two = graph.apply(Op::fused, &t, 1, nullptr, 0, Phase::each, &body);
    graph.output("left", graph.apply(Op::relu, {two}));
    graph.output("right", graph.apply(Op::relu, {two + 1}));
    return plan_of(std::move(graph), 1);
}

ValueId first_output(const Plan& plan, Op op, int which = 0) {
    for (const Node& node : plan.graph.nodes)
        if (node.op == op && which-- == 0) return node.first_output;
    return 0;
}
Place& place(Plan& plan, Op op, int which = 0) {
    return plan.places[static_cast<std::size_t>(first_output(plan, op, which))];
}
std::size_t step_of(const Plan& plan, Op op) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
        if (plan.graph.node(plan.steps[s].node).op == op) return s;
    return 0;
}
std::size_t step_node(const Plan& plan, Op op) {
    return static_cast<std::size_t>(plan.steps[step_of(plan, op)].node);
}
Region& region(Plan& plan, const char* name) {
    for (Region& r : plan.regions)
        if (r.name == name) return r;
    return plan.regions[0];
}

// An arena of the right size for places that were changed, so that nothing but their content is wrong.
void refit(Plan& plan) {
    std::uint64_t bytes = 0;
    for (std::size_t v = 0; v < plan.places.size(); ++v) {
        const auto end =
            plan.places[v].offset + static_cast<std::uint64_t>(plan.graph.values[v].shape.elements()) * 4;
        if (plan.places[v].region == 0) bytes = std::max(bytes, (end + 63) / 64 * 64);
    }
    plan.regions[0].bytes = plan.bill.activations = bytes;
}

struct Mutation {
    const char* name;
    HeapPtr<Plan> (*make)();
    void (*mutate)(Plan& plan);
    const char* complaint;
};

const Mutation kMutations[] = {
    // order
    {"two dependent steps change places", step_plan, [](Plan& p) { std::swap(p.steps[0], p.steps[1]); },
     "is read before it is written"},
    {"a reader runs after the update in place", update_plan,
     [](Plan& p) { std::swap(p.steps[0], p.steps[1]); }, "is read lies value"},
    {"a step is missing", step_plan, [](Plan& p) { p.steps.erase(p.steps.begin() + 2); }, "is not run"},
    {"a step runs twice", mlp_plan, [](Plan& p) { p.steps.push_back(p.steps.back()); }, "runs a node again"},
    {"a step of no node", mlp_plan, [](Plan& p) { p.steps[0].node = 4000; }, "runs no node"},
    {"a source runs", mlp_plan,
     [](Plan& p) {
         p.steps.push_back(Step{0, Phase::each});
     },
     "computes nothing"},
    {"a step in another phase", step_plan, [](Plan& p) { p.steps.back().phase = Phase::reduce; },
     "is not in its node's phase"},
    {"a sum of three micro-batches' squares in each of them", step_plan,
     [](Plan& p) { p.steps[step_of(p, Op::square_sum)].phase = Phase::each; }, "is not in its node's phase"},
    {"reduce before each", step_plan,
     [](Plan& p) { std::swap(p.steps[step_of(p, Op::stack)], p.steps[step_of(p, Op::sum)]); },
     "a phase that is over"},
    // places
    {"a place for no value", mlp_plan,
     [](Plan& p) {
         p.places.push_back(Place{0, 0, 0});
     },
     "one for each value"},
    {"a value in no region", mlp_plan, [](Plan& p) { place(p, Op::layer_norm).region = -1; },
     "lies in no region"},
    {"a value in a region that is not there", mlp_plan, [](Plan& p) { place(p, Op::layer_norm).region = 99; },
     "lies in no region"},
    {"a value off its alignment", mlp_plan, [](Plan& p) { place(p, Op::layer_norm).offset += 4; },
     "is not aligned"},
    {"a value behind the arena", mlp_plan,
     [](Plan& p) { place(p, Op::layer_norm).offset += p.regions[0].bytes; }, "reaches beyond its region"},
    {"an offset that wraps around", mlp_plan,
     [](Plan& p) { place(p, Op::layer_norm).offset = ~std::uint64_t{63}; }, "reaches beyond its region"},
    {"a value on one that is still read", mlp_plan,
     [](Plan& p) {
         place(p, Op::gelu_tanh) = place(p, Op::add);
         refit(p);
     },
     "where value 9 is read lies value 10"},
    {"two outputs of a step on each other", mlp_plan, [](Plan& p) { p.places[4] = p.places[3]; },
     "its outputs overlap"},
    {"an output on an input of a product", mlp_plan,
     [](Plan& p) { place(p, Op::matmul, 1) = place(p, Op::gelu_tanh); }, "an output lies on an input"},
    {"a result on an input that is read twice", twice_plan,
     [](Plan& p) { place(p, Op::add) = place(p, Op::exp); }, "an output lies on an input"},
    {"a result on an input of another shape", twice_plan,
     [](Plan& p) {
         place(p, Op::mul) = place(p, Op::sum);
         refit(p);
     },
     "an output lies on an input"},
    {"a product on what its epilogue reads", epilogue_plan,
     [](Plan& p) { std::swap(p.places[3], p.places[4]); }, "an output lies on an input"},
    {"an input that is not its to write", mlp_plan, [](Plan& p) { place(p, Op::add, 2) = p.places[0]; },
     "writes what is not its to write"},
    {"a parameter that is not its to write", step_plan,
     [](Plan& p) {
         place(p, Op::mse) = place(p, Op::parameter, 1);
         refit(p);
     },
     "writes what is not its to write"},
    {"constants that overlap", arithmetic_plan,
     [](Plan& p) { place(p, Op::constant, 1) = place(p, Op::constant); },
     "constants do not follow each other"},
    {"a constant in the arena", arithmetic_plan,
     [](Plan& p) {
         place(p, Op::constant) = Place{0, 0, 0};
     },
     "lie among the constants"},
    // regions
    {"an arena that is too small", mlp_plan, [](Plan& p) { p.regions[0].bytes -= 64; },
     "reaches beyond its region"},
    {"an arena that is too large", mlp_plan, [](Plan& p) { p.regions[0].bytes += 64; },
     "is not as large as what lies in it"},
    {"constants that are too few", arithmetic_plan, [](Plan& p) { p.regions[1].bytes -= 64; },
     "reaches beyond its region"},
    {"a region of another kind", step_plan,
     [](Plan& p) { region(p, "gradient/w").kind = RegionKind::output; },
     "is not that of its source or output"},
    {"a region of another name", step_plan, [](Plan& p) { region(p, "ids").name = "words"; },
     "is not that of its source or output"},
    {"a region of one micro-batch", step_plan, [](Plan& p) { region(p, "ids").bytes /= 3; },
     "is not as large as its value"},
    {"a region of another size", step_plan, [](Plan& p) { region(p, "w").bytes += 64; },
     "is not as large as its value"},
    {"a region is missing", mlp_plan, [](Plan& p) { p.regions.pop_back(); }, "is missing"},
    {"a region that nobody needs", mlp_plan,
     [](Plan& p) {
         p.regions.push_back(Region{RegionKind::output, "w", 0, 0});
     },
     "belongs to nothing"},
    {"an output that lies elsewhere", mlp_plan,
     [](Plan& p) {
         place(p, Op::softmax) = Place{0, 0, 0};
     },
     "its value does not lie there"},
    // micro-batches
    {"an input without its distance", step_plan, [](Plan& p) { place(p, Op::input).micro_stride = 0; },
     "distance between micro-batches"},
    {"a stack without its distance", step_plan, [](Plan& p) { place(p, Op::stack).micro_stride = 0; },
     "distance between micro-batches"},
    {"a distance where there is none", step_plan, [](Plan& p) { place(p, Op::gather).micro_stride = 64; },
     "distance between micro-batches"},
    {"a sum that the next micro-batch overwrites", step_plan,
     [](Plan& p) {
         place(p, Op::mse) = place(p, Op::accumulate);
         refit(p);
     },
     "where value 16 is read lies value 8"},
    {"a stack that the next micro-batch overwrites", step_plan,
     [](Plan& p) {
         place(p, Op::mse).offset = place(p, Op::stack, 2).offset;
         refit(p);
     },
     "where value 14 is read lies value 8"},
    {"other micro-batches than the stacks'", step_plan, [](Plan& p) { p.micro_batches = 2; },
     "is not as large as its value"},
    {"no micro-batch", step_plan, [](Plan& p) { p.micro_batches = 0; }, "at least one"},
    // in place
    {"an update that writes elsewhere", step_plan, [](Plan& p) { place(p, Op::sgd) = place(p, Op::gather); },
     "does not lie where its input does"},
    // ids
    {"no limit for ids", step_plan, [](Plan& p) { p.limits.clear(); }, "outside of the table"},
    {"a limit that is too high", step_plan, [](Plan& p) { p.limits[0].high += 1; }, "outside of the table"},
    {"a limit that is too low", step_plan, [](Plan& p) { p.limits[0].low = -1; }, "outside of the table"},
    {"ids that are a state's", state_plan,
     [](Plan& p) { p.graph.nodes[step_node(p, Op::gather)].inputs[1] = p.graph.find_source("counts"); },
     "outside of the table"},
    {"a limit of another region", step_plan, [](Plan& p) { p.limits[0].region = 0; },
     "is not that of an input"},
    // bill
    {"a bill without its activations", mlp_plan, [](Plan& p) { p.bill.activations = 0; },
     "is not the sum of the regions"},
    {"a bill with other gradients", step_plan, [](Plan& p) { p.bill.gradients += 1; },
     "is not the sum of the regions"},
};

void test_broken_plans_are_refused(void**) {
    bool all = true;
    for (const Mutation& mutation : kMutations) {
        Failure before, after;
        {
            const HeapPtr<Plan> plan = mutation.make();
            before = failure_of([&] { verify(*plan); });
            mutation.mutate(*plan);
            plan->text = print(*plan, test_heap());  // it says what it is: only the rule itself can refuse it
            plan->hash = hash_bytes(plan->text.data(), plan->text.size());
            after = failure_of([&] { verify(*plan); });
        }
        const bool right = before.status == VOLTA_OK && after.status == VOLTA_INTERNAL &&
                           strstr(after.text, mutation.complaint) != nullptr;
        if (!right) print_error("%s: before '%s', after '%s'\n", mutation.name, before.text, after.text);
        all = all && right;
    }
    assert_true(all);
}

// A plan is what its text says: nothing can change without the text, nor the text without the hash.
void test_text_and_hash_belong_to_the_plan(void**) {
    const HeapPtr<Plan> plan = mlp_plan();
    const std::pmr::string text = plan->text;
    plan->text += " ";
    const Failure other_text = failure_of([&] { verify(*plan); });
    plan->text = text;
    plan->hash.low ^= 1;
    const Failure other_hash = failure_of([&] { verify(*plan); });
    assert_failure(other_text, VOLTA_INTERNAL, "text of");
    assert_failure(other_hash, VOLTA_INTERNAL, "hash of");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_plans_are_refused),
        cmocka_unit_test(test_text_and_hash_belong_to_the_plan),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
