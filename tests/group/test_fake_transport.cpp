// The transport that tests of groups use (tests/support/fake_transport.h), through the engine's host
// transport: what a fault does to it is what tests elsewhere rely on.
#include <functional>
#include <thread>

#include "engine/group/group.h"
#include "tests/support/errors.h"
#include "tests/support/fake_transport.h"

using namespace volta;
using namespace volta::test;

namespace {

GroupRef join(FakeTransport& transport, std::uint32_t rank, std::uint32_t size) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = "host";
    options.rank = rank;
    options.size = size;
    options.exchange = FakeTransport::exchange;
    options.user = transport.user(rank);
    return open_group(options, std::pmr::new_delete_resource());
}

// Each rank in a thread of its own: `steps` exchanges with rank ^ 1, rank ^ 2, ... in turn. What each failed
// with, and whether what came was what its peer sent.
struct Outcome {
    Failure failure;
    int steps = 0;
    bool is_right = true;
};

unsigned char byte_of(std::uint32_t rank, int step) { return static_cast<unsigned char>(rank * 31 + step); }

void run_rank(FakeTransport& transport, std::uint32_t rank, std::uint32_t size, int steps, Outcome& outcome) {
    const GroupRef group = join(transport, rank, size);
    outcome.failure = failure_of([&] {
        for (; outcome.steps < steps; ++outcome.steps)
            for (std::uint32_t bit = 1; bit < size; bit *= 2) {
                unsigned char sent[64], came[64];
                memset(sent, byte_of(rank, outcome.steps), sizeof sent);
                group->exchange(rank ^ bit, sent, sizeof sent, came, sizeof came);
                for (const unsigned char byte : came)
                    outcome.is_right &= byte == byte_of(rank ^ bit, outcome.steps);
            }
    });
}

std::vector<Outcome> run(std::uint32_t size, int steps, const FakeFaults& faults) {
    FakeTransport transport(size, faults);
    std::vector<Outcome> outcomes(size);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < size; ++rank)
        threads.emplace_back(run_rank, std::ref(transport), rank, size, steps, std::ref(outcomes[rank]));
    for (std::thread& thread : threads) thread.join();
    return outcomes;
}

void test_delays_change_nothing(void**) {
    FakeFaults faults;
    faults.longest_delay = std::chrono::microseconds(300);
    for (const std::uint32_t size : {2u, 4u, 8u}) {
        bool is_right = true;
        for (const Outcome& outcome : run(size, 20, faults))
            is_right &= outcome.failure.status == VOLTA_OK && outcome.steps == 20 && outcome.is_right;
        assert_true(is_right);
    }
}

void test_all_name_the_rank_that_is_killed(void**) {
    FakeFaults faults;
    faults.kill = {2, 7};
    for (const Outcome& outcome : run(4, 20, faults))
        assert_failure(outcome.failure, VOLTA_IO_ERROR, "rank 2 has ended");
}

void test_what_is_lost_is_waited_for_until_the_timeout(void**) {
    FakeFaults faults;
    faults.drop = {1, 5};
    faults.timeout = std::chrono::milliseconds(100);
    for (const Outcome& outcome : run(2, 20, faults))
        assert_failure(outcome.failure, VOLTA_IO_ERROR, "rank 1 has not answered for 100 ms");
}

void test_damage_arrives(void**) {
    FakeFaults faults;
    faults.damage = {1, 5};
    const std::vector<Outcome> outcomes = run(2, 20, faults);
    const bool seen[] = {outcomes[0].is_right, outcomes[1].is_right};
    assert_false(seen[0]);
    assert_true(seen[1]);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_delays_change_nothing),
        cmocka_unit_test(test_all_name_the_rank_that_is_killed),
        cmocka_unit_test(test_what_is_lost_is_waited_for_until_the_timeout),
        cmocka_unit_test(test_damage_arrives),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
