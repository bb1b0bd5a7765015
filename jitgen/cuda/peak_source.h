// A kernel that does nothing but fused multiply-adds on registers: the most that a device computes.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

namespace volta::jit {

inline constexpr unsigned kPeakThreads = 256;     // of a block
inline constexpr unsigned kPeakChains = 16;       // of a thread, independent: more than an addition is late
inline constexpr unsigned kPeakAddsPerTurn = 16;  // of each chain

// One word per thread, so that the chains have an end that somebody might read.
struct CudaPeakArgs {
    float* to;  // [grid * kPeakThreads]
    std::uint32_t turns, unused;
};

// Entry point peak_multiply_adds: `turns` times kPeakAddsPerTurn multiply-adds in each of the chains.
void append_peak_kernel(std::pmr::string& text);

// Of one launch, two per multiply-add.
double peak_operations(unsigned blocks, std::uint32_t turns);

}  // namespace volta::jit
