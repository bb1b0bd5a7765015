// Every subset of the passes, on random graphs and data with the special values: the evaluator's bits never
// change. (Each graph meets every second subset, its neighbour the others.)
#include "engine/graph/print.h"
#include "engine/graph/verify.h"
#include "engine/passes/pass.h"
#include "tests/passes/random_graph.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr int kGraphs = 600;
int nodes_of(int graph) { return 3 + graph % 40; }

// "" or what went wrong with this graph.
std::string subset_fault(int index) {
    const auto seed = static_cast<std::uint64_t>(index);
    const Data data = index % 3 == 0 ? Data::plain : Data::special;
    const Graph graph = RandomGraph(seed, nodes_of(index)).take();
    const std::vector<std::uint32_t> expected = evaluated_bits(graph, seed, data);
    for (auto subset = static_cast<std::uint32_t>(index % 2); subset < 1u << kPassCount; subset += 2) {
        const Graph result = run_passes(graph, subset, test_heap());
        if (evaluated_bits(result, seed, data) != expected)
            return "subset " + std::to_string(subset) + ": " +
                   std::string(first_divergence(graph, subset, 0, test_heap()));
    }
    return "";
}

void test_all_subsets_keep_all_bits(void**) {
    for (int index = 0; index < kGraphs; ++index) {
        std::string fault;
        try {
            fault = subset_fault(index);
        } catch (const Error& error) {
            fault = error.what();
        }
        const bool fine = fault.empty();
        if (!fine) print_error("graph %d: %s\n", index, fault.c_str());
        fault = std::string();
        assert_true(fine);
    }
}

// A pass has nothing left to do after itself, alone and behind those before it.
void test_passes_are_idempotent(void**) {
    for (int index = 0; index < kGraphs; ++index) {
        const char* fault = nullptr;
        {
            Graph graph = RandomGraph(static_cast<std::uint64_t>(index), nodes_of(index)).take();
            Graph before(graph, test_heap());
            for (int pass = 0; pass < kPassCount && !fault; ++pass) {
                const PassRow& row = kPasses[pass];
                for (const Graph* start : {&graph, &before}) {
                    const Graph once = row.run(*start, test_heap());
                    if (print(row.run(once, test_heap()), test_heap()) != print(once, test_heap()))
                        fault = row.name;
                }
                before = row.run(before, test_heap());
            }
        }
        if (fault) print_error("graph %d: %s changes its own result\n", index, fault);
        assert_null(fault);
    }
}

// The random graphs are of use: every pass changes many of them, and most of their nodes are elementwise.
void test_passes_have_work(void**) {
    int changed[16] = {};
    for (int index = 0; index < kGraphs; ++index) {
        Graph graph = RandomGraph(static_cast<std::uint64_t>(index), nodes_of(index)).take();
        for (int pass = 0; pass < kPassCount; ++pass) {
            Graph next = kPasses[pass].run(graph, test_heap());
            changed[pass] += print(next, test_heap()) != print(graph, test_heap());
            graph = std::move(next);
        }
    }
    for (int pass = 0; pass < kPassCount; ++pass) {
        print_message("%-17s changes %d of %d graphs\n", kPasses[pass].name, changed[pass], kGraphs);
        assert_true(changed[pass] > kGraphs / 10);
    }
}

// Inputs, parameters and states are the graph's interface: all there, in order, with the same types.
void test_sources_and_outputs_stay(void**) {
    for (int index = 0; index < kGraphs; ++index) {
        bool same = true;
        {
            const Graph graph = RandomGraph(static_cast<std::uint64_t>(index), nodes_of(index)).take();
            const Graph result = run_passes(graph, kAllPasses, test_heap());
            same = graph.sources.size() == result.sources.size() &&
                   graph.outputs.size() == result.outputs.size();
            for (std::size_t i = 0; same && i < graph.sources.size(); ++i) {
                const Node &a = graph.node(graph.sources[i].node), &b = result.node(result.sources[i].node);
                same = a.op == b.op && a.name == b.name &&
                       graph.shape(a.first_output) == result.shape(b.first_output);
            }
            for (std::size_t i = 0; same && i < graph.outputs.size(); ++i)
                same = graph.outputs[i].name == result.outputs[i].name &&
                       graph.shape(graph.outputs[i].value) == result.shape(result.outputs[i].value);
        }
        assert_true(same);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_all_subsets_keep_all_bits),
        cmocka_unit_test(test_passes_are_idempotent),
        cmocka_unit_test(test_passes_have_work),
        cmocka_unit_test(test_sources_and_outputs_stay),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
