// The kernel language. A Program is a small typed SSA program over rows x columns: operands are broadcast as
// full, per row, per column or single values, and row reductions cut it into stages. One Program has three
// lowerings with the same bits: the interpreter (interpreter.cpp), x86-64 machine code for AVX2 and AVX-512
// (row_emitter.cpp), and CUDA C (cuda/row_source.cpp). What is computed is exactly the instructions, in the
// order of their operands; nothing is contracted, reassociated or approximated.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

namespace volta::jit {

enum class Type : std::uint8_t { real, integer, mask };  // f32 | 32 bits | one truth value

// Where element (row i, column j) of an operand lies, in elements of 4 bytes from its base:
enum class Access : std::uint8_t {
    full,        // i * row_stride + j
    per_row,     // i * row_stride            (row_stride is 1 when dense)
    per_column,  // j
    single       // a constant index, given by the load
};

struct Operand {
    Access access;
    Type type;    // real or integer
    bool output;  // written by the program; an output may share memory exactly with a full input (in place)
};

enum class Code : std::uint8_t {
    // sources
    constant,      // immediate: bits; type real or integer
    load,          // operand a; `immediate` is the element index for Access::single
    row_index,     // first_row + i, as integer
    column_index,  // first_column + j, as integer
    row_length,    // columns, as real: (float)n
    // real x real
    add,
    sub,
    mul,
    div,
    fma,
    sqrt,
    neg,
    abs,
    less,
    less_equal,
    equal,
    is_nan,
    // masks
    both,
    either,
    invert,
    select,  // a ? b : c, of reals or of integers
    // integers
    iadd,
    isub,
    iand,
    ior,
    ixor,
    shl,
    shr,
    sar,
    umul_low,
    umul_high,
    iequal,
    uless,
    // between types
    bits,
    from_bits,
    truncate,
    to_real,
    // row reductions over all columns of the row; the result is one value per row
    row_sum,     // the canonical 32-lane sum (docs/numerics.md, 3); of no column: +0
    row_max,     // NaN if any element is NaN; a zero result is +0; of no column: -Inf
    row_argmax,  // first_column + j as integer; NaN counts as the largest; ties take the lowest; of no
                 // column: j = 0
    // column reduction; the program may have no row reduction then
    column_sum,  // operand a (per_column output) receives the segmented sum over rows of value b
    // result
    store  // operand a receives value b
};
inline constexpr int kCodeCount = static_cast<int>(Code::store) + 1;

// How a code is written and checked: one character per result and argument.
//   r real | i integer | m mask | t the instruction's own type | o an operand | - none
struct CodeInfo {
    const char* name;
    char result;            // store and column_sum have none; their `type` is that of the value
    const char* arguments;  // three characters: a, b, c
    char immediate;         // b bits | n shift count | x element index of a single operand | - none
};
const CodeInfo& info(Code code);

struct Instruction {
    Code code;
    Type type;             // of the result
    std::int32_t a, b, c;  // earlier instructions (or an operand for load, store, column_sum); -1: unused
    std::uint32_t immediate;
};
bool operator==(const Instruction& x, const Instruction& y);

struct Program {
    explicit Program(std::pmr::memory_resource* heap) : operands(heap), code(heap) {}
    // Copies stay on the heap of their source (a plain pmr copy would fall back to the global one).
    Program(const Program& other) : Program(other, other.code.get_allocator().resource()) {}
    Program(const Program& other, std::pmr::memory_resource* heap)
        : operands(other.operands, heap), code(other.code, heap), streams(other.streams) {}
    Program(Program&&) = default;
    Program& operator=(const Program&) = default;
    Program& operator=(Program&&) = default;

    std::pmr::vector<Operand> operands;
    std::pmr::vector<Instruction> code;
    // Bit k: operand k, a full output, is written by non-temporal stores; its rows begin at multiples of 64
    // bytes. For tensors that no cache holds, or that other threads have read. It is about speed only.
    std::uint32_t streams = 0;

    bool has_column_sum() const;
    bool has_row_reduction() const;
    // A row reduction or row_length: the program means something else on a part of the columns.
    bool needs_whole_rows() const;
};
bool operator==(const Program& x, const Program& y);

// Throws Error{INTERNAL} naming the first instruction that is malformed: an argument or operand out of range,
// a type that does not fit, a shift of 32, a store of a varying value per row, a load after the store of the
// same operand, a column sum beside a row reduction, ... Every compile() runs it.
void verify(const Program& program);

// One line per instruction; stable: used by plan printing, hashing and golden tests.
std::pmr::string print(const Program& program, std::pmr::memory_resource* heap);

class Builder;

// Typed handles of a Builder, so that definitions read like formulas.
struct Real {
    Builder* builder;
    std::int32_t id;
};
struct Int {
    std::int32_t id;
};
struct Mask {
    std::int32_t id;
};

// Records a Program: the machine of engine/numerics/machine.h, plus operands, reductions and stores.
// Equal pure instructions are recorded once (same code, same operands), which changes no bit.
class Builder final {
  public:
    using Real = jit::Real;
    using Int = jit::Int;
    using Mask = jit::Mask;

    explicit Builder(std::pmr::memory_resource* heap);

    int input(Access access, Type type = Type::real);  // returns the operand number
    int output(Access access, Type type = Type::real);
    Real load(int operand, std::uint32_t index = 0);  // index: Access::single only
    Int load_int(int operand, std::uint32_t index = 0);
    void store(int operand, Real value);
    void store(int operand, Int value);

    Int row_index();
    Int column_index();
    Real row_length();  // (float)columns

    Real row_sum(Real value);
    Real row_max(Real value);
    Int row_argmax(Real value);
    void column_sum(int operand, Real value);

    // The machine, see engine/numerics/machine.h.
    Real real(double constant);
    Int integer(std::uint32_t value);
    Real add(Real a, Real b);
    Real sub(Real a, Real b);
    Real mul(Real a, Real b);
    Real div(Real a, Real b);
    Real fma(Real a, Real b, Real c);
    Real sqrt(Real a);
    Real neg(Real a);
    Real abs(Real a);
    Mask less(Real a, Real b);
    Mask less_equal(Real a, Real b);
    Mask equal(Real a, Real b);
    Mask is_nan(Real a);
    Mask both(Mask p, Mask q);
    Mask either(Mask p, Mask q);
    Mask invert(Mask p);
    Real select(Mask p, Real yes, Real no);
    Int select(Mask p, Int yes, Int no);
    Int bits(Real a);
    Real from_bits(Int a);
    Int iadd(Int a, Int b);
    Int isub(Int a, Int b);
    Int iand(Int a, Int b);
    Int ior(Int a, Int b);
    Int ixor(Int a, Int b);
    Int shl(Int a, int n);
    Int shr(Int a, int n);
    Int sar(Int a, int n);
    Int umul_low(Int a, Int b);
    Int umul_high(Int a, Int b);
    Mask iequal(Int a, Int b);
    Mask uless(Int a, Int b);
    Int truncate(Real a);
    jit::Real to_real(Int a);

    // Appends `program`; operand k of it is replaced by `operands[k]` of this builder, or, where values[k].id
    // >= 0, its loads are replaced by that value (fusion). Stores to an operand whose operands[k] < 0 are not
    // recorded but their value is returned in stored[k] (id -1: not stored).
    void append(const Program& program, const std::pmr::vector<std::int32_t>& operands,
                const std::pmr::vector<Real>& values, std::pmr::vector<Real>* stored);

    // The finished program: dead instructions removed, operands kept.
    Program finish();

  private:
    std::int32_t record(const Instruction& instruction);
    std::int32_t record(Code code, Type type, std::int32_t a = -1, std::int32_t b = -1, std::int32_t c = -1,
                        std::uint32_t immediate = 0);
    std::int32_t find_or_insert(const Instruction& instruction);
    void grow_table();

    Program program_;
    std::pmr::vector<std::int32_t> table_;  // open addressing over pure instructions; -1: free
    std::size_t table_used_ = 0;
};

inline Real operator+(Real a, Real b) { return a.builder->add(a, b); }
inline Real operator-(Real a, Real b) { return a.builder->sub(a, b); }
inline Real operator*(Real a, Real b) { return a.builder->mul(a, b); }
inline Real operator/(Real a, Real b) { return a.builder->div(a, b); }

}  // namespace volta::jit
