// A context's worker threads. No bit depends on who computes what. The parts of a task are fixed by their
// count: a worker computes its own, or the caller, once it is through with its own, those that no worker has
// begun. So a worker that the system does not run, because another process has its core, holds up nobody; and
// where the system keeps stopping workers in the middle of short parts, the caller works alone for a while.
// Long parts are shared in pieces, of which the faster worker computes more. Behind a run
// between begin_hot() and end_hot() workers spin for a bounded time, in which the next may come, and then
// sleep; where there are more of them than cores they sleep at once. A host that has threads of its own gives
// a function that runs parts on them: then the pool has no threads.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <type_traits>

#include "engine/base/host_executor.h"

namespace volta {

// Items [begin, end).
struct Range {
    long long begin, end;
};
// The part of `count` items that worker `w` of `workers` takes: cuts are multiples of `grain`, and parts
// differ by at most one grain (the last grain may be short).
Range part_of(long long count, long long grain, int worker, int worker_count) noexcept;

class ThreadPool final {
  public:
    // Creates thread_count - 1 threads; the caller of run() is worker 0. Throws Error{OUT_OF_MEMORY} when the
    // system refuses a thread. thread_count 1 creates none, and with a parallel_for none are: it is called
    // for tasks of two parts or more.
    ThreadPool(int thread_count, std::pmr::memory_resource* heap, const ParallelFor& host = {});
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int thread_count() const noexcept { return thread_count_; }  // the most parts of a task
    bool is_of_host() const noexcept;                            // parallel_for: there are no threads of ours
    // What the host's parallel_for did wrong, in spite of which every run() was complete: HostExecutor.
    bool host_has_failed() const noexcept;
    void check_host();
    class WorkItems;

    using Task = void (*)(void* data, int worker, int worker_count) noexcept;
    // Runs task(data, w, workers) for w = 0 .. workers-1 and returns when all have ended. workers is cut to
    // thread_count. Every part starts with MXCSR = 0x1F80. Parts must not wait for each other: one may begin
    // when another has ended. Allocates nothing. One caller at a time. In a forked child, which has no
    // workers, the caller computes all parts; there the pool's end waits for nobody.
    void run(int workers, Task task, void* data) noexcept;

    template <class Body>  // Body: void(int worker, int worker_count) noexcept
    void run(int workers, Body&& body) noexcept {
        run(
            workers,
            [](void* data, int worker, int count) noexcept {
                (*static_cast<std::remove_reference_t<Body>*>(data))(worker, count);
            },
            const_cast<void*>(static_cast<const void*>(&body)));
    }

    // As run(), with `count` items in pieces of one grain or more: body(worker, items) asks
    // items.next(&piece) until it is false; every item is given out once. A worker gets the pieces of its
    // own part (part_of) in their order and then, from their ends, those that others have not come to. So
    // nobody waits long for a worker whose core is slower, or whose memory is further away.
    template <class Body>  // Body: void(int worker, WorkItems& items) noexcept
    void run_stealing(int workers, long long count, long long grain, Body&& body) noexcept;

    // Is told how long a thread of the pool had its part of a run(), on that thread; of what the caller
    // computes, nothing. Of parts that the host runs: of all but the first.
    class Observer {
      public:
        virtual void worked(int worker, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept = 0;

      protected:
        ~Observer() = default;
    };
    // NULL: nobody measures. Not while run() is running.
    void observe(Observer* observer) noexcept { observer_ = observer; }

    // How far from each other the cores are that the threads run on: how long a line of the cache takes from
    // one worker to the next and back, on average, in ns; 0: not known, since some of them did not run. It
    // can change at any time, so it is measured (microseconds with few threads, tens with 64) where the last
    // answer is older than 20 ms. For the caller of run(), between two of them.
    double core_to_core_ns() noexcept;
    // Then what one thread writes and another has read had better go through memory: 60 to 80 ns with a
    // shared LLC (120 on a mesh of many cores), 340 without
    // (docs/decisions/0016-topology.md).
    bool spans_llcs() noexcept { return core_to_core_ns() > 200; }
    // This instead of what is measured; 0: measure.
    void assume_core_to_core_ns(double ns) noexcept;

    // Workers that become idle between these two spin for a bounded time, also beyond the end, instead of
    // sleeping at once. Nestable.
    void begin_hot() noexcept;
    void end_hot() noexcept;
    // In a forked child: whether another thread was between the two at the fork. What it was computing nobody
    // will.
    bool was_left_amid() const noexcept;

  private:
    struct State;
    struct Sharing {
        long long count, grain;
        int workers;
        bool in_pieces;  // else everyone has its part and no more
    };
    Sharing begin_stealing(int workers, long long count, long long grain) noexcept;
    void create_workers();
    void release() noexcept;
    State* state_;
    Observer* observer_ = nullptr;
    std::pmr::memory_resource* heap_;
    int thread_count_;
};

// What a worker of run_stealing() has to do.
class ThreadPool::WorkItems {
  public:
    // False: nothing is left.
    bool next(Range* piece) noexcept;

  private:
    friend class ThreadPool;
    WorkItems(ThreadPool& pool, const Sharing& sharing, int worker) noexcept
        : pool_(pool), sharing_(sharing), worker_(worker) {}
    ThreadPool& pool_;
    const Sharing& sharing_;
    const int worker_;
    bool had_part_ = false;
};

template <class Body>
void ThreadPool::run_stealing(int workers, long long count, long long grain, Body&& body) noexcept {
    const Sharing sharing = begin_stealing(workers, count, grain);
    run(sharing.workers, [&](int worker, int) noexcept {
        WorkItems items(*this, sharing, worker);
        body(worker, items);
    });
}

}  // namespace volta
