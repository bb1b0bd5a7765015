// How many threads run a row kernel, in which form, and with how much scratch memory. Free choices: no bit
// depends on them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jitgen/cuda/row_args.h"
#include "jitgen/cuda/row_source.h"

namespace volta::jit {

struct RowLaunch {
    RowForm form;
    unsigned grid_x, grid_y;  // blocks; of NAME_close: grid_x alone
    unsigned threads;         // of a block; a multiple of 32
    std::int64_t chunk_stride;
    std::size_t scratch_bytes;
};

// `multiprocessors` of the device, 1 or more. rows and columns may be 0.
RowLaunch row_launch(const RowPlan& plan, std::int64_t rows, std::int64_t columns, int multiprocessors);

// The same with the form given, which must fit the program: column sums have form segments, and only they.
RowLaunch row_launch(const RowPlan& plan, RowForm form, std::int64_t rows, std::int64_t columns,
                     int multiprocessors);

}  // namespace volta::jit
