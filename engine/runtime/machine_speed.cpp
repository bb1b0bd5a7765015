#include "engine/runtime/machine_speed.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/runtime/gateway.h"
#include "jitgen/peak_kernels.h"

namespace volta {
namespace {

using Clock = std::chrono::steady_clock;

// Many short samples rather than few long ones: a sample shorter than a time slice is seldom interrupted, so
// that the median holds on a machine that is not idle.
constexpr int kSamples = 101;
constexpr double kSampleSeconds = 1e-3;            // of multiply-adds, at least
constexpr std::int64_t kReadWindow = 4 << 20;      // floats that a thread reads per sample: 16 MiB
constexpr std::int64_t kUpdateWindow = 768 << 10;  // parameters that it updates: 21 MiB moved
constexpr std::size_t kMiB = 1 << 20;
// A last-level cache does not drop the oldest lines first, and two cores of a virtual machine may have one
// each where it tells of one: of four times what was told two threads read a fifth faster than of eight times
// or more.
constexpr std::size_t kCaches = 8;
constexpr std::size_t kSmallestBuffer = 256 * kMiB, kLargestBuffer = 768 * kMiB;
// Between the optimizer's arrays: no two of them at the same distance from a 4 KiB boundary, where a load
// would wait for the store to another array that has the same low twelve bits; and more than a page, or
// arrays a power of two apart are read and written at half the rate.
constexpr std::int64_t kStagger = 1296;  // floats

template <class Body>
double seconds_of(ThreadPool& pool, Body&& body) {
    const auto start = Clock::now();
    pool.run(pool.thread_count(), body);
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Median of amount / seconds over body(sample, worker, workers) for all samples, after one that is not
// counted.
template <class Body>
Sampled rate(ThreadPool& pool, double amount, Body&& body) {
    double samples[kSamples];
    pool.begin_hot();
    for (int i = -1; i < kSamples; ++i) {
        const double seconds = seconds_of(
            pool, [&](int worker, int workers) noexcept { body(i < 0 ? kSamples : i, worker, workers); });
        if (i >= 0) samples[i] = amount / seconds;
    }
    pool.end_hot();
    return summarize(samples, kSamples);
}

// One thread's multiply-adds on values of its own.
void multiply_adds(const jit::MachineKernels& kernels, std::int64_t turns) noexcept {
    alignas(64) float values[4 * jit::kMachineVector];
    for (int i = 0; i < jit::kMachineVector; ++i) {
        values[i] = 1.0f + 0.0371f * static_cast<float>(i);
        values[16 + i] = 0.7071f + 0.0131f * static_cast<float>(i);
        values[32 + i] = 0.5773f + 0.0173f * static_cast<float>(i);
        values[48 + i] = -values[32 + i];
    }
    kernels.multiply_adds(turns, values);
}

// Turns that fill a sample on one thread: the best of three, so that no interruption makes them too few.
std::int64_t choose_turns(const jit::MachineKernels& kernels) {
    for (std::int64_t turns = 1 << 10;; turns *= 2) {
        double best = 1;
        for (int i = 0; i < 3; ++i) {
            const auto start = Clock::now();
            multiply_adds(kernels, turns);
            best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
        }
        if (best >= kSampleSeconds) return turns;
    }
}

Sampled measure_fma(ThreadPool& pool, const jit::MachineKernels& kernels) {
    const std::int64_t turns = choose_turns(kernels);
    const double operations =
        2.0 * jit::multiply_adds_per_turn(kernels) * static_cast<double>(turns) * pool.thread_count();
    return rate(pool, operations * 1e-9, [&](int, int, int) noexcept { multiply_adds(kernels, turns); });
}

// `count` elements walked window by window, sample by sample, round and round: where a sample begins and how
// much all threads take of it.
struct Windows {
    std::int64_t count, size;
    Windows(std::int64_t elements, std::int64_t per_thread, std::int64_t grain, int threads)
        : count(elements), size(std::min(per_thread * threads, elements) / grain * grain) {}
    std::int64_t start(int sample) const { return sample % (count / size) * size; }
};

Sampled measure_read(ThreadPool& pool, const jit::MachineKernels& kernels, const float* data,
                     std::int64_t floats) {
    constexpr std::int64_t kGrain = 4 * jit::kMachineGrain;
    const Windows windows(floats, kReadWindow, kGrain, pool.thread_count());
    const auto body = [&](int sample, int worker, int workers) noexcept {
        const Range part = part_of(windows.size, kGrain, worker, workers);
        const std::int64_t each = (part.end - part.begin) / 4;
        std::uint32_t result[jit::kMachineVector];
        kernels.read(data + windows.start(sample) + part.begin, each, each, result);
    };
    return rate(pool, static_cast<double>(windows.size) * sizeof(float) * 1e-9, body);
}

Sampled measure_stream(ThreadPool& pool, const jit::MachineKernels& kernels, float* data,
                       std::int64_t floats) {
    const std::int64_t apart = floats / 4 + kStagger, count = floats / 4 - 3 * kStagger;
    const Windows windows(count, kUpdateWindow, jit::kMachineGrain, pool.thread_count());
    const auto body = [&](int sample, int worker, int workers) noexcept {
        const Range part = part_of(windows.size, jit::kMachineGrain, worker, workers);
        float* const p = data + windows.start(sample) + part.begin;
        const jit::UpdateStreams streams = {p, p + apart, p + 2 * apart, p + 3 * apart};
        kernels.update(&streams, part.end - part.begin);
    };
    return rate(pool, 28e-9 * static_cast<double>(windows.size), body);
}

// What is left in the caches of the pass before has gone by the time it is read again.
std::int64_t buffer_floats() {
    const std::size_t bytes = std::clamp(kCaches * host_cpu().l3_bytes, kSmallestBuffer, kLargestBuffer);
    constexpr std::size_t kGrain = 4 * static_cast<std::size_t>(jit::kMachineGrain);
    return static_cast<std::int64_t>(bytes / sizeof(float) / kGrain * kGrain);
}

// By the threads that will read it: an untouched page is the one page of zeros, which is always in cache.
void fill(ThreadPool& pool, float* data, std::int64_t floats) {
    pool.run(pool.thread_count(), [&](int worker, int workers) noexcept {
        const Range part = part_of(floats, jit::kMachineGrain, worker, workers);
        std::fill(data + part.begin, data + part.end, 1.0f);
    });
}

}  // namespace

Sampled summarize(double* samples, int count) noexcept {
    std::sort(samples, samples + count);
    const auto quantile = [&](double q) {
        const double at = q * (count - 1);
        const int below = static_cast<int>(at);
        const int above = std::min(below + 1, count - 1);
        return samples[below] + (at - below) * (samples[above] - samples[below]);
    };
    const double median = quantile(0.5);
    return {median, median > 0 ? (quantile(0.9) - quantile(0.1)) / median : 0};
}

namespace {

MachineSpeed speed_of(DevicePeaks& peaks) {
    for (double& rate : peaks.operations_per_second) rate *= 1e-9;
    for (double& rate : peaks.bytes_per_second) rate *= 1e-9;
    MachineSpeed speed;
    speed.buffer_bytes = 2 * peaks.buffer_bytes;
    speed.fma = summarize(peaks.operations_per_second, DevicePeaks::kRuns);
    speed.read = speed.stream = summarize(peaks.bytes_per_second, DevicePeaks::kRuns);
    return speed;
}

}  // namespace

// Everything is allocated and emitted before anything is timed: a refusal costs nothing.
MachineSpeed measure_machine(Context& context) {
    DevicePeaks peaks;
    if (context.plans().device().measure(peaks)) return speed_of(peaks);
    std::pmr::memory_resource* const heap = context.structures();
    // An arena of its own: the kernels end with the call, and what refuses the context's code refuses this.
    jit::CodeArena arena(heap, !context.code().available());
    const jit::MachineKernels kernels = jit::machine_kernels(context.isa(), arena, heap);
    const std::int64_t floats = buffer_floats();
    Buffer buffer(heap, static_cast<std::size_t>(floats) * sizeof(float));
    prefer_large_pages(buffer.data(), buffer.bytes());
    auto* const data = static_cast<float*>(buffer.data());

    ThreadPool& pool = context.pool();
    MachineSpeed speed;
    speed.buffer_bytes = buffer.bytes();
    fill(pool, data, floats);  // first: threads that have slept need some time until each has a core
    speed.fma = measure_fma(pool, kernels);
    speed.read = measure_read(pool, kernels, data, floats);
    speed.stream = measure_stream(pool, kernels, data, floats);
    return speed;
}

}  // namespace volta
