#include "engine/backend/cpu/convolution/picture_source.h"

#include <algorithm>
#include <cstring>

namespace volta::cpu {
namespace {

// Planes a page apart meet in one set of L1: a line more between them.
constexpr std::int64_t kPageFloats = 1024, kLineFloats = 16;

}  // namespace

PictureSource::PictureSource(const AxisPhases& rows, const AxisPhases& columns)
    : is_copied_(rows.is_padded() || columns.is_padded()),
      rows_(rows.extent),
      columns_(columns.extent),
      padded_rows_(rows.padded),
      row_(is_copied_ ? columns.padded : columns.extent),
      plane_(is_copied_ ? rows.padded * columns.padded : rows.extent * columns.extent),
      pad_row_(rows.pad),
      pad_column_(columns.pad) {
    if (is_copied_ && plane_ % kPageFloats == 0) plane_ += kLineFloats;
}

void PictureSource::copy(const float* from, std::int64_t planes, float* to) const noexcept {
    // What lies beyond the last tap is not read, and a source may have more rows than are.
    const std::int64_t rows = std::min(rows_, padded_rows_ - pad_row_);
    const std::int64_t columns = std::min(columns_, row_ - pad_column_);
    const std::int64_t behind = row_ - pad_column_ - columns;
    for (std::int64_t p = 0; p < planes; ++p, from += rows_ * columns_, to += plane_) {
        float* at = to;
        at = std::fill_n(at, pad_row_ * row_, 0.0f);
        for (std::int64_t r = 0; r < rows; ++r) {
            at = std::fill_n(at, pad_column_, 0.0f);
            std::memcpy(at, from + r * columns_, sizeof(float) * static_cast<std::size_t>(columns));
            at = std::fill_n(at + columns, behind, 0.0f);
        }
        std::fill(at, to + plane_, 0.0f);
    }
}

}  // namespace volta::cpu
