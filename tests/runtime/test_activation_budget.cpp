// What a budget for activations costs, on plans alone: nothing is allocated for them.
#include <vector>

#include "engine/graph/cost.h"
#include "engine/model/gpt.h"
#include "engine/passes/pass.h"
#include "engine/passes/rematerialize.h"
#include "engine/runtime/activation_budget.h"
#include "engine/runtime/training_graph.h"
#include "tests/support/cmocka_cpp.h"

namespace {

using namespace volta;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

Graph gpt2(std::int64_t batch, std::int64_t time) {
    GptConfig config;
    config.vocabulary = 50257;
    config.layers = 12;
    config.dim = 768;
    config.heads = 12;
    config.context = 1024;
    const Graph model = build_gpt(config, heap());
    const Shape shape{batch, time};
    return specialize(model, &shape, 1, heap());
}

Graph gpt2_step(std::int64_t batch, std::int64_t time) {
    return build_training_graph(gpt2(batch, time), TrainingSpec(heap()), heap());
}

double operations(const Plan& plan) {
    double sum = 0;
    for (const Step& step : plan.steps) sum += node_cost(plan.graph, plan.graph.node(step.node)).operations;
    return sum;
}

HeapPtr<Plan> whole_plan(const Graph& graph) {
    return make_plan(run_passes(graph, kAllPasses, heap()), PlanOptions{}, heap());
}
HeapPtr<Plan> plan_in(const Graph& graph, std::uint64_t budget) {
    return plan_within(graph, kAllPasses, PlanOptions{}, budget, heap());
}

// GPT-2 124M, 4 x 64: three fifths of the activations for a tenth of the operations.
void test_gpt2_at_three_fifths(void**) {
    const Graph graph = gpt2_step(4, 64);
    const HeapPtr<Plan> whole = whole_plan(graph);
    const std::uint64_t most = whole->bill.activations;
    const HeapPtr<Plan> cut = plan_in(graph, most / 5 * 3);
    assert_true(cut->bill.activations <= most / 5 * 3);
    assert_true(operations(*cut) <= 1.12 * operations(*whole));
    assert_true(operations(*cut) > operations(*whole));
    // All blocks again, from what enters them: what is left is the loss's, logits above all.
    const std::uint64_t least = smallest_activations(graph, kAllPasses, PlanOptions{}, heap());
    assert_true(least <= most / 100 * 43);
    const HeapPtr<Plan> smallest = plan_in(graph, least);
    assert_true(smallest->bill.activations == least);
    assert_true(operations(*smallest) <= 1.25 * operations(*whole));
}

// 4 x 256: logits are 196 MiB of the 566. In pieces of 512 rows half of them are alive, and nothing is
// computed again for that.
void test_gpt2_with_its_loss_in_pieces(void**) {
    const Graph graph = gpt2_step(4, 256);
    const HeapPtr<Plan> whole = whole_plan(graph);
    const std::uint64_t most = whole->bill.activations;
    assert_true(smallest_activations(graph, kAllPasses, PlanOptions{}, heap()) < most / 100 * 25);
    const HeapPtr<Plan> cut = plan_in(graph, most / 100 * 35);
    assert_true(cut->bill.activations <= most / 100 * 35);
    assert_true(operations(*cut) <= 1.25 * operations(*whole));
    assert_true(operations(*plan_in(graph, most / 100 * 84)) == operations(*whole));
    // At other levels a product's bits may depend on its rows, and smaller micro-batches have the same
    // memory.
    PlanOptions other;
    other.arithmetic.level = Level::repeatable;
    assert_true(smallest_activations(graph, kAllPasses, other, heap()) > most / 100 * 35);
}

void test_a_budget_that_all_fits_in_changes_nothing(void**) {
    const Graph graph = gpt2_step(1, 32);
    const HeapPtr<Plan> whole = whole_plan(graph);
    assert_true(plan_in(graph, whole->bill.activations)->hash == whole->hash);
    assert_true(plan_in(graph, UINT64_MAX)->hash == whole->hash);
}

void test_found_are_few_and_in_order(void**) {
    const Graph graph = gpt2_step(1, 32);
    const auto choices = recomputations(graph, heap());
    assert_true(choices.size() > 8 && choices.size() <= kMostRecomputations);
    assert_true(choices[0].nodes.empty() && choices[0].repeated == 0);
    for (std::size_t i = 1; i < choices.size(); ++i) {
        assert_true(choices[i].repeated >= choices[i - 1].repeated);
        assert_true(!choices[i].nodes.empty());
    }
}

// Inference keeps nothing for a backward pass.
void test_a_graph_without_a_backward_pass_has_one_choice(void**) {
    const Graph graph = gpt2(1, 8);
    assert_int_equal(recomputations(graph, heap()).size(), 1);
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2_at_three_fifths),
        cmocka_unit_test(test_gpt2_with_its_loss_in_pieces),
        cmocka_unit_test(test_a_budget_that_all_fits_in_changes_nothing),
        cmocka_unit_test(test_found_are_few_and_in_order),
        cmocka_unit_test(test_a_graph_without_a_backward_pass_has_one_choice),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
