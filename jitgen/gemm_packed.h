// The generator of microkernels for products with packed weights (engine/numerics/stored_weights.h): a
// register tile of rows x whole panels reads each weight once, dequantises it in a register and uses it
// for all rows, so that weights are never dequantised in memory. For many tiles of rows it is cheaper to turn
// the weights of a segment into f32 once, in the cache. A kernel computes one segment of k; C and its edges
// are the caller's (engine/backend/cpu/packed_weight_product.cpp).
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/base/shape.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr int kMaxPackedRows = 12;
inline constexpr int kMaxPackedPanels = 4;

enum class PackedUse : std::uint8_t {
    direct,      // products with the packed weights
    dequantise,  // no product: leaves a segment's weights in args.dequantised
    dequantised  // products with what `dequantise` left
};

// What is prefetched, into L2, while weights are read: for few rows, whose weights come from DRAM.
enum class PackedPrefetch : std::uint8_t {
    none,
    panels,  // the panels at args.prefetch_target: a stream per panel, prefetching all of them as one stream
             // is a third slower
    stream  // the memory behind args.prefetch_target in its order, as many lines as are read: tile after tile
            // is one stream
};

struct PackedForm {
    Isa isa = Isa::scalar;  // scalar: run by gemm_packed_plain
    DType dtype = DType::int8;
    PackedUse use = PackedUse::direct;
    std::uint8_t rows = 1;    // of A, up to packed_rows(isa, panels); 0 for `dequantise`
    std::uint8_t panels = 1;  // of 16 outputs
    PackedPrefetch prefetch = PackedPrefetch::none;
    // int4 of one row with AVX2: weights 2^28 times as large take an instruction less, and the scales are
    // smaller by as much (docs/decisions/0011). No bit differs while all sums are finite; else a chain may
    // have been too large, and the kernel without it has to compute them again.
    bool prescaled = false;
};
bool can_be_prescaled(const PackedForm& form);
std::uint64_t key_of(const PackedForm& form);  // equal of equal forms alone

struct PackedArgs {
    const float* a;             // the segment's first element of row 0
    std::int64_t a_stride;      // elements
    const unsigned char* b;     // the segment's first group, or step, of panel 0
    std::int64_t panel_stride;  // bytes
    std::int64_t steps;         // 1 .. 512
    float* sums;                // [rows, panels * 16], 64-byte aligned: the segment's sums
    float* dequantised;         // [steps, panels * 16] weights as f32, 64-byte aligned
    float* scales;              // [groups, panels * 16] their scales, 64-byte aligned; int8 and int4
    const unsigned char*
        prefetch_target;  // panels wanted soon: never read, so they may lie outside of any array
};
// 1; `prescaled`: 0 where a sum is not finite.
using PackedFunction = int (*)(PackedArgs*);

// The most rows whose chains fit registers.
int packed_rows(Isa isa, int panels);

// NULL when executable memory is refused. The plain form computes directly, whatever `use` says.
PackedFunction emit_gemm_packed(const PackedForm& form, CodeArena& arena, std::pmr::memory_resource* heap);
void gemm_packed_plain(const PackedForm& form, const PackedArgs& args) noexcept;

}  // namespace volta::jit
