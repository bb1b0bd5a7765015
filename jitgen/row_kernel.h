// A compiled Program: machine code, or the interpreter where there is none. Same bits either way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/base/memory.h"
#include "jitgen/code.h"
#include "jitgen/program.h"

namespace volta::jit {

// The one argument of a kernel.
struct RowArgs {
    void* const* operands;            // one base address per operand: element (0, 0)
    const std::int64_t* row_strides;  // in elements, one per operand; used for full and per_row
    std::int64_t rows, columns;
    std::uint32_t first_row, first_column;  // what row_index and column_index start at
    void* scratch;  // scratch_bytes(columns) of this kernel, 64-byte aligned; one per thread
    std::uint32_t
        continue_columns;  // column_sum: 1 starts from the operand's content (`into`), 0 stores afresh
};

class RowKernel {
  public:
    virtual ~RowKernel() = default;
    virtual void run(const RowArgs& args) const noexcept = 0;
    // Bytes of scratch one call needs for rows of this many columns.
    virtual std::size_t scratch_bytes(std::int64_t columns) const noexcept = 0;
    const Program& program() const noexcept { return program_; }
    bool is_native() const noexcept { return native_; }  // machine code, not interpreted

  protected:
    RowKernel(Program program, bool native) : program_(std::move(program)), native_(native) {}
    Program program_;
    bool native_;
};

struct RowKernelDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;  // of the derived object
    void operator()(RowKernel* kernel) const noexcept {
        kernel->~RowKernel();
        heap->deallocate(kernel, size, alignment);
    }
};
using RowKernelPtr = std::unique_ptr<RowKernel, RowKernelDelete>;

// Compiles for `isa`; Isa::scalar, or an arena that cannot publish, gives the interpreter.
RowKernelPtr compile(const Program& program, Isa isa, CodeArena& arena, std::pmr::memory_resource* heap);

// Runs rows [row0, row1) x columns [column0, column1) of a larger problem whose full arguments are `whole`:
// moves each base address by its operand's access. Programs for which Program::needs_whole_rows() need all
// columns; a column sum may be cut by columns only (its segments of 512 rows count from row 0 of the call).
void run_block(const RowKernel& kernel, const RowArgs& whole, std::int64_t row0, std::int64_t row1,
               std::int64_t column0, std::int64_t column1, void* scratch) noexcept;

inline constexpr int kMaxOperands = 24;

}  // namespace volta::jit
