// What the CPU backend keeps for a context: generated kernels and tuning results.
#pragma once

#include <optional>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/tuning/tuning_file.h"
#include "engine/backend/cpu/tuning/tuning_table.h"

namespace volta::cpu {

struct CpuCache {
    explicit CpuCache(std::pmr::memory_resource* heap) : kernels(heap), tuning(heap) {}
    KernelCache kernels;
    TuningTable tuning;
    TunedProducts tuned{tuning};
    std::optional<TuningFolder> folder;  // none: results stay in memory
};

}  // namespace volta::cpu
