#include "engine/tape/buffer_pool.h"

#include <algorithm>

namespace volta {

Buffer BufferPool::take(std::size_t bytes) {
    // The smallest that fits and wastes less than half of itself.
    std::size_t best = free_.size();
    for (std::size_t i = 0; i < free_.size(); ++i) {
        const std::size_t size = free_[i].bytes();
        if (size < bytes || size / 2 > bytes) continue;
        if (best == free_.size() || size < free_[best].bytes()) best = i;
    }
    Buffer taken;
    if (best < free_.size()) {
        taken = std::move(free_[best]);
        free_[best] = std::move(free_.back());
        free_.pop_back();
        free_bytes_ -= taken.bytes();
    } else {
        // What other shapes left behind must not pile up.
        shrink_to(most_used_bytes_);
        taken = Buffer(tensors_, bytes);
    }
    used_bytes_ += taken.bytes();
    most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
    return taken;
}

void BufferPool::give(Buffer&& buffer) noexcept {
    if (buffer.bytes() == 0) return;
    used_bytes_ -= std::min(used_bytes_, buffer.bytes());
    free_bytes_ += buffer.bytes();
    try {
        free_.push_back(std::move(buffer));
    } catch (...) {  // no room in the list: the memory goes back to the host
        free_bytes_ -= buffer.bytes();
        buffer = Buffer();
    }
}

void BufferPool::shrink_to(std::size_t bytes) noexcept {
    while (!free_.empty() && free_bytes_ > bytes) {
        free_bytes_ -= free_.back().bytes();
        free_.pop_back();
    }
}

}  // namespace volta
