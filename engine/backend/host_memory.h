// The host's memory as a Memory: every copy is one on the spot.
#pragma once

#include "engine/backend/device.h"

namespace volta {

class HostMemory final : public Memory {
  public:
    // budget 0: whatever `tensors` gives.
    HostMemory(std::pmr::memory_resource* tensors, std::uint64_t budget);
    bool is_host() const noexcept override { return true; }
    std::uint64_t available() const noexcept override { return budget_ - used_; }
    void* allocate(std::size_t bytes, bool zeroed) override;
    void release(void* address, std::size_t bytes) noexcept override;
    volta_status write(void* to, const void* host, std::size_t bytes) noexcept override;
    volta_status read(void* host, const void* from, std::size_t bytes) noexcept override;
    volta_status copy(void* to, const void* from, std::size_t bytes) noexcept override;

  private:
    std::pmr::memory_resource* tensors_;
    const std::uint64_t budget_;
    std::uint64_t used_ = 0;
};

}  // namespace volta
