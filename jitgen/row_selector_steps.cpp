// Which instructions compute a step.
#include <cstddef>

#include "jitgen/row_kernel.h"
#include "jitgen/row_selector.h"

namespace volta::jit {

template <class Isa>
void RowSelector<Isa>::emit_step(const Step& step) {
    for (const std::int32_t argument : step.arguments) registers_.lock(argument);
    if (step.code >= Code::add && step.code <= Code::abs)
        real_step(step);
    else if (step.code >= Code::less && step.code <= Code::select)
        mask_step(step);
    else if (step.code >= Code::iadd && step.code <= Code::to_real)
        integer_step(step);
    else
        other_step(step);
    if (in_register(step.id)) keep(step.id);
}

template <class Isa>
void RowSelector<Isa>::real_step(const Step& step) {
    auto& e = emit_;
    using Op = const Xbyak::Operand&;
    if (step.merged == Merged::minus_abs)
        return unary_register(step,
                              [&](int to, int a) { e.vorps(e.vec(to), e.vec(a), e.constant(0x80000000u)); });
    if (step.merged == Merged::scale)
        return binary(step, Order::fixed, [&](int to, int a, Op b) { e.vscalefps(e.vec(to), e.vec(a), b); });
    switch (step.code) {
        case Code::add:
            return binary(step, Order::commutes,
                          [&](int to, int a, Op b) { e.vaddps(e.vec(to), e.vec(a), b); });
        case Code::sub:
            return binary(step, Order::fixed, [&](int to, int a, Op b) { e.vsubps(e.vec(to), e.vec(a), b); });
        case Code::mul:
            return binary(step, Order::commutes,
                          [&](int to, int a, Op b) { e.vmulps(e.vec(to), e.vec(a), b); });
        case Code::div:
            return binary(step, Order::fixed, [&](int to, int a, Op b) { e.vdivps(e.vec(to), e.vec(a), b); });
        case Code::fma:
            return fma(step);
        case Code::sqrt:
            return unary(step, [&](int to, Op a) { e.vsqrtps(e.vec(to), a); });
        case Code::neg:
            return unary_register(
                step, [&](int to, int a) { e.vxorps(e.vec(to), e.vec(a), e.constant(0x80000000u)); });
        default:
            return unary_register(
                step, [&](int to, int a) { e.vandps(e.vec(to), e.vec(a), e.constant(0x7fffffffu)); });
    }
}

template <class Isa>
void RowSelector<Isa>::mask_step(const Step& step) {
    auto& e = emit_;
    using Op = const Xbyak::Operand&;
    const auto compare = [&](Order order, Compare how) {
        binary(step, order, [&](int to, int a, Op b) { e.compare(to, a, b, how); });
    };
    switch (step.code) {
        case Code::less:
            return compare(Order::fixed, Compare::less);
        case Code::less_equal:
            return compare(Order::fixed, Compare::less_equal);
        case Code::equal:
            return compare(Order::commutes, Compare::equal);
        case Code::is_nan:
            return unary_register(step,
                                  [&](int to, int a) { e.compare(to, a, e.vec(a), Compare::unordered); });
        case Code::both:
            return masks(step, [&](int to, int a, int b) { e.mask_and(to, a, b); });
        case Code::either:
            return masks(step, [&](int to, int a, int b) { e.mask_or(to, a, b); });
        case Code::invert:
            return masks(step, [&](int to, int a, int) { e.mask_not(to, a); });
        default:
            return select(step);
    }
}

template <class Isa>
void RowSelector<Isa>::integer_step(const Step& step) {
    auto& e = emit_;
    using Op = const Xbyak::Operand&;
    const auto count = static_cast<std::uint8_t>(code_of(step.id).immediate);
    switch (step.code) {
        case Code::iadd:
            return binary(step, Order::commutes,
                          [&](int to, int a, Op b) { e.vpaddd(e.vec(to), e.vec(a), b); });
        case Code::isub:
            return binary(step, Order::fixed, [&](int to, int a, Op b) { e.vpsubd(e.vec(to), e.vec(a), b); });
        case Code::iand:
            return binary(step, Order::commutes,
                          [&](int to, int a, Op b) { e.vandps(e.vec(to), e.vec(a), b); });
        case Code::ior:
            return binary(step, Order::commutes,
                          [&](int to, int a, Op b) { e.vorps(e.vec(to), e.vec(a), b); });
        case Code::ixor:
            return binary(step, Order::commutes,
                          [&](int to, int a, Op b) { e.vxorps(e.vec(to), e.vec(a), b); });
        case Code::shl:
            return unary_register(step, [&](int to, int a) { e.vpslld(e.vec(to), e.vec(a), count); });
        case Code::shr:
            return unary_register(step, [&](int to, int a) { e.vpsrld(e.vec(to), e.vec(a), count); });
        case Code::sar:
            return unary_register(step, [&](int to, int a) { e.vpsrad(e.vec(to), e.vec(a), count); });
        case Code::umul_low:
            return binary(step, Order::commutes,
                          [&](int to, int a, Op b) { e.vpmulld(e.vec(to), e.vec(a), b); });
        case Code::umul_high:
            return multiply_high(step);
        case Code::iequal:
            return binary(step, Order::commutes, [&](int to, int a, Op b) { e.equal_words(to, a, b); });
        case Code::uless:
            return binary(step, Order::result_apart,
                          [&](int to, int a, Op b) { e.less_words_unsigned(to, a, b); });
        case Code::truncate:
            return unary(step, [&](int to, Op a) { e.vcvttps2dq(e.vec(to), a); });
        default:
            return unary(step, [&](int to, Op a) { e.vcvtdq2ps(e.vec(to), a); });
    }
}

template <class Isa>
void RowSelector<Isa>::other_step(const Step& step) {
    switch (step.code) {
        case Code::load:
            if (copy_.is_loop) return static_cast<void>(registers_.ensure(step.id));
            return load_uniform(step);
        case Code::row_index:
            return emit_.vpbroadcastd(emit_.vec(registers_.define(step.id)),
                                      emit_.frame_word(Frame::kRowIndex));
        case Code::column_index:
            return column_index(registers_.define(step.id), unit_of(step.id));
        case Code::row_length:
            return row_length(step);
        case Code::row_sum:
            return row_sum(step);
        case Code::row_max:
            return row_max(step);
        case Code::row_argmax:
            return row_argmax(step);
        case Code::column_sum:
            return column_sum(step);
        default:
            return store(step);
    }
}

// ---- forms

template <class Isa>
template <class Emit>
void RowSelector<Isa>::binary(const Step& step, Order order, Emit emit) {
    std::int32_t a = step.arguments.ids[0], b = step.arguments.ids[1];
    if (order == Order::commutes && !in_register(a) && in_register(b)) std::swap(a, b);
    const int ra = registers_.ensure(a);
    const Source last = source(b);
    if (order != Order::result_apart) registers_.retire();
    emit(registers_.define(step.id), ra, last);
}

template <class Isa>
template <class Emit>
void RowSelector<Isa>::masks(const Step& step, Emit emit) {
    const int ra = registers_.ensure(step.arguments.ids[0]);
    const int rb = step.arguments.count > 1 ? registers_.ensure(step.arguments.ids[1]) : ra;
    registers_.retire();
    emit(registers_.define(step.id), ra, rb);
}

template <class Isa>
template <class Emit>
void RowSelector<Isa>::unary(const Step& step, Emit emit) {
    const Source a = source(step.arguments.ids[0]);
    registers_.retire();
    emit(registers_.define(step.id), a);
}

template <class Isa>
template <class Emit>
void RowSelector<Isa>::unary_register(const Step& step, Emit emit) {
    const int ra = registers_.ensure(step.arguments.ids[0]);
    registers_.retire();
    emit(registers_.define(step.id), ra);
}

// ---- a * b + c: three sources, one of which is also the result

template <class Isa>
void RowSelector<Isa>::fma(const Step& step) {
    std::int32_t a = step.arguments.ids[0], b = step.arguments.ids[1];
    const std::int32_t c = step.arguments.ids[2];
    if (registers_.can_move(c)) return fma_over_addend(step, a, b, c);
    if (registers_.can_move(a)) return fma_over_factor(step, a, b, c);
    if (registers_.can_move(b)) return fma_over_factor(step, b, a, c);
    fma_fresh(step, a, b, c);
}

template <class Isa>
void RowSelector<Isa>::fma_over_addend(const Step& step, std::int32_t a, std::int32_t b, std::int32_t c) {
    if (!in_register(a) && in_register(b)) std::swap(a, b);
    const int ra = registers_.ensure(a), to = registers_.find(c);
    const Source last = source(b);
    registers_.move(c, step.id);
    emit_.vfmadd231ps(emit_.vec(to), emit_.vec(ra), last);
}

template <class Isa>
void RowSelector<Isa>::fma_over_factor(const Step& step, std::int32_t a, std::int32_t b, std::int32_t c) {
    const int to = registers_.find(a);
    if (in_register(b) || !in_register(c)) {
        const int rb = registers_.ensure(b);
        const Source last = source(c);
        registers_.move(a, step.id);
        emit_.vfmadd213ps(emit_.vec(to), emit_.vec(rb), last);
    } else {
        const int rc = registers_.ensure(c);
        const Source last = source(b);
        registers_.move(a, step.id);
        emit_.vfmadd132ps(emit_.vec(to), emit_.vec(rc), last);
    }
}

// Nothing dies in a register: one source is copied, best one that has to be read from memory anyway.
template <class Isa>
void RowSelector<Isa>::fma_fresh(const Step& step, std::int32_t a, std::int32_t b, std::int32_t c) {
    if (in_register(c) && !in_register(b) && a != b) std::swap(a, b);
    if (in_register(c) && !in_register(a) && a != b && registers_.dies(a)) {
        const int rb = registers_.ensure(b), rc = registers_.find(c), to = registers_.define(step.id);
        fill(a, to, registers_.slot_of(a));
        return emit_.vfmadd213ps(emit_.vec(to), emit_.vec(rb), emit_.vec(rc));
    }
    const int ra = registers_.ensure(a), rb = registers_.ensure(b);
    // What is read past its register must be there for its later uses too.
    if (!registers_.dies(c) && registers_.slot_of(c) < 0 && !has_home(c)) registers_.ensure(c);
    const int to = registers_.define(step.id);
    if (in_register(c))
        emit_.vmovaps(emit_.vec(to), emit_.vec(registers_.find(c)));
    else
        fill(c, to, registers_.slot_of(c));
    emit_.vfmadd231ps(emit_.vec(to), emit_.vec(ra), emit_.vec(rb));
}

// ---- the rest

template <class Isa>
void RowSelector<Isa>::select(const Step& step) {
    auto& e = emit_;
    using Op = const Xbyak::Operand&;
    if (step.merged == Merged::maximum)
        return binary(step, Order::fixed, [&](int to, int a, Op b) { e.vmaxps(e.vec(to), e.vec(a), b); });
    if (step.merged == Merged::minimum)
        return binary(step, Order::fixed, [&](int to, int a, Op b) { e.vminps(e.vec(to), e.vec(a), b); });
    const std::int32_t yes = step.arguments.ids[1], no = step.arguments.ids[2];
    const int condition = registers_.ensure(step.arguments.ids[0]);
    if (is_zero(no)) {
        // VMOVUPS takes no broadcast word.
        const Source last = kWide && is_constant(yes) ? source_of(registers_.ensure(yes)) : source(yes);
        registers_.retire();
        return e.select_or_zero(registers_.define(step.id), condition, last);
    }
    if (!kWide && is_zero(yes)) {  // VANDNPS: not condition and no
        const Source last = source(no);
        registers_.retire();
        return e.vandnps(e.vec(registers_.define(step.id)), e.vec(condition), last);
    }
    const int rn = registers_.ensure(no);
    const Source last = source(yes);
    registers_.retire();
    e.select(registers_.define(step.id), condition, last, rn);
}

template <class Isa>
void RowSelector<Isa>::multiply_high(const Step& step) {
    const std::int32_t a = step.arguments.ids[0], b = step.arguments.ids[1];
    const int ra = registers_.ensure(a), rb = registers_.ensure(b);
    const int t0 = registers_.temporary(File::vector), t1 = registers_.temporary(File::vector);
    const int to = registers_.define(step.id);
    emit_.multiply_high(to, ra, rb, is_uniform(a), is_uniform(b), t0, t1);
}

template <class Isa>
void RowSelector<Isa>::load_uniform(const Step& step) {
    const Instruction& x = code_of(step.id);
    const int to = registers_.define(step.id);
    if (plan_.operands[x.a].access == Access::per_row)
        return emit_.vbroadcastss(emit_.vec(to), operand_address(x.a, 0));
    const auto& rax = emit_.rax;
    emit_.mov(rax, emit_.frame_quad(Frame::kArgs));
    emit_.mov(rax, emit_.ptr[rax + offsetof(RowArgs, operands)]);
    emit_.mov(rax, emit_.ptr[rax + 8 * x.a]);
    if (x.immediate != 0) {  // an index of 32 bits does not fit a displacement
        emit_.mov(emit_.edx, x.immediate);
        emit_.lea(rax, emit_.ptr[rax + emit_.rdx * 4]);
    }
    emit_.vbroadcastss(emit_.vec(to), emit_.ptr[rax]);
}

template <class Isa>
void RowSelector<Isa>::row_length(const Step& step) {
    const int to = registers_.define(step.id);
    emit_.mov(emit_.rax, emit_.frame_quad(Frame::kTotalBytes));
    emit_.shr(emit_.rax, 2);
    emit_.zero(to);
    emit_.vcvtsi2ss(emit_.quarter(to), emit_.quarter(to), emit_.rax);
    emit_.vbroadcastss(emit_.vec(to), emit_.quarter(to));
}

template <class Isa>
void RowSelector<Isa>::store(const Step& step) {
    const Instruction& x = code_of(step.id);
    const int reg = registers_.ensure(step.arguments.ids[0]);
    if (plan_.operands[x.a].access == Access::per_row)
        return emit_.vmovss(operand_address(x.a, 0), emit_.quarter(reg));
    const Address to = operand_address(x.a, unit_of(step.id));
    if ((plan_.streams >> x.a & 1) != 0 && !copy_.masked) return emit_.vmovntps(to, emit_.vec(reg));
    emit_.store(to, reg, copy_.masked, tail_);
}

template <class Isa>
void RowSelector<Isa>::column_sum(const Step& step) {
    const std::int32_t value = step.arguments.ids[0];
    if (!copy_.accumulators->in_frame(base(step.id))) {
        const auto acc = emit_.vec(accumulator(step));
        return emit_.vaddps(acc, acc, source(value));
    }
    const auto v = emit_.vec(registers_.ensure(value)), t = emit_.vec(registers_.temporary(File::vector));
    emit_.vaddps(t, v, emit_.frame(frame_.accumulators[base(step.id)]));
    emit_.vmovaps(emit_.frame(frame_.accumulators[base(step.id)]), t);
}

// Lanes of a partial vector are left alone, or add +0: a lane is never -0, so both keep its bits.
template <class Isa>
void RowSelector<Isa>::row_sum(const Step& step) {
    const std::int32_t value = step.arguments.ids[0];
    const bool in_frame = copy_.accumulators->in_frame(base(step.id));
    if (!in_frame && !copy_.masked) {
        const auto acc = emit_.vec(accumulator(step));
        return emit_.vaddps(acc, acc, source(value));
    }
    const auto v = emit_.vec(registers_.ensure(value));
    const auto t = emit_.vec(registers_.temporary(File::vector));
    const auto acc = in_frame ? t : emit_.vec(accumulator(step));
    const Address lanes = emit_.frame(frame_.accumulators[base(step.id)] + unit_of(step.id) * kBytes);
    if constexpr (kWide) {
        if (in_frame) emit_.vmovaps(t, lanes);
        if (copy_.masked)
            emit_.vaddps(acc | emit_.k1, acc, v);
        else
            emit_.vaddps(acc, acc, v);
    } else {
        if (copy_.masked) emit_.vandps(t, v, emit_.vec(tail_));
        const auto term = copy_.masked ? t : v;
        if (in_frame)
            emit_.vaddps(t, term, lanes);
        else
            emit_.vaddps(acc, acc, term);
    }
    if (in_frame) emit_.vmovaps(lanes, t);
}

// MAXPS(x, best) keeps `best` where x is a NaN; which lanes saw one is collected apart.
template <class Isa>
void RowSelector<Isa>::row_max(const Step& step) {
    auto& e = emit_;
    const auto& accumulators = *copy_.accumulators;
    const bool in_frame = accumulators.in_frame(base(step.id));
    const int at = frame_.accumulators[base(step.id)];
    const int value = registers_.ensure(step.arguments.ids[0]);
    const int acc = in_frame ? registers_.temporary(File::vector) : accumulator(step);
    const int unordered = registers_.temporary(kWide ? File::mask : File::vector);
    if (in_frame) e.vmovaps(e.vec(acc), e.frame(at));
    e.compare(unordered, value, e.vec(value), Compare::unordered);
    if constexpr (kWide) {
        if (copy_.masked) {
            e.kandw(e.mask(unordered), e.mask(unordered), e.k1);
            e.vmaxps(e.vec(acc) | e.k1, e.vec(value), e.vec(acc));
        } else {
            e.vmaxps(e.vec(acc), e.vec(value), e.vec(acc));
        }
        if (in_frame) {
            e.kmovw(e.eax, e.mask(unordered));
            e.or_(e.frame_word(at + kSecondHalf), e.eax);
        } else {
            e.korw(e.mask(accumulators.nan[base(step.id)]), e.mask(accumulators.nan[base(step.id)]),
                   e.mask(unordered));
        }
    } else {
        int candidate = value;
        if (copy_.masked) {
            e.vandps(e.vec(unordered), e.vec(unordered), e.vec(tail_));
            candidate = registers_.temporary(File::vector);
            e.load_constant(candidate, kMinusInfinity);
            e.vblendvps(e.vec(candidate), e.vec(candidate), e.vec(value), e.vec(tail_));
        }
        e.vmaxps(e.vec(acc), e.vec(candidate), e.vec(acc));
        if (in_frame) {
            e.vorps(e.vec(unordered), e.vec(unordered), e.frame(at + kSecondHalf));
            e.vmovaps(e.frame(at + kSecondHalf), e.vec(unordered));
        } else {
            const auto nan = e.vec(accumulators.nan[base(step.id)]);
            e.vorps(nan, nan, e.vec(unordered));
        }
    }
    if (in_frame) e.vmovaps(e.frame(at), e.vec(acc));
}

// Keys order like the reals as signed words, -0 like +0 and NaN above all. A lane's column only grows, so a
// strictly greater key keeps the lowest index of equals.
template <class Isa>
void RowSelector<Isa>::row_argmax(const Step& step) {
    auto& e = emit_;
    const bool in_frame = copy_.accumulators->in_frame(base(step.id));
    const int at = frame_.accumulators[base(step.id)];
    const int value = registers_.ensure(step.arguments.ids[0]);
    const int key = registers_.temporary(File::vector), index = registers_.temporary(File::vector);
    const int t = registers_.temporary(File::vector);
    const int m = kWide ? registers_.temporary(File::mask) : t;
    e.zero(key);
    e.vaddps(e.vec(key), e.vec(key), e.vec(value));  // -0 becomes +0
    e.vpsrad(e.vec(t), e.vec(key), 31);
    e.vpsrld(e.vec(t), e.vec(t), 1);
    e.vxorps(e.vec(key), e.vec(key), e.vec(t));
    e.compare(m, value, e.vec(value), Compare::unordered);
    e.load_constant(index, 0x7fffffffu);
    e.select(key, m, e.vec(index), key);
    column_index(index, unit_of(step.id));

    const int best = in_frame ? registers_.temporary(File::vector) : copy_.accumulators->first[base(step.id)];
    if (in_frame) e.vmovaps(e.vec(best), e.frame(at));
    e.greater_words(m, key, e.vec(best));
    if (copy_.masked) e.mask_and(m, m, kWide ? 1 : tail_);
    e.select(best, m, e.vec(key), best);
    if (in_frame) {
        e.vmovaps(e.frame(at), e.vec(best));
        e.vmovaps(e.vec(best), e.frame(at + kSecondHalf));
        e.select(best, m, e.vec(index), best);
        e.vmovaps(e.frame(at + kSecondHalf), e.vec(best));
    } else {
        e.select(best + 1, m, e.vec(index), best + 1);
    }
}

template void RowSelector<Avx2>::emit_step(const Step&);
template void RowSelector<Avx512>::emit_step(const Step&);

}  // namespace volta::jit
