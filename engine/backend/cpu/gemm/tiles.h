// The table of fp32 register tiles, and which one a product uses. All rows compute the same bits: the choice
// is about speed only.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/product.h"
#include "jitgen/gemm_f32.h"

namespace volta::cpu {

// Add a tile: add its row. Selection, the agreement tests and the benchmark walk this table.
struct GemmTile {
    const char* name;  // f32_gemm_<mr>x<nr>_<isa>
    Isa isa;           // the CPU must have it
    int mr, nr;        // rows and columns of the register tile; nr is a multiple of gemm_lanes(isa)
};
struct GemmTiles {
    const GemmTile* rows;
    int count;
    const GemmTile* begin() const { return rows; }
    const GemmTile* end() const { return rows + count; }
};
GemmTiles gemm_tiles();
const GemmTile* find_tile(const char* name);  // NULL: no such row
int tile_row(const GemmTile& tile);           // its index in the table

// Whether this context can run the row: its instruction set, and machine code where the row needs it.
bool usable(const GemmTile& tile, const CompileContext& context);

// The form of this width: vectors, mask and the width of the last vector.
void set_width(jit::GemmForm& form, int width);

// Columns of the next tile when `remaining` are to go: nr, but the last two share what is left, in whole
// vectors (64 columns are 32 + 32, not 48 + 16: a narrow tile costs almost as much as a wide one).
int next_width(Isa isa, int nr, std::int64_t remaining);

// Estimated cycles of one step of k of a tile of `rows` x `columns`: the busiest of arithmetic, loads and the
// latency of the chains. Enough to rank rows and to balance threads; no promise of time.
double step_cycles(const Machine& machine, Isa isa, int rows, int columns);

// The same for a whole block of m x n, edges included.
double block_cycles(const Machine& machine, const GemmTile& tile, std::int64_t m, std::int64_t n);

// The row of this name. Throws INVALID_ARGUMENT when there is none, UNSUPPORTED when it cannot run here.
const GemmTile& forced_tile(const char* name, const CompileContext& context);

// The cheapest usable row for m x n, near ties to the earlier row and the wider instruction set;
// context.forced_tile goes before everything. With B `in_place` only rows whose columns are whole cache lines
// are chosen; with A transposed none of a narrower instruction set, which would have to copy A. Throws what
// forced_tile() throws.
const GemmTile& select_tile(const CompileContext& context, std::int64_t m, std::int64_t n, bool in_place,
                            bool a_transposed);

// A microkernel ready to run: machine code, or the plain form where there is none.
struct GemmKernel {
    jit::GemmForm form;
    jit::GemmFunction code = nullptr;
    void operator()(jit::GemmArgs& args) const noexcept {
        if (code) {
            code(&args);
        } else {
            jit::gemm_f32_plain(form, args);
        }
    }
};

}  // namespace volta::cpu
