// Ranks whose devices exchange by NCCL, and one that fails: the others say which and why, in time. Ranks are
// processes here, forked before any of them has seen a device.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <atomic>

#include "engine/api/handles.h"
#include "engine/group/nccl_library.h"
#include "tests/cuda/device_ranks.h"
#include "tests/group/processes.h"

namespace {
using namespace volta::test;
using volta::DevicePieces;
using volta::GroupRef;

struct Told {  // by a rank, in memory that its process shares with the test
    volta_status status;
    char text[512];
    double seconds;  // of its training
    std::atomic<int> steps;
};

class Ranks final {
  public:
    // version_of_1: of rank 1's NCCL; NULL: that of all. begins_again: behind a failure, without its cause.
    Ranks(std::uint32_t size, double timeout, const char* version_of_1 = nullptr, bool begins_again = false)
        : place_("nccl"), again_("nccl"), begins_again_(begins_again) {
        told_ = static_cast<Told*>(mmap(nullptr, sizeof(Told) * kMostProcesses, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        for (std::uint32_t r = 0; r < size; ++r) {
            const pid_t process = fork();
            if (process == 0) run(r, size, timeout, version_of_1);
            processes_.push_back(process);
        }
    }
    ~Ranks() {
        for (std::uint32_t r = 0; r < processes_.size(); ++r) end(r);
        wait();
        munmap(told_, sizeof(Told) * kMostProcesses);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    void end(std::uint32_t rank) {
        if (processes_[rank] > 0) kill(processes_[rank], SIGKILL);
    }
    void wait() {
        for (pid_t& process : processes_) {
            if (process > 0) waitpid(process, nullptr, 0);
            process = -1;
        }
    }
    const Told& operator[](std::uint32_t rank) const { return told_[rank]; }

  private:
    [[noreturn]] void run(std::uint32_t r, std::uint32_t size, double timeout, const char* version_of_1) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const volta_group_options options = options_of(place_, r, size, timeout);
        if (r == 1 && version_of_1 != nullptr) setenv("VOLTA_FAKE_NCCL_VERSION", version_of_1, 1);
        Run run;
        run.device = "cuda:" + std::to_string(r);
        train(run, options, told_[r]);
        if (begins_again_ && told_[r].status == VOLTA_IO_ERROR) {
            unsetenv("VOLTA_FAKE_CUDA_FAIL");
            told_[r].steps = 0;
            train(run, options_of(again_, r, size, timeout), told_[r]);
        }
        _exit(0);
    }

    static void train(const Run& run, const volta_group_options& options, Told& told) {
        const double begin = seconds_now();
        Rank rank(run, &options);
        rank.make_trainer();
        for (int step = 0; step < 3 && rank.is_ok(); ++step) {
            rank.make_step(step);
            if (rank.is_ok()) ++told.steps;
        }
        told.seconds = seconds_now() - begin;
        told.status = rank.result().status;
        std::snprintf(told.text, sizeof told.text, "%s", rank.result().text.c_str());
    }

    const Place place_, again_;
    const bool begins_again_;
    Told* told_;
    std::vector<pid_t> processes_;
};

void expect_text(const Told& told, const std::string& text) {
    if (std::string(told.text).find(text) == std::string::npos)
        print_error("'%s' is not in '%s'\n", text.c_str(), told.text);
    assert_int_equal(told.status, VOLTA_IO_ERROR);
    assert_non_null(std::strstr(told.text, text.c_str()));
}

void test_no_failure(void**) {
    Ranks ranks(2, 60);
    ranks.wait();
    for (const std::uint32_t r : {0u, 1u}) {
        if (ranks[r].status != VOLTA_OK) print_error("%s\n", ranks[r].text);
        assert_int_equal(ranks[r].status, VOLTA_OK);
        assert_int_equal(ranks[r].steps, 3);
    }
}

// A message of rank 1 in its second step never goes: both are amid an exchange of NCCL. Its process is killed
// there.
void test_a_rank_dies_amid_an_exchange(void**) {
    const Setting stall("VOLTA_FAKE_NCCL_STALL", "1:20");
    Ranks ranks(2, 60);
    for (const double begin = seconds_now(); ranks[0].steps < 1; usleep(10000))
        assert_true(seconds_now() - begin < 60);
    usleep(300000);
    const double killed = seconds_now();
    ranks.end(1);
    ranks.wait();
    assert_true(seconds_now() - killed < 10);
    expect_text(ranks[0], "rank 1 has ended: its connection is closed");
}

// Nobody dies: after the timeout one of the two says of the other that it has not answered, and both have
// the same sentence.
void test_an_exchange_hangs(void**) {
    const Setting stall("VOLTA_FAKE_NCCL_STALL", "1:3");
    Ranks ranks(2, 2);
    ranks.wait();
    for (const std::uint32_t r : {0u, 1u}) {
        expect_text(ranks[r], "has not answered for 2 s");
        assert_true(ranks[r].seconds < 60);
    }
    assert_string_equal(ranks[0].text, ranks[1].text);
}

// A function that fails on one rank: its name and NCCL's words are in the sentence of both.
void test_a_function_fails(void**) {
    struct {
        const char *fault, *text;
    } const kCases[] = {
        {"ncclSend:2:2", "ncclSend of NCCL 2.20.5: unhandled system error"},
        {"ncclRecv:1:6", "ncclRecv of NCCL 2.20.5: remote process exited or there was a network error"},
        {"ncclGroupEnd:2:3", "ncclGroupEnd of NCCL 2.20.5: internal error"},
        {"ncclCommGetAsyncError:9:6", "of NCCL 2.20.5: remote process exited"},
        {"ncclCommInitRankConfig:1:5", "ncclCommInitRankConfig of NCCL 2.20.5: invalid usage"},
    };
    for (const auto& one : kCases) {
        const Setting fault("VOLTA_FAKE_CUDA_FAIL", one.fault);
        Ranks ranks(2, 30);
        ranks.wait();
        for (const std::uint32_t r : {0u, 1u}) expect_text(ranks[r], one.text);
    }
}

// The same threads make another group: nothing of the one that failed amid its calls is in their way.
void test_begins_again(void**) {
    const Setting fault("VOLTA_FAKE_CUDA_FAIL", "ncclSend:2:2");
    Ranks ranks(2, 20, nullptr, true);
    ranks.wait();
    for (const std::uint32_t r : {0u, 1u}) {
        if (ranks[r].status != VOLTA_OK) print_error("%s\n", ranks[r].text);
        assert_int_equal(ranks[r].status, VOLTA_OK);
        assert_int_equal(ranks[r].steps, 3);
    }
}

void test_versions_differ(void**) {
    Ranks ranks(2, 30, "22105");
    ranks.wait();
    for (const std::uint32_t r : {0u, 1u})
        expect_text(ranks[r], "rank 1 has NCCL 2.21.5, and rank 0 has 2.20.5");
}

// The device fails on one rank, beside NCCL: the other names the rank.
void test_the_device_fails(void**) {
    const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuStreamQuery:2:700");
    Ranks ranks(2, 30);
    ranks.wait();
    int of_device = 0;
    for (const std::uint32_t r : {0u, 1u}) {
        of_device += ranks[r].status == VOLTA_DEVICE_ERROR;
        if (ranks[r].status != VOLTA_DEVICE_ERROR) expect_text(ranks[r], "has ended: ");
        assert_non_null(std::strstr(ranks[r].text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    assert_true(of_device >= 1);
}

// ---- The group alone ----

// A rank whose context has a device of its own.
class DeviceRank final {
  public:
    explicit DeviceRank(std::uint32_t rank) : device_("cuda:" + std::to_string(rank)) {
        volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
        options.device = device_.c_str();
        options.device_budget = kBudget;
        options.kernel_folder = kernels;
        options.thread_count = 1;
        if (volta_context_create(&options, &context_.object) != VOLTA_OK)
            volta::fail(VOLTA_INTERNAL, "%s", volta_last_error());
    }
    GroupRef join(const Place& place, std::uint32_t rank, double timeout) {
        return volta::open_group(options_of(place, rank, 2, timeout), std::pmr::new_delete_resource(),
                                 volta::api::unwrap(context_.object)->device_stream());
    }

  private:
    const std::string device_;
    OwnedContext context_;
};

void test_other_sizes_are_named(void**) {
    const Place place("nccl");
    Processes processes(2, [&](std::uint32_t rank, Outcome&) {
        DeviceRank own(rank);
        const GroupRef group = own.join(place, rank, 20);
        float memory[2] = {};
        const DevicePieces sent({{memory, 8}}, std::pmr::new_delete_resource());
        const DevicePieces expected({{memory, 4}}, std::pmr::new_delete_resource());
        group->exchange_on_device(1 - rank, sent, expected);
    });
    processes.wait();
    for (const std::uint32_t rank : {0u, 1u})
        assert_failure(processes[rank].failure, VOLTA_IO_ERROR, " sent 8 bytes where rank ");
}

void test_who_leaves_says_why(void**) {
    const Place place("nccl");
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        DeviceRank own(rank);
        const GroupRef group = own.join(place, rank, 20);
        outcome.is_right = group->can_change_threads() && group->device() != nullptr;
        if (rank == 1) {
            group->leave("the disk is full");
            group->leave("for another reason");
        }
        const DevicePieces none(std::pmr::new_delete_resource());
        group->exchange_on_device(1 - rank, none, none);
    });
    processes.wait();
    assert_failure(processes[0].failure, VOLTA_IO_ERROR, "rank 1 has ended: the disk is full");
    assert_failure(processes[1].failure, VOLTA_IO_ERROR, "the disk is full");
    assert_true(processes[0].is_right && processes[1].is_right);
}

// Rank 1 is there, hears the id, and never comes to the communicator.
void test_who_does_not_come_to_the_communicator(void**) {
    const Place place("nccl");
    Processes processes(2, [&](std::uint32_t rank, Outcome&) {
        if (rank == 0) {
            DeviceRank own(0);
            own.join(place, 0, 0.5);
            return;
        }
        volta_group_options options = options_of(place, 1, 2, 20);
        options.transport = "tcp";
        const GroupRef group = volta::open_group(options, std::pmr::new_delete_resource());
        struct {
            volta::NcclId id;
            int version;
        } first;
        group->exchange(0, nullptr, 0, &first, sizeof first);
        group->exchange(0, nullptr, 0, nullptr, 0);
    });
    processes.wait();
    for (const std::uint32_t rank : {0u, 1u})
        assert_failure(processes[rank].failure, VOLTA_IO_ERROR,
                       "not all of the 2 ranks have joined NCCL's communicator within 0.5 s");
}

// What goes wrong when a group ends well is nobody's matter: a next one can be made.
void test_an_end_that_fails_is_an_end(void**) {
    const Setting fault("VOLTA_FAKE_CUDA_FAIL", "ncclCommFinalize:1:2");
    const Place place("nccl"), again("nccl");
    Processes processes(2, [&](std::uint32_t rank, Outcome& outcome) {
        DeviceRank own(rank);
        for (const Place* const where : {&place, &again}) {
            const GroupRef group = own.join(*where, rank, 20);
            group->exchange(1 - rank, nullptr, 0, nullptr, 0);  // both are there
            ++outcome.steps;
        }
    });
    processes.wait();
    for (const std::uint32_t rank : {0u, 1u}) {
        assert_int_equal(processes[rank].failure.status, VOLTA_OK);
        assert_int_equal(processes[rank].steps.load(), 2);
    }
}

}  // namespace

int main() {
    const Setting devices("VOLTA_FAKE_CUDA_DEVICES", "4");
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_no_failure),
        cmocka_unit_test(test_a_rank_dies_amid_an_exchange),
        cmocka_unit_test(test_an_exchange_hangs),
        cmocka_unit_test(test_a_function_fails),
        cmocka_unit_test(test_begins_again),
        cmocka_unit_test(test_versions_differ),
        cmocka_unit_test(test_the_device_fails),
        cmocka_unit_test(test_other_sizes_are_named),
        cmocka_unit_test(test_who_leaves_says_why),
        cmocka_unit_test(test_who_does_not_come_to_the_communicator),
        cmocka_unit_test(test_an_end_that_fails_is_an_end),
    };
    return cmocka_run_group_tests(tests, make_kernels, remove_kernels);
}
