// Elementwise operators, alone, in fused bodies and in epilogues: one element at a time.
#include "engine/base/error.h"
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/numerics/functions.h"

namespace volta {
namespace {

template <class T>
struct Cell {
    T real = 0;
    std::int32_t integer = 0;  // of an i32 operand, or a comparison's result
};

// An elementwise operator with its attributes read once.
struct ElementOp {
    Op op = Op::add;
    const std::int32_t* inputs = nullptr;  // body operations before it, or ~operand
    int input_count = 0;
    double exponent = 0, low = 0, high = 0;
    int operand = 0;
    DropoutRule rule = {};
    RandomPlace place;
};

template <class Operator>  // Node or BodyOp
ElementOp read_op(const Operator& from) {
    ElementOp result;
    result.op = from.op;
    result.exponent = from.number(Attr::exponent);
    result.low = from.number(Attr::low);
    result.high = from.number(Attr::high);
    result.operand = static_cast<int>(from.number(Attr::operand));
    return result;
}

template <class Operator>
void read_dropout(const Operator& from, const std::int32_t* random, ElementOp& op) {
    op.rule = dropout_rule(from.number(Attr::probability));
    op.place = dropout_place(random, static_cast<std::uint32_t>(from.number(Attr::stream)));
}

struct Position {
    std::uint32_t row, column;  // of the whole step's tensor seen as [rows, last axis]
};

template <class T>
T dropped(const ElementOp& op, T x, Position at) {
    const bool kept = element_bits(op.place, at.row, at.column) >= op.rule.threshold;
    return kept ? x * static_cast<T>(op.rule.scale) : T(0);
}

template <class T>  // what operand `op.operand` of a maximum or minimum gets
T choice_grad(const ElementOp& op, T a, T b, T dy) {
    const bool takes_a = a != a || (op.op == Op::maximum_grad ? a > b : a < b);
    return takes_a == (op.operand == 0) ? dy : T(0);
}

// The operators whose result is real.
template <class T>
T real_element(const ElementOp& op, const Cell<T>* in, Position at) {
    ScalarMachine<T> m;
    const T a = in[0].real, b = in[1].real;
    switch (op.op) {
        case Op::neg:
            return m.neg(a);
        case Op::abs:
            return m.abs(a);
        case Op::exp:
            return exp(m, a);
        case Op::log:
            return log(m, a);
        case Op::sqrt:
            return m.sqrt(a);
        case Op::rsqrt:
            return rsqrt(m, a);
        case Op::tanh:
            return tanh(m, a);
        case Op::erf:
            return erf(m, a);
        case Op::sigmoid:
            return sigmoid(m, a);
        case Op::silu:
            return silu(m, a);
        case Op::gelu_tanh:
            return gelu_tanh(m, a);
        case Op::gelu_erf:
            return gelu_erf(m, a);
        case Op::relu:
            return relu(m, a);
        case Op::sin:
            return sin(m, a);
        case Op::cos:
            return cos(m, a);
        case Op::pow:
            return pow(m, a, op.exponent);
        case Op::clamp:
            return clamp(m, a, m.real(op.low), m.real(op.high));
        case Op::add:
            return a + b;
        case Op::sub:
            return a - b;
        case Op::mul:
            return a * b;
        case Op::div:
            return a / b;
        case Op::maximum:
            return maximum(m, a, b);
        case Op::minimum:
            return minimum(m, a, b);
        case Op::where:
            return in[0].integer != 0 ? b : in[2].real;
        case Op::gelu_tanh_grad:
            return gelu_tanh_grad(m, a, b);
        case Op::gelu_erf_grad:
            return gelu_erf_grad(m, a, b);
        case Op::silu_grad:
            return silu_grad(m, a, b);
        case Op::relu_grad:
            return relu_grad(m, a, b);
        case Op::maximum_grad:
        case Op::minimum_grad:
            return choice_grad(op, a, b, in[2].real);
        case Op::dropout:
            return dropped(op, a, at);
        default:
            fail(VOLTA_INTERNAL, "%s is not elementwise", op_row(op.op).name);
    }
}

template <class T>
Cell<T> element(const ElementOp& op, const Cell<T>* in, Position at) {
    const T a = in[0].real, b = in[1].real;
    switch (op.op) {
        case Op::less:
            return {0, a < b};
        case Op::less_equal:
            return {0, a <= b};
        case Op::equal:
            return {0, a == b};
        default:
            return {real_element(op, in, at), 0};
    }
}

// A chain of elementwise operators over broadcast operands.
template <class T>
class ElementLoop {
  public:
    ElementLoop(const NodeRun<T>& run, const Shape& whole)
        : run_(run), whole_(whole), operands_(run.heap()), ops_(run.heap()), cells_(run.heap()) {}

    void add_operand(const EvalTensor<T>& tensor, const Shape& shape) {
        Shape joined;  // a dropout's state is never loaded by element: it need not broadcast
        const bool fits = broadcast(shape, whole_, &joined) && joined == whole_;
        operands_.push_back({&tensor, fits ? broadcast_strides(shape, whole_) : Strides{}});
    }

    template <class Operator>
    void add_op(const Operator& from, const std::int32_t* inputs, std::size_t count) {
        ElementOp op = read_op(from);
        op.inputs = inputs;
        op.input_count = static_cast<int>(count);
        if (op.op == Op::dropout)
            read_dropout(from, operands_[static_cast<std::size_t>(~inputs[1])].tensor->integer.data(), op);
        ops_.push_back(op);
    }

    // results[i]: which body operation, or ~operand, output i takes.
    void run(const std::int32_t* results, std::size_t result_count) {
        cells_.resize(ops_.size());
        const std::int64_t count = whole_.elements(), columns = whole_.last();
        const std::uint32_t first_row = run_.micro_index * static_cast<std::uint32_t>(whole_.rows());
        for (std::int64_t i = 0; i < count; ++i) {
            const Position at = {first_row + static_cast<std::uint32_t>(i / columns),
                                 static_cast<std::uint32_t>(i % columns)};
            for (std::size_t o = 0; o < ops_.size(); ++o) cells_[o] = evaluate(ops_[o], i, at);
            for (std::size_t r = 0; r < result_count; ++r) store(static_cast<int>(r), i, load(results[r], i));
        }
    }

  private:
    struct Operand {
        const EvalTensor<T>* tensor;
        Strides strides;
    };

    Cell<T> load(std::int32_t input, std::int64_t index) const {
        if (input >= 0) return cells_[static_cast<std::size_t>(input)];
        const Operand& operand = operands_[static_cast<std::size_t>(~input)];
        const std::size_t offset = static_cast<std::size_t>(offset_of(index, whole_, operand.strides));
        return operand.tensor->real.empty() ? Cell<T>{0, operand.tensor->integer[offset]}
                                            : Cell<T>{operand.tensor->real[offset], 0};
    }

    Cell<T> evaluate(const ElementOp& op, std::int64_t index, Position at) const {
        Cell<T> in[3];
        for (int i = 0; i < op.input_count; ++i)
            if (op.op != Op::dropout || i == 0) in[i] = load(op.inputs[i], index);
        return element(op, in, at);
    }

    void store(int output, std::int64_t index, const Cell<T>& cell) const {
        if (run_.out_dtype(output) == DType::f32)
            run_.out(output)[index] = cell.real;
        else
            run_.out_ids(output)[index] = cell.integer;
    }

    const NodeRun<T>& run_;
    const Shape whole_;
    std::pmr::vector<Operand> operands_;
    std::pmr::vector<ElementOp> ops_;
    std::pmr::vector<Cell<T>> cells_;  // one per op, of the element at hand
};

template <class T>
void add_body(const Body& body, ElementLoop<T>& loop) {
    for (const BodyOp& op : body.ops) loop.add_op(op, op.inputs.data(), op.inputs.size());
}

}  // namespace

template <class T>
void evaluate_elementwise(const NodeRun<T>& run) {
    static constexpr std::int32_t kOperands[] = {~0, ~1, ~2}, kOnlyResult[] = {0};
    ElementLoop<T> loop(run, run.out_shape());
    for (std::size_t i = 0; i < run.node.inputs.size(); ++i)
        loop.add_operand(*run.inputs[i], run.in_shape(static_cast<int>(i)));
    if (run.node.op == Op::fused) {
        add_body(run.node.body, loop);
        loop.run(run.node.body.results.data(), run.node.body.results.size());
    } else {
        loop.add_op(run.node, kOperands, run.node.inputs.size());
        loop.run(kOnlyResult, 1);
    }
}

template <class T>
void evaluate_epilogue(const NodeRun<T>& run, const EvalTensor<T>& product) {
    ElementLoop<T> loop(run, run.out_shape());
    loop.add_operand(product, run.out_shape());
    for (std::size_t i = 2; i < run.node.inputs.size(); ++i)
        loop.add_operand(*run.inputs[i], run.in_shape(static_cast<int>(i)));
    add_body(run.node.body, loop);
    loop.run(run.node.body.results.data(), run.node.body.results.size());
}

template void evaluate_elementwise<float>(const NodeRun<float>&);
template void evaluate_elementwise<double>(const NodeRun<double>&);
template void evaluate_epilogue<float>(const NodeRun<float>&, const EvalTensor<float>&);
template void evaluate_epilogue<double>(const NodeRun<double>&, const EvalTensor<double>&);

}  // namespace volta
