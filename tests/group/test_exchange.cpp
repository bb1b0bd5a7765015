// What ranks send each other arrives, over both transports of sockets: any size, both ways at once, whoever
// comes first, whatever a run that was killed has left behind.
#include <sys/stat.h>
#include <sys/un.h>

#include <vector>

#include "tests/group/processes.h"

using namespace volta;
using namespace volta::test;

namespace {

constexpr const char* kTransports[] = {"local", "tcp"};

std::uint64_t mixed(std::uint64_t x) {  // SplitMix64's
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// What `from` sends `to` in that step.
struct Expected {
    std::size_t bytes;
    std::uint64_t seed;
    unsigned char operator[](std::size_t i) const {
        return static_cast<unsigned char>(mixed(seed + i / 8) >> i % 8 * 8);
    }
};
Expected expected(std::uint32_t from, std::uint32_t to, int step, std::size_t most) {
    const std::uint64_t seed = mixed(from * 1000003u + to * 1009u + static_cast<std::uint64_t>(step) * 7919u);
    const std::size_t bytes = seed % 5 == 0 ? 0 : mixed(seed) % (seed % 3 == 0 ? 200 : most);
    return {bytes, seed};
}
std::vector<unsigned char> bytes_of(const Expected& what) {
    std::vector<unsigned char> bytes(what.bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = what[i];
    return bytes;
}

void exchange_steps(Group& group, int steps, std::size_t most, Outcome& outcome) {
    for (int step = 0; step < steps; ++step, ++outcome.steps)
        for (std::uint32_t bit = 1; bit < group.size(); bit *= 2) {
            const std::uint32_t peer = group.rank() ^ bit;
            const auto sent = bytes_of(expected(group.rank(), peer, step, most));
            const auto right = bytes_of(expected(peer, group.rank(), step, most));
            std::vector<unsigned char> came(right.size());
            group.exchange(peer, sent.data(), sent.size(), came.data(), came.size());
            outcome.is_right &= came == right;
        }
}

void assert_all_right(Processes& processes, std::uint32_t count, int steps) {
    processes.wait();
    for (std::uint32_t rank = 0; rank < count; ++rank) {
        const Outcome& outcome = processes[rank];
        if (outcome.failure.status != VOLTA_OK) print_error("rank %u: %s\n", rank, outcome.failure.text);
        assert_true(outcome.has_returned && outcome.failure.status == VOLTA_OK && outcome.is_right);
        assert_int_equal(outcome.steps.load(), steps);
    }
}

void test_all_sizes_arrive(void**) {
    for (const char* const transport : kTransports)
        for (const std::uint32_t size : {2u, 4u, 8u}) {
            const Place place(transport);
            Processes processes(size, [&](std::uint32_t rank, Outcome& outcome) {
                exchange_steps(*join(place, rank, size), 12, 300000, outcome);
            });
            assert_all_right(processes, size, 12);
        }
}

// More than any buffer between them: who sends all before it receives waits for ever.
void test_both_ways_at_once(void**) {
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
            const GroupRef group = join(place, rank, 2);
            const std::vector<unsigned char> sent(kBytes + rank, static_cast<unsigned char>(rank + 1));
            std::vector<unsigned char> came(kBytes + 1 - rank);
            group->exchange(1 - rank, sent.data(), sent.size(), came.data(), came.size());
            for (const unsigned char byte : came) outcome.is_right &= byte == 2 - rank;
            ++outcome.steps;
            group->exchange(1 - rank, sent.data(), rank == 0 ? kBytes : 0, came.data(),
                            rank == 0 ? 0 : kBytes);
            ++outcome.steps;
        });
        assert_all_right(processes, 2, 2);
    }
}

void test_ranks_come_in_any_order(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
            sleep_for(0.1 * (3 - rank));
            exchange_steps(*join(place, rank, 4), 3, 1000, outcome);
        });
        assert_all_right(processes, 4, 3);
    }
}

// Rank 0 needs nobody any more and goes, while others have not read what it sent, and have work to do.
void test_who_has_finished_may_go(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
            const GroupRef group = join(place, rank, 4);
            std::uint64_t sent = rank, came = 0;
            if (rank == 1) sleep_for(0.2);
            if (rank < 2)
                group->exchange(1 - rank, rank == 0 ? &sent : nullptr, 8 - 8 * rank, &came, 8 * rank);
            ++outcome.steps;
            if (rank == 0) return;
            for (int i = 0; i < 20; ++i) {
                sleep_for(0.01);
                if (rank >= 2) group->exchange(5 - rank, &sent, 8, &came, 8);
            }
            outcome.is_right = rank < 2 || came == 5 - rank;
        });
        assert_all_right(processes, 4, 1);
    }
}

// The same with more than slots of shared memory hold: who is left reads it, and has nobody to say so to.
void test_what_is_left_behind_is_read(void**) {
    for (const char* const transport : kTransports)
        for (const std::size_t bytes : {std::size_t{40000}, std::size_t{800000}}) {
            const Place place(transport);
            Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
                const GroupRef group = join(place, rank, 2);
                std::vector<unsigned char> sent(bytes, 7), came(bytes);
                if (rank == 0) {
                    group->exchange(1, sent.data(), bytes, nullptr, 0);
                } else {
                    sleep_for(bytes < 100000 ? 0.1 : 0);
                    group->exchange(0, nullptr, 0, came.data(), bytes);
                    outcome.is_right = came == sent;
                }
                ++outcome.steps;
            });
            assert_all_right(processes, 2, 1);
        }
}

int memory_maps() {  // of this process, that groups share
    FILE* const maps = fopen("/proc/self/maps", "r");
    int count = 0;
    for (char line[512]; maps != nullptr && fgets(line, sizeof line, maps) != nullptr;)
        count += strstr(line, "memfd:volta group") != nullptr;
    if (maps != nullptr) fclose(maps);
    return count;
}

// With those to whom trees of exchanges go, 0 ^ 1, 0 ^ 2, 0 ^ 4, and over one machine's sockets only.
void test_memory_is_shared_and_given_back(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(8, [&](std::uint32_t rank, Outcome& outcome) {
            {
                const GroupRef group = join(place, rank, 8);
                outcome.steps = memory_maps();
            }
            outcome.is_right = memory_maps() == 0;
        });
        assert_all_right(processes, 8, strcmp(transport, "local") == 0 ? 3 : 0);
    }
}

// Each its own, twice from one file, and all of it goes again.
void test_all_read_what_each_has_written(void**) {
    constexpr std::uint32_t kRanks = 4;
    constexpr std::uint64_t kMost = (std::uint64_t{5} << 20) + 12345;
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(kRanks, [&](std::uint32_t rank, Outcome& outcome) {
            const GroupRef group = join(place, rank, kRanks);
            const bool is_local = strcmp(transport, "local") == 0;
            const int maps = memory_maps();
            const auto bytes_of_rank = [&](std::uint32_t r) { return kMost - r * 1000003; };
            const auto meet = [&] {
                for (std::uint32_t bit = 1; bit < kRanks; bit *= 2)
                    group->exchange(rank ^ bit, nullptr, 0, nullptr, 0);
            };
            for (std::uint64_t round = 0; round < 2; ++round, ++outcome.steps) {
                const SharedMemory memory = group->share(kMost, bytes_of_rank(rank));
                outcome.is_right &= group->can_share() == is_local && static_cast<bool>(memory) == is_local;
                if (!memory) continue;
                for (std::uint64_t i = 0; i < bytes_of_rank(rank); ++i) {
                    outcome.is_right &= memory.own()[i] == 0;
                    memory.own()[i] = static_cast<unsigned char>(mixed(i * kRanks + rank + round));
                }
                meet();
                for (std::uint32_t r = 0; r < kRanks; ++r)
                    for (std::uint64_t i = 0; i < bytes_of_rank(r); ++i)
                        outcome.is_right &=
                            memory.of(r)[i] == static_cast<unsigned char>(mixed(i * kRanks + r + round));
                meet();
            }
            outcome.is_right &= memory_maps() == maps;
        });
        assert_all_right(processes, kRanks, 2);
    }
}

bool exists(const std::string& path) {
    struct stat status;
    return lstat(path.c_str(), &status) == 0;
}

void test_what_a_killed_run_left_is_no_matter(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        for (int run = 0; run < 3; ++run) {
            Processes killed(4, [&](std::uint32_t rank, Outcome&) {
                if (rank == 3) sleep_for(100);
                const GroupRef group = join(place, rank, 4);
            });
            sleep_for(0.1);
            for (std::uint32_t rank = 0; rank < 4; ++rank) killed.send(rank, SIGKILL);
            killed.wait();
            if (strcmp(transport, "local") == 0) assert_true(exists(place.address() + "/rank0"));
            Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
                sleep_for(0.05 * rank);
                exchange_steps(*join(place, rank, 4), 3, 1000, outcome);
            });
            assert_all_right(processes, 4, 3);
            assert_false(exists(place.address() + "/rank0"));
        }
    }
}

void test_a_file_of_somebody_stays(void**) {
    const Place place("local");
    mkdir(place.address().c_str(), 0700);
    const std::string path = place.address() + "/rank0";
    close(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    const Failure failure = failure_of([&] { join(place, 0, 2, 1); });
    assert_failure(failure, VOLTA_IO_ERROR, "rank0': Address already in use");
    assert_true(exists(path));
}

// Strangers that say nothing, or nonsense, and go.
void test_strangers_are_let_go(void**) {
    const Place place("local");
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        if (rank == 1) {
            sockaddr_un address = {};
            address.sun_family = AF_UNIX;
            snprintf(address.sun_path, sizeof address.sun_path, "%s/rank0", place.address().c_str());
            for (const bool speaks : {false, true}) {
                const int stranger = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
                while (connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
                    sleep_for(0.01);
                const char nonsense[512] = "GET / HTTP/1.1\r\n";
                if (speaks) outcome.is_right &= write(stranger, nonsense, sizeof nonsense) > 0;
                close(stranger);
            }
        }
        exchange_steps(*join(place, rank, 2), 3, 1000, outcome);
    });
    assert_all_right(processes, 2, 3);
}

void test_suspended_together_is_not_late(void**) {
    const Place place("local");
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        const GroupRef group = join(place, rank, 2, 0.8);
        char sent = 1, came = 0;
        for (int i = 0; i < 5; ++i) {
            if (rank == 1) sleep_for(0.3);  // rank 0 waits
            group->exchange(1 - rank, &sent, 1, &came, 1);
        }
        ++outcome.steps;
    });
    sleep_for(0.2);
    for (const int signal_number : {SIGSTOP, SIGCONT}) {
        for (const std::uint32_t rank : {0u, 1u}) processes.send(rank, signal_number);
        if (signal_number == SIGSTOP) sleep_for(1.5);
    }
    assert_all_right(processes, 2, 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sizes_arrive),
        cmocka_unit_test(test_both_ways_at_once),
        cmocka_unit_test(test_ranks_come_in_any_order),
        cmocka_unit_test(test_who_has_finished_may_go),
        cmocka_unit_test(test_what_is_left_behind_is_read),
        cmocka_unit_test(test_memory_is_shared_and_given_back),
        cmocka_unit_test(test_all_read_what_each_has_written),
        cmocka_unit_test(test_what_a_killed_run_left_is_no_matter),
        cmocka_unit_test(test_a_file_of_somebody_stays),
        cmocka_unit_test(test_strangers_are_let_go),
        cmocka_unit_test(test_suspended_together_is_not_late),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
