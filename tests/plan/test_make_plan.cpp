// What make_plan promises beyond what the verifier sees: limits, copies, shared memory, clear refusals.
#include "engine/plan/plan.h"

#include <map>

#include "engine/passes/pass.h"
#include "engine/plan/live_bytes.h"
#include "engine/plan/memory_planner.h"
#include "engine/plan/order.h"
#include "engine/plan/sharing.h"
#include "tests/passes/sample_graphs.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

HeapPtr<Plan> plan_of(Graph graph, std::uint32_t micro_batches = 1) {
    PlanOptions options;
    options.micro_batches = micro_batches;
    return make_plan(std::move(graph), options, test_heap());
}

// With and without passes every graph has a plan (make_plan verifies it), and the arena is no larger than the
// values.
void test_random_graphs_have_plans(void**) {
    std::uint64_t arenas = 0, sums = 0;
    for (int index = 0; index < 300; ++index) {
        std::string fault;
        for (const std::uint32_t passes : {0u, kAllPasses}) {
            const Graph graph = RandomGraph(static_cast<std::uint64_t>(index), 3 + index % 40).take();
            try {
                const HeapPtr<Plan> plan = plan_of(run_passes(graph, passes, test_heap()));
                std::uint64_t sum = 0;
                for (std::size_t v = 0; v < plan->places.size(); ++v)
                    if (plan->places[v].region == 0)
                        sum += padded(static_cast<std::uint64_t>(plan->graph.values[v].shape.elements()) * 4);
                if (plan->bill.activations > sum) fault = "the arena is larger than its values";
                arenas += plan->bill.activations;
                sums += sum;
            } catch (const Error& error) {
                fault = error.what();
            }
        }
        const bool fine = fault.empty();
        if (!fine) print_error("graph %d: %s\n", index, fault.c_str());
        fault = std::string();
        assert_true(fine);
    }
    print_message("arenas take %.0f %% of their values\n",
                  100.0 * static_cast<double>(arenas) / static_cast<double>(sums));
    assert_true(arenas < sums * 3 / 4);
}

// What is alive at a step fits the arena, and holds at least what the step itself reads and writes there.
bool live_bytes_hold(const Plan& plan) {
    const auto live = live_bytes(plan, test_heap());
    std::uint64_t most = 0;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        const Node& node = plan.graph.node(plan.steps[s].node);
        std::map<std::uint64_t, std::uint64_t> used;  // by place: what lies in one place counts once
        const auto use = [&](ValueId value) {
            const Place& place = plan.places[static_cast<std::size_t>(value)];
            const auto bytes = padded(static_cast<std::uint64_t>(plan.graph.shape(value).elements()) * 4);
            if (place.region == 0) used[place.offset] = std::max(used[place.offset], bytes);
        };
        for (const ValueId input : node.inputs) use(input);
        for (std::int32_t i = 0; i < node.output_count; ++i) use(node.first_output + i);
        std::uint64_t sum = 0;
        for (const auto& place : used) sum += place.second;
        if (live[s] < sum || live[s] > plan.bill.activations) return false;
        most = std::max(most, live[s]);
    }
    return live.size() == plan.steps.size() && (plan.bill.activations == 0 || most > 0);
}

void test_live_bytes(void**) {
    int wrong = -1;
    for (int index = 0; index < 300; ++index) {
        const Graph graph = RandomGraph(static_cast<std::uint64_t>(index), 3 + index % 40).take();
        if (!live_bytes_hold(*plan_of(run_passes(graph, kAllPasses, test_heap())))) wrong = index;
    }
    assert_int_equal(wrong, -1);
}

// What grows over micro-batches is alive from the first step to the end of the phase, wherever it is written.
void test_sums_over_micro_batches_live_through_the_phase(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {64});
    const ValueId e = graph.apply(Op::sum, {x}),
                  f = graph.apply(Op::accumulate, {graph.apply(Op::mul, {x, e})});
    graph.output("y", graph.apply(Op::sum, {f}, {}, Phase::reduce));
    const auto bytes_at_start = [&](std::uint32_t micro_batches) {
        const HeapPtr<Plan> plan = plan_of(Graph(graph, test_heap()), micro_batches);
        return live_bytes(*plan, test_heap()).front();
    };
    assert_int_equal(bytes_at_start(1), 64);
    assert_int_equal(bytes_at_start(3), 64 + 64 * sizeof(float));
}

// ---- Ids -----------------------------------------------------------------------------------------------

using BuildIds = ValueId (*)(Graph& graph);
ValueId ids_input(Graph& graph) { return graph.input("ids", DType::i32, {2, 3}); }
ValueId constant_ids(Graph& graph, std::int32_t last) {
    const std::int32_t ids[] = {0, 3, last};
    return graph.constant(DType::i32, {3}, ids);
}

// Over one row of three tokens, of documents that begin at 0, `second` and 1.
ValueId attention_of(Graph& graph, std::int32_t second) {
    const std::int32_t starts[] = {0, second, 1};
    const ValueId qkv = graph.input("qkv", DType::f32, {1, 3, 6});
    const ValueId o =
        graph.apply(Op::attention, {qkv, graph.constant(DType::i32, {1, 3}, starts)},
                    {number(Attr::heads, 1), number(Attr::packed, 1), number(Attr::documents, 1)});
    return graph.apply(Op::argmax, {o});
}

struct IdCase {
    const char* name;
    BuildIds build;
    const char* limit;    // "low..high" of the only limit, "" for none
    const char* refused;  // a part of the message
};
const IdCase kIds[] = {
    {"an input", ids_input, "0..9", nullptr},
    {"moved",
     [](Graph& g) {
         const ValueId rows =
             g.apply(Op::slice, {g.apply(Op::transpose, {ids_input(g)}, {list(Attr::permutation, {1, 0})})},
                     {number(Attr::end, 2)});
         return g.apply(Op::reshape, {g.apply(Op::concat, {rows, rows})}, {list(Attr::shape, {8})});
     },
     "0..9", nullptr},
    {"positions",
     [](Graph& g) { return g.apply(Op::position_ids, {ids_input(g)}, {number(Attr::limit, 3)}); }, "",
     nullptr},
    {"a good constant", [](Graph& g) { return constant_ids(g, 9); }, "", nullptr},
    {"a bad constant", [](Graph& g) { return constant_ids(g, 10); }, "",
     "gather: ids run from 10 to 10, the table takes 0 to 9"},
    {"a negative constant", [](Graph& g) { return constant_ids(g, -1); }, "", "gather: ids run from -1"},
    {"an index",
     [](Graph& g) {
         return g.apply(Op::argmax, {g.input("x", DType::f32, {4, 10})});
     },
     "", nullptr},
    {"an index too large",
     [](Graph& g) {
         return g.apply(Op::argmax, {g.input("x", DType::f32, {4, 11})});
     },
     "", "ids run from 0 to 10"},
    {"positions too many",
     [](Graph& g) {
         return g.apply(Op::position_ids, {g.input("ids", DType::i32, {11})}, {number(Attr::limit, 11)});
     },
     "", "ids run from 0 to 10"},
    {"positions of documents",
     [](Graph& g) {
         const ValueId starts = ids_input(g);
         return g.apply(Op::position_ids, {starts, starts}, {number(Attr::limit, 3)});
     },
     "0..2", nullptr},
    {"documents that begin outside of their row", [](Graph& g) { return attention_of(g, 3); }, "",
     "attention: ids run from 3 to 3, the table takes 0 to 2"},
    {"documents that begin before their row", [](Graph& g) { return attention_of(g, -1); }, "",
     "attention: ids run from -1 to -1, the table takes 0 to 2"},
    {"documents of which one begins behind a token", [](Graph& g) { return attention_of(g, 2); }, "",
     nullptr},
    {"a mask",
     [](Graph& g) {
         return g.apply(Op::less, {g.input("x", DType::f32, {4}), g.scalar(0)});
     },
     "", nullptr},
    {"a state", [](Graph& g) { return g.state("s", DType::i32, {4}); }, "",
     "gather: its ids come from state, where they cannot be checked"},
};

void test_ids_have_limits(void**) {
    bool all = true;
    for (const IdCase& test : kIds) {
        std::string limit;
        const Failure failure = failure_of([&] {
            Graph graph(test_heap());
            const ValueId table = graph.parameter("table", {10, 4}, {});
            graph.output("y", graph.apply(Op::gather, {table, test.build(graph)}));
            const HeapPtr<Plan> plan = plan_of(std::move(graph));
            for (const InputLimit& l : plan->limits)
                limit += std::to_string(l.low) + ".." + std::to_string(l.high);
        });
        const bool right = test.refused ? strstr(failure.text, test.refused) != nullptr
                                        : failure.status == VOLTA_OK && limit == test.limit;
        if (!right) print_error("%s: limit '%s', error '%s'\n", test.name, limit.c_str(), failure.text);
        all = all && right;
    }
    assert_true(all);
}

// Positions are rows of the table of angles.
void test_positions_have_limits(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {6, 8}),
                  positions = graph.input("positions", DType::i32, {6});
    const ValueId table =
        graph.apply(Op::rotary_table, {}, {number(Attr::limit, 20), number(Attr::width, 4)});
    graph.output("y", graph.apply(Op::rotary, {x, positions, table}, {number(Attr::heads, 2)}));
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    assert_int_equal(plan->limits.size(), 1);
    assert_int_equal(plan->limits[0].low, 0);
    assert_int_equal(plan->limits[0].high, 19);
}

// What is turned, and the gradient of a gated activation, lie where their input did.
void test_pairs_of_columns_are_written_in_place(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {6, 8}), dy = graph.input("dy", DType::f32, {6, 4}),
                  positions = graph.input("positions", DType::i32, {6});
    const ValueId table =
        graph.apply(Op::rotary_table, {}, {number(Attr::limit, 20), number(Attr::width, 4)});
    const ValueId first = graph.apply(Op::softmax, {x});
    const ValueId turned = graph.apply(Op::rotary, {first, positions, table}, {number(Attr::heads, 1)});
    const ValueId second = graph.apply(Op::matmul, {turned, graph.parameter("w", {8, 8}, {})});
    const ValueId gradient = graph.apply(Op::swiglu_grad, {second, dy});
    graph.output("y", graph.apply(Op::sum, {gradient}));
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    const auto is_one_place = [&](ValueId a, ValueId b) {
        const Place &p = plan->places[static_cast<std::size_t>(a)],
                    &q = plan->places[static_cast<std::size_t>(b)];
        return p.region == q.region && p.offset == q.offset;
    };
    assert_true(is_one_place(first, turned));
    assert_true(is_one_place(second, gradient));
}

// Parts are made where their concat wants them, also those of a part; one that is read later has its own
// place, as has one that would not be aligned, and all of them where the parts are interleaved.
void test_parts_are_made_in_their_whole(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {1, 16, 6}), w = graph.parameter("w", {6, 6}, {});
    const auto made = [&](ValueId from) { return graph.apply(Op::matmul, {from, w}); };
    const auto joined = [&](ValueId a, ValueId b, int axis) {
        return graph.apply(Op::concat, {a, b}, {number(Attr::axis, axis)});
    };
    const ValueId a = made(x), b = made(a), inner = joined(graph.apply(Op::relu, {b}), made(x), 1);
    const ValueId c = made(x), outer = joined(inner, c, 1);
    const ValueId kept = made(x), later = joined(kept, made(x), 1), crossed = joined(made(x), made(x), 2);
    const ValueId narrow = graph.input("narrow", DType::f32, {1, 15, 6});
    const ValueId odd = joined(made(narrow), made(narrow), 1);
    int outputs = 0;
    for (const ValueId value : {outer, later, graph.apply(Op::add, {kept, x}), crossed, odd})
        graph.output(("y" + std::to_string(outputs++)).c_str(), graph.apply(Op::sum, {value}));
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    const auto place = [&](ValueId value) { return plan->places[static_cast<std::size_t>(value)]; };
    const std::uint64_t part = 16 * 6 * sizeof(float);
    assert_int_equal(place(inner).offset, place(outer).offset);
    assert_int_equal(place(b).offset, place(outer).offset);
    assert_int_equal(place(c).offset, place(outer).offset + 2 * part);
    assert_true(place(kept).offset < place(later).offset ||
                place(kept).offset >= place(later).offset + 2 * part);
    for (std::size_t s = 0; s < plan->steps.size(); ++s) {
        const Node& node = plan->graph.node(plan->steps[s].node);
        if (node.op != Op::concat) continue;
        int there = 0;
        std::uint64_t begin = place(node.first_output).offset;
        for (const ValueId input : node.inputs) {
            there += place(input).offset == begin;
            begin += static_cast<std::uint64_t>(plan->graph.shape(input).elements()) * sizeof(float);
        }
        const int expected = node.first_output == inner || node.first_output == outer ? 2
                             : node.first_output == crossed                           ? 0
                                                                                      : 1;
        assert_int_equal(there, expected);
    }
}

// A part in its whole keeps all of the whole alive: where the arena would grow by that, parts are copied.
void test_parts_stay_apart_where_the_arena_would_grow(void**) {
    for (const std::int64_t between : {1, 64}) {
        Graph graph(test_heap());
        const ValueId x = graph.input("x", DType::f32, {1, 16}),
                      wide = graph.input("wide", DType::f32, {between, 16});
        const ValueId early = graph.apply(Op::exp, {x});
        // Between the two parts: much of which little is left.
        const ValueId much = graph.apply(Op::exp, {wide}), little = graph.apply(Op::sum, {much});
        const ValueId late = graph.apply(Op::mul, {graph.input("y", DType::f32, {16, 16}), little});
        const ValueId whole = graph.apply(Op::concat, {early, late}, {number(Attr::axis, 0)});
        graph.output("z", graph.apply(Op::sum, {whole}));
        const HeapPtr<Plan> plan = plan_of(std::move(graph));
        const auto place = [&](ValueId value) { return plan->places[static_cast<std::size_t>(value)]; };
        const bool are_parts = place(early).offset == place(whole).offset &&
                               place(late).offset == place(whole).offset + 16 * sizeof(float);
        assert_int_equal(are_parts, between == 1);
        assert_int_equal(plan->regions[0].bytes, between == 1 ? 1216 : 4224);
        const auto live = live_bytes(*plan, test_heap());
        for (std::size_t s = 0; s < plan->steps.size(); ++s)  // a part counts once, in its whole
            if (plan->graph.node(plan->steps[s].node).op == Op::concat)
                assert_int_equal(live[s], between == 1 ? 17 * 64 : 2 * 17 * 64);
    }
}

// Targets may be -1, ids may not; an input that is both has the narrower limit.
void test_limits_meet(void**) {
    Graph graph(test_heap());
    const ValueId ids = graph.input("ids", DType::i32, {6}),
                  targets = graph.input("targets", DType::i32, {6});
    const ValueId table = graph.parameter("table", {20, 8}, {}), x = graph.apply(Op::gather, {table, ids});
    graph.output("loss", graph.apply(Op::cross_entropy, {x, targets}));
    graph.output("other", graph.apply(Op::cross_entropy, {x, ids}));
    const ValueId more = graph.input("more targets", DType::i32, {6});
    graph.output("with gradient", graph.apply(Op::cross_entropy_with_grad, {x, more, graph.scalar(1)}));
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    assert_int_equal(plan->limits.size(), 3);
    assert_int_equal(plan->limits[0].low, 0);
    assert_int_equal(plan->limits[0].high, 7);
    assert_int_equal(plan->limits[1].low, -1);
    assert_int_equal(plan->limits[1].high, 7);
    assert_int_equal(plan->limits[2].low, -1);
    assert_int_equal(plan->limits[2].high, 7);
}

// ---- Outputs and shared memory
// -----------------------------------------------------------------------------

int copies(const Plan& plan) {
    int count = 0;
    for (const Node& node : plan.graph.nodes) count += node.op == Op::broadcast_to;
    return count;
}

void test_outputs_have_bytes_of_their_own(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {2, 3}), y = graph.apply(Op::exp, {x});
    const ValueId flat = graph.apply(Op::reshape, {y}, {list(Attr::shape, {6})});
    graph.output("a source", x);                                                                    // copied
    graph.output("an alias of a source", graph.apply(Op::reshape, {x}, {list(Attr::shape, {6})}));  // copied
    graph.output("a constant", graph.scalar(2));                                                    // copied
    graph.output("a value", y);
    graph.output("it again", y);           // copied
    graph.output("an alias of it", flat);  // copied
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    assert_int_equal(copies(*plan), 5);
    assert_int_equal(plan->bill.outputs, 5 * 24 + 4);
}

// A chain of elementwise steps runs in one buffer; the last one runs in the output's.
void test_chains_share_memory(void**) {
    Graph graph(test_heap());
    ValueId x = graph.apply(Op::sum, {graph.input("x", DType::f32, {16, 64})}, {list(Attr::axes, {0})});
    for (int i = 0; i < 5; ++i) x = graph.apply(Op::tanh, {x});
    graph.output("y", graph.apply(Op::sum, {x}));
    const ValueId z = graph.apply(
        Op::exp, {graph.apply(Op::sum, {graph.input("z", DType::f32, {16, 64})}, {list(Attr::axes, {0})})});
    graph.output("z", graph.apply(Op::neg, {z}));
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    assert_int_equal(plan->bill.activations, 256);
    assert_int_equal(plan->places[static_cast<std::size_t>(z)].region,
                     plan->places[static_cast<std::size_t>(z + 1)].region);
}

// The gradient lies where its logits lay, in one sweep over them. The losses lie on nothing, not even on
// factors of their own shape that nobody reads later.
void test_a_gradient_lies_on_its_logits(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {8, 64}),
                  targets = graph.input("targets", DType::i32, {8});
    const ValueId logits = graph.apply(Op::exp, {x}),
                  g = graph.apply(Op::exp, {graph.input("g", DType::f32, {8})});
    const ValueId loss = graph.apply(Op::cross_entropy_with_grad, {logits, targets, g}), dx = loss + 1;
    graph.output("loss", graph.apply(Op::sum, {loss}));
    graph.output("dx", graph.apply(Op::sum, {dx}, {list(Attr::axes, {0})}));
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    const auto place = [&](ValueId value) { return plan->places[static_cast<std::size_t>(value)]; };
    assert_true(place(dx).region == place(logits).region && place(dx).offset == place(logits).offset);
    assert_int_equal(place(loss).region, place(g).region);
    assert_true(place(loss).offset != place(g).offset);
    const Node& node = plan->graph.producer(loss);
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        assert_false(may_overwrite(node, slot, 0));
        assert_int_equal(may_overwrite(node, slot, 1), slot == 0);
    }
}

// An alias is another name of the parameter: whoever reads it runs before the parameter is overwritten.
void test_readers_of_aliases_come_before_updates(void**) {
    Graph graph(test_heap());
    const ValueId w = graph.parameter("w", {4}, {}), v = graph.state("w/v", DType::f32, {4});
    const ValueId g = graph.input("step/g", DType::f32, {4}),
                  factors = graph.input("step/factors", DType::f32, {3});
    const ValueId alias = graph.apply(Op::reshape, {w}, {list(Attr::shape, {2, 2})}, Phase::update);
    graph.apply(Op::sgd, {w, g, v, factors, graph.scalar(1)}, {}, Phase::update);
    graph.output("minus the old w", graph.apply(Op::neg, {alias}, {}, Phase::update));
    const HeapPtr<Plan> plan = plan_of(std::move(graph));
    assert_true(plan->graph.node(plan->steps[0].node).op == Op::neg);
    assert_true(plan->graph.node(plan->steps[1].node).op == Op::sgd);
}

// With one micro-batch a gradient's squares are summed while it lies in a cache, behind the step that writes
// it; with several it grows until the last one.
void test_squares_follow_their_gradient(void**) {
    for (const std::uint32_t micro_batches : {1u, 3u}) {
        Graph graph(test_heap());
        const ValueId x = graph.input("x", DType::f32, {4}), y = graph.input("y", DType::f32, {4});
        const ValueId first = graph.apply(Op::accumulate, {graph.apply(Op::mul, {x, y})});
        const ValueId second = graph.apply(Op::accumulate, {graph.apply(Op::sub, {x, y})});
        const ValueId late = graph.apply(Op::add, {first, second}, {}, Phase::reduce);
        for (const ValueId gradient : {late, second, first})
            graph.output(gradient == late    ? "late"
                         : gradient == first ? "first"
                                             : "second",
                         graph.apply(Op::square_sum, {gradient}, {}, Phase::reduce));
        const HeapPtr<Plan> plan = plan_of(std::move(graph), micro_batches);
        std::string order;
        for (const Step& step : plan->steps) {
            const Node& node = plan->graph.node(step.node);
            order += std::string(op_row(node.op).name) + (step.phase == Phase::each ? " " : "@reduce ");
            if (node.op == Op::square_sum) order += "%" + std::to_string(node.inputs[0]) + " ";
        }
        assert_string_equal(
            order.c_str(),
            micro_batches == 1
                ? "mul accumulate square_sum %3 sub accumulate square_sum %5 add@reduce square_sum@reduce %6 "
                : "mul accumulate sub accumulate add@reduce square_sum@reduce %6 square_sum@reduce %5 "
                  "square_sum@reduce %3 ");
    }
}

// Many wide results before the first of them is summed: with one after the other one is alive at a time,
// however many may run.
void test_an_order_for_memory(void**) {
    const auto wide = [](int branches) {
        Graph graph(test_heap());
        const ValueId x = graph.input("x", DType::f32, {64, 1});
        std::vector<ValueId> products;
        for (int i = 0; i < branches; ++i) {
            const std::string name = "w" + std::to_string(i);
            products.push_back(graph.apply(Op::matmul, {x, graph.parameter(name.c_str(), {1, 4096}, {})}));
        }
        ValueId sum = -1;
        for (const ValueId product : products) {
            const ValueId row = graph.apply(Op::sum, {product}, {list(Attr::axes, {1})});
            sum = sum < 0 ? row : graph.apply(Op::add, {sum, row});
        }
        graph.output("y", sum);
        return graph;
    };
    for (const int branches : {4, 1000}) {
        PlanOptions options;
        const std::uint64_t given = make_plan(wide(branches), options, test_heap())->bill.activations;
        options.order = StepOrder::memory;
        const std::uint64_t least = make_plan(wide(branches), options, test_heap())->bill.activations;
        assert_true(given >= static_cast<std::uint64_t>(branches) * 64 * 4096 * sizeof(float));
        assert_true(least < (64 * 4096 + 1024) * sizeof(float));
    }
}

// Wide results of which each has two readers: the second one frees it, but only after the first. What the
// first makes is kept to the end, so that all the first ones first would need more.
void test_an_order_knows_the_last_reader(void**) {
    constexpr int kBranches = 8;
    constexpr std::int64_t kWide = 4096, kWider = 5120, kKept = 2048;
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {64, 1});
    const auto product = [&](ValueId from, std::int64_t columns) {
        const std::string name = "w" + std::to_string(graph.sources.size());
        const ValueId weight = graph.parameter(name.c_str(), {graph.shape(from).last(), columns}, {});
        return graph.apply(Op::matmul, {from, weight});
    };
    std::vector<ValueId> wide, kept;
    for (int i = 0; i < kBranches; ++i) wide.push_back(product(x, kWide));
    for (const ValueId value : wide) kept.push_back(product(product(value, kWider), kKept));
    for (const ValueId value : wide) {
        const ValueId row = graph.apply(Op::sum, {product(value, kWider)}, {list(Attr::axes, {1})});
        graph.output(("row" + std::to_string(row)).c_str(), row);
    }
    ValueId sum = kept.back();
    for (int i = kBranches - 2; i >= 0; --i) sum = graph.apply(Op::add, {sum, kept[static_cast<size_t>(i)]});
    graph.output("y", graph.apply(Op::sum, {sum}, {list(Attr::axes, {1})}));
    PlanOptions options;
    options.order = StepOrder::memory;
    const std::uint64_t needed = make_plan(std::move(graph), options, test_heap())->bill.activations;
    const std::uint64_t row_bytes = 64 * sizeof(float);
    assert_int_equal(needed, row_bytes * (kBranches * kWide + kWider + kKept));
}

// Two updates that read each other's parameter, in a graph that the verifier has not seen.
void test_what_has_no_order_is_named(void**) {
    Graph graph(test_heap());
    const ValueId v = graph.state("v", DType::f32, {4}),
                  factors = graph.input("step/factors", DType::f32, {3});
    const ValueId a = graph.parameter("a", {4}, {}), b = graph.parameter("b", {4}, {}), one = graph.scalar(1);
    graph.apply(Op::sgd, {a, b, v, factors, one}, {}, Phase::update);
    graph.apply(Op::sgd, {b, a, v, factors, one}, {}, Phase::update);
    const Failure crossed = failure_of([&] { order_steps(graph, Identity(graph), PlanOptions{}); });
    assert_failure(
        crossed, VOLTA_INTERNAL,
        "plan: node 5 (sgd) has no place in the order: a value is overwritten in place before it is read");

    Graph back(test_heap());
    const ValueId late = back.apply(Op::exp, {back.input("x", DType::f32, {4})}, {}, Phase::reduce);
    back.apply(Op::neg, {late});
    const Failure over = failure_of([&] { order_steps(back, Identity(back), PlanOptions{}); });
    assert_failure(over, VOLTA_INTERNAL, "plan: node 2 (neg) has to run in a phase that is over");
}

// Sizes that no memory has are refused before anything is placed.
void test_what_is_beyond_64_bits_is_refused(void**) {
    const auto plan_with = [](const Shape& shape, std::uint32_t micro_batches) {
        return failure_of([&] {
            Graph graph(test_heap());
            graph.output("y", graph.apply(Op::accumulate, {graph.input("x", DType::f32, shape)}));
            plan_of(std::move(graph), micro_batches);
        });
    };
    const std::int64_t many = std::int64_t{1} << 31;
    assert_failure(plan_with({many, many / 4}, 9), VOLTA_UNSUPPORTED,
                   "a region would be larger than 2^64 bytes");
}

// ---- Micro-batches ----------------------------------------------------------------------------------------

struct StepCase {
    const char* name;
    void (*build)(Graph& graph);
    const char* refused;
};
const StepCase kSteps[] = {
    {"an output of each micro-batch",
     [](Graph& g) { g.output("y", g.apply(Op::exp, {g.input("x", DType::f32, {4})})); },
     "output y is computed anew in each of 3 micro-batches"},
    {"an input of each micro-batch as output", [](Graph& g) { g.output("y", g.input("x", DType::f32, {4})); },
     "output y is computed anew in each of 3 micro-batches"},
    {"a stack of another number",
     [](Graph& g) {
         g.output("y", g.apply(Op::stack, {g.input("x", DType::f32, {4})}, {number(Attr::micro_batches, 2)}));
     },
     "stack: it is made for 2 micro-batches, the plan has 3"},
    {"half a sum",
     [](Graph& g) {
         g.output("y",
                  g.apply(Op::accumulate,
                          {g.apply(Op::neg, {g.apply(Op::accumulate, {g.input("x", DType::f32, {4})})})}));
     },
     "neg reads what accumulate completes in the last micro-batch only"},
    {"one input for both",
     [](Graph& g) {
         const ValueId x = g.input("x", DType::f32, {4}), sum = g.apply(Op::accumulate, {x});
         g.output("y", g.apply(Op::add, {sum, x}, {}, Phase::reduce));
     },
     "add reads input x for the whole step, but each micro-batch has its own"},
};

void test_half_steps_are_refused(void**) {
    for (const StepCase& test : kSteps) {
        const Failure failure = failure_of([&] {
            Graph graph(test_heap());
            test.build(graph);
            plan_of(std::move(graph), 3);
        });
        assert_failure(failure, VOLTA_INVALID_ARGUMENT, test.refused);
    }
}

// Inputs of the step are not strided, nor is what only the later phases read; outputs of sources come from
// `reduce`.
void test_inputs_of_the_whole_step(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {4}), late = graph.input("late", DType::f32, {4});
    const ValueId step = graph.input("step/scale", DType::f32, {}), p = graph.parameter("p", {4}, {});
    const ValueId sum = graph.apply(Op::accumulate, {graph.apply(Op::mul, {x, step})});
    graph.output("y", graph.apply(Op::add, {sum, late}, {}, Phase::reduce));
    graph.output("p", p);
    const HeapPtr<Plan> plan = plan_of(std::move(graph), 3);
    assert_int_equal(plan->places[static_cast<std::size_t>(x)].micro_stride, 16);
    assert_int_equal(plan->places[static_cast<std::size_t>(late)].micro_stride, 0);
    assert_int_equal(plan->places[static_cast<std::size_t>(step)].micro_stride, 0);
    assert_int_equal(plan->bill.inputs, 3 * 16 + 16 + 4);
    assert_true(plan->graph.nodes.back().op == Op::broadcast_to &&
                plan->graph.nodes.back().phase == Phase::reduce);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs_have_plans),
        cmocka_unit_test(test_live_bytes),
        cmocka_unit_test(test_sums_over_micro_batches_live_through_the_phase),
        cmocka_unit_test(test_ids_have_limits),
        cmocka_unit_test(test_positions_have_limits),
        cmocka_unit_test(test_pairs_of_columns_are_written_in_place),
        cmocka_unit_test(test_parts_are_made_in_their_whole),
        cmocka_unit_test(test_parts_stay_apart_where_the_arena_would_grow),
        cmocka_unit_test(test_limits_meet),
        cmocka_unit_test(test_outputs_have_bytes_of_their_own),
        cmocka_unit_test(test_chains_share_memory),
        cmocka_unit_test(test_a_gradient_lies_on_its_logits),
        cmocka_unit_test(test_readers_of_aliases_come_before_updates),
        cmocka_unit_test(test_squares_follow_their_gradient),
        cmocka_unit_test(test_an_order_for_memory),
        cmocka_unit_test(test_an_order_knows_the_last_reader),
        cmocka_unit_test(test_what_has_no_order_is_named),
        cmocka_unit_test(test_what_is_beyond_64_bits_is_refused),
        cmocka_unit_test(test_half_steps_are_refused),
        cmocka_unit_test(test_inputs_of_the_whole_step),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
