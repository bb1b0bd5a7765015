// The generator of fp32 product microkernels: one register tile of C = A B as segmented chains
// (docs/numerics.md, 2.1), for AVX2 and AVX-512. A kernel walks all its k in one call: it closes a segment at
// every absolute multiple of kSegment, adds it to the tile of C, which is in L1, and starts the next one from
// +0. Packing, blocking, edges and threads are its callers' (engine/backend/cpu/gemm/product.cpp,
// attention.cpp).
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/numerics/canonical.h"
#include "jitgen/code.h"

namespace volta::jit {

inline constexpr std::int64_t kSegment =
    512;                           // where chains are cut: part of the contract, not a tuning knob
inline constexpr int kPanel = 16;  // columns of a packed panel of B: one zmm, two ymm
inline constexpr int kMaxTileRows = 16;
inline constexpr int kMaxTileColumns = 64;  // four panels
inline constexpr int kMaxUnroll = 8;
// A kernel of fewer steps of k does not fetch C's lines by stores ahead: it gains less than they take.
inline constexpr int kPrefetchCSteps = 128;
inline constexpr int kPrefetchCColumns = 64;  // of GemmArgs::Prefetch::c

enum class GemmA : std::uint8_t {
    rows,     // a[i * a_stride + k]: A in place
    k_major,  // a[k * a_stride + i]: A stored transposed, or gathered so
    ones,     // nothing is read: the column sums of B, which are the chains of a row of ones
    offsets   // a[i * a_stride + a_offsets[k]]: A read out of a picture; B packed for this tile
};
enum class GemmB : std::uint8_t {
    panels,  // b[(j / 16) * b_stride + k * 16 + j % 16]: packed for tiles of any width, in whole panels
    tile,    // b[k * gemm_width(form) + j]: packed for tiles of this width, so that a step is one stream
    rows,    // b[k * b_stride + j]: B in place
    pack_on_first_use  // the same, and what is read is left as `tile` has it: packed[k * gemm_width(form) +
                       // j]
};
// Causal products: row i of the tile takes part in only some of `mr` steps around the diagonal.
enum class Triangle : std::uint8_t {
    none,
    tail,  // after args.steps full steps, mr more: row i takes part in step s if s <= i (queries: their own
           // keys)
    head   // before args.steps full steps, mr more: row i takes part in step s if i <= s (keys: their own
           // queries)
};

// What is compiled in. With a triangle its first step must be at an absolute multiple of a power of two >= mr
// (and mr <= 16), so that no cut falls inside it.
struct GemmForm {
    Isa isa = Isa::avx2;       // scalar: run by gemm_f32_plain, vectors of 4 columns
    std::uint8_t mr = 1;       // rows of the tile, 1 .. kMaxTileRows
    std::uint8_t vectors = 1;  // of gemm_lanes(isa) columns
    bool masked = false;       // the last vector has args.tail_columns columns, else all
    bool narrow = false;       // AVX-512, masked: the last vector has at most 8 columns, half a register
    bool half = false;         // AVX2, panels: column 0 is the second half of a panel
    GemmA a = GemmA::rows;
    GemmB b = GemmB::panels;
    Triangle triangle = Triangle::none;
    std::uint8_t prefetch = 0;        // of B, steps ahead; 0: none
    bool repeated_prefetch = false;   // B in place, with prefetch: each line a second time, half as far ahead
    std::uint8_t prefetch_lines = 0;  // of args.prefetch.target that each step prefetches too, into L2, 0 ..
                                      // 4; B in place: 0 or 1, without prefetch
    std::uint8_t unroll = 4;  // steps per iteration of the main loop, 1 .. kMaxUnroll; 8 gains under 1 %
};
std::uint64_t key_of(const GemmForm& form);  // equal of equal forms alone

// Columns of a vector: 16, 8; 4 for the plain form.
constexpr int gemm_lanes(Isa isa) { return isa == Isa::avx512 ? 16 : isa == Isa::avx2 ? 8 : 4; }
// Columns of a tile, with those that only pad its last vector.
constexpr int gemm_width(const GemmForm& form) { return form.vectors * gemm_lanes(form.isa); }

// The one argument of a kernel, which moves the pointers in it from tile to tile. Strides are in elements.
struct GemmArgs {
    const float* a;
    std::int64_t a_stride;
    const float* b;
    std::int64_t b_stride;
    float* c;
    std::int64_t c_stride;
    const float* accumulators_in;  // [mr, columns] unfinished chains to go on with; NULL: start from +0
    float* accumulators_out;       // the last segment is left unfinished here; NULL: it is closed into C
    std::int64_t accumulator_stride;
    std::int64_t steps;       // full steps of k, without those of the triangle; >= 0
    std::int64_t first_step;  // absolute index of the first k of this call, triangle included
    std::int64_t add;  // 1: the first segment closed is added to C, 0: it is stored. Later ones are added
    std::int64_t tail_columns;  // of the last vector, 1 .. lanes; read by masked forms only
    float* packed;              // GemmB::pack_on_first_use
    // What is fetched beside computing. Never read, so it may lie outside of any array.
    struct Prefetch {
        const float* target;  // wanted soon
        std::int64_t stride;  // from step to step
        std::int64_t line;    // from line to line of a step, where it prefetches several
        // kPrefetchCColumns of so many rows, which hold nothing yet and will be written soon: the kernel
        // fetches their lines by storing zeros while it computes. 0 rows: none.
        float* c;
        std::int64_t c_stride, c_rows;
    } prefetch;
    // Several tiles of one form in a call, 1 or more: how far on the next one's operands lie. `accumulators`
    // is of both, where there are any; `stream` of `packed` or the prefetch target.
    struct Next {
        std::int64_t tiles = 1, a, b, c, accumulators, stream;
    } next;
    const std::int64_t* a_offsets;  // GemmA::offsets: of the first step and those behind it, in bytes
};
using GemmFunction = void (*)(GemmArgs*);

// Rows a tile of `vectors` can hold in registers at once; a taller one runs as several passes over the same
// panel.
int gemm_rows_in_registers(Isa isa, int vectors);

// Emits and publishes. NULL when executable memory is refused. Isa::scalar has no machine code: NULL.
GemmFunction emit_gemm_f32(const GemmForm& form, CodeArena& arena, std::pmr::memory_resource* heap);

// The same kernel in plain C++ with fma32: the scalar row, and what runs where code may not be generated.
void gemm_f32_plain(const GemmForm& form, GemmArgs& args) noexcept;

// "gemm 8x3v avx512 k-major panels masked tail": for profilers and dumps.
struct GemmFormText {
    char text[96];
};
GemmFormText to_text(const GemmForm& form);

}  // namespace volta::jit
