// Products, attention and updates.
#include <algorithm>

#include "engine/base/offset.h"
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

template <class T>
void matmul_into(const NodeRun<T>& run, bool into, T* c) {
    const MatmulForm form = matmul_form(run.node, run.in_shape(0), run.in_shape(1));
    if (run.is_stored(1) && form.b_transposed)
        return define::stored_product(form.m, run.in(0), run.in_stored(1), c);
    if (run.is_stored(1)) return define::dequantised_product(form.m, run.in(0), run.in_stored(1), c);
    for (std::int64_t b = 0; b < form.batch; ++b) {
        const define::Matrix<T> left = {run.in(0) + b * form.m * form.k, form.a_transposed ? form.m : form.k,
                                        form.a_transposed};
        const define::Matrix<T> right = {run.in(1) + b * form.k * form.n, form.b_transposed ? form.k : form.n,
                                         form.b_transposed};
        define::product(form.m, form.n, form.k, left, right, into, c + b * form.m * form.n, form.n);
    }
}

template <class T>
void matmul(const NodeRun<T>& run) {
    if (run.node.body.ops.empty()) return matmul_into(run, run.continues(), run.out());
    EvalTensor<T> product{Allocator(run.heap())};
    product.real.resize(static_cast<std::size_t>(run.out_shape().elements()));
    matmul_into(run, false, product.real.data());
    evaluate_epilogue(run, product);
}

template <class T>
void weight_gradient(const NodeRun<T>& run) {
    matmul_into(run, run.continues(), run.out(0));
    const Shape& dy = run.in_shape(1);
    define::column_sums(dy.rows(), dy.last(), run.in(1), run.continues(), run.out(1));
}

template <class T>
void weight_gradient_into(const NodeRun<T>& run) {
    std::copy_n(run.in(2), run.out_shape().elements(), run.out());
    matmul_into(run, true, run.out());
}

// Where q, k and v begin, in `run`'s first inputs or in outputs of the same layout.
template <class Pointer>
struct Operands {
    Pointer q, k, v;
};
template <class Pointer, class Form, class At>  // at(i): operand i
Operands<Pointer> operands_of(const Form& form, At at) {
    if (!form.packed) return {at(0), at(1), at(2)};
    const Pointer q = at(0), k = offset(q, form.heads * form.head_dim);  // NULL: of a batch of nothing
    return {q, k, offset(k, form.kv_heads * form.head_dim)};
}

define::AttentionSizes sizes_of(const AttentionForm& form, const std::int32_t* starts) {
    define::AttentionSizes sizes;
    sizes.batch = form.batch;
    sizes.queries = sizes.keys = form.time;
    sizes.heads = form.heads;
    sizes.kv_heads = form.kv_heads;
    sizes.head_dim = form.head_dim;
    sizes.causal = form.causal;
    sizes.window = form.window;
    sizes.starts = starts;
    sizes.cap = form.cap;
    const std::int64_t all = (form.heads + 2 * form.kv_heads) * form.head_dim;
    sizes.o_stride = form.heads * form.head_dim;
    sizes.q_stride = sizes.dq_stride = form.packed ? all : sizes.o_stride;
    sizes.k_stride = sizes.dk_stride = form.packed ? all : form.kv_heads * form.head_dim;
    sizes.v_stride = sizes.dv_stride = sizes.k_stride;
    return sizes;
}

template <class T>
AttentionForm form_of(const NodeRun<T>& run) {
    return attention_form(run.node, run.in_shape(0), run.in_shape(run.node.flag(Attr::packed) ? 0 : 1));
}

template <class T>
define::AttentionDropout dropout_of(const NodeRun<T>& run, const AttentionForm& form) {
    if (form.probability == 0) return {};
    const std::int32_t* const random = run.in_ids(static_cast<int>(run.node.inputs.size()) - 1);
    return {dropout_place(random, form.stream), dropout_rule(form.probability),
            run.micro_index * static_cast<std::uint32_t>(form.batch), form.time};
}

// Where the document of each token begins; NULL: there are none.
template <class T>
const std::int32_t* starts_of(const NodeRun<T>& run, const AttentionForm& form) {
    if (!form.documents) return nullptr;
    const int input = id_input(run.node, op_row(run.node.op).ids[0]);
    check_ids(run, input, form.time);
    return run.in_ids(input);
}

template <class T>
void attention(const NodeRun<T>& run) {
    const AttentionForm form = form_of(run);
    const auto in = operands_of<const T*>(form, [&](int i) { return run.in(i); });
    const define::AttentionDropout dropout = dropout_of(run, form);
    auto workspace = run.scratch(form.time);
    define::attention(sizes_of(form, starts_of(run, form)), static_cast<T>(form.scale),
                      form.probability > 0 ? &dropout : nullptr, in.q, in.k, in.v, run.out(0), run.out(1),
                      run.out(2), workspace.data());
}

template <class T>
void cached_attention(const NodeRun<T>& run) {
    const CachedAttentionForm form =
        cached_attention_form(run.node, run.in_shape(0), run.in_shape(kCacheOperands));
    define::CachedAttentionSizes sizes;
    sizes.rows = form.rows;
    sizes.heads = form.heads;
    sizes.cache = {form.slots, form.kv_heads, form.capacity, form.head_dim};
    sizes.window = form.window;
    sizes.cap = form.cap;
    const std::int64_t query = form.heads * form.head_dim, key = form.kv_heads * form.head_dim;
    sizes.o_stride = query;
    sizes.q_stride = form.packed ? query + 2 * key : query;
    sizes.k_stride = sizes.v_stride = form.packed ? query + 2 * key : key;
    const auto in = operands_of<const T*>(form, [&](int i) { return run.in(kCacheOperands + i); });
    for (int i = 0; i < 2; ++i) std::copy_n(run.in(i), run.in_shape(i).elements(), run.out(1 + i));
    auto workspace = run.scratch(form.capacity);
    define::cached_attention(sizes, static_cast<T>(form.scale), run.in_ids(2), run.in_ids(3), in.q, in.k,
                             in.v, run.out(1), run.out(2), run.out(0), workspace.data());
}

template <class T>
void attention_grad(const NodeRun<T>& run) {
    const AttentionForm form = form_of(run);
    const auto in = operands_of<const T*>(form, [&](int i) { return run.in(i); });
    const auto out = operands_of<T*>(form, [&](int i) { return run.out(i); });
    const int saved = form.operands;  // o, m, l, do
    const define::AttentionDropout dropout = dropout_of(run, form);
    auto workspace = run.scratch(2 * form.time * form.time);
    define::attention_grad(sizes_of(form, starts_of(run, form)), static_cast<T>(form.scale),
                           form.probability > 0 ? &dropout : nullptr, in.q, in.k, in.v, run.in(saved),
                           run.in(saved + 1), run.in(saved + 2), run.in(saved + 3), out.q, out.k, out.v,
                           workspace.data());
}

// ---- Updates: w, g, moments, factors, clip -> w, moments ----

template <class T>
struct Update {
    std::int64_t n;
    const T *g, *factors;
    T clip;
    T *w, *first, *second;  // where they are updated; NULL: no such moment
};

// Copies w and the moments to the outputs, where the definitions update them.
template <class T>
Update<T> begin_update(const NodeRun<T>& run) {
    const int moments = run.node.output_count - 1;
    const std::int64_t n = run.in_shape(0).elements();
    std::copy_n(run.in(0), n, run.out(0));
    for (int i = 0; i < moments; ++i) std::copy_n(run.in(2 + i), n, run.out(1 + i));
    return {n,
            run.in(1),
            run.in(2 + moments),
            *run.in(3 + moments),
            run.out(0),
            moments > 0 ? run.out(1) : nullptr,
            moments > 1 ? run.out(2) : nullptr};
}

template <class T>
void sgd(const NodeRun<T>& run) {
    const Update<T> u = begin_update(run);
    const T* const f = u.factors;
    define::sgd(u.n, u.g, u.clip, define::SgdFactors<T>{f[0], f[1], f[2]}, run.node.flag(Attr::nesterov), u.w,
                u.first);
}

template <class T>
void sgd_plain(const NodeRun<T>& run) {
    const Update<T> u = begin_update(run);
    define::sgd_plain(u.n, u.g, u.clip, u.factors[0], u.factors[1], u.w);
}

template <class T>
void update_by_adam(const NodeRun<T>& run, bool decoupled) {
    const Update<T> u = begin_update(run);
    const T* const f = u.factors;
    define::adam(u.n, u.g, u.clip, define::AdamFactors<T>{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]},
                 decoupled, u.w, u.first, u.second);
}
template <class T>
void adam(const NodeRun<T>& run) {
    update_by_adam(run, false);
}
template <class T>
void adamw(const NodeRun<T>& run) {
    update_by_adam(run, true);
}

template <class T>
void adagrad(const NodeRun<T>& run) {
    const Update<T> u = begin_update(run);
    const T* const f = u.factors;
    define::adagrad(u.n, u.g, u.clip, define::AdagradFactors<T>{f[0], f[1], f[2]}, u.w, u.first);
}

}  // namespace

namespace evaluations {
constexpr Evaluation matmul = {volta::matmul<float>};
constexpr Evaluation weight_gradient = {volta::weight_gradient<float>};
constexpr Evaluation weight_gradient_into = {volta::weight_gradient_into<float>};
constexpr Evaluation attention = {volta::attention<float>};
constexpr Evaluation attention_grad = {volta::attention_grad<float>};
constexpr Evaluation cached_attention = {volta::cached_attention<float>};
constexpr Evaluation sgd = {volta::sgd<float>};
constexpr Evaluation sgd_plain = {volta::sgd_plain<float>};
constexpr Evaluation adam = {volta::adam<float>};
constexpr Evaluation adamw = {volta::adamw<float>};
constexpr Evaluation adagrad = {volta::adagrad<float>};

constexpr InDouble kInDouble[] = {
    {&matmul, volta::matmul<double>},
    {&weight_gradient, volta::weight_gradient<double>},
    {&weight_gradient_into, volta::weight_gradient_into<double>},
    {&attention, volta::attention<double>},
    {&attention_grad, volta::attention_grad<double>},
    {&cached_attention, volta::cached_attention<double>},
    {&sgd, volta::sgd<double>},
    {&sgd_plain, volta::sgd_plain<double>},
    {&adam, volta::adam<double>},
    {&adamw, volta::adamw<double>},
    {&adagrad, volta::adagrad<double>},
};
InDoubleList products_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

}  // namespace volta
