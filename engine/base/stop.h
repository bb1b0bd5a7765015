// Whether the host wants a long call to end before it is through: asked between pieces of work, never within
// one. Nothing that a host can see has changed by then but what the call says of itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/error.h"

namespace volta {

class Stop final {
  public:
    struct Wish {  // volta_stop_options
        const volta_cancel* cancel = nullptr;
        std::int32_t (*should_stop)(void* user) = nullptr;
        void* user = nullptr;
        double max_seconds = 0;  // from set() on; 0: no end
    };
    void set(const Wish& wish) noexcept;

    bool is_set() const noexcept { return is_set_; }

    enum class Reason { none, cancelled, callback, deadline };
    // Throws CANCELLED where should_stop throws.
    Reason reason() const { return is_set_ ? asked() : Reason::none; }

    // Throws CANCELLED if the host wants an end: "stopped before tensor 3 of 12: should_stop said so". Count
    // 0: there is one of the piece.
    void ask(const char* piece, std::size_t index = 0, std::size_t count = 0) const {
        if (is_set_) require_none(piece, index, count);
    }

  private:
    Reason asked() const;
    void require_none(const char* piece, std::size_t index, std::size_t count) const;

    bool is_set_ = false;
    Wish wish_;
    std::uint64_t deadline_ns_ = 0;
};

// For callers without a host.
inline constexpr Stop kNeverStops;

}  // namespace volta
