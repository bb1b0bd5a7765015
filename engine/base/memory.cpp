#include "engine/base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/host_call.h"

namespace volta {
namespace {

constexpr std::size_t kLargePage = 2 << 20;

// Large tensors begin on a large page and ask for more of them: a weight is streamed 15 to 25 % faster from
// memory. A host's own allocator decides for itself.
void* allocate_c(void*, std::size_t size, std::size_t alignment, volta_memory_kind kind) {
    if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
    const bool is_large = kind == VOLTA_MEMORY_TENSOR && size >= 2 * kLargePage;
    void* pointer = nullptr;
    if (posix_memalign(&pointer, is_large ? kLargePage : alignment, size) != 0) return nullptr;
    if (is_large)
        prefer_large_pages(pointer, size / kLargePage * kLargePage);  // whole ones: no byte more is resident
    return pointer;
}

void release_c(void*, void* pointer, std::size_t, std::size_t, volta_memory_kind) { std::free(pointer); }

volta_allocator complete(const volta_allocator* host) {
    if (host == nullptr) return {allocate_c, release_c, nullptr};
    require(host->allocate != nullptr && host->release != nullptr,
            "the allocator needs both functions: %s is NULL", host->allocate ? "release" : "allocate");
    return *host;
}

bool is_aligned(const void* pointer, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

}  // namespace

HostRefusal::HostRefusal(std::size_t bytes) noexcept {
    std::snprintf(text_, sizeof text_, "the host allocator returned NULL for %zu bytes", bytes);
}

HostRefusal::HostRefusal(std::size_t bytes, const char* thrown) noexcept {
    std::snprintf(text_, sizeof text_, "the host allocator threw an exception for %zu bytes: %s", bytes,
                  thrown);
}

HostHeap::HostHeap(const volta_allocator* host)
    : host_(complete(host)),
      structures_(host_, VOLTA_MEMORY_STRUCTURE),
      tensors_(host_, VOLTA_MEMORY_TENSOR) {}

void* HostHeap::Resource::do_allocate(std::size_t size, std::size_t alignment) {
    if (alignment > kTensorAlignment) throw std::bad_alloc();  // the host is promised at most 64
    if (size == 0) size = 1;                                   // so that NULL means refusal only
    count.fetch_add(1, std::memory_order_relaxed);
    void* pointer = nullptr;
    if (const HostException thrown =
            call_host([&] { pointer = host.allocate(host.user, size, alignment, kind); }))
        throw HostRefusal(size, thrown.what());
    if (pointer == nullptr) throw HostRefusal(size);
    if (!is_aligned(pointer, alignment)) {
        call_host([&] { host.release(host.user, pointer, size, alignment, kind); });
        fail(VOLTA_INVALID_ARGUMENT, "the host allocator returned memory that is not aligned to %zu bytes",
             alignment);
    }
    const std::size_t now = bytes.fetch_add(size, std::memory_order_relaxed) + size;
    std::size_t peak = peak_bytes.load(std::memory_order_relaxed);
    while (peak < now && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    return pointer;
}

void HostHeap::Resource::do_deallocate(void* pointer, std::size_t size, std::size_t alignment) {
    if (size == 0) size = 1;
    bytes.fetch_sub(size, std::memory_order_relaxed);
    call_host([&] { host.release(host.user, pointer, size, alignment, kind); });
}

bool HostHeap::Resource::do_is_equal(const std::pmr::memory_resource& other) const noexcept {
    return this == &other;
}

Buffer::Buffer(std::pmr::memory_resource* heap, std::size_t bytes, bool zeroed) : heap_(heap), bytes_(bytes) {
    if (bytes == 0) return;
    data_ = heap->allocate(bytes, kTensorAlignment);
    if (zeroed) std::memset(data_, 0, bytes);
}

Buffer::Buffer(Buffer&& other) noexcept
    : heap_(std::exchange(other.heap_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    std::swap(heap_, taken.heap_);
    std::swap(data_, taken.data_);
    std::swap(bytes_, taken.bytes_);
    return *this;
}

Buffer::~Buffer() {
    if (data_ != nullptr) heap_->deallocate(data_, bytes_, kTensorAlignment);
}

void prefer_large_pages(void* data, std::size_t bytes) noexcept {
#if defined(__linux__)
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t first = (start + page - 1) / page * page, last = (start + bytes) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
    (void)data;
    (void)bytes;
#endif
}

bool multiply_overflows(std::uint64_t a, std::uint64_t b, std::uint64_t* product) noexcept {
    return __builtin_mul_overflow(a, b, product);
}

bool add_overflows(std::uint64_t a, std::uint64_t b, std::uint64_t* sum) noexcept {
    return __builtin_add_overflow(a, b, sum);
}

}  // namespace volta
