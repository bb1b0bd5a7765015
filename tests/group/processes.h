// Ranks as processes of their own, forked from a test program, and what became of each.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory_resource>
#include <string>

#include "engine/base/clock.h"
#include "engine/group/group.h"
#include "tests/support/errors.h"
#include "tests/support/place.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VOLTA_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define VOLTA_SANITIZED 1
#endif

namespace volta::test {

struct Outcome {  // of one rank, in memory that all share
    Failure failure;
    std::atomic<int> steps;
    bool is_right;
    bool has_returned;  // its body has: it was not killed
    double seconds;
};

inline double seconds_now() { return static_cast<double>(monotonic_ns()) * 1e-9; }
inline void sleep_for(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

class Processes final {
  public:
    // body(rank, outcome), in a process for each rank. What it throws is its failure.
    template <class Body>
    Processes(std::uint32_t count, Body body) : count_(count) {
        void* const shared = mmap(nullptr, sizeof(Outcome) * kMostProcesses, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        outcomes_ = static_cast<Outcome*>(shared);
        fflush(stdout);
        for (std::uint32_t rank = 0; rank < count; ++rank) {
            ids_[rank] = fork();
            if (ids_[rank] == 0) run(body, rank);
        }
    }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;
    ~Processes() {
        for (std::uint32_t rank = 0; rank < count_; ++rank) send(rank, SIGKILL);
        wait();
        munmap(outcomes_, sizeof(Outcome) * kMostProcesses);
    }

    void send(std::uint32_t rank, int signal_number) {
        if (ids_[rank] > 0) kill(ids_[rank], signal_number);
    }
    void wait(std::uint32_t rank) {
        if (ids_[rank] > 0) waitpid(ids_[rank], nullptr, 0);
        ids_[rank] = -1;
    }
    void wait() {
        for (std::uint32_t rank = 0; rank < count_; ++rank) wait(rank);
    }
    Outcome& operator[](std::uint32_t rank) { return outcomes_[rank]; }

  private:
    template <class Body>
    [[noreturn]] void run(Body& body, std::uint32_t rank) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // an assertion that fails leaves without destructors
        Outcome& outcome = outcomes_[rank];
        outcome.is_right = true;
        const double before = seconds_now();
        outcome.failure = failure_of([&] { body(rank, outcome); });
        outcome.seconds = seconds_now() - before;
        outcome.has_returned = true;
        _exit(0);
    }

    const std::uint32_t count_;
    pid_t ids_[kMostProcesses] = {};
    Outcome* outcomes_;
};

inline GroupRef join(const Place& place, std::uint32_t rank, std::uint32_t size, double timeout = 20) {
    return open_group(options_of(place, rank, size, timeout), std::pmr::new_delete_resource());
}

}  // namespace volta::test
