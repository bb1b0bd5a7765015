// Operators along the last axis, and reductions over axes.
#include "engine/base/error.h"
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
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
void cross_entropy(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    check_targets(run.node, run.in_ids(1), x);
    define::cross_entropy(x.count, x.n, run.in(0), run.in_ids(1), run.out());
    for (std::int64_t r = 0; r < x.count; ++r) {
        const auto row = define::softmax_row<T>(x.n, define::row_of(run.in(0), x.n, r));
        run.out(1)[r] = row.maximum;
        run.out(2)[r] = row.sum;
    }
}

// From the saved maximum and sum of every row; g for all rows or one per row.
template <class T>
void cross_entropy_grad(const NodeRun<T>& run) {
    ScalarMachine<T> m;
    const Rows x = rows_of(run, 0);
    const std::int32_t* const targets = run.in_ids(1);
    check_targets(run.node, targets, x);
    const bool one_factor = run.in_shape(4).rank == 0;
    for (std::int64_t r = 0; r < x.count; ++r) {
        const T maximum = run.in(2)[r], sum = run.in(3)[r], g = run.in(4)[one_factor ? 0 : r];
        for (std::int64_t j = 0; j < x.n; ++j) {
            const T p = exp(m, run.in(0)[r * x.n + j] - maximum) / sum;
            const T d = (p - (j == targets[r] ? T(1) : T(0))) * g;
            run.out()[r * x.n + j] = targets[r] == define::kIgnoredTarget ? T(0) : d;
        }
    }
}

template <class T>
void cross_entropy_with_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    const std::int32_t* const targets = run.in_ids(1);
    check_targets(run.node, targets, x);
    define::cross_entropy(x.count, x.n, run.in(0), targets, run.out(0));
    const bool one_factor = run.in_shape(2).rank == 0;
    for (std::int64_t r = 0; r < x.count; ++r)
        define::cross_entropy_grad(1, x.n, run.in(0) + r * x.n, targets + r, run.in(2)[one_factor ? 0 : r],
                                   run.out(1) + r * x.n);
}

template <class T>
void mse_grad(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    const bool one_factor = run.in_shape(2).rank == 0;
    for (std::int64_t r = 0; r < x.count; ++r)
        define::mse_grad(1, x.n, run.in(0) + r * x.n, run.in(1) + r * x.n, run.in(2)[one_factor ? 0 : r],
                         run.out() + r * x.n);
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

template <class T, class X>
T reduced(const NodeRun<T>& run, const ReductionForm& form, T earlier, X x) {
    const std::int64_t n = form.reduced;
    switch (run.node.op) {
        case Op::max:
            return row_max<T>(n, x);
        case Op::min:
            return row_min<T>(n, x);
        default:
            break;
    }
    const bool continues = run.continues();
    if (form.is_row) {  // a complete sum, then added
        const T sum = row_sum<T>(n, x);
        if (run.node.op == Op::mean) return sum / static_cast<T>(n);
        return continues ? earlier + sum : sum;
    }
    const T sum = column_sum(n, continues ? &earlier : nullptr, x);
    return run.node.op == Op::mean ? sum / static_cast<T>(n) : sum;
}

template <class T>
void max_grad(const NodeRun<T>& run, const ReductionWalk& walk) {
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

}  // namespace

template <class T>
void evaluate_rows(const NodeRun<T>& run) {
    const Rows x = rows_of(run, 0);
    switch (run.node.op) {
        case Op::softmax:
            return define::softmax(x.count, x.n, run.in(0), run.out());
        case Op::softmax_grad:
            return define::softmax_grad(x.count, x.n, run.in(0), run.in(1), run.out());
        case Op::log_softmax:
            return define::log_softmax(x.count, x.n, run.in(0), run.out());
        case Op::log_softmax_grad:
            return define::log_softmax_grad(x.count, x.n, run.in(0), run.in(1), run.out());
        case Op::layer_norm:
            return define::layer_norm(x.count, x.n, run.in(0), run.in(1), run.in(2), epsilon_of(run),
                                      run.out(0), run.out(1), run.out(2));
        case Op::layer_norm_grad:
            return layer_norm_grad(run);
        case Op::layer_norm_grad_scale:
            return layer_norm_grad_scale(run);
        case Op::rms_norm:
            return define::rms_norm(x.count, x.n, run.in(0), run.in(1), epsilon_of(run), run.out(0),
                                    run.out(1));
        case Op::rms_norm_grad:
            return rms_norm_grad(run);
        case Op::rms_norm_grad_scale:
            return rms_norm_grad_scale(run);
        case Op::cross_entropy:
            return cross_entropy(run);
        case Op::cross_entropy_grad:
            return cross_entropy_grad(run);
        case Op::cross_entropy_with_grad:
            return cross_entropy_with_grad(run);
        case Op::mse:
            return define::mse(x.count, x.n, run.in(0), run.in(1), run.out());
        case Op::mse_grad:
            return mse_grad(run);
        case Op::argmax:
            return define::argmax(x.count, x.n, run.in(0), run.out_ids());
        default:
            fail(VOLTA_INTERNAL, "%s is no operator of rows", op_row(run.node.op).name);
    }
}

template <class T>
void evaluate_reduction(const NodeRun<T>& run) {
    const ReductionWalk walk = walk_reduction(run.node, run.in_shape(0), run.heap());
    if (run.node.op == Op::max_grad) return max_grad(run, walk);
    for (std::size_t r = 0; r < walk.first.size(); ++r) {
        const T* const x = run.in(0) + walk.first[r];
        const auto element = [&](std::int64_t i) { return x[walk.within[static_cast<std::size_t>(i)]]; };
        run.out()[r] = reduced(run, walk.form, run.out()[r], element);
    }
}

template void evaluate_rows<float>(const NodeRun<float>&);
template void evaluate_rows<double>(const NodeRun<double>&);
template void evaluate_reduction<float>(const NodeRun<float>&);
template void evaluate_reduction<double>(const NodeRun<double>&);

}  // namespace volta
