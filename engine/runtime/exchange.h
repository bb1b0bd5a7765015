// Bytes that the host and a device exchange: a block on each side with the same offsets, the host's
// page-locked, so that whatever lies together moves in one copy. On the host's own memory it is one block,
// and nothing moves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/runtime/gateway.h"

namespace volta {

class Exchange final {
  public:
    Exchange() = default;  // no bytes
    // `device` and `staging` are those of one Device. Throws OUT_OF_MEMORY.
    Exchange(Memory& device, Memory& staging, std::size_t bytes)
        : memory_(&device), host_(staging, bytes), device_(device, device.is_host() ? 0 : bytes) {}

    void* host(std::size_t offset = 0) const noexcept { return at(host_, offset); }
    void* device(std::size_t offset = 0) const noexcept {
        return at(memory_->is_host() ? host_ : device_, offset);
    }
    std::uint64_t held_bytes() const noexcept { return host_.bytes() + device_.bytes(); }
    // Of these, the ones that programs read and write.
    std::uint64_t device_bytes() const noexcept {
        return memory_ == nullptr || memory_->is_host() ? host_.bytes() : device_.bytes();
    }

    // A range of bytes, grown by what is to move.
    struct Span {
        std::size_t begin = ~std::size_t{0}, end = 0;
        void add(std::size_t offset, std::size_t bytes) noexcept {
            begin = std::min(begin, offset);
            end = std::max(end, offset + bytes);
        }
        bool is_empty() const noexcept { return begin >= end; }
    };
    // Keep the host's side until Memory::wait(): send() reads there, fetch() writes.
    volta_status send(const Span& span) const noexcept {
        return memory_->write_later(device(span.begin), host(span.begin), span.end - span.begin);
    }
    volta_status fetch(const Span& span) const noexcept {
        return memory_->read_later(host(span.begin), device(span.begin), span.end - span.begin);
    }

  private:
    static void* at(const Block& block, std::size_t offset) noexcept {
        return static_cast<unsigned char*>(block.data()) + offset;
    }
    Memory* memory_ = nullptr;
    Block host_, device_;
};

}  // namespace volta
