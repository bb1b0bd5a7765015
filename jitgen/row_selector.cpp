// Values, registers and memory; which instruction computes what is row_selector_steps.cpp.
#include "jitgen/row_selector.h"

#include "jitgen/row_kernel.h"

namespace volta::jit {

template <class Isa>
void RowSelector<Isa>::emit_copy(const Copy& copy, const CopyRegisters& registers) {
    copy_ = copy;
    own_ = &registers;
    tail_ = registers.vectors;
    registers_.begin(*copy.steps, registers.vectors, registers.first_mask);
    for (const Pin& pin : registers.pinned) registers_.pin(pin.value, pin.reg);
    for (const Pin& pin : registers.adopted) registers_.adopt(pin.value, pin.reg);
    for (const Step& step : copy.steps->list()) {
        emit_step(step);
        registers_.advance();
    }
}

template <class Isa>
Xbyak::Address RowSelector<Isa>::stream_address(int number, int displacement) {
    const Stream& stream = frame_.streams[number];
    const bool walks_columns =
        stream.kept_row >= 0 || plan_.operands[stream.operand].access != Access::per_row;
    if (stream.reg < 0) emit_.mov(emit_.rax, emit_.frame_quad(stream.pointer_at));
    const Xbyak::Reg64 pointer = stream.reg < 0 ? emit_.rax : Xbyak::Reg64(stream.reg);
    return walks_columns ? emit_.ptr[pointer + emit_.rcx + displacement] : emit_.ptr[pointer + displacement];
}

template <class Isa>
bool RowSelector<Isa>::has_home(std::int32_t value) const {
    if (is_constant(value) || frame_.slots[base(value)] >= 0) return true;
    if (!copy_.is_loop) return false;
    if (plan_.kept_row[base(value)] >= 0) return true;
    // A load may be repeated as long as no store can have changed its memory.
    return code_of(value).code == Code::load && copy_.steps->last_use(value) <= copy_.steps->first_store();
}

template <class Isa>
void RowSelector<Isa>::spill(std::int32_t value, int reg, int slot) {
    if (is_mask(value))
        emit_.store_mask(spill_address(slot), reg);
    else
        emit_.vmovaps(spill_address(slot), emit_.vec(reg));
}

template <class Isa>
void RowSelector<Isa>::fill(std::int32_t value, int reg, int slot) {
    const int home = frame_.slots[base(value)];
    if (slot < 0 && is_constant(value)) return emit_.load_constant(reg, code_of(value).immediate);
    if (slot >= 0 || home >= 0) {
        const Address from = slot >= 0 ? spill_address(slot) : emit_.frame(home);
        if (is_mask(value)) return emit_.load_mask(reg, from);
        return emit_.vmovaps(emit_.vec(reg), from);
    }
    if (plan_.kept_row[base(value)] >= 0) return emit_.vmovups(emit_.vec(reg), kept_address(value));
    emit_.load(reg, operand_address(code_of(value).a, unit_of(value)), copy_.masked, tail_);
}

template <class Isa>
typename RowSelector<Isa>::Source RowSelector<Isa>::source(std::int32_t value) {
    if (in_register(value)) {
        registers_.lock(value);
        return source_of(registers_.find(value));
    }
    const int slot = registers_.slot_of(value), home = frame_.slots[base(value)];
    if (is_constant(value)) return source_at(emit_.constant(code_of(value).immediate));
    if (slot < 0 && home >= 0) return source_at(emit_.frame(home));
    if (!registers_.dies(value)) return source_of(registers_.ensure(value));
    if (slot >= 0) return source_at(spill_address(slot));
    if (plan_.kept_row[base(value)] >= 0) return source_at(kept_address(value));
    if (copy_.masked) return source_of(registers_.ensure(value));  // a whole vector could end behind the row
    return source_at(operand_address(code_of(value).a, unit_of(value)));
}

// What a later stage or section reads is written at once; from then on the register may be given away for
// nothing.
template <class Isa>
void RowSelector<Isa>::keep(std::int32_t value) {
    const int reg = registers_.find(value), home = frame_.slots[base(value)];
    if (!copy_.is_loop && home >= 0) {
        if (is_mask(value))
            emit_.store_mask(emit_.frame(home), reg);
        else
            emit_.vmovaps(emit_.frame(home), emit_.vec(reg));
    }
    for (const Pin& pin : own_->delivered)
        if (pin.value == value) emit_.vmovaps(emit_.vec(pin.reg), emit_.vec(reg));
    if (!copy_.is_loop || plan_.kept_row[base(value)] < 0 || plan_.is_reloaded(base(value), copy_.stage))
        return;
    emit_.vmovups(kept_address(value), emit_.vec(reg));
}

template <class Isa>
void RowSelector<Isa>::column_index(int to, int unit) {
    emit_.mov(emit_.rax, emit_.rcx);
    emit_.shr(emit_.rax, 2);
    if (unit > 0) emit_.add(emit_.eax, unit * kLanes);
    emit_.broadcast_word(to, emit_.eax);
    emit_.vpaddd(emit_.vec(to), emit_.vec(to), emit_.frame(frame_.iota));
}

template class RowSelector<Avx2>;
template class RowSelector<Avx512>;

}  // namespace volta::jit
