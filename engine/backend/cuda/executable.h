// A plan on a GPU: its actions in order, recorded as one graph per run once the same addresses come back. A
// training step is one run: the device looks whether the update may change anything, and the host reads the
// loss while the update goes on.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cuda/kernel_batch.h"

namespace volta::cuda {

class MatrixLibrary;

// Throws as Device::compile. What is referred to outlives it; `matrices` NULL: plans are strict. `memory` is
// that of `gpu`.
ExecutablePtr compile_plan(const Plan& plan, Gpu& gpu, Memory& memory, KernelBatch& kernels,
                           MatrixLibrary* matrices, std::pmr::memory_resource* heap);

}  // namespace volta::cuda
