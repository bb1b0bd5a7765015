#include "engine/backend/cuda_module.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {
namespace {

// It stays loaded, because objects of it outlive any one context.
constexpr int kHow = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

// Beside the file that holds this function, a library or a program, or in the lib of its prefix.
void* open_beside() {
    Dl_info own = {};
    if (dladdr(reinterpret_cast<void*>(&cuda_module), &own) == 0 || own.dli_fname == nullptr) return nullptr;
    const char* const slash = std::strrchr(own.dli_fname, '/');
    if (slash == nullptr) return nullptr;
    for (const char* const below : {"", "../lib/"}) {
        char path[4096];
        const int length =
            std::snprintf(path, sizeof path, "%.*s/%s%s", static_cast<int>(slash - own.dli_fname),
                          own.dli_fname, below, kCudaModuleFile);
        if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) continue;
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
