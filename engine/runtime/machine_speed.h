// What a context's device can do at most, a processor with the context's threads and instruction set: peak
// FLOP/s and bandwidth, of which roofline bounds are made. Measured where it runs, never taken from a table:
// the same processor model is clocked, shared and double-pumped differently from place to place.
#pragma once

#include <cstddef>

#include "engine/runtime/context.h"

namespace volta {

// The median of some samples, and how far they lie apart.
struct Sampled {
    double median = 0;
    double spread = 0;  // (90th - 10th percentile) / median
};

struct MachineSpeed {
    Sampled fma;  // GFLOP/s, fused multiply-adds on registers alone, two operations each
    // On a device of its own memory read and stream are one figure: copies within it, read and written.
    Sampled read;                  // GB/s, four streams per thread over the whole buffer
    Sampled stream;                // GB/s, of an optimizer pass: 16 bytes read and 12 written per parameter
    std::size_t buffer_bytes = 0;  // that read and stream walk: more than the last-level cache
};

// Allocates the buffer, asks for large pages under it, and gives it back. About a second.
MachineSpeed measure_machine(Context& context);

// Sorts `samples`; linear interpolation between ranks. count >= 1.
Sampled summarize(double* samples, int count) noexcept;

}  // namespace volta
