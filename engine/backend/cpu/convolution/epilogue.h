// What runs on blocks of a convolution's result while they are in cache.
#pragma once

#include "engine/backend/lower/loop_space.h"
#include "engine/base/offset.h"
#include "engine/base/thread_pool.h"
#include "jitgen/row_kernel.h"

namespace volta::cpu {

// Where a call's epilogue has its operands, and how they lie over pictures, channels and pixels.
struct CallEpilogue {
    void* const* bases;
    const std::int64_t* row_strides;
    const LoopSpace* loops;

    void run(const jit::RowKernel& kernel, std::int64_t picture, Range channels, Range pixels,
             void* scratch) const noexcept {
        void* operands[jit::kMaxOperands];
        for (std::size_t k = 0; k < loops->operands.size(); ++k)
            operands[k] = offset(static_cast<float*>(bases[k]), loops->outer_offset(k, picture));
        jit::RowArgs whole = {};
        whole.operands = operands;
        whole.row_strides = row_strides;
        whole.rows = loops->rows;
        whole.columns = loops->columns;
        jit::run_block(kernel, whole, channels.begin, channels.end, pixels.begin, pixels.end, scratch);
    }
};

}  // namespace volta::cpu
