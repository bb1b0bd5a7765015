// The sizes of GPT that --preset names.
#pragma once

#include <cstdint>

namespace voltac {

struct Preset {
    const char* name;
    std::int64_t layers, dim, heads, context, batch;
    std::int64_t bench_vocabulary, bench_seq;  // what voltac bench takes where a text decides in training
};
inline constexpr Preset kPresets[] = {
    {"tiny", 6, 384, 6, 256, 4, 65, 256},
    {"small", 4, 128, 4, 64, 8, 65, 64},
    {"gpt2", 12, 768, 12, 1024, 4, 50257, 64},
};

}  // namespace voltac
