// Kernels by the text they are made of: compiled once, kept in memory, and on disk in a folder of the host.
#pragma once

#include <map>
#include <string>

#include "engine/backend/cuda/compiler.h"
#include "engine/backend/cuda/device.h"
#include "engine/backend/cuda/kernel_file.h"
#include "engine/base/log.h"

namespace volta::cuda {

struct StoreFigures {
    std::uint64_t compiled = 0;   // by NVRTC
    std::uint64_t from_disk = 0;  // read and loaded
    std::uint64_t from_memory = 0;
    std::uint64_t ignored_files = 0;  // damaged, foreign or stale: each was logged
};

// Thread: any; calls take turns with those of the Gpu, which waits while one compiles.
class KernelStore final {
  public:
    // `folder` is made when something is written; "" keeps nothing on disk. A folder that cannot be written
    // is logged, not an error. `gpu` and `heap` outlive it. Throws UNSUPPORTED without NVRTC.
    KernelStore(Gpu& gpu, const char* folder, const Log& log, std::pmr::memory_resource* heap);
    ~KernelStore();  // unloads the modules: no kernel of it may be running or part of a graph
    KernelStore(const KernelStore&) = delete;
    KernelStore& operator=(const KernelStore&) = delete;

    // The entry point `entry` of `text`, which declares it extern "C". Several entries of one text are
    // compiled together. `shared_bytes`: dynamic shared memory that launches will ask for, at most.
    // Throws INTERNAL where the text does not compile or has no such entry, UNSUPPORTED where the device has
    // less shared memory, DEVICE_ERROR, OUT_OF_MEMORY, INVALID_STATE while a graph is recorded.
    Kernel kernel(const char* text, const char* entry, unsigned shared_bytes = 0);

    StoreFigures figures() noexcept;
    const Compiler& compiler() const noexcept { return compiler_; }

  private:
    struct Module {
        explicit Module(std::pmr::memory_resource* heap) : kernels(heap) {}
        CUmodule module = nullptr;
        std::pmr::map<std::pmr::string, Kernel, std::less<>> kernels;
    };
    struct Less {
        bool operator()(const Hash128& a, const Hash128& b) const noexcept {
            return a.high != b.high ? a.high < b.high : a.low < b.low;
        }
    };
    Module& module_of(const char* text, const char* entry);
    CUmodule load(const KernelImage& image, const char* entry);
    CUmodule load_from_disk(const KernelKey& key, const char* entry);
    CUmodule compile(const KernelKey& key, const char* text, const char* entry);

    Kernel find_function(CUmodule module, const char* entry);
    void allow_shared(const Kernel& kernel, unsigned bytes);

    Gpu& gpu_;
    std::pmr::memory_resource* heap_;
    Log log_;
    Compiler compiler_;
    KernelFolder folder_;
    int target_ = 0;  // architecture of images
    bool is_ptx_ = false;
    std::pmr::map<Hash128, Module, Less> modules_;
    StoreFigures figures_;
};

}  // namespace volta::cuda
