// Moving and writing elements on the pool.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/step.h"

namespace volta::cpu {

class CopyAction final : public Action {
  public:
    CopyAction(const CpuStep& step, const CopyLoops& loops, Ref from, Ref to);
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
    ZeroAction(const CpuStep& step, Ref to, std::int64_t count);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "zero"; }

  private:
    Ref to_;
    std::int64_t count_;
    int workers_;
};

// Places of a row, or of each document in it.
class PositionAction final : public Action {
  public:
    explicit PositionAction(const PositionStep& work) : work_(work) {}
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "positions"; }

  private:
    const PositionStep work_;
};

}  // namespace volta::cpu
