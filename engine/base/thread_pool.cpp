// A worker has a word in which the caller offers it its part; whoever takes the offer back, the worker or the
// caller, computes the part. All share a word that counts the parts that have not ended. Whoever waits on a
// word first spins on it (hot) and then sleeps, leaving a mark in the word, so that the other side pays for a
// wake-up only when somebody sleeps.
#include "engine/base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/cpu_info.h"
#include "engine/base/error.h"
#include "engine/base/fork_mark.h"
#include "engine/base/fp_environment.h"
#include "engine/base/memory.h"
#include "engine/base/quiet_thread.h"

namespace volta {
namespace {

constexpr std::size_t kStackBytes = 1 << 20;
constexpr std::chrono::microseconds kSpin{60};
constexpr int kPieces = 32;  // of a worker's part, at most

using Clock = std::chrono::steady_clock;

// Whether workers are worth their parts. One that the system stops in the middle of a part holds its caller
// up for a time slice, milliseconds, in which a caller alone would be through with a thousand short products.
class Crowding {
  public:
    // Does the caller work alone now? The clock is read only if so.
    bool alone() noexcept {
        if (alone_ && Clock::now() >= until_) alone_ = false;
        return alone_;
    }
    // Around a run with workers: `slept` is how long the caller slept for the last of them. Runs are timed
    // only after one that slept long.
    Clock::time_point begin() noexcept { return watched_ > 0 ? Clock::now() : Clock::time_point(); }
    void end(Clock::time_point begin, Clock::duration slept) noexcept {
        const bool timed = watched_ > 0;
        if (timed) --watched_;
        if (slept < kStall) return;
        watched_ = kWatchedRuns;
        if (!timed) return;
        const Clock::time_point now = Clock::now();
        if (slept <= kFarLonger * (now - slept - begin)) return;
        alone_ = true;
        until_ = now + kAlone;
    }

  private:
    static constexpr std::chrono::milliseconds kStall{1}, kAlone{30};
    static constexpr int kWatchedRuns = 10000;
    static constexpr int kFarLonger = 4;  // a stall than all that the caller did: parts differ by less
    bool alone_ = false;
    int watched_ = 0;  // runs that are still timed
    Clock::time_point until_;
};

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// A word to wait on. Bit 0 says that the waiter sleeps; the rest is the value. One waiter.
struct alignas(64) Word {
    static constexpr std::uint32_t kAsleep = 1;
    std::atomic<std::uint32_t> bits{0};
    std::mutex mutex;
    std::condition_variable changed;

    // Sleeps while the value is still the one of `seen`.
    void sleep_while(std::uint32_t seen) noexcept {
        const std::uint32_t marked = seen | kAsleep;
        if (seen != marked && !bits.compare_exchange_strong(seen, marked)) return;
        std::unique_lock<std::mutex> lock(mutex);
        while (bits.load(std::memory_order_acquire) == marked) changed.wait(lock);
    }
    // Taking the mutex once makes sure that the waiter, which checks the word under it, is really waiting.
    void wake() noexcept {
        { const std::lock_guard<std::mutex> lock(mutex); }
        changed.notify_one();
    }
};

// A line that goes round the workers some times. Nobody waits long: who has waited for too long sends
// everyone home, so that the caller may compute all parts itself.
class Relay {
  public:
    explicit Relay(int workers) noexcept
        : workers_(static_cast<std::uint32_t>(workers)), timed_laps_(workers < kMany ? 4 : 1) {}

    // A worker's part.
    void run(int worker) noexcept {
        std::uint64_t begin = 0;
        for (std::uint32_t lap = 0; lap <= kTimes * timed_laps_; ++lap) {
            const std::uint32_t mine = lap * workers_ + static_cast<std::uint32_t>(worker);
            if (!wait_for(mine)) return;
            if (worker == 0 && lap % timed_laps_ == 0) {
                const std::uint64_t now = monotonic_ns();
                if (lap > 0) shortest_ = std::min(shortest_, now - begin);
                begin = now;
            }
            turn_.store(mine + 1, std::memory_order_release);
        }
        if (worker == 0) complete_ = true;
    }
    // From one worker to the next and back; 0: not all of them came.
    double core_to_core_ns() const noexcept {
        return complete_ ? 2.0 * static_cast<double>(shortest_) / (timed_laps_ * workers_) : 0;
    }

  private:
    // The clock takes as long as the way of few workers that are near: of those several laps are timed at
    // once.
    static constexpr int kMany = 8;
    static constexpr std::uint32_t kTimes = 5, kSentHome = ~0u;
    static constexpr int kLooks = 20000;  // at the line: some 20 microseconds

    bool wait_for(std::uint32_t turn) noexcept {
        for (int i = 0; i < kLooks; ++i) {
            const std::uint32_t now = turn_.load(std::memory_order_acquire);
            if (now == turn) return true;
            if (now == kSentHome) return false;
        }
        turn_.store(kSentHome, std::memory_order_relaxed);
        return false;
    }

    alignas(64) std::atomic<std::uint32_t> turn_{0};  // lap x workers + whose it is
    alignas(64) const std::uint32_t workers_;
    const std::uint32_t timed_laps_;
    std::uint64_t shortest_ = ~std::uint64_t{0};  // of timed_laps_
    bool complete_ = false;
};

// The pieces of one worker's part that nobody has begun: its owner takes the first, others the last.
struct alignas(64) PieceCount {
    std::atomic<std::uint32_t> bits{0};  // the first | one past the last << 16

    void reset(int count) noexcept { bits.store(static_cast<std::uint32_t>(count) << 16, kRelaxed); }
    int left() const noexcept {
        const std::uint32_t now = bits.load(kRelaxed);
        return static_cast<int>(now >> 16) - static_cast<int>(now & 0xffff);
    }
    // Its number, or -1.
    int take(bool first) noexcept {
        std::uint32_t now = bits.load(kRelaxed);
        while ((now & 0xffff) < now >> 16) {
            const std::uint32_t then = first ? now + 1 : now - 0x10000;
            if (bits.compare_exchange_weak(now, then, kRelaxed))
                return static_cast<int>(first ? now & 0xffff : then >> 16);
        }
        return -1;
    }

  private:
    // What a piece reads was there before the offers, and what it writes is counted out behind it.
    static constexpr auto kRelaxed = std::memory_order_relaxed;
};

}  // namespace

struct ThreadPool::State {
    struct Worker {
        static constexpr std::uint32_t kOffered = 2;
        Word offer;  // kOffered: its part of the task in progress, which nobody has begun
        PieceCount pieces;
        pthread_t thread;
        State* state;
        int index;

        // True to one of those who ask: it computes the part.
        bool take() noexcept {
            std::uint32_t offered = kOffered;
            return offer.bits.compare_exchange_strong(offered, 0, std::memory_order_acquire,
                                                      std::memory_order_relaxed);
        }
    };

    // The task in progress: written before the offers, read by those who took one, and stable until the last
    // of them has counted its part out.
    Task task = nullptr;  // NULL: end the thread
    void* data = nullptr;
    int task_workers = 0;
    Observer* observer = nullptr;

    alignas(64) std::atomic<int> hot{0};
    bool may_spin = false;
    Word busy;  // 2 x the number of parts, but the caller's own, that have not ended
    Worker* workers = nullptr;
    int capacity = 0, started = 0;
    PieceCount pieces;  // the caller's
    Crowding crowding;
    double core_to_core_ns = 0, assumed_core_to_core_ns = 0;
    Clock::time_point asked;         // for it, the last time
    ForkMark mark;                   // in a forked child there are no workers
    HeapPtr<HostExecutor> executor;  // NULL: the threads are the pool's own

    PieceCount& pieces_of(int worker) noexcept { return worker == 0 ? pieces : workers[worker - 1].pieces; }

    bool spins() const noexcept { return may_spin && hot.load(std::memory_order_relaxed) > 0; }

    // Waits until finished(bits): spinning for a bounded time if the pool is hot now, then asleep. Returns
    // how long asleep.
    template <class Finished>
    Clock::duration wait(Word& word, Finished finished) noexcept {
        constexpr int kPauses = 32;  // between two looks at the clock
        const auto bits = [&] { return word.bits.load(std::memory_order_acquire); };
        if (spins()) {
            const auto until = Clock::now() + kSpin;
            do {
                for (int i = 0; i < kPauses; ++i) {
                    if (finished(bits())) return {};
                    pause();
                }
            } while (Clock::now() < until);
        } else {
            if (finished(bits())) return {};
            sched_yield();  // with more threads than cores the other side may need this one
        }
        const Clock::time_point begin = Clock::now();
        for (;;) {
            const std::uint32_t seen = bits();
            if (finished(seen)) return Clock::now() - begin;
            word.sleep_while(seen);
        }
    }

    void start_workers(int count, Task new_task, void* new_data, Observer* new_observer) noexcept {
        task = new_task;
        data = new_data;
        task_workers = count + 1;  // the caller is worker 0
        observer = new_observer;
        busy.bits.store(2 * static_cast<std::uint32_t>(count), std::memory_order_relaxed);
        for (int i = 0; i < count; ++i) {
            Word& offer = workers[i].offer;
            if (offer.bits.exchange(Worker::kOffered, std::memory_order_acq_rel) & Word::kAsleep)
                offer.wake();
        }
    }

    // The caller computes what no worker has begun: the last ones first, they were told last. Then it waits
    // for the others. Returns how long it slept for them.
    Clock::duration finish(int count) noexcept {
        std::uint32_t taken = 0;
        for (int i = count - 1; i >= 0; --i) {
            if (!workers[i].take()) continue;
            run_part(i + 1);
            taken += 2;
        }
        if (taken > 0) busy.bits.fetch_sub(taken, std::memory_order_relaxed);
        return wait(busy, [](std::uint32_t bits) { return bits < 2; });
    }

    void run_part(int worker) noexcept {
        const FpEnvironment environment;
        task(data, worker, task_workers);
    }

    void run_observed(int worker) noexcept {
        const std::uint64_t begin = observer != nullptr ? monotonic_ns() : 0;
        run_part(worker);
        if (observer != nullptr) observer->worked(worker, begin, monotonic_ns());
    }

    void run_on_host(int count, Task new_task, void* new_data, Observer* new_observer) noexcept {
        task = new_task;
        data = new_data;
        task_workers = count;
        observer = new_observer;
        const auto part = [](void* state, int worker) noexcept {
            State& self = *static_cast<State*>(state);
            worker == 0 ? self.run_part(worker) : self.run_observed(worker);
        };
        executor->run(count, part, this);
    }

    void count_out() noexcept {
        const std::uint32_t before = busy.bits.fetch_sub(2, std::memory_order_acq_rel);
        if (before == (2 | Word::kAsleep)) busy.wake();
    }

    static void work(Worker& self) noexcept {
        State& state = *self.state;
        for (;;) {
            state.wait(self.offer, [](std::uint32_t bits) { return (bits & Worker::kOffered) != 0; });
            if (!self.take()) continue;  // the caller was faster
            if (state.task == nullptr) return;
            state.run_observed(self.index);
            state.count_out();
        }
    }

    static void* thread_main(void* worker) {
        work(*static_cast<Worker*>(worker));
        return nullptr;
    }

    int start_thread(Worker& worker) noexcept;
    void stop() noexcept;
};

int ThreadPool::State::start_thread(Worker& worker) noexcept {
    char name[24];
    std::snprintf(name, sizeof name, "volta-%d", worker.index);
    return start_quiet_thread(worker.thread, kStackBytes, thread_main, &worker, name);
}

void ThreadPool::State::stop() noexcept {
    start_workers(started, nullptr, nullptr, nullptr);
    for (int i = 0; i < started; ++i) pthread_join(workers[i].thread, nullptr);
}

ThreadPool::ThreadPool(int thread_count, std::pmr::memory_resource* heap, const ParallelFor& host)
    : state_(nullptr), heap_(heap), thread_count_(thread_count) {
    require(thread_count >= 1, "a thread pool needs at least 1 thread, not %d", thread_count);
    state_ = new (heap->allocate(sizeof(State), alignof(State))) State;
    state_->may_spin = thread_count <= host_cpu().logical_cores;
    try {
        if (host.function != nullptr)
            state_->executor = make_on<HostExecutor>(heap, host, thread_count, heap);
        create_workers();
    } catch (...) {
        release();
        throw;
    }
}

ThreadPool::~ThreadPool() { release(); }

void ThreadPool::create_workers() {
    State& state = *state_;
    const int count = thread_count_ - 1;
    if (count == 0) return;
    void* place =
        heap_->allocate(sizeof(State::Worker) * static_cast<std::size_t>(count), alignof(State::Worker));
    state.workers = static_cast<State::Worker*>(place);
    state.capacity = count;
    for (int i = 0; i < count; ++i) new (&state.workers[i]) State::Worker;
    for (int i = 0; i < count; ++i) {
        state.workers[i].state = state_;
        state.workers[i].index = i + 1;
        if (state.executor) continue;  // it has pieces, and no thread
        if (const int error = state.start_thread(state.workers[i]))
            fail(VOLTA_OUT_OF_MEMORY, "the system refused thread %d of %d (error %d)", i + 2, thread_count_,
                 error);
        ++state.started;
    }
}

// In a forked child nothing is joined, and no mutex or condition is destroyed: threads that the child does
// not have may hold or await them, for ever.
void ThreadPool::release() noexcept {
    State& state = *state_;
    state.executor.reset();
    const bool has_workers = !state.mark.in_child();
    if (has_workers) state.stop();
    for (int i = 0; has_workers && i < state.capacity; ++i) state.workers[i].~Worker();
    if (state.workers != nullptr)
        heap_->deallocate(state.workers, sizeof(State::Worker) * static_cast<std::size_t>(state.capacity),
                          alignof(State::Worker));
    if (has_workers)
        state_->~State();
    else
        state_->mark.~ForkMark();
    heap_->deallocate(state_, sizeof(State), alignof(State));
}

void ThreadPool::run(int workers, Task task, void* data) noexcept {
    const int count = std::clamp(workers, 1, thread_count_);
    if (count == 1 || state_->mark.in_child() || state_->crowding.alone()) {
        for (int worker = 0; worker < count; ++worker) {
            const FpEnvironment environment;
            task(data, worker, count);
        }
        return;
    }
    if (state_->executor) return state_->run_on_host(count, task, data, observer_);
    const Clock::time_point begin = state_->crowding.begin();
    state_->start_workers(count - 1, task, data, observer_);
    state_->run_part(0);
    state_->crowding.end(begin, state_->finish(count - 1));
}

bool ThreadPool::is_of_host() const noexcept { return static_cast<bool>(state_->executor); }

bool ThreadPool::host_has_failed() const noexcept {
    return state_->executor && state_->executor->has_failed();
}

void ThreadPool::check_host() {
    if (state_->executor) state_->executor->check();
}

// A host's threads are not measured: parts on them may run one after the other.
double ThreadPool::core_to_core_ns() noexcept {
    constexpr std::chrono::milliseconds kAge{20};
    if (state_->assumed_core_to_core_ns > 0) return state_->assumed_core_to_core_ns;
    const Clock::time_point now = Clock::now();
    if (thread_count_ == 1 || state_->executor || state_->mark.in_child() || now - state_->asked < kAge)
        return state_->core_to_core_ns;
    state_->asked = now;
    Relay relay(thread_count_);
    run(thread_count_, [&](int worker, int) noexcept { relay.run(worker); });
    if (const double ns = relay.core_to_core_ns(); ns > 0) state_->core_to_core_ns = ns;
    return state_->core_to_core_ns;
}

void ThreadPool::assume_core_to_core_ns(double ns) noexcept { state_->assumed_core_to_core_ns = ns; }

namespace {

int pieces_in(Range part, long long grain) noexcept {
    const long long grains = (part.end - part.begin + grain - 1) / grain;
    return static_cast<int>(std::min<long long>(grains, kPieces));
}

}  // namespace

ThreadPool::Sharing ThreadPool::begin_stealing(int workers, long long count, long long grain) noexcept {
    Sharing sharing = {count, grain, std::clamp(workers, 1, thread_count_), false};
    if (sharing.workers == 1) return sharing;
    for (int worker = 0; worker < sharing.workers; ++worker) {
        const int pieces = pieces_in(part_of(count, grain, worker, sharing.workers), grain);
        state_->pieces_of(worker).reset(pieces);
        sharing.in_pieces = sharing.in_pieces || pieces > 1;
    }
    return sharing;
}

bool ThreadPool::WorkItems::next(Range* piece) noexcept {
    const long long count = sharing_.count, grain = sharing_.grain;
    if (!sharing_.in_pieces) {
        *piece = part_of(count, grain, worker_, sharing_.workers);
        return !std::exchange(had_part_, true);
    }
    State& state = *pool_.state_;
    int owner = worker_, taken = state.pieces_of(worker_).take(true);
    while (taken < 0) {
        int most = 0;
        for (int other = 0; other < sharing_.workers; ++other) {
            const int left = state.pieces_of(other).left();
            if (left > most) most = left, owner = other;
        }
        if (most == 0) return false;
        taken = state.pieces_of(owner).take(false);
    }
    const Range part = part_of(count, grain, owner, sharing_.workers);
    const Range cut = part_of(part.end - part.begin, grain, taken, pieces_in(part, grain));
    *piece = {part.begin + cut.begin, part.begin + cut.end};
    return true;
}

void ThreadPool::begin_hot() noexcept { state_->hot.fetch_add(1, std::memory_order_relaxed); }

void ThreadPool::end_hot() noexcept { state_->hot.fetch_sub(1, std::memory_order_relaxed); }

bool ThreadPool::was_left_amid() const noexcept {
    return state_->mark.in_child() && state_->hot.load(std::memory_order_relaxed) > 0;
}

Range part_of(long long count, long long grain, int worker, int worker_count) noexcept {
    const long long grains = count / grain + (count % grain != 0);
    const long long each = grains / worker_count,
                    longer = grains % worker_count;  // the first ones take one more
    const auto cut = [&](long long w) {
        const long long before = w * each + std::min(w, longer);
        return before >= grains ? count : before * grain;
    };
    return {cut(worker), cut(worker + 1)};
}

}  // namespace volta
