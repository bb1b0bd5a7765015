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

// Vectors 0 .. taps-1 are the weights, or 0 is what others begin with, 1 zeros, 2 and 3 free; then the chains
// of some pixels. rdi args | rsi x | rdx rcx r8 r9 r10 r11 from the first row of taps to the others | rax y |
// rbx from pixel to pixel of y | rbp r13 pixels and rows left
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
        for (int t = 0; t < weights(); ++t) vmovups(Vmm(t), ptr[r12 + t * kPixelBytes]);
        if (!is_chain()) clear(Vmm(kZeros));
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
    static constexpr int kZeros = 1, kFree = 2, kOthers = 4;

    bool is_chain() const { return form_.op == WindowOp::products; }
    int weights() const { return is_chain() ? taps() : 1; }
    Vmm result(int pixel) const { return Vmm((is_chain() ? taps() : kOthers) + pixel); }
    void clear(const Vmm& vector) {
        if (kZmm)
            vpxord(vector, vector, vector);
        else
            vxorps(vector, vector, vector);
    }
    // The larger, or a NaN of either: both maxima give their second source where a source is a NaN, so that
    // one of them is it. Of zeros the sign is lost in the end.
    void maximum(const Vmm& largest, const Xbyak::Address& from) {
        const Vmm value(kFree), other(kFree + 1);
        vmovups(value, from);
        vmaxps(other, value, largest);
        vmaxps(largest, largest, value);
        if (kZmm)
            vpord(largest, largest, other);
        else
            vorps(largest, largest, other);
    }

    void emit_pixels(int count) {
        for (int p = 0; p < count; ++p) {
            if (form_.continues)
                vmovups(result(p), ptr[r12_at(p)]);
            else if (is_chain())
                clear(result(p));
            else
                vmovaps(result(p), Vmm(0));
        }
        for (int r = 0; r < form_.tap_rows; ++r)
            for (int c = 0; c < form_.tap_columns; ++c)
                for (int p = 0; p < count; ++p) {
                    const int at = (c * form_.tap_step + p * form_.step) * kPixelBytes;
                    if (is_chain())
                        vfmadd231ps(result(p), Vmm(r * form_.tap_columns + c), tap(r, at));
                    else if (form_.op == WindowOp::sum)
                        vaddps(result(p), result(p), tap(r, at));
                    else
                        maximum(result(p), tap(r, at));
                }
        for (int p = 0; p < count; ++p) {
            if (form_.op == WindowOp::maximum) vaddps(result(p), result(p), Vmm(kZeros));
            vmovups(ptr[rax], result(p));
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
    return form_key(form.isa, form.tap_rows, form.tap_columns, form.tap_step, form.step, form.continues,
                    form.op);
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
