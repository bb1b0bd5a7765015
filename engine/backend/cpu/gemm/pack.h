// Packing: B into pieces of the columns that kernels read together, A into blocks of rows. Copies only;
// nothing is padded along k.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/partition.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/gemm_transpose.h"

namespace volta::cpu {

// Floats of `columns` columns of B packed for `depth` steps of k.
std::int64_t packed_floats(std::int64_t columns, std::int64_t depth);

// How wide the pieces of B are: as the tiles of a strip (GemmB::tile), the last filled up to whole vectors.
struct PackedWidths {
    Isa isa;
    int nr;
    std::int64_t at(std::int64_t j, std::int64_t columns) const { return next_width(isa, nr, columns - j); }
};
// Panels of 16 columns each (GemmB::panels), which tiles of any width read.
inline constexpr PackedWidths kPanelWidths = {Isa::avx512, jit::kPanel};

// Columns [0, columns) and steps [0, depth) of b: a piece of w columns at column j is packed[j * depth + k *
// w + i], w in whole vectors; columns beyond the last are +0. `b` is [k, n], or [n, k] when transposed;
// functions that are NULL are done without.
void pack_b(const float* b, std::int64_t ldb, bool transposed, std::int64_t columns, std::int64_t depth,
            const jit::TransposeFunctions& transposes, const PackedWidths& widths, float* packed) noexcept;

// The same of a packed weight [n, k] that is B itself (engine/numerics/stored_weights.h): steps are its n
// outputs, columns its k inputs, beginning at `step` and `column`; elements are dequantised.
void pack_stored(const StoredWeights& b, std::int64_t column, std::int64_t columns, std::int64_t step,
                 std::int64_t depth, const jit::TransposeFunctions& transposes, const PackedWidths& widths,
                 float* packed) noexcept;

// Row tiles [first, end) of a transposed A [k, m], whose tile `first` starts at `a`: tile after tile in the
// k-major order of the kernels, packed[k * rows + i] with the tile's own number of rows.
void pack_a(const float* a, std::int64_t lda, const EvenCut& tiles, std::int64_t first, std::int64_t end,
            std::int64_t depth, float* packed) noexcept;

// Steps [step, step + depth) of rows that begin at from[0, rows), to rows `packed_stride` floats apart: how a
// blocked product reads an A that is gathered from anywhere.
void gather_rows(const float* const* from, std::int64_t step, std::int64_t rows, std::int64_t depth,
                 float* packed, std::int64_t packed_stride) noexcept;

// Rows [0, rows) and steps [0, depth) of an A that is not transposed, to rows `packed_stride` floats apart.
void copy_rows(const float* a, std::int64_t lda, std::int64_t rows, std::int64_t depth, float* packed,
               std::int64_t packed_stride) noexcept;

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns. `of_16` may be NULL.
void transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               jit::TransposeFunction of_16, float* to, std::int64_t to_stride) noexcept;

}  // namespace volta::cpu
