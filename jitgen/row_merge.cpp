#include "jitgen/row_merge.h"

#include <cstring>

#include "engine/numerics/functions.h"

namespace volta::jit {
namespace {

// exp_nonpositive as a program: what its recorded form is compared with. The numbers of the instructions that
// matter here are found by walking from the result, select(less(x, -104), 0, product).
struct ExpTemplate {
    explicit ExpTemplate(std::pmr::memory_resource* heap) : plan(program(heap), heap) {
        root = plan.code.back().b;
        product = plan.code[root].c;
        const Instruction& first = plan.code[plan.code[product].a];  // significand * 2^(k >> 1)
        significand = first.a;
        // shl(iadd(sar(truncate(n), 1), 127), 23)
        const Instruction& half = plan.code[plan.code[plan.code[first.b].a].a];
        exponent = plan.code[half.a].a;
    }
    static Program program(std::pmr::memory_resource* heap) {
        Builder b(heap);
        const Real x = b.load(b.input(Access::full));
        b.store(b.output(Access::full), exp_nonpositive(b, x));
        return b.finish();
    }
    RowPlan plan;
    std::int32_t root, product, significand, exponent;
};

// Is the expression below `id` the one below `pattern`, with some value for the pattern's load? Fills
// found[].
bool matches(const RowPlan& pattern, std::int32_t at, const RowPlan& plan, std::int32_t id,
             std::pmr::vector<std::int32_t>& found) {
    if (found[at] >= 0) return found[at] == id;
    found[at] = id;
    const Instruction &p = pattern.code[at], &x = plan.code[id];
    if (p.code == Code::load) return x.type == Type::real;
    if (p.code != x.code || p.type != x.type || p.immediate != x.immediate) return false;
    const Arguments want = arguments_of(p), have = arguments_of(x);
    for (int k = 0; k < want.count; ++k)
        if (!matches(pattern, want.ids[k], plan, have.ids[k], found)) return false;
    return true;
}

float real_of(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace

Merger::Merger(const RowPlan& plan, bool wide, std::pmr::memory_resource* heap) : plan_(plan), scales_(heap) {
    if (wide) find_scales(heap);
}

bool Merger::is_constant(std::int32_t id, float value) const {
    return plan_.is_constant(id) && real_of(plan_.code[id].immediate) == value;
}

Merger::Result Merger::merge(std::int32_t id) const {
    const Instruction& x = plan_.code[id];
    if (x.code == Code::select && x.type == Type::real) return merge_select(id);
    if (x.code == Code::neg && plan_.code[x.a].code == Code::abs)
        return {Merged::minus_abs, {{plan_.code[x.a].a, -1, -1}, 1}};
    for (const Scale& scale : scales_)
        if (scale.product == id) return {Merged::scale, {{scale.significand, scale.exponent, -1}, 2}};
    return {Merged::none, arguments_of(x)};
}

// MAXPS(p, q) is p > q ? p : q, and MINPS(p, q) is p < q ? p : q: for NaNs and for equal zeros both take q.
Merger::Result Merger::merge_select(std::int32_t id) const {
    const Instruction& x = plan_.code[id];
    const Instruction& condition = plan_.code[x.a];
    const Arguments yes_no = {{x.b, x.c, -1}, 2};
    if (condition.code == Code::less) {
        if (condition.a == x.c && condition.b == x.b) return {Merged::maximum, yes_no};
        if (condition.a == x.b && condition.b == x.c) return {Merged::minimum, yes_no};
    }
    // maximum(a, b) of functions.h, "a is NaN or a > b ? a : b", is MAXPS(b, a) where b is a constant that is
    // no NaN (a NaN then is a) and no zero (equal values then have equal bits). The same for minimum.
    if (condition.code == Code::either && plan_.is_constant(x.c)) {
        const Instruction &nan = plan_.code[condition.a], &less = plan_.code[condition.b];
        const float b = real_of(plan_.code[x.c].immediate);
        const Arguments swapped = {{x.c, x.b, -1}, 2};
        if (b == b && b != 0 && nan.code == Code::is_nan && nan.a == x.b && less.code == Code::less) {
            if (less.a == x.c && less.b == x.b) return {Merged::maximum, swapped};
            if (less.a == x.b && less.b == x.c) return {Merged::minimum, swapped};
        }
    }
    return {Merged::none, arguments_of(x)};
}

// Values that are <= 0 or NaN whatever the data.
bool Merger::is_at_most_zero(std::int32_t id) const {
    const Instruction& x = plan_.code[id];
    const auto is = [this](std::int32_t value, Code code) { return plan_.code[value].code == code; };
    if (x.code == Code::neg) return is(x.a, Code::abs);
    // x - max x: the row's maximum is a NaN or not below x, and rounding keeps the sign.
    if (x.code == Code::sub) return is(x.b, Code::row_max) && plan_.code[x.b].a == x.a;
    if (x.code != Code::mul || !plan_.is_constant(x.a) || !(real_of(plan_.code[x.a].immediate) < 0))
        return false;
    return is(x.b, Code::mul) && plan_.code[x.b].a == plan_.code[x.b].b;  // negative times a square
}

// exp multiplies its polynomial p by 2^(k>>1) and 2^(k-(k>>1)), k = n, in two steps. For -104 <= x <= 88.73 n
// is in
// [-150, 128] and p in [0.7, 1.42]: the first product is exact, the second rounds once, and so does
// VSCALEFPS(p, n). Below -104 the select takes 0, NaNs stay NaNs; above 88.73 the proof needs exp's outer
// select, or an x that is never positive. All 2^32 inputs of exp are compared by
// tests/jitgen/sweep_functions.cpp.
void Merger::find_scales(std::pmr::memory_resource* heap) {
    const auto count = static_cast<std::int32_t>(plan_.code.size());
    const auto uses = [&](std::int32_t value) {
        int n = 0;
        for (const Instruction& x : plan_.code)
            if (x.code != Code::bits && x.code != Code::from_bits)
                for (const std::int32_t argument : arguments_of(x)) n += argument == value;
        return n;
    };
    bool any_truncate = false;
    for (const Instruction& x : plan_.code) any_truncate = any_truncate || x.code == Code::truncate;
    if (!any_truncate) return;
    const ExpTemplate exp(heap);
    for (std::int32_t id = 0; id < count; ++id) {
        if (plan_.code[id].code != Code::select) continue;
        std::pmr::vector<std::int32_t> found(exp.plan.code.size(), -1, heap);
        if (!matches(exp.plan, exp.root, plan_, id, found)) continue;
        const std::int32_t product = found[exp.product];
        if (uses(product) != 1) continue;
        const std::int32_t x = plan_.code[plan_.code[id].a].a;
        bool bounded = is_at_most_zero(x);
        for (std::int32_t outer = id + 1; outer < count && !bounded; ++outer) {
            const Instruction& s = plan_.code[outer];  // select(less(88.73, x), Inf, id)
            if (s.code != Code::select || s.c != id || uses(id) != 1) continue;
            const Instruction& above = plan_.code[s.a];
            bounded = above.code == Code::less && above.b == x && is_constant(above.a, 88.73f);
        }
        if (bounded) scales_.push_back({product, found[exp.significand], found[exp.exponent]});
    }
}

}  // namespace volta::jit
