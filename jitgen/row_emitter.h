// Machine code for a Program: x86-64, AVX2 and AVX-512, from one source parametrised by the vector width.
#pragma once

#include "jitgen/row_kernel.h"

namespace volta::jit {

// NULL when the arena cannot publish, when `isa` is scalar, and on processors this emitter is not for.
RowKernelPtr emit_row_kernel(const Program& program, Isa isa, CodeArena& arena,
                             std::pmr::memory_resource* heap);

}  // namespace volta::jit
