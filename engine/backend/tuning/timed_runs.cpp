#include "engine/backend/tuning/timed_runs.h"

#include <algorithm>

namespace volta {

double TimedRuns::median() const {
    double sorted[kMostTimedRuns];
    std::copy(seconds, seconds + count, sorted);
    std::sort(sorted, sorted + count);
    return count == 0 ? 0 : (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double TimedRuns::fastest() const { return *std::min_element(seconds, seconds + count); }

std::int64_t matrix_elements(std::int64_t batch, std::int64_t batch_stride, std::int64_t rows,
                             std::int64_t leading_dimension) {
    return (batch - 1) * batch_stride + rows * leading_dimension;
}

void fill_with_numbers(float* values, std::int64_t count) {
    std::uint32_t state = 12345;
    for (std::int64_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        values[i] = (static_cast<float>(state >> 16) + 1) * 0x1p-17f;
    }
}

jit::Program tuning_stand_in(bool whole_rows, std::pmr::memory_resource* heap) {
    jit::Builder builder(heap);
    const int c = builder.input(jit::Access::full), bias = builder.input(jit::Access::per_column);
    const int y = builder.output(jit::Access::full);
    const jit::Real z = builder.load(c) + builder.load(bias), zero = builder.real(0);
    const jit::Real relu = builder.select(builder.less(z, zero), zero, z);
    builder.store(y, whole_rows ? relu - builder.row_max(relu) : relu);
    return builder.finish();
}

}  // namespace volta
