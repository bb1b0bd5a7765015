// The driver API as engine/backend/cuda declares it, against cuda.h: numbers, symbols and the binary
// interface of every call. Compiled where cuda.h is found; it checks while it compiles.
#include <cuda.h>

#include "engine/backend/cuda/driver_api.h"
#include "tests/cuda/same_interface.h"

namespace {
using namespace volta;

// The names behind #define, so that a symbol that cuda.h maps elsewhere is seen.
#define VOLTA_SAME(member, symbol)                                                                           \
    static_assert(test::same_interface(static_cast<decltype(cuda::DriverApi::member)*>(nullptr), &::symbol), \
                  #symbol)
VOLTA_SAME(init, cuInit);
VOLTA_SAME(error_name, cuGetErrorName);
VOLTA_SAME(error_string, cuGetErrorString);
VOLTA_SAME(device_count, cuDeviceGetCount);
VOLTA_SAME(device_get, cuDeviceGet);
VOLTA_SAME(device_name, cuDeviceGetName);
VOLTA_SAME(device_total_memory, cuDeviceTotalMem_v2);
VOLTA_SAME(device_attribute, cuDeviceGetAttribute);
VOLTA_SAME(context_retain, cuDevicePrimaryCtxRetain);
VOLTA_SAME(context_release, cuDevicePrimaryCtxRelease_v2);
VOLTA_SAME(context_push, cuCtxPushCurrent_v2);
VOLTA_SAME(context_pop, cuCtxPopCurrent_v2);
VOLTA_SAME(memory_allocate, cuMemAlloc_v2);
VOLTA_SAME(memory_free, cuMemFree_v2);
VOLTA_SAME(memory_info, cuMemGetInfo_v2);
VOLTA_SAME(host_allocate, cuMemHostAlloc);
VOLTA_SAME(host_free, cuMemFreeHost);
VOLTA_SAME(copy_to_device, cuMemcpyHtoDAsync_v2);
VOLTA_SAME(copy_to_host, cuMemcpyDtoHAsync_v2);
VOLTA_SAME(copy_on_device, cuMemcpyDtoDAsync_v2);
VOLTA_SAME(fill_bytes, cuMemsetD8Async);
VOLTA_SAME(fill_words, cuMemsetD32Async);
VOLTA_SAME(stream_create, cuStreamCreate);
VOLTA_SAME(stream_destroy, cuStreamDestroy_v2);
VOLTA_SAME(stream_synchronize, cuStreamSynchronize);
VOLTA_SAME(stream_query, cuStreamQuery);
VOLTA_SAME(capture_begin, cuStreamBeginCapture_v2);
VOLTA_SAME(capture_end, cuStreamEndCapture);
VOLTA_SAME(event_create, cuEventCreate);
VOLTA_SAME(event_destroy, cuEventDestroy_v2);
VOLTA_SAME(event_record, cuEventRecordWithFlags);
VOLTA_SAME(event_synchronize, cuEventSynchronize);
VOLTA_SAME(event_elapsed, cuEventElapsedTime);
VOLTA_SAME(graph_instantiate, cuGraphInstantiateWithFlags);
VOLTA_SAME(graph_launch, cuGraphLaunch);
VOLTA_SAME(graph_exec_destroy, cuGraphExecDestroy);
VOLTA_SAME(graph_destroy, cuGraphDestroy);
VOLTA_SAME(module_load, cuModuleLoadDataEx);
VOLTA_SAME(module_unload, cuModuleUnload);
VOLTA_SAME(module_function, cuModuleGetFunction);
VOLTA_SAME(function_attribute, cuFuncGetAttribute);
VOLTA_SAME(function_set_attribute, cuFuncSetAttribute);
VOLTA_SAME(launch, cuLaunchKernel);

#define VOLTA_EQUAL(ours, theirs) \
    static_assert(static_cast<int>(cuda::ours) == static_cast<int>(theirs), #theirs)
VOLTA_EQUAL(kEventRecordExternal, CU_EVENT_RECORD_EXTERNAL);
VOLTA_EQUAL(kCudaOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
VOLTA_EQUAL(kCudaInvalidValue, CUDA_ERROR_INVALID_VALUE);
VOLTA_EQUAL(kCudaStubLibrary, CUDA_ERROR_STUB_LIBRARY);
VOLTA_EQUAL(kCudaNoDevice, CUDA_ERROR_NO_DEVICE);
VOLTA_EQUAL(kCudaInvalidImage, CUDA_ERROR_INVALID_IMAGE);
VOLTA_EQUAL(kCudaNotFound, CUDA_ERROR_NOT_FOUND);
VOLTA_EQUAL(kCudaEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
VOLTA_EQUAL(kCudaNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
VOLTA_EQUAL(kCudaContained, CUDA_ERROR_CONTAINED);
VOLTA_EQUAL(kCudaIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
VOLTA_EQUAL(kCudaLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
VOLTA_EQUAL(kCudaContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
VOLTA_EQUAL(kCudaAssert, CUDA_ERROR_ASSERT);
VOLTA_EQUAL(kCudaHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
VOLTA_EQUAL(kCudaLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
VOLTA_EQUAL(kCudaUnknown, CUDA_ERROR_UNKNOWN);
VOLTA_EQUAL(kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
VOLTA_EQUAL(kClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
VOLTA_EQUAL(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
VOLTA_EQUAL(kMemoryClockKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
VOLTA_EQUAL(kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
VOLTA_EQUAL(kL2CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
VOLTA_EQUAL(kThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
VOLTA_EQUAL(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
VOLTA_EQUAL(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
VOLTA_EQUAL(kSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
VOLTA_EQUAL(kSharedBytesPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
VOLTA_EQUAL(kRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
VOLTA_EQUAL(kSharedBytesPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
VOLTA_EQUAL(kFunctionMaxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
VOLTA_EQUAL(kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
VOLTA_EQUAL(kFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
VOLTA_EQUAL(kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
VOLTA_EQUAL(kFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
VOLTA_EQUAL(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
VOLTA_EQUAL(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
VOLTA_EQUAL(kJitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
VOLTA_EQUAL(kJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

}  // namespace

int main() { return 0; }
