// Moving elements: every movement operator is a copy between two strided views of one shape.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/step.h"

namespace volta::cpu {

// Element (i0, i1, ...) goes from i . in_stride to i . out_stride, in elements of 4 bytes.
struct CopyLoops {
    int rank = 0;
    std::int64_t extent[kMaxRank] = {};
    std::int64_t in_stride[kMaxRank] = {}, out_stride[kMaxRank] = {};

    void push(std::int64_t new_extent, std::int64_t in, std::int64_t out);
    std::int64_t count() const;
};

// Strides of a dense tensor.
struct Strides {
    std::int64_t at[kMaxRank] = {};
    explicit Strides(const Shape& shape);
};

class CopyAction final : public Action {
  public:
    CopyAction(const StepCompiler& step, const CopyLoops& loops, Ref from, Ref to);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "copy"; }

  private:
    void copy_part(const std::uint32_t* in, std::uint32_t* out, Range part) const noexcept;
    void copy_lines(const std::uint32_t* in, std::uint32_t* out, Range lines) const noexcept;
    void copy_tiles(const std::uint32_t* in, std::uint32_t* out, Range tiles) const noexcept;

    CopyLoops loops_;      // axes that both sides walk alike are one; the last is the inner loop
    int transposed_ = -1;  // the axis along which the input is dense, where it is not the last
    Ref from_, to_;
    int workers_;
};

// Writes +0 (or the integer 0) to `count` elements.
class ZeroAction final : public Action {
  public:
    ZeroAction(const StepCompiler& step, Ref to, std::int64_t count);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "zero"; }

  private:
    Ref to_;
    std::int64_t count_;
    int workers_;
};

CopyAction& add_copy(StepCompiler& step, Ref from, Ref to, std::int64_t count);  // dense to dense
CopyAction& add_copy(StepCompiler& step, const CopyLoops& loops, Ref from, Ref to);

}  // namespace volta::cpu
