// The CUDA backend lives in a shared library of its own, opened when a device of CUDA is first asked for, so
// that the core depends on nothing of it.
#pragma once

#include "engine/backend/backend.h"

namespace volta {

inline constexpr const char* kCudaModuleFile = "libvolta_cuda.so.1";
inline constexpr const char* kCudaModuleEntry = "volta_cuda_backend";
// What core and module must agree on: they share structures of C++. The module's entry point is
//     const BackendRow* volta_cuda_backend(const char* build);    NULL: it is of another build
inline constexpr const char* kModuleBuild = VOLTA_VERSION_TEXT " " __VERSION__;
using CudaModuleEntry = const BackendRow* (*)(const char* build);

// The module's row: from the folder of this library, or of the program where it is linked into one, or ../lib
// beside that, by the absolute path that the system knows; else where the system looks. Throws UNSUPPORTED
// saying what was tried.
const BackendRow& cuda_module();

// The row "cuda" of kBackends: opens the module and asks it.
int count_cuda_devices(std::pmr::memory_resource* heap);
DeviceInfo describe_cuda_device(int index, std::pmr::memory_resource* heap);
DevicePtr open_cuda_device(const DeviceOptions& options);

}  // namespace volta
