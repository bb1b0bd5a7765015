// The gradient of a depthwise convolution's weight: every chain is over the pixels of two planes, dy's and
// x's at the tap. 16 channels at a time are transposed, so that a vector goes on with as many chains; a
// thread has channels of its own, of all pictures.
#pragma once

#include "engine/backend/cpu/convolution/lane_picture.h"
#include "engine/backend/cpu/convolution/weight_gradient.h"
#include "jitgen/lane_chains.h"

namespace volta::cpu {

class DepthwiseGradient {
  public:
    // Whether it can: one channel and one filter a group, machine code, few taps in a row of the kernel.
    static bool fits(const ConvolutionStep& step, const CompileContext& context);
    DepthwiseGradient(const ConvolutionStep& step, const CompileContext& context);

    using Call = WeightGradient::Call;
    // Allocates nothing.
    void run(ThreadPool& pool, const Call& call) const noexcept;

    std::size_t workspace_bytes() const { return workspace_bytes_; }
    const char* kernel_name() const { return name_; }

  private:
    // Rows of taps that one kernel takes.
    struct Pass {
        jit::LaneChainsFunction run;
        std::int64_t first_row, rows;
    };
    struct Buffers {
        float *x, *dy, *chains, *sums;
    };
    // Channels [first, first + count), at most 16.
    void run_channels(const Call& call, std::int64_t first, std::int64_t count,
                      const Buffers& buffers) const noexcept;
    // Pixels [begin, end) of a picture, whose dy is packed.
    void add_pixels(std::int64_t begin, std::int64_t end, const Buffers& buffers) const noexcept;
    void add_rows(std::int64_t pixel, std::int64_t rows, std::int64_t columns, const float* dy,
                  const Buffers& buffers) const noexcept;

    const define::ConvolutionSizes sizes_;
    const int workers_;
    const Isa isa_;
    jit::TransposeFunctions transposes_;
    LanePicture x_;
    std::int64_t dy_floats_ = 0, chain_floats_ = 0;
    std::pmr::vector<Pass> passes_;
    std::size_t workspace_bytes_ = 0;
    char name_[64];
};

}  // namespace volta::cpu
