#include "engine/backend/cuda/driver.h"

#include <cstdio>

namespace volta::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct VersionText {
    char text[24];
};
VersionText to_text(int version) {
    VersionText result;
    std::snprintf(result.text, sizeof result.text, "%d.%d", version / 1000, version % 1000 / 10);
    return result;
}

// What a toolkit brings for linking on machines without a driver: it opens, and every call fails.
[[noreturn]] void fail_stub() {
    fail(VOLTA_UNSUPPORTED, "CUDA: no driver: the %s that was found is a stub for linking", kLibrary);
}

int attribute(const Driver& driver, CUdevice device, int which) {
    int value = 0;
    driver.call(driver.api().device_attribute, &value, which, device);
    return value;
}

// The primary context, current for a moment.
class Visit final {
  public:
    Visit(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {
        CUcontext context = nullptr;
        driver.call(driver.api().context_retain, &context, device);
        const CUresult result = driver.api().context_push.function(context);
        if (result == kCudaSuccess) return;
        driver.api().context_release.function(device);
        driver.check(result, driver.api().context_push.name);
    }
    ~Visit() {
        CUcontext popped;
        driver_.api().context_pop.function(&popped);
        driver_.api().context_release.function(device_);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

  private:
    const Driver& driver_;
    CUdevice device_;
};

}  // namespace

// The version comes first: an old driver lacks functions that DriverApi looks for.
Driver::Opened Driver::open() {
    char why[320];
    void* const library = open_library(&kLibrary, 1, why, sizeof why);
    if (library == nullptr)
        fail(VOLTA_UNSUPPORTED, "CUDA: no driver: %s cannot be opened (%s)", kLibrary, why);
    const DriverCall<int*> get_version(library, "cuDriverGetVersion");
    int version = 0;
    const CUresult result = get_version.function(&version);
    if (result == kCudaStubLibrary) fail_stub();
    if (result != kCudaSuccess)
        fail(VOLTA_DEVICE_ERROR, "CUDA: %s of %s failed with result %d", get_version.name, kLibrary, result);
    if (version < kLeastDriverVersion)
        fail(VOLTA_UNSUPPORTED,
             "CUDA: the driver is too old: it is made for CUDA %s, Volta needs %s or later",
             to_text(version).text, to_text(kLeastDriverVersion).text);
    return {library, version};
}

Driver::Driver() : Driver(open()) {}

Driver::Driver(const Opened& opened) : api_(opened.library), version_(opened.version) {
    const CUresult result = api_.init.function(0);
    if (result == kCudaStubLibrary) fail_stub();
    if (result != kCudaNoDevice) {
        check(result, api_.init.name);
        call(api_.device_count, &device_count_);
    }
    if (device_count_ < 1)
        fail(VOLTA_UNSUPPORTED, "CUDA: no device: the driver, made for CUDA %s, finds none",
             to_text(version_).text);
}

Error Driver::error(CUresult result, const char* name_of_call) const noexcept {
    const char *name = nullptr, *meaning = nullptr;
    api_.error_name.function(result, &name);
    api_.error_string.function(result, &meaning);
    char text[512];
    std::snprintf(text, sizeof text, "CUDA: %s: %s %d (%s)", name_of_call, name != nullptr ? name : "result",
                  result, meaning != nullptr ? meaning : "the driver does not say what that is");
    return {result == kCudaOutOfMemory ? VOLTA_OUT_OF_MEMORY : VOLTA_DEVICE_ERROR, text};
}

CUdevice Driver::handle(int device) const {
    require(device >= 0 && device < device_count_,
            device_count_ == 1 ? "CUDA: device %d does not exist, there is %d"
                               : "CUDA: device %d does not exist, there are %d",
            device, device_count_);
    CUdevice result = 0;
    call(api_.device_get, &result, device);
    return result;
}

DeviceFacts Driver::facts(int device) const {
    const CUdevice of = handle(device);
    DeviceFacts facts{};
    facts.ordinal = device;
    call(api_.device_name, facts.name, static_cast<int>(sizeof facts.name), of);
    facts.capability_major = attribute(*this, of, kComputeCapabilityMajor);
    facts.capability_minor = attribute(*this, of, kComputeCapabilityMinor);
    facts.driver_version = version_;
    facts.multiprocessors = attribute(*this, of, kMultiprocessorCount);
    facts.warp_size = attribute(*this, of, kWarpSize);
    facts.threads_per_multiprocessor = attribute(*this, of, kThreadsPerMultiprocessor);
    facts.registers_per_multiprocessor = attribute(*this, of, kRegistersPerMultiprocessor);
    facts.shared_bytes_per_block = static_cast<std::size_t>(attribute(*this, of, kSharedBytesPerBlockOptIn));
    facts.shared_bytes_per_multiprocessor =
        static_cast<std::size_t>(attribute(*this, of, kSharedBytesPerMultiprocessor));
    facts.l2_bytes = static_cast<std::size_t>(attribute(*this, of, kL2CacheBytes));
    std::size_t memory = 0;
    call(api_.device_total_memory, &memory, of);
    facts.memory_bytes = memory;
    facts.clock_kilohertz = attribute(*this, of, kClockKilohertz);
    facts.memory_clock_kilohertz = attribute(*this, of, kMemoryClockKilohertz);
    facts.memory_bus_bits = attribute(*this, of, kMemoryBusBits);
    facts.memory_bytes_per_second = 2e3 * facts.memory_clock_kilohertz * facts.memory_bus_bits / 8;
    return facts;
}

std::uint64_t Driver::free_bytes(int device) const {
    const Visit visit(*this, handle(device));
    std::size_t free = 0, total = 0;
    call(api_.memory_info, &free, &total);
    return free;
}

bool is_fatal(CUresult result) noexcept {
    switch (result) {
        case kCudaEccUncorrectable:
        case kCudaNvlinkUncorrectable:
        case kCudaContained:
        case kCudaIllegalAddress:
        case kCudaLaunchTimeout:
        case kCudaContextIsDestroyed:
        case kCudaAssert:
        case kCudaTensorMemoryLeak:
        case kCudaUnknown:
            return true;
        default:
            return result >= kCudaHardwareStackError && result <= kCudaLaunchFailed;
    }
}

std::pmr::vector<DeviceFacts> list_devices(const Driver& driver, std::pmr::memory_resource* heap) {
    std::pmr::vector<DeviceFacts> list(heap);
    for (int i = 0; i < driver.device_count(); ++i) list.push_back(driver.facts(i));
    return list;
}

}  // namespace volta::cuda
