// A convolution, either way, as sums over taps of one padded picture: what kernels, and the lowering to
// copies and products, are made from. A transposed convolution of stride s is s interleaved pictures, each
// with the taps that meet its pixels (docs/numerics.md, 2.3).
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/numerics/define_convolution.h"

namespace volta {

// Along one axis: outputs `first`, first + step, ... (`count` of them); output i reads the source, which
// begins at -pad, at i * source_step + tap.offset of the padded one, for each tap.
struct AxisPhase {
    struct Tap {
        std::int64_t kernel, offset;  // its index in the kernel; elements of the padded source
    };
    explicit AxisPhase(std::pmr::memory_resource* heap) : taps(heap) {}
    std::int64_t first = 0, step = 1, count = 0, source_step = 1;
    std::pmr::vector<Tap> taps;  // ascending by kernel
};

// All phases of an axis, over a source of `extent` elements that is padded to `padded`, from -pad on.
struct AxisPhases {
    explicit AxisPhases(std::pmr::memory_resource* heap) : phases(heap) {}
    std::int64_t extent = 0, pad = 0, padded = 0;
    std::pmr::vector<AxisPhase> phases;
    bool is_padded() const { return pad > 0 || padded > extent; }
};

AxisPhases forward_phases(const define::ConvolutionAxis& axis, std::pmr::memory_resource* heap);     // x -> y
AxisPhases transposed_phases(const define::ConvolutionAxis& axis, std::pmr::memory_resource* heap);  // y -> x

// One tap, which each output meets at its own place: a picture [channels, pixels] is a matrix of the product.
inline bool is_pointwise(const define::ConvolutionSizes& sizes) {
    for (const define::ConvolutionAxis* axis : {&sizes.rows, &sizes.columns})
        if (axis->taps != 1 || axis->stride != 1 || axis->pad != 0 || axis->in != axis->out) return false;
    return true;
}

}  // namespace volta
