// The interpreter: runs a Program in plain C++, a block of columns per instruction so that dispatch is paid
// once per block. Every operation is ScalarMachine<float>'s: the reference of the emitters, the fallback
// where executable memory is refused, and the only path on processors without an emitter.
#pragma once

#include "jitgen/row_kernel.h"
#include "jitgen/row_plan.h"

namespace volta::jit {

RowKernelPtr interpret(const Program& program, std::pmr::memory_resource* heap);

// One instruction on n elements: out[i] = code(a[i], b[i], c[i]). Masks are 0 or 1. Sources, reductions and
// stores are not among the codes it knows.
void evaluate(const Instruction& x, std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b,
              const std::uint32_t* c, std::int64_t n) noexcept;

}  // namespace volta::jit
