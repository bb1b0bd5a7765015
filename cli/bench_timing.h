// How voltac bench measures: warm-up that is not counted, repeats on a monotonic clock, median and spread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/support.h"

namespace voltac::bench {

// The options every benchmark shares.
struct Repeats {
    std::int64_t runs = 15, warmup = 3;
    bool json = false;
    Machine machine;
};
void declare(Options& options, Repeats& repeats);

// What "spread" means, for --help and for the heads of tables.
inline constexpr const char* kSpreadMeans = "spread: (90th - 10th percentile) / median of the runs";

struct Timing {
    double seconds = 0;  // median
    double spread = 0;   // (90th - 10th percentile) / median
};
Timing summarize(std::vector<double> samples);

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Body() once.
template <class Body>
double seconds_of(Body&& body) {
    const auto start = Clock::now();
    body();
    return seconds_since(start);
}

// Threads that have slept, or are new, may take hundreds of milliseconds until each has a core of its own:
// the warm-up of several threads lasts longer, however short its runs are.
inline constexpr double kWarmUpOfThreads = 0.5;  // seconds
template <class Run>
void warm_up(const Repeats& repeats, Run&& run) {
    const double least = repeats.warmup == 0 || repeats.machine.threads == 1 ? 0 : kWarmUpOfThreads;
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < repeats.warmup || seconds_since(start) < least; ++i) run();
}

// sample() measures one run and returns its seconds.
template <class Sample>
Timing time_samples(const Repeats& repeats, Sample&& sample) {
    warm_up(repeats, sample);
    std::vector<double> samples;
    for (std::int64_t i = 0; i < repeats.runs; ++i) samples.push_back(sample());
    return summarize(std::move(samples));
}

// One call of body() per run: for calls of a millisecond and more.
template <class Body>
Timing time_calls(const Repeats& repeats, Body&& body) {
    return time_samples(repeats, [&] { return seconds_of(body); });
}

// Body() `calls` times, in seconds per call.
template <class Body>
double seconds_per_call(std::int64_t calls, Body&& body) {
    const double seconds = seconds_of([&] {
        for (std::int64_t i = 0; i < calls; ++i) body();
    });
    return seconds / static_cast<double>(calls);
}

// As many calls as fill kRunSeconds, so that the clock and a wake-up weigh nothing. At least 1.
inline constexpr double kRunSeconds = 2e-3;
template <class Body>
std::int64_t calls_per_run(Body&& body) {
    std::int64_t calls = 1;
    const auto best_of_three = [&] {  // so that no interruption makes the calls too few
        const auto sample = [&] { return seconds_per_call(calls, body); };
        return std::min({sample(), sample(), sample()});
    };
    double seconds = best_of_three();
    while (seconds * static_cast<double>(calls) < kRunSeconds / 4) {
        calls *= 2;
        seconds = best_of_three();
    }
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(kRunSeconds / seconds));
}

// calls_per_run of body() per run.
template <class Body>
Timing time_short_calls(const Repeats& repeats, Body&& body) {
    const std::int64_t calls = calls_per_run(body);
    return time_samples(repeats, [&] { return seconds_per_call(calls, body); });
}

// What more() takes beyond less(): a run measures both, one behind the other, so that what slows the machine
// for a while meets both. Median and spread are those of the differences, which may be negative where they
// are noise.
template <class More, class Less>
Timing time_difference(const Repeats& repeats, More&& more, Less&& less) {
    const std::int64_t calls = calls_per_run(more);
    return time_samples(repeats,
                        [&] { return seconds_per_call(calls, more) - seconds_per_call(calls, less); });
}

volta_machine_speed measure_machine(const Context& context);

// The peaks of the machine, measured again and again while something is timed: what a neighbour takes, and
// which cores a virtual machine has, changes within seconds.
class Peaks {
  public:
    explicit Peaks(const Context& context) : context_(context) {}
    void measure();
    // The latest, measured now if that was more than a second ago: for what is timed next.
    const volta_machine_speed& refreshed();
    // Around what ran between the last two measurements: their mean. The first alone says what it found.
    volta_machine_speed around() const;
    volta_machine_speed medians() const;

  private:
    static constexpr double kFreshSeconds = 1;
    const Context& context_;
    std::vector<volta_machine_speed> all_;
    Clock::time_point measured_;
};

volta_context_info info_of(const Context& context);
const char* isa_name(volta_isa isa);  // "scalar", "avx2", "avx512"

// One line about machine, instruction set, threads and peaks: what stands above a table.
std::string machine_line(const Context& context, const volta_machine_speed& speed);

// A field of a row of CSV (RFC 4180): quoted where a comma, a quote or the end of a line is in it.
std::string csv_field(const std::string& text);

// The most memory this process ever had resident, in bytes (VmHWM); 0 where the system does not say.
std::uint64_t resident_peak_bytes();

inline constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace voltac::bench
