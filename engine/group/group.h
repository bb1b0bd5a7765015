// Processes that compute one thing together, each of a rank. What a transport is to them is exchange(): bytes
// to one rank and from it, both ways at once. No sum is a transport's: the same bits come of every one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

#include "engine/base/device_stream.h"
#include "engine/group/shared_memory.h"
#include "include/volta.h"

namespace volta {

struct DevicePiece {  // of a device's memory, of floats
    void* data;
    std::size_t bytes;
};
using DevicePieces = std::pmr::vector<DevicePiece>;

class Group {
  public:
    Group(std::uint32_t rank, std::uint32_t size) : rank_(rank), size_(size) {}
    virtual ~Group() = default;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    std::uint32_t rank() const noexcept { return rank_; }
    std::uint32_t size() const noexcept { return size_; }

    // Either may be 0 bytes; the peer makes the matching call, and calls of two ranks match in their order.
    // Throws IO_ERROR naming the rank that is at fault, which need not be the peer; the group has ended then,
    // and every later call throws the same.
    virtual void exchange(std::uint32_t peer, const void* send, std::size_t send_bytes, void* receive,
                          std::size_t receive_bytes) = 0;
    // Whether exchange() may be called by another thread than the one before, as long as it is one at a time.
    virtual bool can_change_threads() const noexcept { return false; }
    virtual bool can_share() const noexcept { return false; }  // memory: the ranks are of one machine
    // Memory that the ranks read of each other; none where they cannot share, or one of them lacks it: all
    // have it or none. Every rank makes the call, with the same `most` bytes, of which this one has
    // own_bytes. Throws as exchange().
    virtual SharedMemory share(std::uint64_t most, std::uint64_t own_bytes);
    // This rank's device, where the ranks exchange what lies in the memory of theirs; NULL: they do not.
    virtual const DeviceStream* device() const noexcept { return nullptr; }
    // As exchange(), of pieces that lie there: behind what is in the stream, and done when this returns.
    virtual void exchange_on_device(std::uint32_t peer, const DevicePieces& send,
                                    const DevicePieces& receive);
    // This rank goes on no more: the others, where they wait for it or later, are told who and why.
    virtual void leave(const char* why) noexcept = 0;

  private:
    const std::uint32_t rank_, size_;
};
using GroupRef = std::shared_ptr<Group>;

// Joins, by the transport's row. Returns when all ranks have. `device`: of the context, which outlives the
// group; NULL: it has none. Throws as volta_group_create.
GroupRef open_group(const volta_group_options& options, std::pmr::memory_resource* heap,
                    DeviceStream* device = nullptr);

}  // namespace volta
