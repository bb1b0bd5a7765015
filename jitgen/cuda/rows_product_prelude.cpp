// The text of products of few rows. A block computes a group of columns; each of its warps streams one
// segment of 512 steps of b after the other through its own stage of shared memory, two stages ahead.
#include "jitgen/cuda/rows_product_source.h"

namespace volta::jit {
namespace {

constexpr char kStages[] = R"(
// ---- Products of few rows --------------------------------------------------------------------------------

// How a warp fetches the next steps of a group of columns of b: load() from memory into registers, store()
// from there to a stage in shared memory. What stands beyond n or k is not used.

// b [k, n], or [n, k]: steps of 8 columns, a sector of memory per step or 32 steps of a column.
template <bool transposed, int step_count>
struct FloatStage {
    static constexpr int columns = 8, steps = step_count;
    float values[steps][9];  // an odd distance, so that both orders are stored without conflicts

    struct Loader {
        static constexpr int count = steps / 4, of_column = steps / 32;  // elements of a lane
        float held[count];
        const float* data;
        long long stride, most;

        __device__ __forceinline__ Loader(const VoltaProductArgs& args, const float* b, long long group)
            : data(b + group * 8 * (transposed ? args.b_stride : 1)),
              stride(args.b_stride),
              most(args.n - group * 8) {}
        __device__ __forceinline__ void load(long long first, long long end) {
            const int lane = threadIdx.x % 32, left = (int)least(end - first, steps);
            const float* const at = data + (transposed ? first + lane : (first + lane / 8) * stride + lane % 8);
            const auto element = [&](int t) {
                return at[transposed ? t / of_column * stride + t % of_column * 32 : t * 4 * stride];
            };
            if (left == steps && most >= 8) {  // nothing in the way of all loads at once
#pragma unroll
                for (int t = 0; t < count; ++t) held[t] = element(t);
                return;
            }
#pragma unroll
            for (int t = 0; t < count; ++t) {
                const int step = transposed ? t % of_column * 32 + lane : t * 4 + lane / 8;
                const int column = transposed ? t / of_column : lane % 8;
                held[t] = 0.0f;
                if (step < left && column < most) held[t] = element(t);
            }
        }
        __device__ __forceinline__ void store(FloatStage& stage) const {
            const int lane = threadIdx.x % 32;
#pragma unroll
            for (int t = 0; t < count; ++t)
                stage.values[transposed ? t % of_column * 32 + lane : t * 4 + lane / 8]
                            [transposed ? t / of_column : lane % 8] = held[t];
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
        static constexpr int words = kind == Stored::int8         ? 8
                                     : kind == Stored::int4       ? 4
                                     : kind == Stored::f32_panels ? 32
                                                                  : 16;
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
                } else if constexpr (kind == Stored::f32_panels) {
                    if (first + word / 16 < end) held[t] = ((const unsigned*)panel)[first * 16 + word];
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
                if constexpr (kind == Stored::f32_panels) {
                    stage.values[word / 16][word % 16] = __uint_as_float(held[t]);
                } else if constexpr (kind == Stored::int8) {
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
// The same steps of some rows of a. Rows lie four banks apart: lanes of different rows read at once.
template <int row_count, int steps>
struct RowStage {
    float values[row_count][steps + 4];

    struct Loader {
        static constexpr int each = steps / 32;
        float held[row_count * each];
        __device__ __forceinline__ void load(const float* a, long long stride, int rows, long long first,
                                             long long end) {
            const int lane = threadIdx.x % 32, left = (int)least(end - first, steps);
            const float* const at = a + first + lane;
#pragma unroll
            for (int t = 0; t < row_count * each; ++t) {
                held[t] = 0.0f;
                if (t / each < rows && t % each * 32 + lane < left)
                    held[t] = at[t / each * stride + t % each * 32];
            }
        }
        __device__ __forceinline__ void store(RowStage& stage) const {
            const int lane = threadIdx.x % 32;
#pragma unroll
            for (int t = 0; t < row_count * each; ++t) stage.values[t / each][t % each * 32 + lane] = held[t];
        }
    };
};

// What one warp works in.
template <class Stage, int row_count>
struct WarpStages {
    alignas(16) RowStage<row_count, Stage::steps> rows;
    Stage columns;
};

// sums[r] += steps first .. first + count - 1 of row `row + r * apart` and `column`, one after the other; all
// of them, or four at a time where four are left.
template <class Stage, int row_count, int each>
__device__ __forceinline__ void add_steps(const WarpStages<Stage, row_count>& stages, int row, int column,
                                          int first, int count, float (&sums)[each]) {
    constexpr int apart = 32 / Stage::columns;
    int s = first;
#pragma unroll 4
    for (; s + 4 <= first + count; s += 4) {
        float b[4];
#pragma unroll
        for (int t = 0; t < 4; ++t) b[t] = stages.columns.values[s + t][column];
#pragma unroll
        for (int r = 0; r < each; ++r) {
            const int i = row + r * apart;
            if (row_count % apart != 0 && i >= row_count) continue;
            const float4 a = *(const float4*)&stages.rows.values[i][s];
            sums[r] = __fmaf_rn(a.x, b[0], sums[r]);
            sums[r] = __fmaf_rn(a.y, b[1], sums[r]);
            sums[r] = __fmaf_rn(a.z, b[2], sums[r]);
            sums[r] = __fmaf_rn(a.w, b[3], sums[r]);
        }
    }
    for (; s < first + count; ++s)
#pragma unroll
        for (int r = 0; r < each; ++r) {
            const int i = row + r * apart;
            if (i < row_count)
                sums[r] = __fmaf_rn(stages.rows.values[i][s], stages.columns.values[s][column], sums[r]);
        }
}

// A whole stage, or `count` steps of it. With scales: a chain of its own for every group of 32, then one step
// with the scale.
template <class Stage, bool scaled, int row_count, int each>
__device__ __forceinline__ void add_stage(const WarpStages<Stage, row_count>& stages, int row, int column,
                                          int count, float (&sums)[each]) {
    if constexpr (scaled) {
        for (int first = 0; first < count; first += 32) {
            float chains[each];
#pragma unroll
            for (int r = 0; r < each; ++r) chains[r] = 0.0f;
            add_steps<Stage, row_count, each>(stages, row, column, first,
                                              count - first < 32 ? count - first : 32, chains);
#pragma unroll
            for (int r = 0; r < each; ++r)
                sums[r] = __fmaf_rn(chains[r], stages.columns.scales[first / 32][column], sums[r]);
        }
    } else {
        add_steps<Stage, row_count, each>(stages, row, column, 0, count, sums);
    }
}

// The chains of one segment: two stages of b and one of a are on their way while a third is multiplied.
// `rows`: those of a that exist.
template <class Stage, bool scaled, int row_count, int each>
__device__ __forceinline__ void chains_of_segment(WarpStages<Stage, row_count>& stages,
                                                  typename Stage::Loader (&loaders)[2], const float* a,
                                                  long long a_stride, int rows, long long first,
                                                  long long end, float (&sums)[each]) {
    constexpr int steps = Stage::steps;
    const int column = threadIdx.x % 32 % Stage::columns, row = threadIdx.x % 32 / Stage::columns;
    typename RowStage<row_count, steps>::Loader row_loader;
#pragma unroll
    for (int r = 0; r < each; ++r) sums[r] = 0.0f;
    loaders[0].load(first, end);
    row_loader.load(a, a_stride, rows, first, end);
    loaders[1].load(first + steps, end);
    for (long long p = first; p < end; p += 2 * steps)
#pragma unroll
        for (int turn = 0; turn < 2; ++turn) {
            const long long from = p + turn * steps;
            if (from >= end) break;
            __syncwarp();  // before the stage is overwritten, and before it is read
            loaders[turn].store(stages.columns);
            row_loader.store(stages.rows);
            __syncwarp();
            row_loader.load(a, a_stride, rows, from + steps, end);
            loaders[turn].load(from + 2 * steps, end);
            const int count = (int)least(steps, end - from);
            if (row < row_count)
                add_stage<Stage, scaled, row_count, each>(stages, row, column, count, sums);
        }
}

template <class Stage, bool scaled, int row_count, class Epilogue>
__device__ __forceinline__ void rows_product(const VoltaProductArgs& args) {
    constexpr int columns = Stage::columns, lanes_of_rows = 32 / columns;
    constexpr int each = (row_count + lanes_of_rows - 1) / lanes_of_rows;  // rows of a lane
    constexpr int most_warps = row_count <= 2 ? 8 : 4;
    alignas(16) __shared__ WarpStages<Stage, row_count> stages[most_warps];
    __shared__ float parts[most_warps][row_count * columns], totals[row_count * columns];
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
            const float* const a = entry.a + first_row * args.a_stride;
            const int rows = (int)least(args.m - first_row, row_count);
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
                    chains_of_segment<Stage, scaled, row_count, each>(
                        stages[warp], loaders, a, args.a_stride, rows, first, least(args.k, first + 512),
                        sums);
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
