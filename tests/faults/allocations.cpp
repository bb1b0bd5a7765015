// The host refuses an allocation: each once, and each with all that come after it.
#include <cstdio>
#include <initializer_list>

#include "tests/faults/campaigns.h"

namespace volta::faults {
namespace {

struct Whole {  // a run without a fault
    std::uint64_t digest, calls;
};

Whole run_whole(World& world, const Scenario& scenario, bool* good) {
    world.heap = HostHeap();
    world.begin();
    const volta_status status = scenario.run(world);
    if (status != VOLTA_OK || world.heap.live_bytes != 0) {
        std::printf("%s without a fault: %s, %lld bytes left\n", scenario.name, error_of(scenario),
                    static_cast<long long>(world.heap.live_bytes));
        *good = false;
    }
    return {world.digest(), world.heap.calls};
}

// What a refusal must be: a status that says so and a sentence, nothing left; or, where nothing depended on
// it, the same result as without it.
bool refuse(World& world, const Scenario& scenario, const Whole& whole, std::uint64_t at,
            bool and_all_after) {
    world.heap = HostHeap();
    (and_all_after ? world.heap.refuse_from : world.heap.refuse_at) = at;
    world.begin();
    const volta_status status = scenario.run(world);
    const bool same = status == VOLTA_OK && (scenario.is_timed || world.digest() == whole.digest);
    const bool told = status == VOLTA_OUT_OF_MEMORY && *error_of(scenario) != '\0';
    if ((same || told) && world.heap.live_bytes == 0) return true;
    std::printf("%s, allocation %llu of %llu%s: %s (%s), %lld bytes left\n", scenario.name,
                static_cast<unsigned long long>(at), static_cast<unsigned long long>(whole.calls),
                and_all_after ? " and all after it" : "", volta_status_name(status), error_of(scenario),
                static_cast<long long>(world.heap.live_bytes));
    return false;
}

}  // namespace

bool refuse_allocations(World& world, std::uint64_t points) {
    bool good = true;
    std::uint64_t all = 0, tried = 0;
    for (std::size_t i = 0; i < kScenarioCount; ++i) all += 2 * run_whole(world, kScenarios[i], &good).calls;
    const std::uint64_t stride = points == 0 ? 1 : all / points + 1;
    for (std::size_t i = 0; i < kScenarioCount; ++i) {
        const Scenario& scenario = kScenarios[i];
        const Whole whole = run_whole(world, scenario, &good);
        for (std::uint64_t at = 1 + (i % stride); at <= whole.calls; at += stride)
            for (const bool and_all_after : {false, true}) {
                ++tried;
                good = refuse(world, scenario, whole, at, and_all_after) && good;
            }
        // Nothing that was refused stays behind in the process.
        const Whole again = run_whole(world, scenario, &good);
        if (!scenario.is_timed && again.digest != whole.digest) {
            std::printf("%s gives something else after its refusals\n", scenario.name);
            good = false;
        }
    }
    std::printf("allocations: %llu of %llu points refused, over %zu scenarios\n",
                static_cast<unsigned long long>(tried), static_cast<unsigned long long>(all), kScenarioCount);
    return good;
}

}  // namespace volta::faults
