// One parameter from the tensors of a file that it is made of: what type it gets, and its bytes.
#pragma once

#include <cmath>
#include <memory_resource>
#include <optional>
#include <string_view>

#include "engine/import/architecture.h"
#include "engine/model/quantize.h"

namespace volta {

// A parameter as a matrix; a vector is one row.
struct Slot {
    std::string_view name;
    Shape shape;
    WeightLayout layout;
    std::int64_t rows() const { return shape.rows(); }
    std::int64_t columns() const { return shape.last(); }
    // As it is stored: [outputs, inputs].
    Shape stored_shape() const {
        return layout == WeightLayout::inputs_first ? Shape{shape[1], shape[0]} : shape;
    }
};

struct Assignment {
    std::size_t slot;
    ColumnSpan span;
    bool transposed;
    const WeightTensor* tensor;
};

// All that a parameter is made of, checked (assemble.cpp).
struct Assignments {
    const Assignment *first, *last;
    const Assignment* begin() const { return first; }
    const Assignment* end() const { return last; }
};

// The type of a parameter where `wanted` is asked for. Without one, the smallest type that has every value of
// the file, where that takes less memory than f32.
DType choose_dtype(const Slot& slot, Assignments parts, std::optional<DType> wanted);

// What storing has changed: sums of squares, over the elements of one or more parameters.
struct Rounding {
    double of_differences = 0, of_values = 0;
    double share() const { return of_values > 0 ? std::sqrt(of_differences / of_values) : 0; }
    void add(double value, double stored) {
        of_differences += (stored - value) * (stored - value);
        of_values += value * value;
    }
    void add(const Rounding& other) {
        of_differences += other.of_differences;
        of_values += other.of_values;
    }
};

// Writes its bytes to `to`, which holds zeros, and gives what that has rounded: nothing for f32. A part that
// the type has exactly keeps its scales and integers; others are rounded as engine/numerics/stored_weights.h
// does. Needs memory for one row or, where the file has the inputs first, one matrix of f32. Throws
// UNSUPPORTED naming a tensor that the type has no numbers for.
Rounding fill_parameter(const Slot& slot, Assignments parts, DType dtype, void* to,
                        std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

}  // namespace volta
