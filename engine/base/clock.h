// The monotonic clock, in nanoseconds since some moment before the process.
#pragma once

#include <chrono>
#include <cstdint>

namespace volta {

inline std::uint64_t monotonic_ns() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace volta
