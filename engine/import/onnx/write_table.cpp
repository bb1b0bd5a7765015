#include "engine/import/onnx/write_table.h"

namespace volta::onnx {
namespace {

namespace w = write;
constexpr const char *kFirst = "its statistics as results", *kDocuments = "documents";

constexpr WriteRow kRows[] = {
    {Op::neg, "Neg", 13, nullptr, ""},
    {Op::abs, "Abs", 13, nullptr, ""},
    {Op::exp, "Exp", 13, nullptr, ""},
    {Op::log, "Log", 13, nullptr, ""},
    {Op::sqrt, "Sqrt", 13, nullptr, ""},
    {Op::rsqrt, nullptr, 0, w::rsqrt, "`Sqrt`, `Reciprocal`"},
    {Op::tanh, "Tanh", 13, nullptr, ""},
    {Op::erf, "Erf", 13, nullptr, ""},
    {Op::sigmoid, "Sigmoid", 13, nullptr, ""},
    {Op::silu, nullptr, 0, w::silu, "`Sigmoid`, `Mul`"},
    {Op::gelu_tanh, nullptr, 0, w::gelu_tanh, "`Pow`, `Mul`, `Add`, `Tanh`; `Gelu` from 20"},
    {Op::gelu_erf, "Gelu", 20, w::gelu_erf, "`Div`, `Erf`, `Add`, `Mul`"},
    {Op::relu, "Relu", 13, nullptr, ""},
    {Op::leaky_relu, "LeakyRelu", 13, nullptr, ""},
    {Op::elu, "Elu", 13, nullptr, ""},
    {Op::softplus, "Softplus", 13, nullptr, ""},
    {Op::hard_swish, "HardSwish", 14, w::hard_swish, "`HardSigmoid`, `Mul`"},
    {Op::hard_sigmoid, "HardSigmoid", 13, nullptr, ""},
    {Op::selu, "Selu", 13, nullptr, ""},
    {Op::celu, "Celu", 13, nullptr, ""},
    {Op::softsign, "Softsign", 13, nullptr, ""},
    {Op::mish, "Mish", 18, w::mish, "`Softplus`, `Tanh`, `Mul`"},
    {Op::floor, "Floor", 13, nullptr, ""},
    {Op::ceil, "Ceil", 13, nullptr, ""},
    {Op::round, "Round", 13, nullptr, ""},
    {Op::sin, "Sin", 13, nullptr, ""},
    {Op::cos, "Cos", 13, nullptr, ""},
    {Op::pow, nullptr, 0, w::pow, "`Pow`"},
    {Op::clamp, nullptr, 0, w::clamp, "`Clip`"},
    {Op::add, "Add", 13, nullptr, ""},
    {Op::sub, "Sub", 13, nullptr, ""},
    {Op::mul, "Mul", 13, nullptr, ""},
    {Op::div, "Div", 13, nullptr, ""},
    {Op::maximum, "Max", 13, nullptr, ""},
    {Op::minimum, "Min", 13, nullptr, ""},
    {Op::prelu, nullptr, 0, w::prelu, "`PRelu`; where the slope is larger than x, `Less`, `Mul`, `Where`"},
    {Op::less, nullptr, 0, w::compare, "`Less`"},
    {Op::less_equal, nullptr, 0, w::compare, "`LessOrEqual`"},
    {Op::equal, nullptr, 0, w::compare, "`Equal`"},
    {Op::where, nullptr, 0, w::where, "`Where`; of a mask that no comparison makes, `Cast` before"},
    {Op::dropout, nullptr, 0, w::same, "nothing"},
    {Op::softmax, "Softmax", 13, nullptr, ""},
    {Op::log_softmax, "LogSoftmax", 13, nullptr, ""},
    {
        Op::layer_norm,
        nullptr,
        0,
        w::layer_norm,
        "`ReduceMean`, `Sub`, `Pow`, `ReduceMean`, `Add`, `Sqrt`, `Div`, `Mul`, `Add`; `LayerNormalization` "
        "from 17",
    },
    {Op::rms_norm, nullptr, 0, w::rms_norm, "`Pow`, `ReduceMean`, `Add`, `Sqrt`, `Reciprocal`, `Mul`, `Mul`"},
    {Op::cross_entropy, nullptr, 0, w::cross_entropy,
     "`SoftmaxCrossEntropyLoss` of rows; with label_smoothing also `LogSoftmax`, `ReduceSum`, `Where`",
     "its maximum and sum as results"},
    {Op::mse, nullptr, 0, w::mse, "`Sub`, `Mul`, `ReduceSum`"},
    {Op::l1, nullptr, 0, w::l1, "`Sub`, `Abs`, `ReduceSum`"},
    {Op::huber, nullptr, 0, w::huber, "`Sub`, `Abs`, `Mul`, `LessOrEqual`, `Where`, `ReduceSum`"},
    {Op::binary_cross_entropy, nullptr, 0, w::binary_cross_entropy,
     "`Softplus`, `Neg`, `Mul`, `Sub`, `ReduceSum`"},
    {Op::batch_norm, nullptr, 0, w::batch_norm, "`BatchNormalization`"},
    {Op::group_norm, nullptr, 0, w::group_norm,
     "`Reshape`, `InstanceNormalization`, `Reshape`, `Mul`, `Add`; `GroupNormalization` from 21", kFirst},
    {Op::instance_norm, nullptr, 0, w::instance_norm, "`InstanceNormalization`", kFirst},
    {Op::swiglu, nullptr, 0, w::swiglu, "`Split`, `Sigmoid`, `Mul`"},
    {Op::rotary_table, nullptr, 0, w::rotary_table, "`Constant`"},
    {Op::rotary, nullptr, 0, w::rotary, "`Gather`, `Split`, `Reshape`, `Mul`, `Sub`, `Add`, `Concat`"},
    {Op::sum, nullptr, 0, w::reduce, "`ReduceSum`"},
    {Op::mean, nullptr, 0, w::reduce, "`ReduceMean`"},
    {Op::max, nullptr, 0, w::reduce, "`ReduceMax`"},
    {Op::min, nullptr, 0, w::reduce, "`ReduceMin`"},
    {Op::argmax, nullptr, 0, w::argmax, "`ArgMax`"},
    {Op::reshape, nullptr, 0, w::reshape, "`Reshape`", "to an extent of 0 that x does not have there"},
    {Op::transpose, nullptr, 0, w::transpose, "`Transpose`"},
    {Op::concat, nullptr, 0, w::concat, "`Concat`"},
    {Op::slice, nullptr, 0, w::slice, "`Slice`"},
    {Op::slice_grad, nullptr, 0, w::slice_grad, "`Pad`", "along an open extent"},
    {Op::pad, nullptr, 0, w::pad, "`Pad`"},
    {Op::broadcast_to, nullptr, 0, w::broadcast_to, "`Expand`"},
    {Op::position_ids, nullptr, 0, w::position_ids, "`Expand` of a constant, or of `Range` of `Shape`",
     kDocuments},
    {Op::gather, nullptr, 0, w::gather, "`Gather`"},
    {Op::matmul, nullptr, 0, w::matmul, "`MatMul`, after `Transpose`; transposed matrices `Gemm`"},
    {Op::attention, nullptr, 0, w::attention,
     "`Split`, `Reshape`, `Transpose`, `MatMul`, `Mul`, `Where`, `Softmax`, `MatMul`; shared keys `Expand`, "
     "a window `Sub`, `Less`, `And`, a cap `Div`, `Tanh`, `Mul`",
     "its statistics as results, documents"},
    {Op::conv, nullptr, 0, w::conv, "`Conv`"},
    {Op::conv_transpose, nullptr, 0, w::conv_transpose, "`ConvTranspose`", "a shape for open extents"},
    {Op::max_pool, nullptr, 0, w::pool, "`MaxPool`"},
    {Op::average_pool, nullptr, 0, w::pool, "`AveragePool`"},
    {Op::resize, nullptr, 0, w::resize, "`Resize`"},
    {Op::square_sum, nullptr, 0, w::square_sum, "`ReduceSumSquare`"},
};

}  // namespace

const WriteRow* write_rows(int* count) {
    *count = static_cast<int>(sizeof kRows / sizeof *kRows);
    return kRows;
}

const WriteRow* find_write_row(Op op) {
    for (const WriteRow& row : kRows)
        if (row.op == op) return &row;
    return nullptr;
}

}  // namespace volta::onnx
