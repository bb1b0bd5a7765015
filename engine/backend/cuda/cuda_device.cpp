// The module's entry point: devices of CUDA as the core sees them.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "engine/backend/cuda/cublaslt_library.h"
#include "engine/backend/cuda/executable.h"
#include "engine/backend/cuda/peaks.h"
#include "engine/backend/cuda/pinned_staging.h"
#include "engine/backend/cuda/tune.h"
#include "engine/backend/cuda_module.h"
#include "engine/base/error.h"

namespace volta::cuda {
namespace {

// Device memory under the core's interface, which knows ranges by their address alone.
class GpuMemory final : public Memory {
  public:
    // What is copied later has its host's side in `staging`.
    GpuMemory(Gpu& gpu, const PinnedStaging& staging, std::pmr::memory_resource* heap)
        : gpu_(gpu), staging_(staging), ranges_(heap) {}
    bool is_host() const noexcept override { return false; }
    // What the pool holds and nobody uses counts as free: it hands that out, or gives it back.
    std::uint64_t available() const noexcept override {
        const MemoryFigures figures = gpu_.memory();
        const std::uint64_t free =
            gpu_.free_bytes() + (figures.held - std::min(figures.held, figures.in_use));
        if (figures.budget == 0) return free;
        return std::min(free, figures.budget - std::min(figures.budget, figures.in_use));
    }
    void* allocate(std::size_t bytes, bool zeroed) override {
        DeviceMemory range = gpu_.allocate(bytes, "a tensor");
        const CUdeviceptr address = range.address();
        if (zeroed) gpu_.require(gpu_.fill(address, 0, bytes));
        ranges_.emplace(address, std::move(range));
        return reinterpret_cast<void*>(address);
    }
    void release(void* address, std::size_t) noexcept override {
        ranges_.erase(reinterpret_cast<CUdeviceptr>(address));
    }
    volta_status write(void* to, const void* host, std::size_t bytes) noexcept override {
        return gpu_.upload(reinterpret_cast<CUdeviceptr>(to), host, bytes);
    }
    volta_status read(void* host, const void* from, std::size_t bytes) noexcept override {
        return gpu_.download(host, reinterpret_cast<CUdeviceptr>(from), bytes);
    }
    volta_status copy(void* to, const void* from, std::size_t bytes) noexcept override {
        return gpu_.copy(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes);
    }
    volta_status write_later(void* to, const void* host, std::size_t bytes) noexcept override {
        std::size_t offset = 0;
        const PinnedMemory* const pinned = staging_.find(host, bytes, &offset);
        if (pinned == nullptr) return write(to, host, bytes);
        return gpu_.upload_later(reinterpret_cast<CUdeviceptr>(to), *pinned, offset, bytes);
    }
    volta_status read_later(void* host, const void* from, std::size_t bytes) noexcept override {
        std::size_t offset = 0;
        const PinnedMemory* const pinned = staging_.find(host, bytes, &offset);
        if (pinned == nullptr) return read(host, from, bytes);
        return gpu_.download_later(*pinned, offset, reinterpret_cast<CUdeviceptr>(from), bytes);
    }
    volta_status wait() noexcept override { return gpu_.wait(); }

  private:
    Gpu& gpu_;
    const PinnedStaging& staging_;
    std::pmr::unordered_map<CUdeviceptr, DeviceMemory> ranges_;
};

class GpuStream final : public DeviceStream {
  public:
    explicit GpuStream(Gpu& gpu) : gpu_(gpu) {}
    void call(void (*function)(void* user, void* stream), void* user) override {
        const Gpu::Turn turn(gpu_);
        if (!turn.has_context()) fail(VOLTA_DEVICE_ERROR, "CUDA: the device was reset: its context is gone");
        function(user, gpu_.stream());
    }
    bool is_idle() override {
        bool is_done = false;
        gpu_.require(gpu_.look(&is_done));
        return is_done;
    }

  private:
    Gpu& gpu_;
};

DeviceInfo info_of(const DeviceFacts& facts, std::uint64_t free_bytes) {
    DeviceInfo info = {};
    std::snprintf(info.name, sizeof info.name, "cuda:%d", facts.ordinal);
    std::snprintf(info.description, sizeof info.description, "%s", facts.name);
    info.memory_bytes = facts.memory_bytes;
    info.free_bytes = free_bytes;
    info.multiprocessors = facts.multiprocessors;
    info.major = facts.capability_major;
    info.minor = facts.capability_minor;
    return info;
}

GpuOptions gpu_options(const DeviceOptions& options) {
    GpuOptions gpu;
    gpu.device = options.index;
    gpu.budget = options.device_budget;
    gpu.pinned_budget = options.host_budget;
    return gpu;
}

class CudaDevice final : public Device {
  public:
    explicit CudaDevice(const DeviceOptions& options)
        : heap_(options.structures),
          gpu_(driver_, gpu_options(options), options.structures),
          store_(gpu_, options.kernel_folder == nullptr ? "" : options.kernel_folder, options.log,
                 options.structures),
          kernels_(store_, options.structures),
          level_(options.arithmetic.level),
          staging_(gpu_, options.structures),
          memory_(gpu_, staging_, options.structures),
          stream_(gpu_),
          tuning_(options.structures) {
        if (level_ != Level::strict)
            matrices_ = make_on<CublasLtLibrary>(options.structures, gpu_, level_, options.structures);
    }

    DeviceInfo info() const noexcept override { return info_of(gpu_.facts(), memory_.available()); }
    DeviceTraffic traffic() const noexcept override {
        const GpuFigures figures = gpu_.figures();
        DeviceTraffic traffic;
        traffic.copies_to_device = figures.to_device.count;
        traffic.bytes_to_device = figures.to_device.bytes;
        traffic.copies_to_host = figures.to_host.count;
        traffic.bytes_to_host = figures.to_host.bytes;
        traffic.launches = figures.kernel_launches + figures.graph_launches;
        const MemoryFigures memory = gpu_.memory();
        traffic.bytes_in_use = memory.in_use;
        traffic.pinned_bytes = memory.pinned;
        return traffic;
    }
    Memory& memory() noexcept override { return memory_; }
    Memory& staging() noexcept override { return staging_; }
    DeviceStream* stream() noexcept override { return &stream_; }
    ExecutablePtr compile(const Plan& plan, const BackendContext& context) override {
        std::optional<ProductChoice> forced;
        if (context.forced_choice != nullptr) forced = parse_choice(context.forced_choice);
        return compile_plan(plan, {gpu_, memory_, kernels_, matrices_.get(), tuning_,
                                   forced ? &*forced : nullptr, context.heap});
    }
    const char* failure() const noexcept override {
        failure_ = gpu_.failure();
        return failure_.what();
    }
    bool measure(DevicePeaks& peaks) override {
        measure_peaks(gpu_, store_, heap_, peaks);
        return true;
    }

    void open_tuning_folder(const char* folder, const Log& log) override {
        folder_.emplace(folder, gpu_.facts(), log, heap_);
        folder_->load(tuning_);
    }
    std::uint64_t tuning_version() const noexcept override { return tuning_.version(); }
    void tune(const TuneRequest& request, const BackendContext&) override {
        cuda::tune(request, level_, gpu_, store_, tuning_, folder_ ? &*folder_ : nullptr, heap_);
    }

  private:
    std::pmr::memory_resource* heap_;
    Driver driver_;
    mutable Gpu gpu_;
    KernelStore store_;
    KernelBatch kernels_;
    const Level level_;
    HeapPtr<CublasLtLibrary> matrices_;  // NULL: the level is strict
    PinnedStaging staging_;
    GpuMemory memory_;
    GpuStream stream_;
    TuningTable tuning_;
    std::optional<TuningFolder> folder_;  // none: results stay in memory
    mutable Error failure_{VOLTA_OK, ""};
};

int count(std::pmr::memory_resource*) { return Driver().device_count(); }

DeviceInfo describe(int index, std::pmr::memory_resource*) {
    const Driver driver;
    return info_of(driver.facts(index), driver.free_bytes(index));
}

DevicePtr open(const DeviceOptions& options) {
    return DevicePtr(make_on<CudaDevice>(options.structures, options).release(),
                     DeviceDelete{options.structures, sizeof(CudaDevice), alignof(CudaDevice)});
}

constexpr BackendRow kRow = {"cuda", count, describe, open};

}  // namespace
}  // namespace volta::cuda

extern "C" __attribute__((visibility("default"))) const volta::BackendRow* volta_cuda_backend(
    const char* build) {
    return std::strcmp(build, volta::kModuleBuild) == 0 ? &volta::cuda::kRow : nullptr;
}
