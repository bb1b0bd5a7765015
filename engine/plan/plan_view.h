// What the verifier reads off a plan. It shares nothing with the planner: each derives these facts for
// itself.
#pragma once

#include "engine/base/error.h"
#include "engine/plan/plan.h"

namespace volta {

class PlanView {
  public:
    explicit PlanView(const Plan& viewed);

    const Plan& plan;
    const Graph& graph;
    std::pmr::memory_resource* heap;

    static std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }
    // Throws Error{INTERNAL} "plan: step 7: reads ..." unless the rule holds.
    static void rule(bool holds, const char* what, std::int64_t where, const char* text) {
        if (!holds) fail(VOLTA_INTERNAL, "plan: %s %lld: %s", what, static_cast<long long>(where), text);
    }

    static bool is_alias(const Node& node) { return op_row(node.op).lowering == Lowering::alias; }
    static bool is_source(const Node& node) { return op_row(node.op).lowering == Lowering::source; }
    // One micro-batch's result behind the other's.
    static bool stacks(const Node& node) { return op_row(node.op).micro_batches == MicroBatches::stacked; }
    // The node adds to what earlier micro-batches have left.
    static bool adds_up(const Node& node) {
        const Attribute* attribute = node.find(Attr::accumulate);
        return op_row(node.op).micro_batches == MicroBatches::added ||
               (attribute != nullptr && attribute->number != 0);
    }

    const Place& place(ValueId value) const { return plan.places[at(value)]; }
    std::uint64_t bytes_of(ValueId value) const {
        return tensor_bytes(graph.value(value).dtype, graph.shape(value));
    }
    // What an alias renames, through any number of aliases; other values are their own content.
    ValueId content(ValueId value) const { return content_[at(value)]; }
    const Node& origin(ValueId value) const { return graph.producer(content(value)); }
    // An input of which the host gives one for each micro-batch.
    bool is_per_micro_batch(const Node& input) const;
    std::uint64_t micro_stride(ValueId value) const;

  private:
    std::pmr::vector<ValueId> content_;
    std::pmr::vector<bool> read_in_each_;
};

// Runs the plan on shadow memory that remembers, for every byte, whose content it holds, and checks that each
// step finds what it is to read and writes where it may. Lifetimes, overlaps, order, in-place updates and
// micro-batches are all seen by that one question. Steps and places are within bounds already.
void run_on_shadow_memory(const PlanView& view);

}  // namespace volta
