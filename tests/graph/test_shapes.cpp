// Shape rules: what right calls give, and the exact sentence of wrong ones, which leave the graph as it was.
#include "tests/graph/graphs.h"

namespace {
using namespace volta;
using namespace volta::test;

// A weight in a packed format, [outputs, inputs].
ValueId stored(Graph& graph, DType dtype, const Shape& shape) {
    return graph.parameter(SourceName(graph).text, shape, {}, dtype);
}

// ---- Right calls: the types of the outputs ----

struct Right {
    const char* types;
    ValueId (*call)(Graph& graph);
};
constexpr std::int64_t kMany = std::int64_t{1} << 40;

const Right kRight[] = {
    {"f32[4, 3]",
     [](Graph& g) {
         return g.apply(Op::add, {reals(g, {4, 1}), reals(g, {3})});
     }},
    {"f32[2, 4, 3]",
     [](Graph& g) {
         return g.apply(Op::mul, {reals(g, {4, 3}), reals(g, {2, 1, 1})});
     }},
    {"f32[0, 3]",
     [](Graph& g) {
         return g.apply(Op::add, {reals(g, {0, 3}), reals(g, {1, 3})});
     }},
    {"f32[4]",
     [](Graph& g) {
         return g.apply(Op::clamp, {reals(g, {4})}, {number(Attr::low, 2), number(Attr::high, 2)});
     }},
    {"f32[]",
     [](Graph& g) {
         return g.apply(Op::div, {reals(g, {}), reals(g, {})});
     }},
    {"i32[4]",
     [](Graph& g) {
         return g.apply(Op::less, {reals(g, {4}), reals(g, {})});
     }},
    {"f32[4, 3]",
     [](Graph& g) {
         return g.apply(Op::where, {integers(g, {4, 1}), reals(g, {3}), reals(g, {})});
     }},
    {"f32[2, 16, 4, 5]",
     [](Graph& g) {
         return g.apply(
             Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 3, 3, 3}), reals(g, {16})},
             {list(Attr::strides, {2, 1}), list(Attr::dilations, {1, 2}), list(Attr::pads, {1, 0, 0, 1})});
     }},
    {"f32[2, 6, 7]",
     [](Graph& g) {
         return g.apply(Op::conv, {reals(g, {2, 4, 9}), reals(g, {6, 2, 3})}, {number(Attr::groups, 2)});
     }},
    {"f32[2, 4, 16, 8]",
     [](Graph& g) {
         return g.apply(Op::conv_transpose, {reals(g, {2, 6, 8, 8}), reals(g, {6, 2, 3, 3})},
                        {number(Attr::groups, 2), list(Attr::strides, {2, 1}), list(Attr::pads, {1, 1, 1, 1}),
                         list(Attr::output_padding, {1, 0})});
     }},
    {"f32[2, 3, 8, 7]",
     [](Graph& g) {
         return g.apply(Op::conv_transpose, {reals(g, {2, 6, 4, 4}), reals(g, {6, 3, 1, 1})},
                        {list(Attr::strides, {2, 2}), list(Attr::shape, {8, 7})});
     }},
    {"f32[2, 3, 4, 6]",
     [](Graph& g) {
         return g.apply(
             Op::max_pool, {reals(g, {2, 3, 8, 10})},
             {list(Attr::kernel, {3, 5}), list(Attr::strides, {2, 1}), list(Attr::pads, {1, 0, 0, 0})});
     }},
    {"f32[1, 1, 4]",  // of five windows the last would begin behind the picture
     [](Graph& g) {
         return g.apply(Op::average_pool, {reals(g, {1, 1, 8})},
                        {list(Attr::kernel, {2}), list(Attr::strides, {2}), list(Attr::pads, {0, 1}),
                         number(Attr::ceil_mode, 1)});
     }},
    {"f32[2, 6, 10]",
     [](Graph& g) {
         return g.apply(Op::pad, {reals(g, {2, 3, 4})}, {list(Attr::pads, {1, 5, 2, 1})});
     }},
    {"f32[5]",
     [](Graph& g) {
         return g.apply(Op::pad, {reals(g, {0})}, {list(Attr::pads, {2, 3})});
     }},
    {"f32[3, 9]",
     [](Graph& g) {
         return g.apply(Op::pad, {reals(g, {3, 4})}, {list(Attr::pads, {3, 2}), number(Attr::mode, 1)});
     }},
    {"f32[3, 4]",
     [](Graph& g) {
         return g.apply(Op::pad_grad, {reals(g, {3, 9})}, {list(Attr::pads, {3, 2}), number(Attr::mode, 1)});
     }},
    {"f32[2, 3, 8, 5]",
     [](Graph& g) {
         return g.apply(Op::resize, {reals(g, {2, 3, 4, 7})}, {list(Attr::shape, {8, 5})});
     }},
    {"f32[2, 3, 7]",
     [](Graph& g) {
         return g.apply(Op::resize_grad, {reals(g, {2, 3, 4})}, {list(Attr::shape, {7})});
     }},
    {"f32[6, 2, 3]",
     [](Graph& g) {
         return g.apply(Op::conv_grad_weight, {reals(g, {2, 4, 9}), reals(g, {2, 6, 7})},
                        {number(Attr::groups, 2), list(Attr::shape, {6, 2, 3})});
     }},
    {"f32[6]",
     [](Graph& g) {
         return g.apply(Op::conv_grad_bias, {reals(g, {2, 6, 7})});
     }},
    {"f32[8, 5, 7]",
     [](Graph& g) {
         return g.apply(Op::matmul, {reals(g, {8, 5, 3}), reals(g, {3, 7})});
     }},
    {"f32[5, 7]",
     [](Graph& g) {
         return g.apply(Op::matmul, {reals(g, {5, 3}), reals(g, {7, 3})}, {number(Attr::transpose_b, 1)});
     }},
    {"f32[3, 7]",
     [](Graph& g) {
         return g.apply(Op::matmul, {reals(g, {8, 5, 3}), reals(g, {8, 5, 7})},
                        {number(Attr::transpose_a, 1)});
     }},
    {"f32[3, 7]",
     [](Graph& g) {
         return g.apply(Op::matmul, {reals(g, {5, 3}), reals(g, {7, 5})},
                        {number(Attr::transpose_a, 1), number(Attr::transpose_b, 1)});
     }},
    {"f32[8, 5, 7]",
     [](Graph& g) {
         return g.apply(Op::matmul, {reals(g, {8, 5, 3}), reals(g, {8, 3, 7})});
     }},
    {"f32[8, 5, 7]",
     [](Graph& g) {
         return g.apply(Op::matmul, {reals(g, {8, 5, 3}), reals(g, {8, 7, 3})},
                        {number(Attr::transpose_b, 1)});
     }},
    {"f32[5, 7]",
     [](Graph& g) {
         return g.apply(Op::matmul, {reals(g, {5, 0}), reals(g, {0, 7})});
     }},
    {"f32[3, 7], f32[7]",
     [](Graph& g) {
         return g.apply(Op::weight_gradient, {reals(g, {8, 5, 3}), reals(g, {8, 5, 7})});
     }},
    {"f32[3, 7]",
     [](Graph& g) {
         return g.apply(Op::weight_gradient_into,
                        {reals(g, {8, 5, 3}), reals(g, {8, 5, 7}), reals(g, {3, 7})});
     }},
    {"f32[]",
     [](Graph& g) {
         return g.apply(Op::sum, {reals(g, {4, 3})});
     }},
    {"f32[4]",
     [](Graph& g) {
         return g.apply(Op::mean, {reals(g, {4, 3, 2})}, {list(Attr::axes, {1, -1})});
     }},
    {"f32[4, 1, 1]",
     [](Graph& g) {
         return g.apply(Op::max, {reals(g, {4, 3, 2})},
                        {list(Attr::axes, {1, 2}), number(Attr::keep_dims, 1)});
     }},
    {"i32[4]",
     [](Graph& g) {
         return g.apply(Op::argmax, {reals(g, {4, 3})});
     }},
    {"f32[2, 3], f32[2], f32[2]",
     [](Graph& g) {
         return g.apply(Op::layer_norm, {reals(g, {2, 3}), reals(g, {3}), reals(g, {3})});
     }},
    {"f32[8, 3, 5, 7]",
     [](Graph& g) {
         return g.apply(Op::batch_norm,
                        {reals(g, {8, 3, 5, 7}), reals(g, {3}), reals(g, {3}), reals(g, {3}), reals(g, {3})});
     }},
    {"f32[3], f32[3]",
     [](Graph& g) {
         return g.apply(Op::batch_statistics, {reals(g, {2, 3})});
     }},
    {"f32[8, 3], f32[3], f32[3]",
     [](Graph& g) {
         return g.apply(Op::batch_norm_grad,
                        {reals(g, {8, 3}), reals(g, {8, 3}), reals(g, {3}), reals(g, {3}), reals(g, {3})});
     }},
    {"f32[3], f32[3]",
     [](Graph& g) {
         return g.apply(Op::running_statistics, {reals(g, {3}), reals(g, {3}), reals(g, {3}), reals(g, {3})},
                        {number(Attr::elements, 2)});
     }},
    {"f32[2, 3]",
     [](Graph& g) {
         return g.apply(Op::assign, {reals(g, {2, 3}), reals(g, {2, 3})});
     }},
    {"f32[2, 6, 5], f32[2, 3], f32[2, 3]",
     [](Graph& g) {
         return g.apply(Op::group_norm, {reals(g, {2, 6, 5}), reals(g, {6}), reals(g, {6})},
                        {number(Attr::groups, 3)});
     }},
    {"f32[2, 6, 5], f32[2, 6], f32[2, 6]",
     [](Graph& g) {
         return g.apply(Op::instance_norm, {reals(g, {2, 6, 5}), reals(g, {6}), reals(g, {6})});
     }},
    {"f32[2, 6, 5], f32[6], f32[6]",
     [](Graph& g) {
         return g.apply(
             Op::group_norm_grad,
             {reals(g, {2, 6, 5}), reals(g, {2, 6, 5}), reals(g, {6}), reals(g, {2, 3}), reals(g, {2, 3})},
             {number(Attr::groups, 3)});
     }},
    {"f32[2, 4], f32[2, 4], f32[2, 4]",
     [](Graph& g) {
         return g.apply(Op::cross_entropy, {reals(g, {2, 4, 9}), integers(g, {2, 4})});
     }},
    {"f32[2, 4], f32[2, 4, 9]",
     [](Graph& g) {
         return g.apply(Op::cross_entropy_with_grad,
                        {reals(g, {2, 4, 9}), integers(g, {2, 4}), reals(g, {})});
     }},
    {"f32[2], f32[2, 9]",
     [](Graph& g) {
         return g.apply(Op::cross_entropy_with_grad, {reals(g, {2, 9}), integers(g, {2}), reals(g, {2})});
     }},
    {"f32[2, 3, 6, 4]",
     [](Graph& g) {
         return g.apply(Op::reshape, {reals(g, {2, 3, 24})}, {list(Attr::shape, {-2, -2, 6, -1})});
     }},
    {"f32[3, 0]",
     [](Graph& g) {
         return g.apply(Op::reshape, {reals(g, {0, 3})}, {list(Attr::shape, {3, 0})});
     }},
    {"i32[6]",
     [](Graph& g) {
         return g.apply(Op::reshape, {integers(g, {2, 3})}, {list(Attr::shape, {-1})});
     }},
    {"f32[4, 2, 3]",
     [](Graph& g) {
         return g.apply(Op::transpose, {reals(g, {2, 3, 4})}, {list(Attr::permutation, {2, 0, 1})});
     }},
    {"f32[2, 7]",
     [](Graph& g) {
         return g.apply(Op::concat, {reals(g, {2, 3}), reals(g, {2, 4})}, {number(Attr::axis, -1)});
     }},
    {"f32[2, 3]",
     [](Graph& g) {
         return g.apply(Op::slice, {reals(g, {2, 7})},
                        {number(Attr::axis, 1), number(Attr::begin, -5), number(Attr::end, -2)});
     }},
    {"f32[5, 7]",
     [](Graph& g) {
         return g.apply(Op::slice, {reals(g, {8, 7})}, {number(Attr::begin, 3)});
     }},
    {"f32[4, 2, 3]",
     [](Graph& g) {
         return g.apply(Op::broadcast_to, {reals(g, {2, 1})}, {list(Attr::shape, {4, -1, 3})});
     }},
    {"i32[2, 5]",
     [](Graph& g) {
         return g.apply(Op::position_ids, {integers(g, {2, 5})}, {number(Attr::limit, 5)});
     }},
    {"f32[2, 5, 8]",
     [](Graph& g) {
         return g.apply(Op::gather, {reals(g, {9, 8}), integers(g, {2, 5})});
     }},
    {"f32[2, 5, 8]",
     [](Graph& g) {
         return g.apply(Op::swiglu, {reals(g, {2, 5, 16})});
     }},
    {"f32[16]",
     [](Graph& g) {
         return g.apply(Op::swiglu_grad, {reals(g, {16}), reals(g, {8})});
     }},
    {"f32[100, 6]",
     [](Graph& g) {
         return g.apply(Op::rotary_table, {}, {number(Attr::limit, 100), number(Attr::width, 6)});
     }},
    {"f32[100, 6]",
     [](Graph& g) {
         return g.apply(Op::rotary_table, {reals(g, {3})},
                        {number(Attr::limit, 100), number(Attr::width, 6)});
     }},
    {"f32[2, 5, 13]",
     [](Graph& g) {
         return g.apply(Op::rotary, {reals(g, {2, 5, 13}), integers(g, {2, 5}), reals(g, {100, 4})},
                        {number(Attr::heads, 1), number(Attr::width, 13)});
     }},
    {"f32[2, 5, 13]",
     [](Graph& g) {
         return g.apply(Op::rotary, {reals(g, {2, 5, 13}), integers(g, {2, 5}), reals(g, {100, 6})},
                        {number(Attr::heads, 2)});
     }},
    {"f32[9, 8]",
     [](Graph& g) {
         return g.apply(Op::embedding_gradient, {integers(g, {2, 5}), reals(g, {2, 5, 8})},
                        {number(Attr::rows, 9)});
     }},
    {"f32[2, 5, 12], f32[2, 6, 5], f32[2, 6, 5]",
     [](Graph& g) {
         return g.apply(Op::attention, {reals(g, {2, 5, 12}), reals(g, {2, 5, 4}), reals(g, {2, 5, 4})},
                        {number(Attr::heads, 6), number(Attr::kv_heads, 2)});
     }},
    {"f32[2, 5, 12], f32[2, 6, 5], f32[2, 6, 5]",
     [](Graph& g) {
         return g.apply(Op::attention, {reals(g, {2, 5, 20}), integers(g, {3})},
                        {number(Attr::heads, 6), number(Attr::kv_heads, 2), number(Attr::packed, 1),
                         number(Attr::probability, 0.1)});
     }},
    {"f32[2, 5, 12]",
     [](Graph& g) {
         return g.apply(Op::attention_grad,
                        {reals(g, {2, 5, 12}), reals(g, {2, 5, 4}), reals(g, {2, 2, 5}), reals(g, {2, 2, 5}),
                         reals(g, {2, 5, 4})},
                        {number(Attr::heads, 2), number(Attr::packed, 1)});
     }},
    {"f32[12, 3]",
     [](Graph& g) {
         return g.apply(Op::stack, {reals(g, {4, 3})}, {number(Attr::micro_batches, 3)});
     }},
    {"f32[3]", [](Graph& g) { return g.apply(Op::stack, {reals(g, {})}, {number(Attr::micro_batches, 3)}); }},
    {"f32[4], f32[4], f32[4]",
     [](Graph& g) {
         return g.apply(Op::adamw, {reals(g, {4}), reals(g, {4}), reals(g, {4}), reals(g, {4}), reals(g, {8}),
                                    reals(g, {})});
     }},
};

void test_right_calls_give_these_types(void**) {
    for (const Right& right : kRight) {
        Graph graph(heap());
        std::string types;
        try {
            right.call(graph);
            const Node& node = graph.nodes.back();
            if (op_row(node.op).lowering != Lowering::update)
                verify(graph);  // updates overwrite parameters only
            for (std::int32_t i = 0; i < node.output_count; ++i) {
                const Value& value = graph.value(node.first_output + i);
                types += std::string(i ? ", " : "") + dtype_name(value.dtype) + to_text(value.shape).text;
            }
        } catch (const Error& error) {
            types = error.what();
        }
        assert_text(right.types, types.c_str(), right.types);
    }
}

// ---- Wrong calls ----

struct Wrong {
    const char* sentence;
    void (*call)(Graph& graph);
    volta_status status = VOLTA_SHAPE_MISMATCH;
};

const Wrong kWrong[] = {
    {"conv: x is [3, 8]; it must be [batch, channels, columns] or [batch, channels, rows, columns]",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {3, 8}), reals(g, {16, 3, 3})});
     }},
    {"conv: the weight is [16, 3, 3], the picture has rank 4",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 3, 3})});
     }},
    {"conv: the weight is [16, 3, 0, 3]: a kernel has at least one tap",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 3, 0, 3})});
     }},
    {"conv: the weight [16, 4, 3, 3] does not fit 3 channels in 1 groups: [2, 3, 8, 8]",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 4, 3, 3})});
     }},
    {"conv: 3 groups do not divide the weight's 16 filters: [16, 1, 3, 3]",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 1, 3, 3})}, {number(Attr::groups, 3)});
     }},
    {"conv: the bias is [15], not [16]",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 3, 3, 3}), reals(g, {15})});
     }},
    {"conv: pads has 2 entries, not 4",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 3, 3, 3})}, {list(Attr::pads, {1, 1})});
     }},
    {"conv: strides has an entry of 0; it must be 1 .. 1048576",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 3, 3, 3})}, {list(Attr::strides, {1, 0})});
     }},
    {"conv: a kernel of 5 taps reaches over 13 elements, the padded picture has 10",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {2, 3, 8, 8}), reals(g, {16, 3, 3, 5})},
                 {list(Attr::dilations, {1, 3}), list(Attr::pads, {0, 1, 0, 1})});
     }},
    {"conv: the patches of [1, 1, 1099511627776] and [1, 1, 1099511627776] have too many elements",
     [](Graph& g) {
         g.apply(Op::conv, {reals(g, {1, 1, kMany}), reals(g, {1, 1, kMany})}, {list(Attr::pads, {1, 0})});
     }},
    {"pad: pads has 3 entries; it must be two for each of the last axes of [2, 3]",
     [](Graph& g) {
         g.apply(Op::pad, {reals(g, {2, 3})}, {list(Attr::pads, {1, 2, 3})});
     }},
    {"pad: pads has 4 entries; it must be two for each of the last axes of [3]",
     [](Graph& g) {
         g.apply(Op::pad, {reals(g, {3})}, {list(Attr::pads, {1, 2, 3, 4})});
     }},
    {"pad: pads has an entry of -1; it must be 0 .. 1048576",
     [](Graph& g) {
         g.apply(Op::pad, {reals(g, {2, 3})}, {list(Attr::pads, {0, -1})});
     }},
    {"pad: 3 elements cannot be mirrored on axis 1 of [2, 3], which has 3",
     [](Graph& g) {
         g.apply(Op::pad, {reals(g, {2, 3})}, {list(Attr::pads, {0, 3}), number(Attr::mode, 1)});
     }},
    {"pad: axis 0 of [0, 3] has no element to repeat",
     [](Graph& g) {
         g.apply(Op::pad, {reals(g, {0, 3})}, {list(Attr::pads, {1, 0, 0, 0}), number(Attr::mode, 2)});
     }},
    {"pad_grad: axis 0 of dy [4] is shorter than its padding of 5",
     [](Graph& g) {
         g.apply(Op::pad_grad, {reals(g, {4})}, {list(Attr::pads, {2, 3}), number(Attr::mode, 1)});
     }},
    {"pad: x is i32, not f32",
     [](Graph& g) {
         g.apply(Op::pad, {integers(g, {4})}, {list(Attr::pads, {2, 3})});
     }},
    {"resize: x is [4, 4]; it must be [batch, channels, columns] or [batch, channels, rows, columns]",
     [](Graph& g) {
         g.apply(Op::resize, {reals(g, {4, 4})}, {list(Attr::shape, {4})});
     }},
    {"resize: shape has 1 entries, not 2",
     [](Graph& g) {
         g.apply(Op::resize, {reals(g, {1, 1, 4, 4})}, {list(Attr::shape, {4})});
     }},
    {"resize: [1, 1, 4] does not become 0 on axis 2; both must be 1 .. 4194304",
     [](Graph& g) {
         g.apply(Op::resize, {reals(g, {1, 1, 4})}, {list(Attr::shape, {0})});
     }},
    {"resize: the ratio of 48000 to 44099 is too fine for mode 1, linear",
     [](Graph& g) {
         g.apply(Op::resize, {reals(g, {1, 1, 48000})}, {list(Attr::shape, {44099}), number(Attr::mode, 1)});
     }},
    {"resize: [1, 1, 0] does not become 4 on axis 2; both must be 1 .. 4194304",
     [](Graph& g) {
         g.apply(Op::resize, {reals(g, {1, 1, 0})}, {list(Attr::shape, {4})});
     }},
    {"max_pool: kernel has 1 entries, not 2",
     [](Graph& g) {
         g.apply(Op::max_pool, {reals(g, {2, 3, 8, 8})}, {list(Attr::kernel, {3})});
     }},
    {"max_pool: padding of 3 is not below the window's 3 elements",
     [](Graph& g) {
         g.apply(Op::max_pool, {reals(g, {2, 3, 8, 8})},
                 {list(Attr::kernel, {3, 3}), list(Attr::pads, {1, 3, 1, 1})});
     }},
    {"conv_transpose: shape has 1 entries, not 2",
     [](Graph& g) {
         g.apply(Op::conv_transpose, {reals(g, {2, 6, 4, 4}), reals(g, {6, 3, 1, 1})},
                 {list(Attr::shape, {8})});
     }},
    {"conv_transpose: no picture of 9 elements along spatial axis 0 gives 4 outputs",
     [](Graph& g) {
         g.apply(Op::conv_transpose, {reals(g, {2, 6, 4, 4}), reals(g, {6, 3, 1, 1})},
                 {list(Attr::strides, {2, 2}), list(Attr::shape, {9, 7})});
     }},
    {"conv_transpose: the weight [6, 3, 1, 1] does not fit 5 channels in 1 groups: [2, 5, 4, 4]",
     [](Graph& g) {
         g.apply(Op::conv_transpose, {reals(g, {2, 5, 4, 4}), reals(g, {6, 3, 1, 1})});
     }},
    {"conv_grad_weight: dy is [2, 6, 6], not [2, 6, 7]",
     [](Graph& g) {
         g.apply(Op::conv_grad_weight, {reals(g, {2, 4, 9}), reals(g, {2, 6, 6})},
                 {number(Attr::groups, 2), list(Attr::shape, {6, 2, 3})});
     }},
    {"conv_grad_weight: shape has an entry of -1",
     [](Graph& g) {
         g.apply(Op::conv_grad_weight, {reals(g, {2, 4, 9}), reals(g, {2, 6, 7})}, {list(Attr::shape, {6, -1, 3})});
     }},
    {"average_pool_grad: kernel has 1 entries, not 2",
     [](Graph& g) {
         g.apply(Op::average_pool_grad, {reals(g, {2, 4, 3, 3})},
                 {list(Attr::kernel, {2}), list(Attr::shape, {6, 6})});
     }},
    {"average_pool_grad: shape has 3 entries, not 2",
     [](Graph& g) {
         g.apply(Op::average_pool_grad, {reals(g, {2, 4, 3, 3})},
                 {list(Attr::kernel, {2, 2}), list(Attr::shape, {6, 6, 6})});
     }},
    {"average_pool_grad: shape has an entry of -6",
     [](Graph& g) {
         g.apply(Op::average_pool_grad, {reals(g, {2, 4, 3, 3})},
                 {list(Attr::kernel, {2, 2}), list(Attr::shape, {6, -6})});
     }},
    {"add: input 1 is a weight stored as int8, which is read by matmul (b) and gather alone",
     [](Graph& g) {
         g.apply(Op::add, {reals(g, {64, 64}), stored(g, DType::int8, {64, 64})});
     }},
    {"matmul: input 0 is a weight stored as bf16, which is read by matmul (b) and gather alone",
     [](Graph& g) {
         g.apply(Op::matmul, {stored(g, DType::bf16, {64, 64}), reals(g, {64, 64})}, {number(Attr::transpose_b, 1)});
     }},
    {"matmul: b is stored as f16, which is read without transpose_a",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {64, 64}), stored(g, DType::f16, {64, 64})}, {number(Attr::transpose_a, 1)});
     }},
    {"matmul: inner extents differ: [64, 384] x [256, 384]",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {64, 384}), reals(g, {256, 384})});
     }},
    {"matmul: inner extents differ: [64, 384] x [256, 100] transposed",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {64, 384}), reals(g, {256, 100})}, {number(Attr::transpose_b, 1)});
     }},
    {"matmul: inner extents differ: [64, 3] transposed x [65, 3]",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {64, 3}), reals(g, {65, 3})}, {number(Attr::transpose_a, 1)});
     }},
    {"matmul: leading axes differ: [8, 5, 3] x [7, 3, 4]",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {8, 5, 3}), reals(g, {7, 3, 4})});
     }},
    {"matmul: leading axes differ: [5, 3] x [7, 3, 4]",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {5, 3}), reals(g, {7, 3, 4})});
     }},
    {"matmul: leading axes differ: [8, 5, 3] transposed x [5, 8, 4]",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {8, 5, 3}), reals(g, {5, 8, 4})}, {number(Attr::transpose_a, 1)});
     }},
    {"matmul: two transposed operands have rank 2 each: [8, 5, 3] transposed x [5, 8, 4] transposed",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {8, 5, 3}), reals(g, {5, 8, 4})},
                 {number(Attr::transpose_a, 1), number(Attr::transpose_b, 1)});
     }},
    {"weight_gradient: inner extents differ: [64, 3] transposed x [65, 4]",
     [](Graph& g) {
         g.apply(Op::weight_gradient, {reals(g, {64, 3}), reals(g, {65, 4})});
     }},
    {"weight_gradient: leading axes differ: [8, 5, 3] transposed x [5, 8, 4]",
     [](Graph& g) {
         g.apply(Op::weight_gradient, {reals(g, {8, 5, 3}), reals(g, {5, 8, 4})});
     }},
    {"weight_gradient_into: sum is [4, 3], not [3, 4]",
     [](Graph& g) {
         g.apply(Op::weight_gradient_into, {reals(g, {64, 3}), reals(g, {64, 4}), reals(g, {4, 3})});
     }},
    {"matmul: a has rank 1, at least 2 is needed: [3]",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {3}), reals(g, {3, 4})});
     }},
    {"matmul: a is i32, not f32",
     [](Graph& g) {
         g.apply(Op::matmul, {integers(g, {3, 3}), reals(g, {3, 4})});
     }},
    {"matmul: takes 2 inputs, not 3",
     [](Graph& g) {
         g.apply(Op::matmul, {reals(g, {3, 3}), reals(g, {3, 4}), reals(g, {4})});
     },
     VOLTA_INVALID_ARGUMENT},
    {"add: shapes do not broadcast: [4, 3] and [4, 2]",
     [](Graph& g) {
         g.apply(Op::add, {reals(g, {4, 3}), reals(g, {4, 2})});
     }},
    {"add: input 1 is i32, not f32",
     [](Graph& g) {
         g.apply(Op::add, {reals(g, {4}), integers(g, {4})});
     }},
    {"add: takes 2 inputs, not 1", [](Graph& g) { g.apply(Op::add, {reals(g, {4})}); },
     VOLTA_INVALID_ARGUMENT},
    {"neg: takes 1 input, not 2",
     [](Graph& g) {
         g.apply(Op::neg, {reals(g, {4}), reals(g, {4})});
     },
     VOLTA_INVALID_ARGUMENT},
    {"add: input 1 is no value of this graph",
     [](Graph& g) {
         g.apply(Op::add, {reals(g, {4}), 17});
     },
     VOLTA_INVALID_ARGUMENT},
    {"add: input 0 is no value of this graph",
     [](Graph& g) {
         g.apply(Op::add, {-1, reals(g, {4})});
     },
     VOLTA_INVALID_ARGUMENT},
    {"parameter: a source is declared by a call of its own, not applied",
     [](Graph& g) { g.apply(Op::parameter, {}); }, VOLTA_INVALID_ARGUMENT},
    {"where: the mask is f32, not i32",
     [](Graph& g) {
         g.apply(Op::where, {reals(g, {4}), reals(g, {4}), reals(g, {4})});
     }},
    {"gelu_tanh_grad: input 1 [3] differs from input 0 [4]",
     [](Graph& g) {
         g.apply(Op::gelu_tanh_grad, {reals(g, {4}), reals(g, {3})});
     }},
    {"maximum_grad: dy is [4], not [2, 4]",
     [](Graph& g) {
         g.apply(Op::maximum_grad, {reals(g, {4}), reals(g, {2, 1}), reals(g, {4})},
                 {number(Attr::operand, 0)});
     }},
    {"dropout: random is [2], not [3]",
     [](Graph& g) {
         g.apply(Op::dropout, {reals(g, {4}), integers(g, {2})}, {number(Attr::probability, 0.5)});
     }},
    {"dropout: the number of rows is 4294967296, the limit is 4294967295",
     [](Graph& g) {
         g.apply(Op::dropout, {reals(g, {std::int64_t{1} << 32, 1}), integers(g, {3})});
     }},
    {"softmax: the last axis of input 0 is empty: [4, 0]",
     [](Graph& g) {
         g.apply(Op::softmax, {reals(g, {4, 0})});
     }},
    {"softmax: input 0 has rank 0, at least 1 is needed: []",
     [](Graph& g) { g.apply(Op::softmax, {reals(g, {})}); }},
    {"layer_norm: scale is [3], not [4]",
     [](Graph& g) {
         g.apply(Op::layer_norm, {reals(g, {2, 4}), reals(g, {3}), reals(g, {4})});
     }},
    {"layer_norm: takes 3 inputs, not 2",
     [](Graph& g) {
         g.apply(Op::layer_norm, {reals(g, {2, 4}), reals(g, {4})});
     },
     VOLTA_INVALID_ARGUMENT},
    {"batch_norm: scale has 3 elements, x has 16 channels: [8, 16, 32, 32]",
     [](Graph& g) {
         const ValueId x = reals(g, {8, 16, 32, 32}), c = reals(g, {16});
         g.apply(Op::batch_norm, {x, reals(g, {3}), c, c, c});
     }},
    {"batch_norm: the variance has 32 elements, x has 16 channels: [8, 16, 32, 32]",
     [](Graph& g) {
         const ValueId x = reals(g, {8, 16, 32, 32}), c = reals(g, {16});
         g.apply(Op::batch_norm, {x, c, c, c, reals(g, {32})});
     }},
    {"batch_norm: the mean has rank 3, not 1: [16, 1, 1]",
     [](Graph& g) {
         const ValueId x = reals(g, {8, 16, 32, 32}), c = reals(g, {16});
         g.apply(Op::batch_norm, {x, c, c, reals(g, {16, 1, 1}), c});
     }},
    {"batch_norm: x has rank 1, at least 2 is needed: [16]",
     [](Graph& g) {
         const ValueId c = reals(g, {16});
         g.apply(Op::batch_norm, {c, c, c, c, c});
     }},
    {"batch_norm: momentum 1.5 is not between 0 and 1",
     [](Graph& g) {
         const ValueId x = reals(g, {2, 3}), c = reals(g, {3});
         g.apply(Op::batch_norm, {x, c, c, c, c}, {number(Attr::momentum, 1.5)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"batch_statistics: a channel needs at least 2 values to have a variance: [1, 3, 1, 1]",
     [](Graph& g) {
         g.apply(Op::batch_statistics, {reals(g, {1, 3, 1, 1})});
     }},
    {"batch_norm_grad: dy is [2, 3], not [3, 3]",
     [](Graph& g) {
         const ValueId c = reals(g, {3});
         g.apply(Op::batch_norm_grad, {reals(g, {2, 3}), reals(g, {3, 3}), c, c, c});
     }},
    {"running_statistics: the variance is [4], not [3]",
     [](Graph& g) {
         const ValueId c = reals(g, {3});
         g.apply(Op::running_statistics, {c, c, c, reals(g, {4})}, {number(Attr::elements, 2)});
     }},
    {"assign: the value is [3], not [2]",
     [](Graph& g) {
         g.apply(Op::assign, {reals(g, {2}), reals(g, {3})});
     }},
    {"group_norm: the 6 channels of x do not divide into 4 groups: [2, 6, 5]",
     [](Graph& g) {
         const ValueId c = reals(g, {6});
         g.apply(Op::group_norm, {reals(g, {2, 6, 5}), c, c}, {number(Attr::groups, 4)});
     }},
    {"group_norm: the attribute groups is missing",
     [](Graph& g) {
         const ValueId c = reals(g, {6});
         g.apply(Op::group_norm, {reals(g, {2, 6, 5}), c, c});
     },
     VOLTA_INVALID_ARGUMENT},
    {"group_norm: a group of x is empty: [2, 6, 0]",
     [](Graph& g) {
         const ValueId c = reals(g, {6});
         g.apply(Op::group_norm, {reals(g, {2, 6, 0}), c, c}, {number(Attr::groups, 2)});
     }},
    {"instance_norm: bias has 5 elements, x has 6 channels: [2, 6, 4]",
     [](Graph& g) {
         g.apply(Op::instance_norm, {reals(g, {2, 6, 4}), reals(g, {6}), reals(g, {5})});
     }},
    {"group_norm_grad: rs is [2, 6], not [2, 3]",
     [](Graph& g) {
         const ValueId x = reals(g, {2, 6, 5}), rows = reals(g, {2, 3});
         g.apply(Op::group_norm_grad, {x, x, reals(g, {6}), rows, reals(g, {2, 6})},
                 {number(Attr::groups, 3)});
     }},
    {"rms_norm_grad: r is [4], not [2]",
     [](Graph& g) {
         g.apply(Op::rms_norm_grad, {reals(g, {2, 4}), reals(g, {2, 4}), reals(g, {4}), reals(g, {4})});
     }},
    {"cross_entropy: targets are [4], not [2, 4]",
     [](Graph& g) {
         g.apply(Op::cross_entropy, {reals(g, {2, 4, 9}), integers(g, {4})});
     }},
    {"cross_entropy: targets is f32, not i32",
     [](Graph& g) {
         g.apply(Op::cross_entropy, {reals(g, {2, 9}), reals(g, {2})});
     }},
    {"cross_entropy_grad: g is [3], neither [] nor [2]",
     [](Graph& g) {
         g.apply(Op::cross_entropy_grad,
                 {reals(g, {2, 9}), integers(g, {2}), reals(g, {2}), reals(g, {2}), reals(g, {3})});
     }},
    {"cross_entropy_with_grad: targets are [4], not [2, 4]",
     [](Graph& g) {
         g.apply(Op::cross_entropy_with_grad, {reals(g, {2, 4, 9}), integers(g, {4}), reals(g, {})});
     }},
    {"cross_entropy_with_grad: targets is f32, not i32",
     [](Graph& g) {
         g.apply(Op::cross_entropy_with_grad, {reals(g, {2, 9}), reals(g, {2}), reals(g, {})});
     }},
    {"cross_entropy_with_grad: g is [3], neither [] nor [2]",
     [](Graph& g) {
         g.apply(Op::cross_entropy_with_grad, {reals(g, {2, 9}), integers(g, {2}), reals(g, {3})});
     }},
    {"cross_entropy_with_grad: the last axis of x is empty: [2, 0]",
     [](Graph& g) {
         g.apply(Op::cross_entropy_with_grad, {reals(g, {2, 0}), integers(g, {2}), reals(g, {})});
     }},
    {"cross_entropy: weights is [8], not [9]",
     [](Graph& g) {
         g.apply(Op::cross_entropy, {reals(g, {2, 9}), integers(g, {2}), reals(g, {8})});
     }},
    {"cross_entropy_grad: weights is [9, 1], not [9]",
     [](Graph& g) {
         g.apply(Op::cross_entropy_grad, {reals(g, {2, 9}), integers(g, {2}), reals(g, {2}), reals(g, {2}),
                                          reals(g, {}), reals(g, {9, 1})});
     }},
    {"cross_entropy_with_grad: weights is i32, not f32",
     [](Graph& g) {
         g.apply(Op::cross_entropy_with_grad,
                 {reals(g, {2, 9}), integers(g, {2}), reals(g, {}), integers(g, {9})});
     }},
    {"binary_cross_entropy: t [2] differs from x [2, 9]",
     [](Graph& g) {
         g.apply(Op::binary_cross_entropy, {reals(g, {2, 9}), reals(g, {2})});
     }},
    {"binary_cross_entropy_grad: weights is [2], not [9]",
     [](Graph& g) {
         g.apply(Op::binary_cross_entropy_grad,
                 {reals(g, {2, 9}), reals(g, {2, 9}), reals(g, {}), reals(g, {2})});
     }},
    {"l1: the last axis of x is empty: [2, 0]",
     [](Graph& g) {
         g.apply(Op::l1, {reals(g, {2, 0}), reals(g, {2, 0})});
     }},
    {"huber_grad: g is [3], neither [] nor [2]",
     [](Graph& g) {
         g.apply(Op::huber_grad, {reals(g, {2, 9}), reals(g, {2, 9}), reals(g, {3})});
     }},
    {"mse: t [2, 8] differs from x [2, 9]",
     [](Graph& g) {
         g.apply(Op::mse, {reals(g, {2, 9}), reals(g, {2, 8})});
     }},
    {"sum: there is no axis 2 in [4, 3]",
     [](Graph& g) {
         g.apply(Op::sum, {reals(g, {4, 3})}, {list(Attr::axes, {2})});
     }},
    {"sum: axis -1 is named twice",
     [](Graph& g) {
         g.apply(Op::sum, {reals(g, {4, 3})}, {list(Attr::axes, {1, -1})});
     }},
    {"max: there is no element to choose from: [4, 0]",
     [](Graph& g) {
         g.apply(Op::max, {reals(g, {4, 0})}, {list(Attr::axes, {1})});
     }},
    {"argmax: the last extent is 2147483648, the limit is 2147483647",
     [](Graph& g) { g.apply(Op::argmax, {reals(g, {std::int64_t{1} << 31})}); }},
    {"reshape: [2, 3] does not become [4, -1]",
     [](Graph& g) {
         g.apply(Op::reshape, {reals(g, {2, 3})}, {list(Attr::shape, {4, -1})});
     }},
    {"reshape: [2, 3] does not become [-1, -1]",
     [](Graph& g) {
         g.apply(Op::reshape, {reals(g, {2, 3})}, {list(Attr::shape, {-1, -1})});
     }},
    {"reshape: [0, 3] does not become [0, -1]",
     [](Graph& g) {
         g.apply(Op::reshape, {reals(g, {0, 3})}, {list(Attr::shape, {0, -1})});
     }},
    {"reshape: [2, 3] does not become [2, 3, -2]",
     [](Graph& g) {
         g.apply(Op::reshape, {reals(g, {2, 3})}, {list(Attr::shape, {2, 3, -2})});
     }},
    {"reshape: [2, 3] does not become [-3, 1]",
     [](Graph& g) {
         g.apply(Op::reshape, {reals(g, {2, 3})}, {list(Attr::shape, {-3, 1})});
     }},
    {"transpose: [0, 0] is no permutation of the axes of [2, 3]",
     [](Graph& g) {
         g.apply(Op::transpose, {reals(g, {2, 3})}, {list(Attr::permutation, {0, 0})});
     }},
    {"transpose: [0, 1, 2] is no permutation of the axes of [2, 3]",
     [](Graph& g) {
         g.apply(Op::transpose, {reals(g, {2, 3})}, {list(Attr::permutation, {0, 1, 2})});
     }},
    {"concat: input 1 [2, 4] differs from input 0 [3, 4] beside axis 1",
     [](Graph& g) {
         g.apply(Op::concat, {reals(g, {3, 4}), reals(g, {2, 4})}, {number(Attr::axis, 1)});
     }},
    {"concat: an extent of 8070450532247928832 + 1152921504606846976 is too large",
     [](Graph& g) {
         const ValueId x = reals(g, {std::int64_t{1} << 60});
         g.apply(Op::concat, {x, x, x, x, x, x, x, x});
     }},
    {"concat: there is no axis 2 in [3, 4]",
     [](Graph& g) {
         g.apply(Op::concat, {reals(g, {3, 4})}, {number(Attr::axis, 2)});
     }},
    {"slice: indices 3 to 9 are not within axis 0 of [8]",
     [](Graph& g) {
         g.apply(Op::slice, {reals(g, {8})}, {number(Attr::begin, 3), number(Attr::end, 9)});
     }},
    {"slice: indices 5 to 4 are not within axis 0 of [8]",
     [](Graph& g) {
         g.apply(Op::slice, {reals(g, {8})}, {number(Attr::begin, 5), number(Attr::end, 4)});
     }},
    {"slice_grad: indices 5 to 9 are not within an axis of 8",
     [](Graph& g) {
         g.apply(Op::slice_grad, {reals(g, {4})}, {number(Attr::begin, 5), number(Attr::rows, 8)});
     }},
    {"broadcast_to: [2, 3] does not broadcast to [2, 4]",
     [](Graph& g) {
         g.apply(Op::broadcast_to, {reals(g, {2, 3})}, {list(Attr::shape, {2, 4})});
     }},
    {"broadcast_to: [2, 3] does not broadcast to [3]",
     [](Graph& g) {
         g.apply(Op::broadcast_to, {reals(g, {2, 3})}, {list(Attr::shape, {3})});
     }},
    {"broadcast_to: [3] does not broadcast to [-1, 3]",
     [](Graph& g) {
         g.apply(Op::broadcast_to, {reals(g, {3})}, {list(Attr::shape, {-1, 3})});
     }},
    {"position_ids: a sequence of 257 tokens is longer than the context 256",
     [](Graph& g) {
         g.apply(Op::position_ids, {integers(g, {2, 257})}, {number(Attr::limit, 256)});
     }},
    {"swiglu: a row of 7 has no two halves: [2, 7]",
     [](Graph& g) {
         g.apply(Op::swiglu, {reals(g, {2, 7})});
     }},
    {"swiglu: a row of 0 has no two halves: [2, 0]",
     [](Graph& g) {
         g.apply(Op::swiglu, {reals(g, {2, 0})});
     }},
    {"swiglu_grad: dy is [2, 8], not [2, 4]",
     [](Graph& g) {
         g.apply(Op::swiglu_grad, {reals(g, {2, 8}), reals(g, {2, 8})});
     }},
    {"rotary: positions is [2], not [2, 5]",
     [](Graph& g) {
         g.apply(Op::rotary, {reals(g, {2, 5, 8}), integers(g, {2}), reals(g, {9, 4})},
                 {number(Attr::heads, 2)});
     }},
    {"rotary: positions is f32, not i32",
     [](Graph& g) {
         g.apply(Op::rotary, {reals(g, {2, 8}), reals(g, {2}), reals(g, {9, 4})}, {number(Attr::heads, 2)});
     }},
    {"rotary: a head of 3 elements is not made of pairs",
     [](Graph& g) {
         g.apply(Op::rotary, {reals(g, {2, 8}), integers(g, {2}), reals(g, {9, 3})},
                 {number(Attr::heads, 2)});
     }},
    {"rotary: 3 heads of 4 are more than a row of 8",
     [](Graph& g) {
         g.apply(Op::rotary, {reals(g, {2, 8}), integers(g, {2}), reals(g, {9, 4})},
                 {number(Attr::heads, 3)});
     }},
    {"rotary: 2 heads of 5 are more than a row of 8",
     [](Graph& g) {
         g.apply(Op::rotary, {reals(g, {2, 8}), integers(g, {2}), reals(g, {9, 4})},
                 {number(Attr::heads, 2), number(Attr::width, 5)});
     }},
    {"rotary: a table of 4 columns turns more than a head of 3 elements",
     [](Graph& g) {
         g.apply(Op::rotary, {reals(g, {2, 8}), integers(g, {2}), reals(g, {9, 4})},
                 {number(Attr::heads, 2), number(Attr::width, 3)});
     }},
    {"rotary_table: frequencies is [4], not [3]",
     [](Graph& g) {
         g.apply(Op::rotary_table, {reals(g, {4})}, {number(Attr::limit, 100), number(Attr::width, 6)});
     }},
    {"gather: the table has rank 3, not 2: [2, 3, 4]",
     [](Graph& g) {
         g.apply(Op::gather, {reals(g, {2, 3, 4}), integers(g, {2})});
     }},
    {"gather: ids is f32, not i32",
     [](Graph& g) {
         g.apply(Op::gather, {reals(g, {2, 3}), reals(g, {2})});
     }},
    {"gather: a tensor has at most 8 axes: [1, 1, 1, 1, 1, 1, 1, 1] has no room for one more",
     [](Graph& g) {
         g.apply(Op::gather, {reals(g, {2, 3}), integers(g, {1, 1, 1, 1, 1, 1, 1, 1})});
     }},
    {"embedding_gradient: ids is [2, 4], not [2, 5]",
     [](Graph& g) {
         g.apply(Op::embedding_gradient, {integers(g, {2, 4}), reals(g, {2, 5, 8})}, {number(Attr::rows, 9)});
     }},
    {"embedding_gradient: base is [8, 8], not [9, 8]",
     [](Graph& g) {
         g.apply(Op::embedding_gradient, {integers(g, {5}), reals(g, {5, 8}), reals(g, {8, 8})},
                 {number(Attr::rows, 9)});
     }},
    {"attention: a width of 13 is not divided by 6 heads",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 13}), reals(g, {2, 5, 13}), reals(g, {2, 5, 13})},
                 {number(Attr::heads, 6)});
     }},
    {"attention: a width of 13 is not divided by 10 heads",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 13})},
                 {number(Attr::heads, 6), number(Attr::kv_heads, 2), number(Attr::packed, 1)});
     }},
    {"attention: 6 heads are no multiple of 4 key and value heads",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 14})},
                 {number(Attr::heads, 6), number(Attr::kv_heads, 4), number(Attr::packed, 1)});
     }},
    {"attention: k is [2, 4, 12], not [2, 5, 12]",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12}), reals(g, {2, 4, 12}), reals(g, {2, 4, 12})},
                 {number(Attr::heads, 6)});
     }},
    {"attention: a window of 4 keys needs causal",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12})},
                 {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::causal, 0),
                  number(Attr::window, 4)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention: documents need causal",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12}), integers(g, {2, 5})},
                 {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::causal, 0),
                  number(Attr::documents, 1)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention: takes 2 inputs when packed and of documents, not 1",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12})},
                 {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::documents, 1)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention: starts is [2, 4], not [2, 5]",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12}), integers(g, {2, 4})},
                 {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::documents, 1)});
     }},
    {"position_ids: starts is [5], not [2, 5]",
     [](Graph& g) {
         g.apply(Op::position_ids, {integers(g, {2, 5}), integers(g, {5})}, {number(Attr::limit, 9)});
     }},
    {"attention: a scale of 1e-60 is 0 as f32",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12})},
                 {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::scale, 1e-60)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention: a cap of 1e-60 is 0 as f32",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12})},
                 {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::cap, 1e-60)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention: takes 4 inputs when not packed and with dropout, not 3",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12}), reals(g, {2, 5, 12}), reals(g, {2, 5, 12})},
                 {number(Attr::heads, 6), number(Attr::probability, 0.5)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention: the attribute heads is missing",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12})}, {number(Attr::packed, 1)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention_grad: m is [2, 5, 2], not [2, 2, 5]",
     [](Graph& g) {
         g.apply(Op::attention_grad,
                 {reals(g, {2, 5, 12}), reals(g, {2, 5, 4}), reals(g, {2, 5, 2}), reals(g, {2, 2, 5}),
                  reals(g, {2, 5, 4})},
                 {number(Attr::heads, 2), number(Attr::packed, 1)});
     }},
    {"stack: an extent of 1099511627776 x 4294967295 is too large",
     [](Graph& g) { g.apply(Op::stack, {reals(g, {kMany})}, {number(Attr::micro_batches, 4294967295.0)}); }},
    // 2^63: it fits 64 bits and no extent.
    {"stack: an extent of 1099511627776 x 8388608 is too large",
     [](Graph& g) { g.apply(Op::stack, {reals(g, {kMany})}, {number(Attr::micro_batches, 8388608)}); }},
    {"adamw: factors is [3], not [8]",
     [](Graph& g) {
         g.apply(Op::adamw,
                 {reals(g, {4}), reals(g, {4}), reals(g, {4}), reals(g, {4}), reals(g, {3}), reals(g, {})});
     }},
    {"sgd: g [5] differs from w [4]",
     [](Graph& g) {
         g.apply(Op::sgd, {reals(g, {4}), reals(g, {5}), reals(g, {4}), reals(g, {3}), reals(g, {})});
     }},
    {"clip_factor: norm is [1], not []",
     [](Graph& g) { g.apply(Op::clip_factor, {reals(g, {1})}, {number(Attr::maximum_norm, 1)}); }},
    // Attributes.
    {"softmax: there is no attribute epsilon",
     [](Graph& g) { g.apply(Op::softmax, {reals(g, {4})}, {number(Attr::epsilon, 1)}); },
     VOLTA_INVALID_ARGUMENT},
    {"clamp: the attribute high is missing",
     [](Graph& g) { g.apply(Op::clamp, {reals(g, {4})}, {number(Attr::low, 1)}); }, VOLTA_INVALID_ARGUMENT},
    {"clamp: low 2 is above high 1",
     [](Graph& g) {
         g.apply(Op::clamp, {reals(g, {4})}, {number(Attr::low, 2), number(Attr::high, 1)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"clamp: the attribute low is given twice",
     [](Graph& g) {
         g.apply(Op::clamp, {reals(g, {4})},
                 {number(Attr::low, 1), number(Attr::low, 1), number(Attr::high, 1)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"dropout: probability 1 is not between 0 and 0.9999999",
     [](Graph& g) {
         g.apply(Op::dropout, {reals(g, {4}), integers(g, {3})}, {number(Attr::probability, 1)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"attention: heads 2.5 is no whole number",
     [](Graph& g) {
         g.apply(Op::attention, {reals(g, {2, 5, 12})}, {number(Attr::heads, 2.5)});
     },
     VOLTA_INVALID_ARGUMENT},
    {"sum: axes is a list of integers",
     [](Graph& g) { g.apply(Op::sum, {reals(g, {4})}, {number(Attr::axes, 0)}); }, VOLTA_INVALID_ARGUMENT},
    {"concat: axis is a number",
     [](Graph& g) { g.apply(Op::concat, {reals(g, {4})}, {list(Attr::axis, {0})}); }, VOLTA_INVALID_ARGUMENT},
    // Sources and outputs.
    {"x0: the shape [4294967296, 4294967296] has too many elements",
     [](Graph& g) {
         reals(g, {std::int64_t{1} << 32, std::int64_t{1} << 32});
     }},
    {"x0: the shape [0, 4294967296, 4294967296] has too many elements",
     [](Graph& g) {
         reals(g, {0, std::int64_t{1} << 32, std::int64_t{1} << 32});
     }},
    {"x0: the shape [4294967296, 4294967296, 0] has too many elements",
     [](Graph& g) {
         reals(g, {std::int64_t{1} << 32, std::int64_t{1} << 32, 0});
     }},
    {"add: the shape [1099511627776, 1099511627776] has too many elements",
     [](Graph& g) {
         g.apply(Op::add, {reals(g, {kMany, 1}), reals(g, {1, kMany})});
     }},
    {"the name of an input is empty", [](Graph& g) { g.input("", DType::f32, {1}); }, VOLTA_INVALID_ARGUMENT},
    {"the name of a state is empty", [](Graph& g) { g.state(nullptr, DType::f32, {1}); },
     VOLTA_INVALID_ARGUMENT},
    {"parameter \"w\": there is already a source of this name",
     [](Graph& g) {
         g.input("w", DType::f32, {1});
         g.parameter("w", {1}, {});
     },
     VOLTA_INVALID_ARGUMENT},
    {"parameter \"w\": the extent -1 of axis 1 is negative",
     [](Graph& g) {
         g.parameter("w", {1, -1}, {});
     },
     VOLTA_INVALID_ARGUMENT},
    {"input \"w\": the extent -2 of axis 0 is negative", [](Graph& g) { g.input("w", DType::f32, {-2}); },
     VOLTA_INVALID_ARGUMENT},
    {"7 is no way to start a parameter",
     [](Graph& g) {
         g.parameter("w", {1}, {7, 0, 0});
     },
     VOLTA_INVALID_ARGUMENT},
    {"output \"y\": there is no such value in this graph", [](Graph& g) { g.output("y", 3); },
     VOLTA_INVALID_ARGUMENT},
    {"output \"y\": there is already an output of this name",
     [](Graph& g) {
         const ValueId x = reals(g, {1});
         g.output("y", x);
         g.output("y", x);
     },
     VOLTA_INVALID_ARGUMENT},
};

void test_wrong_calls_say_what_is_wrong(void**) {
    for (const Wrong& wrong : kWrong) {
        Graph graph(heap());
        const Failure failure = failure_of([&] { wrong.call(graph); });
        const bool operator_added =
            !graph.nodes.empty() && op_row(graph.nodes.back().op).lowering != Lowering::source;
        assert_failure(wrong.sentence, failure, wrong.status, wrong.sentence);
        assert_false(operator_added);
    }
}

// ---- Bodies ----

void add_op(Body& body, Op op, std::initializer_list<std::int32_t> inputs,
            std::initializer_list<Attribute> attributes = {}) {
    BodyOp step{Allocator(heap())};
    step.op = op;
    step.inputs.assign(inputs);
    step.attributes.assign(attributes);
    body.ops.push_back(std::move(step));
}

struct WrongBody {
    const char* sentence;
    void (*build)(Body& body);
    volta_status status;
};
// Over inputs f32 [4, 3], f32 [3], i32 [3].
const WrongBody kWrongBodies[] = {
    {"fused: there is no body", [](Body&) {}, VOLTA_INVALID_ARGUMENT},
    {"fused: the body has no result",
     [](Body& b) {
         add_op(b, Op::add, {~0, ~1});
     },
     VOLTA_INVALID_ARGUMENT},
    {"fused: the body has no result 1",
     [](Body& b) {
         add_op(b, Op::add, {~0, ~1});
         b.results.push_back(1);
     },
     VOLTA_INVALID_ARGUMENT},
    {"fused: add in the body has an input -5 that does not exist",
     [](Body& b) {
         add_op(b, Op::add, {~0, ~4});
     },
     VOLTA_INVALID_ARGUMENT},
    {"fused: add in the body has an input 0 that does not exist",
     [](Body& b) {
         add_op(b, Op::add, {0, ~0});
     },
     VOLTA_INVALID_ARGUMENT},
    {"fused: softmax is not elementwise", [](Body& b) { add_op(b, Op::softmax, {~0}); },
     VOLTA_INVALID_ARGUMENT},
    {"fused: fused is not elementwise", [](Body& b) { add_op(b, Op::fused, {~0}); }, VOLTA_INVALID_ARGUMENT},
    {"fused: add in the body has 1 inputs", [](Body& b) { add_op(b, Op::add, {~0}); },
     VOLTA_INVALID_ARGUMENT},
    {"pow: the attribute exponent is missing", [](Body& b) { add_op(b, Op::pow, {~0}); },
     VOLTA_INVALID_ARGUMENT},
    {"add: input 1 is i32, not f32",
     [](Body& b) {
         add_op(b, Op::add, {~0, ~2});
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused: a result is [3], not [4, 3]",
     [](Body& b) {
         add_op(b, Op::add, {~0, ~1});
         add_op(b, Op::neg, {~1});
         b.results.assign({0, 1});
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused: neg in the body has shape [4, 3] in a node of shape [3]",
     [](Body& b) {
         add_op(b, Op::neg, {~0});
         add_op(b, Op::neg, {~1});
         b.results.assign({1});
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused: dropout in the body has shape [3] in a node of shape [4, 3]",
     [](Body& b) {
         add_op(b, Op::dropout, {~1, ~2}, {number(Attr::probability, 0.5)});
         add_op(b, Op::add, {~0, 0});
         b.results.assign({1});
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused: the state of a dropout is no operand",
     [](Body& b) {
         add_op(b, Op::less, {~1, ~1});
         add_op(b, Op::dropout, {~0, 0}, {number(Attr::probability, 0.5)});
         b.results.assign({1});
     },
     VOLTA_INVALID_ARGUMENT},
};

void test_wrong_bodies_say_what_is_wrong(void**) {
    for (const WrongBody& wrong : kWrongBodies) {
        Graph graph(heap());
        Body body{Allocator(heap())};
        const ValueId inputs[] = {reals(graph, {4, 3}), reals(graph, {3}), integers(graph, {3})};
        wrong.build(body);
        const Failure failure =
            failure_of([&] { graph.apply(Op::fused, inputs, 3, nullptr, 0, Phase::each, &body); });
        assert_failure(wrong.sentence, failure, wrong.status, wrong.sentence);
        assert_int_equal(graph.nodes.size(), 3);
    }
}

// Of fused_rows, over inputs f32 [4, 3], f32 [3], f32 [4], f32 [2, 4, 3].
const WrongBody kWrongRows[] = {
    {"fused_rows: there is no body", [](Body&) {}, VOLTA_INVALID_ARGUMENT},
    {"fused_rows: the body has no result", [](Body& b) { add_op(b, Op::softmax, {~0}); },
     VOLTA_INVALID_ARGUMENT},
    {"fused_rows: the body has no result 1",
     [](Body& b) {
         add_op(b, Op::softmax, {~0});
         b.results.push_back(1);
     },
     VOLTA_INVALID_ARGUMENT},
    {"fused_rows: the body has no result -1",
     [](Body& b) {
         add_op(b, Op::softmax, {~0});
         b.results.push_back(~0);
     },
     VOLTA_INVALID_ARGUMENT},
    {"fused_rows: argmax cannot be part of it", [](Body& b) { add_op(b, Op::argmax, {~0}); },
     VOLTA_INVALID_ARGUMENT},
    {"fused_rows: fused_rows cannot be part of it", [](Body& b) { add_op(b, Op::fused_rows, {~0}); },
     VOLTA_INVALID_ARGUMENT},
    {"fused_rows: softmax in the body has shape [3] in a node of shape [4, 3]",
     [](Body& b) {
         add_op(b, Op::softmax, {~1});
         add_op(b, Op::neg, {~0});
         b.results.push_back(1);
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused_rows: add in the body has shape [4] in a node of shape [4, 3]",  // the mean, which lies over rows
     [](Body& b) {
         add_op(b, Op::layer_norm, {~0, ~1, ~1}, {number(Attr::epsilon, 1e-5)});
         add_op(b, Op::add, {1, 1});
         b.results.push_back(0);
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused_rows: rms_norm in the body has shape [3] in a node of shape [4, 3]",  // a scale made in the body
     [](Body& b) {
         add_op(b, Op::neg, {~1});
         add_op(b, Op::rms_norm, {~0, 0}, {number(Attr::epsilon, 1e-5)});
         b.results.push_back(1);
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused_rows: neg in the body has shape [4] in a node of shape [4, 3]",  // a number per row made in it
     [](Body& b) {
         add_op(b, Op::neg, {~2});
         add_op(b, Op::layer_norm_grad, {~0, ~0, ~1, 0, ~2});
         b.results.push_back(1);
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused_rows: a result is [3], not [4, 3]",
     [](Body& b) {
         add_op(b, Op::softmax, {~0});
         add_op(b, Op::neg, {~1});
         b.results.assign({0, 1});
     },
     VOLTA_SHAPE_MISMATCH},
    {"fused_rows: mul in the body has shape [4, 3] in a node of shape [2, 4, 3]",  // along an inner axis
     [](Body& b) {
         add_op(b, Op::softmax, {~3});
         add_op(b, Op::mul, {0, ~0});
         b.results.push_back(1);
     },
     VOLTA_SHAPE_MISMATCH},
};

void test_wrong_bodies_of_rows_say_what_is_wrong(void**) {
    for (const WrongBody& wrong : kWrongRows) {
        Graph graph(heap());
        Body body{Allocator(heap())};
        const ValueId inputs[] = {reals(graph, {4, 3}), reals(graph, {3}), reals(graph, {4}),
                                  reals(graph, {2, 4, 3})};
        wrong.build(body);
        const Failure failure =
            failure_of([&] { graph.apply(Op::fused_rows, inputs, 4, nullptr, 0, Phase::each, &body); });
        assert_failure(wrong.sentence, failure, wrong.status, wrong.sentence);
        assert_int_equal(graph.nodes.size(), 4);
    }
}

void test_epilogues_replace_the_product(void**) {
    Graph graph(heap());
    Body body{Allocator(heap())};
    const ValueId inputs[] = {reals(graph, {4, 5}), reals(graph, {5, 3}), reals(graph, {3})};
    add_op(body, Op::add, {~0, ~1});
    body.results.assign({~0, 0});
    const ValueId first = graph.apply(Op::matmul, inputs, 3, nullptr, 0, Phase::each, &body);
    verify(graph);
    assert_int_equal(graph.nodes.back().output_count, 2);
    assert_true(graph.shape(first) == (Shape{4, 3}) && graph.shape(first + 1) == (Shape{4, 3}));

    const Attribute accumulate = number(Attr::accumulate, 1);
    const Failure failure =
        failure_of([&] { graph.apply(Op::matmul, inputs, 3, &accumulate, 1, Phase::each, &body); });
    assert_failure("accumulate", failure, VOLTA_INVALID_ARGUMENT,
                   "matmul: a product that continues over micro-batches has no epilogue");
    const Failure misplaced =
        failure_of([&] { graph.apply(Op::add, inputs + 2, 1, nullptr, 0, Phase::each, &body); });
    assert_failure("arity first", misplaced, VOLTA_INVALID_ARGUMENT, "add: takes 2 inputs, not 1");
    const Failure carried =
        failure_of([&] { graph.apply(Op::neg, inputs + 2, 1, nullptr, 0, Phase::each, &body); });
    assert_failure("neg", carried, VOLTA_INVALID_ARGUMENT, "neg: carries no body");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_right_calls_give_these_types),
        cmocka_unit_test(test_wrong_calls_say_what_is_wrong),
        cmocka_unit_test(test_wrong_bodies_say_what_is_wrong),
        cmocka_unit_test(test_wrong_bodies_of_rows_say_what_is_wrong),
        cmocka_unit_test(test_epilogues_replace_the_product),
    };
    return cmocka_run_group_tests_name("shapes", tests, nullptr, nullptr);
}
