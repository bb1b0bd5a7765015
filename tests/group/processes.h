// Ranks as processes of their own, forked from a test program, and what became of each.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory_resource>
#include <string>

#include "engine/base/clock.h"
#include "engine/group/group.h"
#include "tests/support/errors.h"

namespace volta::test {

inline constexpr std::uint32_t kMostProcesses = 8;

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

// A new folder for sockets, and a port for the same.
class Place final {
  public:
    explicit Place(const char* transport) : transport_(transport) {
        char name[] = "/tmp/volta-group-XXXXXX";
        folder_ = mkdtemp(name) == nullptr ? "" : name;
        address_ =
            strcmp(transport, "local") == 0 ? folder_ + "/run" : "127.0.0.1:" + std::to_string(free_port());
    }
    ~Place() {
        for (std::uint32_t rank = 0; rank < kMostProcesses; ++rank)
            unlink((folder_ + "/run/rank" + std::to_string(rank)).c_str());
        rmdir((folder_ + "/run").c_str());
        rmdir(folder_.c_str());
    }
    const std::string& address() const { return address_; }
    const char* transport() const { return transport_; }

  private:
    static int free_port() {
        const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        const bool is_bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                              getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
        close(descriptor);
        assert_true(is_bound);
        return ntohs(address.sin_port);
    }

    const char* const transport_;
    std::string folder_, address_;
};

inline volta_group_options options_of(const Place& place, std::uint32_t rank, std::uint32_t size,
                                      double timeout) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = place.transport();
    options.address = place.address().c_str();
    options.rank = rank;
    options.size = size;
    options.timeout = timeout;
    return options;
}

inline GroupRef join(const Place& place, std::uint32_t rank, std::uint32_t size, double timeout = 20) {
    return open_group(options_of(place, rank, size, timeout), std::pmr::new_delete_resource());
}

}  // namespace volta::test
