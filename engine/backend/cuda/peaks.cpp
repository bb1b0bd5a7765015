#include "engine/backend/cuda/peaks.h"

#include <algorithm>

#include "engine/backend/cuda/event_time.h"
#include "jitgen/cuda/peak_source.h"

namespace volta::cuda {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{256} << 20;
constexpr int kBlocksPerMultiprocessor = 8;  // of 256 threads: all that a multiprocessor holds
constexpr std::uint32_t kShortTurns = 1, kMostTurns = 1024;
constexpr float kRunMilliseconds = 2;  // long beside a launch

}  // namespace

void measure_peaks(Gpu& gpu, KernelStore& store, std::pmr::memory_resource* heap, DevicePeaks& peaks) {
    std::pmr::string text(heap);
    jit::append_peak_kernel(text);
    const Kernel kernel = store.kernel(text.c_str(), "peak_multiply_adds");
    Event begin(gpu), end(gpu);

    const auto blocks = static_cast<unsigned>(kBlocksPerMultiprocessor * gpu.facts().multiprocessors);
    const DeviceMemory sums = gpu.allocate(sizeof(float) * blocks * jit::kPeakThreads, "measuring");
    const auto run = [&](std::uint32_t turns) {
        return milliseconds_of(gpu, begin, end, [&]() noexcept {
            jit::CudaPeakArgs args = {sums.as<float>(), turns, 0};
            void* parameters[] = {&args};
            LaunchShape shape;
            shape.grid_x = blocks;
            shape.threads_x = jit::kPeakThreads;
            return gpu.launch(kernel, shape, parameters);
        });
    };
    // As many turns as take a while, and the clock of an idle device has gone up by then.
    std::uint32_t turns = kShortTurns;
    while (run(turns) < kRunMilliseconds && turns < kMostTurns) turns *= 2;
    for (double& rate : peaks.operations_per_second)
        rate = jit::peak_operations(blocks, turns) / (static_cast<double>(run(turns)) * 1e-3);

    peaks.buffer_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, gpu.free_bytes() / 4));
    const DeviceMemory from = gpu.allocate(peaks.buffer_bytes, "measuring"),
                       to = gpu.allocate(peaks.buffer_bytes, "measuring");
    gpu.require(gpu.fill(from.address(), 0, from.bytes()));
    const auto copy = [&] {
        return milliseconds_of(
            gpu, begin, end, [&]() noexcept { return gpu.copy(to.address(), from.address(), from.bytes()); });
    };
    copy();
    for (double& rate : peaks.bytes_per_second)
        rate = 2.0 * static_cast<double>(from.bytes()) / (static_cast<double>(copy()) * 1e-3);
}

}  // namespace volta::cuda
