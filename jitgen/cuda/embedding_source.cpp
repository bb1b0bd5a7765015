// The text of look-ups and of their gradient, and how they are launched.
#include "jitgen/cuda/embedding_source.h"

#include <algorithm>
#include <cstdio>

#include "jitgen/cuda/move_source.h"

namespace volta::jit {
namespace {

constexpr std::int64_t kMostGridY = 65535;  // of every device

constexpr char kArguments[] = R"(
// ---- Rows of tables --------------------------------------------------------------------------------------

struct VoltaGatherArgs {
    const void* table;
    const int* ids;
    float* to;
    long long count, width;
};
struct VoltaEmbeddingArgs {
    const int* ids;
    const float *gradient, *base;
    float* to;
    int *first, *end, *order;
    long long positions, rows, width;
};
static_assert(sizeof(VoltaGatherArgs) == %zu && sizeof(VoltaEmbeddingArgs) == %zu,
              "the host's structs of jitgen/cuda/embedding_source.h");
)";

constexpr char kKernels[] = R"(
template <Stored kind>
__device__ __forceinline__ void gather(const VoltaGatherArgs& args) {
    for (long long i = blockIdx.y; i < args.count; i += gridDim.y) {
        const long long row = args.ids[i];
        const unsigned char* const panel =
            (const unsigned char*)args.table + row / 16 * stored_panel_bytes<kind>(args.width);
        const int lane = (int)(row % 16);
        for (long long p = global_thread(); p < args.width; p += all_threads()) {
            float value;
            if constexpr (kind == Stored::f32)
                value = ((const float*)args.table)[row * args.width + p];
            else
                value = stored_value<kind>(panel, p, lane);
            if constexpr (kind == Stored::int8 || kind == Stored::int4)
                value = __fmul_rn(value, stored_scale<kind>(panel, p / 32, lane));
            args.to[i * args.width + p] = value;
        }
    }
}
extern "C" __global__ void __launch_bounds__(256) gather_f32(const VoltaGatherArgs args) {
    gather<Stored::f32>(args);
}
extern "C" __global__ void __launch_bounds__(256) gather_bf16(const VoltaGatherArgs args) {
    gather<Stored::bf16>(args);
}
extern "C" __global__ void __launch_bounds__(256) gather_f16(const VoltaGatherArgs args) {
    gather<Stored::f16>(args);
}
extern "C" __global__ void __launch_bounds__(256) gather_int8(const VoltaGatherArgs args) {
    gather<Stored::int8>(args);
}
extern "C" __global__ void __launch_bounds__(256) gather_int4(const VoltaGatherArgs args) {
    gather<Stored::int4>(args);
}
extern "C" __global__ void __launch_bounds__(256) gather_f32_panels(const VoltaGatherArgs args) {
    gather<Stored::f32_panels>(args);
}

// Rows without positions keep this.
extern "C" __global__ void __launch_bounds__(256) embedding_clear(const VoltaEmbeddingArgs args) {
    for (long long row = global_thread(); row < args.rows; row += all_threads()) args.first[row] = -1;
}

// Sorts positions by id, those of one id in ascending order: each counts what comes before it. The places are
// a permutation, so every word has one writer. positions^2 comparisons: 67 million for 8,192 tokens.
extern "C" __global__ void __launch_bounds__(256) embedding_order(const VoltaEmbeddingArgs args) {
    __shared__ int others[256];
    const long long count = args.positions;
    for (long long block = 256LL * blockIdx.x; block < count; block += 256LL * gridDim.x) {
        const long long own = block + threadIdx.x;
        const int id = own < count ? args.ids[own] : 0;
        int smaller = 0, earlier = 0, later = 0;
        for (long long tile = 0; tile < count; tile += 256) {
            __syncthreads();
            if (tile + threadIdx.x < count) others[threadIdx.x] = args.ids[tile + threadIdx.x];
            __syncthreads();
            const int size = (int)least(256, count - tile);
            // Of a tile, all are earlier, or none; but for the tile of the thread itself.
            const int until = (int)least(size, own > tile ? own - tile : 0);
            for (int k = 0; k < until; ++k) {
                smaller += others[k] < id;
                earlier += others[k] == id;
            }
            for (int k = until; k < size; ++k) {
                smaller += others[k] < id;
                later += others[k] == id;  // the thread itself too
            }
        }
        if (own >= count) continue;
        const int place = smaller + earlier;
        args.order[place] = (int)own;
        if (earlier == 0) args.first[id] = place;
        if (later == 1) args.end[id] = place + 1;
    }
}

extern "C" __global__ void __launch_bounds__(256) embedding_gradient(const VoltaEmbeddingArgs args) {
    for (long long row = blockIdx.y; row < args.rows; row += gridDim.y) {
        const int first = args.first[row], end = first < 0 ? first : args.end[row];
        for (long long c = global_thread(); c < args.width; c += all_threads()) {
            float sum = 0.0f;
#pragma unroll 8
            for (int p = first; p < end; ++p)
                sum = __fadd_rn(sum, args.gradient[args.order[p] * args.width + c]);
            const long long at = row * args.width + c;
            if (args.base != nullptr) sum = first < 0 ? args.base[at] : __fadd_rn(args.base[at], sum);
            args.to[at] = sum;
        }
    }
}
)";

GridSize grid_of(std::int64_t rows, std::int64_t width) {
    if (rows == 0 || width == 0) return {0, 0};
    return {static_cast<unsigned>((width + kEmbeddingThreads - 1) / kEmbeddingThreads),
            static_cast<unsigned>(std::min(rows, kMostGridY))};
}

}  // namespace

void append_embedding_kernels(std::pmr::string& text) {
    char arguments[sizeof kArguments + 64];
    std::snprintf(arguments, sizeof arguments, kArguments, sizeof(CudaGatherArgs), sizeof(CudaEmbeddingArgs));
    text += arguments;
    text += kKernels;
}

GridSize gather_grid(const CudaGatherArgs& args) { return grid_of(args.count, args.width); }

EmbeddingLaunch embedding_launch(const CudaEmbeddingArgs& args, int multiprocessors) {
    return {blocks_for(args.rows, multiprocessors),
            static_cast<unsigned>((args.positions + kEmbeddingThreads - 1) / kEmbeddingThreads),
            grid_of(args.rows, args.width)};
}

}  // namespace volta::jit
