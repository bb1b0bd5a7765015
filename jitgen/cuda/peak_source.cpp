#include "jitgen/cuda/peak_source.h"

#include <cstdio>

namespace volta::jit {
namespace {

// Every factor is read at run time and the values stay near 1: nothing can be worked out before, and nothing
// becomes a special value.
constexpr char kKernel[] = R"(
struct VoltaPeakArgs {
    float* to;
    unsigned turns, unused;
};
static_assert(sizeof(VoltaPeakArgs) == %zu, "the host's struct CudaPeakArgs");

extern "C" __global__ void __launch_bounds__(%u) peak_multiply_adds(const VoltaPeakArgs args) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const float factor = __uint_as_float(0x3f7fff00u - (thread & 15u)), term = __uint_as_float(0x37800000u);
    float chain[%u];
    #pragma unroll
    for (int i = 0; i < %u; ++i) chain[i] = __uint_as_float(0x3f800000u + (thread & 255u) + i);
    for (unsigned turn = 0; turn < args.turns; ++turn) {
        #pragma unroll
        for (int k = 0; k < %u; ++k) {
            #pragma unroll
            for (int i = 0; i < %u; ++i) chain[i] = __fmaf_rn(chain[i], factor, term);
        }
    }
    float sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < %u; ++i) sum = __fadd_rn(sum, chain[i]);
    args.to[thread] = sum;
}
)";

}  // namespace

void append_peak_kernel(std::pmr::string& text) {
    char kernel[sizeof kKernel + 128];
    std::snprintf(kernel, sizeof kernel, kKernel, sizeof(CudaPeakArgs), kPeakThreads, kPeakChains,
                  kPeakChains, kPeakAddsPerTurn, kPeakChains, kPeakChains);
    text += kernel;
}

double peak_operations(unsigned blocks, std::uint32_t turns) {
    return 2.0 * kPeakChains * kPeakAddsPerTurn * kPeakThreads * blocks * turns;
}

}  // namespace volta::jit
