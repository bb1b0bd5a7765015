// Elementwise operators, alone, in fused bodies and in epilogues: one element at a time.
#include "engine/base/error.h"
#include "engine/graph/elementwise.h"
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"

namespace volta {
namespace {

template <class T>
struct Cell {
    T real = 0;
    std::int32_t integer = 0;  // of an i32 operand, or a comparison's result
};

struct Position {
    std::uint32_t row, column;  // of the whole step's tensor seen as [rows, last axis]
};

template <class T>
struct ElementScope;
template <class T>
using ElementFunction = Cell<T> (*)(ElementScope<T>& scope);

// An elementwise operator, alone or in a body.
template <class T>
struct ElementOp {
    ElementFunction<T> define = nullptr;
    const OpRow* row = nullptr;
    const std::pmr::vector<Attribute>* attributes = nullptr;
    const std::int32_t* inputs = nullptr;  // body operations before it, or ~operand
    int input_count = 0;
    const std::int32_t* seed_and_step = nullptr;  // of a random operator
    // Of a random one the last input is its state, which no element reads.
    int element_inputs() const { return row->random ? input_count - 1 : input_count; }
};

// What a definition sees (elementwise.h).
template <class T>
struct ElementScope {
    ScalarMachine<T> m;
    const ElementOp<T>& op;
    const Cell<T>* in;
    Position at;

    T real(int input) const { return in[input].real; }
    std::uint32_t whole(int input) const { return static_cast<std::uint32_t>(in[input].integer); }
    double number(Attr key) const { return attribute_number(op.row->op, *op.attributes, key); }
    std::uint32_t random(std::uint32_t stream) const {
        return element_bits(dropout_place(op.seed_and_step, stream), at.row, at.column);
    }
};

template <class T>
struct ElementFunctions {
    using Scope = ElementScope<T>;
    static Cell<T> cell(T value) { return {value, 0}; }
    static Cell<T> cell(std::uint32_t value) { return {0, static_cast<std::int32_t>(value)}; }
    template <Op op>
    static Cell<T> run(Scope& scope) {
        return cell(elementwise::define(elementwise::Is<op>{}, scope));
    }
};
template <class T>
constexpr auto kElementFunctions = elementwise::all_functions<ElementFunctions<T>>();

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
        ElementOp<T> op;
        op.define = kElementFunctions<T>[static_cast<std::size_t>(from.op)];
        op.row = &op_row(from.op);
        if (op.define == nullptr) fail(VOLTA_INTERNAL, "%s is not elementwise", op.row->name);
        op.attributes = &from.attributes;
        op.inputs = inputs;
        op.input_count = static_cast<int>(count);
        if (op.row->random)
            op.seed_and_step = operands_[static_cast<std::size_t>(~inputs[count - 1])].tensor->integer.data();
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

    Cell<T> evaluate(const ElementOp<T>& op, std::int64_t index, Position at) const {
        Cell<T> in[3];
        for (int i = 0; i < op.element_inputs(); ++i) in[i] = load(op.inputs[i], index);
        ElementScope<T> scope = {{}, op, in, at};
        return op.define(scope);
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
    std::pmr::vector<ElementOp<T>> ops_;
    std::pmr::vector<Cell<T>> cells_;  // one per op, of the element at hand
};

template <class T>
void add_body(const Body& body, ElementLoop<T>& loop) {
    for (const BodyOp& op : body.ops) loop.add_op(op, op.inputs.data(), op.inputs.size());
}

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

}  // namespace

namespace evaluations {
constexpr Evaluation elementwise = {evaluate_elementwise<float>};

constexpr InDouble kInDouble[] = {
    {&elementwise, evaluate_elementwise<double>},
};
InDoubleList elementwise_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

template <class T>
void evaluate_epilogue(const NodeRun<T>& run, const EvalTensor<T>& product) {
    ElementLoop<T> loop(run, run.out_shape());
    loop.add_operand(product, run.out_shape());
    for (std::size_t i = 2; i < run.node.inputs.size(); ++i)
        loop.add_operand(*run.inputs[i], run.in_shape(static_cast<int>(i)));
    add_body(run.node.body, loop);
    loop.run(run.node.body.results.data(), run.node.body.results.size());
}

template void evaluate_epilogue<float>(const NodeRun<float>&, const EvalTensor<float>&);
template void evaluate_epilogue<double>(const NodeRun<double>&, const EvalTensor<double>&);

}  // namespace volta
