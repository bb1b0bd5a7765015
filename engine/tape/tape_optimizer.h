// An optimizer of tensors: the trainer's rules, factors and order of additions, on what backward() gave.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/runtime/optimizer_options.h"
#include "engine/tape/tensor.h"

namespace volta {

class TapeOptimizer final {
  public:
    // Throws INVALID_ARGUMENT for a tensor that needs no gradient or is there twice. Keeps the tensors alive.
    TapeOptimizer(const ContextRef& context, const OptimizerSettings& settings, Tensor* const* tensors,
                  std::size_t count);
    ~TapeOptimizer();
    TapeOptimizer(const TapeOptimizer&) = delete;
    TapeOptimizer& operator=(const TapeOptimizer&) = delete;

    std::uint32_t number = 0;  // on its tape, which sets it
    const OptimizerRow& row() const { return *row_; }
    const OptimizerSettings& settings() const { return settings_; }
    const std::pmr::vector<Tensor*>& tensors() const { return tensors_; }
    bool decays(const Tensor& tensor) const {
        return settings_.decay_all_parameters || tensor.view.shape.rank >= 2;
    }
    // State s of tensor t: index t * state_count + s. Zeros at first.
    void* state(std::uint32_t index) { return states_[index].data(); }
    // Of the step that comes next, as write_factors() left them.
    float* factors() { return factors_; }
    float* factors_plain() { return factors_plain_; }
    void write_factors();
    // The step has been made.
    void advance();
    std::uint64_t step() const { return step_; }
    double learning_rate() const { return learning_rate_at(settings_.schedule, step_); }

  private:
    OptimizerSettings settings_;
    const OptimizerRow* row_;
    std::pmr::vector<Tensor*> tensors_;
    std::pmr::vector<Buffer> states_;
    float factors_[kMostFactors] = {}, factors_plain_[kMostFactors] = {};
    std::uint64_t step_ = 0;
    double beta1_product_ = 1, beta2_product_ = 1;
};

}  // namespace volta
