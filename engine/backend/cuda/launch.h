// One kernel whose only parameter is a struct of arguments.
#pragma once

#include "engine/backend/cuda/device.h"

namespace volta::cuda {

struct Grid {  // in blocks
    unsigned x, y = 1, z = 1;
};

// No blocks: nothing.
template <class Args>
volta_status launch(Gpu& gpu, const Kernel& kernel, Grid grid, unsigned threads, const Args& args) noexcept {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return VOLTA_OK;
    LaunchShape shape;
    shape.grid_x = grid.x;
    shape.grid_y = grid.y;
    shape.grid_z = grid.z;
    shape.threads_x = threads;
    void* parameters[] = {const_cast<Args*>(&args)};
    return gpu.launch(kernel, shape, parameters);
}

}  // namespace volta::cuda
