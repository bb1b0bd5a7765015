#include "engine/backend/backend.h"

#include "engine/backend/cpu/cpu_backend.h"

namespace volta {

const BackendRow kBackends[] = {
    {"cpu", cpu::compile_plan, cpu::create_cache, cpu::release_cache},
};
const int kBackendCount = static_cast<int>(sizeof kBackends / sizeof *kBackends);

}  // namespace volta
