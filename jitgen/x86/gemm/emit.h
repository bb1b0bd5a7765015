// Where the product generators write their code before the arena copies it into its pages.
#pragma once

#include <xbyak/xbyak.h>

#include <cstddef>
#include <memory_resource>

#include "engine/base/error.h"
#include "engine/base/new_scope.h"
#include "jitgen/align_code.h"
#include "jitgen/code.h"

namespace volta::jit {

// How far ahead, in bytes, each line of a stream that comes from DRAM is prefetched, one time after the
// other. A processor drops prefetches while many lines are under way: five times bring a fifth more
// than once where L2 is large (docs/decisions/0007-how-weights-come-from-memory.md).
inline constexpr int kPrefetchDistances[] = {40 * 1024, 32 * 1024, 24 * 1024, 16 * 1024, 8 * 1024};

// While it lives, what the emitter allocates is of the same heap.
class EmitBuffer final {
  public:
    EmitBuffer(std::pmr::memory_resource* heap, std::size_t bytes)
        : heap_(heap), bytes_(bytes), data_(heap->allocate(bytes, 64)), labels_(heap) {}
    ~EmitBuffer() { heap_->deallocate(data_, bytes_, 64); }
    EmitBuffer(const EmitBuffer&) = delete;
    EmitBuffer& operator=(const EmitBuffer&) = delete;
    void* data() { return data_; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::pmr::memory_resource* heap_;
    std::size_t bytes_;
    void* data_;
    NewScope labels_;
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

// Up to 12 rows of A by four address registers: each row is at most a few strides from row 0, 3, 6 or 9.
struct RowAddresses {
    int count;
    Xbyak::Reg64 row0, row3, row6, row9, stride;  // stride: in bytes

    // From where the first row and the stride, in elements, are kept.
    void load(Xbyak::CodeGenerator& code, const Xbyak::Address& first, const Xbyak::Address& elements) const {
        code.mov(row0, first);
        code.mov(stride, elements);
        code.shl(stride, 2);
        const Xbyak::Reg64 rows[] = {row0, row3, row6, row9};
        for (int i = 1; 3 * i < count; ++i) {
            code.lea(rows[i], code.ptr[rows[i - 1] + stride * 2]);
            code.add(rows[i], stride);
        }
    }
    void advance(Xbyak::CodeGenerator& code, int bytes) const {
        const Xbyak::Reg64 rows[] = {row0, row3, row6, row9};
        for (int i = 0; 3 * i < count; ++i) code.add(rows[i], bytes);
    }
    Xbyak::RegExp at(int row) const {
        switch (row) {
            case 3:
            case 6:
            case 9:
                return row == 3 ? row3 : row == 6 ? row6 : row9;
            case 5:
                return row3 + stride * 2;
            case 7:
                return row3 + stride * 4;
            case 10:
                return row6 + stride * 4;
            case 11:
                return row3 + stride * 8;
            default:  // 0, 1, 2, 4, 8
                return row == 0 ? Xbyak::RegExp(row0) : row0 + stride * row;
        }
    }
};

}  // namespace volta::jit
