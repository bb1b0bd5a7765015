// The text in front of row kernels. It is compiled by NVRTC and nvcc, and by a C++ compiler behind
// tests/support/simt_emulation.h: so it names nothing but built-ins of CUDA.
#include <cstddef>
#include <cstdio>

#include "jitgen/cuda/row_args.h"
#include "jitgen/cuda/row_source.h"

namespace volta::jit {
namespace {

static_assert(kSumChunk == 4096 && kSumSegment == 512, "written out in the text of kernels");

constexpr char kArguments[] =
    R"(// Row kernels of Volta. Every rounding is an intrinsic: no + or * on floats, no approximations.
struct VoltaRowArgs {
    void* operands[%d];
    long long row_strides[%d];
    long long rows, columns;
    float* scratch;
    long long chunk_stride;
    unsigned first_row, first_column, continue_columns, unused;
    const unsigned* needs_finite[2];
};
static_assert(sizeof(VoltaRowArgs) == %zu, "the host's struct CudaRowArgs");
#ifndef __CUDACC_RTC__  // NVRTC has no offsetof
static_assert(__builtin_offsetof(VoltaRowArgs, rows) == %zu &&
                  __builtin_offsetof(VoltaRowArgs, chunk_stride) == %zu &&
                  __builtin_offsetof(VoltaRowArgs, continue_columns) == %zu &&
                  __builtin_offsetof(VoltaRowArgs, needs_finite) == %zu,
              "the host's struct CudaRowArgs");
#endif
)";

constexpr char kHelpers[] = R"(
__device__ __forceinline__ bool is_finite(const unsigned* bits) {
    return bits == nullptr || (*bits & 0x7f800000u) != 0x7f800000u;
}
__device__ __forceinline__ bool may_run(const VoltaRowArgs& args) {
    return is_finite(args.needs_finite[0]) && is_finite(args.needs_finite[1]);
}
// Of a NaN too, only the sign changes.
__device__ __forceinline__ float negated(float x) {
    return __uint_as_float(__float_as_uint(x) ^ 0x80000000u);
}
__device__ __forceinline__ float absolute(float x) {
    return __uint_as_float(__float_as_uint(x) & 0x7fffffffu);
}
__device__ __forceinline__ bool is_nan(float x) { return x != x; }
// Toward zero; NaN and what is out of range give 0x80000000.
__device__ __forceinline__ unsigned truncated(float x) {
    return x >= -0x1p+31f && x < 0x1p+31f ? (unsigned)__float2int_rz(x) : 0x80000000u;
}
__device__ __forceinline__ float real_of(unsigned x) { return __int2float_rn((int)x); }
__device__ __forceinline__ long long least(long long a, long long b) { return a < b ? a : b; }

// ---- Row sums --------------------------------------------------------------------------------------------

// Lanes fold 16, 8, 4, 2, 1. Partners add the same two numbers, so all lanes end with the sum of lane 0.
__device__ inline float folded(float lanes) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2)
        lanes = __fadd_rn(lanes, __shfl_xor_sync(0xffffffffu, lanes, half));
    return lanes;
}

// The results of a row's chunks, summed by the rule of the elements: result c joins lane c % 32 of chunk
// c / 4096 of the next level. Three levels above the elements make 4096^4 columns.
struct ChunkSum {
    float latest;
    float lanes[3];
};

// A chunk closes when the next one begins. Results come in ascending order.
template <int level>
__device__ inline void push(ChunkSum& sum, long long index, float result, int lane) {
    if constexpr (level < 3) {
        if (index > 0 && index % 4096 == 0) {
            push<level + 1>(sum, index / 4096 - 1, folded(sum.lanes[level]), lane);
            sum.lanes[level] = 0.0f;
        }
        if (index % 32 == lane) sum.lanes[level] = __fadd_rn(sum.lanes[level], result);
    }
}

template <int level>
__device__ inline float total_from(ChunkSum& sum, long long count, int lane) {
    const float result = folded(sum.lanes[level]);
    if constexpr (level < 2) {
        if (count > 4096) {
            push<level + 1>(sum, (count - 1) / 4096, result, lane);
            return total_from<level + 1>(sum, (count + 4095) / 4096, lane);
        }
    }
    return result;
}

// The chunk with this index is complete in `lanes`.
__device__ inline void add_chunk(ChunkSum& sum, long long index, float lanes, int lane) {
    sum.latest = folded(lanes);
    push<0>(sum, index, sum.latest, lane);
}

__device__ inline float row_total(ChunkSum& sum, long long columns, int lane) {
    if (columns <= 4096) return sum.latest;
    return total_from<0>(sum, (columns + 4095) / 4096, lane);
}

// The same from memory, where the warps of a block have left the results of their chunks. Every warp adds
// them itself rather than wait for one that does.
__device__ inline float total_of_chunks(const float* results, long long columns, int lane) {
    const long long count = (columns + 4095) / 4096;
    ChunkSum sum = {};
    for (long long chunk = 0; chunk < count; chunk += 4096) {
        float lanes = 0.0f;
        const long long end = least(count, chunk + 4096);
        for (long long c = chunk + lane; c < end; c += 32) lanes = __fadd_rn(lanes, results[c]);
        add_chunk(sum, chunk / 4096, lanes, lane);
    }
    return row_total(sum, count, lane);
}

// ---- Row maxima ------------------------------------------------------------------------------------------

// A NaN stays: nothing compares above it.
__device__ __forceinline__ float larger(float max, float x) { return x > max || x != x ? x : max; }

__device__ inline float max_of_warp(float max) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) max = larger(max, __shfl_xor_sync(0xffffffffu, max, half));
    return __fadd_rn(max, 0.0f);  // a zero is +0
}

__device__ inline float max_of_warps(const float* slots, int warps, int lane) {
    return max_of_warp(lane < warps ? slots[lane] : __uint_as_float(0xff800000u));
}

// The largest element and its column. Keys order like the reals, with -0 equal to +0 and every NaN above
// +Inf; no element has the key of no_best().
struct Best {
    int key;
    long long column;
};
__device__ __forceinline__ Best no_best() { return Best{-0x7fffffff - 1, 0}; }

__device__ __forceinline__ int order_key(float x) {
    const unsigned bits = __float_as_uint(__fadd_rn(x, 0.0f));
    return x != x ? 0x7fffffff : (int)(bits ^ ((unsigned)((int)bits >> 31) >> 1));
}

// Ties take the lowest column.
__device__ __forceinline__ Best better(Best a, Best b) {
    return b.key > a.key || (b.key == a.key && b.column < a.column) ? b : a;
}

__device__ inline Best best_of_warp(Best best) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        const int key = __shfl_xor_sync(0xffffffffu, best.key, half);
        const long long column = __shfl_xor_sync(0xffffffffu, best.column, half);
        best = better(best, Best{key, column});
    }
    return best;
}

__device__ inline Best best_of_warps(const Best* slots, int warps, int lane) {
    return best_of_warp(lane < warps ? slots[lane] : no_best());
}
)";

}  // namespace

void append_row_prelude(std::pmr::string& text) {
    char arguments[sizeof kArguments + 64];
    std::snprintf(arguments, sizeof arguments, kArguments, kMaxOperands, kMaxOperands, sizeof(CudaRowArgs),
                  offsetof(CudaRowArgs, rows), offsetof(CudaRowArgs, chunk_stride),
                  offsetof(CudaRowArgs, continue_columns), offsetof(CudaRowArgs, needs_finite));
    text += arguments;
    text += kHelpers;
}

}  // namespace volta::jit
