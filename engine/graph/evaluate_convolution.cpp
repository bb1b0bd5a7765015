// Convolutions and pooling.
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

template <class T>
define::ConvolutionSizes sizes_of(const NodeRun<T>& run) {
    return convolution_form(run.node, run.in_shape(0), run.in_shape(1)).sizes;
}
template <class T>
const T* bias_of(const NodeRun<T>& run) {
    return run.node.body.ops.empty() && run.node.inputs.size() > 2 ? run.in(2) : nullptr;
}

// compute(y), then the body.
template <class T, class Compute>
void with_body(const NodeRun<T>& run, Compute compute) {
    if (run.node.body.ops.empty()) return compute(run.out());
    EvalTensor<T> product{Allocator(run.heap())};
    product.real.resize(static_cast<std::size_t>(run.out_shape().elements()));
    compute(product.real.data());
    evaluate_epilogue(run, product);
}

template <class T>
void conv(const NodeRun<T>& run) {
    with_body(run, [&](T* y) { define::convolution(sizes_of(run), run.in(0), run.in(1), bias_of(run), y); });
}

template <class T>
void conv_transpose(const NodeRun<T>& run) {
    with_body(run, [&](T* y) {
        define::convolution_transposed(sizes_of(run), run.in(0), run.in(1), bias_of(run), y);
    });
}

template <class T>
void conv_grad_weight(const NodeRun<T>& run) {
    define::convolution_weight_gradient(sizes_of(run), run.in(0), run.in(1), run.continues(), run.out());
}

template <class T>
void conv_grad_bias(const NodeRun<T>& run) {
    const Shape& dy = run.in_shape(0);
    std::int64_t pixels = 1;
    for (int axis = 2; axis < dy.rank; ++axis) pixels *= dy[axis];
    define::convolution_bias_gradient(dy[0], dy[1], pixels, run.in(0), run.continues(), run.out());
}

template <class T>
define::PoolingSizes windows_of(const NodeRun<T>& run) {
    return pooling_form(run.node, run.in_shape(0)).sizes;
}

template <class T>
void max_pool(const NodeRun<T>& run) {
    define::max_pool(windows_of(run), run.in(0), run.out());
}

template <class T>
void max_pool_grad(const NodeRun<T>& run) {
    define::max_pool_grad(windows_of(run), run.in(0), run.in(1), run.in(2), run.out());
}

template <class T>
void average_pool(const NodeRun<T>& run) {
    define::average_pool(windows_of(run), run.in(0), run.out());
}

template <class T>
void average_pool_grad(const NodeRun<T>& run) {
    define::average_pool_grad(windows_of(run), run.in(0), run.out());
}

}  // namespace

namespace evaluations {
constexpr Evaluation conv = {volta::conv<float>};
constexpr Evaluation conv_transpose = {volta::conv_transpose<float>};
constexpr Evaluation conv_grad_weight = {volta::conv_grad_weight<float>};
constexpr Evaluation conv_grad_bias = {volta::conv_grad_bias<float>};
constexpr Evaluation max_pool = {volta::max_pool<float>};
constexpr Evaluation max_pool_grad = {volta::max_pool_grad<float>};
constexpr Evaluation average_pool = {volta::average_pool<float>};
constexpr Evaluation average_pool_grad = {volta::average_pool_grad<float>};

constexpr InDouble kInDouble[] = {
    {&conv, volta::conv<double>},
    {&conv_transpose, volta::conv_transpose<double>},
    {&conv_grad_weight, volta::conv_grad_weight<double>},
    {&conv_grad_bias, volta::conv_grad_bias<double>},
    {&max_pool, volta::max_pool<double>},
    {&max_pool_grad, volta::max_pool_grad<double>},
    {&average_pool, volta::average_pool<double>},
    {&average_pool_grad, volta::average_pool_grad<double>},
};
InDoubleList convolution_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

}  // namespace volta
