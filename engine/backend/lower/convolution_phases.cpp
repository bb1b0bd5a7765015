#include "engine/backend/lower/convolution_phases.h"

#include <algorithm>
#include <utility>

namespace volta {

AxisPhases forward_phases(const define::ConvolutionAxis& axis, std::pmr::memory_resource* heap) {
    AxisPhases result(heap);
    AxisPhase phase(heap);
    phase.count = axis.out;
    phase.source_step = axis.stride;
    for (std::int64_t tap = 0; tap < axis.taps; ++tap) phase.taps.push_back({tap, tap * axis.dilation});
    result.extent = axis.in;
    result.pad = axis.pad;
    const std::int64_t read = (axis.out - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1;
    result.padded = std::max(axis.pad + axis.in, read);
    result.phases.push_back(std::move(phase));
    return result;
}

// Input i = first + q * stride meets a tap where (first + pad - tap * dilation) is a multiple of the stride,
// at output q + that / stride.
AxisPhases transposed_phases(const define::ConvolutionAxis& axis, std::pmr::memory_resource* heap) {
    AxisPhases result(heap);
    result.extent = axis.out;
    std::int64_t low = 0, high = axis.out;  // of what is read
    for (std::int64_t first = 0; first < std::min(axis.stride, axis.in); ++first) {
        AxisPhase phase(heap);
        phase.first = first;
        phase.step = axis.stride;
        phase.count = (axis.in - first - 1) / axis.stride + 1;
        for (std::int64_t tap = 0; tap < axis.taps; ++tap) {
            if (!axis.meets(first, tap)) continue;
            const std::int64_t offset = axis.output(first, tap);
            phase.taps.push_back({tap, offset});
            low = std::min(low, offset);
            high = std::max(high, offset + phase.count);
        }
        result.phases.push_back(std::move(phase));
    }
    result.pad = -low;
    result.padded = high - low;
    for (AxisPhase& phase : result.phases)
        for (AxisPhase::Tap& tap : phase.taps) tap.offset += result.pad;
    return result;
}

}  // namespace volta
