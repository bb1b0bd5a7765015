// The processor as a device: the host's memory, and what its kernels and tuning results are kept in.
#pragma once

#include "engine/backend/backend.h"

namespace volta::cpu {

int count_devices(std::pmr::memory_resource* heap);  // 1
DeviceInfo describe_device(int index, std::pmr::memory_resource* heap);
DevicePtr open_device(const DeviceOptions& options);

}  // namespace volta::cpu
