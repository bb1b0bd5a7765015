// The sizes of language models that --preset names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltac {

struct Preset {
    const char* name;
    const char* architecture;
    std::int64_t layers, dim, heads, context, batch;
    std::int64_t bench_vocabulary, bench_seq;  // what voltac bench takes where a text decides in training
};
inline constexpr Preset kPresets[] = {
    {"tiny", "gpt", 6, 384, 6, 256, 4, 65, 256},
    {"small", "gpt", 4, 128, 4, 64, 8, 65, 64},
    {"gpt2", "gpt", 12, 768, 12, 1024, 4, 50257, 64},
    {"llama-tiny", "llama", 6, 384, 6, 256, 4, 65, 256},
};

inline std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : kPresets) names.push_back(preset.name);
    return names;
}

}  // namespace voltac
