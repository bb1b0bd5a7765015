// Operators along the last axis, and reductions over axes.
#include <cstdio>

#include "engine/base/error.h"
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

// x seen as [rows, n].
struct Rows {
    std::int64_t count, n;
};
template <class T>
Rows rows_of(const NodeRun<T>& run, int input) {
    return {run.in_shape(input).rows(), run.in_shape(input).last()};
}

template <class T>
T epsilon_of(const NodeRun<T>& run) {
    return ScalarMachine<T>::real(run.node.number(Attr::epsilon));
}

void check_targets(const Node& node, const std::int32_t* targets, const Rows& x) {
    for (std::int64_t r = 0; r < x.count; ++r)
        require(targets[r] >= define::kIgnoredTarget && targets[r] < x.n,
                "%s: target %d of row %lld is outside of [0, %lld)", op_row(node.op).name, targets[r],
                static_cast<long long>(r), static_cast<long long>(x.n));
}

template <class T>
void softmax(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::softmax(x.count, x.n, run.in(0), run.out());
}

template <class T>
void softmax_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::softmax_grad(x.count, x.n, run.in(0), run.in(1), run.out());
}

template <class T>
void log_softmax(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::log_softmax(x.count, x.n, run.in(0), run.out());
}

template <class T>
void log_softmax_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::log_softmax_grad(x.count, x.n, run.in(0), run.in(1), run.out());
}

template <class T>
void layer_norm(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::layer_norm(x.count, x.n, run.in(0), run.in(1), run.in(2), epsilon_of(run), run.out(0), run.out(1),
                       run.out(2));
}

template <class T>
void rms_norm(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::rms_norm(x.count, x.n, run.in(0), run.in(1), epsilon_of(run), run.out(0), run.out(1));
}

template <class T>
void mse(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::mse(x.count, x.n, run.in(0), run.in(1), run.out());
}

template <class T>
void argmax(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    define::argmax(x.count, x.n, run.in(0), run.out_ids());
}

template <class T>
const T* weights_of(const NodeRun<T>& run, int input) {
    return run.node.inputs.size() > static_cast<std::size_t>(input) ? run.in(input) : nullptr;
}

template <class T>
define::ClassRule<T> class_rule(const NodeRun<T>& run, int weights) {
    return {run.node.number(Attr::label_smoothing), weights_of(run, weights)};
}

// One factor for all rows, or one per row.
template <class T>
T factor_of(const NodeRun<T>& run, int input, std::int64_t row) {
    return run.in(input)[run.in_shape(input).rank == 0 ? 0 : row];
}

template <class T>
void cross_entropy(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    check_targets(run.node, run.in_ids(1), x);
    define::cross_entropy(x.count, x.n, run.in(0), run.in_ids(1), run.out(), class_rule(run, 2));
    for (std::int64_t r = 0; r < x.count; ++r) {
        const auto row = define::softmax_row<T>(x.n, define::row_of(run.in(0), x.n, r));
        run.out(1)[r] = row.maximum;
        run.out(2)[r] = row.sum;
    }
}

// From the saved maximum and sum of every row.
template <class T>
void cross_entropy_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    const std::int32_t* const targets = run.in_ids(1);
    check_targets(run.node, targets, x);
    for (std::int64_t r = 0; r < x.count; ++r) {
        const define::SoftmaxRow<T> row = {run.in(2)[r], run.in(3)[r]};
        define::class_gradient(x.n, define::row_of(run.in(0), x.n, r), targets[r], row, factor_of(run, 4, r),
                               class_rule(run, 5), run.out() + r * x.n);
    }
}

template <class T>
void cross_entropy_with_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    const std::int32_t* const targets = run.in_ids(1);
    check_targets(run.node, targets, x);
    const auto rule = class_rule(run, 3);
    define::cross_entropy(x.count, x.n, run.in(0), targets, run.out(0), rule);
    for (std::int64_t r = 0; r < x.count; ++r)
        define::cross_entropy_grad(1, x.n, run.in(0) + r * x.n, targets + r, factor_of(run, 2, r),
                                   run.out(1) + r * x.n, rule);
}

template <class T>
void mse_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    for (std::int64_t r = 0; r < x.count; ++r)
        define::mse_grad(1, x.n, run.in(0) + r * x.n, run.in(1) + r * x.n, factor_of(run, 2, r),
                         run.out() + r * x.n);
}

// f(column, x, t)
template <class T, class F>
void element_loss(const NodeRun<T>& run, F f) {
    const Rows x = rows_of(run, 0);
    define::element_loss(x.count, x.n, run.in(0), run.in(1), run.out(), f);
}

// f(column, x, t, g)
template <class T, class F>
void element_loss_grad(const NodeRun<T>& run, F f) {
    const Rows x = rows_of(run, 0);
    for (std::int64_t r = 0; r < x.count; ++r) {
        const T g = factor_of(run, 2, r);
        for (std::int64_t j = 0; j < x.n; ++j) {
            const std::int64_t i = r * x.n + j;
            run.out()[i] = f(j, run.in(0)[i], run.in(1)[i], g);
        }
    }
}

template <class T>
void l1(const NodeRun<T>& run) {
    ScalarMachine<T> m;
    element_loss(run, [&](std::int64_t, T x, T t) { return m.abs(x - t); });
}

template <class T>
void l1_grad(const NodeRun<T>& run) {
    ScalarMachine<T> m;
    element_loss_grad(run, [&](std::int64_t, T x, T t, T g) { return l1_slope(m, x - t, g); });
}

template <class T>
void huber(const NodeRun<T>& run) {
    ScalarMachine<T> m;
    const double delta = run.node.number(Attr::delta);
    element_loss(run, [&](std::int64_t, T x, T t) { return huber_loss(m, x - t, delta); });
}

template <class T>
void huber_grad(const NodeRun<T>& run) {
    ScalarMachine<T> m;
    const double delta = run.node.number(Attr::delta);
    element_loss_grad(run, [&](std::int64_t, T x, T t, T g) { return huber_slope(m, x - t, delta, g); });
}

template <class T>
void binary_cross_entropy(const NodeRun<T>& run) {
    ScalarMachine<T> m;
    const T* const weights = weights_of(run, 2);
    element_loss(run, [&](std::int64_t j, T x, T t) {
        return logit_loss(m, x, t, weights != nullptr ? weights + j : nullptr);
    });
}

template <class T>
void binary_cross_entropy_grad(const NodeRun<T>& run) {
    ScalarMachine<T> m;
    const T* const weights = weights_of(run, 3);
    element_loss_grad(run, [&](std::int64_t j, T x, T t, T g) {
        return logit_slope(m, x, t, weights != nullptr ? weights + j : nullptr, g);
    });
}

// The definition gives dx, dscale and dbias together; an operator keeps one of them.
template <class T>
void layer_norm_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 1);
    auto unused_scale = run.scratch(x.n), unused_bias = run.scratch(x.n);
    define::layer_norm_grad(x.count, x.n, run.in(1), run.in(2), run.in(3), run.in(4), run.in(0), false,
                            run.out(), unused_scale.data(), unused_bias.data());
}

template <class T>
void layer_norm_grad_scale(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 1);
    auto unused_dx = run.scratch(x.count * x.n), unused_bias = run.scratch(x.n), scale = run.scratch(x.n);
    define::layer_norm_grad(x.count, x.n, run.in(1), scale.data(), run.in(2), run.in(3), run.in(0),
                            run.continues(), unused_dx.data(), run.out(), unused_bias.data());
}

template <class T>
void layer_norm_grad_columns(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 1);
    auto unused_dx = run.scratch(x.count * x.n), scale = run.scratch(x.n);
    define::layer_norm_grad(x.count, x.n, run.in(1), scale.data(), run.in(2), run.in(3), run.in(0),
                            run.continues(), unused_dx.data(), run.out(0), run.out(1));
}

template <class T>
void rms_norm_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 1);
    auto unused_scale = run.scratch(x.n);
    define::rms_norm_grad(x.count, x.n, run.in(1), run.in(2), run.in(3), run.in(0), false, run.out(),
                          unused_scale.data());
}

template <class T>
void rms_norm_grad_scale(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 1);
    auto unused_dx = run.scratch(x.count * x.n), scale = run.scratch(x.n);
    define::rms_norm_grad(x.count, x.n, run.in(1), scale.data(), run.in(2), run.in(0), run.continues(),
                          unused_dx.data(), run.out());
}

// ---- Reductions ----

// The elements of one result, as offsets from its first, in row-major order of the reduced axes; and where
// the results' first elements lie.
struct ReductionWalk {
    ReductionForm form;
    std::pmr::vector<std::int64_t> first, within;
};

ReductionWalk walk_reduction(const Node& node, const Shape& x, std::pmr::memory_resource* heap) {
    ReductionWalk walk = {reduction_form(node, x), std::pmr::vector<std::int64_t>(heap),
                          std::pmr::vector<std::int64_t>(heap)};
    const Strides steps = broadcast_strides(x, x);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
        std::int64_t rest = i, kept = 0, reduced = 0;
        for (int axis = x.rank - 1; axis >= 0; --axis) {
            (walk.form.is_reduced[axis] ? reduced : kept) += rest % x[axis] * steps.step[axis];
            rest /= x[axis];
        }
        if (reduced == 0) walk.first.push_back(kept);
        if (kept == 0) walk.within.push_back(reduced);
    }
    // Nothing to reduce: every result is that of no element.
    if (x.elements() == 0) walk.first.assign(static_cast<std::size_t>(walk.form.result.elements()), 0);
    return walk;
}

// y[r] = result(elements of r, what y[r] held before) for every result.
template <class T, class Result>
void reduce(const NodeRun<T>& run, Result result) {
    const ReductionWalk walk = walk_reduction(run.node, run.in_shape(0), run.heap());
    for (std::size_t r = 0; r < walk.first.size(); ++r) {
        const T* const x = run.in(0) + walk.first[r];
        const auto element = [&](std::int64_t i) { return x[walk.within[static_cast<std::size_t>(i)]]; };
        run.out()[r] = result(walk.form, element, run.out()[r]);
    }
}

template <class T>
void sum(const NodeRun<T>& run) {
    const bool continues = run.continues();
    reduce(run, [&](const ReductionForm& form, auto x, T earlier) {
        if (!form.is_row) return column_sum(form.reduced, continues ? &earlier : nullptr, x);
        const T whole = row_sum<T>(form.reduced, x);  // complete, then added
        return continues ? earlier + whole : whole;
    });
}

template <class T>
void mean(const NodeRun<T>& run) {
    reduce(run, [&](const ReductionForm& form, auto x, T) {
        const T whole = form.is_row ? row_sum<T>(form.reduced, x)
                                    : column_sum(form.reduced, static_cast<const T*>(nullptr), x);
        return whole / static_cast<T>(form.reduced);
    });
}

template <class T>
void max(const NodeRun<T>& run) {
    reduce(run, [](const ReductionForm& form, auto x, T) { return row_max<T>(form.reduced, x); });
}

template <class T>
void min(const NodeRun<T>& run) {
    reduce(run, [](const ReductionForm& form, auto x, T) { return row_min<T>(form.reduced, x); });
}

template <class T>
void max_grad(const NodeRun<T>& run) {
    const ReductionWalk walk = walk_reduction(run.node, run.in_shape(0), run.heap());
    std::fill_n(run.out(), run.in_shape(0).elements(), T(0));
    for (std::size_t r = 0; r < walk.first.size(); ++r) {
        const T largest = run.in(1)[r];
        for (const std::int64_t within : walk.within) {
            const T x = run.in(0)[walk.first[r] + within];
            if (x != largest && !(x != x && largest != largest)) continue;
            run.out()[walk.first[r] + within] = run.in(2)[r];
            break;
        }
    }
}

// The operations of a body as nodes of a graph of their own, one after the other.
template <class T>
class BodyRun {
  public:
    explicit BodyRun(const NodeRun<T>& run) : run_(run), parts_(run.heap()), tensors_(run.heap()) {
        const int count = static_cast<int>(run.node.inputs.size());
        for (int i = 0; i < count; ++i) {
            char name[16];
            std::snprintf(name, sizeof name, "in%d", i);
            parts_.input(name, run.graph.value(run.node.inputs[static_cast<std::size_t>(i)]).dtype,
                         run.in_shape(i));
        }
    }

    void evaluate() {
        std::int32_t values = 0;
        for (const BodyOp& op : run_.node.body.ops) values += op_row(op.op).outputs;
        tensors_.resize(static_cast<std::size_t>(values));
        for (const BodyOp& op : run_.node.body.ops) evaluate(op);
        const auto& results = run_.node.body.results;
        for (std::size_t k = 0; k < results.size(); ++k)
            run_.outputs[k]->real = tensors_[static_cast<std::size_t>(results[k])].real;
    }

  private:
    std::int32_t operand_count() const { return static_cast<std::int32_t>(run_.node.inputs.size()); }

    void evaluate(const BodyOp& op) {
        Node node(run_.heap());
        node.op = op.op;
        node.attributes.assign(op.attributes.begin(), op.attributes.end());
        std::pmr::vector<const EvalTensor<T>*> inputs(run_.heap());
        std::pmr::vector<EvalTensor<T>*> outputs(run_.heap());
        for (const std::int32_t input : op.inputs) {
            node.inputs.push_back(input < 0 ? ~input : operand_count() + input);
            inputs.push_back(input < 0 ? run_.inputs[~input] : &tensors_[static_cast<std::size_t>(input)]);
        }
        const ValueId first = parts_.apply(std::move(node));
        for (std::int32_t i = 0; i < parts_.nodes.back().output_count; ++i)
            outputs.push_back(&tensors_[static_cast<std::size_t>(first - operand_count() + i)]);
        evaluate_node<T>(parts_, parts_.nodes.back(), inputs.data(), outputs.data(), run_.micro_index);
    }

    const NodeRun<T>& run_;
    Graph parts_;                              // a source per operand, then the body's values
    std::pmr::vector<EvalTensor<T>> tensors_;  // of the body's values
};

template <class T>
void fused_rows(const NodeRun<T>& run) {
    BodyRun<T>(run).evaluate();
}

}  // namespace

namespace evaluations {
constexpr Evaluation softmax = {volta::softmax<float>};
constexpr Evaluation softmax_grad = {volta::softmax_grad<float>};
constexpr Evaluation log_softmax = {volta::log_softmax<float>};
constexpr Evaluation log_softmax_grad = {volta::log_softmax_grad<float>};
constexpr Evaluation layer_norm = {volta::layer_norm<float>};
constexpr Evaluation layer_norm_grad = {volta::layer_norm_grad<float>};
constexpr Evaluation layer_norm_grad_scale = {volta::layer_norm_grad_scale<float>};
constexpr Evaluation layer_norm_grad_columns = {volta::layer_norm_grad_columns<float>};
constexpr Evaluation rms_norm = {volta::rms_norm<float>};
constexpr Evaluation rms_norm_grad = {volta::rms_norm_grad<float>};
constexpr Evaluation rms_norm_grad_scale = {volta::rms_norm_grad_scale<float>};
constexpr Evaluation cross_entropy = {volta::cross_entropy<float>};
constexpr Evaluation cross_entropy_grad = {volta::cross_entropy_grad<float>};
constexpr Evaluation cross_entropy_with_grad = {volta::cross_entropy_with_grad<float>};
constexpr Evaluation mse = {volta::mse<float>};
constexpr Evaluation mse_grad = {volta::mse_grad<float>};
constexpr Evaluation l1 = {volta::l1<float>};
constexpr Evaluation l1_grad = {volta::l1_grad<float>};
constexpr Evaluation huber = {volta::huber<float>};
constexpr Evaluation huber_grad = {volta::huber_grad<float>};
constexpr Evaluation binary_cross_entropy = {volta::binary_cross_entropy<float>};
constexpr Evaluation binary_cross_entropy_grad = {volta::binary_cross_entropy_grad<float>};
constexpr Evaluation fused_rows = {volta::fused_rows<float>};
constexpr Evaluation argmax = {volta::argmax<float>};
constexpr Evaluation sum = {volta::sum<float>};
constexpr Evaluation mean = {volta::mean<float>};
constexpr Evaluation max = {volta::max<float>};
constexpr Evaluation min = {volta::min<float>};
constexpr Evaluation max_grad = {volta::max_grad<float>};

constexpr InDouble kInDouble[] = {
    {&softmax, volta::softmax<double>},
    {&softmax_grad, volta::softmax_grad<double>},
    {&log_softmax, volta::log_softmax<double>},
    {&log_softmax_grad, volta::log_softmax_grad<double>},
    {&layer_norm, volta::layer_norm<double>},
    {&layer_norm_grad, volta::layer_norm_grad<double>},
    {&layer_norm_grad_scale, volta::layer_norm_grad_scale<double>},
    {&layer_norm_grad_columns, volta::layer_norm_grad_columns<double>},
    {&rms_norm, volta::rms_norm<double>},
    {&rms_norm_grad, volta::rms_norm_grad<double>},
    {&rms_norm_grad_scale, volta::rms_norm_grad_scale<double>},
    {&cross_entropy, volta::cross_entropy<double>},
    {&cross_entropy_grad, volta::cross_entropy_grad<double>},
    {&cross_entropy_with_grad, volta::cross_entropy_with_grad<double>},
    {&mse, volta::mse<double>},
    {&mse_grad, volta::mse_grad<double>},
    {&l1, volta::l1<double>},
    {&l1_grad, volta::l1_grad<double>},
    {&huber, volta::huber<double>},
    {&huber_grad, volta::huber_grad<double>},
    {&binary_cross_entropy, volta::binary_cross_entropy<double>},
    {&binary_cross_entropy_grad, volta::binary_cross_entropy_grad<double>},
    {&fused_rows, volta::fused_rows<double>},
    {&argmax, volta::argmax<double>},
    {&sum, volta::sum<double>},
    {&mean, volta::mean<double>},
    {&max, volta::max<double>},
    {&min, volta::min<double>},
    {&max_grad, volta::max_grad<double>},
};
InDoubleList rows_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

}  // namespace volta
