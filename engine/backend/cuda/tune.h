// Tuning products on a GPU; docs/matmul_tuning.md.
#pragma once

#include "engine/backend/cuda/kernel_store.h"
#include "engine/backend/cuda/tuning_table.h"
#include "engine/backend/tuning/tune_request.h"
#include "engine/base/arithmetic.h"

namespace volta::cuda {

// Puts what is found into `table`, and into `folder` unless it is NULL. Throws as volta_tune says.
void tune(const TuneRequest& request, Level level, Gpu& gpu, KernelStore& store, TuningTable& table,
          const TuningFolder* folder, std::pmr::memory_resource* heap);

}  // namespace volta::cuda
