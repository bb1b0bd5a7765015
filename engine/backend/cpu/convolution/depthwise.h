// A depthwise convolution, either way, or pooling: 16 channels of a picture at a time, transposed so that a
// vector is a pixel of as many channels.
#pragma once

#include "engine/backend/cpu/convolution/epilogue.h"
#include "engine/backend/cpu/convolution/lane_picture.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/lower/steps.h"
#include "engine/base/thread_pool.h"
#include "jitgen/lane_windows.h"

namespace volta::cpu {

class DepthwiseConvolution {
  public:
    // Whether it can: one channel and one filter a group, machine code, taps and strides that kernels have.
    static bool fits(const ConvolutionStep& step, const CompileContext& context);
    // op: what a window makes of its pixels; other than of products it reads no weight.
    DepthwiseConvolution(const ConvolutionStep& step, jit::WindowOp op, const jit::RowKernel* epilogue,
                         const CompileContext& context);

    struct Call {
        const float *source, *weight;
        float* result;
        void* workspace;
        const CallEpilogue* epilogue;  // where there is one
    };
    // Allocates nothing.
    void run(ThreadPool& pool, const Call& call) const noexcept;

    std::size_t workspace_bytes() const { return workspace_bytes_; }
    const char* kernel_name() const { return name_; }

  private:
    // Rows of taps that one kernel takes, and what it reads of x and of the weights of its phase.
    struct Pass {
        jit::LaneWindowsFunction run;
        std::int64_t x_offset, tap_row, first_tap;
    };
    // One of the interleaved pictures; `taps` are the kernel's, in their order.
    struct Phase {
        explicit Phase(std::pmr::memory_resource* heap) : taps(heap), passes(heap) {}
        std::int64_t rows, columns, source_row, source_step;  // pixels
        std::int64_t first_row, first_column, row_step, column_step;
        std::int64_t first_weight;
        std::pmr::vector<std::int64_t> taps;
        std::pmr::vector<Pass> passes;
    };
    struct Buffers {
        float *x, *y, *transposed, *weights, *scratch;
    };
    bool has_weight() const { return op_ == jit::WindowOp::products; }
    void take_weights(const Call& call, std::int64_t first, std::int64_t count,
                      const Buffers& buffers) const noexcept;
    void add_phase(const AxisPhase& rows, const AxisPhase& columns, const CompileContext& context);
    void run_item(const Call& call, std::int64_t index, const Buffers& buffers) const noexcept;
    // Rows [begin, end) of a phase into y.
    void run_rows(const Phase& phase, Range rows, float* y, std::int64_t y_row,
                  const Buffers& buffers) const noexcept;
    void finish(const Call& call, std::int64_t picture, Range channels, Range pixels, const float* y,
                const Buffers& buffers) const noexcept;

    const std::int64_t batch_, channels_, plane_, columns_, taps_;  // of the result; of a kernel
    const int workers_;
    const Isa isa_;
    const jit::WindowOp op_;
    jit::TransposeFunctions transposes_;
    LanePicture source_;
    const jit::RowKernel* epilogue_;
    std::pmr::vector<Phase> phases_;
    bool is_whole_ = false;          // one phase, in the order of the result
    std::int64_t rows_at_once_ = 1;  // of it
    std::int64_t bands_ = 1;         // of its rows, where channels alone are too few work for the threads
    Range tap_rows_ = {0, 0};        // from an output's first row of the source
    std::int64_t y_floats_ = 0, weight_floats_ = 0, scratch_floats_ = 0;
    std::size_t workspace_bytes_ = 0;
    char name_[64];
};

}  // namespace volta::cpu
