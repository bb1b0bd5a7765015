// The random numbers of loaders (docs/data.md, "Random numbers"): functions of (seed, epoch, sample, kind).
#pragma once

#include <cstdint>

#include "engine/numerics/random.h"

namespace volta::data {

// The streams of Purpose::data_order.
enum class Draw : std::uint32_t { order = 0, crop, flip, resized_crop, jitter, cutout, mixup };

struct Draws {
    std::uint64_t seed;
    std::uint32_t epoch, sample;

    PhiloxBlock<std::uint32_t> block(Draw kind, std::uint32_t c0) const {
        return random_block({seed, epoch, Purpose::data_order, static_cast<std::uint32_t>(kind)}, c0, sample);
    }
};

// In [0, n).
inline std::uint32_t below(std::uint32_t low, std::uint32_t high, std::uint32_t n) {
    const std::uint64_t bits = low | static_cast<std::uint64_t>(high) << 32;
    return static_cast<std::uint32_t>((static_cast<unsigned __int128>(bits) * n) >> 64);
}

// In [0, 1), exact.
inline float unit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// In (0, 1].
inline float positive_unit(std::uint32_t word) { return static_cast<float>((word >> 8) + 1) * 0x1p-24f; }

// A number of Beta(a, a).
float draw_beta(const Draws& draws, float a);

}  // namespace volta::data
