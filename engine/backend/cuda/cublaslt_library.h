// cuBLASLt, opened at run time: what multiplies matrices at levels that allow another order of additions than
// the contract's. A strict device never opens it.
#pragma once

#include <memory_resource>

#include "engine/backend/cuda/cublaslt_api.h"
#include "engine/backend/cuda/device.h"
#include "engine/base/arithmetic.h"
#include "engine/base/memory.h"

namespace volta::cuda {

// Thread: any; what works on the device takes the Gpu's turn.
class CublasLtLibrary final {
  public:
    // libcublasLt.so.13, .12 and the unversioned name, in this order, and none that is newer than the driver.
    // `gpu` and `heap` outlive it; `level` is for messages. Throws UNSUPPORTED "level repeatable: no
    // cuBLASLt:
    // ..." with the names that were tried, or the version that is too new; DEVICE_ERROR where it cannot
    // start.
    CublasLtLibrary(Gpu& gpu, Level level, std::pmr::memory_resource* heap);
    ~CublasLtLibrary();
    CublasLtLibrary(const CublasLtLibrary&) = delete;
    CublasLtLibrary& operator=(const CublasLtLibrary&) = delete;

    const LtApi& api() const noexcept { return *api_; }
    int version() const noexcept { return version_; }  // 13000: 13.0

    // Calls what makes or asks, with the device's context current. Throws DEVICE_ERROR with call and status.
    template <class... Parameters, class... Arguments>
    void call(const LtCall<Parameters...>& function, Arguments... arguments) const {
        const Gpu::Turn turn(gpu_);
        const LtStatus status = function.function(arguments...);
        if (status != 0) throw error(status, function.name);
    }
    LtStatus choose(LtProduct product, const LtLayout (&layouts)[3], LtPreference preference, int wanted,
                    LtChoice* choices, int* count) const;

    // One product, put into the Gpu's stream: C = alpha A B + beta C with alpha 1. Layouts of A, B and C as
    // the library sees them. Allocates nothing; a failure is the Gpu's, with the library's status.
    struct Multiplication {
        LtProduct product;
        const LtLayout (&layouts)[3];
        const void *a, *b;
        void* c;
        float beta;
        const LtAlgorithm& algorithm;
        void* workspace;
        std::size_t workspace_bytes;
    };
    volta_status run(const Multiplication& work) const noexcept;

    // "cuBLASLt: cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED 15".
    Error error(LtStatus status, const char* call) const noexcept;

  private:
    Gpu& gpu_;
    HeapPtr<LtApi> api_;
    int version_ = 0;
    LtHandle handle_ = nullptr;
};

}  // namespace volta::cuda
