// Column sums: a block of columns walks down all rows with its running sums in registers, and closes a
// segment every 512 rows (docs/numerics.md, 2.1).
#include <cstddef>

#include "jitgen/row_kernel.h"
#include "jitgen/row_loops.h"

namespace volta::jit {

template <class Isa>
void RowLoops<Isa>::columns() {
    auto& e = emit_;
    const ColumnLoop& loop = loops_[0];
    Xbyak::Label wide, single, next, partial, done;
    e.xor_(e.ecx, e.ecx);  // of the block at hand, in bytes; it stays while the block walks down
    if (loop.unroll > 1) {
        e.L(wide);
        e.lea(e.rax, e.ptr[e.rcx + loop.unroll * kBytes]);
        e.cmp(e.rax, e.frame_quad(Frame::kTotalBytes));
        e.ja(single, e.T_NEAR);
        column_block(loop, loop.unroll, false);
        e.add(e.rcx, loop.unroll * kBytes);
        e.jmp(wide, e.T_NEAR);
    }
    e.L(single);
    e.cmp(e.rcx, e.frame_quad(Frame::kVectorEnd));
    e.jae(partial, e.T_NEAR);
    e.L(next);
    column_block(loop, 1, false);
    e.add(e.rcx, kBytes);
    e.cmp(e.rcx, e.frame_quad(Frame::kVectorEnd));
    e.jb(next, e.T_NEAR);
    e.L(partial);
    e.cmp(e.rcx, e.frame_quad(Frame::kTotalBytes));
    e.jae(done, e.T_NEAR);
    column_block(loop, 1, true);
    e.L(done);
}

template <class Isa>
void RowLoops<Isa>::column_block(const ColumnLoop& loop, int units, bool masked) {
    auto& e = emit_;
    Xbyak::Label next_segment, next_row, close, done;
    CopyRegisters row_registers(heap_);  // of the row code
    row_registers.vectors = loop.registers.vectors;
    for (const Pin& pin : loop.registers.pinned)
        (plan_.rates[pin.value] == Rate::call ? row_registers.pinned : row_registers.delivered)
            .push_back(pin);
    set_operand_pointers();
    set_row_index();
    load_call_pins(loop);
    e.mov(e.rdx, e.frame_quad(Frame::kArgs));
    e.mov(e.eax, e.ptr[e.rdx + offsetof(RowArgs, continue_columns)]);
    e.mov(e.frame_quad(Frame::kStored), e.rax);
    e.mov(e.rax, e.ptr[e.rdx + offsetof(RowArgs, rows)]);
    e.mov(e.frame_quad(Frame::kRows), e.rax);
    e.test(e.rax, e.rax);  // of no row: +0, or what is there
    e.jnz(next_segment, e.T_NEAR);
    e.cmp(e.frame_quad(Frame::kStored), 0);
    e.jne(done, e.T_NEAR);

    e.L(next_segment);
    begin_segment(loop, units);
    e.mov(e.rax, e.frame_quad(Frame::kRows));
    e.mov(e.edx, static_cast<std::uint32_t>(kSumSegment));
    e.cmp(e.rax, e.rdx);
    e.cmova(e.rax, e.rdx);
    e.sub(e.frame_quad(Frame::kRows), e.rax);
    e.mov(e.frame_quad(Frame::kSegmentRows), e.rax);
    e.test(e.rax, e.rax);
    e.jz(close, e.T_NEAR);
    align_code(e, 32);
    e.L(next_row);
    section(plan_.stages[0].row_code, 0, row_registers);
    if (masked)
        copy(loop, 0, 0, true, frame_.partial_mask);
    else
        copies(loop, 0, units);
    advance_row();
    e.dec(e.frame_quad(Frame::kSegmentRows));
    e.jnz(next_row, e.T_NEAR);
    e.L(close);
    end_segment(loop, units, masked);
    e.mov(e.frame_quad(Frame::kStored), 1);
    e.cmp(e.frame_quad(Frame::kRows), 0);
    e.jne(next_segment, e.T_NEAR);
    e.L(done);
}

template <class Isa>
void RowLoops<Isa>::begin_segment(const ColumnLoop& loop, int units) {
    auto& e = emit_;
    for (const Step& step : loop.steps.list()) {
        if (step.code != Code::column_sum) continue;
        if (loop.accumulators.in_frame(step.id)) {
            e.zero(0);
            e.vmovaps(e.frame(frame_.accumulators[step.id]), e.vec(0));
        } else {
            for (int u = 0; u < units; ++u) e.zero(loop.accumulators.reg(step.id, u));
        }
    }
}

// The first segment is stored, a later one is added to what is there. The values of the steps are dead.
template <class Isa>
void RowLoops<Isa>::end_segment(const ColumnLoop& loop, int units, bool masked) {
    auto& e = emit_;
    const int tail = loop.registers.vectors - 1;
    if (masked && kWide) e.kmovw(e.k1, e.frame(frame_.partial_mask));
    if (masked && !kWide) e.vmovaps(e.vec(tail), e.frame(frame_.partial_mask));
    for (const Step& step : loop.steps.list()) {
        if (step.code != Code::column_sum) continue;
        const int operand = plan_.code[step.id].a;
        for (int u = 0; u < units; ++u) {
            Xbyak::Label store;
            if (loop.accumulators.in_frame(step.id))
                e.vmovaps(e.vec(0), e.frame(frame_.accumulators[step.id]));
            else
                e.vmovaps(e.vec(0), e.vec(loop.accumulators.reg(step.id, u)));
            e.cmp(e.frame_quad(Frame::kStored), 0);
            e.je(store);
            e.load(1, select_.operand_address(operand, u), masked, tail);
            e.vaddps(e.vec(0), e.vec(1), e.vec(0));
            e.L(store);
            e.store(select_.operand_address(operand, u), 0, masked, tail);
        }
    }
}

template void RowLoops<Avx2>::columns();
template void RowLoops<Avx512>::columns();

}  // namespace volta::jit
