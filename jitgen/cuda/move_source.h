// Kernels that move words of 4 bytes and compute nothing: strided copies, a word everywhere, positions. The
// text is the same for all shapes, which are arguments.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

#include "engine/base/shape.h"

namespace volta::jit {

// Element (i0, i1, ...) goes from i . in_stride to i . out_stride, in words. The generated text declares the
// same struct and asserts the layout; so it does for the others.
struct CudaCopyArgs {
    const std::uint32_t* from;
    std::uint32_t* to;
    std::int64_t extent[kMaxRank], in_stride[kMaxRank], out_stride[kMaxRank];
    std::int32_t rank;
    std::int32_t dense_axis;  // of move_tiles: the axis along which the input is dense
    std::uint32_t width;      // of move_copy: threads that share a line; a power of two up to 32
    std::uint32_t unused;

    // The next axis, outermost first; kMaxRank of them at most. Axes of extent 1 vanish, and an axis that
    // continues the one before it on both sides becomes part of it.
    void push(std::int64_t new_extent, std::int64_t in, std::int64_t out);
    std::int64_t count() const;  // of elements
};

struct CudaFillArgs {
    std::uint32_t* to;
    std::int64_t count;
    std::uint32_t word, unused;
};

// to [rows, columns] = 0 .. columns-1 in every row.
struct CudaPositionArgs {
    std::int32_t* to;
    std::int64_t rows, columns;
};

inline constexpr unsigned kMoveThreads = 256;  // of a block of every kernel that moves

// Entry points move_copy, move_tiles (copies whose input is dense along another axis than the output),
// move_fill and move_positions. Follows the prelude of row kernels, once per translation unit.
void append_move_kernels(std::pmr::string& text);

struct CopyLaunch {
    bool tiles;       // move_tiles, else move_copy
    unsigned grid_x;  // blocks of kMoveThreads; 0: nothing to launch
};

// Chooses between the two, and completes the arguments (an axis is added where there is none). No bit depends
// on the choice. `multiprocessors` of the device, 1 or more.
CopyLaunch copy_launch(CudaCopyArgs& args, int multiprocessors);

// Blocks of kMoveThreads for `count` elements that threads share evenly: at most what keeps a device busy.
unsigned blocks_for(std::int64_t count, int multiprocessors);

}  // namespace volta::jit
