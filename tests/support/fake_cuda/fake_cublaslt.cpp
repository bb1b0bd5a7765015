// A fake libcublasLt: descriptions that are checked as strictly as the real ones may be, a heuristic that
// knows a few algorithms, and products that the fake driver's streams run, or record, like kernels.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/fake_cuda/fake_matmul.h"

namespace volta::cuda {

struct LtHandle_st {
    CUcontext context;
};
struct LtProduct_st {
    int compute_type;
    int transposed[2] = {};
};
struct LtLayout_st {
    fake::Matrix matrix;
};
struct LtPreference_st {
    std::uint64_t workspace = 0;
    std::uint32_t reductions = 7;  // all
    std::uint32_t alignment[4] = {256, 256, 256, 256};
};

}  // namespace volta::cuda

namespace volta::fake {
namespace {

std::set<const void*>& objects() {  // of all kinds
    static std::set<const void*> all;
    return all;
}

// As FAKE_CALL: an injected fault is a status of this library, and so is a device that has failed.
struct LtCallHere : Call {
    explicit LtCallHere(const char* name) : Call(name, Needs::context) {
        if (result == kCudaSuccess) return;
        status = result > 20 ? kLtExecutionFailed : result;
    }
    LtStatus status = 0;
};
#define FAKE_LT_CALL(name)       \
    const LtCallHere here(name); \
    if (here.status != 0) return here.status

template <class T, class... Arguments>
LtStatus create(T** object, Arguments... arguments) {
    *object = new T{arguments...};
    objects().insert(*object);
    ++machine().library_objects;
    return 0;
}

template <class T>
LtStatus destroy(const char* call, T* object) {
    if (objects().erase(object) == 0) {
        complain("%s: %p is nothing that was created", call, static_cast<const void*>(object));
        return kLtInvalidValue;
    }
    --machine().library_objects;
    delete object;
    return 0;
}

LtStatus refuse(const char* call, const char* why) {
    complain("%s: %s", call, why);
    return kLtInvalidValue;
}

bool exist(std::initializer_list<const void*> all) {
    return std::all_of(all.begin(), all.end(), [](const void* each) { return objects().count(each) != 0; });
}

// One attribute of a set: its number, where it goes, and its size.
struct Slot {
    int attribute;
    void* to;
    std::size_t bytes;
};
LtStatus set(const char* call, const void* object, std::initializer_list<Slot> slots, int attribute,
             const void* value, std::size_t bytes) {
    if (!exist({object})) return refuse(call, "the object does not exist");
    for (const Slot& slot : slots) {
        if (slot.attribute != attribute) continue;
        if (slot.bytes != bytes || value == nullptr) return refuse(call, "the attribute has another size");
        std::memcpy(slot.to, value, bytes);
        return 0;
    }
    return refuse(call, "an attribute that nobody knows");
}

// NULL, or why the library would not do it.
const char* misfit(const Description& d) {
    const auto rows = [](const Matrix& x, bool transposed) { return transposed ? x.columns : x.rows; };
    const auto columns = [](const Matrix& x, bool transposed) { return transposed ? x.rows : x.columns; };
    const bool ta = d.transposed[0] != 0, tb = d.transposed[1] != 0;
    if (d.a.type != d.b.type || d.c.type != kLtFloat32) return "these types do not go together";
    if (d.a.type == kLtBfloat16 && d.compute_type != kLtCompute32f) return "bf16 wants to be added in fp32";
    if (rows(d.a, ta) != d.c.rows || columns(d.b, tb) != d.c.columns || columns(d.a, ta) != rows(d.b, tb))
        return "the shapes do not fit";
    if (d.a.batch != d.c.batch || d.b.batch != d.c.batch) return "the batches do not fit";
    const auto one = d.c.stride * static_cast<std::int64_t>(d.c.columns);
    if (d.c.batch > 1 && d.c.batch_stride < one - d.c.stride + static_cast<std::int64_t>(d.c.rows))
        return "matrices of C overlap";
    return nullptr;
}

LtStatus describe(const char* call, LtHandle handle, LtProduct product, LtLayout a, LtLayout b, LtLayout c,
                  LtLayout d, Description* description) {
    if (!exist({handle, product, a, b, c, d})) return refuse(call, "an object does not exist");
    if (handle->context != current_contexts().back()) return refuse(call, "the handle is of another context");
    *description = {product->compute_type,
                    {product->transposed[0], product->transposed[1]},
                    a->matrix,
                    b->matrix,
                    d->matrix};
    Description of_c = *description;
    of_c.c = c->matrix;
    if (of_c.hash() != description->hash()) return refuse(call, "C and D differ");
    const char* const why = misfit(*description);
    return why != nullptr ? refuse(call, why) : 0;
}

// VOLTA_FAKE_CUBLASLT_DEAF: a heuristic that takes wishes for wishes.
bool is_deaf() { return std::getenv("VOLTA_FAKE_CUBLASLT_DEAF") != nullptr; }

bool keeps(const Algorithm& algorithm, const Description& d, const LtPreference_st& preference) {
    if (algorithm.splits > d.k()) return false;
    if (!is_deaf() && ((algorithm.reduction & ~preference.reductions) != 0 ||
                       algorithm.workspace_bytes > preference.workspace))
        return false;
    for (const std::uint32_t alignment : preference.alignment)
        if (alignment % algorithm.needs != 0) return false;
    for (const Matrix* const matrix : {&d.a, &d.b, &d.c})
        if (static_cast<std::size_t>(matrix->stride) * matrix->element_bytes() % algorithm.needs != 0)
            return false;
    return true;
}

// VOLTA_FAKE_CUBLASLT_ORDER=n: what another version of the library, or another device, might prefer.
int first_choice() {
    const char* const text = std::getenv("VOLTA_FAKE_CUBLASLT_ORDER");
    return text != nullptr ? std::atoi(text) : 0;
}

LtChoice choice_of(const Algorithm& algorithm) {
    LtChoice choice{};
    std::memcpy(&choice.algorithm, &algorithm, sizeof algorithm);
    choice.workspace_bytes = algorithm.workspace_bytes;
    choice.waves = 1;
    return choice;
}

// Work is read and written in words of the types, whatever their alignment was promised to be.
const char* misplaced(const Product& product, std::size_t workspace_bytes) {
    const Algorithm& algorithm = product.algorithm;
    const unsigned char* const at[] = {product.a, product.b, product.c, product.c};
    for (int i = 0; i < 4; ++i)
        if (reinterpret_cast<std::uintptr_t>(at[i]) % algorithm.alignment[i] != 0)
            return "an operand is aligned to less than was promised";
    if (workspace_bytes < algorithm.workspace_bytes) return "the workspace is too small";
    if (reinterpret_cast<std::uintptr_t>(product.workspace) % kLtWorkspaceAlignment != 0)
        return "the workspace is not aligned";
    return nullptr;
}

}  // namespace
}  // namespace volta::fake

using namespace volta;
using namespace volta::cuda;
using namespace volta::fake;

extern "C" {

std::size_t cublasLtGetVersion() {
    const char* const text = std::getenv("VOLTA_FAKE_CUBLASLT_VERSION");
    return text != nullptr ? static_cast<std::size_t>(std::atoll(text)) : 10000u * VOLTA_FAKE_CUBLASLT_MAJOR;
}

const char* cublasLtGetStatusName(LtStatus status) {
    switch (status) {
        case 0:
            return "CUBLAS_STATUS_SUCCESS";
        case kLtNotInitialized:
            return "CUBLAS_STATUS_NOT_INITIALIZED";
        case kLtInvalidValue:
            return "CUBLAS_STATUS_INVALID_VALUE";
        case kLtExecutionFailed:
            return "CUBLAS_STATUS_EXECUTION_FAILED";
        case kLtNotSupported:
            return "CUBLAS_STATUS_NOT_SUPPORTED";
        default:
            return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

LtStatus cublasLtCreate(LtHandle* handle) {
    FAKE_LT_CALL("cublasLtCreate");
    return create(handle, here.context);
}
LtStatus cublasLtDestroy(LtHandle handle) {
    const LtCallHere here("cublasLtDestroy");  // works on a device that has failed
    return destroy("cublasLtDestroy", handle);
}

LtStatus cublasLtMatmulDescCreate(LtProduct* product, int compute_type, int scale_type) {
    FAKE_LT_CALL("cublasLtMatmulDescCreate");
    const bool known = compute_type == kLtCompute32f || compute_type == kLtCompute32fPedantic ||
                       compute_type == kLtComputeTf32;
    if (!known || scale_type != kLtFloat32) return refuse("cublasLtMatmulDescCreate", "an unknown type");
    return create(product, compute_type);
}
LtStatus cublasLtMatmulDescDestroy(LtProduct product) {
    return destroy("cublasLtMatmulDescDestroy", product);
}
LtStatus cublasLtMatmulDescSetAttribute(LtProduct product, int attribute, const void* value,
                                        std::size_t bytes) {
    FAKE_LT_CALL("cublasLtMatmulDescSetAttribute");
    return set("cublasLtMatmulDescSetAttribute", product,
               {{kLtTransposeA, &product->transposed[0], 4}, {kLtTransposeB, &product->transposed[1], 4}},
               attribute, value, bytes);
}

LtStatus cublasLtMatrixLayoutCreate(LtLayout* layout, int type, std::uint64_t rows, std::uint64_t columns,
                                    std::int64_t stride) {
    FAKE_LT_CALL("cublasLtMatrixLayoutCreate");
    if ((type != kLtFloat32 && type != kLtBfloat16) || rows == 0 || columns == 0 ||
        stride < static_cast<std::int64_t>(rows))
        return refuse("cublasLtMatrixLayoutCreate", "this is no matrix");
    return create(layout, Matrix{type, rows, columns, stride});
}
LtStatus cublasLtMatrixLayoutDestroy(LtLayout layout) {
    return destroy("cublasLtMatrixLayoutDestroy", layout);
}
LtStatus cublasLtMatrixLayoutSetAttribute(LtLayout layout, int attribute, const void* value,
                                          std::size_t bytes) {
    FAKE_LT_CALL("cublasLtMatrixLayoutSetAttribute");
    return set("cublasLtMatrixLayoutSetAttribute", layout,
               {{kLtBatchCount, &layout->matrix.batch, 4}, {kLtBatchStride, &layout->matrix.batch_stride, 8}},
               attribute, value, bytes);
}

LtStatus cublasLtMatmulPreferenceCreate(LtPreference* preference) {
    FAKE_LT_CALL("cublasLtMatmulPreferenceCreate");
    return create(preference);
}
LtStatus cublasLtMatmulPreferenceDestroy(LtPreference preference) {
    return destroy("cublasLtMatmulPreferenceDestroy", preference);
}
LtStatus cublasLtMatmulPreferenceSetAttribute(LtPreference preference, int attribute, const void* value,
                                              std::size_t bytes) {
    FAKE_LT_CALL("cublasLtMatmulPreferenceSetAttribute");
    return set("cublasLtMatmulPreferenceSetAttribute", preference,
               {{kLtMostWorkspace, &preference->workspace, 8},
                {kLtReductions, &preference->reductions, 4},
                {kLtAlignmentA, &preference->alignment[0], 4},
                {kLtAlignmentB, &preference->alignment[1], 4},
                {kLtAlignmentC, &preference->alignment[2], 4},
                {kLtAlignmentD, &preference->alignment[3], 4}},
               attribute, value, bytes);
}

// The first choice is one that did not work out, as the real heuristic may have it.
LtStatus cublasLtMatmulAlgoGetHeuristic(LtHandle handle, LtProduct product, LtLayout a, LtLayout b,
                                        LtLayout c, LtLayout d, LtPreference preference, int wanted,
                                        LtChoice* choices, int* count) {
    FAKE_LT_CALL("cublasLtMatmulAlgoGetHeuristic");
    *count = 0;
    Description description{};
    const LtStatus status =
        describe("cublasLtMatmulAlgoGetHeuristic", handle, product, a, b, c, d, &description);
    if (status != 0) return status;
    if (!exist({preference}) || wanted < 1)
        return refuse("cublasLtMatmulAlgoGetHeuristic", "no preference, or nothing wanted");
    std::vector<LtChoice> found;
    Algorithm algorithm{};
    for (int i = 0; algorithm_for(description, i, &algorithm); ++i) {
        for (int k = 0; k < 4; ++k)
            algorithm.alignment[k] = static_cast<std::uint16_t>(preference->alignment[k]);
        if (keeps(algorithm, description, *preference)) found.push_back(choice_of(algorithm));
    }
    if (found.empty()) return kLtNotSupported;
    std::rotate(found.begin(), found.begin() + first_choice() % static_cast<int>(found.size()), found.end());
    LtChoice none{};
    none.state = kLtNotSupported;
    found.insert(found.begin(), none);
    *count = std::min(wanted, static_cast<int>(found.size()));
    std::copy_n(found.begin(), *count, choices);
    return 0;
}

LtStatus cublasLtMatmulAlgoConfigGetAttribute(const LtAlgorithm* algorithm, int attribute, void* value,
                                              std::size_t bytes, std::size_t* written) {
    Algorithm known{};
    std::memcpy(&known, algorithm, sizeof known);
    if (std::memcmp(known.magic, "FALT", 4) != 0)
        return refuse("cublasLtMatmulAlgoConfigGetAttribute", "this is no algorithm");
    const std::uint32_t values[] = {known.id,        known.tile,        known.splits,
                                    known.reduction, known.swizzle,     known.option,
                                    known.stages,    known.inner_shape, known.cluster_shape};
    const std::size_t size = attribute >= kLtInnerShape ? 2 : 4;
    if (attribute < 0 || attribute > kLtClusterShape || bytes != size)
        return refuse("cublasLtMatmulAlgoConfigGetAttribute", "an unknown attribute, or another size");
    std::memcpy(value, &values[attribute], size);
    *written = size;
    return 0;
}

LtStatus cublasLtMatmul(LtHandle handle, LtProduct product, const void* alpha, const void* a,
                        LtLayout layout_a, const void* b, LtLayout layout_b, const void* beta, const void* c,
                        LtLayout layout_c, void* d, LtLayout layout_d, const LtAlgorithm* algorithm,
                        void* workspace, std::size_t workspace_bytes, CUstream stream) {
    FAKE_LT_CALL("cublasLtMatmul");
    Product whole{};
    const LtStatus status = describe("cublasLtMatmul", handle, product, layout_a, layout_b, layout_c,
                                     layout_d, &whole.description);
    if (status != 0) return status;
    if (machine().streams.count(stream) == 0 || stream->context != here.context)
        return refuse("cublasLtMatmul", "the stream does not exist");
    if (c != d) return refuse("cublasLtMatmul", "C and D are two places");
    if (algorithm == nullptr) return refuse("cublasLtMatmul", "no algorithm: it would choose one each time");
    std::memcpy(&whole.algorithm, algorithm, sizeof whole.algorithm);
    if (std::memcmp(whole.algorithm.magic, "FALT", 4) != 0 ||
        whole.algorithm.description != whole.description.hash())
        return refuse("cublasLtMatmul", "the algorithm was chosen for another product");
    whole.a = static_cast<const unsigned char*>(a);
    whole.b = static_cast<const unsigned char*>(b);
    whole.c = static_cast<unsigned char*>(d);
    whole.workspace = static_cast<unsigned char*>(workspace);
    std::memcpy(&whole.alpha, alpha, sizeof whole.alpha);
    std::memcpy(&whole.beta, beta, sizeof whole.beta);
    if (const char* const why = misplaced(whole, workspace_bytes)) return refuse("cublasLtMatmul", why);
    Work work(Work::Kind::library);
    work.library = {"cublasLtMatmul", run_product};
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&whole);
    work.parameters.emplace_back(bytes, bytes + sizeof whole);
    return submit(stream, std::move(work)) == kCudaSuccess ? 0 : kLtExecutionFailed;
}

}  // extern "C"
