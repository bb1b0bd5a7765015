// A call of the system fails: each in every way in which it can, once, and with all that come after it.
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/faults/campaigns.h"
#include "tests/faults/interpose.h"

namespace volta::faults {
namespace {

int open_files() {
    DIR* const folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
    return count;
}

struct Outcome {
    volta_status status;
    std::uint64_t digest, output;  // output: of the file that it replaces
    std::int64_t live_bytes;
    char text[256];
};

std::uint64_t digest_of(World& world, const Scenario& scenario) {
    if (scenario.output == nullptr) return 0;
    World reader(world);
    reader.begin();
    reader.mix_file(world.file(scenario.output));
    return reader.digest();
}

Outcome run(World& world, const Scenario& scenario, std::size_t at, Fault fault, bool and_all_after,
            IoTrace* trace) {
    world.heap = HostHeap();
    world.begin();
    begin_io(at, fault, and_all_after);
    Outcome outcome;
    outcome.status = scenario.run(world);
    std::snprintf(outcome.text, sizeof outcome.text, "%s",
                  outcome.status == VOLTA_OK ? "" : error_of(scenario));
    const IoTrace& seen = end_io();
    if (trace != nullptr) *trace = seen;
    outcome.digest = world.digest();
    outcome.output = digest_of(world, scenario);
    outcome.live_bytes = world.heap.live_bytes;
    return outcome;
}

class Campaign final {
  public:
    Campaign(World& world, std::uint64_t points) : world_(world), points_(points) {}

    bool run_all() {
        for (is_counting_ = true;; is_counting_ = false) {
            for (std::size_t i = 0; i < kScenarioCount; ++i) walk(kScenarios[i]);
            if (!is_counting_) break;
            all_ = number_;
            number_ = 0;
        }
        // What is tuned against the clock calls more or less often each time: these are the points of this
        // walk.
        std::printf(
            "io: %llu of %llu points failed, %llu refused with a sentence, %llu borne with the same result\n",
            static_cast<unsigned long long>(tried_), static_cast<unsigned long long>(number_),
            static_cast<unsigned long long>(refused_), static_cast<unsigned long long>(tried_ - refused_));
        return good_;
    }

  private:
    void walk(const Scenario& scenario) {
        static IoTrace trace;
        const Outcome whole = run(world_, scenario, 0, Fault::io_error, false, &trace);
        check(whole.status == VOLTA_OK, scenario, "fails without a fault", whole);
        for (std::size_t at = 1; at <= trace.count && at <= kMostCalls; ++at)
            for (int kind = 0; kind < static_cast<int>(Fault::count); ++kind) {
                const Fault fault = static_cast<Fault>(kind);
                const Call call = trace.calls[at - 1];
                if (!is_possible(call, fault)) continue;
                fail(scenario, whole, at, call, fault, false);
                // What is interrupted, or cut, for ever never ends.
                if (fault != Fault::interrupted) fail(scenario, whole, at, call, fault, true);
            }
    }

    void fail(const Scenario& scenario, const Outcome& whole, std::size_t at, Call call, Fault fault,
              bool and_all_after) {
        const std::uint64_t stride = points_ == 0 || is_counting_ ? 1 : all_ / points_ + 1;
        if (number_++ % stride != 0 || is_counting_) return;
        ++tried_;
        const int files = open_files();
        const Outcome failed = run(world_, scenario, at, fault, and_all_after, nullptr);
        char what[128];
        std::snprintf(what, sizeof what, "call %zu, %s with %s%s", at, name_of(call), name_of(fault),
                      and_all_after ? " and all after it" : "");
        check(failed.live_bytes == 0, scenario, what, failed);
        check(open_files() == files, scenario, "leaves a file open", failed);
        if (failed.status == VOLTA_OK) {
            check(scenario.is_timed || failed.digest == whole.digest, scenario, what, failed);
        } else {
            ++refused_;
            check(failed.status != VOLTA_INTERNAL && failed.text[0] != '\0', scenario, what, failed);
        }
        // The same bytes before and after: a file is the old one or the new one, whole.
        check(scenario.output == nullptr || scenario.is_timed || failed.output == whole.output, scenario,
              what, failed);
        const Outcome again = run(world_, scenario, 0, Fault::io_error, false, nullptr);
        check(again.status == VOLTA_OK && (scenario.is_timed || again.digest == whole.digest), scenario,
              "does not work after a fault", again);
    }

    void check(bool holds, const Scenario& scenario, const char* what, const Outcome& outcome) {
        if (holds) return;
        good_ = false;
        std::printf("%s, %s: %s (%s), %lld bytes left\n", scenario.name, what,
                    volta_status_name(outcome.status), outcome.text,
                    static_cast<long long>(outcome.live_bytes));
    }

    World& world_;
    std::uint64_t points_, all_ = 0, number_ = 0, tried_ = 0, refused_ = 0;
    bool is_counting_ = true, good_ = true;
};

}  // namespace

bool fail_io(World& world, std::uint64_t points) { return Campaign(world, points).run_all(); }

}  // namespace volta::faults
