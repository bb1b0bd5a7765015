// Loops that measure the processor, not a model: fused multiply-adds on registers alone, reading, and the
// mixed stream of an optimizer pass. They do nothing else, so their speed is a bound for every kernel that
// computes something. Sizes, threads and clocks are their caller's (engine/runtime/machine_speed.cpp).
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr std::int64_t kMachineGrain = 64;  // floats: what a stream's length is a multiple of
inline constexpr int kMachineVector = 16;          // floats that a loop takes or leaves, on every machine

// turns times: x = fma(a, b, x), then x = fma(a, c, x), on several independent x at once. With c = -b they
// swing between two values: no chain grows, dies out or becomes subnormal.
// values: [4, kMachineVector] = x, a, b, c; the first chains are left in x.
using MultiplyAddLoop = void (*)(std::int64_t turns, float* values);

// The exclusive or of the bits of four streams at data, data + stride, ..., of `count` floats each, lane by
// lane. result: [kMachineVector].
using ReadLoop = void (*)(const float* data, std::int64_t stride, std::int64_t count, std::uint32_t* result);

// m = m + g; v = max(v, g); p = p - m: the four reads and three writes of AdamW without its arithmetic.
struct UpdateStreams {
    float* p;
    const float* g;
    float* m;
    float* v;
};
using UpdateLoop = void (*)(const UpdateStreams* streams, std::int64_t count);

struct MachineKernels {
    MultiplyAddLoop multiply_adds;
    int chains, lanes;  // a turn is 2 x chains x lanes multiply-adds; only `lanes` values are taken and left
    ReadLoop read;
    UpdateLoop update;
};

// Machine code of `isa`, or the plain C++ loops for Isa::scalar and where executable memory is refused: then
// what is measured is the bound of interpreted kernels.
MachineKernels machine_kernels(Isa isa, CodeArena& arena, std::pmr::memory_resource* heap);
MachineKernels plain_machine_kernels() noexcept;
constexpr double multiply_adds_per_turn(const MachineKernels& kernels) {
    return 2.0 * kernels.chains * kernels.lanes;
}

}  // namespace volta::jit
