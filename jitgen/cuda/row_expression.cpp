#include "jitgen/cuda/row_expression.h"

#include "engine/base/error.h"

namespace volta::jit {
namespace {

// Exact, and written without printf's %a, whose point is the locale's. Bits where there is no literal.
SourceTerm real_literal(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> 23 & 0xff);
    if (exponent == 0xff) return term("__uint_as_float(0x%08xu)", bits);
    const char* sign = bits >> 31 != 0 ? "-" : "";
    std::uint32_t digits = (bits & 0x7fffff) << 1;  // six hexadecimal ones behind the point
    if (exponent == 0 && digits == 0) return term("%s0.0f", sign);
    int count = 6;
    for (; count > 0 && digits % 16 == 0; --count) digits /= 16;
    const int power = exponent == 0 ? -126 : exponent - 127;
    if (count == 0) return term("%s0x1p%+df", sign, power);
    return term("%s0x%d.%0*xp%+df", sign, exponent != 0, count, digits, power);
}

// Functions of two or three arguments of one kind. Floats round by intrinsics alone: no compiler contracts or
// reassociates those. neg and abs are bit operations in the contract.
const char* function_of(Code code) {
    switch (code) {
        case Code::add:
            return "__fadd_rn";
        case Code::sub:
            return "__fsub_rn";
        case Code::mul:
            return "__fmul_rn";
        case Code::div:
            return "__fdiv_rn";
        case Code::fma:
            return "__fmaf_rn";
        case Code::sqrt:
            return "__fsqrt_rn";
        case Code::neg:
            return "negated";
        case Code::abs:
            return "absolute";
        case Code::is_nan:
            return "is_nan";
        case Code::umul_high:
            return "__umulhi";
        case Code::truncate:
            return "truncated";
        case Code::to_real:
            return "real_of";
        default:
            return nullptr;
    }
}

const char* operator_of(Code code) {
    switch (code) {
        case Code::less:
        case Code::uless:
            return "<";
        case Code::less_equal:
            return "<=";
        case Code::equal:
        case Code::iequal:
            return "==";
        case Code::both:
            return "&&";
        case Code::either:
            return "||";
        case Code::iadd:
            return "+";
        case Code::isub:
            return "-";
        case Code::umul_low:
            return "*";
        case Code::iand:
            return "&";
        case Code::ior:
            return "|";
        case Code::ixor:
            return "^";
        default:
            return nullptr;
    }
}

}  // namespace

const char* cuda_type(Type type) {
    return type == Type::real ? "float" : type == Type::integer ? "unsigned" : "bool";
}

SourceTerm cuda_value(const RowPlan& plan, std::int32_t id, char kind) {
    const Instruction& x = plan.code[id];
    if (x.code == Code::constant) return kind == 'r' ? real_literal(x.immediate) : term("0x%xu", x.immediate);
    // The plan looks through bits and from_bits: a value may be read as the other type.
    if (kind == 'r' && x.type == Type::integer) return term("__uint_as_float(v%d)", id);
    if (kind == 'i' && x.type == Type::real) return term("__float_as_uint(v%d)", id);
    return term("v%d", id);
}

SourceTerm cuda_expression(const RowPlan& plan, std::int32_t id) {
    const Instruction& x = plan.code[id];
    const CodeInfo& row = info(x.code);
    const std::int32_t ids[3] = {x.a, x.b, x.c};
    SourceTerm arguments[3] = {};
    for (int k = 0; k < 3; ++k) {
        const char kind = row.arguments[k] == 't' ? (x.type == Type::real ? 'r' : 'i') : row.arguments[k];
        if (kind != '-') arguments[k] = cuda_value(plan, ids[k], kind);
    }
    const char *a = arguments[0].text, *b = arguments[1].text, *c = arguments[2].text;
    if (const char* function = function_of(x.code); function != nullptr) {
        if (row.arguments[1] == '-') return term("%s(%s)", function, a);
        if (row.arguments[2] == '-') return term("%s(%s, %s)", function, a, b);
        return term("%s(%s, %s, %s)", function, a, b, c);
    }
    if (const char* sign = operator_of(x.code); sign != nullptr) return term("%s %s %s", a, sign, b);
    switch (x.code) {
        case Code::invert:
            return term("!%s", a);
        case Code::select:
            return term("%s ? %s : %s", a, b, c);
        case Code::shl:
            return term("%s << %u", a, x.immediate);
        case Code::shr:
            return term("%s >> %u", a, x.immediate);
        case Code::sar:
            return term("(unsigned)((int)%s >> %u)", a, x.immediate);
        default:
            fail(VOLTA_INTERNAL, "program instruction %%%d (%s) is no function of its arguments",
                 static_cast<int>(id), row.name);
    }
}

}  // namespace volta::jit
