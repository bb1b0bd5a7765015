// Parts of a task on threads of the host (volta_context_options.parallel_for). Whatever the host's function
// does, each part is computed once and all have ended when run() returns: what the function left out, the
// caller computes. What it did wrong is told by check().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory_resource>

#include "engine/base/host_call.h"

namespace volta {

struct ParallelFor {  // as in volta.h
    void (*function)(void* user, std::uint32_t count, void (*part)(void* part_user, std::uint32_t index),
                     void* part_user) = nullptr;  // NULL: the host has none
    void* user = nullptr;
};

class HostExecutor final {
  public:
    HostExecutor(const ParallelFor& host, int most_parts, std::pmr::memory_resource* heap);
    ~HostExecutor();
    HostExecutor(const HostExecutor&) = delete;
    HostExecutor& operator=(const HostExecutor&) = delete;

    using Part = void (*)(void* data, int index) noexcept;
    // part(data, i) for i = 0 .. count - 1, in any order, on any threads. Allocates nothing.
    void run(int count, Part part, void* data) noexcept;

    bool has_failed() const noexcept { return status_ != VOLTA_OK; }
    // Throws what the host's function did wrong since the last time: CANCELLED if it threw, else
    // INVALID_STATE.
    void check();

  private:
    static void begin_part(void* executor, std::uint32_t index);
    bool take(std::uint32_t index) noexcept;
    void compute(std::uint32_t index) noexcept;
    void note(std::uint32_t missing, std::uint32_t begun, const HostException& thrown) noexcept;

    const ParallelFor host_;
    std::pmr::memory_resource* heap_;
    const std::size_t capacity_;
    // Of the run in progress: written before its parts are opened, read by those who took one.
    Part part_ = nullptr;
    void* data_ = nullptr;
    std::atomic<bool>* open_;  // one per part: nobody has begun it
    std::uint32_t count_ = 0;
    std::atomic<std::uint32_t> ended_{0};
    std::atomic<std::uint32_t> superfluous_{0};  // 1 + the part that was called again, or never was one
    volta_status status_ = VOLTA_OK;
    char text_[256];
};

}  // namespace volta
