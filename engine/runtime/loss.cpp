#include "engine/runtime/loss.h"

#include "engine/base/error.h"

namespace volta {

namespace {

// In the order of volta_loss.
constexpr LossRow kLosses[] = {
    {VOLTA_LOSS_CROSS_ENTROPY, "cross-entropy", Op::cross_entropy, Op::cross_entropy_grad, true, true, 1},
    {VOLTA_LOSS_MSE, "mean square", Op::mse, Op::mse_grad, false, false, 2},
    {VOLTA_LOSS_BINARY_CROSS_ENTROPY, "binary cross-entropy", Op::binary_cross_entropy,
     Op::binary_cross_entropy_grad, false, true, 1},
    {VOLTA_LOSS_L1, "L1", Op::l1, Op::l1_grad, false, false, 1},
    {VOLTA_LOSS_HUBER, "Huber", Op::huber, Op::huber_grad, false, false, 1},
};
constexpr int kLossCount = sizeof kLosses / sizeof *kLosses;

constexpr bool rows_stand_in_order() {
    for (int i = 0; i < kLossCount; ++i)
        if (kLosses[i].id != i) return false;
    return true;
}
static_assert(rows_stand_in_order(), "rows in the order of volta_loss");

}  // namespace

const LossRow& loss_row(volta_loss id) {
    if (id < 0 || id >= kLossCount)
        fail(VOLTA_INVALID_ARGUMENT, "loss is %d, it must be in 0 .. %d", id, kLossCount - 1);
    return kLosses[id];
}

}  // namespace volta
