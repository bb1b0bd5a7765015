// The losses that a trainer knows: which operators they are, and what a step divides by (docs/numerics.md,
// 4).
#pragma once

#include "engine/graph/op.h"
#include "include/volta.h"

namespace volta {

struct LossRow {
    volta_loss id;
    const char* name;
    Op rows;           // (output, targets [, weights]) -> one loss per row
    Op gradient;       // (output, targets, scale [, weights]) -> the output's gradient
    bool has_classes;  // i32 targets, one class per row, and both by cross_entropy_with_grad
    bool has_weights;  // class_weights may be given
    double slope;      // of the gradient: the scale is slope / count
};
// Throws INVALID_ARGUMENT for a number that is no loss.
const LossRow& loss_row(volta_loss id);

}  // namespace volta
