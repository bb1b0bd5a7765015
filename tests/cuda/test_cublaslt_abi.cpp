// cuBLASLt as engine/backend/cuda declares it, against cublasLt.h: numbers, structs and the binary interface
// of every call. Compiled where cublasLt.h is found; it checks while it compiles.
#include <cublasLt.h>

#include <type_traits>

#include "engine/backend/cuda/cublaslt_api.h"
#include "tests/cuda/same_interface.h"

namespace {
using namespace volta;
using test::same_interface;

#define VOLTA_SAME(member, symbol) \
    static_assert(same_interface(static_cast<decltype(cuda::LtApi::member)*>(nullptr), &::symbol), #symbol)
VOLTA_SAME(create, cublasLtCreate);
VOLTA_SAME(destroy, cublasLtDestroy);
VOLTA_SAME(product_create, cublasLtMatmulDescCreate);
VOLTA_SAME(product_destroy, cublasLtMatmulDescDestroy);
VOLTA_SAME(product_set, cublasLtMatmulDescSetAttribute);
VOLTA_SAME(layout_create, cublasLtMatrixLayoutCreate);
VOLTA_SAME(layout_destroy, cublasLtMatrixLayoutDestroy);
VOLTA_SAME(layout_set, cublasLtMatrixLayoutSetAttribute);
VOLTA_SAME(preference_create, cublasLtMatmulPreferenceCreate);
VOLTA_SAME(preference_destroy, cublasLtMatmulPreferenceDestroy);
VOLTA_SAME(preference_set, cublasLtMatmulPreferenceSetAttribute);
VOLTA_SAME(choose, cublasLtMatmulAlgoGetHeuristic);
VOLTA_SAME(algorithm_get, cublasLtMatmulAlgoConfigGetAttribute);
VOLTA_SAME(multiply, cublasLtMatmul);
static_assert(std::is_same_v<decltype(&::cublasLtGetVersion), decltype(cuda::LtApi::version)>);
static_assert(std::is_convertible_v<std::underlying_type_t<cublasStatus_t>, cuda::LtStatus>);

static_assert(sizeof(cuda::LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cuda::LtChoice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cuda::LtChoice, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(cuda::LtChoice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(cuda::LtChoice, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

#define VOLTA_EQUAL(ours, theirs) \
    static_assert(static_cast<int>(cuda::ours) == static_cast<int>(theirs), #theirs)
VOLTA_EQUAL(kLtNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
VOLTA_EQUAL(kLtInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
VOLTA_EQUAL(kLtExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
VOLTA_EQUAL(kLtNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
VOLTA_EQUAL(kLtFloat32, CUDA_R_32F);
VOLTA_EQUAL(kLtBfloat16, CUDA_R_16BF);
VOLTA_EQUAL(kLtCompute32f, CUBLAS_COMPUTE_32F);
VOLTA_EQUAL(kLtCompute32fPedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
VOLTA_EQUAL(kLtComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
VOLTA_EQUAL(kLtNormal, CUBLAS_OP_N);
VOLTA_EQUAL(kLtTransposed, CUBLAS_OP_T);
VOLTA_EQUAL(kLtTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
VOLTA_EQUAL(kLtTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
VOLTA_EQUAL(kLtBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
VOLTA_EQUAL(kLtBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
VOLTA_EQUAL(kLtMostWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
VOLTA_EQUAL(kLtReductions, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
VOLTA_EQUAL(kLtAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
VOLTA_EQUAL(kLtAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
VOLTA_EQUAL(kLtAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
VOLTA_EQUAL(kLtAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
VOLTA_EQUAL(kLtAlgorithmId, CUBLASLT_ALGO_CONFIG_ID);
VOLTA_EQUAL(kLtTile, CUBLASLT_ALGO_CONFIG_TILE_ID);
VOLTA_EQUAL(kLtSplits, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
VOLTA_EQUAL(kLtReduction, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
VOLTA_EQUAL(kLtSwizzle, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
VOLTA_EQUAL(kLtCustomOption, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
VOLTA_EQUAL(kLtStages, CUBLASLT_ALGO_CONFIG_STAGES_ID);
VOLTA_EQUAL(kLtInnerShape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
VOLTA_EQUAL(kLtClusterShape, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
VOLTA_EQUAL(kLtNoReduction, CUBLASLT_REDUCTION_SCHEME_NONE);
VOLTA_EQUAL(kLtReductionInPlace, CUBLASLT_REDUCTION_SCHEME_INPLACE);
VOLTA_EQUAL(kLtReductionInCompute, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

}  // namespace

int main() { return 0; }
