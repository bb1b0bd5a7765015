// What happens before what: which values share content and bytes, and the order of steps that follows.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/plan/plan.h"

namespace volta {

// Does the node compute something when the plan runs? Sources and aliases do not.
bool is_step(const Node& node);
// Does what the node writes hold until all micro-batches have run: accumulated sums and stacks?
bool persists(const Node& node);

// Identity of values. Aliases have the content of another value; in-place outputs take over another value's
// bytes.
struct Identity {
    explicit Identity(const Graph& graph);
    // The value that first had this content: %1 for every reshape of %1.
    ValueId content(ValueId value) const { return content_[static_cast<std::size_t>(value)]; }
    // The value that first had these bytes: the parameter, for an optimizer's output.
    ValueId bytes(ValueId value) const { return bytes_[static_cast<std::size_t>(value)]; }

  private:
    std::pmr::vector<ValueId> content_, bytes_;
};

// Calls visit(output, input) for each output of `node` that overwrites one of its inputs.
template <class Visit>
void for_each_in_place(const Node& node, Visit visit) {
    const OpRow& row = op_row(node.op);
    for (std::int32_t i = 0; i < node.output_count && i < 4; ++i) {
        const std::int8_t slot = row.in_place[i];
        if (slot >= 0 && slot < static_cast<int>(node.inputs.size()))
            visit(node.first_output + i, node.inputs[static_cast<std::size_t>(slot)]);
    }
}

// The nodes that are steps: phases ascending, inputs before users, a writer in place after all other readers
// of what it overwrites; otherwise the graph's order. With one micro-batch a gradient's sum of squares stands
// behind the step that writes the gradient, in its phase, and with update_in_backward so does the update.
// Throws INTERNAL when no order exists.
std::pmr::vector<Step> order_steps(const Graph& graph, const Identity& identity, const PlanOptions& options);

// Other orders of the same steps at whose peak less is alive: whether they need less memory, their plans say.
std::pmr::vector<std::pmr::vector<Step>> orders_for_memory(const Graph& graph, const Identity& identity,
                                                           const PlanOptions& options);

}  // namespace volta
