// A stream of tokens cut into samples, in an order that depends on the seed alone (docs/training.md).
//
// Epoch e shifts the stream by an offset o_e below `time` and cuts it into windows of time + 1 tokens that
// overlap by one: sample i reads tokens [o_e + i * time, o_e + i * time + time] (inputs: the first `time`;
// targets: the last). The samples of an epoch are taken in a Philox-shuffled order (docs/numerics.md, 8:
// purpose 3, step = epoch).
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/memory.h"

namespace volta {

class TokenStream final {
  public:
    // Copies the tokens. Throws INVALID_ARGUMENT: fewer than time + 1 tokens, an id outside [0, vocabulary).
    TokenStream(const std::int32_t* tokens, std::size_t count, std::int64_t time, std::int32_t vocabulary,
                std::uint64_t seed, std::pmr::memory_resource* tensors);

    static std::uint64_t bytes_for(std::size_t count, std::int64_t time);  // what the constructor allocates

    // Where the next sample stands; set() goes there (a resume).
    std::uint64_t epoch() const { return epoch_; }
    std::uint64_t cursor() const { return cursor_; }
    void set(std::uint64_t epoch,
             std::uint64_t cursor);  // throws INVALID_ARGUMENT: a cursor outside the epoch

    // Writes the next `rows` samples: inputs and targets, [rows, time] each.
    void next(std::int64_t rows, std::int32_t* inputs, std::int32_t* targets);
    // Passes over so many.
    void skip(std::int64_t rows);

  private:
    void start_epoch(std::uint64_t epoch);
    std::int64_t time_;
    std::size_t count_;
    std::uint64_t seed_, epoch_ = 0, cursor_ = 0, offset_ = 0, samples_ = 0;
    Buffer tokens_, order_;  // i32 [count]; i32 [most samples of an epoch]
};

}  // namespace volta
