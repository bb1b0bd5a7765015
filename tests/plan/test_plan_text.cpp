// The printed plan, as it was when somebody last looked at it, with its hash: the same in every process.
#include <cstring>

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
        std::vector<HeapPtr<Plan>> plans(20);
        for (HeapPtr<Plan>& plan : plans) plan = plan_of(step_graph(3), 3);
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

// The line that a plan of another level has more than the strict one, whose text says nothing of levels.
void test_other_levels_are_another_plan(void**) {
    const HeapPtr<Plan> strict = plan_of(mlp_graph(), 1);
    const Arithmetic others[] = {{Level::repeatable, Precision::fp32},
                                 {Level::repeatable, Precision::bf16},
                                 {Level::fast, Precision::bf16},
                                 {Level::fast, Precision::tf32}};
    const char* const lines[] = {"level repeatable, precision fp32\n", "level repeatable, precision bf16\n",
                                 "level fast, precision bf16\n", "level fast, precision tf32\n"};
    std::vector<Hash128> hashes = {strict->hash};
    for (std::size_t i = 0; i < std::size(others); ++i) {
        PlanOptions options;
        options.arithmetic = others[i];
        const HeapPtr<Plan> plan =
            make_plan(run_passes(mlp_graph(), kAllPasses, test_heap()), options, test_heap());
        std::string text(plan->text);
        const std::size_t at = text.find(lines[i]);
        assert_int_equal(at, text.find('\n') + 1);  // behind the first line
        text.erase(at, std::strlen(lines[i]));
        assert_string_equal(text.c_str(), strict->text.c_str());
        for (const Hash128& other : hashes) assert_true(plan->hash != other);
        hashes.push_back(plan->hash);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_texts),
        cmocka_unit_test(test_same_plan_at_other_addresses),
        cmocka_unit_test(test_divergence_shows_both_lines),
        cmocka_unit_test(test_other_levels_are_another_plan),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
