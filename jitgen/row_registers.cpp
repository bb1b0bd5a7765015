#include "jitgen/row_registers.h"

#include <algorithm>

#include "engine/base/error.h"

namespace volta::jit {

Registers::Registers(const RowPlan& plan, bool has_mask_file, RegisterMoves& moves,
                     std::pmr::memory_resource* heap)
    : plan_(plan),
      moves_(moves),
      has_mask_file_(has_mask_file),
      vectors_(heap),
      masks_(8, Register{kFree, false}, heap),
      where_(plan.code.size() * Steps::kMostCopies, -1, heap),
      slot_(plan.code.size() * Steps::kMostCopies, -1, heap),
      free_slots_(heap),
      dead_slots_(heap) {}

void Registers::begin(const Steps& steps, int vectors, int first_mask) {
    steps_ = &steps;
    vectors_.assign(static_cast<std::size_t>(vectors), Register{kFree, false});
    masks_.assign(8, Register{kFree, false});
    std::fill(where_.begin(), where_.end(), -1);
    std::fill(slot_.begin(), slot_.end(), -1);
    free_slots_.clear();
    dead_slots_.clear();
    slots_in_use_ = 0;
    first_mask_ = first_mask;
    position_ = 0;
}

File Registers::file_of(std::int32_t value) const {
    const Instruction& x = plan_.code[static_cast<std::size_t>(value) % plan_.code.size()];
    return has_mask_file_ && x.type == Type::mask ? File::mask : File::vector;
}

int Registers::acquire(File file) {
    auto& registers = file == File::vector ? vectors_ : masks_;
    const int first = file == File::vector ? 0 : first_mask_, count = static_cast<int>(registers.size());
    int victim = -1;
    std::int64_t farthest = -1;
    for (int reg = first; reg < count; ++reg) {
        const Register& r = registers[reg];
        if (r.value == kFree && !r.locked) return reg;
        if (r.locked || r.value < 0) continue;
        // Reading back costs the same from anywhere; what has a home saves the store.
        const int distance = steps_->next_use(r.value, position_) - position_;
        const std::int64_t weight =
            std::int64_t{distance} * (moves_.has_home(r.value) || slot_[r.value] >= 0 ? 2 : 1);
        if (weight > farthest) farthest = weight, victim = reg;
    }
    if (victim < 0) fail(VOLTA_INTERNAL, "row emitter: one step needs more registers than there are");
    const std::int32_t value = registers[victim].value;
    if (slot_[value] < 0 && !moves_.has_home(value)) {
        if (free_slots_.empty()) {
            slot_[value] = slots_in_use_++;
        } else {
            slot_[value] = free_slots_.back();
            free_slots_.pop_back();
        }
        spill_slots_ = std::max(spill_slots_, slots_in_use_);
        moves_.spill(value, victim, slot_[value]);
    }
    where_[value] = -1;
    registers[victim].value = kFree;
    return victim;
}

int Registers::ensure(std::int32_t value) {
    if (where_[value] < 0) {
        const int reg = acquire(file_of(value));
        at(file_of(value), reg).value = value;
        where_[value] = reg;
        moves_.fill(value, reg, slot_[value]);
    }
    lock(value);
    return where_[value];
}

void Registers::lock(std::int32_t value) {
    if (where_[value] >= 0 && !is_pinned(value)) at(file_of(value), where_[value]).locked = true;
}

int Registers::define(std::int32_t value) {
    const int reg = acquire(file_of(value));
    at(file_of(value), reg) = Register{value, true};
    where_[value] = reg;
    return reg;
}

int Registers::temporary(File file) {
    const int reg = acquire(file);
    at(file, reg) = Register{kTemporary, true};
    return reg;
}

void Registers::move(std::int32_t from, std::int32_t to) {
    const int reg = where_[from];
    where_[from] = -1;
    at(file_of(to), reg) = Register{to, true};
    where_[to] = reg;
}

void Registers::release(std::int32_t value) {
    if (where_[value] >= 0 && !is_pinned(value)) {
        at(file_of(value), where_[value]) = Register{kFree, false};
        where_[value] = -1;
    }
    if (slot_[value] >= 0) dead_slots_.push_back(slot_[value]);
    slot_[value] = -1;
}

void Registers::retire() {
    for (const std::int32_t value : steps_->list()[position_].arguments)
        if (dies(value)) release(value);
}

void Registers::advance() {
    retire();
    const std::int32_t own = steps_->list()[position_].id;
    if (where_[own] >= 0 && dies(own)) release(own);  // only stored to its home
    for (auto* registers : {&vectors_, &masks_})
        for (Register& r : *registers) {
            if (r.value == kTemporary) r.value = kFree;
            r.locked = false;
        }
    free_slots_.insert(free_slots_.end(), dead_slots_.begin(), dead_slots_.end());
    dead_slots_.clear();
    ++position_;
}

}  // namespace volta::jit
