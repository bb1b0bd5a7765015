// Random numbers (docs/numerics.md, 8): Philox-4x32-10, a pure function of (seed, place, step, purpose,
// stream). There is no generator state: whoever needs the number at a place computes it, on any thread, in
// any order. Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/numerics/functions.h"

namespace volta {

enum class Purpose : std::uint32_t { init = 0, dropout = 1, sampling = 2, data_order = 3 };

// The last counter word: streams are numbered when a node or a parameter is created, below 2^24.
constexpr std::uint32_t purpose_and_stream(Purpose purpose, std::uint32_t stream) {
    return static_cast<std::uint32_t>(purpose) << 24 | stream;
}

template <class Int>
struct PhiloxBlock {
    Int word[4];
};

template <class Int>
struct PhiloxKey {
    Int low, high;  // of the 64-bit seed
};

template <class M>  // one block of four words for one counter
PhiloxBlock<typename M::Int> philox(M& m, PhiloxBlock<typename M::Int> counter,
                                    PhiloxKey<typename M::Int> key) {
    const auto multiplier0 = m.integer(0xd2511f53u), multiplier1 = m.integer(0xcd9e8d57u);
    const auto weyl0 = m.integer(0x9e3779b9u), weyl1 = m.integer(0xbb67ae85u);
    auto& c = counter.word;
    for (int round = 0; round < 10; ++round) {
        const auto high0 = m.umul_high(multiplier0, c[0]), low0 = m.umul_low(multiplier0, c[0]);
        const auto high1 = m.umul_high(multiplier1, c[2]), low1 = m.umul_low(multiplier1, c[2]);
        const auto mixed0 = m.ixor(m.ixor(high1, c[1]), key.low),
                   mixed1 = m.ixor(m.ixor(high0, c[3]), key.high);
        counter = {{mixed0, low1, mixed1, low0}};
        key.low = m.iadd(key.low, weyl0);
        key.high = m.iadd(key.high, weyl1);
    }
    return counter;
}

// The 32 bits of element (row, column) of a tensor seen as [rows, last axis]. 128 columns share 32 counters:
// column 32 w + l of them takes word w of counter l, so that vectors of up to 32 lanes use all four words
// without shuffling.
template <class M>
typename M::Int element_bits(M& m, typename M::Int row, typename M::Int column, typename M::Int step,
                             typename M::Int last_word, PhiloxKey<typename M::Int> key) {
    const auto low_bits = m.integer(31), two_bits = m.integer(3);
    const auto lane = m.iand(column, low_bits), first = m.shl(m.shr(column, 7), 5);
    const auto block = philox(m, {{m.iadd(first, lane), row, step, last_word}}, key);
    const auto which = m.iand(m.shr(column, 5), two_bits);
    auto bits = block.word[3];
    for (int word = 2; word >= 0; --word) {
        const auto number = m.integer(static_cast<std::uint32_t>(word));
        bits = m.select(m.iequal(which, number), block.word[word], bits);
    }
    return bits;
}

// [0, 1) in steps of 2^-24.
template <class M>
typename M::Real unit_uniform(M& m, typename M::Int bits) {
    const auto unit = m.real(0x1p-24);
    return m.to_real(m.shr(bits, 8)) * unit;
}

// A standard normal value from two words (Box and Muller); u1 is in (0, 1].
template <class M>
typename M::Real unit_normal(M& m, typename M::Int bits1, typename M::Int bits2) {
    const auto unit = m.real(0x1p-24), minus_two = m.real(-2), two_pi = m.real(0x1.921fb6p+2);
    const auto one = m.integer(1);
    const auto u1 = m.to_real(m.iadd(m.shr(bits1, 8), one)) * unit;
    const auto u2 = m.to_real(m.shr(bits2, 8)) * unit;
    const auto radius = m.sqrt(minus_two * log(m, u1));
    return radius * cos(m, two_pi * u2);
}

// ---- On the host: one place at a time
// ----------------------------------------------------------------------

struct RandomPlace {
    std::uint64_t seed = 0;
    std::uint32_t step = 0;
    Purpose purpose = Purpose::init;
    std::uint32_t stream = 0;
};

inline PhiloxBlock<std::uint32_t> random_block(const RandomPlace& place, std::uint32_t c0,
                                               std::uint32_t row) {
    ScalarMachine<float> m;
    const std::uint32_t last = purpose_and_stream(place.purpose, place.stream);
    return philox(m, {{c0, row, place.step, last}},
                  {static_cast<std::uint32_t>(place.seed), static_cast<std::uint32_t>(place.seed >> 32)});
}

inline std::uint32_t element_bits(const RandomPlace& place, std::uint32_t row, std::uint32_t column) {
    return random_block(place, (column >> 7) * 32 + (column & 31), row).word[column >> 5 & 3];
}

// Initial values of parameters. row, column: of the tensor seen as [rows, last axis].
inline float init_normal(const RandomPlace& place, std::uint32_t row, std::uint32_t column, float deviation) {
    ScalarMachine<float> m;
    const auto block = random_block(place, column, row);
    return unit_normal(m, block.word[0], block.word[1]) * deviation;
}

inline float init_uniform(const RandomPlace& place, std::uint32_t row, std::uint32_t column, float low,
                          float high) {
    ScalarMachine<float> m;
    return fma32(unit_uniform(m, element_bits(place, row, column)), high - low, low);
}

// An integer in [0, n), n >= 1: the high half of a 64 x 64 bit product.
inline std::uint64_t random_below(const RandomPlace& place, std::uint32_t c0, std::uint32_t row,
                                  std::uint64_t n) {
    const auto block = random_block(place, c0, row);
    const std::uint64_t bits = block.word[0] | static_cast<std::uint64_t>(block.word[1]) << 32;
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * n) >> 64);
}

// Fisher and Yates from the end. place.step is the epoch, place.purpose data_order; count <= 2^32.
template <class Index>
void shuffle(const RandomPlace& place, Index* items, std::uint64_t count) {
    for (std::uint64_t i = count; i-- > 1;) {
        const std::uint64_t j = random_below(place, static_cast<std::uint32_t>(i), 0, i + 1);
        const Index moved = items[i];
        items[i] = items[j];
        items[j] = moved;
    }
}

// ---- Dropout
// -----------------------------------------------------------------------------------------------

// What the probability 0 <= p < 1 becomes: an element stays when its bits are >= threshold, and is scaled.
struct DropoutRule {
    std::uint32_t threshold;
    float scale;
};

inline DropoutRule dropout_rule(double p) {
    return {static_cast<std::uint32_t>(std::floor(p * 0x1p32)), 1.0f / (1.0f - static_cast<float>(p))};
}

// Forward on x and backward on dy are the same: kept and scaled, or +0. It selects: NaN * 0 never happens.
template <class M>
typename M::Real dropout(M& m, typename M::Real x, typename M::Int bits, const DropoutRule& rule) {
    const auto threshold = m.integer(rule.threshold);
    const auto factor = m.real(static_cast<double>(rule.scale)), zero = m.real(0);
    const auto dropped = m.uless(bits, threshold);
    return m.select(dropped, zero, x * factor);
}

}  // namespace volta
