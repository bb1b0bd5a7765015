// Start, devices, contexts and errors of the fake driver.
#include "tests/support/fake_cuda/fake_driver.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/fake_cuda/fake_counts.h"

namespace volta::fake {
namespace {

long long number(const char* name, long long otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::atoll(text) : otherwise;
}

Settings read_settings() {
    Settings settings;
    settings.devices = static_cast<int>(number("VOLTA_FAKE_CUDA_DEVICES", settings.devices));
    settings.driver_version = static_cast<int>(number("VOLTA_FAKE_CUDA_DRIVER", settings.driver_version));
    settings.capability = static_cast<int>(number("VOLTA_FAKE_CUDA_CAPABILITY", settings.capability));
    settings.memory =
        static_cast<std::size_t>(number("VOLTA_FAKE_CUDA_MEMORY", static_cast<long long>(settings.memory)));
    return settings;
}

// VOLTA_FAKE_CUDA_FAIL=call:n:code,...
std::vector<Fault> read_faults() {
    std::vector<Fault> faults;
    const char* text = std::getenv("VOLTA_FAKE_CUDA_FAIL");
    while (text != nullptr && *text != '\0') {
        char name[64];
        Fault fault{};
        if (std::sscanf(text, "%63[^:]:%d:%d", name, &fault.at, &fault.code) != 3) {
            complain("VOLTA_FAKE_CUDA_FAIL: '%s' is not call:n:code", text);
            break;
        }
        fault.call = name;
        faults.push_back(fault);
        text = std::strchr(text, ',');
        text = text != nullptr ? text + 1 : text;
    }
    return faults;
}

// Nothing of a context works any more after these.
bool is_fatal(CUresult result) {
    return result == kCudaEccUncorrectable || result == kCudaIllegalAddress || result == kCudaLaunchTimeout ||
           (result >= kCudaAssert && result <= kCudaTensorMemoryLeak);
}

struct Name {
    CUresult result;
    const char *name, *meaning;
};
constexpr Name kNames[] = {
    {kCudaSuccess, "CUDA_SUCCESS", "no error"},
    {kCudaInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kCudaOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kCudaNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kCudaStubLibrary, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {kCudaNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kCudaInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kCudaInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kCudaInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kCudaNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {kCudaEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {kCudaInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kCudaNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kCudaIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kCudaLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {kCudaLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kCudaContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {kCudaStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {kCudaStreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
};
const Name* find_name(CUresult result) {
    const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                           [&](const Name& row) { return row.result == result; });
    return found != std::end(kNames) ? found : nullptr;
}

int attribute_of(const Settings& settings, int which) {
    switch (which) {
        case kWarpSize:
            return 32;
        case kClockKilohertz:
            return 1000000;
        case kMultiprocessorCount:
            return 2;
        case kMemoryClockKilohertz:
            return 2000000;
        case kMemoryBusBits:
            return 512;
        case kL2CacheBytes:
            return 4 << 20;
        case kThreadsPerMultiprocessor:
            return 2048;
        case kComputeCapabilityMajor:
            return settings.capability / 10;
        case kComputeCapabilityMinor:
            return settings.capability % 10;
        case kSharedBytesPerBlock:
            return 48 * 1024;
        case kSharedBytesPerMultiprocessor:
            return 228 * 1024;
        case kRegistersPerMultiprocessor:
            return 65536;
        case kSharedBytesPerBlockOptIn:
            return 227 * 1024;
        default:
            return -1;
    }
}

// Settings and faults are read, and calls counted, from a program's first calls on: a test may change them
// and begin again.
void begin() {
    Machine& all = machine();
    const std::lock_guard<std::recursive_mutex> lock(all.mutex);
    all.settings = read_settings();
    all.faults = read_faults();
    all.calls.clear();
    all.kernels = all.leaked = 0;
    if (!all.contexts.empty()) return;
    for (int device = 0; device < 16; ++device) all.contexts.push_back(CUctx_st{device});
}

}  // namespace

void complain(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::fputs("fake CUDA: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
}

Machine& machine() {
    static Machine all;
    return all;
}

std::vector<CUcontext>& current_contexts() {
    static thread_local std::vector<CUcontext> stack;
    return stack;
}

Call::Call(const char* name, Needs needs) : lock(machine().mutex) {
    Machine& all = machine();
    ++all.calls[name];
    if (needs != Needs::nothing && !all.ready) {
        result = kCudaNotInitialized;
        return;
    }
    const bool has_context = !current_contexts().empty() && current_contexts().back() != nullptr;
    if (has_context) context = current_contexts().back();
    for (Fault& fault : all.faults) {
        if (fault.call != name || ++fault.seen != fault.at) continue;
        result = fault.code;
        if (context != nullptr && is_fatal(result)) context->fatal = result;
        return;
    }
    if (needs != Needs::context && needs != Needs::idle) return;
    if (context == nullptr || context->references == 0)
        result = kCudaInvalidContext;
    else if (context->fatal != kCudaSuccess)
        result = context->fatal;
    else if (needs == Needs::idle && records(context))
        result = kCudaStreamCaptureUnsupported;
}

}  // namespace volta::fake

using namespace volta::fake;

extern "C" {

CUresult cuInit(unsigned flags) {
    begin();
    FAKE_CALL("cuInit", nothing);
    Machine& all = machine();
    if (flags != 0) return kCudaInvalidValue;
    if (all.settings.devices == 0) return kCudaNoDevice;
    all.ready = true;
    return kCudaSuccess;
}

CUresult cuDriverGetVersion(int* version) {
    begin();
    FAKE_CALL("cuDriverGetVersion", nothing);
    *version = machine().settings.driver_version;
    return kCudaSuccess;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
    const Name* const name = find_name(error);
    *text = name != nullptr ? name->name : nullptr;
    return name != nullptr ? kCudaSuccess : kCudaInvalidValue;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
    const Name* const name = find_name(error);
    *text = name != nullptr ? name->meaning : nullptr;
    return name != nullptr ? kCudaSuccess : kCudaInvalidValue;
}

CUresult cuDeviceGetCount(int* count) {
    FAKE_CALL("cuDeviceGetCount", start);
    *count = machine().settings.devices;
    return kCudaSuccess;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    FAKE_CALL("cuDeviceGet", start);
    if (ordinal < 0 || ordinal >= machine().settings.devices) return kCudaInvalidDevice;
    *device = ordinal;
    return kCudaSuccess;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
    FAKE_CALL("cuDeviceGetName", start);
    std::snprintf(name, static_cast<std::size_t>(bytes), "Fake device %d", device);
    return kCudaSuccess;
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
    FAKE_CALL("cuDeviceTotalMem_v2", start);
    *bytes = machine().settings.memory;
    return kCudaSuccess;
}

CUresult cuDeviceGetAttribute(int* value, int which, CUdevice device) {
    FAKE_CALL("cuDeviceGetAttribute", start);
    if (device < 0 || device >= machine().settings.devices) return kCudaInvalidDevice;
    *value = attribute_of(machine().settings, which);
    return *value >= 0 ? kCudaSuccess : kCudaInvalidValue;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    FAKE_CALL("cuDevicePrimaryCtxRetain", start);
    if (device < 0 || device >= machine().settings.devices) return kCudaInvalidDevice;
    *context = &machine().contexts[static_cast<std::size_t>(device)];
    ++(*context)->references;
    return kCudaSuccess;
}

// The last one who leaves takes everything along, a failure too.
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    FAKE_CALL("cuDevicePrimaryCtxRelease_v2", start);
    auto* const context = &machine().contexts[static_cast<std::size_t>(device)];
    if (context->references == 0) return kCudaInvalidContext;
    if (--context->references > 0) return kCudaSuccess;
    if (context->fatal == kCudaSuccess) drain_all(context);
    const bool could_free = context->fatal == kCudaSuccess;
    const int left = release_objects(context) + release_memory(context);
    if (could_free) machine().leaked += left;
    context->fatal = kCudaSuccess;
    return kCudaSuccess;
}

// What a host may do to all others of its process.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    FAKE_CALL("cuDevicePrimaryCtxReset_v2", start);
    auto* const context = &machine().contexts[static_cast<std::size_t>(device)];
    release_objects(context);
    release_memory(context);
    context->fatal = kCudaContextIsDestroyed;
    return kCudaSuccess;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    FAKE_CALL("cuCtxPushCurrent_v2", start);
    if (context == nullptr || context->references == 0) return kCudaInvalidContext;
    if (context->fatal == kCudaContextIsDestroyed) return context->fatal;
    current_contexts().push_back(context);
    return kCudaSuccess;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    FAKE_CALL("cuCtxPopCurrent_v2", start);
    if (current_contexts().empty()) return kCudaInvalidContext;
    *context = current_contexts().back();
    current_contexts().pop_back();
    return kCudaSuccess;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    FAKE_CALL("cuCtxGetCurrent", start);
    *context = current_contexts().empty() ? nullptr : current_contexts().back();
    return kCudaSuccess;
}

void volta_fake_cuda_counts(Counts* counts) {
    Machine& all = machine();
    const std::lock_guard<std::recursive_mutex> lock(all.mutex);
    *counts = {};
    counts->leaked = all.leaked;
    counts->library_objects = all.library_objects;
    for (const CUctx_st& context : all.contexts) counts->contexts += context.references;
    const auto size = [](const auto& set) { return static_cast<int>(set.size()); };
    counts->streams = size(all.streams);
    counts->events = size(all.events);
    counts->modules = size(all.modules);
    counts->graphs = size(all.graphs);
    counts->executables = size(all.executables);
    for (const auto& [address, allocation] : all.allocations) {
        ++(allocation.pinned ? counts->pinned : counts->allocations);
        (allocation.pinned ? counts->pinned_bytes : counts->bytes) += allocation.bytes;
    }
}

int volta_fake_cuda_calls(const char* name) {
    const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
    return machine().calls[name];
}

int volta_fake_cuda_kernels(void) {
    const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
    return machine().kernels;
}

}  // extern "C"
