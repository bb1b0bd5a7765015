// From steps to instructions: one straight-line section at a time, on the vector at [column + unit * lanes].
#pragma once

#include "jitgen/row_assembler.h"
#include "jitgen/row_frame.h"
#include "jitgen/row_registers.h"

namespace volta::jit {

// Where the running results of one loop's reductions and column sums are kept: in registers, or where those
// are short in the frame.
struct Accumulators {
    explicit Accumulators(std::size_t values, std::pmr::memory_resource* heap)
        : first(values, -1, heap), count(values, 0, heap), nan(values, -1, heap) {}
    std::pmr::vector<int>
        first;  // register of unit 0; -1: in the frame. row_argmax: the keys, then the indices
    std::pmr::vector<int> count;  // how many registers the units share in turn
    std::pmr::vector<int> nan;    // row_max: lanes that saw a NaN; a vector of AVX2, a k register of AVX-512
    bool in_frame(std::int32_t id) const { return first[id] < 0; }
    int reg(std::int32_t id, int unit) const { return first[id] + unit % count[id]; }
};

// A value in a register.
struct Pin {
    std::int32_t value;
    int reg;
};

// One copy of a section's code.
struct Copy {
    const Steps* steps;
    const Accumulators* accumulators;  // NULL outside of loops
    int stage;
    int unit;  // which vector, from the column at hand; of interleaved copies the first
    bool is_loop;
    bool masked;  // the vector is partial
};

// The vector registers of a copy: [0, vectors) are its own, what is pinned lies beyond and stays.
struct CopyRegisters {
    explicit CopyRegisters(std::pmr::memory_resource* heap) : pinned(heap), adopted(heap), delivered(heap) {}
    int vectors = 0;
    int first_mask = 2;  // of k registers
    std::pmr::vector<Pin> pinned;
    std::pmr::vector<Pin> adopted;    // values in own registers at the beginning
    std::pmr::vector<Pin> delivered;  // what the copy defines is also put here, beyond its own
};

template <class Isa>
class RowSelector final : private RegisterMoves {
  public:
    static constexpr int kBytes = Isa::kBytes, kLanes = Isa::kLanes;
    static constexpr bool kWide = Isa::kWide;
    using Address = Xbyak::Address;

    RowSelector(const RowPlan& plan, const Frame& frame, RowAssembler<Isa>& assembler,
                std::pmr::memory_resource* heap)
        : plan_(plan), frame_(frame), emit_(assembler), registers_(plan, kWide, *this, heap) {}

    // The mask of a masked copy is k1, or with AVX2 in register `vectors`.
    void emit_copy(const Copy& copy, const CopyRegisters& registers);

    // May put the pointer into rax.
    Address stream_address(int stream, int displacement);
    Address operand_address(int operand, int unit) {
        return stream_address(frame_.stream_of_operand[operand], unit * kBytes);
    }
    void fill(std::int32_t value, int reg, int slot) override;  // public for pins: slot -1
    void column_index(int to, int unit);
    int spill_slots() const { return registers_.spill_slots(); }

    static constexpr std::uint32_t kMinusInfinity = 0xff800000u, kLowestKey = 0x80000000u, kNan = 0x7fc00000u;
    static constexpr int kSecondHalf = 128;  // of the frame's 256 bytes of a reduction: NaN lanes, indices

  private:
    // The last source of an instruction: a register or memory.
    struct Source {
        bool in_memory;
        typename Isa::Vector reg;
        Address address;
        operator const Xbyak::Operand&() const {
            return in_memory ? static_cast<const Xbyak::Operand&>(address) : reg;
        }
    };

    bool has_home(std::int32_t value) const override;
    void spill(std::int32_t value, int reg, int slot) override;
    Address spill_address(int slot) { return emit_.frame(frame_.spills + slot * kBytes); }

    // Of a value or step of interleaved copies: the instruction, and the vector it belongs to.
    std::int32_t base(std::int32_t value) const {
        return value % static_cast<std::int32_t>(plan_.code.size());
    }
    const Instruction& code_of(std::int32_t value) const { return plan_.code[base(value)]; }
    int unit_of(std::int32_t value) const {
        return copy_.unit + value / static_cast<std::int32_t>(plan_.code.size());
    }

    bool is_mask(std::int32_t value) const { return registers_.file_of(value) == File::mask; }
    bool is_uniform(std::int32_t value) const { return plan_.rates[base(value)] != Rate::column; }
    bool is_constant(std::int32_t value) const { return code_of(value).code == Code::constant; }
    bool is_zero(std::int32_t value) const { return is_constant(value) && code_of(value).immediate == 0; }
    Address kept_address(std::int32_t value) {
        return stream_address(frame_.stream_of_kept_row[plan_.kept_row[base(value)]],
                              unit_of(value) * kBytes);
    }
    int accumulator(const Step& step) const {
        return copy_.accumulators->reg(base(step.id), unit_of(step.id));
    }
    bool in_register(std::int32_t value) const { return registers_.find(value) >= 0; }
    Source source(std::int32_t value);
    Source source_of(int reg) { return Source{false, emit_.vec(reg), emit_.frame(0)}; }
    Source source_at(const Address& address) { return Source{true, emit_.vec(0), address}; }

    void emit_step(const Step& step);
    void keep(std::int32_t value);
    void real_step(const Step& step);
    void mask_step(const Step& step);
    void integer_step(const Step& step);
    void other_step(const Step& step);

    enum class Order { fixed, commutes, result_apart };  // result_apart: not in the register of a
    template <class Emit>                                // Emit(to, a, b): b may be memory
    void binary(const Step& step, Order order, Emit emit);
    template <class Emit>  // Emit(to, a, b): all in registers
    void masks(const Step& step, Emit emit);
    template <class Emit>  // Emit(to, a): a may be memory
    void unary(const Step& step, Emit emit);
    template <class Emit>  // Emit(to, a): a in a register
    void unary_register(const Step& step, Emit emit);
    void fma(const Step& step);
    void fma_over_addend(const Step& step, std::int32_t a, std::int32_t b, std::int32_t c);
    void fma_over_factor(const Step& step, std::int32_t a, std::int32_t b, std::int32_t c);
    void fma_fresh(const Step& step, std::int32_t a, std::int32_t b, std::int32_t c);
    void select(const Step& step);
    void multiply_high(const Step& step);
    void load_uniform(const Step& step);
    void row_length(const Step& step);
    void store(const Step& step);
    void row_sum(const Step& step);
    void row_max(const Step& step);
    void row_argmax(const Step& step);
    void column_sum(const Step& step);

    const RowPlan& plan_;
    const Frame& frame_;
    RowAssembler<Isa>& emit_;
    Registers registers_;
    Copy copy_{};
    const CopyRegisters* own_ = nullptr;
    int tail_ = 0;  // AVX2: the register of the mask in a masked copy
};

}  // namespace volta::jit
