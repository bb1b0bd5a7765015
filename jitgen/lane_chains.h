// Chains of fma side by side: lane i of the vector of tap t is the chain of a[k][i] * b[k at t][i] over the
// steps k (docs/numerics.md, 2.1). What a depthwise convolution's weight gradient is made of: lanes are
// channels.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr int kChainLanes = 16;  // floats from one step to the next, whatever a vector holds

// Taps of `tap_rows` rows, `tap_columns` in each, `dilation` steps apart.
struct LaneChainsForm {
    Isa isa = Isa::avx2;
    std::uint8_t tap_rows = 1, tap_columns = 1, dilation = 1;
};
std::uint64_t key_of(const LaneChainsForm& form);

// The first lanes of a step: gemm_lanes(isa) of them; the others of 16 by another call. Steps are `columns`
// in each of `rows` rows, at least one.
struct LaneChainsArgs {
    const float* a;  // [rows * columns, 16]
    const float* b;  // of the first step and the first tap
    std::int64_t rows, columns;
    std::int64_t b_step, b_row, tap_row;  // bytes: from step to step, row to row, one row of taps to the next
    float* chains;                        // [taps, 16]: gone on with
};
using LaneChainsFunction = void (*)(const LaneChainsArgs*);

// How many taps a kernel holds, and how many rows of them at most.
int most_chain_taps(Isa isa);
inline constexpr int kMostChainTapRows = 7;

// NULL for Isa::scalar and when executable memory is refused.
LaneChainsFunction emit_lane_chains(const LaneChainsForm& form, CodeArena& arena,
                                    std::pmr::memory_resource* heap);

}  // namespace volta::jit
