// From a Program to something that runs.
#include "jitgen/row_kernel.h"

#include "engine/base/offset.h"
#include "jitgen/interpreter.h"
#include "jitgen/row_emitter.h"

namespace volta::jit {

RowKernelPtr compile(const Program& program, Isa isa, CodeArena& arena, std::pmr::memory_resource* heap) {
    verify(program);
    if (isa != Isa::scalar && arena.available())
        if (RowKernelPtr native = emit_row_kernel(program, isa, arena, heap)) return native;
    return interpret(program, heap);
}

void run_block(const RowKernel& kernel, const RowArgs& whole, std::int64_t row0, std::int64_t row1,
               std::int64_t column0, std::int64_t column1, void* scratch) noexcept {
    void* bases[kMaxOperands];
    const auto& operands = kernel.program().operands;
    for (std::size_t k = 0; k < operands.size(); ++k) {
        std::int64_t elements = 0;  // of 4 bytes
        if (operands[k].access == Access::full) elements = row0 * whole.row_strides[k] + column0;
        if (operands[k].access == Access::per_row) elements = row0 * whole.row_strides[k];
        if (operands[k].access == Access::per_column) elements = column0;
        bases[k] = offset(static_cast<char*>(whole.operands[k]), 4 * elements);
    }
    RowArgs part = whole;
    part.operands = bases;
    part.rows = row1 - row0;
    part.columns = column1 - column0;
    part.first_row = whole.first_row + static_cast<std::uint32_t>(row0);
    part.first_column = whole.first_column + static_cast<std::uint32_t>(column0);
    part.scratch = scratch;
    kernel.run(part);
}

}  // namespace volta::jit
