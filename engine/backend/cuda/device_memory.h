// What a Gpu hands out: device memory, pinned host memory, events. Each is given back by its destructor, and
// must go before its Gpu.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/backend/cuda/driver_api.h"

namespace volta::cuda {

class Gpu;

// Owns: a range of device memory, aligned to kDeviceAlignment, not initialised. Given back while work that
// uses it is still in the stream, it is handed out again for work behind that.
class DeviceMemory final {
  public:
    DeviceMemory() = default;
    // bytes 0: empty. `purpose` is for messages. Throws as Gpu::allocate says.
    DeviceMemory(Gpu& gpu, std::size_t bytes, const char* purpose);
    DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
    DeviceMemory& operator=(DeviceMemory&& other) noexcept {
        DeviceMemory(std::move(other)).swap(*this);
        return *this;
    }
    ~DeviceMemory();

    CUdeviceptr address() const noexcept { return address_; }
    std::size_t bytes() const noexcept { return bytes_; }
    template <class T>
    T* as() const noexcept {  // for arguments of kernels; the host must not read or write there
        return reinterpret_cast<T*>(address_);
    }

  private:
    void swap(DeviceMemory& other) noexcept {
        std::swap(gpu_, other.gpu_);
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
    }
    Gpu* gpu_ = nullptr;
    CUdeviceptr address_ = 0;
    std::size_t bytes_ = 0;
};

// Owns: page-locked host memory, which copies read and write while the host goes on.
class PinnedMemory final {
  public:
    PinnedMemory() = default;
    // Throws OUT_OF_MEMORY with bytes, budget and purpose; DEVICE_ERROR.
    PinnedMemory(Gpu& gpu, std::size_t bytes, const char* purpose);
    PinnedMemory(PinnedMemory&& other) noexcept { swap(other); }
    PinnedMemory& operator=(PinnedMemory&& other) noexcept {
        PinnedMemory(std::move(other)).swap(*this);
        return *this;
    }
    ~PinnedMemory();

    void* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    void swap(PinnedMemory& other) noexcept {
        std::swap(gpu_, other.gpu_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
    }
    Gpu* gpu_ = nullptr;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// A point in the stream of a Gpu, with its time.
// Thread: as Gpu.
class Event final {
  public:
    explicit Event(Gpu& gpu);  // throws DEVICE_ERROR
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    // Behind everything that is in the stream. While a graph is recorded: each run of it records the event
    // when it is put into the stream.
    volta_status record() noexcept;
    volta_status wait() noexcept;  // until the device has come to it
    // Of the device's clock, about half a microsecond exact. Both events were waited for.
    volta_status milliseconds_since(const Event& earlier, float* milliseconds) noexcept;

  private:
    Gpu& gpu_;
    CUevent event_ = nullptr;
};

}  // namespace volta::cuda
