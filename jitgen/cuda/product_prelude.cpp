// The text of products. A thread holds a square of sums in registers; the block's tiles of a and b are in
// shared memory, k by k: one is multiplied while asynchronous copies bring the next three.
#include <cstddef>
#include <cstdio>

#include "jitgen/cuda/product_source.h"

namespace volta::jit {
namespace {

constexpr char kArguments[] = R"(
// ---- Products --------------------------------------------------------------------------------------------

struct VoltaProductArgs {
    const float *a, *b;
    float *c, *scratch;
    long long a_stride, b_stride, c_stride;
    long long m, n, k;
    unsigned into, keep;
    VoltaRowArgs epilogue;
    long long batch, batch_stride_a, batch_stride_b, batch_stride_c;
};
static_assert(sizeof(VoltaProductArgs) == %zu, "the host's struct CudaProductArgs");
#ifndef __CUDACC_RTC__
static_assert(__builtin_offsetof(VoltaProductArgs, m) == %zu &&
                  __builtin_offsetof(VoltaProductArgs, epilogue) == %zu &&
                  __builtin_offsetof(VoltaProductArgs, batch) == %zu,
              "the host's struct CudaProductArgs");
#endif
)";

constexpr char kProducts[] = R"(
#ifdef __CUDACC__  // elsewhere an emulation brings these
// Copies into shared memory that the thread does not wait for: they have landed, for the thread that began
// them, when async_wait says so. What is not wanted becomes zero, and nothing is read. Devices before sm_80
// copy at once.
__device__ __forceinline__ void async_word(float* to, const float* from, bool wanted) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(wanted ? 4 : 0)
                 : "memory");
#else
    *to = wanted ? *from : 0.0f;
#endif
}
// Four words, both ends at multiples of 16 bytes.
__device__ __forceinline__ void async_four(float* to, const float* from, bool wanted) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(wanted ? 16 : 0)
                 : "memory");
#else
    *(float4*)to = wanted ? *(const float4*)from : float4{0.0f, 0.0f, 0.0f, 0.0f};
#endif
}
// What was begun since the last call is a group, also where that is nothing.
__device__ __forceinline__ void async_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
// Until no more than the last `under_way` groups of the thread are.
template <int under_way>
__device__ __forceinline__ void async_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(under_way) : "memory");
#endif
}
#endif

// Elements (x, p) of an operand, x along m or n and p along k, on their way from memory to a tile [p][x]:
// 8 steps of k at a time, by 256 threads whose neighbours copy neighbours; four at once where x is along the
// rows of memory and all of them begin at multiples of 16 bytes. Each thread walks with one address of its
// own: what does not change from step to step is computed once, in begin().
template <int size, bool along_x>
struct TileLoader {
    static constexpr int count = size / 32;   // elements of a thread
    static constexpr int apart = 256 / size;  // steps of k between them, along x
    const float* at;     // of the first
    long long distance;  // to the next
    int inside;          // elements that are not beyond m or n
    bool fours;

    __device__ __forceinline__ int own_x() const {
        return fours ? threadIdx.x % (size / 4) * 4 : along_x ? threadIdx.x % size : threadIdx.x / 8;
    }
    __device__ __forceinline__ int own_p() const {
        return fours ? threadIdx.x / (size / 4) : along_x ? threadIdx.x / size : threadIdx.x % 8;
    }
    __device__ __forceinline__ void begin(const float* data, long long stride, long long first_x,
                                          long long end_x, long long first_p) {
        fours = along_x && ((stride | end_x) & 3) == 0 && ((unsigned long long)data & 15) == 0;
        const long long x = first_x + own_x(), p = first_p + own_p();
        at = data + (along_x ? p * stride + x : x * stride + p);
        distance = (along_x ? apart : 32) * stride;
        const long long rows = along_x ? (x < end_x ? count : 0) : (end_x - x + 31) / 32;
        inside = (int)(rows < 0 ? 0 : least(rows, count));
    }
    // Begins the copies of the next 8 of `steps` steps. Beyond m or n stand zeros, which reach no result; what
    // stands beyond k is not multiplied.
    __device__ __forceinline__ void copy(float (*tile)[size + 4], long long steps) {
        const int x = own_x(), p = own_p();
        const int left = (int)least(steps, 8) - p;  // of them from the thread's first on
        if (along_x && fours) {
            if (p < 8) async_four(&tile[p][x], at, inside > 0 && left > 0);
        } else {
            const int most = left <= 0 ? 0 : along_x ? (int)least(inside, (left + apart - 1) / apart) : inside;
            const float* from = at;
#pragma unroll
            for (int e = 0; e < count; ++e, from += distance)
                async_word(&tile[along_x ? p + apart * e : p][along_x ? x : x + 32 * e], from, e < most);
        }
        at += along_x ? 8 / apart * distance : 8;
    }
};

// Tiles of 8 steps go through stages of shared memory in turn: one is multiplied, the others are on their way.
// copy(stage, steps) begins a thread's share of the copies of one, the first of `steps` that are left.
template <int stages>
__device__ __forceinline__ int stage_after(int turn, int ahead) {
    const int stage = turn + ahead;
    return stage < stages ? stage : stage - stages;
}
template <int stages, class Copy>
__device__ __forceinline__ void begin_stage(int turn, int ahead, long long steps, const Copy& copy) {
    if (8 * ahead < steps) copy(stage_after<stages>(turn, ahead), steps - 8 * ahead);
    async_commit();
}
// In front of the first of `steps` steps. No thread still reads a stage that is filled: what was multiplied last
// is the one behind them.
template <int stages, class Copy>
__device__ __forceinline__ void fill_stages(int turn, long long steps, const Copy& copy) {
#pragma unroll
    for (int ahead = 0; ahead < stages - 1; ++ahead) begin_stage<stages>(turn, ahead, steps, copy);
}
// Before stage `turn` is multiplied, the first of `steps` steps that are left: the copies of all threads have
// landed, and every thread is done with the stage before, which is filled again.
template <int stages, class Copy>
__device__ __forceinline__ void meet_stage(int turn, long long steps, const Copy& copy) {
    async_wait<stages - 2>();
    __syncthreads();
    begin_stage<stages>(turn, stages - 1, steps, copy);
}

// The i-th row (or column) of a thread within its block's tile: four neighbours, then four 64 further on.
__device__ __forceinline__ int tile_place(int thread, int i) { return 4 * thread + i % 4 + 64 * (i / 4); }

template <int side>
__device__ __forceinline__ void read_fragment(const float* line, int thread, float (&values)[side]) {
#pragma unroll
    for (int i = 0; i < side; i += 4) {
        const float4 four = *(const float4*)(line + tile_place(thread, i));
        values[i] = four.x;
        values[i + 1] = four.y;
        values[i + 2] = four.z;
        values[i + 3] = four.w;
    }
}

// One step of k for side x side sums.
template <int side>
__device__ __forceinline__ void multiply(const float* a, const float* b, float (&sums)[side][side]) {
    float rows[side], columns[side];
    read_fragment<side>(a, threadIdx.x / 16, rows);
    read_fragment<side>(b, threadIdx.x % 16, columns);
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
        for (int j = 0; j < side; ++j) sums[i][j] = __fmaf_rn(rows[i], columns[j], sums[i][j]);
}

// The same number, which the compiler takes for a new one: what is computed of it is computed behind this call,
// not once in front of a loop, where 64 addresses of a tile would take the registers of its sums.
__device__ __forceinline__ long long recomputed(long long number) {
#ifdef __CUDACC__
    asm volatile("" : "+l"(number));
#endif
    return number;
}

struct NoEpilogue {
    __device__ explicit NoEpilogue(const VoltaRowArgs&) {}
    __device__ void operator()(long long, long long, float) const {}
};

// One product of a batch.
struct BatchEntry {
    const float *a, *b;
    float *c, *scratch;
    long long first_row;  // of the epilogue
};
__device__ __forceinline__ BatchEntry batch_entry(const VoltaProductArgs& args, long long entry) {
    return {args.a + entry * args.batch_stride_a, args.b + entry * args.batch_stride_b,
            args.c + entry * args.batch_stride_c,
            args.scratch + entry * ((args.k + 511) / 512) * args.m * args.n, entry * args.m};
}

template <class Epilogue>
__device__ __forceinline__ void finish(const VoltaProductArgs& args, const BatchEntry& entry,
                                       const Epilogue& epilogue, long long row, long long column,
                                       float product) {
    if (args.keep != 0) entry.c[row * args.c_stride + column] = product;
    epilogue(entry.first_row + row, column, product);
}

// Ends a segment: its sums are stored, or added to the segments before it. A thread meets its own elements
// only.
template <int side, class Epilogue>
__device__ __forceinline__ void close_segment(const VoltaProductArgs& args, const BatchEntry& entry,
                                              const Epilogue& epilogue, long long first_row,
                                              long long first_column, bool stored, bool last,
                                              float (&sums)[side][side]) {
    first_row = recomputed(first_row);
    first_column = recomputed(first_column);
#pragma unroll
    for (int i = 0; i < side; ++i) {
        const long long row = first_row + tile_place(threadIdx.x / 16, i);
#pragma unroll
        for (int j = 0; j < side; ++j) {
            const long long column = first_column + tile_place(threadIdx.x % 16, j);
            if (row < args.m && column < args.n) {
                float* const c = entry.c + row * args.c_stride + column;
                const float total = stored ? __fadd_rn(*c, sums[i][j]) : sums[i][j];
                if (last)
                    finish(args, entry, epilogue, row, column, total);
                else
                    *c = total;
            }
            sums[i][j] = 0.0f;
        }
    }
}

// The sums of one segment as they are, for product_close.
template <int side>
__device__ __forceinline__ void leave_segment(const VoltaProductArgs& args, const BatchEntry& entry,
                                              long long first_row, long long first_column,
                                              long long segment, float (&sums)[side][side]) {
    first_row = recomputed(first_row);
    first_column = recomputed(first_column);
#pragma unroll
    for (int i = 0; i < side; ++i) {
        const long long row = first_row + tile_place(threadIdx.x / 16, i);
#pragma unroll
        for (int j = 0; j < side; ++j) {
            const long long column = first_column + tile_place(threadIdx.x % 16, j);
            if (row < args.m && column < args.n)
                entry.scratch[(segment * args.m + row) * args.n + column] = sums[i][j];
            sums[i][j] = 0.0f;
        }
    }
}

// `split`: blocks share segments too (grid y), and leave them in scratch. Grid z shares a batch.
template <int side, bool transposed_a, bool transposed_b, bool split, class Epilogue>
__device__ __forceinline__ void product(const VoltaProductArgs& args) {
    constexpr int size = 16 * side, stages = 4;
    alignas(16) __shared__ float tile_a[stages][8][size + 4];
    alignas(16) __shared__ float tile_b[stages][8][size + 4];
    const Epilogue epilogue(args.epilogue);
    const long long tiles_across = (args.n + size - 1) / size;
    const long long tiles = tiles_across * ((args.m + size - 1) / size);
    const long long segments = split ? (args.k + 511) / 512 : 1;
    TileLoader<size, transposed_a> a;
    TileLoader<size, !transposed_b> b;
    float sums[side][side];
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
        for (int j = 0; j < side; ++j) sums[i][j] = 0.0f;
    int turn = 0;  // goes on from tile to tile: no stage is written while a slower thread still reads it
    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        const BatchEntry entry = batch_entry(args, z);
        for (long long segment = split ? blockIdx.y : 0; segment < segments; segment += gridDim.y)
            for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
                const long long first_row = tile / tiles_across * size, first_column = tile % tiles_across * size;
                const long long first_k = split ? 512 * segment : 0;
                const long long end_k = split ? least(args.k, first_k + 512) : args.k;
                bool stored = args.into != 0;
                a.begin(entry.a, args.a_stride, first_row, args.m, first_k);
                b.begin(entry.b, args.b_stride, first_column, args.n, first_k);
                const auto copy = [&](int stage, long long left) {
                    a.copy(tile_a[stage], left);
                    b.copy(tile_b[stage], left);
                };
                fill_stages<stages>(turn, end_k - first_k, copy);
                for (long long p = first_k; p < end_k; p += 8) {
                    meet_stage<stages>(turn, end_k - p, copy);
                    if (end_k - p >= 8) {
    #pragma unroll
                        for (int s = 0; s < 8; ++s) multiply<side>(tile_a[turn][s], tile_b[turn][s], sums);
                    } else {  // never a step too many: fma(0, 0, -0) is +0
                        for (int s = 0; s < end_k - p; ++s)
                            multiply<side>(tile_a[turn][s], tile_b[turn][s], sums);
                    }
                    turn = stage_after<stages>(turn, 1);
                    const bool last = p + 8 >= end_k;
                    if constexpr (split) {
                        if (last) leave_segment<side>(args, entry, first_row, first_column, segment, sums);
                    } else if (last || (p + 8) % 512 == 0) {
                        close_segment<side>(args, entry, epilogue, first_row, first_column, stored, last, sums);
                        stored = true;
                    }
                }
            }
    }
}

// One thread per element: adds what product<split> has left, in ascending order. Of k = 0: `into`, or +0.
template <class Epilogue>
__device__ __forceinline__ void product_close(const VoltaProductArgs& args) {
    const Epilogue epilogue(args.epilogue);
    const long long segments = (args.k + 511) / 512, count = args.m * args.n;
    long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; e < args.batch * count; e += (long long)gridDim.x * blockDim.x) {
        const BatchEntry entry = batch_entry(args, e / count);
        const long long at = e % count, row = at / args.n, column = at % args.n;
        bool stored = args.into != 0;
        float total = stored ? entry.c[row * args.c_stride + column] : 0.0f;
        for (long long segment = 0; segment < segments; ++segment) {
            const float part = entry.scratch[segment * count + at];
            total = stored ? __fadd_rn(total, part) : part;
            stored = true;
        }
        finish(args, entry, epilogue, row, column, total);
    }
}
)";

}  // namespace

void append_product_prelude(std::pmr::string& text) {
    char arguments[sizeof kArguments + 64];
    std::snprintf(arguments, sizeof arguments, kArguments, sizeof(CudaProductArgs),
                  offsetof(CudaProductArgs, m), offsetof(CudaProductArgs, epilogue),
                  offsetof(CudaProductArgs, batch));
    text += arguments;
    text += kProducts;
}

}  // namespace volta::jit
