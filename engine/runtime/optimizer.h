// Optimizers and schedules: the host's side of a step. Hyper-parameters are doubles; step factors are
// computed in double by the engine's own functions and rounded to float once (docs/numerics.md, 6).
#pragma once

#include <cstdint>

#include "engine/graph/op.h"
#include "include/volta.h"

namespace volta {

inline constexpr int kMostFactors = 8;

// Everything that a step's factors depend on; part of every checkpoint.
struct Hyper {
    double learning_rate = 0;  // of this step, from the schedule
    double beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0, momentum = 0;
    double beta1_product = 1, beta2_product = 1;  // running products, this step's beta included
};

struct OptimizerRow {
    volta_optimizer id;
    const char* name;
    Op op;
    int factor_count;
    int state_count;
    const char* state_suffix[2];
    // Writes factor_count floats; decay: the weight decay of this group (0 for parameters that do not decay).
    void (*factors)(const Hyper& hyper, double decay, float* out);
    double default_epsilon;
};
// SGD without momentum keeps no velocity, which would cost a stream of memory to no effect. Throws
// INVALID_ARGUMENT for a number that is no optimizer.
const OptimizerRow& optimizer_row(volta_optimizer id, bool has_momentum);

struct Schedule {
    volta_schedule kind = VOLTA_SCHEDULE_CONSTANT;
    double learning_rate = 0, final_learning_rate = 0;
    std::uint64_t warmup_steps = 0, steps = 0;
};
// The learning rate of step t = 0, 1, ...: (t+1)/warmup of it during warm-up, then constant, or a half cosine
// from learning_rate at t = warmup to final_learning_rate at t = steps (and there after that).
double learning_rate_at(const Schedule& schedule, std::uint64_t t);

}  // namespace volta
