// Keys and values of all layers of a decoder's sequences. They are one block, so that large pages cover it
// where the system grants them; between two tokens the weights have pushed all small pages out of the TLB.
#pragma once

#include "engine/numerics/define_cached_attention.h"
#include "engine/runtime/decoder.h"

namespace volta {

class DecodeCache final {
  public:
    // As the states of `program` say, in its device's memory. Throws OUT_OF_MEMORY.
    DecodeCache(const Program& program, std::pmr::memory_resource* structures);

    void lend_to(DecodeProgram& program) const;
    // Slot `to` gets the first `tokens` tokens of slot `from` of `source`, which is this cache or one of the
    // same model with another capacity. Throws what the device reports.
    void copy(const DecodeCache& source, std::int64_t from, std::int64_t to, std::int64_t tokens);
    std::uint64_t bytes() const { return content_.bytes(); }

  private:
    struct Layer {
        define::CacheLayout layout;
        const std::pmr::string* name[2];  // of the states; programs live as long as the context
        std::size_t offset[2];            // keys, values: whole panels, so that all begin at whole lines
    };
    float* floats(std::size_t offset) const {
        return reinterpret_cast<float*>(static_cast<unsigned char*>(content_.data()) + offset);
    }
    void copy_floats(const float* from, float* to, std::int64_t count);

    const Program& program_;
    Block content_;
    std::pmr::vector<Layer> layers_;
};

}  // namespace volta
