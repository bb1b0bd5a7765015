// Which inputs a step may overwrite when it is the last to read them. A fact about operators, like their
// rows; that nobody needs the input any more is the planner's to decide and the verifier's to check.
#pragma once

#include "engine/graph/graph.h"

namespace volta {

// True when the step has one output, and reads element i of this input for element i of the output alone, or,
// along rows, reads a row completely before it writes the row.
inline bool may_overwrite(const Node& node, std::size_t slot) {
    if (node.output_count != 1 || node.op == Op::accumulate) return false;
    if (op_row(node.op).lowering == Lowering::elementwise) return true;
    switch (node.op) {
        case Op::softmax:
        case Op::log_softmax:
        case Op::cross_entropy_grad:
            return slot == 0;
        case Op::softmax_grad:
        case Op::log_softmax_grad:
        case Op::layer_norm_grad:
        case Op::rms_norm_grad:
        case Op::mse_grad:
            return slot <= 1;
        case Op::embedding_gradient:
            return slot == 2;  // the base
        default:
            return false;
    }
}

}  // namespace volta
