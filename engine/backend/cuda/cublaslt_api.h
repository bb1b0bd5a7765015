// The part of cuBLASLt (cublasLt.h of CUDA 12 and 13) that is used here, with its binary interface: handles,
// structs, numbers. tests/cuda/test_cublaslt_abi.cpp compares them with cublasLt.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend/cuda/driver_api.h"

namespace volta::cuda {

using LtHandle = struct LtHandle_st*;          // cublasLtHandle_t
using LtProduct = struct LtProduct_st*;        // cublasLtMatmulDesc_t
using LtLayout = struct LtLayout_st*;          // cublasLtMatrixLayout_t
using LtPreference = struct LtPreference_st*;  // cublasLtMatmulPreference_t
using LtStatus = int;                          // cublasStatus_t; 0: success

// An algorithm with its configuration: plain data, valid for products of the same description.
struct LtAlgorithm {  // cublasLtMatmulAlgo_t
    std::uint64_t data[8];
};
struct LtChoice {  // cublasLtMatmulHeuristicResult_t
    LtAlgorithm algorithm;
    std::size_t workspace_bytes;
    LtStatus state;  // the others are valid only after success
    float waves;
    int reserved[4];
};

enum : LtStatus { kLtNotInitialized = 1, kLtInvalidValue = 7, kLtExecutionFailed = 13, kLtNotSupported = 15 };
enum : int { kLtFloat32 = 0, kLtBfloat16 = 14 };                                     // cudaDataType_t
enum : int { kLtCompute32fPedantic = 69, kLtCompute32f = 68, kLtComputeTf32 = 77 };  // cublasComputeType_t
enum : int { kLtNormal = 0, kLtTransposed = 1 };                                     // cublasOperation_t

enum : int { kLtTransposeA = 3, kLtTransposeB = 4 };   // cublasLtMatmulDescAttributes_t: int32
enum : int { kLtBatchCount = 5, kLtBatchStride = 6 };  // cublasLtMatrixLayoutAttribute_t: int32; int64
enum : int {                                           // cublasLtMatmulPreferenceAttributes_t
    kLtMostWorkspace = 1,                              // uint64, bytes
    kLtReductions = 3,                                 // uint32, a mask of schemes
    kLtAlignmentA = 5,                                 // uint32, bytes; 256 where nobody says
    kLtAlignmentB = 6,
    kLtAlignmentC = 7,
    kLtAlignmentD = 8
};
enum : int {  // cublasLtMatmulAlgoConfigAttributes_t: 32 bits each, the last two 16
    kLtAlgorithmId = 0,
    kLtTile = 1,
    kLtSplits = 2,
    kLtReduction = 3,
    kLtSwizzle = 4,
    kLtCustomOption = 5,
    kLtStages = 6,
    kLtInnerShape = 7,
    kLtClusterShape = 8
};
// How the parts of a split k are added (cublasLtReductionScheme_t).
enum : std::uint32_t {
    kLtNoReduction = 0,
    kLtReductionInPlace = 1,   // in C, part after part
    kLtReductionInCompute = 2  // in the workspace, in fp32, by a step of its own
};

inline constexpr std::size_t kLtWorkspaceAlignment = 256;  // bytes

template <class... Parameters>
struct LtCall : LibraryCall<Parameters...> {
    LtCall(void* library, const char* symbol) : LibraryCall<Parameters...>(library, symbol, "cuBLASLt") {}
};

// Every call of an opened libcublasLt. Throws UNSUPPORTED where one is missing.
struct LtApi {
    explicit LtApi(void* opened) : library(opened) {}

    void* library;
    std::size_t (*version)() =  // 10000 * major + 100 * minor + patch
        reinterpret_cast<std::size_t (*)()>(library_symbol(library, "cublasLtGetVersion", "cuBLASLt"));
    const char* (*status_name)(LtStatus) = reinterpret_cast<const char* (*)(LtStatus)>(
        library_symbol(library, "cublasLtGetStatusName", "cuBLASLt"));

    LtCall<LtHandle*> create{library, "cublasLtCreate"};
    LtCall<LtHandle> destroy{library, "cublasLtDestroy"};

    LtCall<LtProduct*, int, int> product_create{library, "cublasLtMatmulDescCreate"};  // compute, scale type
    LtCall<LtProduct> product_destroy{library, "cublasLtMatmulDescDestroy"};
    LtCall<LtProduct, int, const void*, std::size_t> product_set{library, "cublasLtMatmulDescSetAttribute"};

    // Type, rows, columns, leading dimension: of a matrix that lies column by column.
    LtCall<LtLayout*, int, std::uint64_t, std::uint64_t, std::int64_t> layout_create{
        library, "cublasLtMatrixLayoutCreate"};
    LtCall<LtLayout> layout_destroy{library, "cublasLtMatrixLayoutDestroy"};
    LtCall<LtLayout, int, const void*, std::size_t> layout_set{library, "cublasLtMatrixLayoutSetAttribute"};

    LtCall<LtPreference*> preference_create{library, "cublasLtMatmulPreferenceCreate"};
    LtCall<LtPreference> preference_destroy{library, "cublasLtMatmulPreferenceDestroy"};
    LtCall<LtPreference, int, const void*, std::size_t> preference_set{
        library, "cublasLtMatmulPreferenceSetAttribute"};

    // Product, A, B, C, D, preference, how many are wanted, the choices, best first, how many there are.
    LtCall<LtHandle, LtProduct, LtLayout, LtLayout, LtLayout, LtLayout, LtPreference, int, LtChoice*, int*>
        choose{library, "cublasLtMatmulAlgoGetHeuristic"};
    // Attribute, buffer, its bytes, how many were written.
    LtCall<const LtAlgorithm*, int, void*, std::size_t, std::size_t*> algorithm_get{
        library, "cublasLtMatmulAlgoConfigGetAttribute"};
    // Product, alpha, A, its layout, B, its layout, beta, C, its layout, D, its layout, algorithm, workspace,
    // its bytes, stream.
    LtCall<LtHandle, LtProduct, const void*, const void*, LtLayout, const void*, LtLayout, const void*,
           const void*, LtLayout, void*, LtLayout, const LtAlgorithm*, void*, std::size_t, CUstream>
        multiply{library, "cublasLtMatmul"};
};

}  // namespace volta::cuda
