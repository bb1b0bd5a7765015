#include "engine/backend/cpu/product_pack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "jitgen/gemm_f32.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kPanel = jit::kPanel;
constexpr std::size_t kPanelBytes = sizeof(float) * static_cast<std::size_t>(kPanel);

// So many steps of k are copied panel by panel: few enough that the lines of their rows stay in L1 from one
// panel to the next, many enough that panels, which lie whole powers of two apart, do not drive each other
// out of it.
constexpr std::int64_t kStepsAtOnce = 8;
constexpr std::int64_t kPanelsAhead = 4;  // asked for: 30 % when B comes from memory

void pack_rows(const float* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth, float* panels) {
    const std::int64_t whole = (columns + kPanel - 1) / kPanel * kPanel;
    for (std::int64_t step = 0; step < depth; step += kStepsAtOnce) {
        const std::int64_t end = std::min(step + kStepsAtOnce, depth);
        for (std::int64_t j = 0; j < columns; j += kPanel) {
            const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(std::min(kPanel, columns - j));
            float* const panel = panels + j * depth;
            // What is copied soon is asked for: further along the row, and at its end the rows behind these.
            std::int64_t ahead = kPanelsAhead * kPanel;
            if (j + ahead >= columns) ahead += kStepsAtOnce * ldb - whole;
            for (std::int64_t k = step; k < end; ++k) {
                const float* const from = b + k * ldb + j;
                float* const to = panel + k * kPanel;
                if (bytes == kPanelBytes) {
                    __builtin_prefetch(from + ahead);
                    std::memcpy(to, from, kPanelBytes);
                } else {
                    std::memset(to, 0, kPanelBytes);
                    std::memcpy(to, from, bytes);
                }
            }
        }
    }
}

// Columns [0, columns) of one panel, from rows of b [n, k].
void pack_transposed_panel(const float* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth,
                           jit::TransposeFunction transpose, float* panel) {
    std::int64_t k = 0;
    if (transpose && columns == kPanel) {
        transpose(b, ldb, panel, depth / 8, kPanel);
        k = depth / 8 * 8;
    }
    for (; k < depth; ++k)
        for (std::int64_t j = 0; j < kPanel; ++j) panel[k * kPanel + j] = j < columns ? b[j * ldb + k] : 0.0f;
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
    return (columns + kPanel - 1) / kPanel * kPanel * depth;
}

void pack_b(const float* b, std::int64_t ldb, bool transposed, std::int64_t columns, std::int64_t depth,
            jit::TransposeFunction transpose, float* panels) noexcept {
    if (!transposed) return pack_rows(b, ldb, columns, depth, panels);
    for (std::int64_t j = 0; j < columns; j += kPanel) {
        const std::int64_t width = std::min(kPanel, columns - j);
        pack_transposed_panel(b + j * ldb, ldb, width, depth, transpose, panels + j * depth);
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

}  // namespace volta::cpu
