// Recording a Program: value numbering, appending one program to another, removal of what no store needs.
#include <cstring>

#include "engine/base/error.h"
#include "jitgen/program.h"
#include "jitgen/row_kernel.h"

namespace volta::jit {
namespace {

bool has_effect(Code code) { return code == Code::store || code == Code::column_sum; }

// Only places instructions in the table; which one is found never depends on it.
std::uint32_t hash_of(const Instruction& x) {
    std::uint32_t hash = static_cast<std::uint32_t>(x.code) * 8 + static_cast<std::uint32_t>(x.type);
    for (const std::int32_t part : {x.a, x.b, x.c, static_cast<std::int32_t>(x.immediate)})
        hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9e3779b1u + (hash >> 15);
    return hash ^ (hash >> 16);
}

std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

}  // namespace

Builder::Builder(std::pmr::memory_resource* heap) : program_(heap), table_(64, -1, heap) {}

int Builder::input(Access access, Type type) {
    program_.operands.push_back({access, type, false});
    return static_cast<int>(program_.operands.size()) - 1;
}

int Builder::output(Access access, Type type) {
    program_.operands.push_back({access, type, true});
    return static_cast<int>(program_.operands.size()) - 1;
}

std::int32_t Builder::find_or_insert(const Instruction& instruction) {
    const std::size_t mask = table_.size() - 1;
    std::size_t place = hash_of(instruction) & mask;
    while (table_[place] >= 0) {
        if (program_.code[table_[place]] == instruction) return table_[place];
        place = (place + 1) & mask;
    }
    const auto id = static_cast<std::int32_t>(program_.code.size());
    program_.code.push_back(instruction);
    table_[place] = id;
    ++table_used_;
    return id;
}

void Builder::grow_table() {
    std::pmr::vector<std::int32_t> larger(table_.size() * 2, -1, table_.get_allocator());
    for (const std::int32_t id : table_) {
        if (id < 0) continue;
        std::size_t place = hash_of(program_.code[id]) & (larger.size() - 1);
        while (larger[place] >= 0) place = (place + 1) & (larger.size() - 1);
        larger[place] = id;
    }
    table_.swap(larger);
}

std::int32_t Builder::record(const Instruction& instruction) {
    if (has_effect(instruction.code)) {
        program_.code.push_back(instruction);
        return static_cast<std::int32_t>(program_.code.size()) - 1;
    }
    if (table_used_ * 2 >= table_.size()) grow_table();
    return find_or_insert(instruction);
}

std::int32_t Builder::record(Code code, Type type, std::int32_t a, std::int32_t b, std::int32_t c,
                             std::uint32_t immediate) {
    return record(Instruction{code, type, a, b, c, immediate});
}

Real Builder::load(int operand, std::uint32_t index) {
    return {this, record(Code::load, Type::real, operand, -1, -1, index)};
}
Int Builder::load_int(int operand, std::uint32_t index) {
    return {record(Code::load, Type::integer, operand, -1, -1, index)};
}
void Builder::store(int operand, Real value) { record(Code::store, Type::real, operand, value.id); }
void Builder::store(int operand, Int value) { record(Code::store, Type::integer, operand, value.id); }

Int Builder::row_index() { return {record(Code::row_index, Type::integer)}; }
Int Builder::column_index() { return {record(Code::column_index, Type::integer)}; }
Real Builder::row_length() { return {this, record(Code::row_length, Type::real)}; }

Real Builder::row_sum(Real value) { return {this, record(Code::row_sum, Type::real, value.id)}; }
Real Builder::row_max(Real value) { return {this, record(Code::row_max, Type::real, value.id)}; }
Int Builder::row_argmax(Real value) { return {record(Code::row_argmax, Type::integer, value.id)}; }
void Builder::column_sum(int operand, Real value) { record(Code::column_sum, Type::real, operand, value.id); }

Real Builder::real(double constant) {
    return {this, record(Code::constant, Type::real, -1, -1, -1, bits_of(static_cast<float>(constant)))};
}
Int Builder::integer(std::uint32_t value) {
    return {record(Code::constant, Type::integer, -1, -1, -1, value)};
}

Real Builder::add(Real a, Real b) { return {this, record(Code::add, Type::real, a.id, b.id)}; }
Real Builder::sub(Real a, Real b) { return {this, record(Code::sub, Type::real, a.id, b.id)}; }
Real Builder::mul(Real a, Real b) { return {this, record(Code::mul, Type::real, a.id, b.id)}; }
Real Builder::div(Real a, Real b) { return {this, record(Code::div, Type::real, a.id, b.id)}; }
Real Builder::fma(Real a, Real b, Real c) { return {this, record(Code::fma, Type::real, a.id, b.id, c.id)}; }
Real Builder::sqrt(Real a) { return {this, record(Code::sqrt, Type::real, a.id)}; }
Real Builder::neg(Real a) { return {this, record(Code::neg, Type::real, a.id)}; }
Real Builder::abs(Real a) { return {this, record(Code::abs, Type::real, a.id)}; }

Mask Builder::less(Real a, Real b) { return {record(Code::less, Type::mask, a.id, b.id)}; }
Mask Builder::less_equal(Real a, Real b) { return {record(Code::less_equal, Type::mask, a.id, b.id)}; }
Mask Builder::equal(Real a, Real b) { return {record(Code::equal, Type::mask, a.id, b.id)}; }
Mask Builder::is_nan(Real a) { return {record(Code::is_nan, Type::mask, a.id)}; }
Mask Builder::both(Mask p, Mask q) { return {record(Code::both, Type::mask, p.id, q.id)}; }
Mask Builder::either(Mask p, Mask q) { return {record(Code::either, Type::mask, p.id, q.id)}; }
Mask Builder::invert(Mask p) { return {record(Code::invert, Type::mask, p.id)}; }
Real Builder::select(Mask p, Real yes, Real no) {
    return {this, record(Code::select, Type::real, p.id, yes.id, no.id)};
}
Int Builder::select(Mask p, Int yes, Int no) {
    return {record(Code::select, Type::integer, p.id, yes.id, no.id)};
}

Int Builder::bits(Real a) { return {record(Code::bits, Type::integer, a.id)}; }
Real Builder::from_bits(Int a) { return {this, record(Code::from_bits, Type::real, a.id)}; }
Int Builder::iadd(Int a, Int b) { return {record(Code::iadd, Type::integer, a.id, b.id)}; }
Int Builder::isub(Int a, Int b) { return {record(Code::isub, Type::integer, a.id, b.id)}; }
Int Builder::iand(Int a, Int b) { return {record(Code::iand, Type::integer, a.id, b.id)}; }
Int Builder::ior(Int a, Int b) { return {record(Code::ior, Type::integer, a.id, b.id)}; }
Int Builder::ixor(Int a, Int b) { return {record(Code::ixor, Type::integer, a.id, b.id)}; }
Int Builder::shl(Int a, int n) {
    return {record(Code::shl, Type::integer, a.id, -1, -1, static_cast<std::uint32_t>(n))};
}
Int Builder::shr(Int a, int n) {
    return {record(Code::shr, Type::integer, a.id, -1, -1, static_cast<std::uint32_t>(n))};
}
Int Builder::sar(Int a, int n) {
    return {record(Code::sar, Type::integer, a.id, -1, -1, static_cast<std::uint32_t>(n))};
}
Int Builder::umul_low(Int a, Int b) { return {record(Code::umul_low, Type::integer, a.id, b.id)}; }
Int Builder::umul_high(Int a, Int b) { return {record(Code::umul_high, Type::integer, a.id, b.id)}; }
Mask Builder::iequal(Int a, Int b) { return {record(Code::iequal, Type::mask, a.id, b.id)}; }
Mask Builder::uless(Int a, Int b) { return {record(Code::uless, Type::mask, a.id, b.id)}; }
Int Builder::truncate(Real a) { return {record(Code::truncate, Type::integer, a.id)}; }
jit::Real Builder::to_real(Int a) { return {this, record(Code::to_real, Type::real, a.id)}; }

void Builder::append(const Program& program, const std::pmr::vector<std::int32_t>& operands,
                     const std::pmr::vector<Real>& values, std::pmr::vector<Real>* stored) {
    const auto operand_of = [&](std::int32_t k) {
        return k < static_cast<std::int32_t>(operands.size()) ? operands[k] : -1;
    };
    const auto value_of = [&](std::int32_t k) {
        return k < static_cast<std::int32_t>(values.size()) ? values[k].id : -1;
    };
    if (stored) stored->assign(program.operands.size(), Real{this, -1});

    std::pmr::vector<std::int32_t> id_of(program.code.size(), -1, table_.get_allocator());
    for (std::size_t i = 0; i < program.code.size(); ++i) {
        Instruction x = program.code[i];
        const CodeInfo& row = info(x.code);
        std::int32_t* const arguments[3] = {&x.a, &x.b, &x.c};
        for (int k = 0; k < 3; ++k)
            if (row.arguments[k] != '-' && row.arguments[k] != 'o') *arguments[k] = id_of[*arguments[k]];
        if (row.arguments[0] == 'o') {
            const std::int32_t operand = x.a;
            if (x.code == Code::load && value_of(operand) >= 0) {
                if (program_.code[value_of(operand)].type != x.type)
                    fail(VOLTA_INTERNAL, "append: operand %d is replaced by a value of another type",
                         operand);
                id_of[i] = value_of(operand);
                continue;
            }
            x.a = operand_of(operand);
            if (x.code == Code::store && x.a < 0) {
                if (stored) (*stored)[operand].id = x.b;
                continue;
            }
            if (x.a < 0)
                fail(VOLTA_INTERNAL, "append: operand %d has neither an operand nor a value", operand);
        }
        id_of[i] = record(x);
    }
}

Program Builder::finish() {
    auto* const heap = table_.get_allocator().resource();
    std::pmr::vector<bool> live(program_.code.size(), false, heap);
    for (std::size_t i = program_.code.size(); i-- > 0;) {
        const Instruction& x = program_.code[i];
        live[i] = live[i] || has_effect(x.code);
        if (!live[i]) continue;
        const char* kinds = info(x.code).arguments;
        const std::int32_t arguments[3] = {x.a, x.b, x.c};
        for (int k = 0; k < 3; ++k)
            if (kinds[k] != '-' && kinds[k] != 'o') live[arguments[k]] = true;
    }

    Program result(heap);
    result.operands = program_.operands;
    std::pmr::vector<std::int32_t> id_of(program_.code.size(), -1, heap);
    for (std::size_t i = 0; i < program_.code.size(); ++i) {
        if (!live[i]) continue;
        Instruction x = program_.code[i];
        const char* kinds = info(x.code).arguments;
        std::int32_t* const arguments[3] = {&x.a, &x.b, &x.c};
        for (int k = 0; k < 3; ++k)
            if (kinds[k] != '-' && kinds[k] != 'o') *arguments[k] = id_of[*arguments[k]];
        id_of[i] = static_cast<std::int32_t>(result.code.size());
        result.code.push_back(x);
    }
    return result;
}

}  // namespace volta::jit
