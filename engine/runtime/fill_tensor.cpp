#include "engine/runtime/fill_tensor.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace volta {
namespace {

bool is_whole(double value) { return std::isfinite(value) && value == std::floor(value); }
bool fits_i32(double value) { return is_whole(value) && value >= INT32_MIN && value <= INT32_MAX; }

double element_of(double start, double step, std::int64_t index) {
    return start + static_cast<double>(index) * step;
}

// The elements between the ends are whole numbers between two that fit.
void check_whole_arange(double start, double step, std::int64_t count) {
    require(is_whole(start) && is_whole(step),
            "an i32 tensor holds whole numbers: start %.17g and step %.17g are not both", start, step);
    if (count == 0) return;
    for (const std::int64_t index : {std::int64_t{0}, count - 1})
        require(fits_i32(element_of(start, step, index)),
                "element %lld would be %.17g, which i32 does not hold", static_cast<long long>(index),
                element_of(start, step, index));
}

template <class T>
void write_arange(const TensorView& tensor, double start, double step) {
    T* const values = static_cast<T*>(tensor.data);
    const std::int64_t count = tensor.shape.elements();
    for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(element_of(start, step, i));
}

}  // namespace

void fill_tensor(const TensorView& tensor, double value) {
    const std::int64_t count = tensor.shape.elements();
    if (tensor.dtype == DType::f32)
        return void(std::fill_n(static_cast<float*>(tensor.data), count, static_cast<float>(value)));
    require(fits_i32(value), "an i32 tensor does not hold %.17g", value);
    std::fill_n(static_cast<std::int32_t*>(tensor.data), count, static_cast<std::int32_t>(value));
}

void fill_arange(const TensorView& tensor, double start, double step) {
    require(std::isfinite(start) && std::isfinite(step), "start %g and step %g are not both finite", start,
            step);
    if (tensor.dtype == DType::f32) return write_arange<float>(tensor, start, step);
    check_whole_arange(start, step, tensor.shape.elements());
    write_arange<std::int32_t>(tensor, start, step);
}

}  // namespace volta
