#include "engine/backend/backend.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/tune.h"

namespace volta {

const BackendRow kBackends[] = {
    {"cpu", cpu::compile_plan, cpu::create_cache, cpu::release_cache, cpu::open_tuning_folder,
     cpu::tuning_version, cpu::tune},
};
const int kBackendCount = static_cast<int>(sizeof kBackends / sizeof *kBackends);

}  // namespace volta
