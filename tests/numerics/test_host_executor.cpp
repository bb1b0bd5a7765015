// Parts on a host's threads: each once, ended and seen by the caller when a run returns, whatever the host's
// function does; what it did wrong is told once.
#include "engine/base/host_executor.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/thread_pool.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

auto* const kHeap = std::pmr::new_delete_resource();
constexpr int kParts = 6;

// How a host calls the parts.
struct Host {
    void (*run)(Host& host, std::uint32_t count, void (*part)(void*, std::uint32_t), void* part_user);
    std::vector<std::thread> left;  // threads that run on behind the call
    int calls = 0;
    std::atomic<std::uint32_t> begun{0};  // parts that say so
};

void call(void* user, std::uint32_t count, void (*part)(void*, std::uint32_t), void* part_user) {
    Host& host = *static_cast<Host*>(user);
    ++host.calls;
    host.run(host, count, part, part_user);
}

void on_threads(Host&, std::uint32_t count, void (*part)(void*, std::uint32_t), void* part_user) {
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < count; ++i) threads.emplace_back(part, part_user, i);
    for (std::thread& thread : threads) thread.join();
}

void leaving_all_out(Host&, std::uint32_t, void (*)(void*, std::uint32_t), void*) {}

void twice_on_threads(Host& host, std::uint32_t count, void (*part)(void*, std::uint32_t), void* part_user) {
    on_threads(host, count, part, part_user);
    on_threads(host, count, part, part_user);
}

void beyond_the_end(Host& host, std::uint32_t count, void (*part)(void*, std::uint32_t), void* part_user) {
    on_threads(host, count, part, part_user);
    part(part_user, count);
    part(part_user, 4000000000u);
}

// Where threads are quick all parts may have run when it returns: of the first task it leaves the last one
// out.
void returning_early(Host& host, std::uint32_t count, void (*part)(void*, std::uint32_t), void* part_user) {
    if (host.calls == 1) --count;
    for (std::uint32_t i = 0; i < count; ++i) host.left.emplace_back(part, part_user, i);
}

void returning_when_all_have_begun(Host& host, std::uint32_t count, void (*part)(void*, std::uint32_t),
                                   void* part_user) {
    host.begun = 0;
    for (std::uint32_t i = 0; i < count; ++i) host.left.emplace_back(part, part_user, i);
    while (host.begun != count) std::this_thread::yield();
}

void throwing_in_the_middle(Host&, std::uint32_t count, void (*part)(void*, std::uint32_t), void* part_user) {
    for (std::uint32_t i = 0; i < count / 2; ++i) part(part_user, i);
    throw std::runtime_error("no more threads");
}

// Runs `rounds` tasks; true if each part of each ran once. Counts without an atomic: the caller reads them.
bool every_part_runs_once(ThreadPool& pool, int rounds) {
    int counts[kParts] = {};
    for (int round = 1; round <= rounds; ++round) {
        pool.run(kParts, [&](int worker, int) noexcept { ++counts[worker]; });
        for (const int count : counts)
            if (count != round) return false;
    }
    return true;
}

// What the pool says of a host that runs its parts so; "" for nothing. Everything is whole in spite of it.
std::string told_of(decltype(Host::run) run, volta_status* status) {
    std::string text;
    bool whole = false, again = false;
    Host host = {run, {}, 0, {}};
    {
        ThreadPool pool(kParts, kHeap, {call, &host});
        whole = every_part_runs_once(pool, 50);
        try {
            pool.check_host();
        } catch (const Error& error) {
            text = error.what();
            *status = error.status();
        }
        again = pool.host_has_failed();
        for (std::thread& thread : host.left) thread.join();
    }
    assert_true(whole);
    assert_false(again);  // it is told once
    assert_int_equal(host.calls, 50);
    return text;
}

void test_parts_run_once_and_are_seen(void**) {
    volta_status status = VOLTA_OK;
    const std::string text = told_of(on_threads, &status);
    assert_string_equal(text.c_str(), "");
}

void test_what_a_host_does_wrong_is_told(void**) {
    const struct {
        decltype(Host::run) run;
        volta_status status;
        const char* text;
    } rows[] = {
        {leaving_all_out, VOLTA_INVALID_STATE, "the host's parallel_for returned without 6 of its 6 parts"},
        {twice_on_threads, VOLTA_INVALID_STATE, ", which had been run or is none"},
        {beyond_the_end, VOLTA_INVALID_STATE,
         "asked for part 4000000000 of 6, which had been run or is none"},
        {returning_early, VOLTA_INVALID_STATE, "the host's parallel_for returned without "},
        {throwing_in_the_middle, VOLTA_CANCELLED,
         "the host's parallel_for threw an exception: no more threads"},
    };
    for (const auto& row : rows) {
        volta_status status = VOLTA_OK;
        const std::string text = told_of(row.run, &status);
        if (text.find(row.text) == std::string::npos) print_error("it says '%s'\n", text.c_str());
        assert_true(text.find(row.text) != std::string::npos);
        assert_int_equal(status, row.status);
    }
}

// The parts take a while behind the call: on a machine that is slow to go on, some round sees it.
void test_parts_that_end_behind_the_call_are_told(void**) {
    Host host = {returning_when_all_have_begun, {}, 0, {}};
    Failure failure;
    std::atomic<int> ended{0};
    int rounds = 0;
    bool whole = true;
    {
        ThreadPool pool(kParts, kHeap, {call, &host});
        while (failure.status == VOLTA_OK && rounds++ < 100) {
            pool.run(kParts, [&](int, int) noexcept {
                ++host.begun;
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                ++ended;
            });
            whole = whole && ended == rounds * kParts;
            failure = failure_of([&] { pool.check_host(); });
        }
        for (std::thread& thread : host.left) thread.join();
    }
    assert_true(whole);
    assert_failure(failure, VOLTA_INVALID_STATE, "the host's parallel_for returned before ");
    assert_failure(failure, VOLTA_INVALID_STATE, " of its 6 parts had ended");
}

// Work in pieces: a part that comes last finds none left, one that runs alone takes all.
void test_shared_items_are_given_out_once(void**) {
    for (const auto run : {on_threads, leaving_all_out}) {
        Host host = {run, {}, 0, {}};
        std::vector<int> given(1000, 0);
        {
            ThreadPool pool(kParts, kHeap, {call, &host});
            pool.run_stealing(kParts, 1000, 3, [&](int, ThreadPool::WorkItems& items) noexcept {
                for (Range piece; items.next(&piece);)
                    for (long long i = piece.begin; i < piece.end; ++i) ++given[static_cast<std::size_t>(i)];
            });
        }
        bool once = true;
        for (const int count : given) once = once && count == 1;
        assert_true(once);
    }
}

void test_one_part_needs_no_host(void**) {
    Host host = {on_threads, {}, 0, {}};
    ThreadPool pool(kParts, kHeap, {call, &host});
    int ran = 0;
    pool.run(1, [&](int, int) noexcept { ++ran; });
    assert_int_equal(ran, 1);
    assert_int_equal(host.calls, 0);
    assert_true(pool.core_to_core_ns() == 0);  // nobody measures a host's threads
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_run_once_and_are_seen),
        cmocka_unit_test(test_what_a_host_does_wrong_is_told),
        cmocka_unit_test(test_parts_that_end_behind_the_call_are_told),
        cmocka_unit_test(test_shared_items_are_given_out_once),
        cmocka_unit_test(test_one_part_needs_no_host),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
