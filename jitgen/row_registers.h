// Which value of a straight-line section is in which register. Values are never changed, so a register may be
// taken from the value whose next use is farthest (Belady) and the value read back from its home or its spill
// slot.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "jitgen/row_steps.h"

namespace volta::jit {

enum class File : std::uint8_t { vector, mask };  // mask: k registers, AVX-512 only

// What the registers ask of whoever emits code.
class RegisterMoves {
  public:
    virtual bool has_home(std::int32_t value) const = 0;  // it can be read again without having been spilled
    virtual void spill(std::int32_t value, int reg, int slot) = 0;
    virtual void fill(std::int32_t value, int reg, int slot) = 0;  // slot -1: from its home

  protected:
    ~RegisterMoves() = default;
};

class Registers {
  public:
    Registers(const RowPlan& plan, bool has_mask_file, RegisterMoves& moves, std::pmr::memory_resource* heap);

    // Starts a section whose values may use vectors [0, vectors) and masks [first_mask, 8).
    void begin(const Steps& steps, int vectors, int first_mask);
    // Keeps a value in a register outside of that range until the next begin().
    void pin(std::int32_t value, int reg) { where_[value] = reg; }
    // `value`, which has a home, is in this register of the range when the section begins.
    void adopt(std::int32_t value, int reg) {
        vectors_[reg].value = value;
        where_[value] = reg;
    }

    File file_of(std::int32_t value) const;
    int find(std::int32_t value) const { return where_[value]; }    // -1: in no register
    int slot_of(std::int32_t value) const { return slot_[value]; }  // -1: not spilled

    // For the step at hand; registers handed out stay until advance().
    int ensure(std::int32_t value);  // reads it from its home or slot if need be
    int define(std::int32_t value);
    int temporary(File file);
    void move(std::int32_t from, std::int32_t to);  // `to` is defined in the register of `from`, which dies
    void lock(std::int32_t value);
    bool dies(std::int32_t value) const { return steps_->last_use(value) <= position_; }
    bool can_move(std::int32_t value) const { return where_[value] >= 0 && dies(value) && !is_pinned(value); }
    void retire();   // the arguments of the step are read: registers of those that die are free
    void advance();  // to the next step

    int position() const { return position_; }
    int spill_slots() const { return spill_slots_; }  // the most used so far

  private:
    struct Register {
        std::int32_t value;  // kFree, kTemporary or a value
        bool locked;
    };
    static constexpr std::int32_t kFree = -1, kTemporary = -2;

    Register& at(File file, int reg) { return file == File::vector ? vectors_[reg] : masks_[reg]; }
    int acquire(File file);
    void release(std::int32_t value);
    bool is_pinned(std::int32_t value) const {
        return file_of(value) == File::vector && where_[value] >= static_cast<int>(vectors_.size());
    }

    const RowPlan& plan_;
    const Steps* steps_ = nullptr;
    RegisterMoves& moves_;
    bool has_mask_file_;
    std::pmr::vector<Register> vectors_, masks_;
    std::pmr::vector<int> where_, slot_;  // per value
    std::pmr::vector<int> free_slots_;
    std::pmr::vector<int> dead_slots_;  // the step at hand may still read them
    int first_mask_ = 0, position_ = 0, spill_slots_ = 0, slots_in_use_ = 0;
};

}  // namespace volta::jit
