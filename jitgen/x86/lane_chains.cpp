#include "jitgen/lane_chains.h"

#include <cstddef>
#include <cstdio>

#include "jitgen/form_key.h"
#include "jitgen/x86/lane_emitter.h"

namespace volta::jit {
namespace {

using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr std::size_t kMaxCodeBytes = 4096;
constexpr int kStepBytes = kChainLanes * 4;

// Vectors 0 .. taps-1 are the chains, the next one is a. rdi args | rax a | rsi b | rdx rcx r8 r9 r10 r11
// from the first row of taps to the others | rbx from step to step | rbp r13 steps and rows left | r14 steps
// of a row | r15 from the end of a row to the next | r12 chains
template <class Vmm>
class LaneChainsEmitter : public LaneEmitter<LaneChainsForm> {
  public:
    LaneChainsEmitter(const LaneChainsForm& form, EmitBuffer& buffer) : LaneEmitter(form, buffer) {}

    void emit() {
        Label row, step;
        const Reg64 saved[] = {rbx, rbp, r12, r13, r14, r15};
        for (const Reg64& each : saved) push(each);
        mov(rax, arg(offsetof(LaneChainsArgs, a)));
        mov(rsi, arg(offsetof(LaneChainsArgs, b)));
        mov(r12, arg(offsetof(LaneChainsArgs, chains)));
        mov(rbx, arg(offsetof(LaneChainsArgs, b_step)));
        mov(r13, arg(offsetof(LaneChainsArgs, rows)));
        mov(r14, arg(offsetof(LaneChainsArgs, columns)));
        mov(r15, r14);
        imul(r15, rbx);
        neg(r15);
        add(r15, arg(offsetof(LaneChainsArgs, b_row)));
        load_tap_rows(offsetof(LaneChainsArgs, tap_row));
        for (int t = 0; t < taps(); ++t) vmovups(Vmm(t), ptr[r12 + t * kStepBytes]);
        L(row);
        mov(rbp, r14);
        align_code(*this, 32);
        L(step);
        vmovups(Vmm(taps()), ptr[rax]);
        for (int r = 0; r < form_.tap_rows; ++r)
            for (int c = 0; c < form_.tap_columns; ++c) {
                const int at = c * form_.dilation * kStepBytes;
                const Vmm chain(r * form_.tap_columns + c);
                vfmadd231ps(chain, Vmm(taps()), tap(r, at));
            }
        add(rax, kStepBytes);
        add(rsi, rbx);
        dec(rbp);
        jnz(step, T_NEAR);
        add(rsi, r15);
        dec(r13);
        jnz(row, T_NEAR);
        for (int t = 0; t < taps(); ++t) vmovups(ptr[r12 + t * kStepBytes], Vmm(t));
        vzeroupper();
        for (int i = 5; i >= 0; --i) pop(saved[i]);
        ret();
    }
};

template <class Vmm>
LaneChainsFunction emit_for(const LaneChainsForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    char name[64];
    std::snprintf(name, sizeof name, "lane chains %dx%d %s", form.tap_rows, form.tap_columns,
                  isa_name(form.isa));
    EmitBuffer buffer(heap, kMaxCodeBytes);
    LaneChainsEmitter<Vmm> emitter(form, buffer);
    return as_function<LaneChainsFunction>(publish(emitter, arena, name));
}

}  // namespace

std::uint64_t key_of(const LaneChainsForm& form) {
    return form_key(form.isa, form.tap_rows, form.tap_columns, form.dilation);
}

int most_chain_taps(Isa isa) { return isa == Isa::avx512 ? 31 : 15; }

LaneChainsFunction emit_lane_chains(const LaneChainsForm& form, CodeArena& arena,
                                    std::pmr::memory_resource* heap) {
    const int taps = form.tap_rows * form.tap_columns;
    if (form.isa == Isa::scalar || !arena.available()) return nullptr;
    if (taps < 1 || taps > most_chain_taps(form.isa) || form.tap_rows > kMostChainTapRows)
        fail(VOLTA_INTERNAL, "no kernel has chains of %d rows of %d taps", form.tap_rows, form.tap_columns);
    return form.isa == Isa::avx512 ? emit_for<Zmm>(form, arena, heap) : emit_for<Ymm>(form, arena, heap);
}

}  // namespace volta::jit
