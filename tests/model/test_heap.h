// A host heap for tests: counts what is held, and refuses the n-th allocation when asked to.
#pragma once

#include <cstdlib>
#include <cstring>

#include "engine/base/memory.h"

namespace volta::test {

class TestHeap {
  public:
    TestHeap() : heap_(&allocator_) {}
    std::pmr::memory_resource* structures() { return heap_.structures(); }
    std::pmr::memory_resource* tensors() { return heap_.tensors(); }

    long held = 0;                          // blocks
    long calls = 0;                         // allocations asked for
    long refused_call = 0;                  // refuse this one and all later ones; 0: none
    std::size_t bytes = 0, most_bytes = 0;  // held now, and at most

  private:
    static void* allocate(void* user, std::size_t size, std::size_t alignment, volta_memory_kind) {
        auto* self = static_cast<TestHeap*>(user);
        if (++self->calls >= self->refused_call && self->refused_call > 0) return nullptr;
        void* pointer = nullptr;
        if (posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0)
            return nullptr;
        std::memset(pointer, 0xa5, size);  // nobody may count on zeros
        ++self->held;
        self->bytes += size;
        if (self->bytes > self->most_bytes) self->most_bytes = self->bytes;
        return pointer;
    }
    static void release(void* user, void* pointer, std::size_t size, std::size_t, volta_memory_kind) {
        auto* self = static_cast<TestHeap*>(user);
        --self->held;
        self->bytes -= size;
        std::free(pointer);
    }

    volta_allocator allocator_ = {allocate, release, this};
    HostHeap heap_;
};

}  // namespace volta::test
