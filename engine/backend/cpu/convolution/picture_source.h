// The pictures that a convolution reads, as its kernels find them: in place, or copied with zeros around
// them.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/lower/convolution_phases.h"

namespace volta::cpu {

// Planes of rows x columns elements, read from (-pad row, -pad column) on.
class PictureSource {
  public:
    PictureSource() = default;
    PictureSource(const AxisPhases& rows, const AxisPhases& columns, const Compiler& compiler, Isa isa);

    bool is_copied() const { return is_copied_; }
    std::int64_t row() const { return row_; }      // elements from row to row
    std::int64_t plane() const { return plane_; }  // from plane to plane of what kernels read
    std::int64_t plane_of_source() const { return rows_ * columns_; }

    // `planes` planes that lie one behind the other. The zeros around them are not written: they are there
    // from before, and stay.
    void copy(const float* from, std::int64_t planes, float* to) const noexcept;

  private:
    void copy_rows(const float* from, std::int64_t from_row, std::int64_t count, float* to,
                   std::int64_t to_row) const noexcept;

    bool is_copied_ = false;
    std::int64_t rows_ = 0, columns_ = 0, row_ = 0, plane_ = 0;
    std::int64_t read_rows_ = 0, read_columns_ = 0;  // of a plane, that are copied
    std::int64_t begin_ = 0;                         // of them in the copied plane
    const jit::RowKernel* kernel_ = nullptr;         // NULL: there is no machine code
};

}  // namespace volta::cpu
