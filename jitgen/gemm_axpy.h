// Products of few rows with B in place: chains of all columns go on by a few steps of k at a time, so
// that B is read as the memory lies, row by row, at the speed of the memory.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr int kMaxAxpyRows = 4, kMaxAxpySteps = 16;

// What is prefetched while B is read: a block of rows is often shorter than what a stream needs to get going.
enum class AxpyPrefetch : std::uint8_t {
    none,   // B comes from a cache, which the processor's own prefetching follows
    near,   // the same, and each row's next lines, into L1
    rows,   // as many rows of args.prefetch_target as of B, into L2
    below,  // the same columns of the next five rows, for one row and step, from both ends to the middle:
            // each line is prefetched five times
    next    // as many bytes behind args.prefetch_target as of B, in the order of the memory, into L2
};

struct AxpyForm {
    Isa isa = Isa::avx2;     // not scalar
    std::uint8_t rows = 1;   // of A and C, 1 .. kMaxAxpyRows
    std::uint8_t steps = 1;  // of k per call, 1 .. axpy_steps(isa, rows, prefetch)
    AxpyPrefetch prefetch = AxpyPrefetch::near;
};
std::uint64_t key_of(const AxpyForm& form);  // equal of equal forms alone

// Strides are in elements.
struct AxpyArgs {
    const float* a;  // element (i, k) at a[i * a_row + k * a_step]
    std::int64_t a_row, a_step;
    const float* b;  // [steps, columns], rows b_stride apart
    std::int64_t b_stride;
    float* chains;  // [rows, columns], rows accumulator_stride apart
    std::int64_t accumulator_stride;
    std::int64_t columns;
    const float*
        prefetch_target;  // of `rows` and `next`: wanted soon, never read, so it may lie outside of any array
};
// chains[i][j] = fma(a[i][k], b[k][j], chains[i][j]) for k = 0 .. steps - 1, ascending.
using AxpyFunction = void (*)(const AxpyArgs*);

// The most steps whose elements of A fit registers (or, of one row from a cache, are loaded with each step),
// and whose rows of B are addressed; 0: no such kernel.
int axpy_steps(Isa isa, int rows, AxpyPrefetch prefetch);

// NULL when executable memory is refused.
AxpyFunction emit_axpy(const AxpyForm& form, CodeArena& arena, std::pmr::memory_resource* heap);

}  // namespace volta::jit
