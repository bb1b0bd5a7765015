// Modules of the fake driver: shared libraries that the fake NVRTC has made.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "tests/support/fake_cuda/fake_driver.h"

namespace volta::fake {
namespace {

// The architecture of an image runs on a device: PTX of no newer one, a cubin of the same generation.
bool runs_on(const ImageHeader& header, int capability) {
    if (header.is_ptx != 0) return header.architecture <= capability;
    return header.architecture / 10 == capability / 10 && header.architecture <= capability;
}

// A file without a folder. The loader tells libraries apart by their names: the descriptor stays open as long
// as the library, so that no other gets its number.
void* open_library(const unsigned char* bytes, std::size_t count, int* descriptor) {
    *descriptor = memfd_create("fake_kernel", MFD_CLOEXEC);
    char path[32];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", *descriptor);
    const bool written = write(*descriptor, bytes, count) == static_cast<ssize_t>(count);
    void* const library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library == nullptr)
        complain("a module cannot be opened: %s", written ? dlerror() : "it cannot be written");
    return library;
}

bool is_launchable(const CUfunc_st& function, const simt::Launch& launch, unsigned dynamic_bytes) {
    const auto &grid = launch.grid, &block = launch.block;
    const std::size_t threads = std::size_t{block.x} * block.y * block.z;
    const bool empty = grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0;
    const bool large = grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || block.z > 64 ||
                       threads > function.entry->max_threads || dynamic_bytes > function.dynamic_bytes;
    if (empty || large)
        complain("%s: %u x %u x %u blocks of %zu threads with %u shared bytes are not possible",
                 function.entry->name, grid.x, grid.y, grid.z, threads, dynamic_bytes);
    return !empty && !large;
}

// What the driver's own compiler would say.
void write_log(unsigned count, const int* options, void** values, const char* text) {
    char* log = nullptr;
    std::size_t bytes = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == kJitErrorLog) log = static_cast<char*>(values[i]);
        if (options[i] == kJitErrorLogBytes) bytes = reinterpret_cast<std::size_t>(values[i]);
    }
    if (log != nullptr && bytes > 0) std::snprintf(log, bytes, "%s", text);
}

}  // namespace
}  // namespace volta::fake

using namespace volta::fake;

namespace volta::cuda {
CUmod_st::~CUmod_st() {
    if (library != nullptr) dlclose(library);
    if (descriptor >= 0) close(descriptor);
}
}  // namespace volta::cuda

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned options, int* names,
                            void** values) {
    FAKE_CALL("cuModuleLoadDataEx", idle);
    ImageHeader header;
    std::memcpy(&header, image, sizeof header);
    if (std::memcmp(header.magic, kImageMagic, sizeof kImageMagic) != 0) return kCudaInvalidImage;
    if (!runs_on(header, machine().settings.capability)) return kCudaNoBinaryForGpu;
    auto made = std::make_unique<CUmod_st>();
    made->context = call.context;
    made->library = open_library(static_cast<const unsigned char*>(image) + sizeof header, header.bytes,
                                 &made->descriptor);
    const auto* entry =
        made->library != nullptr ? static_cast<const Entry*>(dlsym(made->library, kEntries)) : nullptr;
    if (entry == nullptr) {
        write_log(options, names, values, "the image holds no kernels");
        return kCudaInvalidImage;
    }
    for (; entry->name != nullptr; ++entry) made->functions[entry->name] = CUfunc_st{made.get(), entry};
    machine().modules.insert(made.get());
    *module = made.release();
    return kCudaSuccess;
}

CUresult cuModuleUnload(CUmodule module) {
    FAKE_CALL("cuModuleUnload", idle);
    if (machine().modules.count(module) == 0) return kCudaInvalidHandle;
    drain_all(call.context);
    machine().modules.erase(module);
    delete module;
    return kCudaSuccess;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    FAKE_CALL("cuModuleGetFunction", context);
    if (machine().modules.count(module) == 0) return kCudaInvalidHandle;
    const auto found = module->functions.find(name);
    if (found == module->functions.end()) return kCudaNotFound;
    *function = &found->second;
    return kCudaSuccess;
}

CUresult cuFuncGetAttribute(int* value, int which, CUfunction function) {
    FAKE_CALL("cuFuncGetAttribute", context);
    *value = which == kFunctionMaxThreads              ? static_cast<int>(function->entry->max_threads)
             : which == kFunctionRegisters             ? 32
             : which == kFunctionMaxDynamicSharedBytes ? static_cast<int>(function->dynamic_bytes)
                                                       : 0;
    return kCudaSuccess;
}

CUresult cuFuncSetAttribute(CUfunction function, int which, int value) {
    FAKE_CALL("cuFuncSetAttribute", context);
    if (which != kFunctionMaxDynamicSharedBytes || value < 0 || value > 227 * 1024) return kCudaInvalidValue;
    function->dynamic_bytes = static_cast<unsigned>(value);
    return kCudaSuccess;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_bytes,
                        CUstream stream, void** parameters, void** extra) {
    FAKE_CALL("cuLaunchKernel", context);
    if (machine().streams.count(stream) == 0 || stream->context != call.context) return kCudaInvalidHandle;
    if (function == nullptr || extra != nullptr) return kCudaInvalidValue;
    Work work(Work::Kind::kernel);
    work.function = function;
    work.launch.grid = {grid_x, grid_y, grid_z};
    work.launch.block = {block_x, block_y, block_z};
    if (!is_launchable(*function, work.launch, dynamic_bytes)) return kCudaInvalidValue;
    if (dynamic_bytes > 0) {
        complain("%s: the emulation has no dynamic shared memory", function->entry->name);
        return kCudaInvalidValue;
    }
    for (std::size_t i = 0; i < function->entry->parameter_count; ++i) {
        const auto* const value = static_cast<const unsigned char*>(parameters[i]);
        work.parameters.emplace_back(value, value + function->entry->parameter_bytes[i]);
    }
    return submit(stream, std::move(work));
}

}  // extern "C"
