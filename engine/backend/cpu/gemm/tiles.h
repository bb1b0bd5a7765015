// The table of fp32 register tiles. All rows compute the same bits: the choice is about speed only.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/machine.h"
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

// Whether this machine can run the row: its instruction set, and machine code where the row needs it.
bool usable(const GemmTile& tile, const Machine& machine);
// The row of this name. Throws INVALID_ARGUMENT when there is none, UNSUPPORTED when it cannot run here.
const GemmTile& forced_tile(const char* name, const Machine& machine);

// The form of this width: vectors, mask and the width of the last vector.
void set_width(jit::GemmForm& form, int width);

// Columns of the next tile when `remaining` are to go: nr, but the last two share what is left, in whole
// vectors (64 columns are 32 + 32, not 48 + 16: a narrow tile costs almost as much as a wide one).
int next_width(Isa isa, int nr, std::int64_t remaining);

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
