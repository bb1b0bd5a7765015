// Fibers and the two meeting places of device threads. A fiber is entered once by makecontext and from then
// on by _setjmp and _longjmp, which make no system call: a handover takes nanoseconds.
#undef _FORTIFY_SOURCE  // its longjmp takes another stack for an error
#include "tests/support/simt_emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

namespace volta::simt {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr unsigned kMostThreads = 1024;

enum class State : unsigned char { ready, at_warp, at_barrier, finished };

struct Copy {
    unsigned char* to;
    const unsigned char* from;
    unsigned bytes, group;
};

struct Thread {
    Place place;
    State state = State::finished;
    unsigned index = 0;  // in the block
    // At a warp operation.
    Operation operation = Operation::sync;
    unsigned mask = 0;
    int source = 0;
    std::uint64_t given = 0, received = 0;
    void (*compute)(void* const (&)[32]) =
        nullptr;         // Operation::together: `given` is the address of operands
    unsigned group = 0;  // of asynchronous copies
    std::vector<Copy> copies;
    // The fiber.
    ucontext_t entry{};
    jmp_buf here{};
    bool entered = false;
    std::unique_ptr<unsigned char[]> stack;
};

struct Machine {
    std::vector<std::unique_ptr<Thread>> threads;
    unsigned count = 0;  // of the block
    Thread* running = nullptr;
    jmp_buf scheduler{};
    void (*kernel)(const void*) = nullptr;
    const void* data = nullptr;
    Order order = Order::ascending;
    std::uint64_t random = 1;
    std::string error;
};
thread_local Machine machine;

void leave() {
    if (_setjmp(machine.running->here) == 0) _longjmp(machine.scheduler, 1);
}

// A fiber runs one thread per block, for ever.
void fiber() {
    for (;;) {
        machine.kernel(machine.data);
        machine.running->state = State::finished;
        leave();
    }
}

void resume(Thread& thread) {
    machine.running = &thread;
    if (_setjmp(machine.scheduler) != 0) return;
    if (thread.entered) _longjmp(thread.here, 1);
    thread.entered = true;
    setcontext(&thread.entry);
}

void make_fiber(Thread& thread) {
    getcontext(&thread.entry);
    thread.entry.uc_stack.ss_sp = thread.stack.get();
    thread.entry.uc_stack.ss_size = kStackBytes;
    thread.entry.uc_link = nullptr;
    makecontext(&thread.entry, fiber, 0);
}

void make_threads(unsigned count) {
    while (machine.threads.size() < count) {
        machine.threads.push_back(std::make_unique<Thread>());
        Thread& thread = *machine.threads.back();
        thread.index = static_cast<unsigned>(machine.threads.size() - 1);
        thread.stack.reset(new unsigned char[kStackBytes]);
        make_fiber(thread);
    }
    machine.count = count;
}

unsigned first_of_warp(unsigned warp) { return 32 * warp; }
unsigned end_of_warp(unsigned warp) { return std::min(machine.count, 32 * warp + 32); }

// What goes on next: a permutation of [first, end).
void order_of(unsigned first, unsigned end, std::vector<unsigned>& order) {
    order.clear();
    for (unsigned i = first; i < end; ++i) order.push_back(i);
    if (machine.order == Order::descending) std::reverse(order.begin(), order.end());
    if (machine.order != Order::shuffled) return;
    for (std::size_t i = order.size(); i > 1; --i) {
        machine.random ^= machine.random << 13, machine.random ^= machine.random >> 7;
        machine.random ^= machine.random << 17;
        std::swap(order[i - 1], order[machine.random % i]);
    }
}

// The lanes of the leader's mask are all there, at the same operation.
bool have_met(const Thread& leader, unsigned first, unsigned end) {
    for (unsigned l = 0; l < 32; ++l) {
        if ((leader.mask >> l & 1) == 0) continue;
        if (first + l >= end) return false;
        const Thread& other = *machine.threads[first + l];
        if (other.state != State::at_warp || other.mask != leader.mask ||
            other.operation != leader.operation || other.compute != leader.compute)
            return false;
    }
    return true;
}

// Words are handed over before any lane goes on and gives the next.
void hand_over(const Thread& leader, unsigned first) {
    const unsigned mask = leader.mask;
    if (leader.operation == Operation::together) {
        void* operands[32];
        for (unsigned l = 0; l < 32; ++l)
            operands[l] = reinterpret_cast<void*>(machine.threads[first + l]->given);
        leader.compute(operands);
    }
    std::uint64_t votes = 0;
    for (unsigned l = 0; l < 32; ++l)
        if ((mask >> l & 1) != 0 && machine.threads[first + l]->given != 0) votes |= 1u << l;
    for (unsigned l = 0; l < 32; ++l) {
        if ((mask >> l & 1) == 0) continue;
        Thread& thread = *machine.threads[first + l];
        thread.received = thread.operation == Operation::vote
                              ? votes
                              : machine.threads[first + static_cast<unsigned>(thread.source)]->given;
        thread.state = State::ready;
    }
}

// Lets go the lanes that have all met: true if any has.
bool release_warp(unsigned warp) {
    bool released = false;
    const unsigned first = first_of_warp(warp), end = end_of_warp(warp);
    for (unsigned i = first; i < end; ++i) {
        const Thread& leader = *machine.threads[i];
        if (leader.state != State::at_warp || !have_met(leader, first, end)) continue;
        hand_over(leader, first);
        released = true;
    }
    return released;
}

void run_warp(unsigned warp, std::vector<unsigned>& order) {
    do {
        order_of(first_of_warp(warp), end_of_warp(warp), order);
        for (const unsigned i : order)
            while (machine.threads[i]->state == State::ready && machine.error.empty())
                resume(*machine.threads[i]);
    } while (machine.error.empty() && release_warp(warp));
}

const char* text_of(const Thread& thread) {
    static const char* const operations[] = {"a shuffle (xor)", "a shuffle (down)", "a shuffle (up)",
                                             "a shuffle",       "a vote",           "__syncwarp",
                                             "an mma"};
    if (thread.state == State::at_warp) return operations[static_cast<int>(thread.operation)];
    return thread.state == State::at_barrier ? "__syncthreads" : "its end";
}

// All threads wait or have ended, and not all at one barrier: names two that will never meet.
void report_stuck() {
    const Thread* stuck = nullptr;
    for (unsigned i = 0; i < machine.count; ++i) {
        const Thread& thread = *machine.threads[i];
        if (thread.state == State::finished) continue;
        if (stuck == nullptr || (thread.state == State::at_warp && stuck->state != State::at_warp))
            stuck = &thread;
    }
    const auto elsewhere = [&](const Thread& thread) {
        if (thread.state != stuck->state) return true;
        return thread.state == State::at_warp &&
               (thread.operation != stuck->operation || thread.mask != stuck->mask ||
                thread.compute != stuck->compute);
    };
    const Thread* other = stuck;
    for (unsigned i = machine.count; i-- > 0;)
        if (elsewhere(*machine.threads[i])) other = machine.threads[i].get();
    char text[160];
    std::snprintf(text, sizeof text, "thread %u waits for ever at %s, and thread %u is at %s", stuck->index,
                  text_of(*stuck), other->index, text_of(*other));
    machine.error = text;
}

// True while there is more to do.
bool open_barrier() {
    unsigned waiting = 0, finished = 0;
    for (unsigned i = 0; i < machine.count; ++i) {
        waiting += machine.threads[i]->state == State::at_barrier;
        finished += machine.threads[i]->state == State::finished;
    }
    if (finished == machine.count) return false;
    // A thread that has returned will never come: a program may not leave others waiting for it.
    if (waiting != machine.count) {
        report_stuck();
        return false;
    }
    for (unsigned i = 0; i < machine.count; ++i) machine.threads[i]->state = State::ready;
    return true;
}

void run_block(const Launch& launch, const Dim3& block) {
    for (unsigned i = 0; i < machine.count; ++i) {
        Thread& thread = *machine.threads[i];
        const unsigned x = launch.block.x, y = launch.block.y;
        thread.place = {{i % x, i / x % y, i / (x * y)}, block, launch.block, launch.grid};
        thread.state = State::ready;
        thread.group = 0;
        thread.copies.clear();
    }
    std::vector<unsigned> warps, lanes;
    do {
        order_of(0, (machine.count + 31) / 32, warps);
        for (const unsigned warp : warps) run_warp(warp, lanes);
    } while (machine.error.empty() && open_barrier());
}

}  // namespace

void abandon() { machine.threads.clear(); }

const Place& place() { return machine.running->place; }

int lane() { return static_cast<int>(machine.running->index % 32); }

std::uint64_t exchange(Operation operation, unsigned mask, std::uint64_t word, int source) {
    Thread& thread = *machine.running;
    const auto own = static_cast<unsigned>(lane());
    const unsigned missing = (mask >> own & 1) == 0 ? own : static_cast<unsigned>(source);
    thread.operation = operation;
    if (operation != Operation::together) thread.compute = nullptr;
    thread.mask = mask;
    const bool reads_a_lane = operation < Operation::vote;
    thread.source = reads_a_lane ? source : lane();
    thread.given = word;
    thread.state = State::at_warp;
    if ((mask >> own & 1) == 0 || (mask >> thread.source & 1) == 0) {
        char text[128];
        std::snprintf(text, sizeof text, "thread %u is at %s: lane %u is not in the mask %08x", thread.index,
                      text_of(thread), missing, mask);
        machine.error = text;
    }
    leave();
    return thread.received;
}

void together(void (*compute)(void* const (&operands)[32]), void* own) {
    machine.running->compute = compute;
    exchange(Operation::together, ~0u, reinterpret_cast<std::uint64_t>(own), 0);
}

void block_barrier() {
    machine.running->state = State::at_barrier;
    leave();
}

void copy_async(void* to, const void* from, unsigned bytes) {
    Thread& thread = *machine.running;
    const auto ends = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    if (ends % bytes != 0) {
        machine.error = "thread " + std::to_string(thread.index) + " copies " + std::to_string(bytes) +
                        " bytes from or to an address that is no multiple of it";
        leave();
    }
    thread.copies.push_back(
        {static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes, thread.group});
}

void commit_copies() { ++machine.running->group; }

void wait_copies(unsigned groups_in_flight) {
    Thread& thread = *machine.running;
    const auto landed = [&](const Copy& copy) { return copy.group + groups_in_flight < thread.group; };
    for (const Copy& copy : thread.copies)
        if (landed(copy)) std::memcpy(copy.to, copy.from, copy.bytes);
    thread.copies.erase(std::remove_if(thread.copies.begin(), thread.copies.end(), landed),
                        thread.copies.end());
}

std::string run(const Launch& launch, void (*kernel)(const void* data), const void* data) {
    const unsigned count = launch.block.x * launch.block.y * launch.block.z;
    if (count == 0 || count > kMostThreads)
        return "a block has " + std::to_string(count) + " threads: 1 to 1024 are possible";
    machine.error.clear();
    make_threads(count);
    machine.kernel = kernel;
    machine.data = data;
    machine.order = launch.order;
    machine.random = launch.seed * 0x9e3779b97f4a7c15u | 1;
    for (unsigned z = 0; z < launch.grid.z; ++z)
        for (unsigned y = 0; y < launch.grid.y; ++y)
            for (unsigned x = 0; x < launch.grid.x && machine.error.empty(); ++x)
                run_block(launch, {x, y, z});
    std::string error = machine.error;
    if (!error.empty()) abandon();  // they stand in the middle of a kernel
    return error;
}

}  // namespace volta::simt
