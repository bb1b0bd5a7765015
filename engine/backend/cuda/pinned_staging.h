// The host's side of what a device exchanges, under the core's interface: page-locked memory that the device
// reads and writes itself.
#pragma once

#include <map>

#include "engine/backend/cuda/device.h"
#include "engine/backend/device.h"

namespace volta::cuda {

class PinnedStaging final : public Memory {
  public:
    // `gpu`, with its budget of pinned memory, and `heap` outlive it.
    PinnedStaging(Gpu& gpu, std::pmr::memory_resource* heap) : gpu_(gpu), ranges_(heap) {}
    bool is_host() const noexcept override { return true; }
    std::uint64_t available() const noexcept override;
    void* allocate(std::size_t bytes, bool zeroed) override;
    void release(void* address, std::size_t bytes) noexcept override;
    volta_status write(void* to, const void* host, std::size_t bytes) noexcept override;
    volta_status read(void* host, const void* from, std::size_t bytes) noexcept override;
    volta_status copy(void* to, const void* from, std::size_t bytes) noexcept override;

    // The allocation that holds the bytes, and where in it they begin; NULL: none does.
    const PinnedMemory* find(const void* address, std::size_t bytes, std::size_t* offset) const noexcept;

  private:
    Gpu& gpu_;
    std::pmr::map<const unsigned char*, PinnedMemory, std::less<>> ranges_;  // by address
};

}  // namespace volta::cuda
