// Which inputs a step may overwrite when it is the last to read them. A fact about operators, like their
// rows; that nobody needs the input any more is the planner's to decide and the verifier's to check.
#pragma once

#include "engine/graph/forms.h"
#include "engine/graph/graph.h"

namespace volta {

// True when the step reads element i of this input for element i of this output alone, all inputs before any
// output, or, along rows, reads a row, or each pair of its columns, completely before it writes it. Of a
// product this holds for what its epilogue reads, but not where the product itself lies until then.
inline bool may_overwrite(const Node& node, std::size_t slot, std::int32_t output) {
    if (node.op == Op::accumulate) return false;
    if (op_row(node.op).lowering == Lowering::elementwise) return true;
    if (node.op == Op::matmul) return !node.body.ops.empty() && slot >= 2 && output != product_output(node);
    // dx over the logits; a loss over nothing: the dx of its row is made of all inputs.
    if (node.op == Op::cross_entropy_with_grad) return slot == 0 && output == 1;
    if (node.output_count != 1) return false;
    switch (node.op) {
        case Op::softmax:
        case Op::log_softmax:
        case Op::cross_entropy_grad:
        case Op::swiglu_grad:
        case Op::rotary:
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
