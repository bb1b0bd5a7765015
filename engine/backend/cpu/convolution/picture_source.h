// The pictures that a convolution reads, as its kernels find them: in place, or copied with zeros around
// them.
#pragma once

#include <cstdint>

#include "engine/backend/lower/convolution_phases.h"

namespace volta::cpu {

// Planes of rows x columns elements, read from (-pad row, -pad column) on.
class PictureSource {
  public:
    PictureSource() = default;
    PictureSource(const AxisPhases& rows, const AxisPhases& columns);

    bool is_copied() const { return is_copied_; }
    std::int64_t row() const { return row_; }      // elements from row to row
    std::int64_t plane() const { return plane_; }  // from plane to plane of what kernels read
    std::int64_t plane_of_source() const { return rows_ * columns_; }

    // `planes` planes that lie one behind the other, with their zeros.
    void copy(const float* from, std::int64_t planes, float* to) const noexcept;

  private:
    bool is_copied_ = false;
    std::int64_t rows_ = 0, columns_ = 0, padded_rows_ = 0, row_ = 0, plane_ = 0, pad_row_ = 0,
                 pad_column_ = 0;
};

}  // namespace volta::cpu
