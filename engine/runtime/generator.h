// Tokens from a language model, one at a time. Each token runs the forward pass over the sequence so far, in
// the smallest of a few compiled lengths that holds it; positions after the sequence are padding that no
// earlier row can see, so the bits are those of the exact length.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/runtime/sampler.h"
#include "engine/runtime/session.h"

namespace volta {

class Generator final {
  public:
    Generator(ContextRef context, ModelRef model, const SamplerOptions& options);

    void start(const std::int32_t* tokens, std::size_t count);
    std::int32_t next();
    const float* logits(std::size_t* count) const;  // of the latest token; throws INVALID_STATE before it
    volta_bill bill() const { return bill_; }

  private:
    struct Length {  // one compiled sequence length
        Length(std::int64_t extent, const Program& program, std::pmr::memory_resource* structures)
            : time(extent), memory(program, structures) {}
        std::int64_t time;
        ProgramMemory memory;
        int tokens_region = -1, last_region = -1, logits_region = -1;
    };
    ContextRef context_;
    ModelRef model_;
    std::pmr::vector<Length> lengths_;  // ascending; the last one is the context
    std::int64_t context_length_;
    std::int32_t vocabulary_;
    Sampler sampler_;
    Buffer arena_, workspace_, sequence_, logits_;  // i32 [context]; f32 [vocabulary]
    std::int64_t used_ = 0;                         // tokens in sequence_
    bool has_logits_ = false;
    volta_bill bill_ = {};
};

}  // namespace volta
