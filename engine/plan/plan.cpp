#include "engine/plan/plan.h"

#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/plan/order.h"
#include "engine/plan/place.h"

namespace volta {
namespace {

// With several micro-batches phase each runs once for each of them: what it reads must be there by then, and
// what the later phases read must be complete.
class MicroBatchCheck {
  public:
    MicroBatchCheck(const Graph& graph, const Identity& identity, std::uint32_t micro_batches)
        : graph_(graph), identity_(identity), micro_batches_(micro_batches) {}

    void run() const {
        std::pmr::vector<bool> read_in_each(graph_.values.size(), false, graph_.heap());
        for (const Node& node : graph_.nodes) {
            if (node.op == Op::stack) check_stack(node);
            if (micro_batches_ == 1 || !is_step(node) || node.phase != Phase::each) continue;
            for (const ValueId input : node.inputs) {
                check_complete(node, input);
                read_in_each[static_cast<std::size_t>(identity_.bytes(input))] = true;
            }
        }
        if (micro_batches_ == 1) return;
        for (const Node& node : graph_.nodes)
            if (is_step(node) && node.phase != Phase::each)
                for (const ValueId input : node.inputs) check_whole(node, input, read_in_each);
    }

  private:
    void check_stack(const Node& node) const {
        require(node.number(Attr::micro_batches) == micro_batches_,
                "stack: it is made for %.0f micro-batches, the plan has %u", node.number(Attr::micro_batches),
                micro_batches_);
    }

    void check_complete(const Node& node, ValueId input) const {
        const Node& origin = graph_.producer(identity_.bytes(input));
        require(!persists(origin), "%s reads what %s completes in the last micro-batch only",
                op_row(node.op).name, op_row(origin.op).name);
    }

    void check_whole(const Node& node, ValueId input, const std::pmr::vector<bool>& read_in_each) const {
        const Node& origin = graph_.producer(identity_.bytes(input));
        const bool per_micro_batch = origin.op == Op::input && !is_step_input(origin.name.c_str()) &&
                                     read_in_each[static_cast<std::size_t>(origin.first_output)];
        require(!per_micro_batch, "%s reads input %s for the whole step, but each micro-batch has its own",
                op_row(node.op).name, origin.name.c_str());
    }

    const Graph& graph_;
    const Identity& identity_;
    const std::uint32_t micro_batches_;
};

}  // namespace

namespace {

HeapPtr<Plan> empty_plan(Graph&& graph, const PlanOptions& options, std::pmr::memory_resource* heap) {
    HeapPtr<Plan> plan = make_on<Plan>(heap, std::move(graph));
    plan->micro_batches = options.micro_batches;
    plan->arithmetic = options.arithmetic;
    plan->update_in_backward = options.update_in_backward;
    return plan;
}

void place(Plan& plan, const Identity& identity, std::pmr::vector<Step>&& steps) {
    plan.steps = std::move(steps);
    place_values(plan, identity);
    limit_inputs(plan);
    plan.bill = bill_of(plan);
}

void finish(Plan& plan) {
    plan.text = print(plan, plan.graph.heap());
    plan.hash = hash_bytes(plan.text.data(), plan.text.size());
    verify(plan);
}

}  // namespace

HeapPtr<Plan> in_less_memory(HeapPtr<Plan> plan, const PlanOptions& options,
                             std::pmr::memory_resource* heap) {
    const Identity identity(plan->graph);
    for (std::pmr::vector<Step>& steps : orders_for_memory(plan->graph, identity, options)) {
        HeapPtr<Plan> other = empty_plan(Graph(plan->graph, heap), options, heap);
        place(*other, identity, std::move(steps));
        if (other->bill.activations < plan->bill.activations) plan = std::move(other);
    }
    finish(*plan);
    return plan;
}

HeapPtr<Plan> make_plan(Graph&& graph, const PlanOptions& options, std::pmr::memory_resource* heap) {
    require(options.micro_batches >= 1, "a plan needs at least one micro-batch");
    require(!options.update_in_backward || options.micro_batches == 1,
            "an update in the backward pass needs one micro-batch, the plan has %u", options.micro_batches);
    HeapPtr<Plan> plan = empty_plan(std::move(graph), options, heap);
    separate_outputs(plan->graph, plan->micro_batches);

    const Identity identity(plan->graph);
    MicroBatchCheck(plan->graph, identity, plan->micro_batches).run();
    place(*plan, identity, order_steps(plan->graph, identity, options));
    if (options.order == StepOrder::memory) return in_less_memory(std::move(plan), options, heap);
    finish(*plan);
    return plan;
}

}  // namespace volta
