// What shape rules share: checks that fail with the operator's name first.
#pragma once

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace volta {

inline const char* name_of(const Node& node) { return op_row(node.op).name; }

inline void add_output(std::pmr::vector<TypedShape>& outputs, DType dtype, const Shape& shape) {
    outputs.push_back({dtype, shape});
}

inline const Shape& shape_of(const Node& node, const TypedShape& input, DType dtype, const char* what) {
    if (input.dtype != dtype)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s is %s, not %s", name_of(node), what, dtype_name(input.dtype),
             dtype_name(dtype));
    return input.shape;
}
inline const Shape& real_shape(const Node& node, const TypedShape& input, const char* what) {
    return shape_of(node, input, DType::f32, what);
}
// A weight that may be stored: f32, or a type of its own.
inline const Shape& weight_shape(const Node& node, const TypedShape& input, const char* what) {
    return is_stored(input.dtype) ? input.shape : real_shape(node, input, what);
}
inline const Shape& integer_shape(const Node& node, const TypedShape& input, const char* what) {
    return shape_of(node, input, DType::i32, what);
}

// "layer_norm: scale is [3], not [4]"
inline void expect_shape(const Node& node, const char* what, const Shape& actual, const Shape& expected) {
    if (actual != expected)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s is %s, not %s", name_of(node), what, to_text(actual).text,
             to_text(expected).text);
}

inline void expect_rank(const Node& node, const char* what, const Shape& shape, int rank) {
    if (shape.rank != rank)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s has rank %d, not %d: %s", name_of(node), what, shape.rank, rank,
             to_text(shape).text);
}

inline void expect_least_rank(const Node& node, const char* what, const Shape& shape, int rank) {
    if (shape.rank < rank)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s has rank %d, at least %d is needed: %s", name_of(node), what,
             shape.rank, rank, to_text(shape).text);
}

// Of a product with a body: what its results are.
void add_results_of_body(const Node& node, const TypedShape* inputs, int input_count,
                         const TypedShape& product, std::pmr::vector<TypedShape>& outputs);

// An extent that i32 ids, positions or random rows must be able to name.
inline void expect_below(const Node& node, const char* what, std::int64_t extent, std::int64_t limit) {
    if (extent >= limit)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s is %lld, the limit is %lld", name_of(node), what,
             static_cast<long long>(extent), static_cast<long long>(limit - 1));
}

inline constexpr std::int64_t kIdLimit = std::int64_t{1} << 31;
inline constexpr std::int64_t kRandomRowLimit = std::int64_t{1} << 32;

inline Shape without_last(const Shape& shape) {
    Shape result = shape;
    result[--result.rank] = 0;
    return result;
}
inline Shape with_last(const Node& node, Shape shape, std::int64_t extent) {
    if (shape.rank == kMaxRank)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a tensor has at most %d axes: %s has no room for one more",
             name_of(node), kMaxRank, to_text(shape).text);
    shape[shape.rank++] = extent;
    return shape;
}

// An extent made by arithmetic on others. Throws when it does not fit.
std::int64_t product_of(const Node& node, std::int64_t a, std::int64_t b);
std::int64_t sum_of(const Node& node, std::int64_t a, std::int64_t b);

}  // namespace volta
