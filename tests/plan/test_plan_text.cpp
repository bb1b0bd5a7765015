// The printed plan, as it was when somebody last looked at it, with its hash: the same in every process.
#include "engine/passes/pass.h"
#include "engine/plan/plan.h"
#include "tests/passes/sample_graphs.h"
#include "tests/support/golden.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr struct {
    const char* name;
    Graph (*build)();
    std::uint32_t micro_batches;
} kSamples[] = {
    {"mlp", mlp_graph, 1},
    {"movement", movement_graph, 1},
    {"duplicates", duplicates_graph, 1},
    {"step_1", [] { return step_graph(1); }, 1},
    {"step_3", [] { return step_graph(3); }, 3},
};

HeapPtr<Plan> plan_of(const Graph& graph, std::uint32_t micro_batches) {
    PlanOptions options;
    options.micro_batches = micro_batches;
    return make_plan(run_passes(graph, kAllPasses, test_heap()), options, test_heap());
}

void test_plan_texts(void**) {
    bool all = true;
    for (const auto& sample : kSamples) {
        const HeapPtr<Plan> plan = plan_of(sample.build(), sample.micro_batches);
        const std::string text = std::string(plan->text) + "hash " + to_text(plan->hash).text + "\n";
        all = matches_golden("plans/" + std::string(sample.name) + ".txt", text) && all;
    }
    assert_true(all);
}

// Addresses differ from one plan to the next, within a process and between processes; the plan does not.
void test_same_plan_at_other_addresses(void**) {
    bool same = true;
    {
        std::vector<HeapPtr<Plan>> plans;
        for (int i = 0; i < 20; ++i) plans.push_back(plan_of(step_graph(3), 3));
        for (const auto& plan : plans)
            same = same && plan->hash == plans[0]->hash && plan->text == plans[0]->text;
    }
    assert_true(same);
}

void test_divergence_shows_both_lines(void**) {
    const HeapPtr<Plan> a = plan_of(step_graph(3), 3), b = plan_of(step_graph(3), 3),
                        c = plan_of(step_graph(1), 1);
    const std::string same(first_divergence(*a, *b, test_heap())),
        other(first_divergence(*a, *c, test_heap()));
    assert_string_equal(same.c_str(), "");
    assert_string_equal(other.c_str(), "line 1: \"plan of 3 micro-batches\" or \"plan of 1 micro-batch\"");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_texts),
        cmocka_unit_test(test_same_plan_at_other_addresses),
        cmocka_unit_test(test_divergence_shows_both_lines),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
