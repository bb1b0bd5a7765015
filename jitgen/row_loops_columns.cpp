// One pass over the columns of a row, and the reductions it carries.
#include <algorithm>

#include "jitgen/row_loops.h"

namespace volta::jit {

template <class Isa>
void RowLoops<Isa>::load_call_pins(const ColumnLoop& loop) {
    for (const Pin& pin : loop.registers.pinned)
        if (plan_.rates[pin.value] == Rate::call) select_.fill(pin.value, pin.reg, -1);
}

// mask_at: the frame offset of a masked copy's mask.
template <class Isa>
void RowLoops<Isa>::copy(const ColumnLoop& loop, int t, int unit, bool masked, int mask_at) {
    CopyRegisters registers = loop.registers;
    if (masked && kWide) emit_.kmovw(emit_.k1, emit_.frame(mask_at));
    if (masked && !kWide) emit_.vmovaps(emit_.vec(--registers.vectors), emit_.frame(mask_at));
    select_.emit_copy(Copy{&loop.steps, &loop.accumulators, t, unit, true, masked}, registers);
}

// `units` whole vectors, interleaved as the loop was planned.
template <class Isa>
void RowLoops<Isa>::copies(const ColumnLoop& loop, int t, int units) {
    if (units % loop.copies != 0 || loop.copies == 1) {
        for (int unit = 0; unit < units; ++unit) copy(loop, t, unit, false, 0);
        return;
    }
    for (int unit = 0; unit < units; unit += loop.copies)
        select_.emit_copy(Copy{&loop.interleaved, &loop.accumulators, t, unit, true, false}, loop.registers);
}

// The lines at rcx of every full operand, a row further: of inputs to be read, of outputs to be written.
template <class Isa>
void RowLoops<Isa>::prefetch_next_row(const ColumnLoop& loop, int t) {
    constexpr int kLineBytes = 64;
    auto& e = emit_;
    if (t != prefetching_stage_) return;
    for (const Stream& stream : frame_.streams) {
        if (stream.operand < 0 || stream.stride_at < 0 || stream.reg < 0) continue;
        const Operand& operand = plan_.operands[static_cast<std::size_t>(stream.operand)];
        const bool passes_caches = (plan_.streams >> stream.operand & 1) != 0;
        if (operand.access != Access::full || passes_caches) continue;
        e.mov(e.rax, e.frame_quad(stream.stride_at));
        e.and_(e.rax, e.frame_quad(Frame::kNextRow));
        e.add(e.rax, Xbyak::Reg64(stream.reg));
        for (int at = 0; at < loop.unroll * kBytes; at += kLineBytes) {
            if (operand.output)
                e.prefetchw(e.ptr[e.rax + e.rcx + at]);
            else
                e.prefetcht0(e.ptr[e.rax + e.rcx + at]);
        }
    }
}

// Whole groups of `unroll` vectors from rcx to kMainEnd.
template <class Isa>
void RowLoops<Isa>::main_columns(const ColumnLoop& loop, int t) {
    auto& e = emit_;
    Xbyak::Label next, done;
    e.cmp(e.rcx, e.frame_quad(Frame::kMainEnd));
    e.jae(done, e.T_NEAR);
    align_code(e, 32);
    e.L(next);
    copies(loop, t, loop.unroll);
    prefetch_next_row(loop, t);
    e.add(e.rcx, loop.unroll * kBytes);
    e.cmp(e.rcx, e.frame_quad(Frame::kMainEnd));
    e.jb(next, e.T_NEAR);
    e.L(done);
}

// No row sum: columns in any grouping. Groups, then single vectors, then the partial one.
template <class Isa>
void RowLoops<Isa>::plain_columns(const ColumnLoop& loop, int t) {
    auto& e = emit_;
    Xbyak::Label partial, next, done;
    e.xor_(e.ecx, e.ecx);
    e.mov(e.rax, e.frame_quad(Frame::kTotalBytes));
    e.and_(e.rax, -loop.unroll * kBytes);
    e.mov(e.frame_quad(Frame::kMainEnd), e.rax);
    main_columns(loop, t);
    if (loop.unroll > 1) {
        e.cmp(e.rcx, e.frame_quad(Frame::kVectorEnd));
        e.jae(partial, e.T_NEAR);
        e.L(next);
        copy(loop, t, 0, false, 0);
        e.add(e.rcx, kBytes);
        e.cmp(e.rcx, e.frame_quad(Frame::kVectorEnd));
        e.jb(next, e.T_NEAR);
        e.L(partial);
    }
    e.cmp(e.rcx, e.frame_quad(Frame::kTotalBytes));
    e.jae(done, e.T_NEAR);
    copy(loop, t, 0, true, frame_.partial_mask);
    e.L(done);
}

// Row sums: chunks of 4096 columns, within them groups of 32 so that column mod 32 is the lane. Only the last
// chunk of a row has a tail.
template <class Isa>
void RowLoops<Isa>::chunked_columns(const ColumnLoop& loop, int t) {
    auto& e = emit_;
    Xbyak::Label next_chunk;
    e.xor_(e.ecx, e.ecx);
    e.mov(e.frame_quad(Frame::kChunkAt), e.rcx);
    e.L(next_chunk);
    begin_chunk(loop);
    e.lea(e.rax, e.ptr[e.rcx + kSumChunk * 4]);
    e.mov(e.rdx, e.frame_quad(Frame::kTotalBytes));
    e.cmp(e.rax, e.rdx);
    e.cmova(e.rax, e.rdx);
    e.mov(e.frame_quad(Frame::kChunkEnd), e.rax);
    e.and_(e.rax, -loop.unroll * kBytes);
    e.mov(e.frame_quad(Frame::kMainEnd), e.rax);
    main_columns(loop, t);
    group_tail(loop, t);
    end_chunk(loop);
    e.mov(e.rcx, e.frame_quad(Frame::kChunkEnd));
    e.cmp(e.rcx, e.frame_quad(Frame::kTotalBytes));
    e.jb(next_chunk, e.T_NEAR);
}

// The last columns mod 32, masked: each vector of the group has its own lanes.
template <class Isa>
void RowLoops<Isa>::group_tail(const ColumnLoop& loop, int t) {
    auto& e = emit_;
    Xbyak::Label done;
    for (int unit = 0; unit < loop.unroll; ++unit) {
        e.lea(e.rax, e.ptr[e.rcx + unit * kBytes]);
        e.cmp(e.rax, e.frame_quad(Frame::kChunkEnd));
        e.jae(done, e.T_NEAR);
        copy(loop, t, unit, true, frame_.group_masks + unit * (kWide ? 2 : kBytes));
    }
    e.L(done);
}

template <class Isa>
void RowLoops<Isa>::begin_chunk(const ColumnLoop& loop) {
    auto& e = emit_;
    bool zeroed = false;
    for (const Step& step : loop.steps.list()) {
        if (step.code != Code::row_sum) continue;
        if (!loop.accumulators.in_frame(step.id)) {
            for (int u = 0; u < loop.accumulators.count[step.id]; ++u)
                e.zero(loop.accumulators.reg(step.id, u));
            continue;
        }
        if (!zeroed) e.zero(0);
        zeroed = true;
        for (int at = 0; at < 128; at += kBytes)
            e.vmovaps(e.frame(frame_.accumulators[step.id] + at), e.vec(0));
    }
}

// Results of a loop's reductions end in registers 2 .. 8, below every loop's pinned ones; -1: in memory only.
template <class Isa>
int RowLoops<Isa>::result_register(const ColumnLoop& loop, std::int32_t id) const {
    int reg = 2;
    for (const Step& step : loop.steps.list()) {
        if (step.id == id) return reg <= 8 ? reg : -1;
        reg += is_row_reduction(step.code);
    }
    return -1;
}

// Folds the 32 lanes of every row sum into its next chunk result, which stays in its result register too. The
// values of the steps are dead: registers below the accumulators are free.
template <class Isa>
void RowLoops<Isa>::end_chunk(const ColumnLoop& loop) {
    auto& e = emit_;
    e.mov(e.rdx, e.frame_quad(Frame::kChunkAt));
    for (const Step& step : loop.steps.list()) {
        if (step.code != Code::row_sum) continue;
        constexpr int kVectorsOfLanes = 32 / kLanes;
        const int result = std::max(0, result_register(loop, step.id));
        for (int u = 0; u < kVectorsOfLanes / 2; ++u) {  // lane l + lane l + 16
            const int other = u + kVectorsOfLanes / 2;
            const auto half = e.vec(u == 0 ? result : 1);
            if (loop.accumulators.in_frame(step.id)) {
                const int at = frame_.accumulators[step.id];
                e.vmovaps(half, e.frame(at + u * kBytes));
                e.vaddps(half, half, e.frame(at + other * kBytes));
            } else {
                e.vaddps(half, e.vec(loop.accumulators.reg(step.id, u)),
                         e.vec(loop.accumulators.reg(step.id, other)));
            }
        }
        if constexpr (!kWide) e.vaddps(e.vec(result), e.vec(result), e.vec(1));
        e.fold(result, 1, [&e](const auto& x, const auto& y) { e.vaddps(x, x, y); });
        e.mov(e.rax, e.frame_quad(frame_.chunk_rows[step.id]));
        e.vmovss(e.ptr[e.rax + e.rdx], e.quarter(result));
    }
    e.add(e.rdx, 4);
    e.mov(e.frame_quad(Frame::kChunkAt), e.rdx);
}

template <class Isa>
void RowLoops<Isa>::begin_maxima(const ColumnLoop& loop) {
    auto& e = emit_;
    using Select = RowSelector<Isa>;
    for (const Step& step : loop.steps.list()) {
        const bool is_max = step.code == Code::row_max;
        if (!is_max && step.code != Code::row_argmax) continue;
        const std::uint32_t least = is_max ? Select::kMinusInfinity : Select::kLowestKey;
        const int at = frame_.accumulators[step.id], first = loop.accumulators.first[step.id];
        if (loop.accumulators.in_frame(step.id)) {
            e.load_constant(0, least);
            e.vmovaps(e.frame(at), e.vec(0));
            if (is_max)
                e.zero(0);
            else
                e.vmovaps(e.vec(0), e.frame(frame_.iota));
            e.vmovaps(e.frame(at + Select::kSecondHalf), e.vec(0));
        } else if (is_max) {
            for (int u = 0; u < loop.accumulators.count[step.id]; ++u) e.load_constant(first + u, least);
            const int nan = loop.accumulators.nan[step.id];
            if constexpr (kWide)
                e.kxorw(e.mask(nan), e.mask(nan), e.mask(nan));
            else
                e.zero(nan);
        } else {
            e.load_constant(first, least);
            e.vmovaps(e.vec(first + 1), e.frame(frame_.iota));
        }
    }
}

// Every result becomes a vector of equal lanes, in its slot of the frame and, as long as those last, in a
// register.
template <class Isa>
void RowLoops<Isa>::end_reductions(const ColumnLoop& loop) {
    auto& e = emit_;
    if (loop.has_row_sum) end_sums(loop);
    for (const Step& step : loop.steps.list()) {
        if (!is_row_reduction(step.code) || frame_.slots[step.id] < 0) continue;
        const int reg = result_register(loop, step.id), result = std::max(0, reg);
        if (step.code == Code::row_max) end_max(loop, step.id, result);
        if (step.code == Code::row_argmax) end_argmax(loop, step.id, result);
        if (step.code == Code::row_sum && reg < 0) {
            e.mov(e.rax, e.frame_quad(frame_.chunk_rows[step.id]));
            e.vbroadcastss(e.vec(result), e.dword[e.rax]);
        }
        e.vmovaps(e.frame(frame_.slots[step.id]), e.vec(result));
        if (reg >= 0) results_.push_back(Pin{step.id, reg});
    }
}

// Of one chunk the sum is there; chunk results of longer rows are summed in memory first.
template <class Isa>
void RowLoops<Isa>::end_sums(const ColumnLoop& loop) {
    auto& e = emit_;
    Xbyak::Label single, done;
    e.cmp(e.frame_quad(Frame::kChunkAt), 4);
    e.jbe(single, e.T_NEAR);
    for (const bool load : {false, true})
        for (const Step& step : loop.steps.list()) {
            const int result = result_register(loop, step.id);
            if (step.code != Code::row_sum || (load && result < 0)) continue;
            e.mov(e.rax, e.frame_quad(frame_.chunk_rows[step.id]));
            if (load) {
                e.vbroadcastss(e.vec(result), e.dword[e.rax]);
            } else {
                e.mov(e.rdx, e.frame_quad(Frame::kChunkAt));
                e.shr(e.rdx, 2);
                e.call(sum_chunks_);
            }
        }
    e.jmp(done, e.T_NEAR);
    e.L(single);
    for (const Step& step : loop.steps.list()) {
        const int result = result_register(loop, step.id);
        if (step.code == Code::row_sum && result >= 0) e.vbroadcastss(e.vec(result), e.quarter(result));
    }
    e.L(done);
}

template <class Isa>
void RowLoops<Isa>::end_max(const ColumnLoop& loop, std::int32_t id, int result) {
    auto& e = emit_;
    Xbyak::Label ordered;
    const auto combine = [&e](const auto& x, const auto& y) { e.vmaxps(x, x, y); };
    const int at = frame_.accumulators[id] + RowSelector<Isa>::kSecondHalf, nan = loop.accumulators.nan[id];
    if (loop.accumulators.in_frame(id)) {
        e.vmovaps(e.vec(result), e.frame(frame_.accumulators[id]));
    } else {
        e.vmovaps(e.vec(result), e.vec(loop.accumulators.first[id]));
        for (int u = 1; u < loop.accumulators.count[id]; ++u)
            combine(e.vec(result), e.vec(loop.accumulators.first[id] + u));
    }
    e.fold(result, 1, combine);
    e.zero(1);
    e.vaddss(e.quarter(result), e.quarter(result), e.quarter(1));  // -0 becomes +0
    if constexpr (kWide) {
        if (loop.accumulators.in_frame(id))
            e.cmp(e.frame_word(at), 0);
        else
            e.kortestw(e.mask(nan), e.mask(nan));
    } else {
        if (loop.accumulators.in_frame(id)) e.vmovaps(e.vec(1), e.frame(at));
        e.vmovmskps(e.eax, e.vec(loop.accumulators.in_frame(id) ? 1 : nan));
        e.test(e.eax, e.eax);
    }
    e.jz(ordered);
    e.load_constant(result, RowSelector<Isa>::kNan);
    e.L(ordered);
    e.vbroadcastss(e.vec(result), e.quarter(result));
}

// The largest (key, ~index) over the lanes, as signed words of 64 bits: ties of the key go to the lowest
// index.
template <class Isa>
void RowLoops<Isa>::end_argmax(const ColumnLoop& loop, std::int32_t id, int result) {
    auto& e = emit_;
    const int keys = frame_.accumulators[id], indices = keys + RowSelector<Isa>::kSecondHalf;
    if (!loop.accumulators.in_frame(id)) {
        e.vmovaps(e.frame(keys), e.vec(loop.accumulators.first[id]));
        e.vmovaps(e.frame(indices), e.vec(loop.accumulators.first[id] + 1));
    }
    for (int lane = 0; lane < kLanes; ++lane) {
        e.mov(e.eax, e.frame_word(keys + 4 * lane));
        e.shl(e.rax, 32);
        e.mov(e.edx, e.frame_word(indices + 4 * lane));
        e.not_(e.edx);
        e.or_(e.rax, e.rdx);
        if (lane == 0) {
            e.mov(e.rcx, e.rax);
        } else {
            e.cmp(e.rax, e.rcx);
            e.cmovg(e.rcx, e.rax);
        }
    }
    e.not_(e.ecx);
    e.broadcast_word(result, e.ecx);
}

// Sums the rdx > 1 chunk results at [rax] by the rule of chunks and lanes until one is left, in [rax].
// Results overwrite the front of the buffer, which was read before; its end is padded with +0 to whole groups
// of 32. Uses registers 0 .. 4.
template <class Isa>
void RowLoops<Isa>::sum_chunks_routine() {
    auto& e = emit_;
    constexpr int kGroup = 32 / kLanes;
    const auto &count = e.rdx, &buffer = e.rax, &left = e.rcx, &from = e.rsi, &to = e.rdi, &end = e.rbx;
    Xbyak::Label next_level, pad, padded, next_chunk, next_group;
    e.L(sum_chunks_);
    for (const auto& reg : {e.rbx, e.rcx, e.rsi, e.rdi}) e.push(reg);
    e.L(next_level);
    e.mov(from, buffer);
    e.mov(to, buffer);
    e.lea(end, e.ptr[buffer + count * 4]);
    e.mov(left, count);
    e.L(pad);
    e.test(left, 31);
    e.jz(padded);
    e.mov(e.dword[buffer + left * 4], 0);
    e.inc(left);
    e.jmp(pad);
    e.L(padded);
    e.xor_(count, count);
    e.L(next_chunk);
    for (int u = 0; u < kGroup; ++u) e.zero(u);
    e.lea(left, e.ptr[from + kSumChunk * 4]);
    e.cmp(left, end);
    e.cmova(left, end);
    e.L(next_group);
    for (int u = 0; u < kGroup; ++u) e.vaddps(e.vec(u), e.vec(u), e.ptr[from + u * kBytes]);
    e.add(from, 128);
    e.cmp(from, left);
    e.jb(next_group);
    for (int u = 0; u < kGroup / 2; ++u) e.vaddps(e.vec(u), e.vec(u), e.vec(u + kGroup / 2));
    if constexpr (!kWide) e.vaddps(e.vec(0), e.vec(0), e.vec(1));
    e.fold(0, 4, [&e](const auto& x, const auto& y) { e.vaddps(x, x, y); });
    e.vmovss(e.ptr[to], e.quarter(0));
    e.add(to, 4);
    e.inc(count);
    e.cmp(from, end);
    e.jb(next_chunk);
    e.cmp(count, 1);
    e.ja(next_level);
    for (const auto& reg : {e.rdi, e.rsi, e.rcx, e.rbx}) e.pop(reg);
    e.ret();
}

template void RowLoops<Avx2>::load_call_pins(const ColumnLoop&);
template void RowLoops<Avx2>::copy(const ColumnLoop&, int, int, bool, int);
template void RowLoops<Avx2>::copies(const ColumnLoop&, int, int);
template void RowLoops<Avx2>::plain_columns(const ColumnLoop&, int);
template void RowLoops<Avx2>::chunked_columns(const ColumnLoop&, int);
template void RowLoops<Avx2>::begin_maxima(const ColumnLoop&);
template void RowLoops<Avx2>::end_reductions(const ColumnLoop&);
template void RowLoops<Avx2>::sum_chunks_routine();
template void RowLoops<Avx512>::load_call_pins(const ColumnLoop&);
template void RowLoops<Avx512>::copy(const ColumnLoop&, int, int, bool, int);
template void RowLoops<Avx512>::copies(const ColumnLoop&, int, int);
template void RowLoops<Avx512>::plain_columns(const ColumnLoop&, int);
template void RowLoops<Avx512>::chunked_columns(const ColumnLoop&, int);
template void RowLoops<Avx512>::begin_maxima(const ColumnLoop&);
template void RowLoops<Avx512>::end_reductions(const ColumnLoop&);
template void RowLoops<Avx512>::sum_chunks_routine();

}  // namespace volta::jit
