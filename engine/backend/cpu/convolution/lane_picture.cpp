#include "engine/backend/cpu/convolution/lane_picture.h"

#include <algorithm>
#include <cstring>

namespace volta::cpu {

LanePicture::LanePicture(const AxisPhases& rows, const AxisPhases& columns,
                         const jit::TransposeFunctions& transposes)
    : rows_(rows.extent),
      columns_(columns.extent),
      row_(columns.padded),
      pad_(rows.pad),
      floats_(rows.padded * row_ * kLanes),
      begin_((rows.pad * row_ + columns.pad) * kLanes),
      rows_at_once_(std::max<std::int64_t>(1, kSegment / std::max<std::int64_t>(columns_, 1))),
      is_padded_(rows.is_padded() || columns.is_padded()),
      transposes_(transposes) {}

// Some rows are transposed into the buffer, and from there go to their places.
void LanePicture::copy_rows(const float* planes, std::int64_t count, Range rows, float* buffer,
                            float* to) const noexcept {
    const std::int64_t plane = rows_ * columns_;
    const std::int64_t first = std::max<std::int64_t>(rows.begin, 0),
                       end = std::min<std::int64_t>(rows.end, rows_);
    if (first >= end) return;
    if (!is_padded_)
        return transpose(planes + first * columns_, plane, count, (end - first) * columns_, transposes_.of_16,
                         to + first * columns_ * kLanes, kLanes);
    to += begin_;
    for (std::int64_t row = first; row < end; row += rows_at_once_) {
        const std::int64_t some = std::min(rows_at_once_, end - row);
        transpose(planes + row * columns_, plane, count, some * columns_, transposes_.of_16, buffer, kLanes);
        for (std::int64_t r = 0; r < some; ++r)
            std::memcpy(to + (row + r) * row_ * kLanes, buffer + r * columns_ * kLanes,
                        sizeof(float) * static_cast<std::size_t>(columns_ * kLanes));
    }
}

}  // namespace volta::cpu
