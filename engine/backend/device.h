// What a context computes on: a way to compile plans, what tuning found, and the memory that regions of plans
// lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <utility>

#include "engine/backend/tuning/tune_request.h"
#include "engine/base/arithmetic.h"
#include "engine/base/device_stream.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "include/volta.h"

namespace volta {

struct BackendContext;
struct Plan;
class Executable;
struct ExecutableDelete;
using ExecutablePtr = std::unique_ptr<Executable, ExecutableDelete>;

// The host's memory, or that of a device, which the host reaches by copies alone: its addresses are not the
// host's then. Thread: one call at a time, like the context it belongs to.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual bool is_host() const noexcept = 0;
    // How many bytes may still be asked for, as far as anyone knows: what is free, within the budget.
    virtual std::uint64_t available() const noexcept = 0;
    // Aligned to kTensorAlignment. Throws OUT_OF_MEMORY (std::bad_alloc on the host).
    virtual void* allocate(std::size_t bytes, bool zeroed) = 0;
    virtual void release(void* address, std::size_t bytes) noexcept = 0;
    // Copies, in order with what runs. `host` may be used again when write() returns; read() returns when the
    // bytes are there. A failure of the device is a status; Device::failure() says more.
    virtual volta_status write(void* to, const void* host, std::size_t bytes) noexcept = 0;
    virtual volta_status read(void* host, const void* from, std::size_t bytes) noexcept = 0;
    virtual volta_status copy(void* to, const void* from, std::size_t bytes) noexcept = 0;
    // The same without waiting, where the host's side is memory of Device::staging(): its bytes are kept as
    // they are, or are not there, until wait() returns.
    virtual volta_status write_later(void* to, const void* host, std::size_t bytes) noexcept {
        return write(to, host, bytes);
    }
    virtual volta_status read_later(void* host, const void* from, std::size_t bytes) noexcept {
        return read(host, from, bytes);
    }
    // Until all that was started is done: a failure of it shows here.
    virtual volta_status wait() noexcept { return VOLTA_OK; }
};

// Bytes of a Memory; they end with the object. Not initialised unless asked.
class Block final {
  public:
    Block() = default;
    Block(Memory& memory, std::size_t bytes, bool zeroed = false) : memory_(&memory), bytes_(bytes) {
        if (bytes > 0) address_ = memory.allocate(bytes, zeroed);
    }
    Block(Block&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)),
          address_(std::exchange(other.address_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Block& operator=(Block&& other) noexcept {
        Block taken(std::move(other));
        std::swap(memory_, taken.memory_);
        std::swap(address_, taken.address_);
        std::swap(bytes_, taken.bytes_);
        return *this;
    }
    ~Block() {
        if (address_ != nullptr) memory_->release(address_, bytes_);
    }

    void* data() const noexcept { return address_; }  // of the memory's own address space
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    Memory* memory_ = nullptr;
    void* address_ = nullptr;
    std::size_t bytes_ = 0;
};

// One device of a backend, as hosts are told.
struct DeviceInfo {
    char name[32];                      // "cpu", "cuda:0"
    char description[128];              // the processor's or device's own name
    std::uint64_t memory_bytes = 0;     // of its own; 0: it uses the host's
    std::uint64_t free_bytes = 0;       // of that, now
    std::int32_t multiprocessors = 0;   // cores of a processor
    std::int32_t major = 0, minor = 0;  // compute capability; 0: none
};

// What a context has moved and started so far, and what it holds.
struct DeviceTraffic {
    std::uint64_t copies_to_device = 0, bytes_to_device = 0;
    std::uint64_t copies_to_host = 0, bytes_to_host = 0;
    std::uint64_t launches = 0;                        // of kernels and of recorded graphs
    std::uint64_t bytes_in_use = 0, pinned_bytes = 0;  // held now: device memory, locked host memory
};

// The most a device does, run by run: what speeds are divided by.
struct DevicePeaks {
    static constexpr int kRuns = 21;
    double operations_per_second[kRuns];  // of fused multiply-adds on registers alone, two each
    double bytes_per_second[kRuns];       // of copying within its memory, read and written
    std::size_t buffer_bytes = 0;         // that a copy reads, and as many that it writes
};

struct DeviceOptions {
    std::pmr::memory_resource* structures = nullptr;
    std::pmr::memory_resource* tensors = nullptr;  // host memory of tensors
    int index = 0;                                 // which device of the backend
    std::uint64_t host_budget = 0;                 // most bytes of plans in host memory; 0: what there is
    std::uint64_t device_budget = 0;               // and in memory of the device's own
    const char* kernel_folder = nullptr;           // compiled kernels are kept here; NULL: in memory alone
    Arithmetic arithmetic;                         // of all plans that it will compile
    Log log;
};

class Device {
  public:
    virtual ~Device() = default;
    virtual DeviceInfo info() const noexcept = 0;
    virtual DeviceTraffic traffic() const noexcept { return {}; }  // none where memory is the host's
    virtual Memory& memory() noexcept = 0;                         // where regions lie
    // The host's side of inputs and outputs: memory() if that is the host's, else page-locked memory, which
    // does not come from DeviceOptions::tensors.
    virtual Memory& staging() noexcept = 0;
    // For libraries that work on the device besides. NULL: memory is the host's.
    virtual DeviceStream* stream() noexcept { return nullptr; }
    // Throws UNSUPPORTED with the operator's name when a step has no kernel at the plan's level. `plan`
    // outlives what is made.
    virtual ExecutablePtr compile(const Plan& plan, const BackendContext& context) = 0;
    // Of the last call that returned a status other than OK: a sentence.
    virtual const char* failure() const noexcept = 0;
    // False: plans run on the host's processor, which the runtime measures itself. Throws OUT_OF_MEMORY,
    // DEVICE_ERROR.
    virtual bool measure(DevicePeaks&) { return false; }

    // Tuning (tune_request.h): the folder its results are kept in, a number that grows with every result, the
    // search.
    virtual void open_tuning_folder(const char* folder, const Log& log) = 0;
    virtual std::uint64_t tuning_version() const noexcept = 0;
    virtual void tune(const TuneRequest& request, const BackendContext& context) = 0;
    // Appends lines about how a product is computed, and why. Throws INVALID_ARGUMENT, UNSUPPORTED.
    virtual void explain(const ExplainRequest&, const BackendContext&, std::pmr::string&) {
        fail(VOLTA_UNSUPPORTED, "products are explained on the processor; the device is %s", info().name);
    }
};
struct DeviceDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;
    void operator()(Device* device) const noexcept {
        device->~Device();
        heap->deallocate(device, size, alignment);
    }
};
using DevicePtr = std::unique_ptr<Device, DeviceDelete>;

}  // namespace volta
