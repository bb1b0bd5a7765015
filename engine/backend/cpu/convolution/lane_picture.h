// Pictures as the kernels of depthwise convolutions read them: 16 planes as one, of pixels of 16 lanes, with
// zeros around it.
#pragma once

#include <algorithm>

#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/lower/convolution_phases.h"
#include "engine/base/thread_pool.h"

namespace volta::cpu {

class LanePicture {
  public:
    static constexpr std::int64_t kLanes = 16;

    LanePicture(const AxisPhases& rows, const AxisPhases& columns, const jit::TransposeFunctions& transposes);

    std::int64_t row() const { return row_; }  // pixels from row to row
    std::int64_t plane() const { return rows_ * columns_; }
    std::int64_t floats() const { return floats_; }  // of the padded picture
    std::int64_t buffer_floats() const { return std::max(kSegment, columns_) * kLanes; }

    // `count` planes, at most 16, one behind the other; `buffer` is used in between. The zeros are there from
    // before.
    void copy(const float* planes, std::int64_t count, float* buffer, float* to) const noexcept {
        copy_rows(planes, count, {-pad_, rows_ + pad_}, buffer, to);
    }
    // Of them what lies in these rows of the padded picture, 0 being the first with pixels.
    void copy_rows(const float* planes, std::int64_t count, Range rows, float* buffer,
                   float* to) const noexcept;
    std::int64_t pad() const { return pad_; }  // rows in front of them

  private:
    std::int64_t rows_, columns_, row_, pad_, floats_, begin_, rows_at_once_;
    bool is_padded_;
    jit::TransposeFunctions transposes_;
};

}  // namespace volta::cpu
