#include "engine/backend/lower/row_programs.h"

#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/graph/elementwise.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

using Int = jit::Int;
using Mask = jit::Mask;
using Real = jit::Real;

// ---- Elementwise ------------------------------------------------------------------------------------------

// What a definition of engine/graph/elementwise.h sees.
struct RecordedElement {
    jit::Builder& m;
    RowScope& scope;

    Real real(int input) { return scope.in(input); }
    Int whole(int input) { return scope.in_int(input); }
    double number(Attr key) const { return scope.number(key); }
    Int random(std::uint32_t stream) {
        const PhiloxKey<Int> key{scope.in_int(1, 0), scope.in_int(1, 1)};
        const Int step = scope.in_int(1, 2), row = m.row_index(), column = m.column_index();
        const Int last_word = m.integer(purpose_and_stream(Purpose::dropout, stream));
        return element_bits(m, row, column, step, last_word, key);
    }
};

struct RecordedElements {
    using Scope = RecordedElement;
    template <Op op>
    static void run(RowScope& s) {
        RecordedElement element{s.b, s};
        s.out(0, elementwise::define(elementwise::Is<op>{}, element));
    }
};

// ---- Rows -------------------------------------------------------------------------------------------------

void define_softmax(RowScope& s) {
    const Real x = s.in(0);
    const Real e = exp(s.b, x - s.b.row_max(x));
    s.out(0, e / s.b.row_sum(e));
}

void define_softmax_grad(RowScope& s) {
    const Real p = s.in(0), dp = s.in(1);
    s.out(0, p * (dp - s.b.row_sum(p * dp)));
}

void define_log_softmax(RowScope& s) {
    const Real x = s.in(0);
    const Real d = x - s.b.row_max(x);
    s.out(0, d - log(s.b, s.b.row_sum(exp(s.b, d))));
}

void define_log_softmax_grad(RowScope& s) {
    const Real y = s.in(0), dy = s.in(1), p = exp(s.b, y);
    s.out(0, dy - p * s.b.row_sum(dy));
}

void define_layer_norm(RowScope& s) {
    const Real x = s.in(0), scale = s.in(1), bias = s.in(2);
    const Real n = s.b.row_length(), epsilon = s.b.real(s.number(Attr::epsilon));
    const Real mean = s.b.row_sum(x) / n;
    const Real d = x - mean;
    const Real variance = s.b.row_sum(d * d) / n;
    const Real rs = rsqrt(s.b, variance + epsilon);
    s.out(0, ((d * rs) * scale) + bias);
    s.out(1, mean);
    s.out(2, rs);
}

void define_layer_norm_grad(RowScope& s) {
    const Real dy = s.in(0), x = s.in(1), scale = s.in(2), mean = s.in(3), rs = s.in(4), n = s.b.row_length();
    const Real dh = dy * scale, xh = (x - mean) * rs;
    const Real a1 = s.b.row_sum(dh) / n, a2 = s.b.row_sum(dh * xh) / n;
    const Real centred = dh - a1;
    s.out(0, (centred - xh * a2) * rs);
}

void define_layer_norm_grad_scale(RowScope& s) {
    const Real dy = s.in(0), x = s.in(1), mean = s.in(2), rs = s.in(3);
    s.column_sum(0, dy * ((x - mean) * rs));
}

void define_layer_norm_grad_columns(RowScope& s) {
    const Real dy = s.in(0), x = s.in(1), mean = s.in(2), rs = s.in(3);
    s.column_sum(0, dy * ((x - mean) * rs));
    s.column_sum(1, dy);
}

void define_rms_norm(RowScope& s) {
    const Real x = s.in(0), scale = s.in(1);
    const Real n = s.b.row_length(), epsilon = s.b.real(s.number(Attr::epsilon));
    const Real mean = s.b.row_sum(x * x) / n;
    const Real r = rsqrt(s.b, mean + epsilon);
    s.out(0, (x * r) * scale);
    s.out(1, r);
}

void define_rms_norm_grad(RowScope& s) {
    const Real dy = s.in(0), x = s.in(1), scale = s.in(2), r = s.in(3);
    const Real dh = dy * scale, xh = x * r, n = s.b.row_length();
    const Real a2 = s.b.row_sum(dh * xh) / n;
    s.out(0, (dh - xh * a2) * r);
}

void define_rms_norm_grad_scale(RowScope& s) {
    const Real dy = s.in(0), x = s.in(1), r = s.in(2);
    s.column_sum(0, dy * (x * r));
}

constexpr std::uint32_t kIgnored = 0xffffffffu;  // target -1

// Targets are checked when they come from the host (Plan::limits): -1 or a column.
Real zero_if_ignored(RowScope& s, Int target, Real value) {
    const Real zero = s.b.real(0);
    const Int none = s.b.integer(kIgnored);
    return s.b.select(s.b.iequal(target, none), zero, value);
}

// The target's weight, of input `weights`, one per class: one element and zeros, of which the sum is the
// element itself and +0 for -0.
Real class_weight(RowScope& s, Int target, int weights) {
    const Real zero = s.b.real(0), weight = s.in(weights);
    const Int column = s.b.column_index();
    return s.b.row_sum(s.b.select(s.b.iequal(column, target), weight, zero));
}

// How much of a smoothed target stays, and what every class gets.
struct Smoothing {
    Real keep, share;
};
Smoothing smoothing_of(RowScope& s, double smoothing) {
    const Real keep = s.b.real(1 - smoothing), all = s.b.real(smoothing);
    return {keep, all / s.b.row_length()};
}

// Of a row with maximum m and the sum of exp(x - m). Input `weights`, where there is one: of the classes.
Real class_loss(RowScope& s, Real x, Int target, Real m, Real sum, int weights) {
    // One element and zeros: the sum is the element itself (a -0 becomes +0, which no later rounding can
    // see).
    const Real zero = s.b.real(0);
    const Int column = s.b.column_index();
    const Real chosen = s.b.row_sum(s.b.select(s.b.iequal(column, target), x, zero));
    const Real log_sum = log(s.b, sum);
    Real loss = log_sum - (chosen - m);
    if (s.has(weights)) loss = class_weight(s, target, weights) * loss;
    if (const double smoothing = s.number(Attr::label_smoothing); smoothing != 0) {
        const Smoothing smooth = smoothing_of(s, smoothing);
        Real each = log_sum - (x - m);
        if (s.has(weights)) each = s.in(weights)*each;
        const Real kept = smooth.keep * loss;
        loss = kept + smooth.share * s.b.row_sum(each);
    }
    return zero_if_ignored(s, target, loss);
}

// e is exp(x - m).
Real class_gradient(RowScope& s, Real e, Int target, Real sum, Real g, int weights) {
    const Real p = e / sum, one = s.b.real(1), zero = s.b.real(0);
    const Int column = s.b.column_index();
    const double smoothing = s.number(Attr::label_smoothing);
    if (smoothing == 0) {
        const Real hit = s.b.select(s.b.iequal(column, target), one, zero);
        const Real d = p - hit;
        const Real weighted = s.has(weights) ? d * class_weight(s, target, weights) : d;
        return zero_if_ignored(s, target, weighted * g);
    }
    const Smoothing smooth = smoothing_of(s, smoothing);
    const Real of_target = smooth.keep + smooth.share;
    const Real q = s.b.select(s.b.iequal(column, target), of_target, smooth.share);
    if (!s.has(weights)) return zero_if_ignored(s, target, (p - q) * g);
    const Real kept = smooth.keep * class_weight(s, target, weights), weight = s.in(weights);
    const Real total = kept + smooth.share * s.b.row_sum(weight);
    const Real predicted = p * total, wanted = weight * q;
    return zero_if_ignored(s, target, (predicted - wanted) * g);
}

void define_cross_entropy(RowScope& s) {
    const Real x = s.in(0);
    const Int target = s.in_int(1);
    const Real m = s.b.row_max(x);
    const Real sum = s.b.row_sum(exp(s.b, x - m));
    s.out(0, class_loss(s, x, target, m, sum, 2));
    s.out(1, m);
    s.out(2, sum);
}

void define_cross_entropy_grad(RowScope& s) {
    const Real x = s.in(0), m = s.in(2), sum = s.in(3), g = s.in(4);
    const Int target = s.in_int(1);
    s.out(0, class_gradient(s, exp(s.b, x - m), target, sum, g, 5));
}

void define_cross_entropy_with_grad(RowScope& s) {
    const Real x = s.in(0), g = s.in(2);
    const Int target = s.in_int(1);
    const Real m = s.b.row_max(x);
    const Real e = exp(s.b, x - m);
    const Real sum = s.b.row_sum(e);
    s.out(0, class_loss(s, x, target, m, sum, 3));
    s.out(1, class_gradient(s, e, target, sum, g, 3));
}

void define_mse(RowScope& s) {
    const Real x = s.in(0), target = s.in(1);
    const Real d = x - target;
    s.out(0, s.b.row_sum(d * d));
}

void define_mse_grad(RowScope& s) {
    const Real x = s.in(0), target = s.in(1), g = s.in(2);
    s.out(0, (x - target) * g);
}

void define_l1(RowScope& s) {
    const Real x = s.in(0), target = s.in(1);
    s.out(0, s.b.row_sum(s.b.abs(x - target)));
}

void define_l1_grad(RowScope& s) {
    const Real x = s.in(0), target = s.in(1), g = s.in(2);
    s.out(0, l1_slope(s.b, x - target, g));
}

void define_huber(RowScope& s) {
    const Real x = s.in(0), target = s.in(1);
    s.out(0, s.b.row_sum(huber_loss(s.b, x - target, s.number(Attr::delta))));
}

void define_huber_grad(RowScope& s) {
    const Real x = s.in(0), target = s.in(1), g = s.in(2);
    s.out(0, huber_slope(s.b, x - target, s.number(Attr::delta), g));
}

void define_binary_cross_entropy(RowScope& s) {
    const Real x = s.in(0), target = s.in(1);
    const Real weight = s.has(2) ? s.in(2) : x;
    s.out(0, s.b.row_sum(logit_loss(s.b, x, target, s.has(2) ? &weight : nullptr)));
}

void define_binary_cross_entropy_grad(RowScope& s) {
    const Real x = s.in(0), target = s.in(1), g = s.in(2);
    const Real weight = s.has(3) ? s.in(3) : x;
    s.out(0, logit_slope(s.b, x, target, s.has(3) ? &weight : nullptr, g));
}

void define_argmax(RowScope& s) { s.out(0, s.b.row_argmax(s.in(0))); }

// The lowest column in which x is the extremum y, of a row that holds it; NaN equals NaN.
void define_max_grad(RowScope& s) {
    const Real x = s.in(0), y = s.in(1), dy = s.in(2), zero = s.b.real(0), one = s.b.real(1);
    const Mask equal = s.b.equal(x, y), x_nan = s.b.is_nan(x), y_nan = s.b.is_nan(y);
    const Mask same = s.b.either(equal, s.b.both(x_nan, y_nan));
    const Int first = s.b.row_argmax(s.b.select(same, one, zero)), column = s.b.column_index();
    const Mask here = s.b.both(same, s.b.iequal(column, first));
    s.out(0, s.b.select(here, dy, zero));
}

// ---- Updates ----------------------------------------------------------------------------------------------

void define_assign(RowScope& s) { s.out(0, s.in(1)); }

// Inputs of optimizers: w, g, states, factors (engine/graph/op_table.cpp names them), clip.
void define_sgd(RowScope& s) {
    jit::Builder& b = s.b;
    const Real w = s.in(0), lr = s.in(3, 0), mu = s.in(3, 1), wd = s.in(3, 2);
    const Real gradient = s.in(1), velocity = s.in(2), clip = s.in(4);
    const Real g = b.fma(wd, w, gradient * clip);
    const Real v = b.fma(mu, velocity, g);
    const Real u = s.number(Attr::nesterov) != 0 ? b.fma(mu, v, g) : v;
    s.out(0, b.fma(b.neg(lr), u, w));
    s.out(1, v);
}

void define_sgd_plain(RowScope& s) {
    jit::Builder& b = s.b;
    const Real w = s.in(0), gradient = s.in(1), lr = s.in(2, 0), wd = s.in(2, 1), clip = s.in(3);
    s.out(0, b.fma(b.neg(lr), b.fma(wd, w, gradient * clip), w));
}

// decoupled: AdamW, whose third factor scales w; else Adam, whose third factor adds the decay to the
// gradient.
template <bool kDecoupled>
void define_adam(RowScope& s) {
    jit::Builder& b = s.b;
    const Real w = s.in(0), a = s.in(4, 0), r2 = s.in(4, 1), third = s.in(4, 2);
    const Real b1 = s.in(4, 3), b2 = s.in(4, 4), q1 = s.in(4, 5), q2 = s.in(4, 6), eps = s.in(4, 7);
    const Real gradient = s.in(1), first_moment = s.in(2), second_moment = s.in(3), clip = s.in(5);
    const Real clipped = gradient * clip;
    const Real g = kDecoupled ? clipped : b.fma(third, w, clipped);
    const Real m = b.fma(b1, first_moment, q1 * g);
    const Real v = b.fma(b2, second_moment, (q2 * g) * g);
    const Real u = m / b.fma(b.sqrt(v), r2, eps);
    const Real kept = kDecoupled ? w * third : w;
    s.out(0, b.fma(b.neg(a), u, kept));
    s.out(1, m);
    s.out(2, v);
}

void define_adagrad(RowScope& s) {
    jit::Builder& b = s.b;
    const Real w = s.in(0), lr = s.in(3, 0), wd = s.in(3, 1), eps = s.in(3, 2);
    const Real gradient = s.in(1), history = s.in(2), clip = s.in(4);
    const Real g = b.fma(wd, w, gradient * clip);
    const Real h = b.fma(g, g, history);
    const Real u = g / (b.sqrt(h) + eps);
    s.out(0, b.fma(b.neg(lr), u, w));
    s.out(1, h);
}

// ---- The table --------------------------------------------------------------------------------------------

// clang-format off
constexpr RowDefinition kDefinitions[] = {  // of operators that are not elementwise
    {Op::softmax,                "f",     "f",   define_softmax},
    {Op::softmax_grad,           "f",     "f",   define_softmax_grad},
    {Op::log_softmax,            "f",     "f",   define_log_softmax},
    {Op::log_softmax_grad,       "f",     "f",   define_log_softmax_grad},
    {Op::layer_norm,             "fc",    "frr", define_layer_norm},
    {Op::layer_norm_grad,        "ffcrr", "f",   define_layer_norm_grad},
    {Op::layer_norm_grad_scale,  "ffrr",  "c",   define_layer_norm_grad_scale},
    {Op::layer_norm_grad_columns, "ffrr", "c",  define_layer_norm_grad_columns},
    {Op::rms_norm,               "fc",    "fr",  define_rms_norm},
    {Op::rms_norm_grad,          "ffcr",  "f",   define_rms_norm_grad},
    {Op::rms_norm_grad_scale,    "ffr",   "c",   define_rms_norm_grad_scale},
    {Op::cross_entropy,          "frc",   "rrr", define_cross_entropy},
    {Op::cross_entropy_grad,     "frrrgc","f",   define_cross_entropy_grad},
    {Op::cross_entropy_with_grad,"frgc",  "rf",  define_cross_entropy_with_grad},
    {Op::mse,                    "f",     "r",   define_mse},
    {Op::mse_grad,               "ffg",   "f",   define_mse_grad},
    {Op::l1,                     "f",     "r",   define_l1},
    {Op::l1_grad,                "ffg",   "f",   define_l1_grad},
    {Op::huber,                  "f",     "r",   define_huber},
    {Op::huber_grad,             "ffg",   "f",   define_huber_grad},
    {Op::binary_cross_entropy,   "ffc",   "r",   define_binary_cross_entropy},
    {Op::binary_cross_entropy_grad, "ffgc", "f", define_binary_cross_entropy_grad},
    {Op::argmax,                 "f",     "r",   define_argmax},
    {Op::max_grad,               "fr",    "f",   define_max_grad},

    {Op::assign,    "f",     "f", define_assign},
    {Op::sgd,       "fffs",  "f", define_sgd},
    {Op::sgd_plain, "ffs",   "f", define_sgd_plain},
    {Op::adam,      "ffffs", "f", define_adam<false>},
    {Op::adamw,     "ffffs", "f", define_adam<true>},
    {Op::adagrad,   "fffs",  "f", define_adagrad},
};
// clang-format on

// The whole table, by Op; of others than these two kinds `define` is NULL.
struct Definitions {
    RowDefinition of[kOpCount] = {};
    constexpr Definitions() {
        const auto elements = elementwise::all_functions<RecordedElements>();
        for (int i = 0; i < kOpCount; ++i) {
            const Op op = static_cast<Op>(i);
            of[i] = {op, "b", "f", elements[static_cast<std::size_t>(i)]};
        }
        of[static_cast<int>(Op::dropout)].inputs = "bs";
        for (const RowDefinition& row : kDefinitions) of[static_cast<int>(row.op)] = row;
    }
};
constexpr Definitions kAll;

char letter(const char* letters, int index) {
    const int count = static_cast<int>(std::strlen(letters));
    return letters[index < count ? index : count - 1];
}

// ---- Assembling programs
// ------------------------------------------------------------------------------------

jit::Type type_of(const Graph& graph, ValueId value) {
    return graph.value(value).dtype == DType::f32 ? jit::Type::real : jit::Type::integer;
}

// A value of either type.
struct AnyValue {
    std::optional<Real> real;
    std::optional<Int> integer;
};

// Inputs are operands of the program, outputs are stored.
class NodeScope final : public RowScope {
  public:
    NodeScope(jit::Builder& builder, const Node& node, int first_output)
        : RowScope(builder, node.op, node.attributes, node.inputs.size()), first_output_(first_output) {}
    Real in(int input, std::uint32_t index) override { return b.load(input, index); }
    Int in_int(int input, std::uint32_t index) override { return b.load_int(input, index); }
    void out(int output, Real value) override { b.store(first_output_ + output, value); }
    void out(int output, Int value) override { b.store(first_output_ + output, value); }
    void column_sum(int output, Real value) override { b.column_sum(first_output_ + output, value); }

  private:
    int first_output_;
};

// Which operand of the program input `input` of a body's operation is, where it is one of the node's: ~i in
// the body.
class BodyOperands {
  public:
    virtual ~BodyOperands() = default;
    virtual int operand_of(const BodyOp& op, int input) const {
        return ~op.inputs[static_cast<std::size_t>(input)];
    }
};

// One operation of a body: an input is an operand or an earlier value, the outputs are further values.
class BodyScope final : public RowScope {
  public:
    BodyScope(jit::Builder& builder, const BodyOp& op, const BodyOperands& operands,
              std::pmr::vector<AnyValue>& values)
        : RowScope(builder, op.op, op.attributes, op.inputs.size()),
          op_(op),
          operands_(operands),
          values_(values),
          first_(values.size()) {
        values.resize(first_ + static_cast<std::size_t>(op_row(op.op).outputs));
    }
    Real in(int input, std::uint32_t index) override {
        const std::int32_t source = op_.inputs[static_cast<std::size_t>(input)];
        return source < 0 ? b.load(operands_.operand_of(op_, input), index)
                          : values_[static_cast<std::size_t>(source)].real.value();
    }
    Int in_int(int input, std::uint32_t index) override {
        const std::int32_t source = op_.inputs[static_cast<std::size_t>(input)];
        return source < 0 ? b.load_int(operands_.operand_of(op_, input), index)
                          : values_[static_cast<std::size_t>(source)].integer.value();
    }
    void out(int output, Real value) override {
        values_[first_ + static_cast<std::size_t>(output)].real = value;
    }
    void out(int output, Int value) override {
        values_[first_ + static_cast<std::size_t>(output)].integer = value;
    }
    void column_sum(int, Real) override { fail(VOLTA_INTERNAL, "a body holds no column sums"); }

  private:
    const BodyOp& op_;
    const BodyOperands& operands_;
    std::pmr::vector<AnyValue>& values_;
    const std::size_t first_;
};

const RowDefinition& definition_of(Op op) {
    const RowDefinition* definition = find_row_definition(op);
    if (definition == nullptr)
        fail(VOLTA_INTERNAL, "%s: it cannot be part of a row program", op_row(op).name);
    return *definition;
}

// Appends the body's operations. The program's outputs start at `first_output`.
void define_body(jit::Builder& builder, const Body& body, const BodyOperands& operands, int first_output,
                 std::pmr::memory_resource* heap) {
    std::pmr::vector<AnyValue> values(heap);
    for (const BodyOp& op : body.ops) {
        BodyScope scope(builder, op, operands, values);
        definition_of(op.op).define(scope);
    }
    for (std::size_t k = 0; k < body.results.size(); ++k) {
        if (body.results[k] < 0) continue;  // the product itself stays where it is
        const AnyValue& value = values[static_cast<std::size_t>(body.results[k])];
        const int operand = first_output + static_cast<int>(k);
        value.real ? builder.store(operand, *value.real) : builder.store(operand, *value.integer);
    }
}

void add_outputs(jit::Builder& builder, const Graph& graph, const Node& node, const jit::Access* accesses) {
    for (int k = 0; k < node.output_count; ++k)
        builder.output(accesses[k], type_of(graph, node.first_output + k));
}

}  // namespace

double RowScope::number(Attr key) const { return attribute_number(op_, attributes_, key); }

const RowDefinition* find_row_definition(Op op) {
    const RowDefinition& definition = kAll.of[static_cast<int>(op)];
    return definition.define != nullptr ? &definition : nullptr;
}

char input_letter(const RowDefinition& definition, int input) { return letter(definition.inputs, input); }
char output_letter(const RowDefinition& definition, int output) { return letter(definition.outputs, output); }

bool knows_position(const Node& node) {
    if (op_row(node.op).random) return true;
    for (const BodyOp& op : node.body.ops)
        if (op_row(op.op).random) return true;
    return false;
}

bool is_read_by_index(const Node& node, int input) {
    if (node.body.ops.empty()) {
        const RowDefinition* definition = find_row_definition(node.op);
        return definition != nullptr && input_letter(*definition, input) == 's';
    }
    const int operand = carries_product(node.op) ? input - 1 : input;
    for (const BodyOp& op : node.body.ops)
        for (std::size_t i = 0; i < op.inputs.size(); ++i)
            if (op.inputs[i] == ~operand && input_letter(definition_of(op.op), static_cast<int>(i)) == 's')
                return true;
    return false;
}

jit::Program make_row_program(const Graph& graph, const Node& node,
                              const std::pmr::vector<jit::Access>& accesses,
                              std::pmr::memory_resource* heap) {
    jit::Builder builder(heap);
    const std::size_t inputs = node.inputs.size();
    for (std::size_t i = 0; i < inputs; ++i) builder.input(accesses[i], type_of(graph, node.inputs[i]));
    add_outputs(builder, graph, node, accesses.data() + inputs);
    const int first_output = static_cast<int>(inputs);
    if (node.op == Op::fused) {
        define_body(builder, node.body, BodyOperands(), first_output, heap);
    } else {
        NodeScope scope(builder, node, first_output);
        definition_of(node.op).define(scope);
    }
    return builder.finish();
}

jit::Program make_epilogue_program(const Graph& graph, const Node& node,
                                   const std::pmr::vector<jit::Access>& accesses,
                                   std::pmr::memory_resource* heap) {
    jit::Builder builder(heap);
    const std::size_t inputs = node.inputs.size() - 1;  // the product, then the node's further inputs
    builder.input(accesses[0]);
    for (std::size_t i = 1; i < inputs; ++i) builder.input(accesses[i], type_of(graph, node.inputs[i + 1]));
    add_outputs(builder, graph, node, accesses.data() + inputs);
    define_body(builder, node.body, BodyOperands(), static_cast<int>(inputs), heap);
    return builder.finish();
}

// ---- Bodies of rows ---------------------------------------------------------------------------------------

namespace {

// The node's inputs as its operations see them.
class RowBodyOperands final : public BodyOperands {
  public:
    RowBodyOperands(const Graph& graph, const Node& node, const std::pmr::vector<RowOperand>& operands)
        : graph_(graph), node_(node), operands_(operands) {}

    RowOperand seen_by(const BodyOp& op, int input) const {
        const std::int32_t operand = ~op.inputs[static_cast<std::size_t>(input)];
        const Shape& shape = graph_.shape(node_.inputs[static_cast<std::size_t>(operand)]);
        const char lies = input_letter(definition_of(op.op), input);
        return {operand, access_of(lies, shape, graph_.shape(node_.first_output))};
    }
    // -1: not among them.
    int find(const RowOperand& wanted) const {
        for (std::size_t k = 0; k < operands_.size(); ++k)
            if (operands_[k].input == wanted.input && operands_[k].access == wanted.access)
                return static_cast<int>(k);
        return -1;
    }
    int operand_of(const BodyOp& op, int input) const override { return find(seen_by(op, input)); }

  private:
    const Graph& graph_;
    const Node& node_;
    const std::pmr::vector<RowOperand>& operands_;
};

}  // namespace

jit::Access access_of(char letter, const Shape& operand, const Shape& whole) {
    switch (letter) {
        case 's':
            return jit::Access::single;
        case 'g':
            return operand.rank == 0 ? jit::Access::single : jit::Access::per_row;
        case 'c':
            return jit::Access::per_column;
        case 'f':
            return jit::Access::full;
        case 'r':
            return jit::Access::per_row;
        default:
            break;
    }
    if (operand.elements() == whole.elements()) return jit::Access::full;
    if (operand.elements() == 1) return jit::Access::single;
    return operand.last() == 1 ? jit::Access::per_row : jit::Access::per_column;
}

std::pmr::vector<RowOperand> operands_of_rows(const Graph& graph, const Node& node,
                                              std::pmr::memory_resource* heap) {
    std::pmr::vector<RowOperand> operands(heap);
    const RowBodyOperands known(graph, node, operands);
    for (const BodyOp& op : node.body.ops)
        for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) {
            if (op.inputs[static_cast<std::size_t>(i)] >= 0) continue;
            const RowOperand seen = known.seen_by(op, i);
            if (known.find(seen) < 0) operands.push_back(seen);
        }
    return operands;
}

jit::Access access_of_result(const Graph& graph, const Node& node, int output) {
    const bool is_whole = graph.shape(node.first_output + output) == graph.shape(node.first_output);
    return is_whole ? jit::Access::full : jit::Access::per_row;
}

jit::Program make_fused_rows_program(const Graph& graph, const Node& node,
                                     const std::pmr::vector<RowOperand>& operands,
                                     std::pmr::memory_resource* heap) {
    jit::Builder builder(heap);
    for (const RowOperand& operand : operands)
        builder.input(operand.access, type_of(graph, node.inputs[static_cast<std::size_t>(operand.input)]));
    for (int k = 0; k < node.output_count; ++k)
        builder.output(access_of_result(graph, node, k), type_of(graph, node.first_output + k));
    define_body(builder, node.body, RowBodyOperands(graph, node, operands), static_cast<int>(operands.size()),
                heap);
    return builder.finish();
}

// ---- Small programs
// -----------------------------------------------------------------------------------------

namespace {

constexpr jit::Access kFull = jit::Access::full;

Real reduce(jit::Builder& b, Reduction reduction, Real x) {
    switch (reduction) {
        case Reduction::sum:
            return b.row_sum(x);
        case Reduction::square_sum:
            return b.row_sum(x * x);
        case Reduction::max:
            return b.row_max(x);
        // The smallest is the negated largest of the negated; adding +0 makes its zero +0 again.
        case Reduction::min:
            return b.neg(b.row_max(b.neg(x))) + b.real(0);
    }
    fail(VOLTA_INTERNAL, "%d is no reduction", static_cast<int>(reduction));
}

}  // namespace

jit::Program make_row_reduction(Reduction reduction, std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int x = b.input(kFull), y = b.output(jit::Access::per_row);
    b.store(y, reduce(b, reduction, b.load(x)));
    return b.finish();
}

jit::Program make_column_sum(std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int x = b.input(kFull), y = b.output(jit::Access::per_column);
    b.column_sum(y, b.load(x));
    return b.finish();
}

jit::Program make_division(double divisor, std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int x = b.input(kFull), y = b.output(kFull);
    b.store(y, b.load(x) / b.real(divisor));
    return b.finish();
}

jit::Program make_swiglu(std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int gate = b.input(kFull), up = b.input(kFull), y = b.output(kFull);
    const Real left = b.load(gate), right = b.load(up);
    b.store(y, swiglu(b, left, right));
    return b.finish();
}

jit::Program make_swiglu_gradient(std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int gate = b.input(kFull), up = b.input(kFull), dy = b.input(kFull);
    const int d_gate = b.output(kFull), d_up = b.output(kFull);
    const Real left = b.load(gate), right = b.load(up), gradient = b.load(dy);
    const auto pair = swiglu_grad(b, left, right, gradient);
    b.store(d_gate, pair.first);
    b.store(d_up, pair.second);
    return b.finish();
}

jit::Program make_rotation(bool inverse, std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int x0 = b.input(kFull), x1 = b.input(kFull);
    const int cosines = b.input(jit::Access::per_column), sines = b.input(jit::Access::per_column);
    const int y0 = b.output(kFull), y1 = b.output(kFull);
    const Real first = b.load(x0), second = b.load(x1), cosine = b.load(cosines), sine = b.load(sines);
    const auto pair = rotate(b, first, second, cosine, inverse ? b.neg(sine) : sine);
    b.store(y0, pair.first);
    b.store(y1, pair.second);
    return b.finish();
}

static jit::Program make_addition(jit::Access second, std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int x = b.input(kFull), other = b.input(second), y = b.output(kFull);
    const Real left = b.load(x), right = b.load(other);
    b.store(y, left + right);
    return b.finish();
}
jit::Program make_addition(std::pmr::memory_resource* heap) { return make_addition(kFull, heap); }
jit::Program make_bias_addition(std::pmr::memory_resource* heap) {
    return make_addition(jit::Access::per_row, heap);
}

}  // namespace volta
