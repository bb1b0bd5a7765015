// The gradient of a convolution's weight from one picture: dW [filters, channels * taps] is the product of dy
// [filters, pixels] and x [channels * taps, pixels]. In place where a pixel has one tap; else some segments
// of pixels at a time are copied, and their products add to what those before them have left.
#pragma once

#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/lower/steps.h"
#include "engine/base/thread_pool.h"

namespace volta::cpu {

class GradientProducts {
  public:
    // Whether it is the faster way: one picture, and one tap or few channels, so that x with its taps is not
    // much more than x.
    static bool fits(const ConvolutionStep& step);
    GradientProducts(const ConvolutionStep& step, const CompileContext& context);

    struct Call {
        const float *x, *dy;
        float* weight;
        bool into;  // the chains are added to what it holds
        void* workspace;
    };
    // Allocates nothing.
    void run(ThreadPool& pool, const Call& call) const noexcept;

    std::size_t workspace_bytes() const { return workspace_bytes_; }
    const char* kernel_name() const { return (product_ ? product_ : last_)->kernel_name(); }

  private:
    void copy_rows(const Call& call, Range steps, Range rows, float* to) const noexcept;
    void copy_x(const float* x, std::int64_t row, Range steps, float* to) const noexcept;
    std::int64_t rows() const { return s_.channels * s_.taps(); }  // of x with its taps
    std::int64_t all_rows() const { return s_.filters + rows(); }

    const define::ConvolutionSizes s_;
    const int workers_;
    const bool in_place_;
    const std::int64_t chunk_, stride_;  // steps of a product; floats from row to row of what it reads
    ProductPtr product_, last_;          // of a chunk; of the last steps, where they are fewer
    std::int64_t copy_floats_ = 0;
    std::size_t workspace_bytes_ = 0;
};

}  // namespace volta::cpu
