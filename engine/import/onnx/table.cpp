#include "engine/import/onnx/table.h"

#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

constexpr double kAny = 1e300;
constexpr int kManyInputs = 1 << 16;

constexpr AttributeRow integer(const char* name, double standard, double low = -kAny, double high = kAny,
                               int since = 1, int until = kAlways) {
    return {name, AttributeKind::integer, false, standard, nullptr, low, high, nullptr, since, until};
}
constexpr AttributeRow needed(const char* name, double low = -kAny, double high = kAny, int since = 1,
                              int until = kAlways) {
    return {name, AttributeKind::integer, true, 0, nullptr, low, high, nullptr, since, until};
}
constexpr AttributeRow flag(const char* name, double standard, int since = 1, int until = kAlways) {
    return integer(name, standard, 0, 1, since, until);
}
constexpr AttributeRow real(const char* name, double standard, int since = 1, int until = kAlways) {
    return {name, AttributeKind::real, false, standard, nullptr, -kAny, kAny, nullptr, since, until};
}
constexpr AttributeRow text(const char* name, const char* standard, const char* only, int since = 1,
                            int until = kAlways) {
    return {name, AttributeKind::text, false, 0, standard, 0, 0, only, since, until};
}
constexpr AttributeRow of_kind(AttributeKind kind, const char* name, int since = 1, int until = kAlways) {
    return {name, kind, false, 0, nullptr, -kAny, kAny, nullptr, since, until};
}
constexpr AttributeRow integers(const char* name, int since = 1, int until = kAlways) {
    return of_kind(AttributeKind::integers, name, since, until);
}

constexpr const char* kPads = "|NOTSET|SAME_UPPER|SAME_LOWER|VALID|";

constexpr AttributeRow kLegacyBroadcast[] = {flag("broadcast", 0, 1, 7), integer("axis", 0, -8, 8, 1, 7)};
constexpr AttributeRow kAlpha001[] = {real("alpha", 0.01f)};
constexpr AttributeRow kAlpha1[] = {real("alpha", 1)};
constexpr AttributeRow kSelu[] = {
    real("alpha", 1.67319202423095703125, 1, 6), real("gamma", 1.05070102214813232421875, 1, 6),
    real("alpha", 1.67326319217681884765625, 6), real("gamma", 1.05070102214813232421875, 6)};
constexpr AttributeRow kHardSigmoid[] = {real("alpha", 0.2f), real("beta", 0.5)};
constexpr AttributeRow kGelu[] = {text("approximate", "none", "|none|tanh|")};
constexpr AttributeRow kShrink[] = {real("bias", 0), real("lambd", 0.5)};
constexpr AttributeRow kIsInf[] = {flag("detect_negative", 1), flag("detect_positive", 1)};
constexpr AttributeRow kClip[] = {real("min", -3.4028234663852886e38, 1, 11),
                                  real("max", 3.4028234663852886e38, 1, 11)};
constexpr AttributeRow kCast[] = {needed("to"), flag("saturate", 1, 19),
                                  text("round_mode", "up", "|up|down|nearest|", 24)};
constexpr AttributeRow kCastLike[] = {flag("saturate", 1, 19),
                                      text("round_mode", "up", "|up|down|nearest|", 24)};
constexpr AttributeRow kMod[] = {flag("fmod", 0)};
constexpr AttributeRow kDropout[] = {real("ratio", 0.5, 1, 12), flag("is_test", 0, 1, 7),
                                     integer("seed", 0, -kAny, kAny, 12)};
constexpr AttributeRow kConstant[] = {
    of_kind(AttributeKind::tensor, "value"), of_kind(AttributeKind::real, "value_float", 12),
    of_kind(AttributeKind::reals, "value_floats", 12), of_kind(AttributeKind::integer, "value_int", 12),
    of_kind(AttributeKind::integers, "value_ints", 12)};
constexpr AttributeRow kConstantOfShape[] = {of_kind(AttributeKind::tensor, "value")};
constexpr AttributeRow kShape[] = {integer("start", 0, -kAny, kAny, 15), integer("end", 0, -kAny, kAny, 15)};
constexpr AttributeRow kReshape[] = {flag("allowzero", 0, 14), integers("shape", 1, 5)};
constexpr AttributeRow kFlatten[] = {integer("axis", 1)};
constexpr AttributeRow kAxes13[] = {integers("axes", 1, 13)};
constexpr AttributeRow kPerm[] = {integers("perm")};
constexpr AttributeRow kConcat[] = {integer("axis", 1, -kAny, kAny, 1, 4), needed("axis", -kAny, kAny, 4)};
constexpr AttributeRow kSplit[] = {integer("axis", 0), integers("split", 1, 13),
                                   integer("num_outputs", 0, 0, kAny, 18)};
constexpr AttributeRow kSlice[] = {integers("axes", 1, 10), integers("starts", 1, 10),
                                   integers("ends", 1, 10)};
constexpr AttributeRow kAxis0[] = {integer("axis", 0)};
constexpr AttributeRow kPad[] = {text("mode", "constant", "|constant|reflect|edge|"), integers("pads", 2, 11),
                                 integers("paddings", 1, 2), real("value", 0, 1, 11)};
constexpr AttributeRow kDepthToSpace[] = {needed("blocksize", 1, 1024), text("mode", "DCR", "|DCR|CRD|", 11)};
constexpr AttributeRow kSpaceToDepth[] = {needed("blocksize", 1, 1024), text("mode", "DCR", "|DCR|CRD|", 28)};
constexpr AttributeRow kRange[] = {integer("stash_type", 1, 1, 1, 27)};
constexpr AttributeRow kTrilu[] = {flag("upper", 1)};
constexpr AttributeRow kEyeLike[] = {integer("k", 0), integer("dtype", 1)};
constexpr AttributeRow kSoftmax[] = {integer("axis", 1, -kAny, kAny, 1, 13),
                                     integer("axis", -1, -kAny, kAny, 13)};
constexpr AttributeRow kReduce[] = {integers("axes", 1, 18), flag("keepdims", 1),
                                    flag("noop_with_empty_axes", 0, 18)};
constexpr AttributeRow kReduceSum[] = {integers("axes", 1, 13), flag("keepdims", 1),
                                       flag("noop_with_empty_axes", 0, 13)};
constexpr AttributeRow kArg[] = {integer("axis", 0), flag("keepdims", 1), flag("select_last_index", 0, 12)};
constexpr AttributeRow kBatchNorm[] = {real("epsilon", 1e-5f), real("momentum", 0.9f),
                                       flag("is_test", 0, 1, 7), flag("spatial", 1, 1, 9),
                                       flag("training_mode", 0, 14)};
constexpr AttributeRow kLayerNorm[] = {integer("axis", -1), real("epsilon", 1e-5f),
                                       integer("stash_type", 1, 1, 1)};
constexpr AttributeRow kGroupNorm[] = {needed("num_groups"), real("epsilon", 1e-5f),
                                       integer("stash_type", 1, 1, 1)};
constexpr AttributeRow kInstanceNorm[] = {real("epsilon", 1e-5f)};
constexpr AttributeRow kLpNorm[] = {integer("axis", -1), integer("p", 2, 1, 2)};
constexpr AttributeRow kMeanVariance[] = {integers("axes", 9)};
constexpr AttributeRow kConv[] = {
    text("auto_pad", "NOTSET", kPads), integers("dilations"), integer("group", 1, 1, 65536),
    integers("kernel_shape"),          integers("pads"),      integers("strides")};
constexpr AttributeRow kConvTranspose[] = {text("auto_pad", "NOTSET", kPads),
                                           integers("dilations"),
                                           integer("group", 1, 1, 65536),
                                           integers("kernel_shape"),
                                           integers("output_padding"),
                                           integers("output_shape"),
                                           integers("pads"),
                                           integers("strides")};
constexpr AttributeRow kMaxPool[] = {
    text("auto_pad", "NOTSET", kPads), flag("ceil_mode", 0, 10), integers("dilations", 10),
    integers("kernel_shape"),          integers("pads"),         integers("strides"),
    flag("storage_order", 0, 8)};
constexpr AttributeRow kAveragePool[] = {text("auto_pad", "NOTSET", kPads),
                                         flag("ceil_mode", 0, 10),
                                         flag("count_include_pad", 0, 7),
                                         integers("dilations", 19),
                                         integers("kernel_shape"),
                                         integers("pads"),
                                         integers("strides")};
constexpr AttributeRow kLpPool[] = {text("auto_pad", "NOTSET", kPads),
                                    flag("ceil_mode", 0, 18),
                                    integers("dilations", 18),
                                    integers("kernel_shape"),
                                    integer("p", 2, 1, 16),
                                    integers("pads"),
                                    integers("strides")};
constexpr AttributeRow kLrn[] = {real("alpha", 0.0001f), real("beta", 0.75), real("bias", 1),
                                 needed("size", 1, 65536)};
constexpr AttributeRow kResize[] = {
    text("mode", "nearest", "|nearest|linear|", 10, 11),
    text("mode", "nearest", "|nearest|linear|cubic|", 11),
    text("coordinate_transformation_mode", "half_pixel",
         "|half_pixel|pytorch_half_pixel|asymmetric|align_corners|tf_half_pixel_for_nn|tf_crop_and_resize|",
         11, 13),
    text("coordinate_transformation_mode", "half_pixel",
         "|half_pixel|pytorch_half_pixel|asymmetric|align_corners|half_pixel_symmetric|tf_crop_and_resize|",
         13),
    text("nearest_mode", "round_prefer_floor", "|round_prefer_floor|round_prefer_ceil|floor|ceil|", 11),
    real("cubic_coeff_a", -0.75, 11),
    flag("exclude_outside", 0, 11),
    real("extrapolation_value", 0, 11),
    flag("antialias", 0, 18),
    integers("axes", 18),
    text("keep_aspect_ratio_policy", "stretch", "|stretch|not_larger|not_smaller|", 18)};
constexpr AttributeRow kUpsample[] = {text("mode", "nearest", "|nearest|linear|"),
                                      of_kind(AttributeKind::reals, "scales", 7, 9)};
constexpr AttributeRow kGemm[] = {real("alpha", 1), real("beta", 1), flag("transA", 0), flag("transB", 0),
                                  flag("broadcast", 0, 1, 7)};

constexpr AttributeRow kAttention[] = {flag("is_causal", 0),
                                       integer("kv_num_heads", 0, 1, 65536),
                                       integer("q_num_heads", 0, 1, 65536),
                                       integer("qk_matmul_output_mode", 0, 0, 3),
                                       real("scale", 0),
                                       real("softcap", 0),
                                       integer("softmax_precision", 1, 1, 1)};
constexpr AttributeRow kRotary[] = {flag("interleaved", 0), integer("num_heads", 0, 0, 65536),
                                    integer("rotary_embedding_dim", 0, 0, 65536)};
constexpr AttributeRow kGatherNd[] = {integer("batch_dims", 0, 0, 8, 12)};
constexpr AttributeRow kScatterElements[] = {integer("axis", 0),
                                             text("reduction", "none", "|none|add|mul|", 16, 18),
                                             text("reduction", "none", "|none|add|mul|max|min|", 18)};
constexpr AttributeRow kScatterNd[] = {text("reduction", "none", "|none|add|mul|", 16, 18),
                                       text("reduction", "none", "|none|add|mul|max|min|", 18)};
constexpr AttributeRow kTopK[] = {integer("axis", -1), needed("k", 1, kAny, 1, 10), flag("largest", 1, 11),
                                  flag("sorted", 1, 11)};
constexpr AttributeRow kBitShift[] = {text("direction", "LEFT", "|LEFT|RIGHT|")};
constexpr AttributeRow kLoss[] = {integer("ignore_index", -1), text("reduction", "mean", "|mean|sum|none|")};
constexpr AttributeRow kOneHot[] = {integer("axis", -1)};
constexpr AttributeRow kCumSum[] = {flag("exclusive", 0), flag("reverse", 0)};
constexpr AttributeRow kRecurrent[] = {of_kind(AttributeKind::reals, "activation_alpha"),
                                       of_kind(AttributeKind::reals, "activation_beta"),
                                       of_kind(AttributeKind::texts, "activations"),
                                       real("clip", 0),
                                       text("direction", "forward", "|forward|reverse|bidirectional|"),
                                       integer("hidden_size", 0),
                                       flag("input_forget", 0),
                                       flag("linear_before_reset", 0),
                                       flag("layout", 0, 14),
                                       flag("output_sequence", 0, 1, 7)};
constexpr AttributeRow kQuantize[] = {integer("axis", 1, -8, 8, 13), integer("block_size", 0, 0, 1 << 20, 21),
                                      integer("output_dtype", 0, 0, 64, 21),
                                      integer("precision", 0, 0, 1, 23), flag("saturate", 1, 19)};
constexpr AttributeRow kDequantize[] = {integer("axis", 1, -8, 8, 13),
                                        integer("block_size", 0, 0, 1 << 20, 21),
                                        integer("output_dtype", 0, 0, 64, 23)};
constexpr AttributeRow kIf[] = {of_kind(AttributeKind::graph, "else_branch"),
                                of_kind(AttributeKind::graph, "then_branch")};
constexpr AttributeRow kEinsum[] = {text("equation", "", nullptr)};

template <std::size_t N>
constexpr OperatorRow row(const char* name, const char* versions, int least, int most, Fold fold, Build build,
                          const AttributeRow (&attributes)[N], const char* computes,
                          const char* refused = "") {
    return {name, versions, least, most, fold, build, attributes, static_cast<int>(N), computes, refused};
}
constexpr OperatorRow row(const char* name, const char* versions, int least, int most, Fold fold, Build build,
                          const char* computes, const char* refused = "") {
    return {name, versions, least, most, fold, build, nullptr, 0, computes, refused};
}

namespace b = build;
namespace f = fold;
constexpr const char* kWhole = "integers that are not known";
constexpr const char* kLarge = "integers that may be above 2^24";

constexpr OperatorRow kRows[] = {
    row("Abs", "1, 6, 13", 1, 1, f::abs, b::unary, "`abs`", kLarge),
    row("Add", "1, 6, 7, 13, 14", 2, 2, f::add, b::binary, kLegacyBroadcast, "`add`", kLarge),
    row("And", "1, 7", 2, 2, f::logical_and, b::logic, kLegacyBroadcast, "`minimum` of 0 and 1"),
    row("ArgMax", "1, 11, 12, 13", 1, 1, nullptr, b::arg_extremum, kArg, "`argmax`", "integers"),
    row("ArgMin", "1, 11, 12, 13", 1, 1, nullptr, b::arg_extremum, kArg,
        "`argmax` of `neg`; NaN counts as the smallest", "integers"),
    row("Attention", "23, 24", 3, 7, nullptr, b::attention, kAttention,
        "`attention` where there is neither mask nor past; else `matmul`, `softmax`",
        "softmax_precision other than float; lengths that are not known"),
    row("AveragePool", "1, 7, 10, 11, 19, 22", 1, 1, nullptr, b::pool, kAveragePool,
        "`average_pool`; of volumes, or with dilations, `conv`, `div`", "more than three spatial axes"),
    row("BatchNormalization", "1, 6, 7, 9, 14, 15", 5, 5, nullptr, b::batch_norm, kBatchNorm,
        "`batch_norm`, whose statistics follow when the model is trained; with training_mode 1 "
        "`batch_statistics`",
        "spatial 0; statistics as outputs before opset 14"),
    row("BitShift", "11, 28", 2, 2, f::bit_shift, nullptr, kBitShift, "", "what is not known"),
    row("BitwiseAnd", "18", 2, 2, f::bitwise_and, nullptr, "", "what is not known"),
    row("BitwiseOr", "18", 2, 2, f::bitwise_or, nullptr, "", "what is not known"),
    row("BitwiseXor", "18", 2, 2, f::bitwise_xor, nullptr, "", "what is not known"),
    row("Cast", "1, 6, 9, 13, 19, 21, 23, 24, 25, 28", 1, 1, f::cast, b::cast, kCast,
        "nothing between real types; `where` of bool; `equal` to bool",
        "real to integer, integer to real, to a narrower real type, unless known"),
    row("CastLike", "15, 19, 21, 23, 24, 25", 2, 2, f::cast_like, b::cast_like, kCastLike, "as Cast",
        "as Cast"),
    row("Ceil", "1, 6, 13", 1, 1, f::ceil, b::unary, "`ceil`"),
    row("Celu", "12, 28", 1, 1, nullptr, b::celu, kAlpha1, "`celu`"),
    row("Clip", "1, 6, 11, 12, 13", 1, 3, nullptr, b::clip, kClip,
        "`clamp`; bounds that are not known: `maximum`, `minimum`", kWhole),
    row("Concat", "1, 4, 11, 13", 1, kManyInputs, f::concat, b::concat, kConcat, "`concat`"),
    row("Constant", "1, 9, 11, 12, 13, 19, 21, 23, 24, 25", 0, 0, nullptr, b::constant, kConstant,
        "a constant", "texts, sparse tensors"),
    row("ConstantOfShape", "9, 20, 21, 23, 24, 25", 1, 1, f::constant_of_shape, b::constant_of_shape,
        kConstantOfShape, "`broadcast_to`", "a shape that is not known"),
    row("Conv", "1, 11, 22", 2, 3, nullptr, b::conv, kConv, "`conv`; of volumes with `gather`",
        "more than three spatial axes"),
    row("ConvTranspose", "1, 11, 22", 2, 3, nullptr, b::conv_transpose, kConvTranspose, "`conv_transpose`",
        "three spatial axes"),
    row("ConvInteger", "10", 2, 4, nullptr, b::conv_integer, kConv, "`sub`, `conv`",
        "sums that may be above 2^24, but for a Cast to float"),
    row("Cos", "7, 22", 1, 1, nullptr, b::unary, "`cos`"),
    row("Cosh", "9, 22", 1, 1, nullptr, b::hyperbolic, "`exp`, `add`, `mul`"),
    row("CumProd", "26", 2, 2, nullptr, b::cumulative, kCumSum, "`mul`, element after element",
        "more than 64 elements; integers that may be above 2^24"),
    row("CumSum", "11, 14", 2, 2, nullptr, b::cumulative, kCumSum, "`add`, element after element",
        "more than 64 elements; integers"),
    row("DepthToSpace", "1, 11, 13, 28", 1, 1, nullptr, b::depth_to_space, kDepthToSpace,
        "`reshape`, `transpose`"),
    row("DequantizeLinear", "10, 13, 19, 21, 23, 24, 25, 28", 2, 3, nullptr, b::dequantize_linear,
        kDequantize, "a parameter, where the file has the integers; else `sub`, `mul`",
        "other integers than those of 8 and 16 bits, and int32; other results than float"),
    row("Div", "1, 6, 7, 13, 14", 2, 2, f::div, b::binary, kLegacyBroadcast, "`div`", kWhole),
    row("Dropout", "1, 6, 7, 10, 12, 13, 22", 1, 3, nullptr, b::dropout, kDropout, "nothing",
        "training_mode 1"),
    row("DynamicQuantizeLinear", "11", 1, 1, nullptr, b::dynamic_quantize_linear,
        "`max`, `min`, `div`, `round`, `clamp`"),
    row("Einsum", "12, 28", 1, 8, nullptr, b::einsum, kEinsum, "`transpose`, `sum`, `matmul`", "diagonals"),
    row("Elu", "1, 6, 22", 1, 1, nullptr, b::elu, kAlpha1, "`elu`"),
    row("Equal", "1, 7, 11, 13, 19", 2, 2, f::equal, b::compare, kLegacyBroadcast, "`equal`", kLarge),
    row("Erf", "9, 13", 1, 1, nullptr, b::unary, "`erf`"),
    row("Exp", "1, 6, 13", 1, 1, nullptr, b::unary, "`exp`"),
    row("Expand", "8, 13", 2, 2, f::expand, b::expand, "`broadcast_to`", "a shape that is not known"),
    row("EyeLike", "9, 22", 1, 1, nullptr, b::eye_like, kEyeLike, "a constant"),
    row("Flatten", "1, 9, 11, 13, 21, 23, 24, 25", 1, 1, nullptr, b::flatten, kFlatten, "`reshape`"),
    row("Floor", "1, 6, 13", 1, 1, f::floor, b::unary, "`floor`"),
    row("GRU", "1, 3, 7, 14, 22", 3, 6, nullptr, b::recurrent, kRecurrent,
        "`matmul`, `sigmoid`, `tanh`, `mul`, `add`, step by step",
        "other activations than the usual ones, alpha, beta and clip, input_forget; sequences of different "
        "lengths; more than 512 steps, or as many as are open"),
    row("Gather", "1, 11, 13", 2, 2, f::gather, b::gather, kAxis0, "`gather`; few known indices: `slice`",
        "negative indices that are not known; elements of integers by such"),
    row("GatherElements", "11, 13", 2, 2, f::gather_elements, b::gather_elements, kAxis0,
        "`gather` of single elements", "indices that are not known; more than 1024 integers"),
    row("GatherND", "11, 12, 13", 2, 2, nullptr, b::gather_nd, kGatherNd, "`gather` of single elements",
        "indices that are not known; more than 1024 integers"),
    row("Gelu", "20", 1, 1, nullptr, b::gelu, kGelu, "`gelu_erf`, `gelu_tanh`"),
    row("Gemm", "1, 6, 7, 9, 11, 13", 2, 3, nullptr, b::gemm, kGemm, "`matmul`, `mul`, `add`", kWhole),
    row("GlobalAveragePool", "1, 22", 1, 1, nullptr, b::global_pool, "`mean`"),
    row("GlobalMaxPool", "1, 22", 1, 1, nullptr, b::global_pool, "`max`"),
    row("Greater", "1, 7, 9, 13", 2, 2, f::greater, b::compare, kLegacyBroadcast, "`less`", kLarge),
    row("GreaterOrEqual", "12, 16", 2, 2, f::greater_equal, b::compare, "`less_equal`", kLarge),
    row("GroupNormalization", "18, 21", 3, 3, nullptr, b::group_norm, kGroupNorm, "`group_norm`",
        "stash_type other than 1"),
    row("HardSigmoid", "1, 6, 22", 1, 1, nullptr, b::hard_sigmoid, kHardSigmoid, "`hard_sigmoid`"),
    row("HardSwish", "14, 22", 1, 1, nullptr, b::unary, "`hard_swish`"),
    row("Hardmax", "1, 11, 13", 1, 1, nullptr, b::hardmax, kSoftmax, "`argmax`, `gather`",
        "more than 1024 elements"),
    row("Identity", "1, 13, 14, 16, 19, 21, 23, 24, 25", 1, 1, f::identity, b::identity, "nothing"),
    row("If", "1, 11, 13, 16, 19, 21, 23, 24, 25", 1, 1, nullptr, nullptr, kIf, "the branch that is taken",
        "a condition that is not known"),
    row("InstanceNormalization", "1, 6, 22", 3, 3, nullptr, b::instance_norm, kInstanceNorm,
        "`instance_norm`"),
    row("IsInf", "10, 20", 1, 1, nullptr, b::is_inf, kIsInf, "`equal`"),
    row("IsNaN", "9, 13, 20", 1, 1, nullptr, b::is_nan, "`equal`"),
    row("LRN", "1, 13", 1, 1, nullptr, b::lrn, kLrn, "`average_pool` over channels, `pow`"),
    row("LSTM", "1, 7, 14, 22", 3, 8, nullptr, b::recurrent, kRecurrent,
        "`matmul`, `sigmoid`, `tanh`, `mul`, `add`, step by step",
        "other activations than the usual ones, alpha, beta and clip, input_forget; sequences of different "
        "lengths; more than 512 steps, or as many as are open"),
    row("LayerNormalization", "17", 2, 3, nullptr, b::layer_norm, kLayerNorm, "`layer_norm`",
        "stash_type other than 1"),
    row("LeakyRelu", "1, 6, 16", 1, 1, nullptr, b::leaky_relu, kAlpha001, "`leaky_relu`"),
    row("Less", "1, 7, 9, 13", 2, 2, f::less, b::compare, kLegacyBroadcast, "`less`", kLarge),
    row("LessOrEqual", "12, 16", 2, 2, f::less_equal, b::compare, "`less_equal`", kLarge),
    row("Log", "1, 6, 13", 1, 1, nullptr, b::unary, "`log`"),
    row("LogSoftmax", "1, 11, 13", 1, 1, nullptr, b::softmax, kSoftmax, "`log_softmax`"),
    row("LpNormalization", "1, 22", 1, 1, nullptr, b::lp_norm, kLpNorm, "`sum`, `sqrt`, `div`"),
    row("LpPool", "2, 11, 18, 22", 1, 1, nullptr, b::lp_pool, kLpPool,
        "`abs`, `pow`, `conv` with ones, `pow`", "p above 16; more than three spatial axes"),
    row("MatMul", "1, 9, 13", 2, 2, nullptr, b::matmul, "`matmul`", kWhole),
    row("MatMulInteger", "10", 2, 4, nullptr, b::matmul_integer, "`sub`, `matmul`",
        "sums that may be above 2^24, but for a Cast to float"),
    row("Max", "1, 6, 8, 12, 13", 1, kManyInputs, f::maximum, b::variadic, "`maximum`", kLarge),
    row("MaxPool", "1, 8, 10, 11, 12, 22", 1, 1, nullptr, b::pool, kMaxPool, "`max_pool`",
        "the output of indices; more than three spatial axes"),
    row("Mean", "1, 6, 8, 13", 1, kManyInputs, nullptr, b::variadic, "`add`, `div`"),
    row("MeanVarianceNormalization", "9, 13", 1, 1, nullptr, b::mean_variance_norm, kMeanVariance,
        "`mean`, `sub`, `mul`, `sqrt`, `div`"),
    row("Min", "1, 6, 8, 12, 13", 1, kManyInputs, f::minimum, b::variadic, "`minimum`", kLarge),
    row("Mish", "18, 22", 1, 1, nullptr, b::unary, "`mish`"),
    row("Mod", "10, 13, 28", 2, 2, f::mod, nullptr, kMod, "", "what is not known"),
    row("Mul", "1, 6, 7, 13, 14", 2, 2, f::mul, b::binary, kLegacyBroadcast, "`mul`", kLarge),
    row("NegativeLogLikelihoodLoss", "12, 13, 22", 2, 3, nullptr, b::negative_log_likelihood, kLoss,
        "`gather` of one row for each class, `where`, `sum`",
        "more than 1024 classes; an ignore_index that is no class where targets are not known"),
    row("Neg", "1, 6, 13", 1, 1, f::neg, b::unary, "`neg`", kLarge),
    row("NonZero", "9, 13", 1, 1, f::nonzero, nullptr, "", "what is not known"),
    row("Not", "1", 1, 1, f::logical_not, b::logical_not, "`where`"),
    row("OneHot", "9, 11, 28", 3, 3, nullptr, b::one_hot, kOneHot, "`gather`, `where`",
        "a depth above 1024; negative indices that are not known; values of other integers than 0 and 1"),
    row("Or", "1, 7", 2, 2, f::logical_or, b::logic, kLegacyBroadcast, "`maximum` of 0 and 1"),
    row("PRelu", "1, 6, 7, 9, 16", 2, 2, nullptr, b::prelu, "`prelu`"),
    row("Pad", "1, 2, 11, 13, 18, 19, 21, 23, 24, 25", 1, 4, nullptr, b::pad, kPad,
        "`pad`; negative ones `slice`", "mode wrap; more than the last four axes; pads that are not known"),
    row("Pow", "1, 7, 12, 13, 15", 2, 2, f::pow, b::pow, kLegacyBroadcast, "`pow`",
        "an exponent that is not known, or has different elements"),
    row("QLinearConv", "10", 8, 9, nullptr, b::qlinear_conv, kConv, "`sub`, `conv`, `mul`, `round`, `clamp`"),
    row("QLinearMatMul", "10, 21", 8, 8, nullptr, b::qlinear_matmul,
        "`sub`, `matmul`, `mul`, `round`, `clamp`"),
    row("QuantizeLinear", "10, 13, 19, 21, 23, 24, 25, 28", 2, 3, nullptr, b::quantize_linear, kQuantize,
        "`div`, `round`, `add`, `clamp`", "other results than integers of 8 and 16 bits"),
    row("RMSNormalization", "23", 2, 2, nullptr, b::rms_norm, kLayerNorm, "`rms_norm`",
        "stash_type other than 1"),
    row("RNN", "1, 7, 14, 22", 3, 6, nullptr, b::recurrent, kRecurrent,
        "`matmul`, `tanh`, `add`, step by step",
        "other activations than the usual ones, alpha, beta and clip, input_forget; sequences of different "
        "lengths; more than 512 steps, or as many as are open"),
    row("Range", "11, 27", 3, 3, f::range, nullptr, kRange, "", "what is not known"),
    row("Reciprocal", "1, 6, 13", 1, 1, nullptr, b::reciprocal, "`div`"),
    row("ReduceL1", "1, 11, 13, 18", 1, 2, nullptr, b::reduce, kReduce, "`abs`, `sum`", kWhole),
    row("ReduceL2", "1, 11, 13, 18", 1, 2, nullptr, b::reduce, kReduce, "`mul`, `sum`, `sqrt`", kWhole),
    row("ReduceLogSum", "1, 11, 13, 18, 28", 1, 2, nullptr, b::reduce, kReduce, "`sum`, `log`", kWhole),
    row("ReduceLogSumExp", "1, 11, 13, 18, 28", 1, 2, nullptr, b::reduce, kReduce,
        "`max`, `sub`, `exp`, `sum`, `log`, `add`", kWhole),
    row("ReduceMax", "1, 11, 12, 13, 18, 20", 1, 2, f::reduce_max, b::reduce, kReduce, "`max`", kLarge),
    row("ReduceMean", "1, 11, 13, 18", 1, 2, nullptr, b::reduce, kReduce, "`mean`", kWhole),
    row("ReduceMin", "1, 11, 12, 13, 18, 20", 1, 2, f::reduce_min, b::reduce, kReduce, "`min`", kLarge),
    row("ReduceProd", "1, 11, 13, 18", 1, 2, f::reduce_prod, b::reduce, kReduce,
        "`mul`, element after element", "more than 64 elements of an axis; integers that are not known"),
    row("ReduceSum", "1, 11, 13", 1, 2, f::reduce_sum, b::reduce, kReduceSum, "`sum`", kLarge),
    row("ReduceSumSquare", "1, 11, 13, 18", 1, 2, nullptr, b::reduce, kReduce, "`mul`, `sum`", kWhole),
    row("Relu", "1, 6, 13, 14", 1, 1, nullptr, b::relu, "`relu`", kWhole),
    row("Reshape", "1, 5, 13, 14, 19, 21, 23, 24, 25", 1, 2, f::reshape, b::reshape, kReshape, "`reshape`",
        "a shape that is not known"),
    row("Resize", "10, 11, 13, 18, 19", 1, 4, nullptr, b::resize, kResize,
        "`resize`; other places than its own: `gather`, `mul`, `add`",
        "axes whose extent is open; align_corners of a scale that gives no whole number"),
    row("RotaryEmbedding", "23", 3, 4, nullptr, b::rotary_embedding, kRotary, "`slice`, `mul`, `sub`, `add`"),
    row("Round", "11, 22", 1, 1, f::round, b::unary, "`round`"),
    row("Scatter", "9", 3, 3, nullptr, b::scatter_elements, kScatterElements, "as ScatterElements",
        "as ScatterElements"),
    row("ScatterElements", "11, 13, 16, 18", 3, 3, nullptr, b::scatter_elements, kScatterElements,
        "`concat`, `gather` of single elements; the last of equal indices counts; of a reduction `add`, "
        "`mul`, "
        "`maximum`, `minimum`, in the order of the updates",
        "indices that are not known; more than 64 updates of one element; integers"),
    row("ScatterND", "11, 13, 16, 18", 3, 3, nullptr, b::scatter_nd, kScatterNd, "as ScatterElements",
        "as ScatterElements"),
    row("Selu", "1, 6, 22", 1, 1, nullptr, b::selu, kSelu, "`selu`"),
    row("Shape", "1, 13, 15, 19, 21, 23, 24, 25", 1, 1, nullptr, b::shape, kShape, "known", ""),
    row("Shrink", "9", 1, 1, nullptr, b::shrink, kShrink, "`less`, `where`", kWhole),
    row("Sigmoid", "1, 6, 13", 1, 1, nullptr, b::unary, "`sigmoid`"),
    row("Sign", "9, 13", 1, 1, nullptr, b::sign, "`less`, `where`", kLarge),
    row("Sin", "7, 22", 1, 1, nullptr, b::unary, "`sin`"),
    row("Sinh", "9, 22", 1, 1, nullptr, b::hyperbolic, "`tanh` of half, `div`"),
    row("Size", "1, 13, 19, 21, 23, 24, 25", 1, 1, nullptr, b::size, "known"),
    row("Slice", "1, 10, 11, 13", 1, 5, f::slice, b::slice, kSlice,
        "`slice`; steps above 1 of few elements: `concat` of them",
        "negative steps; places that are not known"),
    row("Softmax", "1, 11, 13", 1, 1, nullptr, b::softmax, kSoftmax, "`softmax`"),
    row("SoftmaxCrossEntropyLoss", "12, 13", 2, 3, nullptr, b::softmax_cross_entropy, kLoss,
        "`log_softmax`, then as NegativeLogLikelihoodLoss", "as NegativeLogLikelihoodLoss"),
    row("Softplus", "1, 22", 1, 1, nullptr, b::unary, "`softplus`"),
    row("Softsign", "1, 22", 1, 1, nullptr, b::unary, "`softsign`"),
    row("SpaceToDepth", "1, 13, 28", 1, 1, nullptr, b::space_to_depth, kSpaceToDepth,
        "`reshape`, `transpose`"),
    row("Split", "1, 2, 11, 13, 18", 1, 2, f::split, b::split, kSplit, "`slice`"),
    row("Sqrt", "1, 6, 13", 1, 1, f::sqrt, b::unary, "`sqrt`"),
    row("Squeeze", "1, 11, 13, 21, 23, 24, 25", 1, 2, f::squeeze, b::squeeze, kAxes13, "`reshape`"),
    row("Sub", "1, 6, 7, 13, 14", 2, 2, f::sub, b::binary, kLegacyBroadcast, "`sub`", kLarge),
    row("Sum", "1, 6, 8, 13", 1, kManyInputs, nullptr, b::variadic, "`add`", kLarge),
    row("SwiGLU", "28", 2, 2, nullptr, b::swish, kAlpha1, "as Swish, then `mul`"),
    row("Swish", "24", 1, 1, nullptr, b::swish, kAlpha1, "`silu`; with alpha: `mul`, `sigmoid`"),
    row("Tan", "7, 22", 1, 1, nullptr, b::tangent, "`sin`, `cos`, `div`"),
    row("Tanh", "1, 6, 13", 1, 1, nullptr, b::unary, "`tanh`"),
    row("ThresholdedRelu", "10, 22", 1, 1, nullptr, b::thresholded_relu, kAlpha1, "`less`, `where`"),
    row("Tile", "6, 13", 2, 2, f::tile, b::tile, "`reshape`, `broadcast_to`",
        "repeats that are not known, or 0"),
    row("TopK", "1, 10, 11, 24", 1, 2, nullptr, b::top_k, kTopK,
        "`max`, `equal`, `argmax`, `where`, for one element after the other",
        "more than 64 elements; a k that is not known; integers"),
    row("Transpose", "1, 13, 21, 23, 24, 25", 1, 1, f::transpose, b::transpose, kPerm, "`transpose`"),
    row("Trilu", "14", 1, 2, f::trilu, b::trilu, kTrilu, "`where` with a constant mask", kWhole),
    row("Unsqueeze", "1, 11, 13, 21, 23, 24, 25", 1, 2, f::unsqueeze, b::unsqueeze, kAxes13, "`reshape`"),
    row("Upsample", "7, 9", 1, 2, nullptr, b::resize, kUpsample, "as Resize", "as Resize"),
    row("Where", "9, 16", 3, 3, f::where, b::where, "`where`", kLarge),
    row("Xor", "1, 7", 2, 2, f::logical_xor, b::logic, kLegacyBroadcast,
        "`abs` of the difference of 0 and 1"),
};

// Those that a narrow type rounds as float does: not at all.
constexpr const char* kChoosing[] = {
    "Abs",
    "Cast",
    "CastLike",
    "Ceil",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Dropout",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "GatherElements",
    "GatherND",
    "GlobalMaxPool",
    "Identity",
    "Max",
    "MaxPool",
    "Min",
    "Neg",
    "Pad",
    "Range",
    "ReduceMax",
    "ReduceMin",
    "Relu",
    "Reshape",
    "Round",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Sign",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
};

}  // namespace

bool chooses_elements(const OperatorRow& row) {
    for (const char* name : kChoosing)
        if (row.name == std::string_view(name)) return true;
    return false;
}

bool takes_integers(const OperatorRow& row) {
    const std::string_view name = row.name;  // of the lowest number of a type these two would leave it
    return chooses_elements(row) && name != "Abs" && name != "Neg";
}

bool counts_integers(const OperatorRow& row) {
    for (const char* const name : {"Abs", "Add", "CumSum", "Mul", "Neg", "ReduceSum", "Sub", "Sum"})
        if (row.name == std::string_view(name)) return true;
    return false;
}

bool keeps_bound(const OperatorRow& row) {
    for (const char* const name :
         {"Cast",      "CastLike",       "Concat",   "DepthToSpace", "Expand", "Flatten",
          "Gather",    "GatherElements", "GatherND", "Max",          "Min",    "ReduceMax",
          "ReduceMin", "Reshape",        "Slice",    "SpaceToDepth", "Split",  "Squeeze",
          "Tile",      "Transpose",      "Trilu",    "Unsqueeze",    "Where"})
        if (row.name == std::string_view(name)) return true;
    return false;
}

const OperatorRow* operator_rows(int* count) {
    *count = static_cast<int>(sizeof kRows / sizeof *kRows);
    return kRows;
}

const OperatorRow* find_operator(std::string_view name) {
    for (const OperatorRow& row : kRows)
        if (name == row.name) return &row;
    return nullptr;
}

int version_at(const OperatorRow& row, int opset) {
    int version = 0, number = 0;
    for (const char* at = row.versions;; ++at) {
        if (*at >= '0' && *at <= '9') {
            number = 10 * number + (*at - '0');
            continue;
        }
        if (number > 0 && number <= opset) version = number;
        number = 0;
        if (*at == '\0') return version;
    }
}

const AttributeRow* find_attribute(const OperatorRow& row, int opset, std::string_view name) {
    for (int i = 0; i < row.attribute_count; ++i) {
        const AttributeRow& attribute = row.attributes[i];
        if (opset >= attribute.since && opset < attribute.until && name == attribute.name) return &attribute;
    }
    return nullptr;
}

}  // namespace volta::onnx
