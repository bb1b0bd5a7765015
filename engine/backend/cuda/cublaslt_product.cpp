// The library's matrices lie column by column. A matrix that lies row by row is its own transpose to it, so
// it is asked for transpose(C) = transpose(B) transpose(A): its A is our B, its B our A, and nothing moves.
#include "engine/backend/cuda/cublaslt_product.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace volta::cuda {
namespace {

constexpr int kWanted = 8;  // choices that are looked at; the first that will do is taken

// fp32 forbids the library to round operands, whatever the environment says.
int compute_type(Precision precision) {
    return precision == Precision::fp32   ? kLtCompute32fPedantic
           : precision == Precision::tf32 ? kLtComputeTf32
                                          : kLtCompute32f;
}

// Part of an algorithm's configuration.
struct Setting {
    const char* name;
    int attribute;
    std::size_t bytes;
    bool always;  // named even where it is 0
};
constexpr Setting kSplits = {"splits", kLtSplits, 4, true};
constexpr Setting kReduction = {"reduction", kLtReduction, 4, false};
constexpr Setting kNamed[] = {{"algo", kLtAlgorithmId, 4, true},
                              {"tile", kLtTile, 4, true},
                              {"stages", kLtStages, 4, true},
                              kSplits,
                              kReduction,
                              {"swizzle", kLtSwizzle, 4, false},
                              {"option", kLtCustomOption, 4, false},
                              {"inner", kLtInnerShape, 2, false},
                              {"cluster", kLtClusterShape, 2, false}};

// False: the library does not say.
bool read(const LtApi& api, const LtAlgorithm& algorithm, const Setting& setting, std::uint32_t* value) {
    std::uint16_t narrow = 0;
    std::size_t written = 0;
    const bool is_narrow = setting.bytes == sizeof narrow;
    void* const to = is_narrow ? static_cast<void*>(&narrow) : value;
    if (api.algorithm_get.function(&algorithm, setting.attribute, to, setting.bytes, &written) != 0)
        return false;
    if (is_narrow) *value = narrow;
    return true;
}

// The mask of a preference is a wish; here it is checked.
bool is_reproducible(const LtApi& api, const LtAlgorithm& algorithm) {
    std::uint32_t splits = 0, reduction = 0;
    if (!read(api, algorithm, kSplits, &splits)) return false;
    return splits <= 1 ||
           (read(api, algorithm, kReduction, &reduction) && reduction == kLtReductionInCompute);
}

struct OwnedPreference {
    const LtApi& api;
    LtPreference preference = nullptr;
    ~OwnedPreference() {
        if (preference != nullptr) api.preference_destroy.function(preference);
    }
};

}  // namespace

CublasLtProduct::CublasLtProduct(const CublasLtLibrary& library, const CublasLtProblem& problem)
    : library_(library) {
    try {
        describe(problem);
        choose(problem);
    } catch (...) {
        release();
        throw;
    }
    set_name(precision_name(problem.precision));
}

CublasLtProduct::~CublasLtProduct() { release(); }

void CublasLtProduct::release() noexcept {
    const LtApi& api = library_.api();
    for (auto* const layout : layouts_)
        if (layout != nullptr) api.layout_destroy.function(layout);
    if (product_ != nullptr) api.product_destroy.function(product_);
}

void CublasLtProduct::describe(const CublasLtProblem& problem) {
    const LtApi& api = library_.api();
    const ProductShape& shape = problem.shape;
    library_.call(api.product_create, &product_, compute_type(problem.precision), int{kLtFloat32});
    const int operations[] = {shape.b_transposed ? kLtTransposed : kLtNormal,
                              shape.a_transposed ? kLtTransposed : kLtNormal};
    for (int i = 0; i < 2; ++i)
        library_.call(api.product_set, product_, kLtTransposeA + i, &operations[i], sizeof operations[i]);

    struct Matrix {
        int type;
        std::int64_t rows, columns, stride, batch_stride;  // row-major; elements
    };
    const int type = problem.precision == Precision::bf16 ? kLtBfloat16 : kLtFloat32;
    const Matrix matrices[] = {{type, shape.b_transposed ? shape.n : shape.k,
                                shape.b_transposed ? shape.k : shape.n, shape.ldb, shape.batch_stride_b},
                               {type, shape.a_transposed ? shape.k : shape.m,
                                shape.a_transposed ? shape.m : shape.k, shape.lda, shape.batch_stride_a},
                               {kLtFloat32, shape.m, shape.n, shape.ldc, shape.batch_stride_c}};
    for (int i = 0; i < 3; ++i) {
        const Matrix& matrix = matrices[i];
        library_.call(api.layout_create, &layouts_[i], matrix.type,
                      static_cast<std::uint64_t>(matrix.columns), static_cast<std::uint64_t>(matrix.rows),
                      matrix.stride);
        if (shape.batch == 1) continue;
        const auto count = static_cast<std::int32_t>(shape.batch);
        library_.call(api.layout_set, layouts_[i], int{kLtBatchCount}, &count, sizeof count);
        library_.call(api.layout_set, layouts_[i], int{kLtBatchStride}, &matrix.batch_stride,
                      sizeof matrix.batch_stride);
    }
}

// Asked for is what every run can keep: the workspace, the alignment, and no order of additions that depends
// on who is first.
void CublasLtProduct::choose(const CublasLtProblem& problem) {
    const LtApi& api = library_.api();
    OwnedPreference owned{api};
    library_.call(api.preference_create, &owned.preference);
    const auto set = [&](int attribute, auto value) {
        library_.call(api.preference_set, owned.preference, attribute, &value, sizeof value);
    };
    set(kLtMostWorkspace, std::uint64_t{problem.workspace_limit});
    set(kLtReductions, std::uint32_t{kLtReductionInCompute});
    set(kLtAlignmentA, std::uint32_t{problem.alignment[1]});
    set(kLtAlignmentB, std::uint32_t{problem.alignment[0]});
    for (const int attribute : {kLtAlignmentC, kLtAlignmentD})
        set(attribute, std::uint32_t{problem.alignment[2]});

    LtChoice choices[kWanted] = {};
    int count = 0;
    const LtStatus status = library_.choose(product_, layouts_, owned.preference, kWanted, choices, &count);
    if (status != 0 && status != kLtNotSupported) throw library_.error(status, api.choose.name);
    for (int i = 0; i < (status == 0 ? std::min(count, kWanted) : 0); ++i) {
        const LtChoice& choice = choices[i];
        if (choice.state != 0 || choice.workspace_bytes > problem.workspace_limit) continue;
        if (!is_reproducible(api, choice.algorithm)) continue;
        choice_ = choice;
        return;
    }
    const ProductShape& shape = problem.shape;
    fail(VOLTA_UNSUPPORTED, "cuBLASLt has no algorithm for %s products of %lld x %lld x %lld, %lld of them",
         precision_name(problem.precision), static_cast<long long>(shape.m), static_cast<long long>(shape.n),
         static_cast<long long>(shape.k), static_cast<long long>(shape.batch));
}

void CublasLtProduct::set_name(const char* precision) {
    auto used = static_cast<std::size_t>(std::snprintf(name_, sizeof name_, "cublaslt %s", precision));
    for (const Setting& setting : kNamed) {
        std::uint32_t value = 0;
        const std::size_t left = sizeof name_ - used;
        const bool known = read(library_.api(), choice_.algorithm, setting, &value);
        if (!known || (value == 0 && !setting.always) || left < 24) continue;
        used +=
            static_cast<std::size_t>(std::snprintf(name_ + used, left, " %s %" PRIu32, setting.name, value));
    }
}

volta_status CublasLtProduct::run(const void* a, const void* b, float* c, bool adds,
                                  void* workspace) const noexcept {
    return library_.run({product_, layouts_, b, a, c, adds ? 1.0f : 0.0f, choice_.algorithm, workspace,
                         choice_.workspace_bytes});
}

}  // namespace volta::cuda
