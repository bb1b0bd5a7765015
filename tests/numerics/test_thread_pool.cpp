// Worker threads: every part runs once per task, whatever the thread count, hot or cold, and whoever computes
// it; the environment of tasks; and what an idle pool costs (nothing).
#include "engine/base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <stdexcept>

#include "engine/base/cpu_info.h"
#include "engine/base/fp_environment.h"
#include "engine/base/log.h"
#include "engine/base/side_thread.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

auto* const kHeap = std::pmr::new_delete_resource();

// ---- The partition
// -----------------------------------------------------------------------------------------

void test_parts_cover_all_items_on_grains(void**) {
    for (const long long count : {0, 1, 7, 64, 1000, 1001})
        for (const long long grain : {1, 3, 16, 2000})
            for (const int workers : {1, 2, 3, 7, 64}) {
                long long next = 0, least = count, most = 0;  // in grains, of which the last may be cut short
                for (int w = 0; w < workers; ++w) {
                    const Range part = part_of(count, grain, w, workers);
                    assert_true(part.begin == next && part.end >= part.begin);
                    assert_true(part.end == count || part.end % grain == 0);
                    next = part.end;
                    const long long grains = (part.end - part.begin + grain - 1) / grain;
                    least = std::min(least, grains), most = std::max(most, grains);
                }
                assert_true(next == count && most - least <= 1);
            }
}

// ---- Running
// -----------------------------------------------------------------------------------------------

void sleep_milliseconds(long milliseconds) {
    const timespec t = {0, milliseconds * 1000000};
    nanosleep(&t, nullptr);
}

constexpr int kMost = 64;

// Runs `rounds` tasks of changing width and says whether each worker ran exactly as often as it should.
bool every_worker_runs_once(ThreadPool& pool, int rounds) {
    long long expected[kMost] = {}, counts[kMost] = {};
    bool widths_agree = true;
    for (int round = 0; round < rounds; ++round) {
        const int asked = round % 3 == 2 ? 1 + round % pool.thread_count() : pool.thread_count();
        std::atomic<int> ran{0};
        pool.run(asked, [&](int worker, int workers) noexcept {
            ++counts[worker];  // without an atomic: each has its own, and a run ends before the next begins
            if (workers == asked) ran.fetch_add(1, std::memory_order_relaxed);
        });
        widths_agree = widths_agree && ran.load() == asked;
        for (int w = 0; w < asked; ++w) ++expected[w];
    }
    return widths_agree && memcmp(expected, counts, sizeof counts) == 0;
}

constexpr struct Row {
    const char* name;
    int threads, rounds;
    bool hot;
} kRows[] = {
    {"1 thread", 1, 1000, true},         {"2 threads, hot", 2, 20000, true},
    {"2 threads, cold", 2, 2000, false}, {"3 threads, hot", 3, 1000, true},
    {"7 threads, hot", 7, 500, true},    {"7 threads, cold", 7, 500, false},
    {"64 threads, hot", 64, 100, true},
};

void test_every_worker_runs_once_per_task(void** state) {
    const Row& row = *static_cast<const Row*>(*state);
    bool right;
    {
        ThreadPool pool(row.threads, kHeap);
        if (row.hot) pool.begin_hot();
        right = every_worker_runs_once(pool, row.rounds);
        if (row.hot) pool.end_hot();
        right = right && every_worker_runs_once(pool, 20);  // and after the plan
    }
    assert_true(right);
}

void test_width_is_cut_to_the_thread_count(void**) {
    ThreadPool pool(2, kHeap);
    std::atomic<int> ran{0}, width{0};
    pool.run(100, [&](int, int workers) noexcept { ran.fetch_add(1), width.store(workers); });
    assert_true(ran.load() == 2 && width.load() == 2);
    pool.run(0, [&](int, int workers) noexcept { ran.fetch_add(1), width.store(workers); });
    assert_true(ran.load() == 3 && width.load() == 1);
}

// Keeps the caller in its part until workers have begun all the others.
class Meeting {
  public:
    void attend(int worker, int workers) noexcept {
        if (worker > 0) begun_.fetch_add(1);
        while (worker == 0 && begun_.load() < workers - 1) sched_yield();
    }

  private:
    std::atomic<int> begun_{0};
};

// Workers that have not begun hold nobody up: those of a cold pool need longer to wake than a caller needs
// for parts as short as these.
void test_the_caller_takes_parts_that_no_worker_has_begun(void**) {
    ThreadPool pool(16, kHeap);
    const pthread_t caller = pthread_self();
    int by_caller = 0, rounds = 0;
    for (bool whole = true; whole && rounds < 200; ++rounds) {
        bool own[16] = {};
        int ran[16] = {};
        pool.run(16, [&](int worker, int) noexcept {
            ++ran[worker];
            own[worker] = pthread_equal(pthread_self(), caller) != 0;
        });
        for (int w = 0; w < 16; ++w) whole = whole && ran[w] == 1;
        for (int w = 1; w < 16; ++w) by_caller += own[w];
        assert_true(whole && own[0]);
    }
    assert_true(by_caller > rounds);
}

void test_workers_take_their_parts_of_a_caller_that_is_busy(void**) {
    ThreadPool pool(4, kHeap);
    const pthread_t caller = pthread_self();
    bool own[4] = {};
    for (int round = 0; round < 20; ++round) {
        Meeting meeting;
        pool.run(4, [&](int worker, int workers) noexcept {
            own[worker] = pthread_equal(pthread_self(), caller) != 0;
            meeting.attend(worker, workers);
        });
        assert_true(own[0] && !own[1] && !own[2] && !own[3]);
    }
}

// Says whether every item was given out once, in pieces that are whole grains of one worker's part.
bool every_item_is_given_out_once(ThreadPool& pool, int workers, long long count, long long grain) {
    std::pmr::vector<std::atomic<int>> given(static_cast<std::size_t>(count), kHeap);
    std::atomic<bool> whole{true};
    pool.run_stealing(workers, count, grain, [&](int worker, ThreadPool::WorkItems& items) noexcept {
        if (worker < 0 || worker >= workers) whole.store(false);
        for (Range piece; items.next(&piece);) {
            const auto on_grain = [&](long long cut) { return cut == count || cut % grain == 0; };
            const bool on_grains = on_grain(piece.begin) && on_grain(piece.end);
            if (!on_grains || piece.begin > piece.end || piece.end > count) return whole.store(false);
            for (long long i = piece.begin; i < piece.end; ++i)
                given[static_cast<std::size_t>(i)].fetch_add(1);
        }
    });
    bool once = true;
    for (const std::atomic<int>& times : given) once = once && times.load() == 1;
    return once && whole.load();
}

void test_shared_items_are_given_out_once(void**) {
    for (const int threads : {1, 2, 3, 16}) {
        ThreadPool pool(threads, kHeap);
        pool.begin_hot();
        bool right = true;
        for (const long long count : {0, 1, 2, 31, 33, 64, 1000, 4099})
            for (const long long grain : {1, 3, 16, 2000})
                for (int round = 0; round < 10; ++round)
                    right = right && every_item_is_given_out_once(pool, threads, count, grain) &&
                            every_item_is_given_out_once(pool, 1, count, grain);
        pool.end_hot();
        assert_true(right);
    }
}

// A worker that does not get on with its first piece keeps that one; the other does everything else.
void test_a_slow_worker_keeps_one_piece(void**) {
    constexpr int kItems = 64, kMostWaits = 2000;  // milliseconds
    ThreadPool pool(2, kHeap);
    const pthread_t caller = pthread_self();
    std::atomic<int> done{0}, by_worker{0};
    pool.run_stealing(2, kItems, 1, [&](int, ThreadPool::WorkItems& items) noexcept {
        const bool is_caller = pthread_equal(pthread_self(), caller) != 0;
        for (Range piece; items.next(&piece);) {
            const int count = static_cast<int>(piece.end - piece.begin);
            if (!is_caller) by_worker.fetch_add(count);
            const auto waits = [&] {
                return is_caller ? by_worker.load() == 0 : done.load() < kItems - count;
            };
            for (int i = 0; i < kMostWaits && waits(); ++i) sleep_milliseconds(1);
            done.fetch_add(count);
        }
    });
    assert_int_equal(done.load(), kItems);
    assert_int_equal(by_worker.load(), 1);
}

// A worker that is stopped in the middle of short parts: the caller gives it none for a while, then tries
// again.
void test_the_caller_works_alone_where_workers_are_stopped(void**) {
    ThreadPool pool(2, kHeap);
    const pthread_t caller = pthread_self();
    bool alone = false;
    for (int round = 0; round < 50 && !alone; ++round) {
        std::atomic<bool> begun{false};
        pool.run(2, [&](int worker, int) noexcept {
            const bool is_caller = pthread_equal(pthread_self(), caller) != 0;
            if (worker == 1 && is_caller) alone = !begun.load();
            if (worker == 1) begun.store(true);
            if (!is_caller) sleep_milliseconds(20);
            for (int i = 0; is_caller && worker == 0 && i < 1000 && !begun.load(); ++i) sched_yield();
        });
    }
    assert_true(alone);
    sleep_milliseconds(50);
    Meeting meeting;
    pool.run(2, [&](int worker, int workers) noexcept { meeting.attend(worker, workers); });
}

// Every part that a worker computed is told of, with its own time; without an observer nobody is asked.
struct Parts final : ThreadPool::Observer {
    std::atomic<int> count{0}, workers{0};
    std::atomic<bool> ordered{true};
    void worked(int worker, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept override {
        count.fetch_add(1), workers.fetch_add(1 << (4 * worker));
        if (worker < 1 || end_ns < begin_ns + 1000000) ordered.store(false);
    }
};

void test_observers_are_told_of_workers(void**) {
    Parts parts;
    {
        ThreadPool pool(3, kHeap);
        const auto sleep_on = [&](int workers) {
            Meeting meeting;
            pool.run(workers, [&](int worker, int count) noexcept {
                meeting.attend(worker, count);
                sleep_milliseconds(2);
            });
        };
        sleep_on(3);
        pool.observe(&parts);
        sleep_on(3);
        sleep_on(2);
        sleep_on(1);
        pool.observe(nullptr);
        sleep_on(3);
    }
    assert_int_equal(parts.count.load(), 3);
    assert_int_equal(parts.workers.load(), 0x120);
    assert_true(parts.ordered.load());
}

// What a task wrote is there when run() returns, and what the caller wrote before is there in the task.
void test_memory_is_handed_over(void**) {
    ThreadPool pool(4, kHeap);
    pool.begin_hot();
    int in[4] = {}, out[4] = {};
    bool right = true;
    for (int round = 0; round < 2000 && right; ++round) {
        for (int& value : in) value = round;
        pool.run(4, [&](int worker, int) noexcept { out[worker] = in[worker] * 2 + worker; });
        for (int w = 0; w < 4; ++w) right = right && out[w] == round * 2 + w;
    }
    pool.end_hot();
    assert_true(right);
}

// ---- Environment and manners
// -------------------------------------------------------------------------------

void test_tasks_run_in_the_contracts_environment(void**) {
    const FpEnvironment hostile(0xffc0);  // the host flushes, rounds toward zero
    ThreadPool pool(3, kHeap);            // and its threads would inherit that
    unsigned seen[3] = {};
    alignas(FpEnvironment) unsigned char spoiled[3][sizeof(FpEnvironment)];
    float products[3] = {};
    volatile float tiny = 1e-40f, half = 0.5f;
    for (int round = 0; round < 2; ++round)
        pool.run(3, [&](int worker, int) noexcept {
            seen[worker] = FpEnvironment::current();
            products[worker] = tiny * half;
            new (spoiled[worker])
                FpEnvironment(0xffc0);  // never destroyed: the task leaves its thread spoiled
        });
    assert_int_equal(FpEnvironment::current() & 0xffc0u, 0xffc0);
    for (int w = 0; w < 3; ++w) assert_true(seen[w] == kContractMxcsr && bits_of(products[w]) != 0);
}

void test_workers_block_all_signals(void**) {
    ThreadPool pool(2, kHeap);
    int blocked[2] = {-1, -1};
    Meeting meeting;
    pool.run(2, [&](int worker, int workers) noexcept {
        meeting.attend(worker, workers);
        sigset_t set;
        pthread_sigmask(SIG_SETMASK, nullptr, &set);
        blocked[worker] = sigismember(&set, SIGINT) + sigismember(&set, SIGALRM) + sigismember(&set, SIGTERM);
    });
    assert_true(blocked[0] == 0 && blocked[1] == 3);
}

// Moves the calling thread to the last of the processors that it may run on, or to the first.
void move_to_end(const cpu_set_t& allowed, bool last) {
    cpu_set_t one;
    CPU_ZERO(&one);
    int cpu = last ? CPU_SETSIZE - 1 : 0;
    while (!CPU_ISSET(cpu, &allowed)) cpu += last ? -1 : 1;
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

// Threads that run side by side give an answer within some tries, on a busy machine too.
void test_the_distance_of_cores_is_measured(void**) {
    cpu_set_t allowed;
    pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed);
    if (CPU_COUNT(&allowed) < 2) skip();
    ThreadPool pool(2, kHeap);
    Meeting first;
    pool.run(2, [&](int worker, int workers) noexcept {
        first.attend(worker, workers);
        move_to_end(allowed, worker == 1);
    });
    pool.begin_hot();
    double ns = 0;
    for (int tries = 0; ns == 0 && tries < 500; ++tries) {
        sleep_milliseconds(21);  // no answer is kept as long
        Meeting meeting;         // behind which the worker is awake
        pool.run(2, [&](int worker, int workers) noexcept { meeting.attend(worker, workers); });
        ns = pool.core_to_core_ns();
    }
    const double kept = pool.core_to_core_ns();  // for 20 ms
    pool.assume_core_to_core_ns(321);
    const double assumed = pool.core_to_core_ns();
    pool.end_hot();
    pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
    assert_true(ns > 1 && ns < 1e6);
    assert_true(kept > 1 && kept < 1e6);
    assert_true(assumed == 321);
}

// One thread has no distance; where there are more threads than cores some do not come in time, and nobody
// waits.
void test_the_distance_of_cores_may_be_unknown(void**) {
    ThreadPool one(1, kHeap);
    assert_true(one.core_to_core_ns() == 0);
    ThreadPool many(64, kHeap);
    for (int tries = 0; tries < 5; ++tries) {
        assert_true(many.core_to_core_ns() >= 0);
        assert_true(every_worker_runs_once(many, 3));
        sleep_milliseconds(21);
    }
}

double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Who spins uses all of a wait, who sleeps next to nothing of it, on a slow machine too.
constexpr long kWait = 200;                      // milliseconds
constexpr double kMostUsed = 1e-3 * kWait / 10;  // seconds of processor time

// After the last task, between plans and inside one, workers end up asleep.
void test_idle_pool_uses_no_processor_time(void**) {
    for (const bool hot : {false, true}) {
        ThreadPool pool(2, kHeap);
        if (hot) pool.begin_hot();
        every_worker_runs_once(pool, 100);
        sleep_milliseconds(20);  // the bounded time of spinning is long over
        const double before = cpu_seconds();
        sleep_milliseconds(kWait);
        const double used = cpu_seconds() - before;
        if (hot) pool.end_hot();
        assert_true(used < kMostUsed);
    }
}

// A long task of one worker: the others, and the caller, wait asleep.
void test_waiting_for_a_long_task_uses_no_processor_time(void**) {
    ThreadPool pool(2, kHeap);
    pool.begin_hot();
    const double before = cpu_seconds();
    pool.run(2, [](int worker, int) noexcept {
        if (worker == 1) sleep_milliseconds(kWait);
    });
    const double used = cpu_seconds() - before;
    pool.end_hot();
    assert_true(used < kMostUsed);
}

// ---- Creation
// ----------------------------------------------------------------------------------------------

#if defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct CountingHeap final : std::pmr::memory_resource {
    long long live = 0, calls = 0, refuse_at = -1;
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        if (calls++ == refuse_at) throw std::bad_alloc();
        live += static_cast<long long>(size);
        return kHeap->allocate(size, alignment);
    }
    void do_deallocate(void* pointer, std::size_t size, std::size_t alignment) override {
        live -= static_cast<long long>(size);
        kHeap->deallocate(pointer, size, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

void test_running_allocates_nothing_and_the_end_leaks_nothing(void**) {
    CountingHeap heap;
    long long at_creation, after_runs;
    {
        ThreadPool pool(3, &heap);
        at_creation = heap.calls;
        every_worker_runs_once(pool, 50);
        after_runs = heap.calls;
    }
    assert_true(at_creation == after_runs && heap.live == 0);
}

void test_refused_memory_leaves_nothing(void**) {
    for (int at = 0; at < 2; ++at) {
        CountingHeap heap;
        heap.refuse_at = at;
        bool thrown = false;
        try {
            ThreadPool pool(3, &heap);
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        assert_true(thrown && heap.live == 0);
    }
    const Failure failure = failure_of([] { ThreadPool pool(0, kHeap); });
    assert_failure(failure, VOLTA_INVALID_ARGUMENT, "at least 1 thread, not 0");
}

// The system refuses threads: those that were started end, and the error says which one failed.
// ---- Forked children and hosts that throw -------------------------------------------------------------

// What a child does with a pool that it inherited, and the pool's end. True: it did all and ended by itself.
bool child_ends_well(ThreadPool* pool, bool may_compute) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool fine = true;
        if (may_compute) {
            std::atomic<int> parts{0}, done{0};
            pool->run(4, [&](int, int) noexcept { ++parts; });
            pool->run_stealing(4, 1000, 3, [&](int, ThreadPool::WorkItems& items) noexcept {
                for (Range piece; items.next(&piece);) done += static_cast<int>(piece.end - piece.begin);
            });
            pool->core_to_core_ns();
            fine = parts == 4 && done == 1000;
        }
        pool->~ThreadPool();
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void test_a_forked_child_has_no_workers(void**) {
    ThreadPool pool(4, kHeap);
    assert_true(child_ends_well(&pool, true));  // workers that have done nothing yet
    for (int i = 0; i < 20; ++i) {
        pool.begin_hot();
        pool.run(4, [](int, int) noexcept {});
        assert_true(child_ends_well(&pool, true));  // spinning, or on their way to sleep
        pool.end_hot();
    }
    std::atomic<int> parts{0};
    pool.run(4, [&](int, int) noexcept { ++parts; });  // the parent's are as they were
    assert_true(parts == 4);
}

// Another thread runs the pool while this one forks: the child can end it.
void test_a_forked_child_ends_a_pool_that_was_running(void**) {
    struct Shared {
        ThreadPool pool{4, kHeap};
        std::atomic<bool> stop{false};
    } shared;
    pthread_t runner;
    const auto run = [](void* data) -> void* {
        auto& own = *static_cast<Shared*>(data);
        while (!own.stop) own.pool.run(4, [](int, int) noexcept {});
        return nullptr;
    };
    assert_int_equal(pthread_create(&runner, nullptr, run, &shared), 0);
    bool fine = true;
    for (int i = 0; i < 20; ++i) fine = child_ends_well(&shared.pool, false) && fine;
    shared.stop = true;
    pthread_join(runner, nullptr);
    assert_true(fine);
}

// The thread beside it is not there: who waits for the task runs it.
void test_a_forked_child_runs_its_side_tasks_itself(void**) {
    SideThread side;
    struct Ran {
        pthread_t by;
        int times;
    } ran = {};
    const auto task = [](void* data) noexcept {
        Ran& own = *static_cast<Ran*>(data);
        own = {pthread_self(), own.times + 1};
    };
    side.start(task, &ran);
    side.wait();
    assert_true(ran.times == 1 && pthread_equal(ran.by, pthread_self()) == 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        side.start(task, &ran);
        const int before = ran.times;
        side.wait();
        side.wait();  // none is left
        _exit(before == 1 && ran.times == 2 && pthread_equal(ran.by, pthread_self()) != 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void test_a_log_that_throws_does_so_in_no_worker(void**) {
    std::atomic<int> lines{0};
    Log log;
    log.write = [](void* user, int32_t, const char*) {
        ++*static_cast<std::atomic<int>*>(user);
        throw std::runtime_error("the host's own");
    };
    log.user = &lines;
    ThreadPool pool(4, kHeap);
    for (int i = 0; i < 50; ++i) pool.run(4, [&](int worker, int) noexcept { log(0, "worker %d", worker); });
    assert_int_equal(lines.load(), 200);
}

void test_refused_thread_is_an_error(void**) {
    if (kSanitized) skip();  // sanitizers reserve terabytes of address space
    rlimit before, tight;
    getrlimit(RLIMIT_AS, &before);
    tight = before;
    tight.rlim_cur = 256u << 20;
    CountingHeap heap;
    setrlimit(RLIMIT_AS, &tight);
    const Failure failure = failure_of([&] { ThreadPool pool(2000, &heap); });
    setrlimit(RLIMIT_AS, &before);
    assert_failure(failure, VOLTA_OUT_OF_MEMORY, "the system refused thread");
    assert_true(heap.live == 0);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_cover_all_items_on_grains),
        cmocka_unit_test(test_width_is_cut_to_the_thread_count),
        cmocka_unit_test(test_the_caller_takes_parts_that_no_worker_has_begun),
        cmocka_unit_test(test_workers_take_their_parts_of_a_caller_that_is_busy),
        cmocka_unit_test(test_shared_items_are_given_out_once),
        cmocka_unit_test(test_a_slow_worker_keeps_one_piece),
        cmocka_unit_test(test_the_caller_works_alone_where_workers_are_stopped),
        cmocka_unit_test(test_observers_are_told_of_workers),
        cmocka_unit_test(test_memory_is_handed_over),
        cmocka_unit_test(test_tasks_run_in_the_contracts_environment),
        cmocka_unit_test(test_workers_block_all_signals),
        cmocka_unit_test(test_the_distance_of_cores_is_measured),
        cmocka_unit_test(test_the_distance_of_cores_may_be_unknown),
        cmocka_unit_test(test_idle_pool_uses_no_processor_time),
        cmocka_unit_test(test_waiting_for_a_long_task_uses_no_processor_time),
        cmocka_unit_test(test_running_allocates_nothing_and_the_end_leaks_nothing),
        cmocka_unit_test(test_refused_memory_leaves_nothing),
        cmocka_unit_test(test_a_forked_child_has_no_workers),
        cmocka_unit_test(test_a_forked_child_ends_a_pool_that_was_running),
        cmocka_unit_test(test_a_forked_child_runs_its_side_tasks_itself),
        cmocka_unit_test(test_a_log_that_throws_does_so_in_no_worker),
        cmocka_unit_test(test_refused_thread_is_an_error),
    };
    return run_rows("thread pool: rows", kRows, test_every_worker_runs_once_per_task,
                    [](const Row& row) { return row.name; }) +
           cmocka_run_group_tests_name("thread pool", tests, nullptr, nullptr);
}
