// Products of few rows with B stored as its transpose, [n, k], in place: every output is a dot product
// of two rows, and the lanes are 16 outputs. Four steps of k of 16 rows are transposed in registers, so that
// nothing is packed.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr int kDotOutputs = 16, kDotSteps = 4;

struct DotForm {
    Isa isa = Isa::avx2;      // not scalar
    std::uint8_t rows = 1;    // of A, 1 .. dot_rows(isa)
    std::uint8_t groups = 1;  // of 16 outputs, 1 .. dot_groups(isa, rows): one chain alone waits for itself
    bool prefetches =
        false;  // B comes from DRAM: prefetches as many bytes of args.prefetch_target as it reads, into L2
    bool lines = false;  // AVX-512: each row by whole lines, so that rows which meet in one set of L1 need be
                         // there once
};
std::uint64_t key_of(const DotForm& form);  // equal of equal forms alone

// Strides are in elements.
struct DotArgs {
    const float* a;  // element (i, k) at a[i * a_stride + k]
    std::int64_t a_stride;
    const float* b;  // element (j, k) at b[j * b_stride + k], 16 rows for each group
    std::int64_t b_stride;
    std::int64_t steps;            // a multiple of kDotSteps
    float* sums;                   // [groups, rows, 16], 64-byte aligned: chains over the steps, from +0
    const float* prefetch_target;  // what is wanted soon: never read, so it may lie outside of any array
};
using DotFunction = void (*)(const DotArgs*);

// The most rows whose chains fit registers.
constexpr int dot_rows(Isa isa) { return isa == Isa::avx512 ? 12 : 3; }
// The most groups that gain: more rows have chains enough.
constexpr int dot_groups(Isa isa, int rows) { return rows <= (isa == Isa::avx512 ? 3 : 1) ? 2 : 1; }

// NULL when executable memory is refused.
DotFunction emit_dot(const DotForm& form, CodeArena& arena, std::pmr::memory_resource* heap);

}  // namespace volta::jit
