// A rank of the transport mpi; test_mpi.sh starts several by mpirun.
//     test_mpi MODE [LIBRARY]
// A host reads its environment, which the engine does not: LIBRARY, or VOLTA_TEST_MPI_LIBRARY, is handed on
// as address. The modes are the rows of kModes.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/group/group.h"
#include "engine/group/mpi_library.h"

namespace {

using volta::Error;
using volta::Group;
using volta::GroupRef;

const char* library_name = nullptr;

GroupRef open(std::uint32_t rank, std::uint32_t size, double timeout) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = "mpi";
    options.address = library_name;
    options.rank = rank;
    options.size = size;
    options.timeout = timeout;
    return volta::open_group(options, std::pmr::get_default_resource());
}

// A line of one write: the lines that mpirun brings together of several ranks may be torn.
// VOLTA_TEST_MPI_SAID names the file, without it they are printed.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
void say(const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    std::strcat(line, "\n");
    const char* const name = std::getenv("VOLTA_TEST_MPI_SAID");
    const int file = name == nullptr ? STDOUT_FILENO : ::open(name, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0 || ::write(file, line, std::strlen(line)) < 0) std::_Exit(4);
    if (file != STDOUT_FILENO) ::close(file);
}

void expect(bool holds, const char* what) {
    if (holds) return;
    say("FAILED: %s", what);
    std::_Exit(3);
}

// Both ranks of a pair draw the same numbers.
class Draws {
  public:
    explicit Draws(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
    std::uint64_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        std::uint64_t bits = state_;
        bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdull;
        return bits ^ (bits >> 33);
    }

  private:
    std::uint64_t state_;
};

// 0 bytes, some, or up to 8 MiB.
std::size_t draw_bytes(Draws* draws) {
    const std::uint64_t kind = draws->next() % 4;
    const std::uint64_t most = kind == 0 ? 1 : kind == 1 ? 300 : kind == 2 ? 100000 : (8 << 20) + 1;
    return static_cast<std::size_t>(draws->next() % most);
}

void fill(std::vector<unsigned char>* bytes, std::size_t count, std::uint64_t seed) {
    bytes->resize(count);
    Draws draws(seed);
    for (std::size_t at = 0; at < count; at += 8) {
        const std::uint64_t word = draws.next();
        std::memcpy(bytes->data() + at, &word, std::min<std::size_t>(8, count - at));
    }
}

void exchange_checked(Group& group, std::uint32_t peer, std::size_t up, std::size_t down,
                      std::uint64_t seed) {
    std::vector<unsigned char> mine, theirs, expected;
    const bool lower = group.rank() < peer;  // the lower rank sends `up` bytes
    fill(&mine, lower ? up : down, seed * 2 + (lower ? 0 : 1));
    fill(&expected, lower ? down : up, seed * 2 + (lower ? 1 : 0));
    theirs.assign(expected.size(), 0xa5);
    group.exchange(peer, mine.data(), mine.size(), theirs.data(), theirs.size());
    expect(theirs == expected, "what came is not what was sent");
}

void run_rounds(Group& group, int rounds) {
    for (int round = 0; round < rounds; ++round)
        for (std::uint32_t bit = 1; bit < group.size(); bit *= 2) {
            const std::uint32_t peer = group.rank() ^ bit;
            const std::uint64_t seed =
                (static_cast<std::uint64_t>(round) * 1024 + std::min(peer, group.rank())) * 1024 + bit;
            Draws draws(seed);
            const std::size_t up = draw_bytes(&draws);
            exchange_checked(group, peer, up, draw_bytes(&draws), seed);
        }
}

// Random sizes, then one of several pieces one way.
void exchange_all() {
    const GroupRef group = open(0, 0, 30);
    run_rounds(*group, 16);
    exchange_checked(*group, group->rank() ^ 1, (64 << 20) + 5, 3, 99);
    say("rank %u of %u: well", group->rank(), group->size());
}

double seconds_since(std::uint64_t start) {
    return static_cast<double>(volta::monotonic_ns() - start) * 1e-9;
}

// What 200 exchanges of 4 MiB each way, and 2,000 of 8 bytes, take.
void measure() {
    const GroupRef group = open(0, 0, 30);
    std::vector<unsigned char> mine(4 << 20, 1), theirs(4 << 20);
    for (const auto& [bytes, count] : {std::pair<std::size_t, int>{8, 2000}, {std::size_t{4} << 20, 200}}) {
        const std::uint64_t start = volta::monotonic_ns();
        for (int i = 0; i < count; ++i)
            group->exchange(group->rank() ^ 1, mine.data(), bytes, theirs.data(), bytes);
        const double each = seconds_since(start) / count;
        if (group->rank() == 0)
            say("%zu bytes: %.1f us each, %.2f GB/s each way", bytes, each * 1e6,
                static_cast<double>(bytes) / each * 1e-9);
    }
}

// Opens twice while the first is alive: MPI is the first one's.
void two_groups() {
    const GroupRef first = open(0, 0, 30);
    {
        const GroupRef second = open(0, first->size(), 30);
        run_rounds(*second, 3);
    }
    run_rounds(*first, 3);
    say("rank %u of %u: well", first->rank(), first->size());
}

// MPI is the host's: the group neither starts nor ends it.
void host_started() {
    const volta::MpiLibrary library = volta::open_mpi_library(library_name);
    int (*init)(int*, char***);
    int (*finalized)(int*);
    int (*finalize)();
    const auto find = [&library](const char* name, auto* out) {
        void* const symbol = volta::mpi_symbol(library, name);
        std::memcpy(out, &symbol, sizeof symbol);
    };
    find("MPI_Init", &init);
    find("MPI_Finalized", &finalized);
    find("MPI_Finalize", &finalize);
    expect(init(nullptr, nullptr) == 0, "MPI_Init");
    library_name = nullptr;  // the one that is loaded is found
    for (int time = 0; time < 2; ++time) run_rounds(*open(0, 0, 30), 2);
    int flag = 1;
    expect(finalized(&flag) == 0 && flag == 0, "the group has ended the host's MPI");
    expect(finalize() == 0, "MPI_Finalize");
    try {
        open(0, 0, 30);
        expect(false, "a group of MPI after its end");
    } catch (const Error& e) {
        say("%s", e.what());
    }
}

void print_refusal(std::uint32_t rank, std::uint32_t size) {
    try {
        open(rank, size, 30);
        expect(false, "a group that should have been refused");
    } catch (const Error& e) {
        say("%d: %s", e.status(), e.what());
    }
}
void other_size() { print_refusal(0, 64); }
void other_rank() { print_refusal(63, 0); }
void refused() { print_refusal(0, 0); }

// What a rank reads where it waits for one that has gone; the group stays ended.
void print_end(Group& group) {
    const std::uint64_t start = volta::monotonic_ns();
    char first[512] = "";
    for (int time = 0; time < 2; ++time) try {
            for (int round = 0; round < 100; ++round) run_rounds(group, 1);
            expect(false, "an exchange that should have failed");
        } catch (const Error& e) {
            expect(e.status() == VOLTA_IO_ERROR, "the status of a group that has ended");
            if (time == 0) std::snprintf(first, sizeof first, "%s", e.what());
            expect(std::strcmp(first, e.what()) == 0, "a group that has ended says why, again");
        }
    say("rank %u after %.0f s: %s", group.rank(), seconds_since(start), first);
}

// Four ranks. The last one says that it goes; all others name it.
void one_leaves() {
    const GroupRef group = open(0, 4, 20);
    if (group->rank() == 3)
        group->leave("step 7 is not finite");
    else
        print_end(*group);
}
// The last one is gone without a word.
void one_dies() {
    const GroupRef group = open(0, 4, 2);
    if (group->rank() == 3) std::_Exit(0);
    print_end(*group);
}
// The last one hangs, the second waits for it, and two for the second, which they began a second before: it
// is not the one.
void one_hangs() {
    const GroupRef group = open(0, 4, 2);
    if (group->rank() == 3) {
        ::sleep(7);
        std::_Exit(0);
    }
    if (group->rank() == 1) ::sleep(1);
    unsigned char byte = 0;
    try {
        group->exchange(group->rank() == 1 ? 3 : 1, &byte, 1, &byte, 1);
        expect(false, "an exchange that should have failed");
    } catch (const Error& e) {
        say("rank %u: %s", group->rank(), e.what());
    }
}
// A process that stops this one for 4 s, 0.3 s after something is written to what is returned.
int begin_suspension() {
    int told[2];
    expect(::pipe(told) == 0, "a pipe");
    const pid_t parent = ::getpid();
    if (::fork() == 0) {
        char byte;
        ::close(told[1]);
        if (::read(told[0], &byte, 1) == 1) {
            ::usleep(300000);
            ::kill(parent, SIGSTOP);
            ::sleep(4);
            ::kill(parent, SIGCONT);
        }
        std::_Exit(0);
    }
    ::close(told[0]);
    return told[1];
}
// Two ranks: the first waits and is suspended for longer than the timeout. The other, which comes a second
// later, is not late.
void one_is_suspended() {
    const int suspension = begin_suspension();
    const GroupRef group = open(0, 2, 3);
    if (group->rank() == 1) ::usleep(5500000);
    if (group->rank() == 0) expect(::write(suspension, "", 1) == 1, "a pipe");
    run_rounds(*group, 3);
    say("rank %u of %u: well", group->rank(), group->size());
}
// Two ranks that expect of each other what neither sends: nobody is silent, so nobody is called so.
void mismatch() {
    const GroupRef group = open(0, 2, 2);
    unsigned char byte = 0;
    try {
        group->exchange(group->rank() ^ 1, nullptr, 0, &byte, 1);
        expect(false, "an exchange that should have failed");
    } catch (const Error& e) {
        say("rank %u: %s", group->rank(), e.what());
    }
}
// One rank ends well while another has failed: it does not wait in MPI_Finalize.
void one_ends_early() {
    const GroupRef group = open(0, 4, 20);
    if (group->rank() == 3) group->leave("it has failed");
    say("rank %u is done", group->rank());
}
// Two ranks: the second sends less than the first expects.
void unequal() {
    const GroupRef group = open(0, 2, 5);
    unsigned char bytes[8] = {};
    try {
        group->exchange(group->rank() ^ 1, bytes, group->rank() == 0 ? 8 : 5, bytes, 8);
        if (group->rank() == 1) print_end(*group);
    } catch (const Error& e) {
        say("rank %u: %s", group->rank(), e.what());
    }
}

struct Mode {
    const char* name;
    void (*run)();
};
constexpr Mode kModes[] = {
    {"exchange", exchange_all}, {"measure", measure},
    {"two_groups", two_groups}, {"host", host_started},
    {"other_size", other_size}, {"other_rank", other_rank},
    {"refused", refused},       {"leaves", one_leaves},
    {"dies", one_dies},         {"ends_early", one_ends_early},
    {"unequal", unequal},       {"mismatch", mismatch},
    {"hangs", one_hangs},       {"suspended", one_is_suspended},
};

}  // namespace

int main(int count, char** arguments) {
    library_name = count > 2 ? arguments[2] : std::getenv("VOLTA_TEST_MPI_LIBRARY");
    for (const Mode& mode : kModes)
        if (count > 1 && std::strcmp(arguments[1], mode.name) == 0) try {
                mode.run();
                return 0;
            } catch (const Error& e) {
                say("FAILED: %s", e.what());
                return 1;
            }
    std::fprintf(stderr, "usage: test_mpi MODE [LIBRARY]\n");
    return 2;
}
