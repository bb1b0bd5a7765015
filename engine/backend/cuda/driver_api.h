// The part of the driver API (libcuda.so.1) that is used here, with its binary interface: types, the symbols
// that cuda.h of CUDA 12 and 13 maps calls to, and numbers. tests/cuda/test_cuda_abi.cpp compares them with
// cuda.h where that is installed.
#pragma once

#include <cstddef>

#include "engine/backend/cuda/driver_library.h"

namespace volta::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;  // an address in device memory; 0: none
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

// Results that the code tells apart.
enum : CUresult {
    kCudaSuccess = 0,
    kCudaInvalidValue = 1,
    kCudaOutOfMemory = 2,
    kCudaNotInitialized = 3,
    kCudaStubLibrary = 34,
    kCudaNoDevice = 100,
    kCudaInvalidDevice = 101,
    kCudaInvalidImage = 200,
    kCudaInvalidContext = 201,
    kCudaNoBinaryForGpu = 209,
    kCudaEccUncorrectable = 214,
    kCudaNvlinkUncorrectable = 220,
    kCudaContained = 226,
    kCudaInvalidHandle = 400,
    kCudaNotFound = 500,
    kCudaNotReady = 600,
    kCudaIllegalAddress = 700,
    kCudaLaunchTimeout = 702,
    kCudaContextIsDestroyed = 709,
    kCudaAssert = 710,
    kCudaHardwareStackError = 714,  // to 719: the running kernel did what it must not
    kCudaLaunchFailed = 719,
    kCudaTensorMemoryLeak = 721,
    kCudaStreamCaptureUnsupported = 900,
    kCudaStreamCaptureInvalidated = 901,
    kCudaUnknown = 999
};

// CUdevice_attribute.
enum : int {
    kWarpSize = 10,
    kClockKilohertz = 13,
    kMultiprocessorCount = 16,
    kMemoryClockKilohertz = 36,
    kMemoryBusBits = 37,
    kL2CacheBytes = 38,
    kThreadsPerMultiprocessor = 39,
    kComputeCapabilityMajor = 75,
    kComputeCapabilityMinor = 76,
    kSharedBytesPerBlock = 8,
    kSharedBytesPerMultiprocessor = 81,
    kRegistersPerMultiprocessor = 82,
    kSharedBytesPerBlockOptIn = 97
};

// CUfunction_attribute.
enum : int {
    kFunctionMaxThreads = 0,
    kFunctionSharedBytes = 1,
    kFunctionLocalBytes = 3,
    kFunctionRegisters = 4,
    kFunctionMaxDynamicSharedBytes = 8
};

enum : unsigned { kStreamNonBlocking = 1 };              // CUstream_flags
enum : unsigned { kEventRecordExternal = 1 };            // CUevent_record_flags: a node of the graph
enum : int { kCaptureThreadLocal = 1 };                  // CUstreamCaptureMode
enum : int { kJitErrorLog = 5, kJitErrorLogBytes = 6 };  // CUjit_option

template <class... Parameters>
struct DriverCall : LibraryCall<Parameters...> {
    DriverCall(void* library, const char* symbol)
        : LibraryCall<Parameters...>(library, symbol, "the CUDA driver (libcuda.so.1)") {}
};

// Every call of an opened libcuda. Throws UNSUPPORTED where one is missing.
struct DriverApi {
    explicit DriverApi(void* opened) : library(opened) {}

    void* library;
    DriverCall<unsigned> init{library, "cuInit"};
    DriverCall<CUresult, const char**> error_name{library, "cuGetErrorName"};
    DriverCall<CUresult, const char**> error_string{library, "cuGetErrorString"};

    DriverCall<int*> device_count{library, "cuDeviceGetCount"};
    DriverCall<CUdevice*, int> device_get{library, "cuDeviceGet"};
    DriverCall<char*, int, CUdevice> device_name{library, "cuDeviceGetName"};
    DriverCall<std::size_t*, CUdevice> device_total_memory{library, "cuDeviceTotalMem_v2"};
    DriverCall<int*, int, CUdevice> device_attribute{library, "cuDeviceGetAttribute"};

    DriverCall<CUcontext*, CUdevice> context_retain{library, "cuDevicePrimaryCtxRetain"};
    DriverCall<CUdevice> context_release{library, "cuDevicePrimaryCtxRelease_v2"};
    DriverCall<CUcontext> context_push{library, "cuCtxPushCurrent_v2"};
    DriverCall<CUcontext*> context_pop{library, "cuCtxPopCurrent_v2"};

    DriverCall<CUdeviceptr*, std::size_t> memory_allocate{library, "cuMemAlloc_v2"};
    DriverCall<CUdeviceptr> memory_free{library, "cuMemFree_v2"};
    DriverCall<std::size_t*, std::size_t*> memory_info{library, "cuMemGetInfo_v2"};  // free, total
    DriverCall<void**, std::size_t, unsigned> host_allocate{library, "cuMemHostAlloc"};
    DriverCall<void*> host_free{library, "cuMemFreeHost"};
    DriverCall<CUdeviceptr, const void*, std::size_t, CUstream> copy_to_device{library,
                                                                               "cuMemcpyHtoDAsync_v2"};
    DriverCall<void*, CUdeviceptr, std::size_t, CUstream> copy_to_host{library, "cuMemcpyDtoHAsync_v2"};
    DriverCall<CUdeviceptr, CUdeviceptr, std::size_t, CUstream> copy_on_device{library,
                                                                               "cuMemcpyDtoDAsync_v2"};
    DriverCall<CUdeviceptr, unsigned char, std::size_t, CUstream> fill_bytes{library, "cuMemsetD8Async"};
    DriverCall<CUdeviceptr, unsigned, std::size_t, CUstream> fill_words{library, "cuMemsetD32Async"};

    DriverCall<CUstream*, unsigned> stream_create{library, "cuStreamCreate"};
    DriverCall<CUstream> stream_destroy{library, "cuStreamDestroy_v2"};
    DriverCall<CUstream> stream_synchronize{library, "cuStreamSynchronize"};
    DriverCall<CUstream> stream_query{library, "cuStreamQuery"};
    DriverCall<CUstream, int> capture_begin{library, "cuStreamBeginCapture_v2"};
    DriverCall<CUstream, CUgraph*> capture_end{library, "cuStreamEndCapture"};
    DriverCall<CUevent*, unsigned> event_create{library, "cuEventCreate"};
    DriverCall<CUevent> event_destroy{library, "cuEventDestroy_v2"};
    DriverCall<CUevent, CUstream, unsigned> event_record{library, "cuEventRecordWithFlags"};
    DriverCall<CUevent> event_synchronize{library, "cuEventSynchronize"};
    DriverCall<float*, CUevent, CUevent> event_elapsed{library, "cuEventElapsedTime"};  // milliseconds

    DriverCall<CUgraphExec*, CUgraph, unsigned long long> graph_instantiate{library,
                                                                            "cuGraphInstantiateWithFlags"};
    DriverCall<CUgraphExec, CUstream> graph_launch{library, "cuGraphLaunch"};
    DriverCall<CUgraphExec> graph_exec_destroy{library, "cuGraphExecDestroy"};
    DriverCall<CUgraph> graph_destroy{library, "cuGraphDestroy"};

    DriverCall<CUmodule*, const void*, unsigned, int*, void**> module_load{library, "cuModuleLoadDataEx"};
    DriverCall<CUmodule> module_unload{library, "cuModuleUnload"};
    DriverCall<CUfunction*, CUmodule, const char*> module_function{library, "cuModuleGetFunction"};
    DriverCall<int*, int, CUfunction> function_attribute{library, "cuFuncGetAttribute"};
    DriverCall<CUfunction, int, int> function_set_attribute{library, "cuFuncSetAttribute"};
    // Blocks (x, y, z), threads of a block (x, y, z), dynamic shared bytes, stream, addresses of the
    // parameters, extra.
    DriverCall<CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
               void**, void**>
        launch{library, "cuLaunchKernel"};
};

}  // namespace volta::cuda
