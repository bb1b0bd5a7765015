// Where the product generators write their code before the arena copies it into its pages.
#pragma once

#include <xbyak/xbyak.h>

#include <cstddef>
#include <memory_resource>

#include "engine/base/error.h"
#include "jitgen/align_code.h"
#include "jitgen/code.h"

namespace volta::jit {

class EmitBuffer final {
  public:
    EmitBuffer(std::pmr::memory_resource* heap, std::size_t bytes)
        : heap_(heap), bytes_(bytes), data_(heap->allocate(bytes, 64)) {}
    ~EmitBuffer() { heap_->deallocate(data_, bytes_, 64); }
    EmitBuffer(const EmitBuffer&) = delete;
    EmitBuffer& operator=(const EmitBuffer&) = delete;
    void* data() { return data_; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::pmr::memory_resource* heap_;
    std::size_t bytes_;
    void* data_;
};

// Emits with `emitter`, built on an EmitBuffer, and publishes the code under `name`. NULL when the arena
// refuses.
template <class Emitter>
const void* publish(Emitter& emitter, CodeArena& arena, const char* name) {
    try {
        emitter.emit();
    } catch (const Xbyak::Error& error) {
        fail(VOLTA_INTERNAL, "%s could not be emitted: %s", name, error.what());
    }
    return arena.publish(emitter.getCode(), emitter.getSize(), name);
}

// A data pointer to code as a function pointer.
template <class Function>
Function as_function(const void* code) {
    return reinterpret_cast<Function>(reinterpret_cast<std::uintptr_t>(code));
}

}  // namespace volta::jit
