#include "engine/backend/cpu/product_pack.h"

#include <algorithm>
#include <cstring>

#include "jitgen/gemm_f32.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kPanel = jit::kPanel;
constexpr std::size_t kPanelBytes = sizeof(float) * static_cast<std::size_t>(kPanel);

// One step of k after the other, so that B is read along its rows.
void pack_rows(const float* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth, float* panels) {
    const std::int64_t full = columns / kPanel, rest = columns % kPanel;
    for (std::int64_t k = 0; k < depth; ++k) {
        const float* const row = b + k * ldb;
        float* to = panels + k * kPanel;
        for (std::int64_t p = 0; p < full; ++p, to += depth * kPanel)
            std::memcpy(to, row + p * kPanel, kPanelBytes);
        if (rest == 0) continue;
        std::memset(to, 0, kPanelBytes);
        std::memcpy(to, row + full * kPanel, sizeof(float) * static_cast<std::size_t>(rest));
    }
}

// Columns [0, columns) of one panel, from rows of b [n, k].
void pack_transposed_panel(const float* b, std::int64_t ldb, std::int64_t columns, std::int64_t depth,
                           jit::TransposeFunction transpose, float* panel) {
    std::int64_t k = 0;
    if (transpose && columns == kPanel) {
        transpose(b, ldb, panel, depth / 8);
        k = depth / 8 * 8;
    }
    for (; k < depth; ++k)
        for (std::int64_t j = 0; j < kPanel; ++j) panel[k * kPanel + j] = j < columns ? b[j * ldb + k] : 0.0f;
}

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

void pack_a(const float* a, std::int64_t lda, std::int64_t rows, std::int64_t depth, float* packed) noexcept {
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(rows);
    for (std::int64_t k = 0; k < depth; ++k) std::memcpy(packed + k * rows, a + k * lda, bytes);
}

}  // namespace volta::cpu
