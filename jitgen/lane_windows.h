// Windows over steps of 16 lanes: y[p][i] is what the operation makes of x[p at t][i] over the taps t,
// ascending (docs/numerics.md, 2.3 and 3). What a depthwise convolution, either way, and pooling are made of:
// lanes are channels.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr int kWindowLanes = 16;  // floats from one pixel to the next, whatever a vector holds

enum class WindowOp : std::uint8_t {
    products,  // the chain of w[t][i] * x
    maximum,   // of x and w[0][i], the largest so far; + 0 at the end
    sum        // of w[0][i] and x
};

// Taps of `tap_rows` rows, `tap_columns` in each, `tap_step` pixels apart; from pixel to pixel x goes on by
// `step`.
struct LaneWindowsForm {
    Isa isa = Isa::avx2;
    std::uint8_t tap_rows = 1, tap_columns = 1;
    std::int8_t tap_step = 1;
    std::uint8_t step = 1;
    bool continues = false;  // from what y holds
    WindowOp op = WindowOp::products;
};
std::uint64_t key_of(const LaneWindowsForm& form);

// The first lanes of a pixel: gemm_lanes(isa) of them; the others of 16 by another call. Pixels are `columns`
// in each of `rows` rows, at least one.
struct LaneWindowsArgs {
    const float* x;  // of the first pixel and the first tap
    const float* w;  // [taps, 16]; [1, 16] of a maximum and a sum
    float* y;
    std::int64_t rows, columns;
    std::int64_t tap_row, y_step;  // bytes: from one row of taps to the next, from pixel to pixel of y
    std::int64_t x_skip, y_skip;   // bytes: from behind a row's last pixel to the next row
};
using LaneWindowsFunction = void (*)(const LaneWindowsArgs*);

// How many taps a kernel holds, and how many rows of them at most.
int most_window_taps(Isa isa);
inline constexpr int kMostWindowTapRows = 7;

// NULL for Isa::scalar and when executable memory is refused.
LaneWindowsFunction emit_lane_windows(const LaneWindowsForm& form, CodeArena& arena,
                                      std::pmr::memory_resource* heap);

}  // namespace volta::jit
