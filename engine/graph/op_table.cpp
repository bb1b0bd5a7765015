// The operator table; docs/add_an_operator.md says what else an operator needs. Rows stand in the order of
// Op.
#include <limits>

#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/functions.h"

namespace volta {
namespace {

// ---- Attributes --------------------------------------------------------------------------------

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<float>::max();  // factors are rounded to f32
constexpr double kBelowOne = 0x1.fffffffffffffp-1;
constexpr double kSmallest = std::numeric_limits<float>::min();
constexpr double kManyIds = 2147483647;           // i32
constexpr double kWholeLimit = 9007199254740992;  // 2^53: every integer up to here is a double
constexpr int kAnyCount = 32767;

constexpr AttrRow yes_no(Attr key, double value, const char* meaning) {
    return {key, false, false, value, meaning, true, 0, 1};
}
constexpr AttrRow integer(Attr key, bool required, double value, double low, double high,
                          const char* meaning) {
    return {key, required, false, value, meaning, true, low, high};
}
constexpr AttrRow real(Attr key, bool required, double value, double low, double high, const char* meaning) {
    return {key, required, false, value, meaning, false, low, high};
}
constexpr AttrRow integers(Attr key, bool required, const char* meaning) {
    return {key, required, true, 0, meaning, true, 0, 0};
}

constexpr AttrRow kAxisRow =
    integer(Attr::axis, false, 0, -kMaxRank, kMaxRank - 1, "negative: from the last");
constexpr AttrRow kAxesRow =
    integers(Attr::axes, false, "which are reduced; none: all; negative: from the last");
constexpr AttrRow kKeepDimsRow = yes_no(Attr::keep_dims, 0, "reduced axes stay, with extent 1");
constexpr AttrRow kAccumulateRow = yes_no(Attr::accumulate, 0, "the result continues over micro-batches");
constexpr AttrRow kProbabilityRow =
    real(Attr::probability, false, 0, 0, 0.9999999, "of dropping an element, below 1");
constexpr AttrRow kStreamRow = integer(Attr::stream, false, 0, 0, 16777215, "random stream of this node");
constexpr AttrRow kClip[] = {real(Attr::maximum_norm, true, 1, 0, kLargest, "largest norm that is kept")};

constexpr AttrRow kPow[] = {real(Attr::exponent, true, 1.7, -kLargest, kLargest, "n of x^n")};
constexpr AttrRow kClamp[] = {real(Attr::low, true, -0.5, -kInfinity, kInfinity, "lower bound"),
                              real(Attr::high, true, 0.75, -kInfinity, kInfinity, "upper bound")};
constexpr AttrRow kLeaky[] = {real(Attr::alpha, false, 0.01, -kLargest, kLargest, "slope below 0")};
constexpr AttrRow kElu[] = {real(Attr::alpha, false, 1, -kLargest, kLargest, "-alpha is the limit at -Inf")};
constexpr AttrRow kHardSigmoid[] = {
    real(Attr::alpha, false, kHardSigmoidAlpha, -kLargest, kLargest, "slope; ONNX's default is 0.2"),
    real(Attr::beta, false, 0.5, -kLargest, kLargest, "value at 0")};
constexpr AttrRow kSelu[] = {
    real(Attr::alpha, false, kSeluAlpha, -kLargest, kLargest, "-gamma*alpha is the limit at -Inf"),
    real(Attr::gamma, false, kSeluGamma, -kLargest, kLargest, "slope above 0")};
constexpr AttrRow kCelu[] = {
    real(Attr::alpha, false, 1, kSmallest, kLargest, "-alpha is the limit at -Inf; above 0")};
constexpr AttrRow kSmoothing[] = {real(Attr::label_smoothing, false, 0, 0, kBelowOne,
                                       "share of the target that all classes divide, below 1")};
constexpr AttrRow kHuber[] = {
    real(Attr::delta, false, 1, kSmallest, kLargest, "where the square becomes a line; above 0")};
constexpr AttrRow kOperand[] = {integer(Attr::operand, true, 0, 0, 1, "0: the gradient of a, 1: of b")};
constexpr AttrRow kDropout[] = {kProbabilityRow, kStreamRow};
constexpr AttrRow kEpsilonRow = real(Attr::epsilon, false, 1e-5, 0, kLargest, "added to the variance");
constexpr AttrRow kMomentumRow =
    real(Attr::momentum, false, 0.1, 0, 1, "share of a micro-batch in the running statistics");
constexpr AttrRow kEpsilon[] = {kEpsilonRow};
constexpr AttrRow kBatchNorm[] = {kEpsilonRow, kMomentumRow};
constexpr AttrRow kBatchNormGrad[] = {kEpsilonRow,
                                      yes_no(Attr::frozen, 0, "mean and variance do not depend on x")};
constexpr AttrRow kRunningStatistics[] = {
    kMomentumRow, integer(Attr::elements, true, 2, 2, kWholeLimit, "values per channel, of one micro-batch")};
constexpr AttrRow kNormGroupsRow = integer(Attr::groups, true, 1, 1, kManyIds, "G, a divisor of C");
constexpr AttrRow kGroupNorm[] = {kEpsilonRow, kNormGroupsRow};
constexpr AttrRow kNormGroups[] = {kNormGroupsRow};
constexpr AttrRow kAccumulate[] = {kAccumulateRow};
constexpr AttrRow kSum[] = {kAxesRow, kKeepDimsRow, kAccumulateRow};
constexpr AttrRow kReduction[] = {kAxesRow, kKeepDimsRow};
constexpr AttrRow kReshape[] = {
    integers(Attr::shape, true, "extents; -1, once: what remains; -2: the extent that x has on this axis")};
constexpr AttrRow kTranspose[] = {
    integers(Attr::permutation, true, "axis i of y is axis permutation[i] of x")};
constexpr AttrRow kConcat[] = {kAxisRow};
constexpr AttrRow kSlice[] = {
    kAxisRow,
    integer(Attr::begin, false, 0, -kWholeLimit, kWholeLimit, "first index; negative: from the end"),
    integer(Attr::end, false, kToTheEnd, -kWholeLimit, kWholeLimit,
            "one past the last index; negative: from the end; 2^53: the end")};
constexpr AttrRow kSliceGrad[] = {
    kAxisRow, integer(Attr::begin, false, 0, 0, kWholeLimit, "where the slice began"),
    integer(Attr::rows, true, 0, 0, kWholeLimit, "the extent of the axis in x")};
constexpr AttrRow kBroadcastTo[] = {integers(Attr::shape, true, "extents; -1: the extent that x has there")};
constexpr AttrRow kPositions[] = {
    integer(Attr::limit, true, 0, 1, kManyIds, "longest sequence that is allowed")};
constexpr AttrRow kEmbedding[] = {integer(Attr::rows, true, 0, 1, kManyIds, "V, rows of the table")};
constexpr AttrRow kMatmul[] = {yes_no(Attr::transpose_a, 0, "a is stored transposed, [..., m]"),
                               yes_no(Attr::transpose_b, 0, "b is stored transposed, [n, k]"),
                               kAccumulateRow};
constexpr AttrRow kWindowRow = integer(Attr::window, false, 0, 0, kManyIds,
                                       "keys up to its own that a query weighs, causal; 0: all"),
                  kCapRow = real(Attr::cap, false, 0, 0, kLargest,
                                 "scores s become cap * tanh(s / cap); 0: they stay"),
                  kDocumentsRow = yes_no(Attr::documents, 0,
                                         "starts says where the document of each token begins, causal: "
                                         "keys before it get no weight");
constexpr AttrRow kAttention[] = {
    integer(Attr::heads, true, 0, 1, 65536, "query heads"),
    integer(Attr::kv_heads, false, 0, 0, 65536, "key and value heads, a divisor of heads; 0: heads"),
    yes_no(Attr::causal, 1, "a query sees no later key"),
    real(Attr::scale, false, 0, -kLargest, kLargest, "factor of the scores; 0: 1/sqrt(d)"),
    kProbabilityRow,
    kStreamRow,
    yes_no(Attr::packed, 0, "one input holds q, k and v side by side"),
    kWindowRow,
    kCapRow,
    kDocumentsRow,
};
constexpr AttrRow kStridesRow = integers(Attr::strides, false, "per spatial axis; none: 1"),
                  kDilationsRow = integers(Attr::dilations, false, "between taps, per spatial axis; none: 1"),
                  kPadsRow = integers(Attr::pads, false,
                                      "at the beginnings of all spatial axes, then at their ends; none: 0"),
                  kGroupsRow = integer(Attr::groups, false, 1, 1, kManyIds,
                                       "filters of a group see its channels alone");
constexpr AttrRow kConv[] = {kStridesRow, kDilationsRow, kPadsRow, kGroupsRow};
constexpr AttrRow kConvTranspose[] = {
    integers(Attr::shape, false, "spatial extents of y; none: the least ones, and output_padding"),
    kStridesRow,
    kDilationsRow,
    kPadsRow,
    kGroupsRow,
    integers(Attr::output_padding, false, "per spatial axis, more than the least extent; none: 0")};
constexpr AttrRow kConvGradWeight[] = {integers(Attr::shape, true, "of the weight"),
                                       kAccumulateRow,
                                       kStridesRow,
                                       kDilationsRow,
                                       kPadsRow,
                                       kGroupsRow};
constexpr AttrRow kKernelRow = integers(Attr::kernel, true, "taps of the window, per spatial axis"),
                  kCeilRow = yes_no(Attr::ceil_mode, 0,
                                    "a last window may hang over the end, if it begins before it"),
                  kCountRow = yes_no(Attr::count_include_pad, 0, "averages are over the padding too");
constexpr AttrRow kMaxPool[] = {kStridesRow, kDilationsRow, kPadsRow, kKernelRow, kCeilRow};
constexpr AttrRow kAveragePool[] = {kStridesRow, kPadsRow, kKernelRow, kCeilRow, kCountRow};
constexpr AttrRow kAveragePoolGrad[] = {integers(Attr::shape, true, "spatial extents of x"),
                                        kStridesRow,
                                        kPadsRow,
                                        kKernelRow,
                                        kCeilRow,
                                        kCountRow};
constexpr AttrRow kTrailingPadsRow =
    integers(Attr::pads, true, "in front of each of the last axes, then behind each; two entries an axis");
constexpr AttrRow kPad[] = {kTrailingPadsRow,
                            integer(Attr::mode, false, 0, 0, 2, "0: constant, 1: reflect, 2: edge"),
                            real(Attr::value, false, 0, -kInfinity, kInfinity, "of the constant")};
constexpr AttrRow kPadGrad[] = {kTrailingPadsRow, integer(Attr::mode, true, 1, 1, 2, "1: reflect, 2: edge")};
constexpr AttrRow kResizeModeRow = integer(Attr::mode, false, 0, 0, 1, "0: nearest, 1: linear");
constexpr AttrRow kResize[] = {integers(Attr::shape, true, "spatial extents of y"), kResizeModeRow};
constexpr AttrRow kResizeGrad[] = {integers(Attr::shape, true, "spatial extents of x"), kResizeModeRow};
// Pair 0 turns by one radian per position, and angles are reduced exactly up to 2^20.
constexpr AttrRow kRotaryTable[] = {
    real(Attr::scale, false, 1, -kLargest, kLargest, "factor of every cosine and sine"),
    integer(Attr::limit, true, 0, 1, 1048576, "positions, 0 .. limit-1"),
    real(Attr::base, false, 10000, 1, kLargest,
         "pair i turns by base^(-2i/width) radians per position; unused with frequencies"),
    integer(Attr::width, true, 0, 2, 65536, "d, elements of a head; even")};
constexpr AttrRow kRotary[] = {
    integer(Attr::heads, true, 0, 1, 65536,
            "heads that are turned, from the row's start; the rest is copied"),
    yes_no(Attr::interleaved, 0, "pairs are (2i, 2i+1); 0: (i, i+d/2)"),
    yes_no(Attr::inverse, 0, "by the negative angles: the gradient"),
    integer(Attr::width, false, 0, 0, 65536, "elements of a head, whose first d are turned; 0: d"),
};
constexpr AttrRow kCachedAttention[] = {
    integer(Attr::heads, true, 0, 1, 65536, "query heads"),
    integer(Attr::kv_heads, false, 0, 0, 65536, "key and value heads, a divisor of heads; 0: heads"),
    real(Attr::scale, false, 0, -kLargest, kLargest, "factor of the scores; 0: 1/sqrt(d)"),
    yes_no(Attr::packed, 0, "one input holds q, k and v side by side"),
    kWindowRow,
    kCapRow,
};
constexpr AttrRow kStack[] = {integer(Attr::micro_batches, true, 0, 1, 4294967295.0, "M")};
constexpr AttrRow kSgd[] = {yes_no(Attr::nesterov, 0, "Nesterov momentum")};

// ---- Rows --------------------------------------------------------------------------------------

// A gradient rule, with the operator that it applies where one was made for it; or the reason why there is
// none.
struct Differentiation {
    GradientRule rule = nullptr;
    Op applied = Op::count_;
    const char* reason = nullptr;
    constexpr Differentiation(GradientRule given, Op op = Op::count_) : rule(given), applied(op) {}
    constexpr Differentiation(Op op) : rule(gradient_rules::by_operator), applied(op) {}
    constexpr Differentiation(const char* why) : reason(why) {}
};
constexpr const char* kSecond = "second derivatives are not offered";
constexpr const char* kWhole = "its result is made of integers";
constexpr const char* kFlat = "its result is made of steps, which are flat";
constexpr const char* kTrainer = "it is a step of the trainer's, behind the gradients";
constexpr const char* kDecoding = "it is a step of the generator's";
constexpr const char* kOfBatchNorm = "the gradient of batch_norm_train holds it";
constexpr const char* kPass = "passes make it, after differentiation";

// Sets of inputs, bit i for input i.
constexpr std::uint32_t kAny = ~0u, kFirst = 1, kFirstTwo = 3, kThird = 4, kBehindFactors = ~3u;

struct Count {
    int least, most;
    constexpr Count(int exactly) : least(exactly), most(exactly) {}
    constexpr Count(int from, int to) : least(from), most(to) {}
};

// A row in the making: what most operators are not is said behind the call that makes it.
struct Row : OpRow {
    template <std::size_t N>
    constexpr Row with(const AttrRow (&list)[N]) const {
        for (std::size_t i = 1; i < N; ++i)
            if (!(list[i - 1].key < list[i].key)) throw "attributes ascend by key";
        Row row = *this;
        row.attributes = list;
        row.attribute_count = static_cast<int>(N);
        return row;
    }
    // Output i overwrites input first (i = 0), second (1), third (2).
    constexpr Row updates(std::int8_t first, std::int8_t second, std::int8_t third) const {
        Row row = *this;
        row.in_place[0] = first, row.in_place[1] = second, row.in_place[2] = third;
        return row;
    }
    constexpr Row overwriting(std::uint32_t inputs, std::int8_t output = -1) const {
        Row row = *this;
        row.overwrites = {inputs, output};
        return row;
    }
    constexpr Row with_ids(IdInput first, IdInput second = {}) const {
        Row row = *this;
        row.ids[0] = first, row.ids[1] = second;
        return row;
    }
    constexpr Row of(Whole what) const {
        Row row = *this;
        row.whole = what;
        return row;
    }
    constexpr Row costing(CostRule rule) const {
        Row row = *this;
        row.cost = rule;
        return row;
    }
    constexpr Row drawing() const {  // random numbers
        Row row = *this;
        row.random = true;
        row.recompute = false;
        return row;
    }
    constexpr Row commuting() const {
        Row row = *this;
        row.commutes = true;
        return row;
    }
    constexpr Row fusing(bool does = true) const {
        Row row = *this;
        row.fuses = does;
        return row;
    }
    constexpr Row fusing_rows(std::int8_t numbers_from = 127) const {
        Row row = *this;
        row.fuses_rows = true;
        row.first_per_row = numbers_from;
        return row;
    }
    constexpr Row recomputed(bool is = true) const {
        Row row = *this;
        row.recompute = is;
        return row;
    }
    constexpr Row always_folded() const {
        Row row = *this;
        row.always_folds = true;
        return row;
    }
    constexpr Row with_body() const {
        Row row = *this;
        row.has_body = true;
        return row;
    }
    constexpr Row reading_stored(std::int8_t input) const {
        Row row = *this;
        row.stored_input = input;
        return row;
    }
    constexpr Row engines_own() const {
        Row row = *this;
        row.internal = true;
        return row;
    }
    constexpr Row over_micro_batches(MicroBatches what) const {
        Row row = engines_own();
        row.micro_batches = what;
        return row;
    }
    constexpr Row within(double ulps) const {
        Row row = *this;
        row.most_ulps = ulps;
        return row;
    }
    constexpr Row sampled(double low, double high) const {
        Row row = *this;
        row.sample_low = low, row.sample_high = high;
        return row;
    }
};

constexpr Row row(Op op, const char* name, Count inputs, int outputs, Lowering lowering, ShapeRule shape,
                  const Evaluation& evaluate, Differentiation gradient, const char* inputs_text,
                  const char* outputs_text, const char* formula) {
    return Row{{op, name, inputs.least, inputs.most, outputs, lowering, shape, &evaluate, gradient.rule,
                gradient.applied, gradient.reason, inputs_text, outputs_text, formula}};
}

constexpr Row elementwise(Op op, const char* name, Count inputs, ShapeRule shape, Differentiation gradient,
                          const char* inputs_text, const char* outputs_text, const char* formula) {
    return row(op, name, inputs, 1, Lowering::elementwise, shape, evaluations::elementwise, gradient,
               inputs_text, outputs_text, formula)
        .overwriting(kAny)
        .fusing()
        .recomputed();
}
constexpr Row unary(Op op, const char* name, Differentiation gradient, const char* formula) {
    return elementwise(op, name, 1, shape_rules::same, gradient, "x [...]", "y [...]", formula);
}
constexpr Row binary(Op op, const char* name, Differentiation gradient, const char* formula) {
    return elementwise(op, name, 2, shape_rules::broadcasting, gradient, "a, b", "y", formula);
}
constexpr Row comparison(Op op, const char* name, const char* formula) {
    return elementwise(op, name, 2, shape_rules::comparison, kWhole, "a, b", "y i32", formula)
        .of(Whole::flag);
}
constexpr Row unary_grad(Op op, const char* name, const char* formula) {
    return elementwise(op, name, 2, shape_rules::same, kSecond, "x [...], dy [...]", "dx [...]", formula);
}
// Of rows against targets of their shape, one value per row; of some, with weights of columns behind.
constexpr Row element_loss(Op op, const char* name, Count inputs, const Evaluation& evaluate,
                           Differentiation gradient, const char* formula) {
    const bool weighted = inputs.most > inputs.least;
    return row(op, name, inputs, 1, Lowering::row, shape_rules::element_loss, evaluate, gradient,
               weighted ? "x [..., n], t [..., n] [, weights [n]]" : "x [..., n], t [..., n]", "loss [...]",
               formula);
}
constexpr Row element_loss_grad(Op op, const char* name, Count inputs, const Evaluation& evaluate,
                                const char* formula) {
    const bool weighted = inputs.most > inputs.least;
    return row(op, name, inputs, 1, Lowering::row, shape_rules::element_loss_grad, evaluate, kSecond,
               weighted ? "x [..., n], t [..., n], g [] or [...] [, weights [n]]"
                        : "x [..., n], t [..., n], g [] or [...]",
               "dx [..., n]", formula)
        .overwriting(kFirstTwo);
}
constexpr Row source(Op op, const char* name, const char* what) {
    Row made = row(op, name, 0, 1, Lowering::source, shape_rules::source, evaluations::constant,
                   "it has no inputs", "", "y", what);
    if (op != Op::constant) made.evaluate = nullptr;
    return made;
}
constexpr Row update(Op op, const char* name, int inputs, int outputs, const Evaluation& evaluate,
                     const char* inputs_text, const char* outputs_text, const char* formula) {
    return row(op, name, inputs, outputs, Lowering::update, shape_rules::optimizer, evaluate, kTrainer,
               inputs_text, outputs_text, formula)
        .engines_own();
}

namespace s = shape_rules;
namespace g = gradient_rules;
namespace e = evaluations;
namespace c = cost_rules;

// Targets of a loss over the classes along x's last axis; -1: an ignored row.
constexpr IdInput kTargets = {1, -1, 0, -1};
// Starts of documents, places of the row whose extent is that of the first input's axis.
constexpr IdInput kStartsOfPositions = {1, 0, 0, -1},
                  kStartsOfAttention = {1, 0, 0, 1, 1, Attr::count_, true};

// clang-format off
constexpr OpRow kRows[] = {
    source(Op::input, "input", "given by the host for every run"),
    source(Op::parameter, "parameter", "trainable, f32"),
    source(Op::state, "state", "kept between steps, for example an optimizer's moments"),
    source(Op::constant, "constant", "fixed values"),

    unary(Op::neg, "neg", g::neg, "-x, the sign bit flipped").within(0.5),
    unary(Op::abs, "abs", g::abs, "x without its sign bit").within(0.5),
    unary(Op::exp, "exp", g::exp, "e^x").within(2),
    unary(Op::log, "log", g::log, "natural logarithm").within(2).sampled(0.5, 3),
    unary(Op::sqrt, "sqrt", g::sqrt, "square root").within(0.5).sampled(0.5, 3),
    unary(Op::rsqrt, "rsqrt", g::rsqrt, "1 / sqrt(x)").within(2).sampled(0.5, 3),
    unary(Op::tanh, "tanh", g::tanh, "hyperbolic tangent").within(2),
    unary(Op::erf, "erf", g::erf, "error function").within(2),
    unary(Op::sigmoid, "sigmoid", g::sigmoid, "1 / (1 + e^-x)").within(2.5),
    unary(Op::silu, "silu", Op::silu_grad, "x * sigmoid(x)"),
    unary(Op::gelu_tanh, "gelu_tanh", Op::gelu_tanh_grad, "x * sigmoid(x * fma(x*x, c1, c0))"),
    unary(Op::gelu_erf, "gelu_erf", Op::gelu_erf_grad, "(0.5*x) * (1 + erf(x / sqrt(2)))"),
    unary(Op::relu, "relu", {g::relu, Op::relu_grad}, "0 > x ? +0 : x").within(0.5),
    unary(Op::leaky_relu, "leaky_relu", Op::leaky_relu_grad, "x < 0 ? alpha * x : x").with(kLeaky).within(0.5),
    unary(Op::elu, "elu", Op::elu_grad, "x < 0 ? alpha * (e^x - 1) : x").with(kElu).within(3),
    unary(Op::softplus, "softplus", Op::softplus_grad, "log(1 + e^x), without overflow or cancellation").within(3),
    unary(Op::hard_swish, "hard_swish", Op::hard_swish_grad, "x * (clamp(x + 3, 0, 6) / 6)").within(3),
    unary(Op::hard_sigmoid, "hard_sigmoid", Op::hard_sigmoid_grad, "clamp(fma(alpha, x, beta), 0, 1)").with(kHardSigmoid).within(0.5),
    unary(Op::selu, "selu", Op::selu_grad, "gamma * (x < 0 ? alpha * (e^x - 1) : x)").with(kSelu).within(3),
    unary(Op::celu, "celu", Op::celu_grad, "x < 0 ? alpha * (e^(x/alpha) - 1) : x").with(kCelu).within(3),
    unary(Op::softsign, "softsign", Op::softsign_grad, "x / (1 + |x|)").within(1.5),
    unary(Op::mish, "mish", Op::mish_grad, "x * tanh(log(1 + e^x)), without overflow"),
    unary(Op::floor, "floor", kFlat, "the largest integer that is not above x").within(0.5),
    unary(Op::ceil, "ceil", kFlat, "the smallest integer that is not below x").within(0.5),
    unary(Op::round, "round", kFlat, "the nearest integer, halves to the even one").within(0.5),
    unary(Op::sin, "sin", g::sin, "sine, NaN beyond 2^17"),
    unary(Op::cos, "cos", g::cos, "cosine, NaN beyond 2^17"),
    unary(Op::pow, "pow", g::pow, "x^exponent; 2, 3, 0.5, -1, -0.5 without logarithms").with(kPow).sampled(0.5, 3),
    elementwise(Op::clamp, "clamp", 1, s::clamp, g::clamp, "x [...]", "y [...]", "min(max(x, low), high); relu6: low = 0, high = 6").with(kClamp).within(0.5),

    binary(Op::add, "add", g::add, "a + b").within(0.5).commuting(),
    binary(Op::sub, "sub", g::sub, "a - b").within(0.5),
    binary(Op::mul, "mul", g::mul, "a * b").within(0.5).commuting(),
    binary(Op::div, "div", g::div, "a / b").within(0.5).sampled(0.5, 3),
    binary(Op::maximum, "maximum", {g::choice, Op::maximum_grad}, "a is NaN or a > b ? a : b").within(0.5),
    binary(Op::minimum, "minimum", {g::choice, Op::minimum_grad}, "a is NaN or a < b ? a : b").within(0.5),
    elementwise(Op::prelu, "prelu", 2, s::broadcasting, {g::choice, Op::prelu_grad}, "x, slope", "y", "x < 0 ? slope * x : x").within(0.5),
    comparison(Op::less, "less", "a < b ? 1 : 0").within(0.5),
    comparison(Op::less_equal, "less_equal", "a <= b ? 1 : 0").within(0.5),
    comparison(Op::equal, "equal", "a == b ? 1 : 0").within(0.5),
    // clang-format on
    elementwise(Op::where, "where", 3, s::where, g::where, "mask i32, a, b", "y", "mask is not 0 ? a : b"),

    unary_grad(Op::gelu_tanh_grad, "gelu_tanh_grad",
               "x clamped to [-16, 16]; s = sigmoid(x * fma(x*x, c1, c0)); dy * (s + ((x*s)*(1-s)) * "
               "fma(x*x, c2, c0))"),
    unary_grad(Op::gelu_erf_grad, "gelu_erf_grad", "dy * (0.5*(1+erf) + x*(exp(-0.5*x*x)*c))"),
    unary_grad(Op::silu_grad, "silu_grad", "s = sigmoid(x); dy * (s * (1 + x*(1-s)))"),
    unary_grad(Op::relu_grad, "relu_grad", "0 >= x ? +0 : dy").within(0.5),
    unary_grad(Op::leaky_relu_grad, "leaky_relu_grad", "0 >= x ? alpha * dy : dy").with(kLeaky).within(0.5),
    unary_grad(Op::elu_grad, "elu_grad", "0 >= x ? dy * (alpha * e^x) : dy").with(kElu).within(3),
    unary_grad(Op::softplus_grad, "softplus_grad", "dy * sigmoid(x)").within(3.5),
    unary_grad(Op::hard_swish_grad, "hard_swish_grad", "-3 >= x ? +0 : 3 <= x ? dy : dy * ((2x + 3) / 6)")
        .within(3),
    unary_grad(Op::hard_sigmoid_grad, "hard_sigmoid_grad", "0 < fma(alpha, x, beta) < 1 ? dy * alpha : +0")
        .with(kHardSigmoid)
        .within(0.5),
    unary_grad(Op::selu_grad, "selu_grad", "0 >= x ? dy * (gamma*alpha * e^x) : dy * gamma")
        .with(kSelu)
        .within(7),
    unary_grad(Op::celu_grad, "celu_grad", "0 >= x ? dy * e^(x/alpha) : dy").with(kCelu).within(3),
    unary_grad(Op::softsign_grad, "softsign_grad", "dy / (1 + |x|)^2").within(3),
    unary_grad(Op::mish_grad, "mish_grad", "w = mish(x)/x; dy * (w + x * (sigmoid(x) * (1 - w*w)))"),
    elementwise(Op::maximum_grad, "maximum_grad", 3, s::choice_grad, kSecond, "a, b, dy", "dx, of dy's shape",
                "the operand that maximum(a, b) took gets dy, the other +0")
        .with(kOperand),
    elementwise(Op::minimum_grad, "minimum_grad", 3, s::choice_grad, kSecond, "a, b, dy", "dx, of dy's shape",
                "the operand that minimum(a, b) took gets dy, the other +0")
        .with(kOperand),
    elementwise(Op::prelu_grad, "prelu_grad", 3, s::choice_grad, kSecond, "x, slope, dy",
                "dx or dslope, of dy's shape",
                "of x: 0 >= x ? slope * dy : dy; of slope: x < 0 ? x * dy : +0")
        .with(kOperand),
    elementwise(Op::dropout, "dropout", 2, s::dropout, g::dropout,
                "x [...], random i32 [3] (seed low, seed high, step)", "y [...]",
                "kept ? x * (1 / (1-p)) : +0")
        .with(kDropout)
        .drawing(),
    row(Op::fused, "fused", {1, kAnyCount}, -1, Lowering::elementwise, s::fused, e::elementwise, kPass,
        "operands of the body", "results of the body", "elementwise operators, one after the other")
        .fusing()
        .overwriting(kAny)
        .with_body()
        .engines_own(),
    row(Op::fused_rows, "fused_rows", {1, kAnyCount}, -1, Lowering::row, s::fused_rows, e::fused_rows, kPass,
        "operands of the body", "results of the body, the first of the whole's shape",
        "operators along the last axis and elementwise ones, one after the other")
        .overwriting(kAny)
        .with_body()
        .engines_own(),

    row(Op::softmax, "softmax", 1, 1, Lowering::row, s::rows, e::softmax, {g::softmax, Op::softmax_grad},
        "x [..., n]", "p [..., n]", "e = exp(x - max x); e / rowsum(e)")
        .overwriting(kFirst)
        .fusing_rows(),
    row(Op::softmax_grad, "softmax_grad", 2, 1, Lowering::row, s::rows, e::softmax_grad, kSecond,
        "p [..., n], dp [..., n]", "dx [..., n]", "p * (dp - rowsum(p*dp))")
        .overwriting(kFirstTwo)
        .fusing_rows(),
    row(Op::log_softmax, "log_softmax", 1, 1, Lowering::row, s::rows, e::log_softmax,
        {g::softmax, Op::log_softmax_grad}, "x [..., n]", "y [..., n]",
        "(x - m) - log(rowsum(exp(x - m))), m = max x")
        .overwriting(kFirst)
        .fusing_rows(),
    row(Op::log_softmax_grad, "log_softmax_grad", 2, 1, Lowering::row, s::rows, e::log_softmax_grad, kSecond,
        "y [..., n], dy [..., n]", "dx [..., n]", "dy - exp(y) * rowsum(dy)")
        .overwriting(kFirstTwo)
        .fusing_rows(),
    row(Op::layer_norm, "layer_norm", 3, 3, Lowering::row, s::layer_norm, e::layer_norm, g::layer_norm,
        "x [..., n], scale [n], bias [n]", "y [..., n], mean [...], rs [...]",
        "d = x - mean; rs = rsqrt(rowsum(d*d)/n + epsilon); ((d*rs) * scale) + bias")
        .with(kEpsilon)
        .recomputed()
        .fusing_rows(),
    row(Op::layer_norm_grad, "layer_norm_grad", 5, 1, Lowering::row, s::layer_norm_grad, e::layer_norm_grad,
        kSecond, "dy [..., n], x [..., n], scale [n], mean [...], rs [...]", "dx [..., n]",
        "dh = dy*scale; xh = (x-mean)*rs; ((dh - rowsum(dh)/n) - xh*(rowsum(dh*xh)/n)) * rs")
        .overwriting(kFirstTwo)
        .fusing_rows(3),
    row(Op::layer_norm_grad_scale, "layer_norm_grad_scale", 4, 1, Lowering::reduction,
        s::layer_norm_grad_scale, e::layer_norm_grad_scale, kSecond,
        "dy [..., n], x [..., n], mean [...], rs [...]", "dscale [n]", "colsum(dy * ((x-mean)*rs))")
        .with(kAccumulate),
    row(Op::layer_norm_grad_columns, "layer_norm_grad_columns", 4, 2, Lowering::reduction,
        s::layer_norm_grad_columns, e::layer_norm_grad_columns, kPass,
        "dy [..., n], x [..., n], mean [...], rs [...]", "dscale [n], dbias [n]",
        "layer_norm_grad_scale, and colsum(dy), in one pass over dy")
        .with(kAccumulate)
        .engines_own(),
    row(Op::rms_norm, "rms_norm", 2, 2, Lowering::row, s::rms_norm, e::rms_norm, g::rms_norm,
        "x [..., n], scale [n]", "y [..., n], r [...]", "r = rsqrt(rowsum(x*x)/n + epsilon); (x*r) * scale")
        .with(kEpsilon)
        .recomputed()
        .fusing_rows(),
    row(Op::rms_norm_grad, "rms_norm_grad", 4, 1, Lowering::row, s::rms_norm_grad, e::rms_norm_grad, kSecond,
        "dy [..., n], x [..., n], scale [n], r [...]", "dx [..., n]",
        "dh = dy*scale; xh = x*r; (dh - xh*(rowsum(dh*xh)/n)) * r")
        .overwriting(kFirstTwo)
        .fusing_rows(3),
    row(Op::rms_norm_grad_scale, "rms_norm_grad_scale", 3, 1, Lowering::reduction, s::rms_norm_grad_scale,
        e::rms_norm_grad_scale, kSecond, "dy [..., n], x [..., n], r [...]", "dscale [n]",
        "colsum(dy * (x*r))")
        .with(kAccumulate),
    row(Op::cross_entropy, "cross_entropy", {2, 3}, 3, Lowering::row, s::cross_entropy, e::cross_entropy,
        g::cross_entropy, "x [..., V], targets i32 [...] (-1: ignored) [, weights [V]]",
        "loss [...], m [...], s [...]",
        "m = max x; s = rowsum(exp(x - m)); log(s) - (x_target - m), ignored: +0; smoothed and weighted: "
        "numerics, 4")
        .with(kSmoothing)
        .with_ids(kTargets),
    row(Op::cross_entropy_grad, "cross_entropy_grad", {5, 6}, 1, Lowering::row, s::cross_entropy_grad,
        e::cross_entropy_grad, kSecond,
        "x [..., V], targets i32 [...], m [...], s [...], g [] or [...] [, weights [V]]", "dx [..., V]",
        "(exp(x - m)/s - (j == target ? 1 : 0)) * g, ignored: +0")
        .with(kSmoothing)
        .overwriting(kFirst)
        .with_ids(kTargets),
    row(Op::cross_entropy_with_grad, "cross_entropy_with_grad", {3, 4}, 2, Lowering::row,
        s::cross_entropy_with_grad, e::cross_entropy_with_grad, kSecond,
        "x [..., V], targets i32 [...] (-1: ignored), g [] or [...] [, weights [V]]",
        "loss [...], dx [..., V]",
        "m = max x; e = exp(x - m); s = rowsum(e); log(s) - (x_target - m); (e/s - (j == target ? 1 : 0)) * "
        "g; ignored: +0")
        .with(kSmoothing)
        .overwriting(kFirst, 1)
        .with_ids(kTargets),
    element_loss(Op::mse, "mse", 2, e::mse, g::mse, "d = x - t; rowsum(d*d)"),
    element_loss_grad(Op::mse_grad, "mse_grad", 3, e::mse_grad, "(x - t) * g"),
    element_loss(Op::l1, "l1", 2, e::l1, {g::l1, Op::l1_grad}, "rowsum(|x - t|)"),
    element_loss_grad(Op::l1_grad, "l1_grad", 3, e::l1_grad, "d = x - t; d == 0 ? +0 : d < 0 ? -g : g"),
    element_loss(Op::huber, "huber", 2, e::huber, {g::huber, Op::huber_grad},
                 "d = x - t; rowsum(|d| <= delta ? (0.5*d)*d : delta*(|d| - 0.5*delta))")
        .with(kHuber),
    element_loss_grad(Op::huber_grad, "huber_grad", 3, e::huber_grad, "clamp(x - t, -delta, delta) * g")
        .with(kHuber),
    element_loss(Op::binary_cross_entropy, "binary_cross_entropy", {2, 3}, e::binary_cross_entropy,
                 {g::binary_cross_entropy, Op::binary_cross_entropy_grad},
                 "rowsum(weight * t * softplus(-x) + (1 - t) * softplus(x))"),
    element_loss_grad(Op::binary_cross_entropy_grad, "binary_cross_entropy_grad", {3, 4},
                      e::binary_cross_entropy_grad, "((1 - t) * sigmoid(x) - weight * t * sigmoid(-x)) * g"),

    row(Op::batch_norm, "batch_norm", 5, 1, Lowering::norm, s::batch_norm, e::batch_norm,
        {g::batch_norm, Op::batch_norm_grad},
        "x [N, C, ...], scale [C], bias [C], running mean [C], running variance [C]", "y [N, C, ...]",
        "rs = rsqrt(variance + epsilon); (((x - mean)*rs) * scale) + bias; a trainer takes the micro-batch's "
        "statistics and lets the running ones follow")
        .with(kBatchNorm)
        .overwriting(kFirst)
        .recomputed(),
    row(Op::batch_statistics, "batch_statistics", 1, 2, Lowering::norm, s::batch_statistics,
        e::batch_statistics, kOfBatchNorm, "x [N, C, ...]", "mean [C], variance [C]",
        "mean = chansum(x)/n; d = x - mean; chansum(d*d)/n; chansum: rowsum of planes, then colsum over N")
        .engines_own(),
    row(Op::batch_norm_train, "batch_norm_train", 5, 1, Lowering::norm, s::batch_norm, e::batch_norm,
        {g::batch_norm_train, Op::batch_norm_grad},
        "x [N, C, ...], scale [C], bias [C], mean [C] and variance [C] of x", "y [N, C, ...]",
        "batch_norm, whose gradient goes through the statistics too")
        .with(kEpsilon)
        .overwriting(kFirst)
        .recomputed()
        .engines_own(),
    row(Op::batch_norm_grad, "batch_norm_grad", 5, 3, Lowering::norm, s::batch_norm_grad, e::batch_norm_grad,
        kSecond, "dy [N, C, ...], x [N, C, ...], scale [C], mean [C], variance [C]",
        "dx [N, C, ...], dscale [C], dbias [C]",
        "xh = (x-mean)*rs; dscale = chansum(dy*xh); dbias = chansum(dy); ((dy - dbias/n) - xh*(dscale/n)) * "
        "(scale*rs); frozen: dy * (scale*rs)")
        .with(kBatchNormGrad)
        .overwriting(kFirstTwo, 0),
    row(Op::group_norm, "group_norm", 3, 3, Lowering::norm, s::group_norm, e::group_norm,
        {g::group_norm, Op::group_norm_grad}, "x [N, C, ...], scale [C], bias [C]",
        "y [N, C, ...], mean [N, G], rs [N, G]",
        "layer_norm of the C/G channels of a group as one row, with a scale and a bias per channel")
        .with(kGroupNorm)
        .recomputed(),
    row(Op::instance_norm, "instance_norm", 3, 3, Lowering::norm, s::instance_norm, e::group_norm,
        {g::group_norm, Op::group_norm_grad}, "x [N, C, ...], scale [C], bias [C]",
        "y [N, C, ...], mean [N, C], rs [N, C]", "group_norm of C groups")
        .with(kEpsilon)
        .recomputed(),
    row(Op::group_norm_grad, "group_norm_grad", 5, 3, Lowering::norm, s::group_norm_grad, e::group_norm_grad,
        kSecond, "dy [N, C, ...], x [N, C, ...], scale [C], mean [N, G], rs [N, G]",
        "dx [N, C, ...], dscale [C], dbias [C]",
        "dx as layer_norm_grad over the group; dscale = chansum(dy * ((x-mean)*rs)); dbias = chansum(dy)")
        .with(kNormGroups)
        .overwriting(kFirst, 0),

    row(Op::swiglu, "swiglu", 1, 1, Lowering::pairs, s::swiglu, e::swiglu, g::swiglu, "x [..., 2n]",
        "y [..., n]", "a, b the halves of x; silu(a) * b")
        .recomputed(),
    row(Op::swiglu_grad, "swiglu_grad", 2, 1, Lowering::pairs, s::swiglu_grad, e::swiglu_grad, kSecond,
        "x [..., 2n], dy [..., n]", "dx [..., 2n]", "da = silu_grad(a, dy*b); db = dy * silu(a)")
        .overwriting(kFirst),
    row(Op::rotary_table, "rotary_table", {0, 1}, 1, Lowering::pairs, s::rotary_table, e::rotary_table,
        "its frequencies cannot be trained", "[frequencies [d/2]: radians per position]", "table [limit, d]",
        "row p: cos(p*f_i) * scale of the d/2 pairs, then sin(p*f_i) * scale; in double, rounded once")
        .with(kRotaryTable)
        .always_folded(),
    row(Op::rotary, "rotary", 3, 1, Lowering::pairs, s::rotary, e::rotary, g::rotary,
        "x [..., n], positions i32 [...], table [limit, d], n >= heads*width, width >= d", "y [..., n]",
        "c, s of the row's position; x0*c - x1*s, x0*s + x1*c")
        .with(kRotary)
        .overwriting(kFirst)
        .with_ids({1, 0, 2, 0}),

    row(Op::sum, "sum", 1, 1, Lowering::reduction, s::reduction, e::sum, g::sum, "x", "y",
        "the sum over axes")
        .with(kSum),
    row(Op::mean, "mean", 1, 1, Lowering::reduction, s::reduction, e::mean, g::mean, "x", "y",
        "the sum over axes, divided by the number of its elements")
        .with(kReduction),
    row(Op::max, "max", 1, 1, Lowering::reduction, s::extremum, e::max, g::extremum, "x", "y",
        "the largest over axes; NaN if there is one; zero is +0")
        .with(kReduction),
    row(Op::min, "min", 1, 1, Lowering::reduction, s::extremum, e::min, g::extremum, "x", "y",
        "the smallest over axes; NaN if there is one; zero is +0")
        .with(kReduction),
    row(Op::max_grad, "max_grad", 3, 1, Lowering::reduction, s::max_grad, e::max_grad, kSecond,
        "x, y = max or min of x, dy", "dx, of x's shape",
        "dy at the lowest index where x equals y (NaN equals NaN), else +0")
        .with(kReduction),
    row(Op::argmax, "argmax", 1, 1, Lowering::row, s::argmax, e::argmax, kWhole, "x [..., n]", "y i32 [...]",
        "index of the largest; NaN counts as the largest; ties take the lowest")
        .of(Whole::index),

    row(Op::reshape, "reshape", 1, 1, Lowering::alias, s::reshape, e::reshape, g::reshape, "x (f32 or i32)",
        "y", "the same elements in the same order")
        .with(kReshape)
        .of(Whole::of_inputs),
    row(Op::transpose, "transpose", 1, 1, Lowering::movement, s::transpose, e::transpose, g::transpose,
        "x (f32 or i32)", "y", "the axes in another order")
        .with(kTranspose)
        .of(Whole::of_inputs),
    row(Op::concat, "concat", {1, kAnyCount}, 1, Lowering::movement, s::concat, e::concat, g::concat,
        "x, ... (f32 or i32)", "y", "one behind the other along axis")
        .with(kConcat)
        .of(Whole::of_inputs),
    row(Op::slice, "slice", 1, 1, Lowering::movement, s::slice, e::slice, g::slice, "x (f32 or i32)", "y",
        "indices begin .. end-1 of axis")
        .with(kSlice)
        .of(Whole::of_inputs)
        .costing(c::part),
    row(Op::slice_grad, "slice_grad", 1, 1, Lowering::movement, s::slice_grad, e::slice_grad, g::slice_grad,
        "dy", "dx", "dy at begin along axis, else +0")
        .with(kSliceGrad),
    row(Op::pad, "pad", 1, 1, Lowering::axis_map, s::pad, e::pad, {g::pad, Op::pad_grad}, "x", "y",
        "x with elements around it: a constant, x mirrored at its outermost elements, or those repeated")
        .with(kPad),
    row(Op::pad_grad, "pad_grad", 1, 1, Lowering::axis_map, s::pad_grad, e::pad_grad, kSecond, "dy", "dx",
        "of the first axis, then the next: +0, then + dy of each element that is a copy of it, ascending")
        .with(kPadGrad),
    row(Op::broadcast_to, "broadcast_to", 1, 1, Lowering::movement, s::broadcast_to, e::broadcast_to,
        g::broadcast_to, "x (f32 or i32)", "y", "axes of extent 1, or missing ones, repeated")
        .with(kBroadcastTo)
        .of(Whole::of_inputs),
    row(Op::position_ids, "position_ids", {1, 2}, 1, Lowering::movement, s::position_ids, e::position_ids,
        kWhole, "ids i32 [..., T] [, starts i32 [..., T], of documents]", "y i32 [..., T]",
        "t = 0 .. T-1 along the last axis, less min(starts, t)")
        .with(kPositions)
        .of(Whole::index)
        .with_ids(kStartsOfPositions),
    row(Op::gather, "gather", 2, 1, Lowering::gather, s::gather, e::gather, g::gather,
        "table [V, d], ids i32 [...]", "y [..., d]", "row ids of the table")
        .costing(c::part)
        .reading_stored(0)
        .with_ids({1, 0, 0, 0}),
    row(Op::embedding_gradient, "embedding_gradient", {2, 3}, 1, Lowering::embedding_gradient,
        s::embedding_gradient, e::embedding_gradient, kSecond, "ids i32 [...], dy [..., d] [, base [V, d]]",
        "dtable [V, d]",
        "row v: +0, then + dy of every position with id v, ascending; base + row on rows with ids")
        .with(kEmbedding)
        .overwriting(kThird)
        .with_ids({0, 0, -1, 0, 1, Attr::rows}),

    row(Op::matmul, "matmul", {2, kAnyCount}, -1, Lowering::product, s::matmul, e::matmul, g::matmul,
        "a [..., k], b [k, n]; or both [..., ., .], batched; [, operands of the epilogue]", "y [..., n]",
        "segmented chains over k; transpose_a: a [..., m], b [..., n], y [m, n], k over all leading axes")
        .with(kMatmul)
        .costing(c::product)
        .overwriting(kBehindFactors)
        .with_body()
        .reading_stored(1),
    row(Op::weight_gradient, "weight_gradient", 2, 2, Lowering::product, s::weight_gradient,
        e::weight_gradient, kSecond, "x [..., m], dy [..., n]", "dweight [m, n], dbias [n]",
        "matmul(x, dy) with transpose_a; colsum(dy)")
        .with(kAccumulate)
        .costing(c::product),
    row(Op::weight_gradient_into, "weight_gradient_into", 3, 1, Lowering::product, s::weight_gradient_into,
        e::weight_gradient_into, kPass, "x [..., m], dy [..., n], sum [m, n]", "dweight [m, n]",
        "matmul(x, dy) with transpose_a, whose chains go on from sum")
        .with(kAccumulate)
        .overwriting(kThird)
        .costing(c::product)
        .engines_own(),
    row(Op::attention, "attention", {1, 5}, 3, Lowering::attention, s::attention, e::attention, g::attention,
        "q [B, T, heads*d], k and v [B, T, kv_heads*d], or packed qkv [B, T, (heads+2*kv_heads)*d]; starts "
        "i32 [B, T] with documents; random i32 [3] when probability > 0",
        "o [B, T, heads*d], m [B, heads, T], l [B, heads, T]",
        "p = softmax(cap(q k' * scale)) over the allowed keys; o = dropout(p) v")
        .with(kAttention)
        .drawing()
        .costing(c::attention)
        .with_ids(kStartsOfAttention),
    row(Op::attention_grad, "attention_grad", {5, 9}, -1, Lowering::attention_grad, s::attention_grad,
        e::attention_grad, kSecond,
        "q, k, v, or packed qkv; o, m, l, do; starts with documents; random when probability > 0",
        "dq, dk, dv, or packed dqkv", "docs/numerics.md, 4")
        .with(kAttention)
        .drawing()
        .costing(c::attention_grad)
        .with_ids(kStartsOfAttention),
    row(Op::cached_attention, "cached_attention", {5, 7}, 3, Lowering::cached_attention, s::cached_attention,
        e::cached_attention, kDecoding,
        "keys [S, kv_heads, C/16, d, 16], values [S, kv_heads, ceil(d/16), C, 16], slots i32 [...] (-1: no "
        "token), positions i32 [...], then q [..., heads*d], k and v [..., kv_heads*d], or packed qkv [..., "
        "(heads+2*kv_heads)*d]",
        "o [..., heads*d], keys, values",
        "every row's k and v enter its slot at its position; then o = softmax(cap(q k' * scale)) v over the "
        "slot's positions 0 .. its own")
        .with(kCachedAttention)
        .updates(-1, 0, 1)
        .costing(c::unknown)
        .with_ids({2, -1, 0, 0}, {3, 0, 0, 2, kCachePanelExtent}),

    row(Op::conv, "conv", {2, kAnyCount}, -1, Lowering::convolution, s::conv, e::conv, g::conv,
        "x [N, groups*C, spatial], weight [O, C, kernel] [, bias [O], or operands of the epilogue]",
        "y [N, O, spatial]", "segmented chains over (channel, tap) of weight and padded picture; + bias")
        .with(kConv)
        .costing(c::convolution)
        .overwriting(kBehindFactors)
        .with_body(),
    row(Op::conv_transpose, "conv_transpose", {2, kAnyCount}, -1, Lowering::convolution, s::conv_transpose,
        e::conv_transpose, g::conv_transpose,
        "x [N, O, spatial], weight [O, C, kernel] [, bias [groups*C], or operands of the epilogue]",
        "y [N, groups*C, spatial]",
        "segmented chains over (filter, tap) of weight and the outputs that meet the tap here; + bias")
        .with(kConvTranspose)
        .costing(c::convolution)
        .overwriting(kBehindFactors)
        .with_body(),
    row(Op::conv_grad_weight, "conv_grad_weight", 2, 1, Lowering::convolution, s::conv_grad_weight,
        e::conv_grad_weight, kSecond, "x [N, groups*C, spatial], dy [N, O, spatial]",
        "dweight [O, C, kernel]", "segmented chains over (n, output pixel) of dy and the tap's pixel")
        .with(kConvGradWeight)
        .costing(c::convolution),
    row(Op::conv_grad_bias, "conv_grad_bias", 1, 1, Lowering::convolution, s::conv_grad_bias,
        e::conv_grad_bias, kSecond, "dy [N, O, spatial]", "dbias [O]", "column sum over (n, output pixel)")
        .with(kAccumulate),
    row(Op::max_pool, "max_pool", 1, 1, Lowering::pooling, s::max_pool, e::max_pool,
        {g::max_pool, Op::max_pool_grad}, "x [N, C, spatial]", "y [N, C, spatial]",
        "the largest of each window; NaN if there is one; zero is +0")
        .with(kMaxPool),
    row(Op::max_pool_grad, "max_pool_grad", 3, 1, Lowering::pooling, s::max_pool_grad, e::max_pool_grad,
        kSecond, "x [N, C, spatial], y [N, C, spatial], dy of y's shape", "dx [N, C, spatial]",
        "+0, then + dy of each window whose first element equal to y it is (NaN equals NaN), ascending")
        .with(kMaxPool),
    row(Op::average_pool, "average_pool", 1, 1, Lowering::pooling, s::average_pool, e::average_pool,
        {g::average_pool, Op::average_pool_grad}, "x [N, C, spatial]", "y [N, C, spatial]",
        "+0, then + each element of the window; divided by their number")
        .with(kAveragePool),
    row(Op::average_pool_grad, "average_pool_grad", 1, 1, Lowering::pooling, s::average_pool_grad,
        e::average_pool_grad, kSecond, "dy [N, C, spatial]", "dx [N, C, spatial]",
        "+0, then + dy / number of each window that holds it, ascending")
        .with(kAveragePoolGrad),

    row(Op::resize, "resize", 1, 1, Lowering::axis_map, s::resize, e::resize, {g::resize, Op::resize_grad},
        "x [N, C, spatial]", "y [N, C, spatial]",
        "of the last axis, then the one before: the element at floor(o * in / out), or linear between two")
        .with(kResize),
    row(Op::resize_grad, "resize_grad", 1, 1, Lowering::axis_map, s::resize_grad, e::resize_grad, kSecond,
        "dy [N, C, spatial]", "dx [N, C, spatial]",
        "of the first axis, then the next: +0, then + dy, or fma(weight, dy, .), of each that it is part of")
        .with(kResizeGrad),
    row(Op::accumulate, "accumulate", 1, 1, Lowering::elementwise, s::same, e::accumulate, kTrainer,
        "x [...]", "y [...]", "the sum over micro-batches: the first is stored, later ones are added")
        .over_micro_batches(MicroBatches::added),
    row(Op::stack, "stack", 1, 1, Lowering::movement, s::stack, e::stack, kTrainer, "x [m, ...] (f32 or i32)",
        "y [M*m, ...]", "the micro-batches one behind the other")
        .with(kStack)
        .of(Whole::of_inputs)
        .over_micro_batches(MicroBatches::stacked),
    row(Op::running_statistics, "running_statistics", 4, 2, Lowering::norm, s::running_statistics,
        e::running_statistics, kTrainer, "running mean [C], running variance [C], mean [C], variance [C]",
        "running mean [C], running variance [C]",
        "m = fma(momentum, mean - m, m); v = fma(momentum, variance*(n/(n-1)) - v, v), for each micro-batch")
        .with(kRunningStatistics)
        .over_micro_batches(MicroBatches::added),
    row(Op::square_sum, "square_sum", 1, 1, Lowering::reduction, s::to_scalar, e::square_sum, g::square_sum,
        "x", "y []", "rowsum(x*x) over all elements"),
    row(Op::clip_factor, "clip_factor", 1, 1, Lowering::elementwise, s::clip_factor, e::elementwise, kTrainer,
        "norm []", "f []", "norm > maximum_norm ? maximum_norm / norm : 1")
        .with(kClip)
        .overwriting(kAny),
    row(Op::assign, "assign", 2, 1, Lowering::update, s::assign, e::assign, kTrainer, "w [...], value [...]",
        "w", "the value")
        .updates(0, -1, -1)
        .engines_own(),
    update(Op::sgd, "sgd", 5, 2, e::sgd, "w, g, v, factors [3] = {lr, mu, wd}, clip []", "w, v",
           "g = fma(wd, w, g*clip); v = fma(mu, v, g); w = fma(-lr, nesterov ? fma(mu, v, g) : v, w)")
        .with(kSgd)
        .updates(0, 2, -1),
    update(Op::sgd_plain, "sgd_plain", 4, 1, e::sgd_plain, "w, g, factors [2] = {lr, wd}, clip []", "w",
           "sgd without momentum: w = fma(-lr, fma(wd, w, g*clip), w)")
        .updates(0, -1, -1),
    update(Op::adam, "adam", 6, 3, e::adam,
           "w, g, m, v, factors [8] = {a, r2, wd, b1, b2, q1, q2, eps}, clip []", "w, m, v",
           "g = fma(wd, w, g*clip), then as adamw with k = 1")
        .updates(0, 2, 3),
    update(Op::adamw, "adamw", 6, 3, e::adamw,
           "w, g, m, v, factors [8] = {a, r2, k, b1, b2, q1, q2, eps}, clip []", "w, m, v",
           "g = g*clip; m = fma(b1, m, q1*g); v = fma(b2, v, (q2*g)*g); w = fma(-a, m / fma(sqrt(v), r2, "
           "eps), w*k)")
        .updates(0, 2, 3),
    update(Op::adagrad, "adagrad", 5, 2, e::adagrad, "w, g, h, factors [3] = {lr, wd, eps}, clip []", "w, h",
           "g = fma(wd, w, g*clip); h = fma(g, g, h); w = fma(-lr, g / (sqrt(h) + eps), w)")
        .updates(0, 2, -1),
};

constexpr bool rows_stand_in_order() {
    for (int i = 0; i < kOpCount; ++i)
        if (kRows[i].op != static_cast<Op>(i)) return false;
    return true;
}
static_assert(sizeof kRows / sizeof *kRows == kOpCount, "one row per Op");
static_assert(rows_stand_in_order(), "rows in the order of Op");

constexpr bool rows_are_complete() {
    for (const OpRow& row : kRows) {
        const bool is_source = row.lowering == Lowering::source;
        if (row.evaluate == nullptr && !is_source) return false;
        if ((row.gradient == nullptr) == (row.no_gradient == nullptr)) return false;
        if (row.fuses && row.lowering != Lowering::elementwise) return false;
        if (row.fuses && row.overwrites.inputs != kAny) return false;
        if (row.fuses_rows && (row.lowering != Lowering::row || row.ids[0].input >= 0)) return false;
        if (row.recompute && row.random) return false;
        if (row.commutes && row.min_inputs != 2) return false;
        for (const IdInput& ids : row.ids)
            if (ids.input >= row.max_inputs || ids.table >= row.max_inputs || ids.unit < 1) return false;
    }
    return true;
}
static_assert(rows_are_complete(), "every row says all that is asked of its kind");

}  // namespace

const OpRow& op_row(Op op) { return kRows[static_cast<int>(op)]; }

}  // namespace volta
