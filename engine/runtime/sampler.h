// From logits to the next token (docs/numerics.md, 8): penalty, temperature, top-k, min-p, top-p, draw. Its
// result depends on the logits' bits, the options, the seed and the absolute position alone.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/memory.h"
#include "engine/model/initialise.h"

namespace volta {

struct SamplerOptions {
    double temperature = 0;         // 0: greedy
    std::int32_t top_k = 0;         // 0: all
    double top_p = 0;               // 0: all
    double min_p = 0;               // 0: all
    double repetition_penalty = 1;  // 1: none
    std::uint64_t seed = 0;
};
// Throws INVALID_ARGUMENT naming the option that is not finite or out of range.
void check(const SamplerOptions& options);

class Sampler final {
  public:
    // `machine` computes the weights of options that were prepared for; its pool is not used.
    Sampler(std::int32_t vocabulary, std::pmr::memory_resource* tensors,
            std::pmr::memory_resource* structures, const InitMachine& machine = {});
    static std::uint64_t bytes_for(std::int32_t vocabulary);  // what the constructor takes of `tensors`

    // Compiles what draws with these options are faster by; a greedy choice needs nothing: no code of the
    // processor then, which matters to who runs on a device.
    void prepare(const SamplerOptions& options);

    // `options` are checked. Draws the token at absolute position `position` of a sequence whose tokens so
    // far are `history`. Throws NOT_FINITE when a logit is NaN. Allocates nothing.
    std::int32_t next(const SamplerOptions& options, const float* logits, const std::int32_t* history,
                      std::size_t history_count, std::uint32_t position);

  private:
    void penalise(const std::int32_t* history, std::size_t count);
    void keep_top_k();
    void weigh(float largest);
    void keep_top_p();
    std::int32_t last_of_top_p(std::int32_t count, double enough);
    void drop_behind(std::int32_t last, float dropped);
    std::int32_t draw(std::uint32_t position);

    SamplerOptions options_;  // of the draw in progress
    std::int32_t vocabulary_;
    Buffer values_,
        order_;  // f32 [vocabulary]: logits, then weights; i32 [vocabulary]: ids by rank, or marks
    float* x_;
    std::int32_t* ids_;
    std::pmr::memory_resource* structures_;
    InitMachine machine_;
    jit::RowKernelPtr weigh_;  // NULL: the definition
    Buffer scratch_;           // the kernel's
};

}  // namespace volta
