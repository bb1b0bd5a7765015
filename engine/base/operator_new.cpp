// operator new and delete, and the default memory_resource, of one library alone: hidden, so that its objects
// see them and neither the host nor the C++ library does (docs/decisions/0022-operator-new.md). What is
// allocated within a NewScope is the host's, else the C heap's, and knows whose it is, so that any thread may
// free it anywhere.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#include "engine/base/memory.h"
#include "engine/base/new_scope.h"

namespace volta {
namespace {

// The C heap, for what is in no NewScope. As a memory_resource that is never ended: blocks may outlive every
// static.
class CHeap final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        void* block = nullptr;
        if (alignment <= alignof(std::max_align_t))
            block = std::malloc(bytes);
        else if (posix_memalign(&block, alignment, bytes) != 0)
            block = nullptr;
        if (block == nullptr) throw std::bad_alloc();
        return block;
    }
    void do_deallocate(void* block, std::size_t, std::size_t) override { std::free(block); }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
};

std::pmr::memory_resource* heap_now() noexcept {
    union Kept {
        CHeap heap;
        Kept() noexcept : heap() {}
        ~Kept() {}
    };
    static Kept c_heap;
    std::pmr::memory_resource* const heap = NewScope::current();
    return heap != nullptr ? heap : &c_heap.heap;
}

// Before each block.
struct Header {
    std::pmr::memory_resource* heap;
    std::size_t bytes;  // of the whole
};
constexpr std::size_t kPlain = alignof(std::max_align_t);
static_assert(sizeof(Header) <= kPlain, "the header leaves the block aligned");

void* take(std::size_t bytes, std::size_t alignment) {
    std::size_t whole = 0;
    if (alignment < kPlain) alignment = kPlain;
    if (__builtin_add_overflow(bytes, alignment, &whole)) throw std::bad_alloc();
    std::pmr::memory_resource* const heap = heap_now();
    char* const block = static_cast<char*>(heap->allocate(whole, alignment)) + alignment;
    new (block - sizeof(Header)) Header{heap, whole};
    return block;
}

void* take_or_null(std::size_t bytes, std::size_t alignment) noexcept {
    try {
        return take(bytes, alignment);
    } catch (...) {
        return nullptr;
    }
}

void give(void* block, std::size_t alignment) noexcept {
    if (block == nullptr) return;
    if (alignment < kPlain) alignment = kPlain;
    char* const place = static_cast<char*>(block);
    const Header header = *reinterpret_cast<const Header*>(place - sizeof(Header));
    header.heap->deallocate(place - alignment, header.bytes, alignment);
}

}  // namespace
}  // namespace volta

using Bytes = std::size_t;
#define VOLTA_HIDDEN extern "C" __attribute__((used, visibility("hidden")))
VOLTA_HIDDEN void* own_new(Bytes bytes) { return volta::take(bytes, 0); }
VOLTA_HIDDEN void* own_new_or_null(Bytes bytes) noexcept { return volta::take_or_null(bytes, 0); }
VOLTA_HIDDEN void* own_new_aligned(Bytes bytes, Bytes alignment) { return volta::take(bytes, alignment); }
VOLTA_HIDDEN void* own_new_aligned_or_null(Bytes bytes, Bytes alignment) noexcept {
    return volta::take_or_null(bytes, alignment);
}
VOLTA_HIDDEN void own_delete(void* block) noexcept { volta::give(block, 0); }
VOLTA_HIDDEN void own_delete_aligned(void* block, Bytes alignment) noexcept { volta::give(block, alignment); }
VOLTA_HIDDEN void own_delete_sized_aligned(void* block, Bytes, Bytes alignment) noexcept {
    volta::give(block, alignment);
}
// A container that was made without a heap; what a host has set by std::pmr::set_default_resource is its own.
VOLTA_HIDDEN std::pmr::memory_resource* own_default_resource() noexcept { return volta::heap_now(); }

// By their names in the object file, since what the compiler declares are visible functions: n new, d delete;
// w one, l one, a an array; m a size_t; St11align_val_t an alignment; a nothrow_t comes last and, as a size
// behind the block, needs no reading.
#define VOLTA_NAME(name, function) __asm__(".globl " name "\n.hidden " name "\n.set " name ", " function)
VOLTA_NAME("_Znwm", "own_new");
VOLTA_NAME("_Znam", "own_new");
VOLTA_NAME("_ZnwmRKSt9nothrow_t", "own_new_or_null");
VOLTA_NAME("_ZnamRKSt9nothrow_t", "own_new_or_null");
VOLTA_NAME("_ZnwmSt11align_val_t", "own_new_aligned");
VOLTA_NAME("_ZnamSt11align_val_t", "own_new_aligned");
VOLTA_NAME("_ZnwmSt11align_val_tRKSt9nothrow_t", "own_new_aligned_or_null");
VOLTA_NAME("_ZnamSt11align_val_tRKSt9nothrow_t", "own_new_aligned_or_null");
VOLTA_NAME("_ZdlPv", "own_delete");
VOLTA_NAME("_ZdaPv", "own_delete");
VOLTA_NAME("_ZdlPvm", "own_delete");
VOLTA_NAME("_ZdaPvm", "own_delete");
VOLTA_NAME("_ZdlPvRKSt9nothrow_t", "own_delete");
VOLTA_NAME("_ZdaPvRKSt9nothrow_t", "own_delete");
VOLTA_NAME("_ZdlPvSt11align_val_t", "own_delete_aligned");
VOLTA_NAME("_ZdaPvSt11align_val_t", "own_delete_aligned");
VOLTA_NAME("_ZdlPvSt11align_val_tRKSt9nothrow_t", "own_delete_aligned");
VOLTA_NAME("_ZdaPvSt11align_val_tRKSt9nothrow_t", "own_delete_aligned");
VOLTA_NAME("_ZdlPvmSt11align_val_t", "own_delete_sized_aligned");
VOLTA_NAME("_ZdaPvmSt11align_val_t", "own_delete_sized_aligned");
VOLTA_NAME("_ZNSt3pmr20get_default_resourceEv", "own_default_resource");

// Text that the parser and the assembler keep: libstdc++.so has the members of std::string compiled, with its
// own operator new, and each library here has them with its own.
template class std::basic_string<char>;
