#include "engine/backend/cuda_module.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace volta {
namespace {

// It stays loaded, because objects of it outlive any one context.
constexpr int kHow = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

// Beside the file that holds this function, a library or a program, or in the lib of its prefix. That file is
// the one that the system mapped, by its resolved path: not what a program was called by (argv[0], which
// dladdr gives for a program), nor a path that was relative when the library was opened. Which code runs is
// decided by neither.
void* open_beside() {
    CodePath own;
    if (!path_of_code(reinterpret_cast<const void*>(&cuda_module), &own)) return nullptr;
    const char* const slash = std::strrchr(own.text, '/');
    for (const char* const below : {"", "../lib/"}) {
        char path[sizeof own.text + 64];
        std::snprintf(path, sizeof path, "%.*s/%s%s", static_cast<int>(slash - own.text), own.text, below,
                      kCudaModuleFile);
        if (void* const library = dlopen(path, kHow)) return library;
    }
    return nullptr;
}

}  // namespace

const BackendRow& cuda_module() {
    void* library = open_beside();
    if (library == nullptr) library = dlopen(kCudaModuleFile, kHow);
    if (library == nullptr)
        fail(VOLTA_UNSUPPORTED, "this build has no CUDA module: %s cannot be opened (%s)", kCudaModuleFile,
             dlerror());
    void* const entry = dlsym(library, kCudaModuleEntry);
    if (entry == nullptr)
        fail(VOLTA_UNSUPPORTED, "%s has no %s: it is no CUDA module", kCudaModuleFile, kCudaModuleEntry);
    CudaModuleEntry function;
    std::memcpy(&function, &entry, sizeof function);
    const BackendRow* const row = function(kModuleBuild);
    if (row == nullptr)
        fail(VOLTA_UNSUPPORTED, "%s is of another build than this library (%s)", kCudaModuleFile,
             kModuleBuild);
    return *row;
}

int count_cuda_devices(std::pmr::memory_resource* heap) { return cuda_module().count(heap); }
DeviceInfo describe_cuda_device(int index, std::pmr::memory_resource* heap) {
    return cuda_module().describe(index, heap);
}
DevicePtr open_cuda_device(const DeviceOptions& options) { return cuda_module().open(options); }

}  // namespace volta
