#include "engine/base/stop.h"

#include <algorithm>
#include <cstdio>

#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/base/host_call.h"

namespace volta {

void Stop::set(const Wish& wish) noexcept {
    constexpr double kMostSeconds = 1e9;  // some thirty years: no clock runs over
    wish_ = wish;
    is_set_ = wish.cancel != nullptr || wish.should_stop != nullptr || wish.max_seconds > 0;
    deadline_ns_ =
        monotonic_ns() + static_cast<std::uint64_t>(1e9 * std::min(wish.max_seconds, kMostSeconds));
}

Stop::Reason Stop::asked() const {
    if (wish_.cancel != nullptr && __atomic_load_n(&wish_.cancel->requested, __ATOMIC_ACQUIRE) != 0)
        return Reason::cancelled;
    if (wish_.should_stop != nullptr) {
        std::int32_t answer = 0;
        if (const HostException thrown = call_host([&] { answer = wish_.should_stop(wish_.user); }))
            fail_thrown(HostFunction::should_stop, thrown);
        if (answer != 0) return Reason::callback;
    }
    return wish_.max_seconds > 0 && monotonic_ns() >= deadline_ns_ ? Reason::deadline : Reason::none;
}

void Stop::require_none(const char* piece, std::size_t index, std::size_t count) const {
    const Reason reason = asked();
    if (reason == Reason::none) return;
    char why[64];
    if (reason == Reason::deadline)
        format_text(why, sizeof why, "%g seconds are over", wish_.max_seconds);
    else
        std::snprintf(
            why, sizeof why, "%s",
            reason == Reason::cancelled ? "volta_cancel_request was called" : "should_stop said so");
    if (count == 0) fail(VOLTA_CANCELLED, "stopped before %s: %s", piece, why);
    fail(VOLTA_CANCELLED, "stopped before %s %zu of %zu: %s", piece, index + 1, count, why);
}

}  // namespace volta
