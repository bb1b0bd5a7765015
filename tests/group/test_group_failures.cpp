// How groups over sockets end: whichever rank dies, hangs, or sends what it should not, all others stop
// within the stated time and name that one; nothing leaks, and every later call says the same.
#include <sys/resource.h>
#include <sys/un.h>

#include <thread>
#include <vector>

#include "engine/group/socket_group.h"
#include "tests/group/processes.h"
#include "tests/support/sampled.h"

using namespace volta;
using namespace volta::test;

namespace {

constexpr const char* kTransports[] = {"local", "tcp"};

void exchange_for_ever(Group& group, std::size_t bytes, Outcome& outcome) {
    std::vector<unsigned char> sent(bytes), came(bytes);
    for (;; ++outcome.steps)
        for (std::uint32_t bit = 1; bit < group.size(); bit *= 2)
            group.exchange(group.rank() ^ bit, sent.data(), bytes, came.data(), bytes);
}

// All but that one failed with the sentence.
void assert_all_say(Processes& processes, std::uint32_t count, std::uint32_t but, const char* sentence) {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
        if (rank == but) continue;
        processes.wait(rank);
        assert_true(processes[rank].has_returned);
        assert_failure(processes[rank].failure, VOLTA_IO_ERROR, sentence);
    }
}

std::string text_of(const char* format, std::uint32_t rank) {
    char text[100];
    snprintf(text, sizeof text, format, rank);
    return text;
}

void wait_for_steps(Processes& processes, std::uint32_t rank, int steps) {
    while (processes[rank].steps < steps && !processes[rank].has_returned) sleep_for(0.001);
}

void kill_one_of_four(const char* transport, std::uint32_t seed) {
    const Place place(transport);
    Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
        exchange_for_ever(*join(place, rank, 4), seed % 2 == 0 ? 3000 : 2500000, outcome);
    });
    wait_for_steps(processes, 0, 1);
    sleep_for(1e-6 * (seed * 2654435761u % 9973));
    const std::uint32_t victim = seed % 4;
    processes.send(victim, SIGKILL);
    const double before = seconds_now();
    assert_all_say(processes, 4, victim, text_of("rank %u has ended", victim).c_str());
    assert_true(seconds_now() - before < 5);
}

void test_all_name_a_rank_that_is_killed(void**) {
    for (std::uint32_t seed = 0; seed < 200; seed += static_cast<std::uint32_t>(sample_stride()))
        kill_one_of_four(kTransports[seed / 4 % 2], seed);
}

// Rank 0 waits for 1, which computes; nobody has anything to do with 3.
void test_who_waits_for_another_sees_it_end(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
            const GroupRef group = join(place, rank, 4);
            ++outcome.steps;
            if (rank != 0) sleep_for(100);
            group->exchange(1, nullptr, 0, nullptr, 0);
        });
        for (std::uint32_t rank = 0; rank < 4; ++rank) wait_for_steps(processes, rank, 1);
        processes.send(3, SIGKILL);
        const double before = seconds_now();
        processes.wait(0);
        assert_failure(processes[0].failure, VOLTA_IO_ERROR, "rank 3 has ended");
        assert_true(seconds_now() - before < 5);
    }
}

void test_a_rank_that_is_killed_while_others_come(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(4, [&](std::uint32_t rank, Outcome&) {
            if (rank == 3) sleep_for(100);
            join(place, rank, 4);
        });
        sleep_for(0.2);
        processes.send(2, SIGKILL);
        processes.wait(2);
        for (const std::uint32_t rank : {0u, 1u}) {
            processes.wait(rank);
            assert_failure(processes[rank].failure, VOLTA_IO_ERROR, "rank 2 has ended before all were there");
        }
    }
}

// Ranks 0 and 1 and 3 wait for each other and, in the end, for 2.
void test_all_name_a_rank_that_hangs(void**) {
    for (const char* const transport : kTransports)
        for (const std::uint32_t victim : {2u, 0u}) {
            const Place place(transport);
            Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
                exchange_for_ever(*join(place, rank, 4, 1), 1000, outcome);
            });
            wait_for_steps(processes, 0, 3);
            processes.send(victim, SIGSTOP);
            const double before = seconds_now();
            assert_all_say(processes, 4, victim, text_of("rank %u has not answered for 1 s", victim).c_str());
            const double took = seconds_now() - before;
            assert_true(took > 0.9 && took < 4);
            processes.send(victim, SIGCONT);  // it hears what it is blamed for
            processes.wait(victim);
            assert_failure(processes[victim].failure, VOLTA_IO_ERROR,
                           text_of("rank %u has not answered for 1 s", victim).c_str());
        }
}

// 0 waits for 1, later 1 for 3, later 3 for 2, which computes for too long.
void test_the_end_of_a_chain_of_waits_is_named(void**) {
    const Place place("local");
    Processes processes(4, [&](std::uint32_t rank, Outcome&) {
        const GroupRef group = join(place, rank, 4, 1);
        const double begins[] = {0, 0.2, 100, 0.4};
        const std::uint32_t peer[] = {1, 3, 3, 2};
        sleep_for(begins[rank]);
        char sent = 0, came = 0;
        group->exchange(peer[rank], &sent, 1, &came, 1);
    });
    assert_all_say(processes, 4, 2, "rank 2 has not answered for 1 s");
    for (const std::uint32_t rank : {0u, 1u, 3u}) assert_true(processes[rank].seconds > 1.3);
}

void test_slow_is_not_late(void**) {
    const Place place("local");
    Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
        const GroupRef group = join(place, rank, 4, 0.5);
        char sent = 0, came = 0;
        for (; outcome.steps < 4; ++outcome.steps) {
            sleep_for(rank == 2 ? 0.35 : 0);
            for (const std::uint32_t bit : {1u, 2u}) group->exchange(rank ^ bit, &sent, 1, &came, 1);
        }
    });
    processes.wait();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        if (processes[rank].failure.status != VOLTA_OK) print_error("%s\n", processes[rank].failure.text);
        assert_int_equal(processes[rank].steps.load(), 4);
    }
}

void test_who_leaves_says_why(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
            const GroupRef group = join(place, rank, 4);
            if (rank != 3) exchange_for_ever(*group, 100000, outcome);
            std::vector<unsigned char> sent(100000), came(100000);
            group->exchange(2, sent.data(), sent.size(), came.data(), came.size());
            group->leave("the disk is full");
            group->exchange(1, sent.data(), sent.size(), came.data(), came.size());
        });
        assert_all_say(processes, 4, 3, "rank 3 has ended: the disk is full");
        processes.wait(3);
        assert_failure(processes[3].failure, VOLTA_IO_ERROR, "the disk is full");
    }
}

void test_every_later_call_says_the_same(void**) {
    const Place place("local");
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        const GroupRef group = join(place, rank, 2);
        if (rank == 1) return;
        char byte = 0;
        const auto call = [&] { group->exchange(1, &byte, 1, &byte, 1); };
        const Failure first = failure_of(call);
        for (int i = 0; i < 3; ++i) {
            const Failure later = failure_of(call);
            outcome.is_right &= later.status == first.status && strcmp(later.text, first.text) == 0;
        }
        call();
    });
    processes.wait();
    assert_failure(processes[0].failure, VOLTA_IO_ERROR, "rank 1 has ended");
    assert_true(processes[0].is_right);
}

// ---- Who does not belong ----------------------------------------------------------------------------

void test_another_size_is_refused(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(2, [&](std::uint32_t rank, Outcome&) { join(place, rank, rank == 0 ? 2 : 4); });
        assert_all_say(processes, 2, kNobody, "rank 1 is of a group of 4, rank 0 of one of 2");
        assert_true(processes[0].seconds < 3 && processes[1].seconds < 3);
    }
}

void test_two_of_one_rank_are_refused(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(3, [&](std::uint32_t process, Outcome&) {
            sleep_for(0.05 * process);
            join(place, process == 0 ? 0 : 1, 4);
        });
        assert_all_say(processes, 3, kNobody, "there are two of rank 1");
    }
}

void test_another_version_is_refused(void**) {
    const Place place("local");
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        if (rank == 0) {
            join(place, 0, 2);
            return;
        }
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        snprintf(address.sun_path, sizeof address.sun_path, "%s/rank0", place.address().c_str());
        const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        while (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            sleep_for(0.01);
        Note hello = make_note(FrameKind::hello, 1, "");
        seal(hello);
        hello.header.version = 2;
        outcome.is_right = write(descriptor, &hello, sizeof hello) == sizeof hello;
        Note answer = {};
        outcome.is_right &= recv(descriptor, &answer, sizeof answer, MSG_WAITALL) == sizeof answer;
        outcome.is_right &= is_whole(answer) && answer.header.kind == FrameKind::refused;
    });
    processes.wait();
    assert_failure(processes[0].failure, VOLTA_IO_ERROR, "a rank with version 2 of the protocol has come");
    assert_true(processes[1].is_right);
}

void test_who_does_not_come_is_named(void**) {
    for (const char* const transport : kTransports) {
        const Place place(transport);
        Processes processes(4, [&](std::uint32_t rank, Outcome&) {
            if (rank == 2) sleep_for(100);
            join(place, rank, 4, 0.4);
        });
        processes.wait(0);
        assert_failure(processes[0].failure, VOLTA_IO_ERROR, "rank 2 has not come within 0.4 s");
        const Place empty(transport);
        Processes alone(1, [&](std::uint32_t, Outcome&) { join(empty, 1, 2, 0.2); });
        alone.wait();
        assert_failure(alone[0].failure, VOLTA_IO_ERROR, "rank 0 has not come within 0.2 s: ");
    }
}

void test_addresses_are_checked(void**) {
    const struct {
        const char *transport, *address, *sentence;
    } rows[] = {
        {"tcp", "localhost", "it must be HOST:PORT"},
        {"tcp", ":1", "it must be HOST:PORT"},
        {"tcp", "localhost:", "it must be HOST:PORT"},
        {"tcp", "localhost:0", "its port must be a number from 1 to 65535"},
        {"tcp", "localhost:65536", "its port must be a number from 1 to 65535"},
        {"tcp", "localhost:99999999999999999999", "its port must be a number from 1 to 65535"},
        {"tcp", "localhost:1x", "its port must be a number from 1 to 65535"},
    };
    for (const auto& row : rows) {
        volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
        options.transport = row.transport;
        options.address = row.address;
        options.size = 2;
        const Failure failure = failure_of([&] { open_group(options, std::pmr::new_delete_resource()); });
        assert_failure(failure, VOLTA_INVALID_ARGUMENT, row.sentence);
    }
    const Place place("local");
    volta_group_options options = options_of(place, 0, 2, 1);
    const std::string long_folder = place.address() + "/" + std::string(110, 'x');
    options.address = long_folder.c_str();
    const Failure failure = failure_of([&] { open_group(options, std::pmr::new_delete_resource()); });
    rmdir(long_folder.c_str());
    assert_failure(failure, VOLTA_INVALID_ARGUMENT, "there may be 107");
}

// ---- What is damaged on its way ---------------------------------------------------------------------

// Two ranks in threads, and between them one who hands on what they send and changes a byte of it.
struct Damaged {
    Failure failures[2];
};
enum class Where { pieces, notes, memory };
Damaged exchange_damaged(std::size_t bytes, std::size_t place, Where where) {
    const Socket memory = SharedSlots::make();
    SharedSlots seen = SharedSlots::map(memory);
    int ends[2][2][2];  // channel, rank, rank's end and the other
    for (auto& channel : ends)
        for (auto& pair : channel) socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
    std::vector<std::thread> threads;
    for (int channel = 0; channel < 2; ++channel)
        for (int from = 0; from < 2; ++from)
            threads.emplace_back([&, channel, from] {
                const int in = ends[channel][from][1], out = ends[channel][1 - from][1];
                char buffer[1000];
                std::size_t done = 0;
                for (ssize_t count; (count = read(in, buffer, sizeof buffer)) > 0;) {
                    const auto got = static_cast<std::size_t>(count);
                    const bool is_there = from == 1 && (channel == 1) == (where == Where::notes) &&
                                          done <= place && place < done + got;
                    if (is_there && where == Where::memory)
                        *seen.slot(1, 0) ^= 1;
                    else if (is_there)
                        buffer[place - done] ^= 1;
                    done += got;
                    for (std::size_t sent = 0; sent < got;) {
                        const ssize_t n = ::send(out, buffer + sent, got - sent, MSG_NOSIGNAL);
                        if (n <= 0) break;
                        sent += static_cast<std::size_t>(n);
                    }
                }
                shutdown(out, SHUT_WR);
            });
    Damaged damaged;
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 0; rank < 2; ++rank)
        ranks.emplace_back([&, rank] {
            Mesh mesh(2, std::pmr::new_delete_resource());
            mesh[1 - rank].pieces = Socket(ends[0][rank][0]);
            mesh[1 - rank].notes = Socket(ends[1][rank][0]);
            if (where == Where::memory) mesh[1 - rank].shared = SharedSlots::map(memory);
            SocketGroup group(rank, 2, std::move(mesh));
            damaged.failures[rank] = failure_of([&] {
                std::vector<unsigned char> sent(bytes, 1), came(bytes);
                if (where == Where::notes && rank == 1) group.leave("so");
                group.exchange(1 - rank, sent.data(), bytes, came.data(), bytes);
                for (int i = 0; i < 2; ++i) group.meet();
            });
        });
    for (std::thread& thread : ranks) thread.join();
    for (std::thread& thread : threads) thread.join();
    for (auto& channel : ends)
        for (auto& pair : channel) close(pair[1]);
    return damaged;
}

void test_a_flipped_bit_is_found_and_named(void**) {
    constexpr std::size_t kMiB = std::size_t{1} << 20, kHeader = sizeof(FrameHeader);
    const struct {
        std::size_t place;
        Where where;
        const char* sentence;
    } rows[] = {
        {kHeader + 5, Where::pieces, "what rank 1 sent was damaged on its way: piece 0 of 1048576 bytes"},
        {2 * (kHeader + kMiB) + kHeader + 99, Where::pieces,
         "what rank 1 sent was damaged on its way: piece 2 of 100 bytes"},
        {kHeader + kMiB + 0, Where::pieces, "what rank 1 sent was damaged on its way: the header of piece 1"},
        {kHeader + kMiB + 8, Where::pieces, "what rank 1 sent was damaged on its way: the header of piece 1"},
        {kHeader + kMiB + 47, Where::pieces,
         "what rank 1 sent was damaged on its way: the header of piece 1"},
        {2 * (kHeader + kMiB) + kHeader + 100, Where::pieces,
         "what rank 1 sent was damaged on its way: the header of piece 3"},
        {sizeof(FrameHeader) + 40, Where::notes, "what rank 1 sent was damaged on its way: a note"},
        {10, Where::memory, "what rank 1 sent was damaged on its way: piece 0 of 262144 bytes"},
    };
    for (const auto& row : rows) {
        const Damaged damaged = exchange_damaged(2 * kMiB + 100, row.place, row.where);
        assert_failure(damaged.failures[0], VOLTA_IO_ERROR, row.sentence);
        if (row.where != Where::notes) assert_failure(damaged.failures[1], VOLTA_IO_ERROR, row.sentence);
    }
}

void test_other_sizes_and_calls_are_named(void**) {
    const Place place("local");
    Processes sizes(2, [&](std::uint32_t rank, Outcome&) {
        const GroupRef group = join(place, rank, 2);
        char sent[8] = {}, came[8];
        group->exchange(1 - rank, sent, rank == 0 ? 0 : 8, came, rank == 0 ? 4 : 0);
        group->exchange(1 - rank, nullptr, 0, nullptr, 0);
    });
    assert_all_say(sizes, 2, kNobody, "rank 1 sent 8 bytes where rank 0 expected 4");
    Processes itself(2, [&](std::uint32_t rank, Outcome&) {
        join(place, rank, 2)->exchange(rank, nullptr, 0, nullptr, 0);
    });
    itself.wait();
    assert_failure(itself[0].failure, VOLTA_INVALID_ARGUMENT, "rank 0 of 2 exchanges with rank 0");
}

// ---- What the system refuses ------------------------------------------------------------------------

int descriptors_open() {
    int count = 0;
    for (int i = 0; i < 256; ++i) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

// Not under sanitizers, which look at memory through a pipe of their own and call what they cannot see a
// fault.
void test_too_few_descriptors(void**) {
#ifdef VOLTA_SANITIZED
    skip();
#endif
    for (const char* const transport : kTransports)
        for (const rlim_t most : {4u, 5u, 7u, 9u}) {
            const Place place(transport);
            Processes processes(4, [&](std::uint32_t rank, Outcome& outcome) {
                if (rank == 2) {
                    for (int i = 3; i < 256; ++i) close(i);
                    const rlimit limit = {most, most};
                    setrlimit(RLIMIT_NOFILE, &limit);
                }
                const int before = descriptors_open();
                const Failure failure = failure_of([&] { join(place, rank, 4, 1); });
                outcome.is_right = descriptors_open() == before;
                throw Error(failure.status, failure.text);
            });
            processes.wait();
            assert_failure(processes[2].failure, VOLTA_IO_ERROR, "Too many open files");
            for (std::uint32_t rank = 0; rank < 4; ++rank) {
                assert_true(processes[rank].is_right);
                assert_int_equal(processes[rank].failure.status, VOLTA_IO_ERROR);
            }
        }
}

class CountingHeap final : public std::pmr::memory_resource {  // refuses the n-th allocation
  public:
    explicit CountingHeap(int refused) : refused_(refused) {}
    int held = 0, count = 0;

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (count++ == refused_) throw std::bad_alloc();
        ++held;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* pointer, std::size_t bytes, std::size_t alignment) override {
        --held;
        std::pmr::new_delete_resource()->deallocate(pointer, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
    const int refused_;
};

void test_refused_allocations(void**) {
    for (const char* const transport : kTransports)
        for (int refused = 0;; ++refused) {
            const Place place(transport);
            Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
                if (rank == 0) {
                    exchange_for_ever(*join(place, 0, 2, 3), 10, outcome);
                    return;
                }
                CountingHeap heap(refused);
                const int before = descriptors_open();
                bool is_refused = false;
                try {
                    const GroupRef group = open_group(options_of(place, 1, 2, 3), &heap);
                    const int after_joining = heap.count;
                    char byte = 0;
                    for (int i = 0; i < 10; ++i) group->exchange(0, &byte, 1, &byte, 0);
                    outcome.is_right = heap.count == after_joining;
                } catch (const std::bad_alloc&) {
                    is_refused = true;
                } catch (const Error&) {
                }
                outcome.is_right &= heap.held == 0 && descriptors_open() == before;
                outcome.steps = is_refused;
            });
            processes.wait(1);
            assert_true(processes[1].has_returned && processes[1].is_right);
            if (processes[1].steps == 0) {
                assert_true(refused > 2);
                break;
            }
        }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_all_name_a_rank_that_is_killed),
        cmocka_unit_test(test_who_waits_for_another_sees_it_end),
        cmocka_unit_test(test_a_rank_that_is_killed_while_others_come),
        cmocka_unit_test(test_all_name_a_rank_that_hangs),
        cmocka_unit_test(test_the_end_of_a_chain_of_waits_is_named),
        cmocka_unit_test(test_slow_is_not_late),
        cmocka_unit_test(test_who_leaves_says_why),
        cmocka_unit_test(test_every_later_call_says_the_same),
        cmocka_unit_test(test_another_size_is_refused),
        cmocka_unit_test(test_two_of_one_rank_are_refused),
        cmocka_unit_test(test_another_version_is_refused),
        cmocka_unit_test(test_who_does_not_come_is_named),
        cmocka_unit_test(test_addresses_are_checked),
        cmocka_unit_test(test_a_flipped_bit_is_found_and_named),
        cmocka_unit_test(test_other_sizes_and_calls_are_named),
        cmocka_unit_test(test_too_few_descriptors),
        cmocka_unit_test(test_refused_allocations),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
