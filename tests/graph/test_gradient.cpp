// Every gradient rule against central differences in double, fused forms against compositions, the order of
// sums, and what has no gradient.
#include <cmath>
#include <functional>
#include <vector>

#include "engine/graph/gradient.h"
#include "engine/graph/gradient_builder.h"
#include "tests/graph/graphs.h"
#include "tests/support/elementwise_rows.h"

namespace {
using namespace volta;
using namespace volta::test;

// A function of parameters: builds its graph and returns the value of which a gradient is taken.
struct Case {
    const char* name;
    std::function<ValueId(Graph& graph)> build;
};

ValueId unary(Graph& g, Op op, double low, double high) {
    return g.apply(op, {weights(g, {3, 5}, low, high)});
}
ValueId powered(Graph& g, double exponent) {
    return g.apply(Op::pow, {weights(g, {7}, 0.5, 2)}, {number(Attr::exponent, exponent)});
}
// Heads of 6 in rows of 13, at positions 3, 0, 8, 1.
ValueId turned(Graph& g, double heads, double interleaved, double inverse) {
    const ValueId x = weights(g, {2, 2, 13});
    const std::int32_t ids[] = {3, 0, 8, 1};
    const ValueId table = g.apply(Op::rotary_table, {}, {number(Attr::limit, 9), number(Attr::width, 6)});
    return g.apply(
        Op::rotary, {x, g.constant(DType::i32, {2, 2}, ids), table},
        {number(Attr::heads, heads), number(Attr::interleaved, interleaved), number(Attr::inverse, inverse)});
}
// Of heads of 6 the first 4, by frequencies and a scale that are given.
ValueId turned_in_part(Graph& g, double heads, double interleaved) {
    const ValueId x = weights(g, {2, 2, 13});
    const std::int32_t ids[] = {3, 0, 8, 1};
    const float frequencies[] = {0.9f, 0.3f};
    const ValueId table =
        g.apply(Op::rotary_table, {g.constant(DType::f32, {2}, frequencies)},
                {number(Attr::limit, 9), number(Attr::width, 4), number(Attr::scale, 1.25)});
    return g.apply(
        Op::rotary, {x, g.constant(DType::i32, {2, 2}, ids), table},
        {number(Attr::heads, heads), number(Attr::interleaved, interleaved), number(Attr::width, 6)});
}
// A loss over 5 classes of 4 rows, one of them ignored.
ValueId class_loss(Graph& g, double smoothing, bool weighted) {
    const std::int32_t targets[] = {2, -1, 0, 4};
    const float w[] = {0.5f, 2, 0, 1.25f, 3};
    std::vector<ValueId> inputs = {weights(g, {2, 2, 5}, -2, 2), g.constant(DType::i32, {2, 2}, targets)};
    if (weighted) inputs.push_back(g.constant(DType::f32, {5}, w));
    const Attribute smooth = number(Attr::label_smoothing, smoothing);
    return g.apply(Op::cross_entropy, inputs.data(), static_cast<int>(inputs.size()), &smooth, 1,
                   Phase::each);
}
// The same from log_softmax, as PyTorch writes it: (1 - e) w_y n_y + e/V sum w_j n_j with n = -log_softmax.
ValueId composed_class_loss(Graph& g, double smoothing, bool weighted) {
    const float w[] = {0.5f, 2, 0, 1.25f, 3};
    const int targets[] = {2, -1, 0, 4};
    std::vector<float> shares(20, 0.0f);
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t j = 0; j < 5; ++j) {
            if (targets[r] < 0) continue;
            const double hit = static_cast<int>(j) == targets[r] ? 1 - smoothing : 0;
            shares[r * 5 + j] =
                static_cast<float>((hit + smoothing / 5) * (weighted ? static_cast<double>(w[j]) : 1.0));
        }
    const ValueId y = g.apply(Op::log_softmax, {weights(g, {2, 2, 5}, -2, 2)});
    const ValueId picked = g.apply(Op::mul, {y, g.constant(DType::f32, {2, 2, 5}, shares.data())});
    return g.apply(Op::neg, {g.apply(Op::sum, {picked}, {list(Attr::axes, {2})})});
}
// Logits of 3 columns against targets that are certain and such that are not.
ValueId binary_loss(Graph& g, bool weighted) {
    const float t[] = {1, 0, 0.25f, 0, 1, 0.75f}, w[] = {0.5f, 3, 1.5f};
    const ValueId x = weights(g, {2, 3}, -3, 3), targets = g.constant(DType::f32, {2, 3}, t);
    if (!weighted) return g.apply(Op::binary_cross_entropy, {x, targets});
    return g.apply(Op::binary_cross_entropy, {x, targets, g.constant(DType::f32, {3}, w)});
}
// From the logarithms of sigmoid(x) and of 1 - sigmoid(x).
ValueId composed_binary_loss(Graph& g, bool weighted) {
    const float t[] = {1, 0, 0.25f, 0, 1, 0.75f}, w[] = {0.5f, 3, 1.5f};
    float on[6], off[6];
    for (int i = 0; i < 6; ++i) on[i] = weighted ? t[i] * w[i % 3] : t[i], off[i] = 1 - t[i];
    const ValueId p = g.apply(Op::sigmoid, {weights(g, {2, 3}, -3, 3)});
    const ValueId q = g.apply(Op::sub, {g.scalar(1), p});
    const ValueId yes = g.apply(Op::mul, {g.apply(Op::log, {p}), g.constant(DType::f32, {2, 3}, on)});
    const ValueId no = g.apply(Op::mul, {g.apply(Op::log, {q}), g.constant(DType::f32, {2, 3}, off)});
    const ValueId sum = g.apply(Op::sum, {g.apply(Op::add, {yes, no})}, {list(Attr::axes, {1})});
    return g.apply(Op::neg, {sum});
}
ValueId random_state(Graph& g) { return integers(g, {3}); }

// Over mean and variance that are given, or over the batch's own.
ValueId batch_normed(Graph& g, const Shape& x_shape) {
    const Shape channels = {x_shape[1]};
    const ValueId x = weights(g, x_shape), scale = weights(g, channels), bias = weights(g, channels);
    const ValueId mean = reals(g, channels), variance = g.apply(Op::exp, {reals(g, channels)});
    return g.apply(Op::batch_norm, {x, scale, bias, mean, variance}, {number(Attr::epsilon, 0.01)});
}
ValueId batch_norm_trained(Graph& g, const Shape& x_shape) {
    const Shape channels = {x_shape[1]};
    const ValueId x = weights(g, x_shape), scale = weights(g, channels), bias = weights(g, channels);
    const ValueId mean = g.apply(Op::batch_statistics, {x});
    return g.apply(Op::batch_norm_train, {x, scale, bias, mean, mean + 1}, {number(Attr::epsilon, 0.01)});
}
ValueId group_normed(Graph& g, const Shape& x_shape, double groups) {
    const Shape channels = {x_shape[1]};
    const ValueId x = weights(g, x_shape), scale = weights(g, channels), bias = weights(g, channels);
    return g.apply(Op::group_norm, {x, scale, bias},
                   {number(Attr::epsilon, 0.01), number(Attr::groups, groups)});
}
ValueId instance_normed(Graph& g, const Shape& x_shape) {
    const Shape channels = {x_shape[1]};
    const ValueId x = weights(g, x_shape), scale = weights(g, channels), bias = weights(g, channels);
    return g.apply(Op::instance_norm, {x, scale, bias}, {number(Attr::epsilon, 0.01)});
}

// Cases beside those of every elementwise operator, which all_cases() makes from its row.
const Case kCases[] = {
    {"pow 1", [](Graph& g) { return powered(g, 1); }},
    {"pow 2",
     [](Graph& g) { return g.apply(Op::pow, {weights(g, {7}, -2, 2)}, {number(Attr::exponent, 2)}); }},
    {"pow 3",
     [](Graph& g) { return g.apply(Op::pow, {weights(g, {7}, -2, 2)}, {number(Attr::exponent, 3)}); }},
    {"pow -1",
     [](Graph& g) { return g.apply(Op::pow, {weights(g, {7}, -2, -1)}, {number(Attr::exponent, -1)}); }},
    {"pow 0.5", [](Graph& g) { return powered(g, 0.5); }},
    {"pow -0.5", [](Graph& g) { return powered(g, -0.5); }},
    {"pow 2.75", [](Graph& g) { return powered(g, 2.75); }},
    {"clamp",
     [](Graph& g) {
         return g.apply(Op::clamp, {weights(g, {30}, -2, 2)},
                        {number(Attr::low, -0.5), number(Attr::high, 0.75)});
     }},
    {"add",
     [](Graph& g) {
         return g.apply(Op::add, {weights(g, {4, 3}), weights(g, {3})});
     }},
    {"add of one value twice",
     [](Graph& g) {
         const ValueId x = weights(g, {4});
         return g.apply(Op::add, {x, x});
     }},
    {"sub",
     [](Graph& g) {
         return g.apply(Op::sub, {weights(g, {4, 1, 3}), weights(g, {2, 1})});
     }},
    {"mul",
     [](Graph& g) {
         return g.apply(Op::mul, {weights(g, {2, 4, 3}), weights(g, {4, 1})});
     }},
    {"mul by one number",
     [](Graph& g) {
         return g.apply(Op::mul, {weights(g, {2, 4, 3}), weights(g, {})});
     }},
    {"mul of a value by itself",
     [](Graph& g) {
         const ValueId x = weights(g, {4});
         return g.apply(Op::mul, {x, x});
     }},
    {"div",
     [](Graph& g) {
         return g.apply(Op::div, {weights(g, {4, 3}), weights(g, {4, 1}, 0.5, 2)});
     }},
    {"maximum",
     [](Graph& g) {
         return g.apply(Op::maximum, {weights(g, {4, 3}), weights(g, {3})});
     }},
    {"minimum",
     [](Graph& g) {
         return g.apply(Op::minimum, {weights(g, {4, 1}), weights(g, {4, 3})});
     }},
    {"prelu, a slope per channel",
     [](Graph& g) {
         return g.apply(Op::prelu, {weights(g, {2, 3, 2, 2}), weights(g, {3, 1, 1})});
     }},
    {"prelu, one slope",
     [](Graph& g) {
         return g.apply(Op::prelu, {weights(g, {2, 5}), weights(g, {})});
     }},
    {"celu of another alpha",
     [](Graph& g) { return g.apply(Op::celu, {weights(g, {20}, -2, 2)}, {number(Attr::alpha, 0.4)}); }},
    {"hard_sigmoid as in ONNX",
     [](Graph& g) {
         return g.apply(Op::hard_sigmoid, {weights(g, {40}, -4, 4)},
                        {number(Attr::alpha, 0.2), number(Attr::beta, 0.5)});
     }},
    {"where",
     [](Graph& g) {
         const ValueId mask = g.apply(Op::less, {reals(g, {4, 3}), g.scalar(0)});
         return g.apply(Op::where, {mask, weights(g, {3}), weights(g, {4, 1})});
     }},
    {"dropout",
     [](Graph& g) {
         return g.apply(Op::dropout, {weights(g, {6, 40}), random_state(g)},
                        {number(Attr::probability, 0.3), number(Attr::stream, 5)});
     }},
    {"softmax",
     [](Graph& g) {
         return g.apply(Op::softmax, {weights(g, {4, 7}, -2, 2)});
     }},
    {"log_softmax",
     [](Graph& g) {
         return g.apply(Op::log_softmax, {weights(g, {4, 7}, -2, 2)});
     }},
    {"layer_norm",
     [](Graph& g) {
         return g.apply(Op::layer_norm, {weights(g, {2, 3, 7}), weights(g, {7}), weights(g, {7})},
                        {number(Attr::epsilon, 0.01)});
     }},
    {"layer_norm of one row",
     [](Graph& g) {
         return g.apply(Op::layer_norm, {weights(g, {7}), weights(g, {7}), weights(g, {7})});
     }},
    {"rms_norm",
     [](Graph& g) {
         return g.apply(Op::rms_norm, {weights(g, {2, 3, 7}), weights(g, {7})},
                        {number(Attr::epsilon, 0.01)});
     }},
    {"batch_norm",
     [](Graph& g) {
         return batch_normed(g, {3, 4, 2, 3});
     }},
    {"batch_norm without planes",
     [](Graph& g) {
         return batch_normed(g, {5, 3});
     }},
    {"batch_norm_train",
     [](Graph& g) {
         return batch_norm_trained(g, {3, 4, 2, 2});
     }},
    {"batch_norm_train without planes",
     [](Graph& g) {
         return batch_norm_trained(g, {6, 3});
     }},
    {"batch_norm_train of one sample",
     [](Graph& g) {
         return batch_norm_trained(g, {1, 3, 5});
     }},
    {"group_norm",
     [](Graph& g) {
         return group_normed(g, {2, 6, 2, 2}, 3);
     }},
    {"group_norm of one group",
     [](Graph& g) {
         return group_normed(g, {2, 4, 3}, 1);
     }},
    {"group_norm without planes",
     [](Graph& g) {
         return group_normed(g, {3, 6}, 2);
     }},
    {"group_norm of one group without planes",
     [](Graph& g) {
         return group_normed(g, {3, 6}, 1);
     }},
    {"instance_norm",
     [](Graph& g) {
         return instance_normed(g, {2, 3, 2, 4});
     }},
    {"swiglu",
     [](Graph& g) {
         return g.apply(Op::swiglu, {weights(g, {2, 3, 14}, -3, 3)});
     }},
    {"rotary", [](Graph& g) { return turned(g, 2, 0, 0); }},
    {"rotary, interleaved, and columns that stay", [](Graph& g) { return turned(g, 1, 1, 0); }},
    {"rotary backwards", [](Graph& g) { return turned(g, 2, 0, 1); }},
    {"rotary of a part of each head, scaled", [](Graph& g) { return turned_in_part(g, 2, 0); }},
    {"rotary of a part of each head, interleaved", [](Graph& g) { return turned_in_part(g, 2, 1); }},
    {"cross_entropy",
     [](Graph& g) {
         const std::int32_t targets[] = {2, -1, 0, 4};
         return g.apply(Op::cross_entropy,
                        {weights(g, {2, 2, 5}, -2, 2), g.constant(DType::i32, {2, 2}, targets)});
     }},
    {"cross_entropy, smoothed", [](Graph& g) { return class_loss(g, 0.1, false); }},
    {"cross_entropy, weighted", [](Graph& g) { return class_loss(g, 0, true); }},
    {"cross_entropy, smoothed and weighted", [](Graph& g) { return class_loss(g, 0.3, true); }},
    {"mse",
     [](Graph& g) {
         return g.apply(Op::mse, {weights(g, {3, 5}), weights(g, {3, 5})});
     }},
    {"l1",
     [](Graph& g) {
         return g.apply(Op::l1, {weights(g, {3, 5}), weights(g, {3, 5})});
     }},
    {"huber",
     [](Graph& g) {
         return g.apply(Op::huber, {weights(g, {3, 5}), weights(g, {3, 5})}, {number(Attr::delta, 0.5)});
     }},
    {"binary_cross_entropy", [](Graph& g) { return binary_loss(g, false); }},
    {"binary_cross_entropy, weighted", [](Graph& g) { return binary_loss(g, true); }},
    {"sum of all",
     [](Graph& g) {
         return g.apply(Op::sum, {weights(g, {3, 5})});
     }},
    {"sum of rows",
     [](Graph& g) {
         return g.apply(Op::sum, {weights(g, {2, 3, 5})}, {list(Attr::axes, {0, -1})});
     }},
    {"sum of columns",
     [](Graph& g) {
         return g.apply(Op::sum, {weights(g, {4, 3, 5})},
                        {list(Attr::axes, {0, 1}), number(Attr::keep_dims, 1)});
     }},
    {"mean",
     [](Graph& g) {
         return g.apply(Op::mean, {weights(g, {4, 3, 5})}, {list(Attr::axes, {1})});
     }},
    {"max",
     [](Graph& g) {
         return g.apply(Op::max, {weights(g, {4, 3, 5})}, {list(Attr::axes, {0, 2})});
     }},
    {"min",
     [](Graph& g) {
         return g.apply(Op::min, {weights(g, {4, 3})}, {list(Attr::axes, {0}), number(Attr::keep_dims, 1)});
     }},
    {"square_sum",
     [](Graph& g) {
         return g.apply(Op::square_sum, {weights(g, {4, 3})});
     }},
    {"reshape",
     [](Graph& g) {
         return g.apply(Op::reshape, {weights(g, {4, 3})}, {list(Attr::shape, {2, -1})});
     }},
    {"transpose",
     [](Graph& g) {
         return g.apply(Op::transpose, {weights(g, {2, 3, 4})}, {list(Attr::permutation, {2, 0, 1})});
     }},
    {"concat",
     [](Graph& g) {
         const ValueId x = weights(g, {2, 3});
         return g.apply(Op::concat, {x, weights(g, {2, 1}), x}, {number(Attr::axis, 1)});
     }},
    {"slice",
     [](Graph& g) {
         return g.apply(Op::slice, {weights(g, {3, 7, 2})},
                        {number(Attr::axis, -2), number(Attr::begin, 2), number(Attr::end, -1)});
     }},
    {"broadcast_to",
     [](Graph& g) {
         return g.apply(Op::broadcast_to, {weights(g, {3, 1})}, {list(Attr::shape, {2, 3, 4})});
     }},
    {"gather",
     [](Graph& g) {
         return g.apply(Op::gather, {weights(g, {4, 3}), integers(g, {2, 5})});
     }},
    {"conv",
     [](Graph& g) {
         return g.apply(Op::conv, {weights(g, {2, 3, 5, 4}), weights(g, {4, 3, 3, 2}), weights(g, {4})},
                        {list(Attr::strides, {2, 1}), list(Attr::pads, {1, 0, 1, 2})});
     }},
    {"conv, grouped, dilated, one axis",
     [](Graph& g) {
         return g.apply(Op::conv, {weights(g, {2, 4, 9}), weights(g, {6, 2, 3}), weights(g, {6})},
                        {list(Attr::dilations, {2}), list(Attr::pads, {2, 1}), number(Attr::groups, 2)});
     }},
    {"conv, gaps between strides",
     [](Graph& g) {
         return g.apply(Op::conv, {weights(g, {1, 2, 7, 6}), weights(g, {3, 2, 2, 1})},
                        {list(Attr::strides, {3, 2})});
     }},
    {"conv_transpose",
     [](Graph& g) {
         return g.apply(Op::conv_transpose,
                        {weights(g, {2, 3, 3, 4}), weights(g, {3, 2, 3, 2}), weights(g, {2})},
                        {list(Attr::strides, {2, 1}), list(Attr::pads, {1, 0, 0, 1}),
                         list(Attr::output_padding, {1, 0})});
     }},
    {"conv_transpose, depthwise",
     [](Graph& g) {
         return g.apply(Op::conv_transpose, {weights(g, {1, 3, 4, 4}), weights(g, {3, 1, 3, 3})},
                        {number(Attr::groups, 3)});
     }},
    {"slice_grad",
     [](Graph& g) {
         return g.apply(Op::slice_grad, {weights(g, {2, 3, 4})},
                        {number(Attr::axis, 1), number(Attr::begin, 2), number(Attr::rows, 7)});
     }},
    {"pad",
     [](Graph& g) {
         return g.apply(Op::pad, {weights(g, {2, 3, 4})},
                        {list(Attr::pads, {1, 0, 0, 2}), number(Attr::value, 0.5)});
     }},
    {"pad, mirrored",
     [](Graph& g) {
         return g.apply(Op::pad, {weights(g, {2, 3, 4})},
                        {list(Attr::pads, {2, 3, 1, 2}), number(Attr::mode, 1)});
     }},
    {"pad, repeated",
     [](Graph& g) {
         return g.apply(Op::pad, {weights(g, {2, 3, 4})},
                        {list(Attr::pads, {1, 2, 0, 1, 3, 4}), number(Attr::mode, 2)});
     }},
    {"resize, nearest",
     [](Graph& g) {
         return g.apply(Op::resize, {weights(g, {2, 2, 3, 7})}, {list(Attr::shape, {7, 3})});
     }},
    {"resize, linear",
     [](Graph& g) {
         return g.apply(Op::resize, {weights(g, {2, 2, 3, 7})},
                        {list(Attr::shape, {7, 3}), number(Attr::mode, 1)});
     }},
    {"resize, linear, one axis",
     [](Graph& g) {
         return g.apply(Op::resize, {weights(g, {2, 2, 5})},
                        {list(Attr::shape, {10}), number(Attr::mode, 1)});
     }},
    {"max_pool",
     [](Graph& g) {
         return g.apply(
             Op::max_pool, {weights(g, {2, 2, 7, 6})},
             {list(Attr::kernel, {3, 2}), list(Attr::strides, {2, 1}), list(Attr::pads, {1, 0, 1, 1})});
     }},
    {"average_pool",
     [](Graph& g) {
         return g.apply(
             Op::average_pool, {weights(g, {2, 2, 7, 6})},
             {list(Attr::kernel, {3, 2}), list(Attr::strides, {2, 1}), list(Attr::pads, {1, 0, 1, 1})});
     }},
    {"average_pool, padding counted, one axis",
     [](Graph& g) {
         return g.apply(Op::average_pool, {weights(g, {2, 2, 9})},
                        {list(Attr::kernel, {4}), list(Attr::strides, {3}), list(Attr::pads, {1, 2}),
                         number(Attr::ceil_mode, 1), number(Attr::count_include_pad, 1)});
     }},
    {"matmul",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {2, 3, 4}), weights(g, {4, 5})});
     }},
    {"matmul, b transposed",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {2, 3, 4}), weights(g, {5, 4})},
                        {number(Attr::transpose_b, 1)});
     }},
    {"matmul, a transposed",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {2, 3, 4}), weights(g, {2, 3, 5})},
                        {number(Attr::transpose_a, 1)});
     }},
    {"matmul, both transposed",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {3, 4}), weights(g, {5, 3})},
                        {number(Attr::transpose_a, 1), number(Attr::transpose_b, 1)});
     }},
    {"matmul, batched",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {2, 2, 3, 4}), weights(g, {2, 2, 4, 5})});
     }},
    {"matmul, batched, b transposed",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {2, 3, 4}), weights(g, {2, 5, 4})},
                        {number(Attr::transpose_b, 1)});
     }},
    {"matmul, K of three segments",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {2, 550, 2}), weights(g, {2, 2})});
     }},
    {"matmul, 1024 x 1024",
     [](Graph& g) {
         return g.apply(Op::matmul, {weights(g, {3, 1024}), weights(g, {1024, 1024})});
     }},
    {"attention",
     [](Graph& g) {
         return g.apply(Op::attention,
                        {weights(g, {2, 5, 12}), weights(g, {2, 5, 12}), weights(g, {2, 5, 12})},
                        {number(Attr::heads, 3)});
     }},
    {"attention, grouped, not causal, own scale",
     [](Graph& g) {
         return g.apply(Op::attention, {weights(g, {2, 4, 12}), weights(g, {2, 4, 6}), weights(g, {2, 4, 6})},
                        {number(Attr::heads, 4), number(Attr::kv_heads, 2), number(Attr::causal, 0),
                         number(Attr::scale, 0.75)});
     }},
    {"attention, packed, grouped, dropout",
     [](Graph& g) {
         return g.apply(Op::attention, {weights(g, {2, 5, 16}), random_state(g)},
                        {number(Attr::heads, 4), number(Attr::kv_heads, 2), number(Attr::packed, 1),
                         number(Attr::probability, 0.4), number(Attr::stream, 3)});
     }},
    {"attention, a window and a cap, grouped",
     [](Graph& g) {
         return g.apply(Op::attention, {weights(g, {2, 5, 12}), weights(g, {2, 5, 6}), weights(g, {2, 5, 6})},
                        {number(Attr::heads, 4), number(Attr::kv_heads, 2), number(Attr::window, 2),
                         number(Attr::cap, 0.5)});
     }},
    {"attention of documents, below a cap, dropout",
     [](Graph& g) {
         const std::int32_t starts[] = {0, 0, 2, 2, 2, 0, 1, 1, 1, 4};
         return g.apply(Op::attention,
                        {weights(g, {2, 5, 16}), g.constant(DType::i32, {2, 5}, starts), random_state(g)},
                        {number(Attr::heads, 4), number(Attr::kv_heads, 2), number(Attr::packed, 1),
                         number(Attr::cap, 0.5), number(Attr::probability, 0.4), number(Attr::documents, 1)});
     }},
    {"attention, a cap below a negative scale, all keys, dropout",
     [](Graph& g) {
         return g.apply(Op::attention, {weights(g, {2, 5, 12}), random_state(g)},
                        {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::causal, 0),
                         number(Attr::scale, -0.75), number(Attr::cap, 1.5), number(Attr::probability, 0.3)});
     }},
    {"a tied table",
     [](Graph& g) {
         const ValueId table = weights(g, {4, 3});
         const ValueId x = g.apply(Op::gather, {table, integers(g, {2, 5})});
         const ValueId y = g.apply(Op::tanh, {g.apply(Op::matmul, {x, weights(g, {3, 3})})});
         return g.apply(Op::matmul, {y, table}, {number(Attr::transpose_b, 1)});
     }},
    {"a block",
     [](Graph& g) {
         const ValueId x = weights(g, {2, 4, 6});
         const ValueId n = g.apply(Op::layer_norm, {x, weights(g, {6}), weights(g, {6})});
         const ValueId qkv =
             g.apply(Op::add, {g.apply(Op::matmul, {n, weights(g, {6, 18})}), weights(g, {18})});
         const ValueId a = g.apply(Op::attention, {qkv}, {number(Attr::heads, 2), number(Attr::packed, 1)});
         const ValueId r = g.apply(Op::add, {x, g.apply(Op::matmul, {a, weights(g, {6, 6})})});
         const ValueId h = g.apply(Op::gelu_tanh, {g.apply(Op::matmul, {r, weights(g, {6, 8})})});
         return g.apply(Op::add, {r, g.apply(Op::matmul, {h, weights(g, {8, 6})})});
     }},
};

// Differentiable elementwise operators where their rows say that they are smooth, alone and, of two inputs,
// broadcast.
std::vector<Case> all_cases() {
    std::vector<Case> cases(std::begin(kCases), std::end(kCases));
    for (const OpRow* row : elementwise_rows()) {
        const Operands operands = operands_of(*row);
        if (row->gradient == nullptr || operands == Operands::of_its_own) continue;
        cases.push_back(
            {row->name, [=](Graph& g) {
                 const Shape shapes[] = {{3, 5}, operands == Operands::broadcast ? Shape{5} : Shape{3, 5}};
                 std::vector<ValueId> inputs;
                 inputs.reserve(static_cast<std::size_t>(row->min_inputs));
                 for (int i = 0; i < row->min_inputs; ++i)
                     inputs.push_back(weights(g, shapes[i], row->sample_low, row->sample_high));
                 const std::vector<Attribute> attributes = example_attributes(*row);
                 return g.apply(row->op, inputs.data(), row->min_inputs, attributes.data(),
                                static_cast<int>(attributes.size()), Phase::each);
             }});
    }
    return cases;
}

// The backward graph of sum(y * direction): the seed of y is the source "direction".
struct Differentiated {
    Backward backward{heap()};
    ValueId y, direction;
};
Differentiated differentiated(const std::function<ValueId(Graph&)>& build) {
    Graph forward(heap());
    const ValueId y = build(forward);
    Differentiated result;
    result.backward = copy_forward(forward, heap());
    result.y = result.backward.renamed[static_cast<std::size_t>(y)];
    Graph& graph = result.backward.graph;
    result.direction = graph.input("direction", DType::f32, Shape(graph.shape(result.y)));
    std::pmr::vector<Seed> seeds({{result.y, result.direction}}, heap());
    differentiate(result.backward, seeds);
    verify(graph);
    return result;
}

// ((u_m + u_{m-1}) + ...) + u_1
std::vector<double> summed(const ParameterGradient& gradient, const Tensors<double>& tensors) {
    std::vector<double> sum;
    for (auto use = gradient.contributions.rbegin(); use != gradient.contributions.rend(); ++use) {
        const auto& values = tensors[static_cast<std::size_t>(*use)].real;
        if (sum.empty())
            sum.assign(values.begin(), values.end());
        else
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + values[i];
    }
    return sum;
}

double inner(const std::pmr::vector<double>& a, const std::pmr::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

// Moves one parameter along `along` and compares the change of the loss with the gradient's promise.
bool agrees(const Differentiated& d, Tensors<double>& tensors, ValueId parameter,
            const std::vector<double>& gradient, const std::vector<double>& along, const char* name) {
    constexpr double kStep = 1e-5;
    auto& values = tensors[static_cast<std::size_t>(parameter)].real;
    const std::vector<double> at(values.begin(), values.end());
    double loss[2], expected = 0;
    for (int side = 0; side < 2; ++side) {
        for (std::size_t i = 0; i < at.size(); ++i) values[i] = at[i] + (side ? kStep : -kStep) * along[i];
        evaluate(d.backward.graph, tensors);
        loss[side] = inner(tensors[static_cast<std::size_t>(d.y)].real,
                           tensors[static_cast<std::size_t>(d.direction)].real);
    }
    std::copy(at.begin(), at.end(), values.begin());
    for (std::size_t i = 0; i < at.size(); ++i) expected += gradient[i] * along[i];
    const double measured = (loss[1] - loss[0]) / (2 * kStep);
    const bool close = std::fabs(measured - expected) <= 2e-6 * (1 + std::fabs(expected));
    if (!close)
        print_error("%s: parameter %%%d: the rule gives %.12g, the difference %.12g\n", name, parameter,
                    expected, measured);
    return close;
}

// Single elements of small parameters, random directions of large ones.
bool all_directions_agree(const Differentiated& d, Tensors<double>& tensors,
                          const ParameterGradient& parameter, const char* name) {
    evaluate(d.backward.graph, tensors);
    const std::vector<double> gradient = summed(parameter, tensors);
    const std::size_t count = tensors[static_cast<std::size_t>(parameter.parameter)].real.size();
    const bool small = count <= 60;
    Random random(77);
    for (std::size_t i = 0; i < (small ? count : 3); ++i) {
        std::vector<double> along(count, 0);
        if (small)
            along[i] = 1;
        else
            for (double& x : along) x = random.uniform() * 2 - 1;
        if (!agrees(d, tensors, parameter.parameter, gradient, along, name)) return false;
    }
    return true;
}

void test_rule_equals_central_difference(void** state) {
    const Case& test = *static_cast<const Case*>(*state);
    bool all = true;
    {
        const Differentiated d = differentiated(test.build);
        Tensors<double> tensors(d.backward.graph.values.size(), heap());
        fill_sources(d.backward.graph, tensors, 4711);
        for (const ParameterGradient& parameter : d.backward.gradients) {
            const bool complete = !parameter.contributions.empty();
            if (!complete) print_error("%s: a parameter has no gradient\n", test.name);
            all = all && complete && all_directions_agree(d, tensors, parameter, test.name);
        }
    }
    assert_true(all);
}

void test_every_differentiable_operator_has_a_case(void**) {
    bool seen[kOpCount] = {};
    for (const Case& test : all_cases()) {
        Graph graph(heap());
        test.build(graph);
        for (const Node& node : graph.nodes) seen[static_cast<int>(node.op)] = true;
    }
    for (int op = 0; op < kOpCount; ++op) {
        const OpRow& row = op_row(static_cast<Op>(op));
        if (row.gradient && !seen[op]) print_error("%s has a gradient rule and no case\n", row.name);
        assert_true(!row.gradient || seen[op]);
    }
}

// Special values everywhere: no crash, and every gradient has its shape.
void test_special_values_pass_through(void**) {
    for (const Case& test : all_cases()) {
        const Differentiated d = differentiated(test.build);
        Tensors<float> tensors(d.backward.graph.values.size(), heap());
        fill_sources(d.backward.graph, tensors, 815, Data::special);
        evaluate(d.backward.graph, tensors);
    }
}

// Where the slope jumps the rules say what counts: abs and relu have no slope at 0.
void test_corners_have_their_slope(void**) {
    struct Corner {
        ValueId (*build)(Graph& graph);
        float slope[3];  // at -1, +0 and 1
    };
    const Corner corners[] = {
        {[](Graph& g) { return g.apply(Op::abs, {weights(g, {3})}); }, {-1, 0, 1}},
        {[](Graph& g) { return g.apply(Op::relu, {weights(g, {3})}); }, {0, 0, 1}},
        {[](Graph& g) {
             return g.apply(Op::clamp, {weights(g, {3})}, {number(Attr::low, 0), number(Attr::high, 1)});
         },
         {0, 0, 0}},  // as relu6 has none at 0 and at 6
        {[](Graph& g) {
             return g.apply(Op::prelu, {weights(g, {3}), g.scalar(0.25f)});
         },
         {0.25f, 0.25f, 1}},
        {[](Graph& g) {
             return g.apply(Op::hard_sigmoid, {weights(g, {3})},
                            {number(Attr::alpha, 0.5), number(Attr::beta, 0.5)});
         },
         {0, 0.5f, 0}},
    };
    for (const Corner& corner : corners) {
        const Differentiated d = differentiated(corner.build);
        Tensors<float> tensors(d.backward.graph.values.size(), heap());
        const auto real = [&](ValueId value) -> auto& {
            return tensors[static_cast<std::size_t>(value)].real;
        };
        const ParameterGradient& weight = d.backward.gradients[0];
        real(weight.parameter) = {-1, 0, 1};
        real(d.direction) = {1, 1, 1};
        evaluate(d.backward.graph, tensors);
        assert_same_bits("slope", real(weight.contributions[0]).data(), corner.slope, 3);
    }
}

// ---- Fused operators against what they stand for ----

struct Pair {
    const char* name;
    ValueId (*fused)(Graph& graph);
    ValueId (*composed)(Graph& graph);  // the same sources in the same order
};

ValueId row_reduction(Graph& g, Op op, ValueId x) {
    return g.apply(op, {x}, {list(Attr::axes, {-1}), number(Attr::keep_dims, 1)});
}
ValueId sub(Graph& g, ValueId a, ValueId b) { return g.apply(Op::sub, {a, b}); }
ValueId mul(Graph& g, ValueId a, ValueId b) { return g.apply(Op::mul, {a, b}); }
// (x - mean) * rs * scale + bias with the statistics of `grouped`, which is x in another shape, over `axes`.
ValueId composed_norm(Graph& g, ValueId x, ValueId grouped, std::initializer_list<std::int64_t> axes,
                      const Shape& channels) {
    const Shape shape = g.shape(x), one = {channels[0]};
    const auto mean_of = [&](ValueId v) {
        return g.apply(Op::mean, {v}, {list(Attr::axes, axes), number(Attr::keep_dims, 1)});
    };
    const ValueId d = sub(g, grouped, mean_of(grouped));
    const ValueId variance = g.apply(Op::add, {mean_of(mul(g, d, d)), g.scalar(0.01f)});
    const ValueId xh =
        g.apply(Op::reshape, {mul(g, d, g.apply(Op::rsqrt, {variance}))}, {list(Attr::shape, shape)});
    const ValueId scale = g.apply(Op::reshape, {weights(g, one)}, {list(Attr::shape, channels)});
    const ValueId bias = g.apply(Op::reshape, {weights(g, one)}, {list(Attr::shape, channels)});
    return g.apply(Op::add, {mul(g, xh, scale), bias});
}
ValueId composed_softmax(Graph& g, ValueId x) {
    const ValueId e = g.apply(Op::exp, {sub(g, x, row_reduction(g, Op::max, x))});
    return g.apply(Op::div, {e, row_reduction(g, Op::sum, e)});
}
// [B, T, heads*d] -> [B, heads, T, d], the kv heads repeated for their group
ValueId split_heads(Graph& g, ValueId x, std::int64_t heads, std::int64_t group) {
    const Shape shape = g.shape(x);
    const std::int64_t d = shape[2] / heads;
    ValueId y = g.apply(Op::reshape, {x}, {list(Attr::shape, {shape[0], shape[1], heads, 1, d})});
    y = g.apply(Op::broadcast_to, {y}, {list(Attr::shape, {-1, -1, -1, group, -1})});
    y = g.apply(Op::reshape, {y}, {list(Attr::shape, {shape[0], shape[1], heads * group, d})});
    return g.apply(Op::transpose, {y}, {list(Attr::permutation, {0, 2, 1, 3})});
}
// Of two rows of five tokens.
const std::vector<std::int32_t> kStarts = {0, 0, 2, 2, 2, 0, 1, 1, 3, 3};

ValueId composed_attention(Graph& g, ValueId q, ValueId k, ValueId v, std::int64_t heads,
                           std::int64_t kv_heads, bool causal, float scale, std::int64_t window = 0,
                           float cap = 0, const std::vector<std::int32_t>& starts = {}) {
    const Shape shape = g.shape(q);
    const std::int64_t time = shape[1], group = heads / kv_heads;
    const ValueId scores =
        g.apply(Op::matmul, {split_heads(g, q, heads, 1), split_heads(g, k, kv_heads, group)},
                {number(Attr::transpose_b, 1)});
    ValueId s = mul(g, scores, g.scalar(scale));
    if (cap != 0) s = mul(g, g.apply(Op::tanh, {g.apply(Op::div, {s, g.scalar(cap)})}), g.scalar(cap));
    std::vector<std::int32_t> allowed;
    const std::int64_t masks = starts.empty() ? 1 : shape[0];
    for (std::int64_t b = 0; b < masks; ++b)
        for (std::int64_t i = 0; i < time; ++i)
            for (std::int64_t j = 0; j < time; ++j)
                allowed.push_back(!causal ||
                                  (j <= i && (window == 0 || j > i - window) &&
                                   (starts.empty() || j >= starts[static_cast<std::size_t>(b * time + i)])));
    const ValueId mask = g.constant(DType::i32, {masks, 1, time, time}, allowed.data());
    s = g.apply(Op::where, {mask, s, g.scalar(-1e30f)});
    const ValueId o = g.apply(Op::matmul, {composed_softmax(g, s), split_heads(g, v, kv_heads, group)});
    const ValueId joined = g.apply(Op::transpose, {o}, {list(Attr::permutation, {0, 2, 1, 3})});
    return g.apply(Op::reshape, {joined}, {list(Attr::shape, shape)});
}

ValueId columns(Graph& g, ValueId x, double begin, double end) {
    return g.apply(Op::slice, {x},
                   {number(Attr::axis, -1), number(Attr::begin, begin), number(Attr::end, end)});
}
// turned(g, 2, 0, 0) as a product with the matrix of each position.
ValueId composed_rotary(Graph& g, ValueId x) {
    std::vector<float> matrices;  // [4, 13, 13]
    for (const std::int32_t position : {3, 0, 8, 1}) {
        std::vector<float> matrix(13 * 13, 0.0f);
        const auto at = [&](std::int64_t from, std::int64_t to) -> float& {
            return matrix[static_cast<std::size_t>(from * 13 + to)];
        };
        at(12, 12) = 1;
        for (const std::int64_t head : {0, 6})
            for (std::int64_t i = 0; i < 3; ++i) {
                const double angle = position * std::pow(10000.0, -static_cast<double>(2 * i) / 6);
                at(head + i, head + i) = at(head + 3 + i, head + 3 + i) = static_cast<float>(std::cos(angle));
                at(head + i, head + 3 + i) = static_cast<float>(std::sin(angle));
                at(head + 3 + i, head + i) = -static_cast<float>(std::sin(angle));
            }
        matrices.insert(matrices.end(), matrix.begin(), matrix.end());
    }
    const ValueId rows = g.apply(Op::reshape, {x}, {list(Attr::shape, {4, 1, 13})});
    const ValueId y = g.apply(Op::matmul, {rows, g.constant(DType::f32, {4, 13, 13}, matrices.data())});
    return g.apply(Op::reshape, {y}, {list(Attr::shape, {2, 2, 13})});
}

ValueId along(Graph& g, ValueId x, int axis, double begin, double end) {
    return g.apply(Op::slice, {x},
                   {number(Attr::axis, axis), number(Attr::begin, begin), number(Attr::end, end)});
}
// A convolution of stride 1 without padding as one product per tap.
ValueId composed_conv(Graph& g, ValueId x, ValueId w) {
    const Shape picture = g.shape(x), weight = g.shape(w);
    const std::int64_t rows = picture[2] - weight[2] + 1, columns = picture[3] - weight[3] + 1;
    ValueId sum = -1;
    for (std::int64_t r = 0; r < weight[2]; ++r)
        for (std::int64_t c = 0; c < weight[3]; ++c) {
            const double row = static_cast<double>(r), column = static_cast<double>(c);
            ValueId part = along(g, x, 2, row, row + static_cast<double>(rows));
            part = along(g, part, 3, column, column + static_cast<double>(columns));
            part =
                g.apply(Op::reshape, {part}, {list(Attr::shape, {picture[0], picture[1], rows * columns})});
            ValueId tap = along(g, along(g, w, 2, row, row + 1), 3, column, column + 1);
            tap = g.apply(Op::reshape, {tap}, {list(Attr::shape, {1, weight[0], weight[1]})});
            tap = g.apply(Op::broadcast_to, {tap}, {list(Attr::shape, {picture[0], -1, -1})});
            const ValueId product = g.apply(Op::matmul, {tap, part});
            sum = sum < 0 ? product : g.apply(Op::add, {sum, product});
        }
    return g.apply(Op::reshape, {sum}, {list(Attr::shape, {picture[0], weight[0], rows, columns})});
}

const Pair kPairs[] = {
    {"conv",
     [](Graph& g) {
         return g.apply(Op::conv, {weights(g, {2, 3, 6, 5}), weights(g, {4, 3, 3, 2})});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {2, 3, 6, 5});
         return composed_conv(g, x, weights(g, {4, 3, 3, 2}));
     }},
    {"gelu_tanh", [](Graph& g) { return unary(g, Op::gelu_tanh, -4, 4); },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}, -4, 4), cube = mul(g, mul(g, x, x), x);
         const ValueId t =
             mul(g, g.scalar(0x1.988454p+0f / 2), g.apply(Op::add, {x, mul(g, g.scalar(0.044715f), cube)}));
         const ValueId one = g.apply(Op::add, {g.scalar(1), g.apply(Op::tanh, {t})});
         return mul(g, mul(g, g.scalar(0.5f), x), one);
     }},
    {"gelu_erf", [](Graph& g) { return unary(g, Op::gelu_erf, -4, 4); },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}, -4, 4);
         const ValueId e = g.apply(Op::erf, {mul(g, x, g.scalar(0x1.6a09e6p-1f))});
         return mul(g, mul(g, g.scalar(0.5f), x), g.apply(Op::add, {g.scalar(1), e}));
     }},
    {"silu", [](Graph& g) { return unary(g, Op::silu, -4, 4); },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}, -4, 4);
         return mul(g, x, g.apply(Op::sigmoid, {x}));
     }},
    {"mish", [](Graph& g) { return unary(g, Op::mish, -6, 6); },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}, -6, 6);
         return mul(g, x, g.apply(Op::tanh, {g.apply(Op::softplus, {x})}));
     }},
    {"selu", [](Graph& g) { return unary(g, Op::selu, -3, 3); },
     [](Graph& g) {
         const ValueId y = g.apply(Op::elu, {weights(g, {3, 5}, -3, 3)}, {number(Attr::alpha, 1.6732632)});
         return mul(g, g.scalar(1.050701f), y);
     }},
    {"celu",
     [](Graph& g) {
         return g.apply(Op::celu, {weights(g, {3, 5}, -3, 3)}, {number(Attr::alpha, 0.5)});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}, -3, 3);
         return mul(g, g.scalar(0.5f), g.apply(Op::elu, {mul(g, x, g.scalar(2))}));
     }},
    {"softsign", [](Graph& g) { return unary(g, Op::softsign, -3, 3); },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}, -3, 3);
         return g.apply(Op::div, {x, g.apply(Op::add, {g.scalar(1), g.apply(Op::abs, {x})})});
     }},
    {"hard_sigmoid", [](Graph& g) { return unary(g, Op::hard_sigmoid, -4, 4); },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}, -4, 4), scaled = mul(g, x, g.scalar(1.0f / 6));
         return g.apply(Op::clamp, {g.apply(Op::add, {scaled, g.scalar(0.5f)})},
                        {number(Attr::low, 0), number(Attr::high, 1)});
     }},
    {"prelu",
     [](Graph& g) {
         return g.apply(Op::prelu, {weights(g, {2, 3, 4}), weights(g, {3, 1})});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {2, 3, 4}), slope = weights(g, {3, 1}), zero = g.scalar(0);
         const ValueId below = mul(g, slope, g.apply(Op::minimum, {x, zero}));
         return g.apply(Op::add, {g.apply(Op::maximum, {x, zero}), below});
     }},
    {"relu", [](Graph& g) { return unary(g, Op::relu, -1, 1); },
     [](Graph& g) {
         return g.apply(Op::maximum, {weights(g, {3, 5}, -1, 1), g.scalar(0)});
     }},
    {"clamp",
     [](Graph& g) {
         return g.apply(Op::clamp, {weights(g, {30})}, {number(Attr::low, -0.5), number(Attr::high, 0.25)});
     },
     [](Graph& g) {
         const ValueId raised = g.apply(Op::maximum, {weights(g, {30}), g.scalar(-0.5f)});
         return g.apply(Op::minimum, {raised, g.scalar(0.25f)});
     }},
    {"softmax",
     [](Graph& g) {
         return g.apply(Op::softmax, {weights(g, {4, 7}, -3, 3)});
     },
     [](Graph& g) {
         return composed_softmax(g, weights(g, {4, 7}, -3, 3));
     }},
    {"log_softmax",
     [](Graph& g) {
         return g.apply(Op::log_softmax, {weights(g, {4, 7}, -3, 3)});
     },
     [](Graph& g) {
         return g.apply(Op::log, {composed_softmax(g, weights(g, {4, 7}, -3, 3))});
     }},
    {"layer_norm",
     [](Graph& g) {
         return g.apply(Op::layer_norm, {weights(g, {4, 7}), weights(g, {7}), weights(g, {7})},
                        {number(Attr::epsilon, 0.125)});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {4, 7}), d = sub(g, x, row_reduction(g, Op::mean, x));
         const ValueId variance = row_reduction(g, Op::mean, mul(g, d, d));
         const ValueId rs = g.apply(Op::rsqrt, {g.apply(Op::add, {variance, g.scalar(0.125f)})});
         const ValueId scaled = mul(g, mul(g, d, rs), weights(g, {7}));
         return g.apply(Op::add, {scaled, weights(g, {7})});
     }},
    {"rms_norm",
     [](Graph& g) {
         return g.apply(Op::rms_norm, {weights(g, {4, 7}), weights(g, {7})}, {number(Attr::epsilon, 0.125)});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {4, 7}), square = row_reduction(g, Op::mean, mul(g, x, x));
         const ValueId r = g.apply(Op::rsqrt, {g.apply(Op::add, {square, g.scalar(0.125f)})});
         return mul(g, mul(g, x, r), weights(g, {7}));
     }},
    {"swiglu",
     [](Graph& g) {
         return g.apply(Op::swiglu, {weights(g, {4, 10}, -4, 4)});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {4, 10}, -4, 4);
         return mul(g, g.apply(Op::silu, {columns(g, x, 0, 5)}), columns(g, x, 5, 10));
     }},
    {"batch_norm_train",
     [](Graph& g) {
         return batch_norm_trained(g, {3, 4, 2, 5});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 4, 2, 5});
         return composed_norm(g, x, x, {0, 2, 3}, {4, 1, 1});
     }},
    {"instance_norm",
     [](Graph& g) {
         return instance_normed(g, {3, 4, 2, 5});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 4, 2, 5});
         return composed_norm(g, x, x, {2, 3}, {4, 1, 1});
     }},
    {"group_norm",
     [](Graph& g) {
         return group_normed(g, {3, 6, 5}, 2);
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 6, 5});
         const ValueId in_groups = g.apply(Op::reshape, {x}, {list(Attr::shape, {3, 2, 3, 5})});
         return composed_norm(g, x, in_groups, {2, 3}, {6, 1});
     }},
    {"rotary", [](Graph& g) { return turned(g, 2, 0, 0); },
     [](Graph& g) {
         return composed_rotary(g, weights(g, {2, 2, 13}));
     }},
    {"mse",
     [](Graph& g) {
         return g.apply(Op::mse, {weights(g, {3, 5}), weights(g, {3, 5})});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}), d = sub(g, x, weights(g, {3, 5}));
         return g.apply(Op::sum, {mul(g, d, d)}, {list(Attr::axes, {1})});
     }},
    {"square_sum",
     [](Graph& g) {
         return g.apply(Op::square_sum, {weights(g, {3, 5})});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5});
         return g.apply(Op::sum, {mul(g, x, x)});
     }},
    {"cross_entropy",
     [](Graph& g) {
         const std::int32_t targets[] = {2, 0, 4};
         return g.apply(Op::cross_entropy, {weights(g, {3, 5}, -2, 2), g.constant(DType::i32, {3}, targets)});
     },
     [](Graph& g) {
         const float chosen[] = {0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1};
         const ValueId y = g.apply(Op::log_softmax, {weights(g, {3, 5}, -2, 2)});
         const ValueId picked = mul(g, y, g.constant(DType::f32, {3, 5}, chosen));
         return g.apply(Op::neg, {g.apply(Op::sum, {picked}, {list(Attr::axes, {1})})});
     }},
    {"cross_entropy, smoothed", [](Graph& g) { return class_loss(g, 0.125, false); },
     [](Graph& g) { return composed_class_loss(g, 0.125, false); }},
    {"cross_entropy, weighted", [](Graph& g) { return class_loss(g, 0, true); },
     [](Graph& g) { return composed_class_loss(g, 0, true); }},
    {"cross_entropy, smoothed and weighted", [](Graph& g) { return class_loss(g, 0.25, true); },
     [](Graph& g) { return composed_class_loss(g, 0.25, true); }},
    {"binary_cross_entropy", [](Graph& g) { return binary_loss(g, false); },
     [](Graph& g) { return composed_binary_loss(g, false); }},
    {"binary_cross_entropy, weighted", [](Graph& g) { return binary_loss(g, true); },
     [](Graph& g) { return composed_binary_loss(g, true); }},
    {"l1",
     [](Graph& g) {
         return g.apply(Op::l1, {weights(g, {3, 5}), weights(g, {3, 5})});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}), d = sub(g, x, weights(g, {3, 5}));
         return g.apply(Op::sum, {g.apply(Op::abs, {d})}, {list(Attr::axes, {1})});
     }},
    {"huber",
     [](Graph& g) {
         return g.apply(Op::huber, {weights(g, {3, 5}), weights(g, {3, 5})}, {number(Attr::delta, 0.25)});
     },
     [](Graph& g) {
         const ValueId x = weights(g, {3, 5}), d = sub(g, x, weights(g, {3, 5}));
         const ValueId a = g.apply(Op::abs, {d}), square = mul(g, g.scalar(0.5f), mul(g, d, d));
         const ValueId line = mul(g, g.scalar(0.25f), sub(g, a, g.scalar(0.125f)));
         const ValueId is_inside = g.apply(Op::less_equal, {a, g.scalar(0.25f)});
         const ValueId all = g.apply(Op::where, {is_inside, square, line});
         return g.apply(Op::sum, {all}, {list(Attr::axes, {1})});
     }},
    {"gather",
     [](Graph& g) {
         const std::int32_t ids[] = {2, 0, 2};
         return g.apply(Op::gather, {weights(g, {3, 4}), g.constant(DType::i32, {3}, ids)});
     },
     [](Graph& g) {
         const float rows[] = {0, 0, 1, 1, 0, 0, 0, 0, 1};
         const ValueId table = weights(g, {3, 4});
         return g.apply(Op::matmul, {g.constant(DType::f32, {3, 3}, rows), table});
     }},
    {"attention, grouped and causal",
     [](Graph& g) {
         return g.apply(Op::attention, {weights(g, {2, 5, 12}), weights(g, {2, 5, 6}), weights(g, {2, 5, 6})},
                        {number(Attr::heads, 4), number(Attr::kv_heads, 2)});
     },
     [](Graph& g) {
         const ValueId q = weights(g, {2, 5, 12}), k = weights(g, {2, 5, 6}), v = weights(g, {2, 5, 6});
         return composed_attention(g, q, k, v, 4, 2, true, static_cast<float>(1 / std::sqrt(3.0)));
     }},
    {"attention, a window and a cap",
     [](Graph& g) {
         return g.apply(Op::attention, {weights(g, {2, 5, 12}), weights(g, {2, 5, 6}), weights(g, {2, 5, 6})},
                        {number(Attr::heads, 4), number(Attr::kv_heads, 2), number(Attr::window, 3),
                         number(Attr::cap, 0.25)});
     },
     [](Graph& g) {
         const ValueId q = weights(g, {2, 5, 12}), k = weights(g, {2, 5, 6}), v = weights(g, {2, 5, 6});
         return composed_attention(g, q, k, v, 4, 2, true, static_cast<float>(1 / std::sqrt(3.0)), 3, 0.25f);
     }},
    {"attention of documents, by a window",
     [](Graph& g) {
         const ValueId q = weights(g, {2, 5, 12}), k = weights(g, {2, 5, 6}), v = weights(g, {2, 5, 6});
         return g.apply(Op::attention, {q, k, v, g.constant(DType::i32, {2, 5}, kStarts.data())},
                        {number(Attr::heads, 4), number(Attr::kv_heads, 2), number(Attr::window, 3),
                         number(Attr::documents, 1)});
     },
     [](Graph& g) {
         const ValueId q = weights(g, {2, 5, 12}), k = weights(g, {2, 5, 6}), v = weights(g, {2, 5, 6});
         return composed_attention(g, q, k, v, 4, 2, true, static_cast<float>(1 / std::sqrt(3.0)), 3, 0,
                                   kStarts);
     }},
    {"attention, packed, not causal",
     [](Graph& g) {
         return g.apply(Op::attention, {weights(g, {2, 5, 18})},
                        {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::causal, 0),
                         number(Attr::scale, 0.5)});
     },
     [](Graph& g) {
         const ValueId qkv = weights(g, {2, 5, 18});
         ValueId part[3];
         for (int i = 0; i < 3; ++i)
             part[i] =
                 g.apply(Op::slice, {qkv},
                         {number(Attr::axis, 2), number(Attr::begin, 6 * i), number(Attr::end, 6 * i + 6)});
         return composed_attention(g, part[0], part[1], part[2], 2, 2, false, 0.5f);
     }},
};

bool close(const double* a, const double* b, std::size_t count, const char* name, const char* what) {
    for (std::size_t i = 0; i < count; ++i)
        if (!(std::fabs(a[i] - b[i]) <= 1e-6 * (1 + std::fabs(b[i])))) {
            print_error("%s: %s %zu: fused %.12g, composed %.12g\n", name, what, i, a[i], b[i]);
            return false;
        }
    return true;
}

void test_fused_equals_composed(void** state) {
    const Pair& test = *static_cast<const Pair*>(*state);
    bool equal = true;
    {
        const Differentiated sides[] = {differentiated(test.fused), differentiated(test.composed)};
        Tensors<double> tensors[2] = {Tensors<double>(sides[0].backward.graph.values.size(), heap()),
                                      Tensors<double>(sides[1].backward.graph.values.size(), heap())};
        for (int i = 0; i < 2; ++i) {
            fill_sources(sides[i].backward.graph, tensors[i], 99);
            evaluate(sides[i].backward.graph, tensors[i]);
        }
        const auto &y0 = tensors[0][static_cast<std::size_t>(sides[0].y)].real,
                   &y1 = tensors[1][static_cast<std::size_t>(sides[1].y)].real;
        equal = y0.size() == y1.size() && close(y0.data(), y1.data(), y0.size(), test.name, "value");
        for (std::size_t p = 0; p < sides[0].backward.gradients.size(); ++p) {
            const auto g0 = summed(sides[0].backward.gradients[p], tensors[0]),
                       g1 = summed(sides[1].backward.gradients[p], tensors[1]);
            equal = equal && g0.size() == g1.size() &&
                    close(g0.data(), g1.data(), g0.size(), test.name, "gradient");
        }
    }
    assert_true(equal);
}

// The fused operator is its parts, bit for bit, and so is its gradient: but for the sign of a zero, to which
// the gradients of two slices add the +0 of each other.
void test_swiglu_has_the_bits_of_its_parts(void**) {
    const Differentiated fused = differentiated([](Graph& g) {
        return g.apply(Op::swiglu, {weights(g, {40, 66})});
    });
    const Differentiated parts = differentiated([](Graph& g) {
        const ValueId x = weights(g, {40, 66});
        return mul(g, g.apply(Op::silu, {columns(g, x, 0, 33)}), columns(g, x, 33, 66));
    });
    for (const Data data : {Data::plain, Data::special}) {
        std::vector<float> value[2], gradient[2];
        for (const Differentiated* side : {&fused, &parts}) {
            const int i = side == &parts;
            Tensors<float> tensors(side->backward.graph.values.size(), heap());
            fill_sources(side->backward.graph, tensors, 31, data);
            evaluate(side->backward.graph, tensors);
            const auto& y = tensors[static_cast<std::size_t>(side->y)].real;
            value[i].assign(y.begin(), y.end());
            gradient[i].assign(2 * y.size(), 0.0f);
            for (const ValueId use : side->backward.gradients[0].contributions)
                for (std::size_t k = 0; k < gradient[i].size(); ++k)
                    gradient[i][k] += tensors[static_cast<std::size_t>(use)].real[k];
        }
        assert_same_bits("value", value[1].data(), value[0].data(), 40 * 33);
        assert_same_bits("gradient", gradient[1].data(), gradient[0].data(), 40 * 66);
    }
}

// ---- The order of sums ----

// x is used three times, w three times, the last use twice in one node.
void test_uses_are_added_from_the_last_to_the_first(void**) {
    Graph forward(heap());
    const ValueId w = forward.parameter("weight", {2}, {});
    const ValueId x = forward.apply(Op::neg, {w});     // w: u1
    const ValueId a = forward.apply(Op::exp, {x});     // x: u1
    const ValueId b = forward.apply(Op::mul, {x, w});  // x: u2, w: u2
    const ValueId c = forward.apply(Op::sub, {w, x});  // w: u3, x: u3
    const ValueId ab = forward.apply(Op::add, {a, b});
    const ValueId y = forward.apply(Op::add, {ab, c});
    Backward backward = copy_forward(forward, heap());
    Graph& g = backward.graph;
    const ValueId seed = g.input("seed", DType::f32, {2});
    std::pmr::vector<Seed> seeds({{y, seed}}, heap());
    differentiate(backward, seeds);
    verify(g);
    assert_text("order", print(g, heap()).c_str(),
                R"(%0 = parameter "weight" {init=constant(0), stream=0} : f32[2]
%1 = neg(%0) : f32[2]
%2 = exp(%1) : f32[2]
%3 = mul(%1, %0) : f32[2]
%4 = sub(%0, %1) : f32[2]
%5 = add(%2, %3) : f32[2]
%6 = add(%5, %4) : f32[2]
%7 = input "seed" : f32[2]
%8 = neg(%7) : f32[2]
%9 = mul(%7, %0) : f32[2]
%10 = mul(%7, %1) : f32[2]
%11 = add(%8, %9) : f32[2]
%12 = mul(%7, %2) : f32[2]
%13 = add(%11, %12) : f32[2]
%14 = neg(%13) : f32[2]
)");
    const auto& uses = backward.gradients[0].contributions;
    const bool in_order = uses.size() == 3 && uses[0] == 14 && uses[1] == 10 && uses[2] == 7;
    assert_true(in_order);
}

void test_two_uses_in_one_node_follow_the_inputs(void**) {
    Graph forward(heap());
    const ValueId w = forward.parameter("weight", {2}, {});
    const ValueId y = forward.apply(Op::sub, {w, w});
    Backward backward = copy_forward(forward, heap());
    const ValueId seed = backward.graph.input("seed", DType::f32, {2});
    std::pmr::vector<Seed> seeds({{y, seed}}, heap());
    differentiate(backward, seeds);
    const auto& uses = backward.gradients[0].contributions;
    const bool in_order =
        uses.size() == 2 && uses[0] == seed && backward.graph.producer(uses[1]).op == Op::neg;
    assert_true(in_order);
}

void test_seeds_are_the_last_uses(void**) {
    Graph forward(heap());
    const ValueId w = forward.parameter("weight", {2}, {});
    const ValueId y = forward.apply(Op::neg, {w});
    Backward backward = copy_forward(forward, heap());
    const ValueId first = backward.graph.input("first", DType::f32, {2});
    const ValueId second = backward.graph.input("second", DType::f32, {2});
    std::pmr::vector<Seed> seeds({{y, first}, {w, second}, {y, second}}, heap());
    differentiate(backward, seeds);
    const auto& uses = backward.gradients[0].contributions;
    assert_int_equal(uses.size(), 2);
    assert_int_equal(uses[1], second);  // w: the seed is the last use
    const Node& sum = backward.graph.producer(backward.graph.producer(uses[0]).inputs[0]);
    assert_true(sum.op == Op::add && sum.inputs[0] == second && sum.inputs[1] == first);
}

void test_the_forward_graph_is_not_changed(void**) {
    const auto build = [](Graph& g) { return g.apply(Op::neg, {weights(g, {3, 5})}); };
    Graph forward(heap());
    build(forward);
    const std::pmr::string before = print(forward, heap());
    differentiated(build);
    Backward backward = copy_forward(forward, heap());
    const ValueId seed = backward.graph.input("seed", DType::f32, {3, 5});
    std::pmr::vector<Seed> seeds({{1, seed}}, heap());
    differentiate(backward, seeds);
    assert_text("forward", print(forward, heap()).c_str(), before.c_str());
}

// Its argument is dead then, where nothing else reads it, and the result takes its place.
void test_relu_keeps_its_result(void**) {
    Graph forward(heap());
    const ValueId w = forward.parameter("w", {3, 5}, {});
    const ValueId y = forward.apply(Op::relu, {forward.apply(Op::neg, {w})});
    Backward backward = copy_forward(forward, heap());
    const ValueId seed = backward.graph.input("seed", DType::f32, {3, 5});
    std::pmr::vector<Seed> seeds({{y, seed}}, heap());
    differentiate(backward, seeds);
    const ValueId dw = backward.gradients[0].contributions[0];
    const Node& relu_grad = backward.graph.producer(backward.graph.producer(dw).inputs[0]);
    assert_true(relu_grad.op == Op::relu_grad && relu_grad.inputs[0] == y && relu_grad.inputs[1] == seed);
}

void test_a_parameter_off_the_path_has_no_contribution(void**) {
    Graph forward(heap());
    const ValueId w = forward.parameter("used", {2}, {}), unused = forward.parameter("unused", {2}, {});
    const ValueId y = forward.apply(Op::neg, {w});
    forward.apply(Op::argmax, {unused});
    Backward backward = copy_forward(forward, heap());
    const ValueId seed = backward.graph.input("seed", DType::f32, {2});
    std::pmr::vector<Seed> seeds({{y, seed}}, heap());
    differentiate(backward, seeds);
    assert_int_equal(backward.gradients[0].contributions.size(), 1);
    assert_int_equal(backward.gradients[1].contributions.size(), 0);
    assert_int_equal(backward.gradients[1].parameter, unused);
}

// ---- What has none ----

const Case kWithout[] = {
    {"no gradient rule for relu_grad: second derivatives are not offered",
     [](Graph& g) {
         return g.apply(Op::relu_grad, {weights(g, {3}), weights(g, {3})});
     }},
    {"no gradient rule for weight_gradient: second derivatives are not offered",
     [](Graph& g) {
         return g.apply(Op::weight_gradient, {weights(g, {2, 3}), weights(g, {2, 3})});
     }},
    {"no gradient rule for weight_gradient_into: passes make it, after differentiation",
     [](Graph& g) {
         return g.apply(Op::weight_gradient_into,
                        {weights(g, {2, 3}), weights(g, {2, 3}), weights(g, {3, 3})});
     }},
    {"no gradient rule for clip_factor: it is a step of the trainer's, behind the gradients",
     [](Graph& g) { return g.apply(Op::clip_factor, {weights(g, {})}, {number(Attr::maximum_norm, 1)}); }},
    {"no gradient rule for rotary: its table cannot be trained",
     [](Graph& g) {
         return g.apply(Op::rotary, {weights(g, {3, 4}), integers(g, {3}), weights(g, {5, 4})},
                        {number(Attr::heads, 1)});
     }},
    {"no gradient rule for batch_norm: its statistics are constants, not made of parameters",
     [](Graph& g) {
         const ValueId x = weights(g, {2, 3}), c = weights(g, {3});
         return g.apply(Op::batch_norm, {x, c, c, g.apply(Op::neg, {c}), c});
     }},
    {"no gradient rule for batch_norm_train: its statistics are not those of x",
     [](Graph& g) {
         const ValueId x = weights(g, {2, 3}), c = weights(g, {3});
         const ValueId mean = g.apply(Op::batch_statistics, {g.apply(Op::neg, {x})});
         return g.apply(Op::batch_norm_train, {x, c, c, mean, mean + 1});
     }},
    {"no gradient rule for group_norm: only its first output is differentiable",
     [](Graph& g) {
         return g.apply(Op::group_norm, {weights(g, {2, 3}), weights(g, {3}), weights(g, {3})},
                        {number(Attr::groups, 1)}) +
                1;
     }},
    {"no gradient rule for layer_norm: only its first output is differentiable",
     [](Graph& g) {
         return g.apply(Op::layer_norm, {weights(g, {2, 3}), weights(g, {3}), weights(g, {3})}) + 1;
     }},
    {"no gradient rule for cross_entropy: only its first output is differentiable",
     [](Graph& g) {
         return g.apply(Op::cross_entropy, {weights(g, {2, 3}), integers(g, {2})}) + 2;
     }},
    {"no gradient rule for cross_entropy: its weights cannot be trained",
     [](Graph& g) {
         return g.apply(Op::cross_entropy, {reals(g, {2, 3}), integers(g, {2}), weights(g, {3})});
     }},
    {"no gradient rule for binary_cross_entropy: its targets cannot be trained",
     [](Graph& g) {
         return g.apply(Op::binary_cross_entropy, {reals(g, {2, 3}), weights(g, {2, 3})});
     }},
    {"no gradient rule for binary_cross_entropy: its weights cannot be trained",
     [](Graph& g) {
         return g.apply(Op::binary_cross_entropy, {weights(g, {2, 3}), reals(g, {2, 3}), weights(g, {3})});
     }},
    {"no gradient rule for huber_grad: second derivatives are not offered",
     [](Graph& g) {
         return g.apply(Op::huber_grad, {weights(g, {2, 3}), reals(g, {2, 3}), g.scalar(1)});
     }},
    {"no gradient rule for cross_entropy_with_grad: second derivatives are not offered",
     [](Graph& g) {
         return g.apply(Op::cross_entropy_with_grad, {weights(g, {2, 3}), integers(g, {2}), weights(g, {})});
     }},
    {"no gradient rule for sum: it has been through passes or belongs to a trainer",
     [](Graph& g) {
         return g.apply(Op::sum, {weights(g, {2, 3})}, {number(Attr::accumulate, 1)});
     }},
};

void test_what_has_no_rule_is_named(void**) {
    for (const Case& test : kWithout) {
        const Failure failure = failure_of([&] { differentiated(test.build); });
        assert_failure(test.name, failure, VOLTA_UNSUPPORTED, test.name);
    }
    const Failure seed = failure_of([] {
        Backward backward(heap());
        backward.graph.input("data", DType::f32, {2});
        backward.graph.input("seed", DType::f32, {3});
        std::pmr::vector<Seed> seeds({{0, 1}}, heap());
        differentiate(backward, seeds);
    });
    assert_failure("seed", seed, VOLTA_INVALID_ARGUMENT, "a seed's gradient has shape [3], its value [2]");
}

// A rule that is wrong is found where it gives the gradient, not steps later.
void test_a_gradient_of_another_shape_is_refused(void**) {
    Graph graph(heap());
    const ValueId x = weights(graph, {4, 2});
    graph.apply(Op::neg, {x});
    const Node node(graph.nodes.back(), heap());
    const ValueId wrong = graph.input("wrong", DType::f32, {2, 4});
    const std::pmr::vector<char> needed(graph.values.size(), 1, heap());
    const std::pmr::vector<ValueId> gradients(graph.values.size(), -1, heap());
    std::pmr::vector<GradientUse> uses(heap());
    const GradientBuilder rule(graph, node, needed, gradients, uses);
    const Failure failure = failure_of([&] { rule.give(0, wrong); });
    assert_failure("give", failure, VOLTA_INTERNAL,
                   "neg: the gradient of input 0 has shape [2, 4], not [4, 2]");
    assert_int_equal(uses.size(), 0);
    rule.give(0, x);
    assert_int_equal(uses.size(), 1);
}

}  // namespace

int main() {
    const auto name = [](const auto& row) { return row.name; };
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_differentiable_operator_has_a_case),
        cmocka_unit_test(test_corners_have_their_slope),
        cmocka_unit_test(test_special_values_pass_through),
        cmocka_unit_test(test_swiglu_has_the_bits_of_its_parts),
        cmocka_unit_test(test_uses_are_added_from_the_last_to_the_first),
        cmocka_unit_test(test_two_uses_in_one_node_follow_the_inputs),
        cmocka_unit_test(test_seeds_are_the_last_uses),
        cmocka_unit_test(test_the_forward_graph_is_not_changed),
        cmocka_unit_test(test_relu_keeps_its_result),
        cmocka_unit_test(test_a_parameter_off_the_path_has_no_contribution),
        cmocka_unit_test(test_what_has_no_rule_is_named),
        cmocka_unit_test(test_a_gradient_of_another_shape_is_refused),
    };
    const std::vector<Case> cases = all_cases();
    int failed = cmocka_run_group_tests_name("gradient", tests, nullptr, nullptr);
    failed += run_rows("gradient rules", cases, test_rule_equals_central_difference, name);
    failed += run_rows("fused against composed", kPairs, test_fused_equals_composed, name);
    return failed;
}
