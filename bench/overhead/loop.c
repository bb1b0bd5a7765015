/* The loops as a library, for languages that cannot include them. */
#include "bench/overhead/loop.h"

VOLTA_API double volta_overhead(volta_session* session, const volta_tensor* input, volta_tensor* output,
                                int64_t runs);

double volta_overhead(volta_session* session, const volta_tensor* input, volta_tensor* output, int64_t runs) {
    return volta_overhead_loop(session, input, output, runs);
}

/* Nanoseconds of one addition on a tape, of `records` records of so many; -1: one failed. */
VOLTA_API double volta_overhead_tape(volta_tape* tape, volta_tensor* a, volta_tensor* b, int32_t calls,
                                     int64_t records);

double volta_overhead_tape(volta_tape* tape, volta_tensor* a, volta_tensor* b, int32_t calls,
                           int64_t records) {
    const double begin = volta_overhead_now();
    int64_t i;
    int32_t j;
    for (i = 0; i < records; ++i) {
        volta_tensor* sum = a;
        for (j = 0; j < calls; ++j) sum = volta_op(tape, "add", sum, b);
        if (volta_tape_status(tape) != VOLTA_OK || volta_tape_reset(tape) != VOLTA_OK) return -1;
    }
    return (volta_overhead_now() - begin) / ((double)records * calls);
}

/* Nanoseconds of a perceptron's step on a lazy tape, of weights and biases in turns; -1: it failed. */
VOLTA_API double volta_overhead_step(volta_tape* tape, volta_tape_optimizer* optimizer,
                                     volta_tensor* const* weights, int32_t layers, volta_tensor* x,
                                     volta_tensor* targets);

double volta_overhead_step(volta_tape* tape, volta_tape_optimizer* optimizer, volta_tensor* const* weights,
                           int32_t layers, volta_tensor* x, volta_tensor* targets) {
    const double begin = volta_overhead_now();
    int32_t i;
    volta_tensor* y = x;
    for (i = 0; i < layers; ++i) {
        y = volta_op(tape, "add", volta_op(tape, "matmul", y, weights[2 * i]), weights[2 * i + 1]);
        if (i + 1 < layers) y = volta_op(tape, "relu", y);
    }
    y = volta_op(tape, "mean", volta_op(tape, "cross_entropy", y, targets));
    if (volta_tape_optimizer_zero_grad(optimizer) != VOLTA_OK || volta_tape_backward(tape, y) != VOLTA_OK ||
        volta_tape_step(tape, optimizer, NULL) != VOLTA_OK || volta_tape_reset(tape) != VOLTA_OK)
        return -1;
    return volta_overhead_now() - begin;
}
