// A plan on a GPU: its actions in order, recorded as one graph per run once the same addresses come back: of
// a training step, one for all gradients and one for the update.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cuda/kernel_batch.h"

namespace volta::cuda {

class MatrixLibrary;

// Throws as Device::compile. `gpu`, `kernels` and `matrices` outlive it; `matrices` NULL: plans are strict.
ExecutablePtr compile_plan(const Plan& plan, Gpu& gpu, KernelBatch& kernels, MatrixLibrary* matrices,
                           std::pmr::memory_resource* heap);

}  // namespace volta::cuda
