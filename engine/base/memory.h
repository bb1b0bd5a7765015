// The host's allocator as a memory_resource, and aligned buffers on it. Everything the engine allocates
// goes through a HostHeap, what others' code allocates for it by operator new too (new_scope.h); the
// exception is generated code, which needs pages of its own (jitgen/code.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <utility>

#include "include/volta.h"

namespace volta {

inline constexpr std::size_t kTensorAlignment = 64;  // bytes: a cache line, a zmm register

// The host's allocator refused so many bytes, or threw. Carries its sentence with it, so that saying so
// allocates nothing.
class HostRefusal final : public std::bad_alloc {
  public:
    explicit HostRefusal(std::size_t bytes) noexcept;
    HostRefusal(std::size_t bytes, const char* thrown) noexcept;  // it threw an exception that says so
    const char* what() const noexcept override { return text_; }

  private:
    char text_[256];
};

// Two resources over one host allocator: structures (graphs, plans, names) and tensor bytes, told apart by
// the `kind` the host sees, so that a plan's bill can be checked to the byte.
// Thread: any thread may allocate, if the host's allocator allows it (the default does).
class HostHeap final {
  public:
    explicit HostHeap(const volta_allocator* host);  // NULL: the C heap; `host` is copied
    HostHeap(const HostHeap&) = delete;
    HostHeap& operator=(const HostHeap&) = delete;

    std::pmr::memory_resource* structures() noexcept { return &structures_; }
    std::pmr::memory_resource* tensors() noexcept { return &tensors_; }
    std::size_t tensor_bytes() const noexcept { return tensors_.bytes; }            // now
    std::size_t tensor_bytes_peak() const noexcept { return tensors_.peak_bytes; }  // since creation
    std::uint64_t allocation_count() const noexcept { return structures_.count + tensors_.count; }

  private:
    struct Resource final : std::pmr::memory_resource {
        Resource(const volta_allocator& owner, int32_t memory_kind) : host(owner), kind(memory_kind) {}
        const volta_allocator& host;
        int32_t kind;
        std::atomic<std::size_t> bytes{0}, peak_bytes{0};
        std::atomic<std::uint64_t> count{0};
        void* do_allocate(std::size_t size, std::size_t alignment) override;  // throws HostRefusal
        void do_deallocate(void* pointer, std::size_t size, std::size_t alignment) override;
        bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;
    };
    volta_allocator host_;
    Resource structures_, tensors_;
};

// Bytes that start at a multiple of kTensorAlignment; freed with the buffer. Not initialised unless asked.
class Buffer final {
  public:
    Buffer() = default;
    Buffer(std::pmr::memory_resource* heap, std::size_t bytes, bool zeroed = false);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    void* data() noexcept { return data_; }
    const void* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    std::pmr::memory_resource* heap_ = nullptr;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// A hint to back these bytes with large pages where the system can: long streams then miss the TLB less. What
// lies outside whole pages, and a system without the call, is left alone.
void prefer_large_pages(void* data, std::size_t bytes) noexcept;

// a * b and a + b of sizes. True when the result does not fit: the caller then says which size was too large.
bool multiply_overflows(std::uint64_t a, std::uint64_t b, std::uint64_t* product) noexcept;
bool add_overflows(std::uint64_t a, std::uint64_t b, std::uint64_t* sum) noexcept;

// A pmr-aware owning pointer: objects of the engine live on the host's heap.
template <class T>
struct HeapDelete {
    std::pmr::memory_resource* heap = nullptr;
    void operator()(T* object) const noexcept {
        object->~T();
        heap->deallocate(object, sizeof(T), alignof(T));
    }
};
template <class T>
using HeapPtr = std::unique_ptr<T, HeapDelete<T>>;

template <class T, class... Args>
HeapPtr<T> make_on(std::pmr::memory_resource* heap, Args&&... args) {
    void* place = heap->allocate(sizeof(T), alignof(T));
    try {
        return HeapPtr<T>(new (place) T(std::forward<Args>(args)...), HeapDelete<T>{heap});
    } catch (...) {
        heap->deallocate(place, sizeof(T), alignof(T));
        throw;
    }
}

}  // namespace volta
