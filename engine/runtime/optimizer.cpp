#include "engine/runtime/optimizer.h"

#include <cmath>

#include "engine/base/error.h"
#include "engine/numerics/double_functions.h"

namespace volta {

namespace {

float rounded(double value) { return static_cast<float>(value); }

// {a, r2, k, b1, b2, q1, q2, eps}; Adam's third is wd, because it adds the decay to the gradient.
void adam_factors(const Hyper& h, double third, float* out) {
    out[0] = rounded(h.learning_rate / (1 - h.beta1_product));
    out[1] = rounded(1 / std::sqrt(1 - h.beta2_product));
    out[2] = rounded(third);
    out[3] = rounded(h.beta1);
    out[4] = rounded(h.beta2);
    out[5] = rounded(1 - h.beta1);
    out[6] = rounded(1 - h.beta2);
    out[7] = rounded(h.epsilon);
}

void adamw(const Hyper& h, double decay, float* out) { adam_factors(h, 1 - h.learning_rate * decay, out); }
void adam(const Hyper& h, double decay, float* out) { adam_factors(h, decay, out); }

void sgd(const Hyper& h, double decay, float* out) {
    out[0] = rounded(h.learning_rate);
    out[1] = rounded(h.momentum);
    out[2] = rounded(decay);
}

void sgd_plain(const Hyper& h, double decay, float* out) {
    out[0] = rounded(h.learning_rate);
    out[1] = rounded(decay);
}

void adagrad(const Hyper& h, double decay, float* out) {
    out[0] = rounded(h.learning_rate);
    out[1] = rounded(decay);
    out[2] = rounded(h.epsilon);
}

constexpr OptimizerRow kOptimizers[] = {
    {VOLTA_ADAMW, "adamw", Op::adamw, 8, 2, {"/m", "/v"}, adamw, 1e-8},
    {VOLTA_ADAM, "adam", Op::adam, 8, 2, {"/m", "/v"}, adam, 1e-8},
    {VOLTA_SGD, "sgd", Op::sgd, 3, 1, {"/v", nullptr}, sgd, 0},
    {VOLTA_SGD, "sgd", Op::sgd_plain, 2, 0, {nullptr, nullptr}, sgd_plain, 0},
    {VOLTA_ADAGRAD, "adagrad", Op::adagrad, 3, 1, {"/h", nullptr}, adagrad, 1e-10},
};

}  // namespace

const OptimizerRow& optimizer_row(volta_optimizer id, bool has_momentum) {
    for (const OptimizerRow& row : kOptimizers)
        if (row.id == id && (id != VOLTA_SGD || (row.state_count > 0) == has_momentum)) return row;
    fail(VOLTA_INVALID_ARGUMENT, "optimizer is %d, which is none of 0 .. 3", id);
}

double learning_rate_at(const Schedule& schedule, std::uint64_t t) {
    const double high = schedule.learning_rate, low = schedule.final_learning_rate;
    const std::uint64_t warmup = schedule.warmup_steps;
    if (t < warmup) return high * static_cast<double>(t + 1) / static_cast<double>(warmup);
    if (schedule.kind == VOLTA_SCHEDULE_CONSTANT) return high;
    if (t >= schedule.steps) return low;
    constexpr double kHalfTurn = 0x1.921fb54442d18p+1;  // pi
    const double fraction = static_cast<double>(t - warmup) / static_cast<double>(schedule.steps - warmup);
    return low + 0.5 * (high - low) * (1 + cosd(kHalfTurn * fraction));
}

}  // namespace volta
