#include "engine/backend/cuda/pinned_staging.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

namespace volta::cuda {

std::uint64_t PinnedStaging::available() const noexcept {
    const MemoryFigures figures = gpu_.memory();
    if (figures.pinned_budget == 0) return std::numeric_limits<std::uint64_t>::max();
    return figures.pinned_budget - std::min(figures.pinned_budget, figures.pinned);
}

void* PinnedStaging::allocate(std::size_t bytes, bool zeroed) {
    PinnedMemory range = gpu_.allocate_pinned(bytes, "the host's side of inputs and outputs");
    auto* const address = static_cast<unsigned char*>(range.data());
    if (zeroed) std::memset(address, 0, bytes);
    ranges_.emplace(address, std::move(range));
    return address;
}

void PinnedStaging::release(void* address, std::size_t) noexcept {
    ranges_.erase(static_cast<const unsigned char*>(address));
}

volta_status PinnedStaging::write(void* to, const void* host, std::size_t bytes) noexcept {
    return copy(to, host, bytes);
}
volta_status PinnedStaging::read(void* host, const void* from, std::size_t bytes) noexcept {
    return copy(host, from, bytes);
}
volta_status PinnedStaging::copy(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return VOLTA_OK;
}

const PinnedMemory* PinnedStaging::find(const void* address, std::size_t bytes,
                                        std::size_t* offset) const noexcept {
    const auto* const first = static_cast<const unsigned char*>(address);
    const auto above = ranges_.upper_bound(first);
    if (above == ranges_.begin()) return nullptr;
    const auto& [start, range] = *std::prev(above);
    *offset = static_cast<std::size_t>(first - start);
    return *offset <= range.bytes() && bytes <= range.bytes() - *offset ? &range : nullptr;
}

}  // namespace volta::cuda
