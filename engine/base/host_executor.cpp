#include "engine/base/host_executor.h"

#include <sched.h>

#include <cstdio>
#include <new>

#include "engine/base/error.h"

namespace volta {

HostExecutor::HostExecutor(const ParallelFor& host, int most_parts, std::pmr::memory_resource* heap)
    : host_(host), heap_(heap), capacity_(static_cast<std::size_t>(most_parts)) {
    void* const place = heap->allocate(capacity_ * sizeof *open_, alignof(std::atomic<bool>));
    open_ = static_cast<std::atomic<bool>*>(place);
    for (std::size_t i = 0; i < capacity_; ++i) new (&open_[i]) std::atomic<bool>(false);
}

HostExecutor::~HostExecutor() {
    heap_->deallocate(open_, capacity_ * sizeof *open_, alignof(std::atomic<bool>));
}

// True to one of those who ask: it computes the part.
bool HostExecutor::take(std::uint32_t index) noexcept {
    return index < capacity_ && open_[index].exchange(false, std::memory_order_acq_rel);
}

void HostExecutor::compute(std::uint32_t index) noexcept {
    part_(data_, static_cast<int>(index));
    ended_.fetch_add(1, std::memory_order_release);
}

// What the host's function calls. A part that is not open (it was called twice, or behind the end of its
// run, or never was one) has no effect.
void HostExecutor::begin_part(void* executor, std::uint32_t index) {
    HostExecutor& self = *static_cast<HostExecutor*>(executor);
    if (self.take(index))
        self.compute(index);
    else
        self.superfluous_.store(index + 1, std::memory_order_relaxed);
}

void HostExecutor::run(int count, Part part, void* data) noexcept {
    part_ = part;
    data_ = data;
    count_ = static_cast<std::uint32_t>(count);
    ended_.store(0, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count_; ++i) open_[i].store(true, std::memory_order_release);
    const HostException thrown = call_host([&] { host_.function(host_.user, count_, begin_part, this); });
    std::uint32_t missing = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
        if (!take(i)) continue;
        compute(i);
        ++missing;
    }
    const std::uint32_t begun = count_ - ended_.load(std::memory_order_acquire);
    while (ended_.load(std::memory_order_acquire) != count_) sched_yield();  // others are computing them
    if (thrown || missing > 0 || begun > 0 || superfluous_.load(std::memory_order_relaxed) > 0)
        note(missing, begun, thrown);
}

// Of several mistakes the first counts, until it has been told.
void HostExecutor::note(std::uint32_t missing, std::uint32_t begun, const HostException& thrown) noexcept {
    const std::uint32_t superfluous = superfluous_.exchange(0, std::memory_order_relaxed);
    if (has_failed()) return;
    status_ = thrown ? thrown_status(HostFunction::parallel_for) : VOLTA_INVALID_STATE;
    if (thrown)
        std::snprintf(text_, sizeof text_, "the host's parallel_for threw an exception: %s", thrown.what());
    else if (missing > 0)
        std::snprintf(text_, sizeof text_, "the host's parallel_for returned without %u of its %u parts",
                      missing, count_);
    else if (begun > 0)
        std::snprintf(text_, sizeof text_,
                      "the host's parallel_for returned before %u of its %u parts had ended", begun, count_);
    else
        std::snprintf(text_, sizeof text_,
                      "the host's parallel_for asked for part %u of %u, which had been run or is none",
                      superfluous - 1, count_);
}

void HostExecutor::check() {
    if (!has_failed()) return;
    const volta_status status = status_;
    status_ = VOLTA_OK;
    fail(status, "%s", text_);
}

}  // namespace volta
