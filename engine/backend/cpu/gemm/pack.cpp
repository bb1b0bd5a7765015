#include "engine/backend/cpu/gemm/pack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/base/multiples.h"
#include "jitgen/gemm_f32.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kPanel = jit::kPanel;

// So many steps of k are copied panel by panel: few enough that the lines of their rows stay in L1 from one
// panel to the next, many enough that panels, which lie whole powers of two apart, do not drive each other
// out of it.
constexpr std::int64_t kStepsAtOnce = 8;  // fixed: a copy of its own
constexpr std::int64_t kPanelsAhead = 4;  // fixed: prefetched: 30 % when B comes from DRAM

// body(first column, columns, where its first step goes, floats from step to step) for each piece, in chunks
// of up to 16.
template <class Body>
void for_chunks(std::int64_t columns, std::int64_t depth, const PackedWidths& widths, float* packed,
                Body body) {
    const std::int64_t lanes = jit::gemm_lanes(widths.isa);
    for (std::int64_t j = 0, width = 0; j < columns; j += width) {
        width = widths.at(j, columns);
        const std::int64_t stride = width == widths.nr ? width : round_up(width, lanes);
        for (std::int64_t c = 0; c < width; c += kPanel)
            body(j + c, std::min(kPanel, width - c), packed + j * depth + c, stride);
    }
}

// Rows of so many columns, `steps` of them, prefetching what lies `ahead`.
template <int Columns>
void copy_rows_of(const float* from, std::int64_t ldb, float* to, std::int64_t stride, std::int64_t steps,
                  std::int64_t ahead) {
    for (std::int64_t k = 0; k < steps; ++k, from += ldb, to += stride) {
        __builtin_prefetch(from + ahead);
        std::memcpy(to, from, sizeof(float) * Columns);
    }
}

void pack_rows(const float* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth,
               const PackedWidths& widths, float* packed) {
    const std::int64_t lanes = jit::gemm_lanes(widths.isa), whole = round_up(columns, kPanel);
    for (std::int64_t step = 0; step < depth; step += kStepsAtOnce) {
        const std::int64_t steps = std::min(kStepsAtOnce, depth - step);
        for_chunks(columns, depth, widths, packed,
                   [&](std::int64_t j, std::int64_t count, float* first, std::int64_t stride) {
                       const float* const from = b + step * ldb + j;
                       float* const to = first + step * stride;
                       // What is copied soon is prefetched: further along the row, and at its end the rows
                       // behind these.
                       std::int64_t ahead = kPanelsAhead * kPanel;
                       if (j + ahead >= columns) ahead += kStepsAtOnce * ldb - whole;
                       if (count == 16) return copy_rows_of<16>(from, ldb, to, stride, steps, ahead);
                       if (count == 8 && lanes <= 8)
                           return copy_rows_of<8>(from, ldb, to, stride, steps, ahead);
                       for (std::int64_t k = 0; k < steps; ++k) {
                           std::fill(to + k * stride + count, to + k * stride + round_up(count, lanes), 0.0f);
                           std::copy_n(from + k * ldb, count, to + k * stride);
                       }
                   });
    }
}

// `count` rows of b [n, k] become as many columns of `to`, filled up to `filled`.
void pack_transposed(const float* b, std::int64_t ldb, std::int64_t count, std::int64_t filled,
                     std::int64_t depth, const jit::TransposeFunctions& transposes, float* to,
                     std::int64_t stride) {
    const std::int64_t blocks = depth / 8;
    std::int64_t j = 0;
    const auto take = [&](jit::TransposeFunction transpose, std::int64_t columns) {
        if (!transpose || count - j < columns) return;
        transpose(b + j * ldb, ldb, to + j, blocks, stride);
        j += columns;
    };
    take(transposes.of_16, 16);
    take(transposes.of_8, 8);
    const bool is_rest = j < filled;
    for (std::int64_t k = is_rest ? 0 : blocks * 8; k < depth; ++k)
        for (std::int64_t i = k < blocks * 8 ? j : 0; i < filled; ++i)
            to[k * stride + i] = i < count ? b[i * ldb + k] : 0.0f;
}

// The 16 lanes of one step along k of a panel, as f32. The group's scales are found once for its steps.
class PanelReader {
  public:
    PanelReader(const StoredWeights& weights, std::int64_t panel)
        : weights_(weights), panel_(weights.panel(panel * kStoredPanel)) {}

    void read(std::int64_t p, float* lanes) {
        switch (weights_.dtype) {
            case DType::bf16:
                return read_by<codecs::Bf16::load>(panel_, p, lanes);
            case DType::f16:
                return read_by<codecs::F16::load>(panel_, p, lanes);
            case DType::int8:
                return read_scaled<codecs::load_int8>(p, lanes);
            case DType::int4:
                return read_scaled<codecs::load_int4>(p, lanes);
            default:
                return read_by<codecs::load_float>(panel_, p, lanes);
        }
    }

  private:
    using Load = float (*)(const unsigned char* panel, std::int64_t step, std::int64_t lane);
    template <Load load>
    static void read_by(const unsigned char* from, std::int64_t step, float* lanes) {
        for (std::int64_t i = 0; i < kStoredPanel; ++i) lanes[i] = load(from, step, i);
    }
    template <Load load>
    void read_scaled(std::int64_t p, float* lanes) {
        const std::int64_t group = p / kStoredGroup;
        const unsigned char* const from = panel_ + group * stored_group_bytes(weights_.dtype);
        if (group != group_)
            for (std::int64_t i = 0; i < kStoredPanel; ++i) scales_[i] = f32_from_f16(load_u16(from + i * 2));
        group_ = group;
        read_by<load>(from + kStoredPanel * 2, p % kStoredGroup, lanes);
        for (std::int64_t i = 0; i < kStoredPanel; ++i) lanes[i] *= scales_[i];
    }

    const StoredWeights& weights_;
    const unsigned char* panel_;
    std::int64_t group_ = -1;
    float scales_[kStoredPanel];
};

// Lanes [first, end) of a panel are steps of B: `count` columns of them from `column` on, filled up.
void pack_lanes(PanelReader& panel, std::int64_t column, std::int64_t count, std::int64_t filled,
                std::int64_t first, std::int64_t end, const jit::TransposeFunctions& transposes, float* to,
                std::int64_t stride) {
    float tile[kPanel * kStoredPanel];
    for (std::int64_t i = 0; i < count; ++i) panel.read(column + i, tile + i * kStoredPanel);
    std::fill(tile + count * kStoredPanel, tile + filled * kStoredPanel, 0.0f);
    const bool is_whole = first == 0 && end == kStoredPanel;
    if (is_whole && filled == 16 && transposes.of_16)
        return transposes.of_16(tile, kStoredPanel, to, kStoredPanel / 8, stride);
    if (is_whole && filled == 8 && transposes.of_8)
        return transposes.of_8(tile, kStoredPanel, to, kStoredPanel / 8, stride);
    for (std::int64_t lane = first; lane < end; ++lane)
        for (std::int64_t i = 0; i < filled; ++i)
            to[(lane - first) * stride + i] = tile[i * kStoredPanel + lane];
}

template <int Rows>  // `tiles` tiles of Rows rows
void copy_tiles(const float* a, std::int64_t lda, std::int64_t tiles, std::int64_t depth, float* packed) {
    for (std::int64_t step = 0; step < depth; step += kStepsAtOnce) {
        const std::int64_t end = std::min(step + kStepsAtOnce, depth);
        for (std::int64_t t = 0; t < tiles; ++t)
            for (std::int64_t k = step; k < end; ++k)
                std::memcpy(packed + (t * depth + k) * Rows, a + k * lda + t * Rows, sizeof(float) * Rows);
    }
}

using CopyTiles = void (*)(const float*, std::int64_t, std::int64_t, std::int64_t, float*);
template <int... Heights>
constexpr std::array<CopyTiles, sizeof...(Heights)> copies_by_height(std::integer_sequence<int, Heights...>) {
    return {copy_tiles<Heights + 1>...};
}
constexpr auto kCopyTiles = copies_by_height(std::make_integer_sequence<int, jit::kMaxTileRows>());

}  // namespace

std::int64_t packed_floats(std::int64_t columns, std::int64_t depth) {
    return round_up(columns, kPanel) * depth;
}

void pack_b(const float* b, std::int64_t ldb, bool transposed, std::int64_t columns, std::int64_t depth,
            const jit::TransposeFunctions& transposes, const PackedWidths& widths, float* packed) noexcept {
    if (!transposed) return pack_rows(b, ldb, columns, depth, widths, packed);
    const std::int64_t lanes = jit::gemm_lanes(widths.isa);
    for_chunks(columns, depth, widths, packed,
               [&](std::int64_t j, std::int64_t count, float* first, std::int64_t stride) {
                   pack_transposed(b + j * ldb, ldb, count, round_up(count, lanes), depth, transposes, first,
                                   stride);
               });
}

void pack_stored(const StoredWeights& b, std::int64_t column, std::int64_t columns, std::int64_t step,
                 std::int64_t depth, const jit::TransposeFunctions& transposes, const PackedWidths& widths,
                 float* packed) noexcept {
    const std::int64_t lanes = jit::gemm_lanes(widths.isa), last = step + depth;
    for (std::int64_t at = step; at < last;) {
        const std::int64_t panel = at / kStoredPanel, begin = panel * kStoredPanel;
        const std::int64_t end = std::min(begin + kStoredPanel, last);
        PanelReader reader(b, panel);
        for_chunks(columns, depth, widths, packed,
                   [&](std::int64_t j, std::int64_t count, float* first, std::int64_t stride) {
                       pack_lanes(reader, column + j, count, round_up(count, lanes), at - begin, end - begin,
                                  transposes, first + (at - step) * stride, stride);
                   });
        at = end;
    }
}

void pack_a(const float* a, std::int64_t lda, const EvenCut& tiles, std::int64_t first, std::int64_t end,
            std::int64_t depth, float* packed) noexcept {
    const std::int64_t larger = std::max(first, std::min(tiles.larger, end)), high = tiles.low + 1;
    if (larger > first)
        kCopyTiles[static_cast<std::size_t>(tiles.low)](a, lda, larger - first, depth, packed);
    if (end == larger) return;
    const std::int64_t done = (larger - first) * high;
    kCopyTiles[static_cast<std::size_t>(tiles.low - 1)](a + done, lda, end - larger, depth,
                                                        packed + done * depth);
}

void copy_rows(const float* a, std::int64_t lda, std::int64_t rows, std::int64_t depth, float* packed,
               std::int64_t packed_stride) noexcept {
    for (std::int64_t i = 0; i < rows; ++i)
        std::memcpy(packed + i * packed_stride, a + i * lda, sizeof(float) * static_cast<std::size_t>(depth));
}

void gather_rows(const float* const* from, std::int64_t step, std::int64_t rows, std::int64_t depth,
                 float* packed, std::int64_t packed_stride) noexcept {
    for (std::int64_t i = 0; i < rows; ++i)
        std::memcpy(packed + i * packed_stride, from[i] + step,
                    sizeof(float) * static_cast<std::size_t>(depth));
}

void transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               jit::TransposeFunction of_16, float* to, std::int64_t to_stride) noexcept {
    constexpr std::int64_t kRowsAtOnce = 16, kColumnsPerBlock = 8;  // fixed: of jit::TransposeFunction
    for (std::int64_t i = 0; i < rows; i += kRowsAtOnce) {
        const std::int64_t end = std::min(i + kRowsAtOnce, rows);
        const std::int64_t blocks = of_16 && end - i == kRowsAtOnce ? columns / kColumnsPerBlock : 0;
        if (blocks > 0) of_16(from + i * from_stride, from_stride, to + i, blocks, to_stride);
        for (std::int64_t j = blocks * kColumnsPerBlock; j < columns; ++j)
            for (std::int64_t r = i; r < end; ++r) to[j * to_stride + r] = from[r * from_stride + j];
    }
}

}  // namespace volta::cpu
