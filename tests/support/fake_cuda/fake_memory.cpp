// Memory of the fake driver: pages of the host between pages that nobody may touch. The host itself may touch
// device memory only through copies: pages are closed while no work runs.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

#include "tests/support/fake_cuda/fake_driver.h"

namespace volta::fake {
namespace {

constexpr std::size_t kAlignment = 256;   // of addresses
constexpr unsigned char kPattern = 0xa5;  // beside what was asked for
constexpr unsigned char kFresh = 0xff;    // floats are NaN, indices negative
int open_count = 0;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

void protect(const Allocation& allocation, int protection) {
    if (!allocation.pinned) mprotect(allocation.pages, allocation.page_bytes, protection);
}

// The end of an allocation is the end of its pages, but for the alignment.
CUresult allocate(CUcontext context, std::size_t bytes, bool pinned, void** address) {
    const std::size_t used = round_up(bytes, kAlignment), page_bytes = round_up(used, page());
    void* const map =
        mmap(nullptr, page_bytes + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return kCudaOutOfMemory;
    Allocation allocation{context, static_cast<unsigned char*>(map) + page(), page_bytes, bytes, pinned};
    mprotect(allocation.pages, page_bytes, PROT_READ | PROT_WRITE);
    unsigned char* const start = allocation.pages + (page_bytes - used);
    std::memset(allocation.pages, kPattern, page_bytes);
    std::memset(start, kFresh, bytes);
    if (open_count == 0) protect(allocation, PROT_NONE);
    machine().allocations.emplace(start, allocation);
    *address = start;
    return kCudaSuccess;
}

void unmap(const Allocation& allocation) {
    munmap(allocation.pages - page(), allocation.page_bytes + 2 * page());
}

bool has_pattern(const unsigned char* from, const unsigned char* to) {
    for (; from < to; ++from)
        if (*from != kPattern) return false;
    return true;
}

CUresult release(void* address, bool pinned) {
    const auto found = machine().allocations.find(static_cast<unsigned char*>(address));
    if (found == machine().allocations.end() || found->second.pinned != pinned) {
        complain("%p is not %s memory that can be freed", address, pinned ? "pinned" : "device");
        return kCudaInvalidValue;
    }
    unmap(found->second);
    machine().allocations.erase(found);
    return kCudaSuccess;
}

}  // namespace

Allocation* find_allocation(const void* address, std::size_t bytes) {
    auto* const at = const_cast<unsigned char*>(static_cast<const unsigned char*>(address));
    auto found = machine().allocations.upper_bound(at);
    if (found == machine().allocations.begin()) return nullptr;
    --found;
    const auto offset = static_cast<std::size_t>(at - found->first);
    const bool within = offset <= found->second.bytes && bytes <= found->second.bytes - offset;
    return within ? &found->second : nullptr;
}

bool touches_device(const void* address, std::size_t bytes) {
    const auto* const first = static_cast<const unsigned char*>(address);
    for (const auto& [start, allocation] : machine().allocations)
        if (!allocation.pinned && first < start + allocation.bytes && start < first + bytes) return true;
    return false;
}

int release_memory(CUcontext context) {
    int count = 0;
    auto& allocations = machine().allocations;
    for (auto each = allocations.begin(); each != allocations.end();) {
        const bool owned = each->second.context == context;
        count += owned;
        if (owned) unmap(each->second);
        each = owned ? allocations.erase(each) : std::next(each);
    }
    return count;
}

std::size_t used_bytes(int device) {
    std::size_t bytes = 0;
    for (const auto& [address, allocation] : machine().allocations)
        if (!allocation.pinned && allocation.context->device == device) bytes += allocation.bytes;
    return bytes;
}

OpenMemory::OpenMemory() {
    if (open_count++ > 0) return;
    for (const auto& [address, allocation] : machine().allocations)
        protect(allocation, PROT_READ | PROT_WRITE);
}

OpenMemory::~OpenMemory() {
    if (--open_count > 0) return;
    for (const auto& [address, allocation] : machine().allocations) protect(allocation, PROT_NONE);
}

std::string damage() {
    for (const auto& [start, allocation] : machine().allocations)
        if (!has_pattern(allocation.pages, start) ||
            !has_pattern(start + allocation.bytes, allocation.pages + allocation.page_bytes))
            return "a write beside the " + std::to_string(allocation.bytes) + " bytes of an allocation";
    return "";
}

}  // namespace volta::fake

using namespace volta::fake;

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
    FAKE_CALL("cuMemAlloc_v2", idle);
    if (bytes == 0) return kCudaInvalidValue;
    const std::size_t used = used_bytes(call.context->device), all = machine().settings.memory;
    if (used > all || bytes > all - used) return kCudaOutOfMemory;
    void* memory = nullptr;
    const CUresult result = allocate(call.context, bytes, false, &memory);
    if (result == kCudaSuccess) *address = reinterpret_cast<CUdeviceptr>(memory);
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    FAKE_CALL("cuMemFree_v2", idle);
    if (const CUresult result = drain_all(call.context); result != kCudaSuccess) return result;
    return release(reinterpret_cast<void*>(address), false);
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    FAKE_CALL("cuMemGetInfo_v2", context);
    const std::size_t used = used_bytes(call.context->device);
    *total = machine().settings.memory;
    *free = *total > used ? *total - used : 0;
    return kCudaSuccess;
}

CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
    FAKE_CALL("cuMemHostAlloc", idle);
    return bytes == 0 ? kCudaInvalidValue : allocate(call.context, bytes, true, address);
}

CUresult cuMemFreeHost(void* address) {
    FAKE_CALL("cuMemFreeHost", idle);
    if (const CUresult result = drain_all(call.context); result != kCudaSuccess) return result;
    return release(address, true);
}

}  // extern "C"
