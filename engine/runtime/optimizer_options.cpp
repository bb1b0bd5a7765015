#include "engine/runtime/optimizer_options.h"

#include "engine/base/error.h"

namespace volta {

void require_range(const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high))  // NaN fails too
        fail(VOLTA_INVALID_ARGUMENT, "%s is %g, it must be in %g .. %g", name, value, low, high);
}

void require_choice(const char* name, std::int32_t value, std::int32_t last) {
    if (value < 0 || value > last)
        fail(VOLTA_INVALID_ARGUMENT, "%s is %d, it must be in 0 .. %d", name, value, last);
}

namespace {

double beta_or_default(const char* name, double value, double fallback) {
    if (value == 0) return fallback;
    if (value == -1) return 0;
    if (!(value > 0 && value < 1))  // NaN fails too
        fail(VOLTA_INVALID_ARGUMENT, "%s is %g, it must be at least 0 and below 1, or -1 for 0", name, value);
    return value;
}

}  // namespace

OptimizerSettings read_optimizer_options(const volta_optimizer_options& c) {
    require_choice("schedule", c.schedule, VOLTA_SCHEDULE_COSINE);
    require_choice("decay_all_parameters", c.decay_all_parameters, 1);
    require_choice("nesterov", c.nesterov, 1);
    const OptimizerRow& row = optimizer_row(c.optimizer, c.momentum != 0);
    if (c.steps >= (std::uint64_t{1} << 32))
        fail(VOLTA_INVALID_ARGUMENT, "steps is %llu, it must be below 2^32",
             static_cast<unsigned long long>(c.steps));
    if (c.schedule == VOLTA_SCHEDULE_COSINE && c.steps == 0)
        fail(VOLTA_INVALID_ARGUMENT, "the cosine schedule needs steps, which is 0");
    if (c.steps != 0 && c.warmup_steps > c.steps)
        fail(VOLTA_INVALID_ARGUMENT, "warmup_steps is %llu, more than the %llu steps",
             static_cast<unsigned long long>(c.warmup_steps), static_cast<unsigned long long>(c.steps));

    OptimizerSettings settings;
    settings.optimizer = c.optimizer;
    settings.schedule = {c.schedule, c.learning_rate == 0 ? 1e-3 : c.learning_rate, c.final_learning_rate,
                         c.warmup_steps, c.steps};
    settings.beta1 = beta_or_default("beta1", c.beta1, 0.9);
    settings.beta2 = beta_or_default("beta2", c.beta2, 0.999);
    settings.epsilon = c.epsilon == 0 ? row.default_epsilon : c.epsilon;
    settings.weight_decay = c.weight_decay;
    settings.momentum = c.momentum;
    settings.clip_norm = c.clip_norm;
    settings.decay_all_parameters = c.decay_all_parameters != 0;
    settings.nesterov = c.nesterov != 0;
    require_range("learning_rate", settings.schedule.learning_rate, 0, kLargest);
    require_range("final_learning_rate", c.final_learning_rate, 0, kLargest);
    require_range("epsilon", settings.epsilon, 0, kLargest);
    require_range("weight_decay", c.weight_decay, 0, kLargest);
    require_range("momentum", c.momentum, 0, 1);
    require_range("clip_norm", c.clip_norm, 0, kLargest);
    return settings;
}

}  // namespace volta
