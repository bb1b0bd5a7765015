// Memory of results, used again from record to record: after the first records nothing is allocated.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "engine/base/memory.h"

namespace volta {

class BufferPool final {
  public:
    BufferPool(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
    // At least `bytes`, not initialised. Throws OUT_OF_MEMORY.
    Buffer take(std::size_t bytes);
    void give(Buffer&& buffer) noexcept;
    // So many bytes that were taken are the taker's for good.
    void leave(std::size_t bytes) noexcept { used_bytes_ -= bytes < used_bytes_ ? bytes : used_bytes_; }
    std::size_t free_bytes() const { return free_bytes_; }
    std::size_t used_bytes() const { return used_bytes_; }

  private:
    // Small buffers have a power of two of bytes and a list per size; the last list has the large ones, which
    // are as large as was asked for.
    static constexpr std::size_t kSmallest = 64, kSmallSizes = 15;  // up to 1 MiB
    static std::size_t list_of(std::size_t bytes);
    Buffer take_large(std::size_t bytes);
    void shrink_to(std::size_t bytes) noexcept;
    std::pmr::memory_resource* tensors_;
    std::pmr::vector<std::pmr::vector<Buffer>> free_;
    std::size_t free_bytes_ = 0, used_bytes_ = 0, most_used_bytes_ = 0;
};

}  // namespace volta
