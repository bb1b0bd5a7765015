// The text of products of few rows. A block computes a group of columns; each of its warps streams one
// segment of 512 steps of b after the other through its own stage of shared memory, two stages ahead.
#include "jitgen/cuda/rows_product_source.h"

namespace volta::jit {
namespace {

constexpr char kStages[] = R"(
// ---- Products of few rows --------------------------------------------------------------------------------

// How a warp fetches the next steps of a group of columns of b: load() from memory into registers, store()
// from there to a stage in shared memory. What stands beyond n or k is not used.

// b [k, n], or [n, k]: 128 steps of 8 columns, a sector of memory per step or 32 steps of a column.
template <bool transposed>
struct FloatStage {
    static constexpr int columns = 8, steps = 128;
    float values[128][9];  // an odd distance, so that both orders are stored without conflicts

    struct Loader {
        float held[32];
        const float* data;
        long long stride, most;

        __device__ __forceinline__ Loader(const VoltaProductArgs& args, const float* b, long long group)
            : data(b + group * 8 * (transposed ? args.b_stride : 1)),
              stride(args.b_stride),
              most(args.n - group * 8) {}
        __device__ __forceinline__ void load(long long first, long long end) {
            const int lane = threadIdx.x % 32;
#pragma unroll
            for (int t = 0; t < 32; ++t) {
                const int step = transposed ? t % 4 * 32 + lane : t * 4 + lane / 8;
                const int column = transposed ? t / 4 : lane % 8;
                held[t] = 0.0f;
                if (first + step < end && column < most)
                    held[t] = transposed ? data[column * stride + first + step]
                                         : data[(first + step) * stride + column];
            }
        }
        __device__ __forceinline__ void store(FloatStage& stage) const {
            const int lane = threadIdx.x % 32;
#pragma unroll
            for (int t = 0; t < 32; ++t)
                stage.values[transposed ? t % 4 * 32 + lane : t * 4 + lane / 8]
                            [transposed ? t / 4 : lane % 8] = held[t];
        }
    };
};

// A stored weight: 64 steps of a panel of 16 columns, whose words follow each other.
template <Stored kind>
struct StoredStage {
    static constexpr int columns = 16, steps = 64;
    float values[64][16];
    float scales[2][16];  // of the two groups: int8 and int4

    struct Loader {
        static constexpr int words = kind == Stored::int8 ? 8 : kind == Stored::int4 ? 4 : 16;
        unsigned held[words];
        float scale;
        const unsigned char* panel;

        __device__ __forceinline__ Loader(const VoltaProductArgs& args, const float* b, long long group)
            : scale(0.0f), panel((const unsigned char*)b + group * stored_panel_bytes<kind>(args.k)) {}
        // Groups are whole in memory, whatever k is.
        __device__ __forceinline__ void load(long long first, long long end) {
            const int lane = threadIdx.x % 32;
#pragma unroll
            for (int t = 0; t < words; ++t) {
                const int word = 32 * t + lane;
                held[t] = 0;
                if constexpr (kind == Stored::int8 || kind == Stored::int4) {
                    constexpr int of_group = kind == Stored::int8 ? 128 : 64, bytes = 32 + 4 * of_group;
                    const long long step = first + word / of_group * 32;
                    if (step < end)
                        held[t] = *(const unsigned*)(panel + step / 32 * bytes + 32 + word % of_group * 4);
                } else if (first + word / 8 < end) {
                    held[t] = ((const unsigned*)panel)[first * 8 + word];
                }
            }
            if constexpr (kind == Stored::int8 || kind == Stored::int4)
                if (first + lane / 16 * 32 < end)
                    scale = stored_scale<kind>(panel, first / 32 + lane / 16, lane % 16);
        }
        __device__ __forceinline__ void store(StoredStage& stage) const {
            const int lane = threadIdx.x % 32;
#pragma unroll
            for (int t = 0; t < words; ++t) {
                const int word = 32 * t + lane;
                if constexpr (kind == Stored::int8) {
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        stage.values[word / 4][word % 4 * 4 + e] =
                            real_of((unsigned)((int)(held[t] << (24 - 8 * e)) >> 24));
                } else if constexpr (kind == Stored::int4) {
#pragma unroll
                    for (int e = 0; e < 8; ++e)
                        stage.values[word / 16 * 8 + e][word % 16] =
                            real_of((unsigned)((int)(held[t] << (28 - 4 * e)) >> 28));
                } else {
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const unsigned half = held[t] >> 16 * e & 0xffffu;
                        stage.values[word / 8][word % 8 * 2 + e] =
                            kind == Stored::bf16 ? from_bf16(half) : from_f16(half);
                    }
                }
            }
            if constexpr (kind == Stored::int8 || kind == Stored::int4)
                stage.scales[lane / 16][lane % 16] = scale;
        }
    };
};
)";

constexpr char kProducts[] = R"(
// Adds the steps of a stage to the chains of one column and `each` rows of a. With scales: a chain of its own
// for every group of 32, then one step with the scale.
template <class Stage, bool scaled, int each>
__device__ __forceinline__ void add_steps(const Stage& stage, const float* const (&rows)[each],
                                          long long first, int count, int column, float (&sums)[each]) {
    if constexpr (scaled) {
        for (int group = 0; group * 32 < count; ++group) {
            const int end = count < group * 32 + 32 ? count : group * 32 + 32;
            float chains[each];
#pragma unroll
            for (int r = 0; r < each; ++r) chains[r] = 0.0f;
#pragma unroll 8
            for (int s = group * 32; s < end; ++s)
#pragma unroll
                for (int r = 0; r < each; ++r)
                    chains[r] = __fmaf_rn(rows[r][first + s], stage.values[s][column], chains[r]);
#pragma unroll
            for (int r = 0; r < each; ++r)
                sums[r] = __fmaf_rn(chains[r], stage.scales[group][column], sums[r]);
        }
    } else {
#pragma unroll 16
        for (int s = 0; s < count; ++s)
#pragma unroll
            for (int r = 0; r < each; ++r)
                sums[r] = __fmaf_rn(rows[r][first + s], stage.values[s][column], sums[r]);
    }
}

// The chains of one segment: two stages are on their way while a third is multiplied.
template <class Stage, bool scaled, int each>
__device__ __forceinline__ void chains_of_segment(Stage& stage, typename Stage::Loader (&loaders)[2],
                                                  const float* const (&rows)[each], bool multiplies,
                                                  long long first, long long end, int column,
                                                  float (&sums)[each]) {
    constexpr int steps = Stage::steps;
#pragma unroll
    for (int r = 0; r < each; ++r) sums[r] = 0.0f;
    loaders[0].load(first, end);
    loaders[1].load(first + steps, end);
    for (long long p = first; p < end; p += 2 * steps)
#pragma unroll
        for (int turn = 0; turn < 2; ++turn) {
            const long long from = p + turn * steps;
            if (from >= end) break;
            __syncwarp();  // before the stage is overwritten, and before it is read
            loaders[turn].store(stage);
            __syncwarp();
            loaders[turn].load(from + 2 * steps, end);
            const int count = (int)least(steps, end - from);
            if (multiplies) add_steps<Stage, scaled, each>(stage, rows, from, count, column, sums);
        }
}

template <class Stage, bool scaled, int row_count, class Epilogue>
__device__ __forceinline__ void rows_product(const VoltaProductArgs& args) {
    constexpr int columns = Stage::columns, lanes_of_rows = 32 / columns;
    constexpr int each = (row_count + lanes_of_rows - 1) / lanes_of_rows;  // rows of a lane
    __shared__ Stage stages[8];
    __shared__ float parts[8][row_count * columns], totals[row_count * columns];
    const Epilogue epilogue(args.epilogue);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int column = lane % columns, own = lane / columns;
    const long long row_blocks = (args.m + row_count - 1) / row_count;
    const long long units = row_blocks * ((args.n + columns - 1) / columns);
    const long long segments = (args.k + 511) / 512;
    for (long long z = blockIdx.z; z < args.batch; z += gridDim.z) {
        const BatchEntry entry = batch_entry(args, z);
        for (long long unit = blockIdx.x; unit < units; unit += gridDim.x) {
            const long long first_row = unit % row_blocks * row_count, group = unit / row_blocks;
            const float* rows[each];
#pragma unroll
            for (int r = 0; r < each; ++r)  // those beyond the last compute what nobody reads
                rows[r] = entry.a + least(args.m - 1, first_row + own + r * lanes_of_rows) * args.a_stride;
            typename Stage::Loader loaders[2] = {{args, entry.b, group}, {args, entry.b, group}};
            bool stored = args.into != 0;
            for (int e = threadIdx.x; e < row_count * columns; e += blockDim.x) {
                const long long row = first_row + e / columns, j = group * columns + e % columns;
                totals[e] = stored && row < args.m && j < args.n ? entry.c[row * args.c_stride + j] : 0.0f;
            }
            for (long long wave = 0; wave < segments; wave += warps) {
                if (wave + warp < segments) {
                    const long long first = 512 * (wave + warp);
                    float sums[each];
                    chains_of_segment<Stage, scaled, each>(stages[warp], loaders, rows, own < row_count,
                                                           first, least(args.k, first + 512), column, sums);
#pragma unroll
                    for (int r = 0; r < each; ++r)
                        if (own + r * lanes_of_rows < row_count)
                            parts[warp][(own + r * lanes_of_rows) * columns + column] = sums[r];
                }
                __syncthreads();
                const int finished = (int)least(warps, segments - wave);
                for (int e = threadIdx.x; e < row_count * columns; e += blockDim.x)
                    for (int s = 0; s < finished; ++s)
                        totals[e] = stored || s > 0 ? __fadd_rn(totals[e], parts[s][e]) : parts[s][e];
                stored = true;
                __syncthreads();  // before the next segments take the place of these
            }
            for (int e = threadIdx.x; e < row_count * columns; e += blockDim.x) {
                const long long row = first_row + e / columns, j = group * columns + e % columns;
                if (row < args.m && j < args.n) finish(args, entry, epilogue, row, j, totals[e]);
            }
        }
    }
}
)";

}  // namespace

void append_rows_product_prelude(std::pmr::string& text) {
    text += kStages;
    text += kProducts;
}

}  // namespace volta::jit
