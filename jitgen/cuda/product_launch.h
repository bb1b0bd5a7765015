// How many blocks compute a product, whether they share its segments, and with how much scratch memory. Free
// choices: no bit depends on them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jitgen/cuda/product_source.h"

namespace volta::jit {

struct ProductLaunch {
    bool split;  // NAME_segments and NAME_close; else NAME_tiles
    unsigned grid_x,
        grid_y;             // blocks of kProductThreads, of NAME_tiles or NAME_segments; 0: nothing to launch
    unsigned close_grid_x;  // of NAME_close; 0: it is not launched
    std::size_t scratch_bytes;
    unsigned grid_z;  // of NAME_tiles or NAME_segments
};

// The tile for c [m, n], `batch` times: the larger one where it still gives every multiprocessor a block.
int product_tile(std::int64_t m, std::int64_t n, int multiprocessors, std::int64_t batch = 1);

// Whose the segments of a chain are: of one block, in turn, or of blocks side by side, which need scratch
// memory.
enum class SegmentsOf : std::uint8_t {
    rule,   // blocks share them where tiles alone leave multiprocessors idle
    block,  // but for k = 0
    blocks  // where there are two or more, and their scratch is no more than kMostChosenScratch
};
inline constexpr std::size_t kMostChosenScratch = std::size_t{256} << 20;

// m, n, k, batch >= 0; `multiprocessors` of the device, 1 or more. What cannot be had is by the rule.
ProductLaunch product_launch(int tile, std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors,
                             std::int64_t batch = 1, SegmentsOf segments_of = SegmentsOf::rule);

}  // namespace volta::jit
