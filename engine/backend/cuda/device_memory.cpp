#include "engine/backend/cuda/device_memory.h"

#include "engine/backend/cuda/device.h"

namespace volta::cuda {

DeviceMemory::DeviceMemory(Gpu& gpu, std::size_t bytes, const char* purpose) {
    if (bytes == 0) return;
    address_ = gpu.take_range(bytes, purpose);
    gpu_ = &gpu;
    bytes_ = bytes;
}

DeviceMemory::~DeviceMemory() {
    if (gpu_ != nullptr) gpu_->free_range(address_);
}

PinnedMemory::PinnedMemory(Gpu& gpu, std::size_t bytes, const char* purpose) {
    if (bytes == 0) return;
    data_ = gpu.take_pinned(bytes, purpose);
    gpu_ = &gpu;
    bytes_ = bytes;
}

PinnedMemory::~PinnedMemory() {
    if (gpu_ != nullptr) gpu_->free_pinned(data_, bytes_);
}

Event::Event(Gpu& gpu) : gpu_(gpu) {
    const Gpu::Turn turn(gpu);
    gpu.require(gpu.run(gpu.driver_.api().event_create, &event_, 0u));
}

Event::~Event() {
    const Gpu::Turn turn(gpu_);
    if (turn.has_context()) gpu_.driver_.api().event_destroy.function(event_);
}

volta_status Event::record() noexcept {
    const Gpu::Turn turn(gpu_);
    return gpu_.run(gpu_.driver_.api().event_record, event_, gpu_.stream_,
                    gpu_.recording_ ? unsigned{kEventRecordExternal} : 0u);
}

volta_status Event::wait() noexcept {
    const Gpu::Turn turn(gpu_);
    if (!gpu_.may_wait("an event")) return gpu_.failure_.status();
    ++gpu_.figures_.waits;
    return gpu_.run(gpu_.driver_.api().event_synchronize, event_);
}

volta_status Event::milliseconds_since(const Event& earlier, float* milliseconds) noexcept {
    const Gpu::Turn turn(gpu_);
    *milliseconds = 0;
    return gpu_.run(gpu_.driver_.api().event_elapsed, milliseconds, earlier.event_, event_);
}

}  // namespace volta::cuda
