#include "jitgen/lane_windows.h"

#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "jitgen/form_key.h"
#include "jitgen/x86/lane_emitter.h"

namespace volta::jit {
namespace {

using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr std::size_t kMaxCodeBytes = 16 * 1024;
constexpr int kPixelBytes = kWindowLanes * 4;
constexpr int kPixelsAtOnce = 4;

// Vectors 0 .. taps-1 are the weights, then the chains of some pixels. rdi args | rsi x | rdx rcx r8 r9 r10
// r11 from the first row of taps to the others | rax y | rbx from pixel to pixel of y | rbp r13 pixels and
// rows left
template <class Vmm>
class LaneWindowsEmitter : public LaneEmitter<LaneWindowsForm> {
  public:
    LaneWindowsEmitter(const LaneWindowsForm& form, EmitBuffer& buffer) : LaneEmitter(form, buffer) {}

    void emit() {
        Label row, some, rest, one, end;
        const Reg64 saved[] = {rbx, rbp, r12, r13};
        for (const Reg64& each : saved) push(each);
        mov(rsi, arg(offsetof(LaneWindowsArgs, x)));
        mov(r12, arg(offsetof(LaneWindowsArgs, w)));
        mov(rax, arg(offsetof(LaneWindowsArgs, y)));
        mov(rbx, arg(offsetof(LaneWindowsArgs, y_step)));
        mov(r13, arg(offsetof(LaneWindowsArgs, rows)));
        load_tap_rows(offsetof(LaneWindowsArgs, tap_row));
        for (int t = 0; t < taps(); ++t) vmovups(Vmm(t), ptr[r12 + t * kPixelBytes]);
        L(row);
        mov(rbp, arg(offsetof(LaneWindowsArgs, columns)));
        sub(rbp, kPixelsAtOnce);
        jl(rest, T_NEAR);
        align_code(*this, 32);
        L(some);
        emit_pixels(kPixelsAtOnce);
        sub(rbp, kPixelsAtOnce);
        jge(some, T_NEAR);
        L(rest);
        add(rbp, kPixelsAtOnce);
        jz(end, T_NEAR);
        L(one);
        emit_pixels(1);
        dec(rbp);
        jnz(one, T_NEAR);
        L(end);
        add(rsi, arg(offsetof(LaneWindowsArgs, x_skip)));
        add(rax, arg(offsetof(LaneWindowsArgs, y_skip)));
        dec(r13);
        jnz(row, T_NEAR);
        vzeroupper();
        for (int i = 3; i >= 0; --i) pop(saved[i]);
        ret();
    }

  private:
    static constexpr bool kZmm = std::is_same<Vmm, Zmm>::value;

    void emit_pixels(int count) {
        for (int p = 0; p < count; ++p) {
            const Vmm chain(taps() + p);
            if (form_.continues) {
                vmovups(chain, ptr[r12_at(p)]);
            } else if (kZmm) {
                vpxord(chain, chain, chain);
            } else {
                vxorps(chain, chain, chain);
            }
        }
        for (int r = 0; r < form_.tap_rows; ++r)
            for (int c = 0; c < form_.tap_columns; ++c)
                for (int p = 0; p < count; ++p) {
                    const int at = (c * form_.tap_step + p * form_.step) * kPixelBytes;
                    const Vmm weight(r * form_.tap_columns + c), chain(taps() + p);
                    vfmadd231ps(chain, weight, tap(r, at));
                }
        for (int p = 0; p < count; ++p) {
            vmovups(ptr[rax], Vmm(taps() + p));
            add(rax, rbx);
        }
        add(rsi, count * form_.step * kPixelBytes);
    }
    // Pixel p of y, before any of them is written: the weights' pointer is free then.
    Xbyak::RegExp r12_at(int p) {
        if (p == 0) mov(r12, rax);
        if (p > 0) add(r12, rbx);
        return Xbyak::RegExp(r12);
    }
};

template <class Vmm>
LaneWindowsFunction emit_for(const LaneWindowsForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    char name[64];
    std::snprintf(name, sizeof name, "lane windows %dx%d %s", form.tap_rows, form.tap_columns,
                  isa_name(form.isa));
    EmitBuffer buffer(heap, kMaxCodeBytes);
    LaneWindowsEmitter<Vmm> emitter(form, buffer);
    return as_function<LaneWindowsFunction>(publish(emitter, arena, name));
}

}  // namespace

std::uint64_t key_of(const LaneWindowsForm& form) {
    return form_key(form.isa, form.tap_rows, form.tap_columns, form.tap_step, form.step, form.continues);
}

int most_window_taps(Isa isa) { return (isa == Isa::avx512 ? 32 : 16) - kPixelsAtOnce; }

LaneWindowsFunction emit_lane_windows(const LaneWindowsForm& form, CodeArena& arena,
                                      std::pmr::memory_resource* heap) {
    const int taps = form.tap_rows * form.tap_columns;
    if (form.isa == Isa::scalar || !arena.available()) return nullptr;
    if (taps < 1 || taps > most_window_taps(form.isa) || form.tap_rows > kMostWindowTapRows)
        fail(VOLTA_INTERNAL, "no kernel has windows of %d rows of %d taps", form.tap_rows, form.tap_columns);
    return form.isa == Isa::avx512 ? emit_for<Zmm>(form, arena, heap) : emit_for<Ymm>(form, arena, heap);
}

}  // namespace volta::jit
