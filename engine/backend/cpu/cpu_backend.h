// The CPU backend: plan steps on a context's thread pool.
#pragma once

#include "engine/backend/backend.h"

namespace volta::cpu {

ExecutablePtr compile_plan(const Plan& plan, const BackendContext& context);
void* create_cache(std::pmr::memory_resource* heap);
void release_cache(void* cache, std::pmr::memory_resource* heap) noexcept;

}  // namespace volta::cpu
