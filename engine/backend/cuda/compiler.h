// NVRTC, opened at run time: the text of kernels to machine code of one device's architecture.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/backend/cuda/driver_library.h"
#include "engine/base/memory.h"

namespace volta::cuda {

// What NVRTC made: a cubin, or PTX where it does not know the device's architecture yet.
struct KernelImage {
    Buffer bytes;          // PTX ends with a zero
    int architecture = 0;  // 90: sm_90 of a cubin, compute_90 of PTX
    bool is_ptx = false;
};

struct NvrtcApi;

// Thread: any, several at once.
class Compiler final {
  public:
    // libnvrtc.so.13, .12 and the unversioned name, in this order, and none that is newer than the driver:
    // its code would not load. `driver_version` 0: any will do. Throws UNSUPPORTED "CUDA: no NVRTC: ...",
    // with the
    // names that were tried, or with the version that is too new.
    Compiler(int driver_version, std::pmr::memory_resource* heap);
    ~Compiler();
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;

    int version() const noexcept { return version_; }  // 13000: 13.0
    // What compile() makes for a device of this architecture (90: sm_90), as it is part of a kernel's key.
    // Throws UNSUPPORTED for a device older than every architecture that NVRTC knows.
    int target(int architecture, bool* is_ptx) const;

    // `name` is for messages. Without contraction (--fmad=false), docs/cuda.md says why; as C++17, without an
    // include path. Throws INTERNAL with the first lines of the log that name an error.
    // Cost: a tenth of a second and more.
    KernelImage compile(const char* text, const char* name, int architecture) const;

  private:
    [[noreturn]] void fail_with_log(void* program, int result, const char* name) const;

    std::pmr::memory_resource* heap_;
    HeapPtr<NvrtcApi> api_;
    int version_ = 0;
    std::pmr::vector<int> architectures_;  // ascending
};

}  // namespace volta::cuda
