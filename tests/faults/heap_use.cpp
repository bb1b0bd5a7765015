// Every byte is the host's: each scenario is run, by one thread and by two, and what reaches the C heap all
// the same is counted against the list of what has to.
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "tests/faults/campaigns.h"
#include "tests/faults/interpose.h"

namespace volta::faults {
namespace {

// What the C library, the C++ library and libjpeg allocate by themselves
// (docs/decisions/0022-operator-new.md), beside the thread-local storage of each thread of a pool.
struct Exception {
    const char* scenario;
    std::uint64_t calls;
    const char* why;
};
constexpr Exception kExceptions[] = {
    {"import_llama2c", 2, "two exceptions: is it ONNX? It ends in the middle of a field"},
    {"data_jpeg", 22, "libjpeg's working memory, which its interface takes from malloc"},
};

std::uint64_t allowed(const char* scenario) {
    for (const Exception& exception : kExceptions)
        if (std::strcmp(exception.scenario, scenario) == 0) return exception.calls;
    return 0;
}

}  // namespace

bool count_heap_use(World& world) {
    bool good = true;
    std::uint64_t of_host = 0, of_others = 0;
    for (const std::uint32_t threads : {1u, 2u}) {
        for (std::size_t i = 0; i < kScenarioCount; ++i) {
            const Scenario& scenario = kScenarios[i];
            world.threads = threads;
            world.heap = HostHeap();
            begin_heap_use();
            const volta_status status = scenario.run(world);
            const HeapUse use = end_heap_use();
            of_host += world.heap.calls;
            of_others += use.calls;
            const std::uint64_t most = allowed(scenario.name) + (scenario.is_data ? 0 : threads - 1);
            // The C library keeps what a thread that has ended had, for the next one.
            const bool fits = status == VOLTA_OK && use.calls <= most && world.heap.live_bytes == 0 &&
                              use.blocks <= static_cast<std::int64_t>(threads - 1);
            if (!fits)
                std::printf(
                    "%s, %u threads: %s (%s), %llu allocations beside the host's, %llu are named, %lld "
                    "blocks "
                    "and %lld bytes left\n",
                    scenario.name, threads, volta_status_name(status), error_of(scenario),
                    static_cast<unsigned long long>(use.calls), static_cast<unsigned long long>(most),
                    static_cast<long long>(use.blocks), static_cast<long long>(world.heap.live_bytes));
            good = good && fits;
        }
    }
    world.threads = 1;
    std::printf(
        "heap: %zu scenarios by 1 and 2 threads, %llu allocations of the host's, %llu beside them, all "
        "named\n",
        kScenarioCount, static_cast<unsigned long long>(of_host), static_cast<unsigned long long>(of_others));
    return good;
}

}  // namespace volta::faults
