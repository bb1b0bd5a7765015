#include "engine/backend/host_memory.h"

#include <cstring>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/memory.h"

namespace volta {

HostMemory::HostMemory(std::pmr::memory_resource* tensors, std::uint64_t budget)
    : tensors_(tensors), budget_(budget > 0 ? budget : std::numeric_limits<std::uint64_t>::max()) {}

void* HostMemory::allocate(std::size_t bytes, bool zeroed) {
    if (bytes > available())
        fail(VOLTA_OUT_OF_MEMORY, "%zu bytes of tensor memory are asked for, the host's budget has %llu left",
             bytes, static_cast<unsigned long long>(available()));
    void* const address = tensors_->allocate(bytes, kTensorAlignment);
    if (zeroed) std::memset(address, 0, bytes);
    used_ += bytes;
    return address;
}

void HostMemory::release(void* address, std::size_t bytes) noexcept {
    tensors_->deallocate(address, bytes, kTensorAlignment);
    used_ -= bytes;
}

volta_status HostMemory::write(void* to, const void* host, std::size_t bytes) noexcept {
    return copy(to, host, bytes);
}
volta_status HostMemory::read(void* host, const void* from, std::size_t bytes) noexcept {
    return copy(host, from, bytes);
}
volta_status HostMemory::copy(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return VOLTA_OK;
}

}  // namespace volta
