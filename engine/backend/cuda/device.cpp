#include "engine/backend/cuda/device.h"

#include <algorithm>
#include <cstdio>

namespace volta::cuda {
namespace {

using Bytes = unsigned long long;  // for printf

constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE: pinned for every context

}  // namespace

Gpu::Turn::Turn(Gpu& gpu) noexcept : gpu_(gpu) {
    gpu.mutex_.lock();
    if (gpu.turns_++ > 0) return;
    const DriverApi& api = gpu.driver_.api();
    const CUresult result = api.context_push.function(gpu.context_);
    gpu.pushed_ = result == kCudaSuccess;
    if (!gpu.pushed_ && !gpu.lost_) {  // the host has reset the device: nothing of ours is left
        gpu.report(result, api.context_push.name);
        gpu.lost_ = true;
    }
}

Gpu::Turn::~Turn() {
    if (--gpu_.turns_ == 0 && gpu_.pushed_) {
        CUcontext popped;
        gpu_.driver_.api().context_pop.function(&popped);
    }
    gpu_.mutex_.unlock();
}

Gpu::Gpu(const Driver& driver, const GpuOptions& options, std::pmr::memory_resource* heap)
    : driver_(driver), facts_(driver.facts(options.device)), pool_(*this, options.budget, heap) {
    pool_.figures.pinned_budget = options.pinned_budget;
    driver.call(driver.api().device_get, &device_, options.device);
    driver.call(driver.api().context_retain, &context_, device_);
    volta_status status;
    {
        const Turn turn(*this);
        status = run(driver.api().stream_create, &stream_, unsigned{kStreamNonBlocking});
    }
    if (status == VOLTA_OK) return;
    driver.api().context_release.function(device_);
    throw failure_;
}

Gpu::~Gpu() {
    {
        const Turn turn(*this);
        const DriverApi& api = driver_.api();
        if (turn.has_context()) {
            api.stream_synchronize.function(stream_);
            api.stream_destroy.function(stream_);
        }
        pool_.release();
    }
    driver_.api().context_release.function(device_);
}

// ---- Memory

CUresult Gpu::take(std::size_t bytes, CUdeviceptr* address) noexcept {
    return driver_.api().memory_allocate.function(address, bytes);
}
void Gpu::give_back(CUdeviceptr address) noexcept {
    if (pushed_) driver_.api().memory_free.function(address);
}

CUdeviceptr Gpu::take_range(std::size_t bytes, const char* purpose) {
    const Turn turn(*this);
    if (lost_) throw failure_;
    CUresult result;
    const CUdeviceptr address = pool_.allocate(bytes, purpose, !recording_, &result);
    require(report(result, driver_.api().memory_allocate.name));
    return address;
}

void Gpu::free_range(CUdeviceptr address) noexcept {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    pool_.free(address);
}

void* Gpu::take_pinned(std::size_t bytes, const char* purpose) {
    const Turn turn(*this);
    if (lost_ || !may_wait(purpose)) throw failure_;
    MemoryFigures& figures = pool_.figures;
    const std::uint64_t budget = figures.pinned_budget;
    const std::uint64_t left = budget - std::min(budget, figures.pinned);
    if (budget != 0 && bytes > left)
        fail(VOLTA_OUT_OF_MEMORY,
             "CUDA: %s needs %llu bytes of pinned host memory, has %llu: the budget is %llu", purpose,
             Bytes{bytes}, Bytes{left}, Bytes{budget});
    void* data = nullptr;
    const auto& allocate = driver_.api().host_allocate;
    const CUresult result = allocate.function(&data, bytes, kPortable);
    if (result == kCudaOutOfMemory)
        fail(VOLTA_OUT_OF_MEMORY,
             "CUDA: %s needs %llu bytes of pinned host memory, and the system refuses them", purpose,
             Bytes{bytes});
    require(report(result, allocate.name));
    figures.pinned += bytes;
    figures.peak_pinned = std::max(figures.peak_pinned, figures.pinned);
    return data;
}

void Gpu::free_pinned(void* data, std::size_t bytes) noexcept {
    const Turn turn(*this);
    if (turn.has_context()) driver_.api().host_free.function(data);
    pool_.figures.pinned -= bytes;
}

MemoryFigures Gpu::memory() noexcept {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return pool_.figures;
}

std::uint64_t Gpu::free_bytes() noexcept {
    const Turn turn(*this);
    std::size_t free = 0, total = 0;
    if (lost_ || driver_.api().memory_info.function(&free, &total) != kCudaSuccess) return 0;
    return free;
}

void Gpu::trim() noexcept {
    const Turn turn(*this);
    if (!recording_) pool_.trim();
}

// ---- Copies

volta_status Gpu::upload(CUdeviceptr to, const void* from, std::size_t bytes) noexcept {
    const Turn turn(*this);
    if (!may_wait("an upload")) return failure_.status();
    const volta_status status =
        transfer(&GpuFigures::to_device, bytes, driver_.api().copy_to_device, to, from, bytes);
    return status != VOLTA_OK || bytes == 0 ? status : wait();
}

volta_status Gpu::download(void* to, CUdeviceptr from, std::size_t bytes) noexcept {
    const Turn turn(*this);
    if (!may_wait("a download")) return failure_.status();
    const volta_status status =
        transfer(&GpuFigures::to_host, bytes, driver_.api().copy_to_host, to, from, bytes);
    return status != VOLTA_OK || bytes == 0 ? status : wait();
}

// Where the bytes lie; NULL, and a failure, where they reach beyond the memory.
unsigned char* Gpu::within(const PinnedMemory& memory, std::size_t offset, std::size_t bytes) noexcept {
    if (offset <= memory.bytes() && bytes <= memory.bytes() - offset)
        return static_cast<unsigned char*>(memory.data()) + offset;
    char text[160];
    std::snprintf(text, sizeof text,
                  "CUDA: a copy of %zu bytes at %zu is beyond the %zu bytes of pinned memory", bytes, offset,
                  memory.bytes());
    report(Error(VOLTA_INVALID_ARGUMENT, text));
    return nullptr;
}

volta_status Gpu::upload_later(CUdeviceptr to, const PinnedMemory& from, std::size_t offset,
                               std::size_t bytes) noexcept {
    const Turn turn(*this);
    const unsigned char* const data = bytes > 0 ? within(from, offset, bytes) : nullptr;
    if (bytes > 0 && data == nullptr) return failure_.status();
    return transfer(&GpuFigures::to_device, bytes, driver_.api().copy_to_device, to, data, bytes);
}

volta_status Gpu::download_later(const PinnedMemory& to, std::size_t offset, CUdeviceptr from,
                                 std::size_t bytes) noexcept {
    const Turn turn(*this);
    unsigned char* const data = bytes > 0 ? within(to, offset, bytes) : nullptr;
    if (bytes > 0 && data == nullptr) return failure_.status();
    return transfer(&GpuFigures::to_host, bytes, driver_.api().copy_to_host, data, from, bytes);
}

volta_status Gpu::copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) noexcept {
    const Turn turn(*this);
    return transfer(&GpuFigures::on_device, bytes, driver_.api().copy_on_device, to, from, bytes);
}

volta_status Gpu::fill(CUdeviceptr to, unsigned char value, std::size_t bytes) noexcept {
    const Turn turn(*this);
    return transfer(&GpuFigures::filled, bytes, driver_.api().fill_bytes, to, value, bytes);
}

volta_status Gpu::fill_words(CUdeviceptr to, std::uint32_t value, std::size_t words) noexcept {
    const Turn turn(*this);
    return transfer(&GpuFigures::filled, 4 * words, driver_.api().fill_words, to, value, words);
}

// ---- Work

volta_status Gpu::launch(const Kernel& kernel, const LaunchShape& shape, void** parameters) noexcept {
    const Turn turn(*this);
    const volta_status status =
        run(driver_.api().launch, kernel.function, shape.grid_x, shape.grid_y, shape.grid_z, shape.threads_x,
            shape.threads_y, shape.threads_z, shape.shared_bytes, stream_, parameters, nullptr);
    counted_->kernel_launches += status == VOLTA_OK;
    return status;
}

volta_status Gpu::wait() noexcept {
    const Turn turn(*this);
    if (!may_wait("waiting for the device")) return failure_.status();
    ++figures_.waits;
    return run(driver_.api().stream_synchronize, stream_);
}

volta_status Gpu::look(bool* is_done) noexcept {
    const Turn turn(*this);
    *is_done = false;
    if (!may_wait("looking at the stream")) return failure_.status();
    const CUresult result = driver_.api().stream_query.function(stream_);
    if (result == kCudaNotReady) return VOLTA_OK;
    *is_done = true;
    return report(result, driver_.api().stream_query.name);
}

// ---- Failures

volta_status Gpu::report(CUresult result, const char* call) noexcept {
    if (result == kCudaSuccess) return VOLTA_OK;
    if (lost_) return failure_.status();
    lost_ = is_fatal(result);
    failure_ = driver_.error(result, call);
    return failure_.status();
}

volta_status Gpu::report(const Error& error) noexcept {
    if (!lost_) failure_ = error;
    return failure_.status();
}

bool Gpu::may_wait(const char* what) noexcept {
    if (lost_) return false;
    if (!recording_) return true;
    char text[200];
    std::snprintf(text, sizeof text, "CUDA: %s is not possible while a graph is recorded", what);
    report(Error(VOLTA_INVALID_STATE, text));
    return false;
}

Error Gpu::failure() noexcept {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return failure_;
}

bool Gpu::lost() noexcept {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return lost_;
}

GpuFigures Gpu::figures() noexcept {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return figures_;
}

}  // namespace volta::cuda
