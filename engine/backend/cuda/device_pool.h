// The caching pool of one device's memory: what is freed is kept and handed out again, and every byte is
// accounted for. It decides who gets which address; that it lives on a device is the source's business.
#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>

#include "engine/backend/cuda/driver_api.h"

namespace volta::cuda {

inline constexpr std::size_t kDeviceAlignment =
    512;  // bytes: of every address and of every size that is held

// Bytes. in_use counts what was asked for, held what the device has lost to the pool.
struct MemoryFigures {
    std::uint64_t in_use, peak_in_use;
    std::uint64_t held, peak_held;
    std::uint64_t budget;                              // of held; 0: none
    std::uint64_t pinned, peak_pinned, pinned_budget;  // host memory that devices read themselves
    std::uint64_t allocations;                         // so far
    std::uint64_t reused;                              // of those, the ones that needed nothing of the device
};

// Where a pool's memory comes from.
class DeviceSource {
  public:
    virtual CUresult take(std::size_t bytes, CUdeviceptr* address) noexcept = 0;
    virtual void give_back(CUdeviceptr address) noexcept = 0;
    virtual std::uint64_t free_bytes() noexcept = 0;  // of the device, for messages

  protected:
    ~DeviceSource() = default;
};

// Thread: one at a time (Gpu takes turns).
class DevicePool final {
  public:
    DevicePool(DeviceSource& source, std::uint64_t budget, std::pmr::memory_resource* heap);
    ~DevicePool();  // release()
    DevicePool(const DevicePool&) = delete;
    DevicePool& operator=(const DevicePool&) = delete;

    // The smallest free range that fits, the lowest of several; a part that is left over stays free. Else new
    // memory; where the budget or the device refuses that, ranges that nobody uses are given back first.
    // bytes > 0. `purpose` is for the message: "the arena". `may_grow` false: ranges at hand only.
    // Throws OUT_OF_MEMORY "CUDA: the arena needs N bytes, has M: ...", INVALID_STATE where it may not grow,
    // DEVICE_ERROR by *result where the source fails otherwise.
    CUdeviceptr allocate(std::size_t bytes, const char* purpose, bool may_grow, CUresult* result);
    void free(CUdeviceptr address) noexcept;  // of allocate()
    void trim() noexcept;                     // gives back what nobody uses
    void release() noexcept;  // gives back everything; free() of what was handed out does nothing then

    MemoryFigures figures;

  private:
    struct Range {
        std::size_t bytes;  // a multiple of kDeviceAlignment
        std::size_t asked;  // 0: free
        CUdeviceptr block;  // of the source, which it is a part of
        std::size_t block_bytes;
    };
    using Ranges = std::pmr::map<CUdeviceptr, Range>;

    Ranges::iterator find_free(std::size_t size, bool of_any_block) noexcept;
    Ranges::iterator take_new(std::size_t size, CUresult* result);  // end(): no memory
    [[noreturn]] void refuse(std::size_t bytes, const char* purpose);

    DeviceSource& source_;
    Ranges ranges_;  // of all memory that is held
};

}  // namespace volta::cuda
