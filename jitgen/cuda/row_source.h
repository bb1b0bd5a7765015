// The CUDA C emitter: a row program as text that NVRTC compiles without any include path, with the bits of
// the interpreter (docs/cuda.md). Entry points are named after their form.
#pragma once

#include <memory_resource>
#include <string>

#include "jitgen/row_plan.h"

namespace volta::jit {

// How the threads of a device share the rows. No bit depends on it: all forms follow the canonical lanes and
// chunks (docs/numerics.md, 3).
enum class RowForm : std::uint8_t {
    warps,    // NAME_warps: one warp per row
    blocks,   // NAME_blocks: a block of warps per row, a chunk per warp; without reductions blocks share rows
    segments  // NAME_segments and then NAME_close: programs with column sums, a thread per column and segment
};

// What a device kernel is made from: nothing is kept for later stages. A scratch row would travel through L2
// and back, where computing it again takes instructions that wait for memory anyway.
inline RowPlan cuda_plan(const Program& program, std::pmr::memory_resource* heap) {
    return RowPlan(program, heap, Keep::nothing);
}

// What all kernels of a translation unit share: the struct of arguments, folds, conversions.
void append_row_prelude(std::pmr::string& text);

// The kernels of one program: warps and blocks, or segments and close. `name` is a C identifier. Outputs may
// be the memory of full inputs: only the last stage stores, each element by the thread that loads it there.
void append_row_kernels(const RowPlan& plan, const char* name, std::pmr::string& text);

// struct NAME, a function object of (row, column, product): an elementwise program on one element, its
// operand 0 in a register. For products (product_source.h). Throws Error{INTERNAL} where the program reduces.
void append_row_epilogue(const RowPlan& plan, const char* name, std::pmr::string& text);

// A device function NAME of one element, for kernels that are written by hand: its arguments are the operands
// in their order, outputs as references. Throws Error{INTERNAL} where the program reduces, or an operand is
// not full.
void append_row_function(const Program& program, const char* name, std::pmr::string& text);

// The prelude and the kernels of one program. Throws Error{INTERNAL} where verify() does.
std::pmr::string row_source(const Program& program, const char* name, std::pmr::memory_resource* heap);

}  // namespace volta::jit
