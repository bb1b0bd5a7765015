// The generator of microkernels for products with stored weights (engine/numerics/stored_weights.h): a
// register tile of rows x whole panels reads each weight once, turns it into f32 in a register and uses it
// for all rows, so that weights are never expanded in memory. For many tiles of rows it is cheaper to turn
// the weights of a segment into f32 once, in the cache. A kernel computes one segment of k; C and its edges
// are the caller's (engine/backend/cpu/stored_product.cpp).
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/base/shape.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr int kMaxStoredRows = 12;
inline constexpr int kMaxStoredPanels = 4;

enum class StoredUse : std::uint8_t {
    direct,   // products with the stored weights
    expand,   // no product: leaves a segment's weights in args.expanded
    expanded  // products with what `expand` left
};

// What is asked for, into L2, while weights are read: for few rows, whose weights come from memory.
enum class StoredAhead : std::uint8_t {
    none,
    panels,  // the panels at args.ahead: a stream per panel, asking for all of them as one stream is a third
             // slower
    stream   // the memory behind args.ahead as it lies, as many lines as are read: tile after tile is one
             // stream
};

struct StoredForm {
    Isa isa = Isa::scalar;  // scalar: run by gemm_stored_plain
    DType dtype = DType::int8;
    StoredUse use = StoredUse::direct;
    std::uint8_t rows = 1;    // of A, up to stored_rows(isa, panels); 0 for `expand`
    std::uint8_t panels = 1;  // of 16 outputs
    StoredAhead ahead = StoredAhead::none;
    // int4 of one row with AVX2: weights 2^28 times as large take an instruction less, and the scales are
    // smaller by as much (docs/decisions/0011). No bit differs while all sums are finite; else a chain may
    // have been too large, and the kernel without it has to compute them again.
    bool lifted = false;
};
bool can_be_lifted(const StoredForm& form);
bool operator==(const StoredForm& x, const StoredForm& y);
std::uint64_t key_of(const StoredForm& form);  // equal of equal forms alone

struct StoredArgs {
    const float* a;              // the segment's first element of row 0
    std::int64_t a_stride;       // elements
    const unsigned char* b;      // the segment's first group, or step, of panel 0
    std::int64_t panel_stride;   // bytes
    std::int64_t steps;          // 1 .. 512
    float* sums;                 // [rows, panels * 16], 64-byte aligned: the segment's sums
    float* expanded;             // [steps, panels * 16] weights as f32, 64-byte aligned
    float* scales;               // [groups, panels * 16] their scales, 64-byte aligned; int8 and int4
    const unsigned char* ahead;  // panels wanted soon: never read, so they may lie outside of any array
};
// 1; `lifted`: 0 where a sum is not finite.
using StoredFunction = int (*)(StoredArgs*);

// The most rows whose chains fit registers.
int stored_rows(Isa isa, int panels);

// NULL when executable memory is refused. The plain form computes directly, whatever `use` says.
StoredFunction emit_gemm_stored(const StoredForm& form, CodeArena& arena, std::pmr::memory_resource* heap);
void gemm_stored_plain(const StoredForm& form, const StoredArgs& args) noexcept;

}  // namespace volta::jit
