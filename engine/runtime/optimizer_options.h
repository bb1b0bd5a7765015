// What a host says of an optimizer, checked, with every default decided: for trainers and for tapes.
#pragma once

#include "engine/runtime/optimizer.h"

namespace volta {

inline constexpr double kLargest = 1e30;  // of any hyper-parameter: far above sense, far below overflow

// Throw INVALID_ARGUMENT naming the field and its value; NaN is in no range.
void require_range(const char* name, double value, double low, double high);
void require_choice(const char* name, std::int32_t value, std::int32_t last);

struct OptimizerSettings {
    volta_optimizer optimizer = VOLTA_ADAMW;
    Schedule schedule;
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, momentum = 0, clip_norm = 0;
    bool decay_all_parameters = false, nesterov = false;
};
// Throws INVALID_ARGUMENT naming field and value.
OptimizerSettings read_optimizer_options(const volta_optimizer_options& options);

}  // namespace volta
