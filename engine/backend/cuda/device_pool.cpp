#include "engine/backend/cuda/device_pool.h"

#include <algorithm>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/memory.h"

namespace volta::cuda {
namespace {

// Requests from here on are cut from blocks of large requests only, and smaller ones from blocks of small
// ones: else a few bytes keep a gigabyte that nobody uses from being given back.
constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

using Bytes = unsigned long long;  // for printf

}  // namespace

DevicePool::DevicePool(DeviceSource& source, std::uint64_t budget, std::pmr::memory_resource* heap)
    : figures{}, source_(source), ranges_(heap) {
    figures.budget = budget;
}

DevicePool::~DevicePool() { release(); }

void DevicePool::release() noexcept {
    for (const auto& [address, range] : ranges_)
        if (address == range.block) source_.give_back(range.block);
    ranges_.clear();
    figures.in_use = figures.held = 0;
}

DevicePool::Ranges::iterator DevicePool::find_free(std::size_t size, bool of_any_block) noexcept {
    auto best = ranges_.end();
    for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
        const bool fits = range->second.asked == 0 && range->second.bytes >= size;
        const bool same = (size >= kLargeBytes) == (range->second.block_bytes >= kLargeBytes);
        if (!fits || !(same || of_any_block)) continue;
        if (best == ranges_.end() || range->second.bytes < best->second.bytes) best = range;
    }
    return best;
}

// A node of the map is there before the device is asked, so that nothing is lost when the host has no memory.
DevicePool::Ranges::iterator DevicePool::take_new(std::size_t size, CUresult* result) {
    const auto over_budget = [&] {
        return figures.budget != 0 && (size > figures.budget || figures.held > figures.budget - size);
    };
    if (over_budget()) trim();
    if (over_budget()) return ranges_.end();
    Ranges spare(ranges_.get_allocator());
    auto node = spare.extract(spare.emplace(CUdeviceptr{0}, Range{}).first);
    CUdeviceptr block = 0;
    *result = source_.take(size, &block);
    if (*result == kCudaOutOfMemory) {
        trim();
        *result = source_.take(size, &block);
    }
    if (*result == kCudaOutOfMemory) *result = kCudaSuccess;  // the caller looks further, and says so
    if (block == 0) return ranges_.end();
    figures.held += size;
    figures.peak_held = std::max(figures.peak_held, figures.held);
    node.key() = block;
    node.mapped() = {size, 0, block, size};
    return ranges_.insert(std::move(node)).position;
}

// Where the budget is what stops it, that is said; else what the device has.
void DevicePool::refuse(std::size_t bytes, const char* purpose) {
    const std::uint64_t device = source_.free_bytes(), budget = figures.budget;
    const std::uint64_t left = budget - std::min(budget, figures.held);
    if (budget != 0 && left < bytes)
        fail(VOLTA_OUT_OF_MEMORY, "CUDA: %s needs %llu bytes, has %llu: of the budget of %llu, %llu are held",
             purpose, Bytes{bytes}, Bytes{left}, Bytes{budget}, Bytes{figures.held});
    fail(VOLTA_OUT_OF_MEMORY, "CUDA: %s needs %llu bytes, has %llu: that is what the device has free",
         purpose, Bytes{bytes}, Bytes{device});
}

CUdeviceptr DevicePool::allocate(std::size_t bytes, const char* purpose, bool may_grow, CUresult* result) {
    *result = kCudaSuccess;
    std::uint64_t size = 0;
    if (add_overflows(bytes, kDeviceAlignment - 1, &size)) refuse(bytes, purpose);
    size -= size % kDeviceAlignment;
    auto range = find_free(size, !may_grow);
    const bool reused = range != ranges_.end();
    if (!reused) {
        if (!may_grow)
            fail(
                VOLTA_INVALID_STATE,
                "CUDA: %s needs %llu bytes while a graph is recorded, and the pool has no free range of them",
                purpose, Bytes{bytes});
        range = take_new(size, result);
        if (*result != kCudaSuccess) return 0;
        if (range == ranges_.end()) range = find_free(size, true);
        if (range == ranges_.end()) refuse(bytes, purpose);
    }
    Range& used = range->second;
    if (used.bytes > size) {
        ranges_.emplace(range->first + size,
                        Range{static_cast<std::size_t>(used.bytes - size), 0, used.block, used.block_bytes});
        used.bytes = size;
    }
    used.asked = bytes;
    figures.in_use += bytes;
    figures.peak_in_use = std::max(figures.peak_in_use, figures.in_use);
    ++figures.allocations;
    figures.reused += reused;
    return range->first;
}

void DevicePool::free(CUdeviceptr address) noexcept {
    auto range = ranges_.find(address);
    if (range == ranges_.end()) return;  // a failed device took everything back
    figures.in_use -= range->second.asked;
    range->second.asked = 0;
    const auto joins = [&](Ranges::iterator first, Ranges::iterator second) {
        if (first->second.asked != 0 || second->second.asked != 0) return false;
        if (first->second.block != second->second.block) return false;
        first->second.bytes += second->second.bytes;
        ranges_.erase(second);
        return true;
    };
    if (const auto next = std::next(range); next != ranges_.end()) joins(range, next);
    if (range != ranges_.begin()) joins(std::prev(range), range);
}

void DevicePool::trim() noexcept {
    for (auto range = ranges_.begin(); range != ranges_.end();) {
        if (range->second.asked != 0 || range->second.bytes != range->second.block_bytes) {
            ++range;
            continue;
        }
        source_.give_back(range->second.block);
        figures.held -= range->second.bytes;
        range = ranges_.erase(range);
    }
}

}  // namespace volta::cuda
