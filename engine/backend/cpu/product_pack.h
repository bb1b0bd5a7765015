// Packing: B into 16-column panels, A into blocks of rows. Copies only; nothing is padded along
// k.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/product_plan.h"
#include "jitgen/gemm_pack.h"

namespace volta::cpu {

// Floats of `columns` columns of B packed for `depth` steps of k.
std::int64_t packed_floats(std::int64_t columns, std::int64_t depth);

// Columns [0, columns) and steps [0, depth) of b into panels of 16: panels[p * depth * 16 + k * 16 + j];
// columns beyond the last are +0. `b` is [k, n], or [n, k] when transposed; `transpose` may be NULL.
void pack_b(const float* b, std::int64_t ldb, bool transposed, std::int64_t columns, std::int64_t depth,
            jit::TransposeFunction transpose, float* panels) noexcept;

// Row tiles [first, end) of a transposed A [k, m], whose tile `first` starts at `a`: tile after tile in the
// k-major order of the kernels, packed[k * rows + i] with the tile's own number of rows.
void pack_a(const float* a, std::int64_t lda, const EvenCut& tiles, std::int64_t first, std::int64_t end,
            std::int64_t depth, float* packed) noexcept;

// Rows [0, rows) and steps [0, depth) of an A that is not transposed, to rows `packed_stride` floats apart.
void copy_rows(const float* a, std::int64_t lda, std::int64_t rows, std::int64_t depth, float* packed,
               std::int64_t packed_stride) noexcept;

}  // namespace volta::cpu
