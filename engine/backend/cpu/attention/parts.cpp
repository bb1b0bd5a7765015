#include "engine/backend/cpu/attention/parts.h"

#include <algorithm>
#include <limits>

#include "engine/backend/cpu/gemm/cost.h"
#include "engine/base/error.h"
#include "engine/base/multiples.h"
#include "engine/numerics/random.h"

namespace volta::cpu {
namespace {

using jit::Access;
using jit::Builder;
using jit::Int;
using jit::Real;

// The bits of element (row, column) of the step's random numbers; `state` is the operand with the
// RandomState.
Int random_bits(Builder& b, int state, std::uint32_t stream) {
    const Int low = b.load_int(state, 0), high = b.load_int(state, 1), step = b.load_int(state, 2);
    const Int last = b.integer(purpose_and_stream(Purpose::dropout, stream));
    const Int row = b.row_index(), column = b.column_index();
    return element_bits(b, row, column, step, last, {low, high});
}

Real scaled(Builder& b, Real x, float scale) { return x * b.real(static_cast<double>(scale)); }

// A score, and what its gradient needs of it.
struct Score {
    Real value, tangent;  // without a cap the tangent is nothing
};
Score score(Builder& b, Real x, const AttentionShape& shape) {
    const Real z = scaled(b, x, shape.scale);
    if (shape.cap == 0) return {z, z};
    const Real cap = b.real(static_cast<double>(shape.cap)), tangent = score_tangent(b, z, cap);
    return {capped_score(b, z, tangent, cap), tangent};
}

bool has_dropout(const AttentionShape& shape) { return shape.dropout > 0; }

void check(const AttentionShape& shape) {
    const bool extents = shape.batch >= 0 && shape.time >= 0 && shape.heads >= 1 && shape.kv_heads >= 1 &&
                         shape.head_dim >= 1 && shape.heads % shape.kv_heads == 0;
    if (!extents || shape.dropout < 0 || shape.dropout >= 1)
        fail(VOLTA_INTERNAL, "an attention of %lld heads over %lld of size %lld with dropout %g",
             static_cast<long long>(shape.heads), static_cast<long long>(shape.kv_heads),
             static_cast<long long>(shape.head_dim), shape.dropout);
}

// Of products 8 x 48.
const GemmTile& tile_of(const CompileContext& context) {
    if (context.overrides.tile) return forced_tile(context.overrides.tile, context.machine);
    return cheapest_tile(context.machine, 8, 48, false, false);
}

}  // namespace

AttentionSizes attention_sizes(const AttentionShape& shape, const CompileContext& context) {
    check(shape);
    const GemmTile& tile = tile_of(context);  // 8x48, 4x24: as wide as heads, few enough rows
    AttentionSizes sizes;
    sizes.shape = shape;
    sizes.isa = tile.isa;
    sizes.tile_name = tile.name;
    sizes.nr = tile.nr;
    sizes.mr = 1;
    while (2 * sizes.mr <= std::min(tile.mr, jit::kMaxTileRows)) sizes.mr *= 2;
    // Odd, so that walking down a column of scores meets all sets of L1.
    sizes.row_floats = (round_up(shape.time, jit::kPanel) / jit::kPanel | 1) * jit::kPanel;
    sizes.head_floats = round_up(shape.head_dim, jit::kPanel);
    return sizes;
}

TwoMacroKernels::TwoMacroKernels(const AttentionSizes& sizes, std::int64_t rows, jit::GemmA a,
                                 jit::Triangle triangle) {
    jit::GemmForm form;
    form.isa = sizes.isa;
    form.a = a;
    form.triangle = triangle;
    form.mr = static_cast<std::uint8_t>(sizes.mr);
    if (rows >= sizes.mr) whole = MacroKernel(form, sizes.nr);
    form.mr = static_cast<std::uint8_t>(rows % sizes.mr);
    if (form.mr > 0) last = MacroKernel(form, sizes.nr);
}

void TwoMacroKernels::add_columns(std::int64_t columns, const Compiler& compiler) {
    for (MacroKernel* strip : {&whole, &last})
        if (!strip->empty()) strip->add_columns(columns, compiler);
}

void TwoMacroKernels::add_whole_vectors(std::int64_t columns, const Compiler& compiler) {
    for (MacroKernel* strip : {&whole, &last})
        if (!strip->empty()) strip->add_whole_vectors(columns, compiler);
}

void attention_scores(const AttentionSizes& sizes, const TwoMacroKernels& strips, const float* q,
                      std::int64_t q_stride, std::int64_t row, std::int64_t rows, const float* keys,
                      float* scores) noexcept {
    jit::GemmArgs args = {};
    args.a = q + row * q_stride;
    args.a_stride = q_stride;
    args.b = keys;
    args.b_stride = sizes.head_dim() * jit::kPanel;
    args.c = scores;
    args.c_stride = sizes.row_floats;
    args.steps = sizes.head_dim();
    // Whole vectors: keys behind the last are read from the panel's padding, and their scores by nobody.
    strips.of(rows).run(args, round_up(sizes.keys(row + rows), jit::gemm_lanes(sizes.isa)));
}

float chain_without_weight(float scale) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return scale < 0 ? kInfinity : -kInfinity;
}

void hide_below_windows(const AttentionSizes& sizes, std::int64_t first, std::int64_t step, std::int64_t rows,
                        float* chains) noexcept {
    const std::int64_t window = sizes.shape.window;
    for (std::int64_t i = 0; window > 0 && i < rows; ++i)
        std::fill_n(chains + i * sizes.row_floats, std::max<std::int64_t>(0, first + i * step + 1 - window),
                    chain_without_weight(sizes.shape.scale));
}

void hide_before_documents(const AttentionSizes& sizes, const std::int32_t* starts, std::int64_t row,
                           std::int64_t rows, float* chains) noexcept {
    for (std::int64_t i = 0; starts != nullptr && i < rows; ++i)
        std::fill_n(chains + i * sizes.row_floats, std::min<std::int64_t>(starts[row + i], row + i),
                    chain_without_weight(sizes.shape.scale));
}

jit::Program attention_softmax_program(const AttentionShape& shape, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const int x = b.input(Access::full), p = b.output(Access::full);
    const int maximum = b.output(Access::per_row), sum = b.output(Access::per_row);
    const Real s = score(b, b.load(x), shape).value;
    const Real m = b.row_max(s);
    const Real e = exp_nonpositive(b, s - m);
    const Real l = b.row_sum(e);
    Real result = e / l;
    if (has_dropout(shape)) {
        const int state = b.input(Access::single, jit::Type::integer);
        result = dropout(b, result, random_bits(b, state, shape.stream), dropout_rule(shape.dropout));
    }
    b.store(maximum, m);
    b.store(sum, l);
    b.store(p, result);
    return b.finish();
}

jit::Program attention_gradient_program(const AttentionShape& shape, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const int x = b.input(Access::full), dp_in = b.input(Access::full);
    const int maximum = b.input(Access::per_row), sum = b.input(Access::per_row),
              term = b.input(Access::per_row);
    const int p_out = b.output(Access::full), dx_out = b.output(Access::full);
    const Score s = score(b, b.load(x), shape);
    const Real p = exp_nonpositive(b, s.value - b.load(maximum)) / b.load(sum);
    Real dropped = p, dp = b.load(dp_in);
    if (has_dropout(shape)) {
        const int state = b.input(Access::single, jit::Type::integer);
        const DropoutRule rule = dropout_rule(shape.dropout);
        const Int bits = random_bits(b, state, shape.stream);
        dropped = dropout(b, p, bits, rule);
        dp = dropout(b, dp, bits, rule);
    }
    Real ds = p * (dp - b.load(term));
    if (shape.cap != 0) ds = capped_score_grad(b, s.tangent, ds);
    b.store(dx_out, scaled(b, ds, shape.scale));
    b.store(p_out, dropped);
    return b.finish();
}

jit::Program attention_row_term_program(std::pmr::memory_resource* heap) {
    Builder b(heap);
    const int d_o = b.input(Access::full), o = b.input(Access::full), term = b.output(Access::per_row);
    b.store(term, b.row_sum(b.load(d_o) * b.load(o)));
    return b.finish();
}

}  // namespace volta::cpu
