// Entry and exit of a row kernel, and the loop over rows.
#include "jitgen/row_loops.h"

#include <cstddef>

#include "jitgen/row_kernel.h"

namespace volta::jit {

template <class Isa>
RowLoops<Isa>::RowLoops(const RowPlan& plan, void* buffer, std::size_t bytes, std::pmr::memory_resource* heap)
    : plan_(plan),
      heap_(heap),
      emit_(buffer, bytes, heap),
      frame_(plan, kBytes, heap),
      select_(plan, frame_, emit_, heap),
      loops_(heap),
      results_(heap) {
    const RegisterBudget budget{Isa::kVectors, kLanes, kWide};
    for (int t = 0; t < static_cast<int>(plan.stages.size()); ++t) {
        loops_.emplace_back(plan, t, kWide, heap);
        if (plan.column_sums)
            plan_column_sums(plan, budget, loops_.back());
        else
            plan_row_loop(plan, budget, loops_.back());
    }
    pins_stay_ = plan.stages.size() == 1;
    choose_prefetching(plan);
}

// Between the loads of one row and those of the next, kernels of several stages compute, and nobody asks for
// memory: the processor's own prefetching stands still. The longest loop asks for the next row meanwhile.
template <class Isa>
void RowLoops<Isa>::choose_prefetching(const RowPlan& plan) {
    if (plan.column_sums || plan.stages.size() == 1) return;
    prefetching_stage_ = 0;
    for (int t = 1; t < static_cast<int>(loops_.size()); ++t)
        if (loops_[t].steps.size() > loops_[prefetching_stage_].steps.size()) prefetching_stage_ = t;
}

template <class Isa>
void RowLoops<Isa>::generate() {
    auto& e = emit_;
    Xbyak::Label exit;
    const Xbyak::Reg64 saved[] = {e.rbx, e.rbp, e.r12, e.r13, e.r14, e.r15};
    for (const auto& reg : saved) e.push(reg);
    e.mov(e.rax, e.rsp);
    e.sub(e.rsp, 0x7fffffff);
    const std::size_t frame_bytes_at = e.getSize() - 4;
    e.and_(e.rsp, -64);
    e.mov(e.frame_quad(Frame::kSavedStack), e.rax);
    e.mov(e.frame_quad(Frame::kArgs), e.rdi);

    enter();
    CopyRegisters all(heap_);
    all.vectors = Isa::kVectors;
    section(plan_.call_code, 0, all);
    if (plan_.column_sums)
        columns();
    else
        rows();

    if (plan_.streams) e.sfence();  // other threads are told by ordinary stores that the work is done
    e.vzeroupper();
    e.mov(e.rsp, e.frame_quad(Frame::kSavedStack));
    for (int k = 5; k >= 0; --k) e.pop(saved[k]);
    e.ret();
    if (plan_.row_sums > 0) sum_chunks_routine();
    e.emit_pool();
    e.rewrite(frame_bytes_at, static_cast<std::uint64_t>(frame_.spills + select_.spill_slots() * kBytes), 4);
}

template <class Isa>
void RowLoops<Isa>::enter() {
    auto& e = emit_;
    e.mov(e.rax, e.ptr[e.rdi + offsetof(RowArgs, columns)]);
    e.shl(e.rax, 2);
    e.mov(e.frame_quad(Frame::kTotalBytes), e.rax);
    e.and_(e.rax, -kBytes);
    e.mov(e.frame_quad(Frame::kVectorEnd), e.rax);
    e.vpbroadcastd(e.vec(0), e.dword[e.rdi + offsetof(RowArgs, first_column)]);
    e.vpaddd(e.vec(0), e.vec(0), e.iota());
    e.vmovaps(e.frame(frame_.iota), e.vec(0));
    set_next_row();
    set_masks();
    set_scratch_pointers();
    set_strides();
    set_operand_pointers();
    set_row_index();
}

// All bits where there is a next row that is worth asking for; none in the last row, and where rows are so
// long that the next would drive this one out. rax: the bytes of a row, mod the vector.
template <class Isa>
void RowLoops<Isa>::set_next_row() {
    constexpr int kLongestRowBytes = 32768;
    auto& e = emit_;
    if (prefetching_stage_ < 0) return;
    e.sub(e.rax, kLongestRowBytes + 1);
    e.sar(e.rax, 63);
    e.mov(e.frame_quad(Frame::kNextRow), e.rax);
}

// The masks of the last columns, mod lanes and mod 32: the same in every row.
template <class Isa>
void RowLoops<Isa>::set_masks() {
    auto& e = emit_;
    for (const bool group : {false, true}) {
        const int at = group ? frame_.group_masks : frame_.partial_mask;
        e.mov(e.ecx, e.dword[e.rdi + offsetof(RowArgs, columns)]);
        e.and_(e.ecx, group ? 31 : kLanes - 1);
        if constexpr (kWide) {
            e.mov(e.eax, 1);
            e.shl(e.eax, e.cl);
            e.dec(e.eax);
            e.mov(e.frame_word(at), e.eax);  // vector u of the group has the bits from 16 u
        } else {
            e.neg(e.rcx);
            e.lea(e.rdx, e.ptr[e.rip + e.mask_window()]);
            e.lea(e.rdx, e.ptr[e.rdx + e.rcx * 4 + 128]);
            for (int u = 0; u < (group ? 4 : 1); ++u) {
                e.vmovups(e.vec(0), e.ptr[e.rdx + u * kBytes]);
                e.vmovaps(e.frame(at + u * kBytes), e.vec(0));
            }
        }
    }
}

// Scratch: kept rows, then the chunk results of each row sum (row_plan.h, scratch_bytes).
template <class Isa>
void RowLoops<Isa>::set_scratch_pointers() {
    auto& e = emit_;
    if (plan_.kept_rows == 0 && plan_.row_sums == 0) return;
    e.mov(e.rax, e.ptr[e.rdi + offsetof(RowArgs, scratch)]);
    e.mov(e.rcx, e.ptr[e.rdi + offsetof(RowArgs, columns)]);
    e.lea(e.rdx, e.ptr[e.rcx + 31]);
    e.shr(e.rdx, 5);
    e.shl(e.rdx, 7);
    for (const Stream& stream : frame_.streams) {
        if (stream.kept_row < 0) continue;
        // rdi is a pointer register too: it gets its value from the frame once the arguments are read.
        e.mov(e.frame_quad(stream.pointer_at), e.rax);
        e.add(e.rax, e.rdx);
    }
    e.lea(e.rdx, e.ptr[e.rcx + (kSumChunk - 1)]);
    e.shr(e.rdx, 12);
    e.cmp(e.rdx, 1);
    e.adc(e.rdx, 0);  // at least one
    e.add(e.rdx, 31);
    e.shr(e.rdx, 5);
    e.shl(e.rdx, 7);
    for (const int at : frame_.chunk_rows) {
        if (at < 0) continue;
        e.mov(e.frame_quad(at), e.rax);
        e.add(e.rax, e.rdx);
    }
}

template <class Isa>
void RowLoops<Isa>::set_strides() {
    auto& e = emit_;
    e.mov(e.rdx, e.ptr[e.rdi + offsetof(RowArgs, row_strides)]);
    for (const Stream& stream : frame_.streams) {
        if (stream.stride_at < 0) continue;
        e.mov(e.rax, e.ptr[e.rdx + 8 * stream.operand]);
        e.shl(e.rax, 2);
        e.mov(e.frame_quad(stream.stride_at), e.rax);
    }
}

// Every pointer to its row 0. rax, rdx and the pointer registers change.
template <class Isa>
void RowLoops<Isa>::set_operand_pointers() {
    auto& e = emit_;
    e.mov(e.rdx, e.frame_quad(Frame::kArgs));
    e.mov(e.rdx, e.ptr[e.rdx + offsetof(RowArgs, operands)]);
    for (const Stream& stream : frame_.streams) {
        if (stream.kept_row >= 0) {
            if (stream.reg >= 0) e.mov(Xbyak::Reg64(stream.reg), e.frame_quad(stream.pointer_at));
        } else if (stream.reg >= 0) {
            e.mov(Xbyak::Reg64(stream.reg), e.ptr[e.rdx + 8 * stream.operand]);
        } else {
            e.mov(e.rax, e.ptr[e.rdx + 8 * stream.operand]);
            e.mov(e.frame_quad(stream.pointer_at), e.rax);
        }
    }
}

template <class Isa>
void RowLoops<Isa>::set_row_index() {
    emit_.mov(emit_.rax, emit_.frame_quad(Frame::kArgs));
    emit_.mov(emit_.eax, emit_.ptr[emit_.rax + offsetof(RowArgs, first_row)]);
    emit_.mov(emit_.frame_word(Frame::kRowIndex), emit_.eax);
}

template <class Isa>
void RowLoops<Isa>::advance_row() {
    auto& e = emit_;
    for (const Stream& stream : frame_.streams) {
        if (stream.stride_at < 0) continue;
        if (stream.reg >= 0) {
            e.add(Xbyak::Reg64(stream.reg), e.frame_quad(stream.stride_at));
        } else {
            e.mov(e.rax, e.frame_quad(stream.stride_at));
            e.add(e.frame_quad(stream.pointer_at), e.rax);
        }
    }
    e.inc(e.frame_word(Frame::kRowIndex));
}

// Code that runs once per call or row, on vectors of equal lanes.
template <class Isa>
void RowLoops<Isa>::section(const std::pmr::vector<std::int32_t>& code, int stage,
                            const CopyRegisters& registers) {
    if (code.empty()) return;
    const Steps steps(plan_, code, {false, kWide, 1, stage}, heap_);
    select_.emit_copy(Copy{&steps, nullptr, stage, 0, false, false}, registers);
}

template <class Isa>
bool RowLoops<Isa>::is_computed_in(std::int32_t value, int stage) const {
    for (const std::int32_t id : plan_.stages[stage].row_code)
        if (id == value) return true;
    return false;
}

template <class Isa>
void RowLoops<Isa>::rows() {
    auto& e = emit_;
    Xbyak::Label next_row, done;
    e.mov(e.rdx, e.frame_quad(Frame::kArgs));
    e.mov(e.rax, e.ptr[e.rdx + offsetof(RowArgs, rows)]);
    e.mov(e.frame_quad(Frame::kRows), e.rax);
    e.test(e.rax, e.rax);
    e.jle(done, e.T_NEAR);
    if (pins_stay_) load_call_pins(loops_[0]);
    align_code(e, 32);
    e.L(next_row);
    if (prefetching_stage_ >= 0) {
        Xbyak::Label is_not_last;
        e.cmp(e.frame_quad(Frame::kRows), 1);
        e.jne(is_not_last);
        e.mov(e.frame_quad(Frame::kNextRow), 0);
        e.L(is_not_last);
    }
    for (int t = 0; t < static_cast<int>(plan_.stages.size()); ++t) stage(t);
    advance_row();
    e.dec(e.frame_quad(Frame::kRows));
    e.jnz(next_row, e.T_NEAR);
    e.L(done);
}

// The row code, then the loop. Results of the loop before come in registers; what the row code computes for
// the loop goes straight to its pinned register: the way through memory would add its latency to every row.
template <class Isa>
void RowLoops<Isa>::stage(int t) {
    auto& e = emit_;
    const ColumnLoop& loop = loops_[t];
    CopyRegisters before(heap_);
    before.vectors = loop.registers.vectors;
    const auto result_of = [this](std::int32_t value) {
        for (const Pin& result : results_)
            if (result.value == value) return result.reg;
        return -1;
    };
    for (const Pin& pin : loop.registers.pinned) {
        const bool is_call = plan_.rates[pin.value] == Rate::call;
        if (is_computed_in(pin.value, t)) {
            before.delivered.push_back(pin);
            continue;
        }
        if (result_of(pin.value) >= 0)
            e.vmovaps(e.vec(pin.reg), e.vec(result_of(pin.value)));
        else if (!is_call || !pins_stay_)
            select_.fill(pin.value, pin.reg, -1);
        before.pinned.push_back(pin);
    }
    for (const Pin& result : results_) {
        bool pinned = false;
        for (const Pin& pin : before.pinned) pinned = pinned || pin.value == result.value;
        if (!pinned) before.adopted.push_back(result);
    }
    results_.clear();
    section(plan_.stages[t].row_code, t, before);
    if (loop.steps.size() == 0) return;
    begin_maxima(loop);
    if (loop.has_row_sum)
        chunked_columns(loop, t);
    else
        plain_columns(loop, t);
    end_reductions(loop);
}

// What stands in this file; the other two instantiate what they hand over.
template class RowLoops<Avx2>;
template class RowLoops<Avx512>;

}  // namespace volta::jit
