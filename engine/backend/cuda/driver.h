// The CUDA driver of this machine: opening it, its devices, and its results as errors.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/backend/cuda/driver_api.h"

namespace volta::cuda {

inline constexpr int kLeastDriverVersion = 12000;  // 1000 * major + 10 * minor, as the driver counts

// What a device is. A figure that the driver does not give is 0.
struct DeviceFacts {
    int ordinal;
    char name[128];
    int capability_major, capability_minor;  // 9, 0: sm_90
    int driver_version;                      // 13000: 13.0
    int multiprocessors;
    int warp_size;  // threads
    int threads_per_multiprocessor;
    int registers_per_multiprocessor;
    std::size_t shared_bytes_per_block;  // the most that a kernel can be allowed
    std::size_t shared_bytes_per_multiprocessor;
    std::size_t l2_bytes;
    std::uint64_t memory_bytes;
    int clock_kilohertz;
    int memory_clock_kilohertz;
    int memory_bus_bits;
    double memory_bytes_per_second;  // the product of the two above, two transfers a clock: a limit

    int architecture() const { return 10 * capability_major + capability_minor; }  // 90: sm_90
};

// libcuda.so.1, opened and initialised.
// Thread: any, several at once.
class Driver final {
  public:
    // Throws UNSUPPORTED: no driver, one older than kLeastDriverVersion, no device. DEVICE_ERROR: what the
    // driver says when it cannot start.
    Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    const DriverApi& api() const noexcept { return api_; }
    int version() const noexcept { return version_; }
    int device_count() const noexcept { return device_count_; }  // 1 or more

    // Creates nothing on the device. INVALID_ARGUMENT: there is no such device.
    DeviceFacts facts(int device) const;
    // Memory that nobody has taken, of any process. Cost: tenths of a second where this process does not use
    // the device yet. INVALID_ARGUMENT, DEVICE_ERROR.
    std::uint64_t free_bytes(int device) const;

    // Calls and throws DEVICE_ERROR with call, name and meaning of a result that is not success.
    template <class... Parameters, class... Arguments>
    void call(const DriverCall<Parameters...>& function, Arguments... arguments) const {
        check(function.function(arguments...), function.name);
    }
    void check(CUresult result, const char* call) const {
        if (result != kCudaSuccess) throw error(result, call);
    }
    // What check() throws: "CUDA: cuMemFree: CUDA_ERROR_INVALID_VALUE (invalid argument)".
    Error error(CUresult result, const char* call) const noexcept;

  private:
    struct Opened {
        void* library;
        int version;
    };
    static Opened open();
    explicit Driver(const Opened& opened);
    CUdevice handle(int device) const;

    DriverApi api_;
    int version_;
    int device_count_ = 0;
};

// True for results after which the device runs nothing any more for this process: a kernel's illegal access,
// a hang, uncorrectable memory.
bool is_fatal(CUresult result) noexcept;

// All devices in the driver's order. Creates nothing on them.
std::pmr::vector<DeviceFacts> list_devices(const Driver& driver, std::pmr::memory_resource* heap);

}  // namespace volta::cuda
