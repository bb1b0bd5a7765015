#include "tests/jitgen/corpus.h"

#include <cstdlib>
#include <cstring>

#include "engine/numerics/functions.h"
#include "engine/numerics/random.h"

namespace volta::test {
namespace {

using jit::Access;
using jit::Builder;
using jit::Real;
using jit::Type;

template <class F>
void map(Builder& b, F f) {
    const int x = b.input(Access::full), y = b.output(Access::full);
    b.store(y, f(b, b.load(x)));
}

Real full(Builder& b) { return b.load(b.input(Access::full)); }
Real per_row(Builder& b) { return b.load(b.input(Access::per_row)); }
Real per_column(Builder& b) { return b.load(b.input(Access::per_column)); }
Real single(Builder& b, std::uint32_t index = 0) { return b.load(b.input(Access::single), index); }
void give(Builder& b, Real y) { b.store(b.output(Access::full), y); }
void give_row(Builder& b, Real y) { b.store(b.output(Access::per_row), y); }

void add(Builder& b) {
    const Real x = full(b), y = full(b);
    give(b, x + y);
}
void bias_gelu(Builder& b) {
    const Real x = full(b), bias = per_column(b);
    give(b, gelu_tanh(b, x + bias));
}
void scale_rows(Builder& b) {
    const Real x = full(b), s = per_row(b), a = single(b, 3);
    give(b, (x * s) * a);
}
void softmax(Builder& b) {
    const Real x = full(b), e = exp(b, x - b.row_max(x));
    give(b, e / b.row_sum(e));
}
void log_softmax(Builder& b) {
    const Real x = full(b), d = x - b.row_max(x);
    give(b, d - log(b, b.row_sum(exp(b, d))));
}
void softmax_grad(Builder& b) {
    const Real p = full(b), dp = full(b);
    give(b, p * (dp - b.row_sum(p * dp)));
}
void layer_norm(Builder& b) {
    const Real x = full(b), g = per_column(b), shift = per_column(b), n = b.row_length();
    const Real mean = b.row_sum(x) / n, d = x - mean;
    const Real rs = rsqrt(b, b.row_sum(d * d) / n + b.real(1e-5));
    give(b, (d * rs) * g + shift);
    give_row(b, mean);
    give_row(b, rs);
}
void layer_norm_grad(Builder& b) {
    const Real x = full(b), dy = full(b), mean = per_row(b), rs = per_row(b), g = per_column(b),
               n = b.row_length();
    const Real xh = (x - mean) * rs, dh = dy * g;
    const Real a1 = b.row_sum(dh) / n, a2 = b.row_sum(dh * xh) / n;
    give(b, ((dh - a1) - xh * a2) * rs);
}
void layer_norm_scale_grad(Builder& b) {
    const Real x = full(b), dy = full(b), mean = per_row(b), rs = per_row(b);
    b.column_sum(b.output(Access::per_column), dy * ((x - mean) * rs));
    b.column_sum(b.output(Access::per_column), dy);
}
void rms_norm(Builder& b) {
    const Real x = full(b), g = per_column(b);
    give(b, (x * rsqrt(b, b.row_sum(x * x) / b.row_length() + b.real(1e-6))) * g);
}
// Targets as integers per row; a negative one is ignored.
void cross_entropy(Builder& b) {
    const Real x = full(b), g = single(b);
    const jit::Int target = b.load_int(b.input(Access::per_row, Type::integer));
    const Real m = b.row_max(x), e = exp(b, x - m), s = b.row_sum(e), zero = b.real(0), one = b.real(1);
    const jit::Mask hit = b.iequal(b.column_index(), target);
    const Real x_y = b.row_sum(b.select(hit, x, zero));
    const jit::Mask ignored = b.uless(b.integer(0x7fffffff), target);
    give(b, b.select(ignored, zero, (e / s - b.select(hit, one, zero)) * g));
    give_row(b, b.select(ignored, zero, log(b, s) - (x_y - m)));
}
void argmax(Builder& b) {
    const Real x = full(b);
    b.store(b.output(Access::per_row, Type::integer), b.row_argmax(x));
    give_row(b, b.row_max(x));
}
void adamw(Builder& b) {
    const int iw = b.output(Access::full), im = b.output(Access::full), iv = b.output(Access::full);
    const Real w = b.load(iw), m0 = b.load(im), v0 = b.load(iv), g0 = full(b);
    const int scalars = b.input(Access::single);
    const auto scalar = [&](std::uint32_t k) { return b.load(scalars, k); };
    const Real g = g0 * scalar(0);
    const Real m = b.fma(scalar(1), m0, scalar(2) * g), v = b.fma(scalar(3), v0, (scalar(4) * g) * g);
    const Real u = m / b.fma(b.sqrt(v), scalar(5), scalar(6));
    b.store(iw, b.fma(b.neg(scalar(7)), u, w * scalar(4)));
    b.store(im, m);
    b.store(iv, v);
}
void dropout_row(Builder& b) {
    const Real x = full(b);
    const int state = b.input(Access::single, Type::integer);
    const jit::Int low = b.load_int(state, 0), high = b.load_int(state, 1), step = b.load_int(state, 2);
    const jit::Int row = b.row_index(), column = b.column_index(), last = b.integer(0x01000007);
    give(b, dropout(b, x, element_bits(b, row, column, step, last, {low, high}), dropout_rule(0.1)));
}
void column_sum(Builder& b) { b.column_sum(b.output(Access::per_column), full(b)); }
void gelu_grad_bias_grad(Builder& b) {
    const Real z = full(b), dy = full(b), dz = gelu_tanh_grad(b, z, dy);
    give(b, dz);
    b.column_sum(b.output(Access::per_column), dz);
}
void swap(Builder& b) {  // in place: all loads before all stores
    const Real x = full(b), y = full(b);
    give(b, y);
    give(b, x);
}

}  // namespace

#define VOLTA_FUNCTION(name)                                                              \
    {                                                                                     \
#name, [](Builder & b) { map(b, [](Builder& m, Real x) { return name(m, x); }); } \
    }
#define VOLTA_GRADIENT(name)                                                                         \
    {                                                                                                \
#name, [](Builder & b) { map(b, [](Builder& m, Real x) { return name(m, x, m.real(1)); }); } \
    }

const std::vector<CorpusRow>& function_programs() {
    static const std::vector<CorpusRow> rows = {
        VOLTA_FUNCTION(exp),
        VOLTA_FUNCTION(log),
        VOLTA_FUNCTION(tanh),
        VOLTA_FUNCTION(erf),
        VOLTA_FUNCTION(sigmoid),
        VOLTA_FUNCTION(sin),
        VOLTA_FUNCTION(cos),
        VOLTA_FUNCTION(rsqrt),
        VOLTA_FUNCTION(silu),
        VOLTA_GRADIENT(silu_grad),
        VOLTA_FUNCTION(gelu_tanh),
        VOLTA_GRADIENT(gelu_tanh_grad),
        VOLTA_FUNCTION(gelu_erf),
        VOLTA_GRADIENT(gelu_erf_grad),
        VOLTA_FUNCTION(relu),
        VOLTA_GRADIENT(relu_grad),
        {"pow_1.7", [](Builder& b) { map(b, [](Builder& m, Real x) { return pow(m, x, 1.7); }); }},
        {"clamp",
         [](Builder& b) { map(b, [](Builder& m, Real x) { return clamp(m, x, m.real(-1), m.real(2)); }); }},
        // Of equal zeros the second one: no processor's maximum of these operands in either order.
        {"above_zero",
         [](Builder& b) { map(b, [](Builder& m, Real x) { return maximum(m, x, m.real(0)); }); }},
        {"below_zero",
         [](Builder& b) { map(b, [](Builder& m, Real x) { return minimum(m, x, m.real(-0.0)); }); }},
    };
    return rows;
}

const std::vector<CorpusRow>& row_programs() {
    static const std::vector<CorpusRow> rows = {
        {"add", add},
        {"bias_gelu", bias_gelu},
        {"scale_rows", scale_rows},
        {"softmax", softmax},
        {"log_softmax", log_softmax},
        {"softmax_grad", softmax_grad},
        {"layer_norm", layer_norm},
        {"layer_norm_grad", layer_norm_grad},
        {"layer_norm_scale_grad", layer_norm_scale_grad},
        {"rms_norm", rms_norm},
        {"cross_entropy", cross_entropy},
        {"argmax", argmax},
        {"adamw", adamw},
        {"dropout", dropout_row},
        {"column_sum", column_sum},
        {"gelu_grad_bias_grad", gelu_grad_bias_grad},
        {"swap", swap},
    };
    return rows;
}

const CorpusRow& find_program(const char* name) {
    for (const auto* table : {&function_programs(), &row_programs()})
        for (const CorpusRow& row : *table)
            if (std::strcmp(row.name, name) == 0) return row;
    std::abort();
}

jit::Program build(const CorpusRow& row, std::pmr::memory_resource* heap) {
    jit::Builder builder(heap);
    row.build(builder);
    return builder.finish();
}

}  // namespace volta::test
