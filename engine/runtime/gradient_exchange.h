// The sums over ranks of what their backward passes give. Where ranks have to send it, it goes beside the
// pass, by a thread of its own: each bucket as soon as what is in it has been made, in an order that all
// ranks have in common. What they read in each other's memory costs less than that would hide, and is added
// behind it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/side_thread.h"
#include "engine/group/collective.h"
#include "engine/runtime/context.h"
#include "engine/runtime/gateway.h"

namespace volta {

// Of the shards of this process, whose last one has been written.
class LocalSums {
  public:
    // Makes the part their sum. pool: NULL: by this thread alone.
    virtual void complete(std::size_t part, ThreadPool* pool) noexcept = 0;

  protected:
    ~LocalSums() = default;
};

class GradientExchange final : private StepObserver, private Arrival {
  public:
    static constexpr std::size_t kBehind = SIZE_MAX;
    struct Part {
        Portion sum;
        std::size_t last_step;  // of the pass's plan that writes it; kBehind: none does
    };
    // Parts in the order in which they go, the same on all ranks. Throws OUT_OF_MEMORY.
    GradientExchange(Context& context, Collective& collective, const std::pmr::vector<Part>& parts,
                     LocalSums& local);

    // The pass that makes the last of the parts begins; this must observe it. NULL: there is nothing to
    // observe.
    StepObserver* begin();
    struct Times {
        double wait, exchange;  // seconds of the caller
    };
    // The pass is through: returns when all is added. Throws as Group::exchange.
    Times end();
    // The pass has failed. The others are given what there is, and wait for no more.
    void abandon() noexcept;

  private:
    struct Written {
        std::size_t step, part;
    };
    void begin(std::size_t) noexcept override {}
    void end(std::size_t step) noexcept override;
    void release(std::size_t count) noexcept;
    void wait_for(std::size_t count) override;
    void complete(std::size_t count, ThreadPool* pool) noexcept;
    void send() noexcept;
    void join() noexcept;

    Context& context_;
    Collective& collective_;
    LocalSums& local_;
    std::pmr::vector<Portion> portions_;

    // The caller's: what the pass has written.
    std::pmr::vector<Written> written_;  // by step
    std::pmr::vector<bool> is_made_;
    std::size_t made_ = 0;  // from the first one on

    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t released_ = 0;  // under mutex_: parts that may go

    // The side thread's, until it is waited for.
    std::size_t completed_ = 0;
    std::uint64_t begin_ns_ = 0, met_ns_ = 0, end_ns_ = 0;  // met: all ranks had something to send
    std::optional<Error> failure_;

    bool runs_ = false;
    std::optional<SideThread> side_;  // uses the rest
};

}  // namespace volta
