// What the kernels of depthwise convolutions share: a window of taps over pixels of 16 lanes, whose rows lie
// one address register apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jitgen/x86/gemm/emit.h"

namespace volta::jit {

// rdi args | rsi what the window lies on | rdx rcx r8 r9 r10 r11 from the first row of taps to the others
template <class Form>
class LaneEmitter : public Xbyak::CodeGenerator {
  protected:
    LaneEmitter(const Form& form, EmitBuffer& buffer)
        : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()), form_(form) {}

    // From where the bytes between two rows of taps are kept.
    void load_tap_rows(std::size_t offset) {
        for (int r = 1; r < form_.tap_rows; ++r) {
            mov(tap_row(r), arg(offset));
            if (r > 1) add(tap_row(r), tap_row(r - 1));
        }
    }
    int taps() const { return form_.tap_rows * form_.tap_columns; }
    // `bytes` behind the beginning of row r of the window.
    Xbyak::Address tap(int r, int bytes) const {
        return r == 0 ? ptr[rsi + bytes] : ptr[rsi + tap_row(r) + bytes];
    }
    Xbyak::Address arg(std::size_t offset) const { return qword[rdi + static_cast<int>(offset)]; }

    const Form form_;

  private:
    Xbyak::Reg64 tap_row(int r) const {
        const Xbyak::Reg64 rows[] = {rdx, rcx, r8, r9, r10, r11};
        return rows[r - 1];
    }
};

}  // namespace volta::jit
