// What one GPU does at most, by its own clock.
#pragma once

#include "engine/backend/cuda/kernel_store.h"
#include "engine/backend/device.h"

namespace volta::cuda {

// Multiply-adds on registers, and copies of 256 MiB (less where the device has less) within the device's
// memory: some tens of milliseconds. Its memory is given back. Throws OUT_OF_MEMORY, DEVICE_ERROR.
void measure_peaks(Gpu& gpu, KernelStore& store, std::pmr::memory_resource* heap, DevicePeaks& peaks);

}  // namespace volta::cuda
