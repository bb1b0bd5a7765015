// One product as cuBLASLt computes it, with an algorithm that is chosen once, when the product is made, and
// serves every run.
#pragma once

#include "engine/backend/cuda/cublaslt_library.h"
#include "engine/backend/lower/problem_shapes.h"

namespace volta::cuda {

struct CublasLtProblem {
    ProductShape shape;           // m, n, k and batch 1 or more
    Precision precision;          // bf16: elements of A and B are bf16, 2 bytes, and rounded already
    unsigned alignment[3] = {};   // of every matrix of A, B and C, bytes: powers of two
    std::size_t workspace_limit;  // bytes that the algorithm may ask for
};

class CublasLtProduct final {
  public:
    // `library` outlives it. Throws UNSUPPORTED where no algorithm does this product reproducibly within the
    // workspace, DEVICE_ERROR. Cost: up to a millisecond.
    CublasLtProduct(const CublasLtLibrary& library, const CublasLtProblem& problem);
    ~CublasLtProduct();
    CublasLtProduct(const CublasLtProduct&) = delete;
    CublasLtProduct& operator=(const CublasLtProduct&) = delete;

    std::size_t workspace_bytes() const noexcept { return choice_.workspace_bytes; }
    // "cublaslt bf16 algo 21 tile 18 stages 12 splits 1", and what else of the configuration is not 0.
    const char* name() const noexcept { return name_; }

    // C = A B, or C + A B. Addresses of the device; `workspace` is aligned to kLtWorkspaceAlignment.
    volta_status run(const void* a, const void* b, float* c, bool adds, void* workspace) const noexcept;

  private:
    void describe(const CublasLtProblem& problem);
    void choose(const CublasLtProblem& problem);
    void set_name(const char* precision);
    void release() noexcept;

    const CublasLtLibrary& library_;
    LtProduct product_ = nullptr;
    LtLayout layouts_[3] = {};  // of the library's A, B, C: our B, A, C
    LtChoice choice_ = {};
    char name_[120] = "";
};

}  // namespace volta::cuda
