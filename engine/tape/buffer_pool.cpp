#include "engine/tape/buffer_pool.h"

#include <algorithm>

namespace volta {

BufferPool::BufferPool(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors)
    : tensors_(tensors), free_(kSmallSizes + 1, structures) {}

std::size_t BufferPool::list_of(std::size_t bytes) {
    std::size_t list = 0;
    while (list < kSmallSizes && (kSmallest << list) < bytes) ++list;
    return list;
}

// The smallest that fits and wastes less than half of itself.
Buffer BufferPool::take_large(std::size_t bytes) {
    auto& large = free_[kSmallSizes];
    std::size_t best = large.size();
    for (std::size_t i = 0; i < large.size(); ++i) {
        const std::size_t size = large[i].bytes();
        if (size < bytes || size / 2 > bytes) continue;
        if (best == large.size() || size < large[best].bytes()) best = i;
    }
    if (best == large.size()) return Buffer();
    Buffer taken = std::move(large[best]);
    large[best] = std::move(large.back());
    large.pop_back();
    return taken;
}

Buffer BufferPool::take(std::size_t bytes) {
    const std::size_t list = list_of(bytes);
    Buffer taken;
    if (list == kSmallSizes) {
        taken = take_large(bytes);
    } else if (!free_[list].empty()) {
        taken = std::move(free_[list].back());
        free_[list].pop_back();
    }
    if (taken.bytes() > 0) {
        free_bytes_ -= taken.bytes();
    } else {
        shrink_to(most_used_bytes_);  // what other shapes left behind must not pile up
        taken = Buffer(tensors_, list == kSmallSizes ? bytes : kSmallest << list);
    }
    used_bytes_ += taken.bytes();
    most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
    return taken;
}

void BufferPool::give(Buffer&& buffer) noexcept {
    const std::size_t bytes = buffer.bytes();
    if (bytes == 0) return;
    leave(bytes);
    try {
        free_[list_of(bytes)].push_back(std::move(buffer));
        free_bytes_ += bytes;
    } catch (...) {  // no room in the list: the memory goes back to the host
        buffer = Buffer();
    }
}

void BufferPool::shrink_to(std::size_t bytes) noexcept {
    for (std::size_t list = free_.size(); list-- > 0;)
        while (!free_[list].empty() && free_bytes_ > bytes) {
            free_bytes_ -= free_[list].back().bytes();
            free_[list].pop_back();
        }
}

}  // namespace volta
