#include "engine/import/make_parameter.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/numerics/stored_weights.h"

namespace volta {
namespace {

// A row of the tensor is a whole output.
bool rows_are_outputs(const Slot& slot, const Assignment& part) {
    return slot.layout == WeightLayout::inputs_first ? part.transposed
                                                     : !part.transposed && part.span.width == slot.columns();
}

// The type of a tensor's values. Blocks that run along the outputs are none.
DType dtype_of(const Slot& slot, const Assignment& part) {
    const DType dtype = part.tensor->type->kept_as;
    return has_scales(dtype) && !rows_are_outputs(slot, part) ? DType::f32 : dtype;
}

// The smallest type that has the values of both.
DType joined(DType a, DType b) {
    if (a == b) return a;
    return has_scales(a) && has_scales(b) ? DType::int8 : DType::f32;
}

// int8 has the integers of q4_0 too.
bool keeps_blocks(DType dtype, DType of_tensor) {
    return has_scales(of_tensor) && joined(dtype, of_tensor) == dtype;
}

// Whether storing may change values. The type that a tensor is kept as has them all.
bool may_round(DType dtype, const StoredType& type) {
    return dtype != DType::f32_panels && dtype != type.kept_as;
}

// Row j of the stored tensor against the values that it was made of.
void measure_row(const StoredWeights& stored, std::int64_t j, const float* row, Rounding& rounding) {
    for (std::int64_t p = 0; p < stored.k; ++p)
        rounding.add(static_cast<double>(row[p]), static_cast<double>(stored.element(j, p)));
}

bool store_part(const Slot& slot, const Assignment& part, DType dtype, std::pmr::vector<float>& row,
                unsigned char* out, Rounding& rounding) {
    const WeightTensor& tensor = *part.tensor;
    const StoredType& type = *tensor.type;
    const std::int64_t k = slot.stored_shape()[1], blocks = k / type.block_values;
    const bool inputs_first = slot.layout == WeightLayout::inputs_first;
    const std::int64_t first = inputs_first ? part.span.first : 0;
    const std::int64_t count = inputs_first ? part.span.width : slot.rows();
    for (std::int64_t j = 0; j < count; ++j) {
        const unsigned char* const from = tensor.data + j * blocks * type.block_bytes;
        if (keeps_blocks(dtype, type.kept_as)) {
            if (!store_blocks(dtype, from, type.scaled, first + j, k, out)) return false;
            continue;
        }
        type.widen(from, blocks, row.data());
        if (!store_row(dtype, row.data(), first + j, k, out)) return false;
        if (may_round(dtype, type))
            measure_row({dtype, out, slot.stored_shape()[0], k}, first + j, row.data(), rounding);
    }
    return true;
}

// The whole matrix, as measure_row; `values` lie as the slot's parameter does.
void measure_matrix(const Slot& slot, const StoredWeights& stored, const float* values, Rounding& rounding) {
    const bool turned = slot.layout == WeightLayout::inputs_first;
    for (std::int64_t j = 0; j < stored.n; ++j)
        for (std::int64_t p = 0; p < stored.k; ++p)
            rounding.add(static_cast<double>(turned ? values[p * stored.n + j] : values[j * stored.k + p]),
                         static_cast<double>(stored.element(j, p)));
}

[[noreturn]] void fail_value(const WeightTensor& tensor, DType dtype) {
    const ShownName name = shown(tensor.name);
    fail(VOLTA_UNSUPPORTED,
         "tensor '%.*s' cannot be stored as %s: it has values that are not finite, or too large for it; "
         "import it as f32",
         name.bytes, name.text, dtype_name(dtype));
}

void fill(const Slot& slot, Assignments parts, float* matrix) {
    for (const Assignment& part : parts)
        copy_weights(*part.tensor, {matrix, slot.rows(), slot.columns(), part.span.first, part.span.width},
                     part.transposed && slot.shape.rank == 2);
}

}  // namespace

DType choose_dtype(const Slot& slot, Assignments parts, std::optional<DType> wanted) {
    if (slot.layout == WeightLayout::other) return DType::f32;
    if (wanted) return *wanted;
    DType kept = dtype_of(slot, *parts.first);
    for (const Assignment& part : parts) kept = joined(kept, dtype_of(slot, part));
    // Few outputs fill a panel badly.
    return tensor_bytes(kept, slot.stored_shape()) < tensor_bytes(DType::f32, slot.shape) ? kept : DType::f32;
}

Rounding fill_parameter(const Slot& slot, Assignments parts, DType dtype, void* to,
                        std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    Rounding rounding;
    if (!is_stored(dtype)) {
        fill(slot, parts, static_cast<float*>(to));
        return rounding;
    }
    const Shape shape = slot.stored_shape();
    auto* const out = static_cast<unsigned char*>(to);
    const auto by_rows = [&](const Assignment& part) { return rows_are_outputs(slot, part); };
    if (std::all_of(parts.begin(), parts.end(), by_rows)) {
        std::pmr::vector<float> row(static_cast<std::size_t>(shape[1]), 0.0f, structures);
        for (const Assignment& part : parts)
            if (!store_part(slot, part, dtype, row, out, rounding)) fail_value(*part.tensor, dtype);
        return rounding;
    }
    Buffer matrix(tensors, static_cast<std::size_t>(tensor_bytes(DType::f32, slot.shape)));
    auto* const values = static_cast<float*>(matrix.data());
    fill(slot, parts, values);
    if (!store_matrix(values, slot.layout, dtype, shape, structures, out))
        fail_value(*parts.first->tensor, dtype);
    const auto rounds = [&](const Assignment& part) { return may_round(dtype, *part.tensor->type); };
    if (std::any_of(parts.begin(), parts.end(), rounds))
        measure_matrix(slot, {dtype, out, shape[0], shape[1]}, values, rounding);
    return rounding;
}

}  // namespace volta
