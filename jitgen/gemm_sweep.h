// Products of few rows with B where it lies: chains of all columns go on by a few steps of k at a time, so
// that B is read as the memory lies, row by row, at the speed of the memory.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr int kMaxSweepRows = 4, kMaxSweepSteps = 16;

// What is asked for while B is read: a block of rows is often shorter than what a stream needs to get going.
enum class SweepAhead : std::uint8_t {
    none,   // B comes from a cache, which the processor's own prefetching follows
    near,   // the same, and each row's next lines, into L1
    rows,   // as many rows of args.ahead as of B, into L2
    below,  // the same columns of the next five rows, for one row and step, from both ends to the middle:
            // each line is asked for five times
    next    // as many bytes behind args.ahead as of B, in the order of the memory, into L2
};

struct SweepForm {
    Isa isa = Isa::avx2;     // not scalar
    std::uint8_t rows = 1;   // of A and C, 1 .. kMaxSweepRows
    std::uint8_t steps = 1;  // of k per call, 1 .. sweep_steps(isa, rows, ahead)
    SweepAhead ahead = SweepAhead::near;
};
bool operator==(const SweepForm& x, const SweepForm& y);
std::uint64_t key_of(const SweepForm& form);  // equal of equal forms alone

// Strides are in elements.
struct SweepArgs {
    const float* a;  // element (i, k) at a[i * a_row + k * a_step]
    std::int64_t a_row, a_step;
    const float* b;  // [steps, columns], rows b_stride apart
    std::int64_t b_stride;
    float* chains;  // [rows, columns], rows chain_stride apart
    std::int64_t chain_stride;
    std::int64_t columns;
    const float* ahead;  // of `rows` and `next`: wanted soon, never read, so it may lie outside of any array
};
// chains[i][j] = fma(a[i][k], b[k][j], chains[i][j]) for k = 0 .. steps - 1, ascending.
using SweepFunction = void (*)(const SweepArgs*);

// The most steps whose elements of A fit registers (or, of one row from a cache, are loaded with each step),
// and whose rows of B are addressed; 0: no such kernel.
int sweep_steps(Isa isa, int rows, SweepAhead ahead);

// NULL when executable memory is refused.
SweepFunction emit_sweep(const SweepForm& form, CodeArena& arena, std::pmr::memory_resource* heap);

}  // namespace volta::jit
