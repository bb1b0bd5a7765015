#include "engine/backend/cpu/gemm/rules.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/backend/cpu/gemm/cost.h"
#include "engine/base/error.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/gemm_dot.h"

namespace volta::cpu {
namespace {

// ---- Thresholds ----------------------------------------------------------------------------------------
// All were measured on Zen 3 and Zen 4 (kMachines): each is a threshold of those.

// prepacked-row, narrow-n
constexpr std::int64_t kNarrowRows = 64, kNarrowSteps = 16, kNarrowColumns = 128;
// Of an A of rows, which the dot form transposes in registers: more columns are faster as columns of a tile,
// and fewer steps than these do not make good what each output costs at its end.
constexpr std::int64_t kNarrowColumnsOfRows = 6, kNarrowColumnsOfRowsAvx2 = 3, kNarrowStepsPerColumn = 12;
constexpr double kNarrowGain = 0.95;
constexpr std::int64_t kSliceRows = 1024, kSliceCutRows = 64;  // computed, transposed and finished together

// axpy: for several rows it matters when few rows of B share a page, or not even one. AVX2's tiles are
// narrower, and gain by it earlier: two rows always, more of them when B lies beyond L2; also seven and eight
// rows, in turns of a kernel's: one tile has fewer rows, and two read B twice.
constexpr std::int64_t kAxpyColumnsOfOne = 64, kAxpyColumnsOfTwo = 2048, kAxpyColumnsOfMore = 8192,
                       kAxpyColumnsAvx2 = 512, kAxpyTurnsFewest = 7, kAxpyTurnsMost = 8;
constexpr std::int64_t kAxpyPanel = 4096;  // whose accumulators stay in L1, or in L2 for several rows
constexpr std::int64_t kAxpyPanelOfStream =
    64 * 1024;  // of one row that one thread reads from DRAM, in place
// AVX2 takes two steps of three or four rows at a time and would wait for accumulators in L2, where B comes
// from a cache: they stay in L1, three lines more than a page apart.
constexpr std::int64_t kAxpyApartPanel = 1024, kAxpyApartPad = 48, kAxpyApartRows = 3;
constexpr std::int64_t kAxpyShort = 512, kAxpyShortAvx2 = 1024;  // columns: too few for a stream to get going
constexpr std::int64_t kAxpyRestSteps = 8, kAxpyWide = 1024, kAxpyConflictFloats = 128;
constexpr std::int64_t kAxpyLong = 1152;                 // columns of a thread
constexpr std::int64_t kAxpySegmentFloats = 256 * 1024;  // accumulators of all segments
constexpr std::int64_t kLineFloats = 16;

// dot: above, the transposed product computes more than it would read.
constexpr std::int64_t kDotRows = 12, kDotRowsAvx2 = 4, kDotColumns = 4 * jit::kDotOutputs,
                       kDotLeastSteps = 16, kDotPanel = 256, kDotConflictFloats = 512, kDotLineRows = 2;

// transposed-c: packing B costs n k, packing A and transposing C around m k and twice m n; the last is the
// slowest.
constexpr double kTransposeC = 1.5, kTransposeCGain = 0.5;

// b: rows that packing B costs more than; a row of B so long that each step of k is a new page, or two.
constexpr std::int64_t kPageWideRow = 8192, kPageWideRowsInPlace = 4, kRowsInPlace = 192,
                       kRowsInPlaceAvx2 = 64, kConflictFloats = jit::kPanel, kSmall = 128, kAvx2TileRows = 6;
// on-first-use: rows of B further apart than pages would miss the TLB with each step as well; AVX2's steps
// hide it only where a thread's columns of B lie in L2.
constexpr std::int64_t kFirstUseRow = 16384, kFirstUseFloatsAvx2 = 128 * 1024;
constexpr std::int64_t kHeldFloats = 1024 * 1024;  // a panel with all of k, which serves all slices of rows

// columns-of-threads
constexpr std::int64_t kColumnsRows = 128, kColumnsOfThread = 128;

// tiles
constexpr std::int64_t kWaitingColumns = 16,
                       kWaitingColumnsAvx2 = 8;  // so many fill a vector of 512, of 256 bits
constexpr std::int64_t kPairRowsAbove = 4, kPairRows = 8;
constexpr double kLowTileCost = 1.1;  // as estimated without beginnings and ends
constexpr std::int64_t kLowTileSteps = 64;
constexpr double kGridTie = 0.99;

// prefetch: B of more floats than L2 keeps: the hardware does not see where a tile's columns go on in the
// next row.
constexpr std::int64_t kPrefetchedFloats = 64 * 1024, kLongRow = 3072;
constexpr std::int64_t kDistanceInCache = 32, kDistanceInDram = 64, kDistanceInDramLong = 48,
                       kDistanceOfPacking = 32;

// blocks: what stays in a core's L2 while it is used: packed columns of B, and the rows of A that meet them.
constexpr std::int64_t kPanelFloats = 96 * 1024, kBlockFloats = 64 * 1024;
constexpr std::int64_t kCopiedAPanels =
    16;                                 // a copied A is copied again for every panel: they are large, in L3
constexpr std::int64_t kMostKc = 4096;  // 48 columns of them are 768 KiB
constexpr std::int64_t kMostKcOfColumns = 1024;
// Wide K blocks: six rows of A, one segment of k long, stay in L1, and the columns of B in L3, so that A and
// C are walked few times. A B that few rows use is copied in blocks that stay in L2.
constexpr std::int64_t kWideFloats = 1536 * jit::kSegment, kWideFewRows = 32, kWideFewRowsKc = 128,
                       kWideFewRowsFloats = 768 * 128;
// One thread with AVX-512: floats of A that are walked as seldom as may be, where B was packed once and where
// each call packs it.
constexpr std::int64_t kStreamedA = 256 * 1024, kStreamedAOfPacking = 768 * 1024,
                       kStreamedFloats = 1280 * 1024;
constexpr std::int64_t kPanelsOfThread = 4, kLeastPanel = 96;  // what threads can steal from each other
// What a chosen block may cost at most, per thread: a choice may come from a file.
constexpr std::int64_t kMostPackedFloats = 4 * 1024 * 1024, kMostAccumulatorFloats = 4 * 1024 * 1024;

// prepacked: few rows take many panels, whose chains hide each other's latency.
constexpr std::int64_t kManyPanelsRows = 4, kTwoPanelRowsAvx2 = 2, kDequantiseTiles = 4;

// ---- What rules ask --------------------------------------------------------------------------------------

const ProductShape& shape_of(const Case& c) { return c.problem.shape; }
bool is_avx512(const Case& c) { return c.machine.isa == Isa::avx512; }
bool is_avx2(const Case& c) { return c.machine.isa == Isa::avx2; }
bool tile_is(const Case& c, Isa isa) { return c.schedule.tile->isa == isa; }
bool in_dram(const Case& c) { return b_is_in_dram(c.problem, c.machine, c.machine.dram_use); }
double floats_of_b(const Case& c) {
    return static_cast<double>(shape_of(c).n) * static_cast<double>(shape_of(c).k);
}
// Floats from a multiple of `period`: rows so far apart, or nearly, meet in the same sets of a cache.
std::int64_t off_multiple(std::int64_t floats, std::int64_t period) {
    const std::int64_t behind = floats % period;
    return std::min(behind, period - behind);
}
ThreadTiles tiles_of(const Case& c) { return ThreadTiles(shape_of(c), c.schedule); }

constexpr const char* kApplies = nullptr;
const char* always(const Case&) { return kApplies; }

// B is small: its rows do not collide in L1, where reading them is as fast as reading panels, or faster.
bool is_small(const ProductShape& shape) {
    return !shape.b_transposed && shape.m <= kSmall && shape.n <= kSmall && shape.k <= kSmall;
}
// A tile of AVX2 holds only some of so few rows: each tile would fetch anew a B that is beyond L2, a line per
// row.
bool is_fetched_again(const Case& c) {
    const ProductShape& shape = shape_of(c);
    return is_avx2(c) && shape.m > kAvx2TileRows && shape.m <= jit::kMaxTileRows &&
           shape.k * shape.n >= c.machine.l2_floats;
}
bool b_rows_conflict(const Case& c) {
    return off_multiple(shape_of(c).ldb, c.machine.page_floats) < kConflictFloats;
}
// AVX2's K blocks over a B that is copied first, or was packed once: one segment deep, and wide.
bool is_wide(const Case& c) {
    return tile_is(c, Isa::avx2) && c.schedule.packs_b() && !c.schedule.packs_on_first_use();
}
// Threads whose first tile of rows packs their own columns.
bool packs_columns(const Case& c) {
    return tile_is(c, Isa::avx512) && c.schedule.packs_on_first_use() && c.schedule.n_parts > 1 &&
           shape_of(c).m <= kColumnsRows;
}
bool panel_fits_with_all_k(const Case& c) { return c.schedule.nc * shape_of(c).k <= kHeldFloats; }
// The copy of a panel to the end of k serves all slices of a thread's rows.
bool holds_b(const Case& c) {
    const Schedule& s = c.schedule;
    const bool in_slices = s.workers > 1 || s.transposed_rows > 0;
    return in_slices && s.b == Packing::per_call && !s.carries_accumulators(shape_of(c).k) &&
           panel_fits_with_all_k(c);
}
std::int64_t part_columns(const Case& c) {
    return round_up(ceil_div(shape_of(c).n, c.schedule.n_parts), c.schedule.tile->nr);
}
// Whole tiles of a panel of so many floats.
std::int64_t nc_of(const Case& c, std::int64_t floats) {
    const std::int64_t kc = std::max<std::int64_t>(c.schedule.kc, 1), nr = c.schedule.tile->nr;
    return std::min(part_columns(c), std::max(nr, floats / kc / nr * nr));
}
// Columns of a panel, at most, where one thread computes with AVX-512; 0: what L2 holds, as everywhere else.
std::int64_t widest_for_one(const Case& c) {
    const ProductShape& shape = shape_of(c);
    const Schedule& s = c.schedule;
    if (!tile_is(c, Isa::avx512) || !s.packs_b() || s.workers > 1 || shape.a_transposed) return 0;
    if (s.is_prepacked() && shape.m <= 2 * s.tile->mr) return shape.n;
    const std::int64_t most = s.is_prepacked() ? kStreamedA : kStreamedAOfPacking;
    return shape.m * s.kc > most ? kStreamedFloats / s.kc : 0;
}
// Rows of a transposed C, one thread's of them: whole lines, once they are columns.
std::int64_t share_of_transposed(const Case& c, int threads) {
    return round_up(ceil_div(shape_of(c).m, threads), jit::kPanel);
}

// ---- Ways ------------------------------------------------------------------------------------------------

void take(Case& c, Algorithm algorithm, Transposed transposed = Transposed::no) {
    c.schedule.algorithm = algorithm;
    c.schedule.transposed = transposed;
}
template <Algorithm kAlgorithm>
void take_algorithm(Case& c) {
    take(c, kAlgorithm);
}

const char* against_chosen_blocks(const Case& c) {
    const bool chosen = c.overrides.blocked || c.overrides.tile || c.choice != ProductChoice();
    return chosen ? kApplies : "nothing was chosen";
}
const char* against_prepacked_row(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (!c.problem.request.prepacked) return "B may change between calls";
    if (!has_plain_row(shape)) return "A is not one plain row";
    if (shape.batch != 1 || shape.k == 0) return "a batch, or no steps";
    // From a cache, a tile that multiplies by what it loads is a sixth faster.
    if (!b_is_in_dram(c.problem, c.machine, c.machine.dram_use_of_panels)) return "B is in the LLC";
    return kApplies;
}
const char* against_any_code(const Case& c) {
    if (!c.machine.has_code()) return "no machine code";
    if (c.problem.request.transposed_c) return "C is transposed";
    return kApplies;
}
const char* against_narrow_n(const Case& c) {
    if (const char* why = against_any_code(c)) return why;
    const ProductShape& shape = shape_of(c);
    if (shape.batch != 1 || shape.n < 1 || shape.k < 1) return "a batch, or nothing to compute";
    if (shape.m < kNarrowRows || shape.m <= shape.n) return "too few rows";
    return kApplies;
}
const char* against_narrow_n_of_rows(const Case& c) {
    if (const char* why = against_narrow_n(c)) return why;
    const ProductShape& shape = shape_of(c);
    if (shape.a_transposed) return "A is stored transposed";
    if (shape.n > (is_avx512(c) ? kNarrowColumnsOfRows : kNarrowColumnsOfRowsAvx2)) return "too many columns";
    if (shape.k < std::max(kNarrowSteps, kNarrowStepsPerColumn * shape.n)) return "too few steps";
    return kApplies;
}
// One of columns is read in place, and gains wherever its own columns leave more of their vectors empty.
const char* against_narrow_n_of_columns(const Case& c) {
    if (const char* why = against_narrow_n(c)) return why;
    const ProductShape& shape = shape_of(c);
    if (!shape.a_transposed) return "A is stored by rows";
    if (shape.n > kNarrowColumns) return "too many columns";
    const auto cycles = [&](std::int64_t m, std::int64_t n) {
        return block_cycles(c.machine, cheapest_tile(c.machine, m, n, false, true), m, n);
    };
    const double transposing = c.machine.transpose_cycles_per_float * static_cast<double>(shape.m * shape.n) /
                               static_cast<double>(shape.k);
    if (cycles(shape.n, shape.m) + transposing >= kNarrowGain * cycles(shape.m, shape.n))
        return "its own columns fill the vectors";
    return kApplies;
}
void take_slices(Case& c) { take(c, Algorithm::blocked, Transposed::slices); }

const char* against_skinny(const Case& c) {
    if (const char* why = against_any_code(c)) return why;
    return c.problem.request.prepacked ? "B is packed once" : kApplies;
}
const char* against_axpy(const Case& c) {
    if (const char* why = against_skinny(c)) return why;
    const ProductShape& shape = shape_of(c);
    if (shape.b_transposed) return "B is stored transposed";
    return shape.m == 0 || shape.batch == 0 ? "nothing to compute" : kApplies;
}
const char* against_axpy_avx2(const Case& c) {
    if (const char* why = against_axpy(c)) return why;
    const ProductShape& shape = shape_of(c);
    if (!is_avx2(c)) return "not AVX2";
    const bool in_turns = shape.m >= kAxpyTurnsFewest && shape.m <= kAxpyTurnsMost;
    if (shape.m < 2 || (shape.m > jit::kMaxAxpyRows && !in_turns)) return "not 2 .. 4, 7 or 8 rows";
    if (shape.m != 2 && shape.k * shape.n < c.machine.l2_floats) return "B lies in L2";
    return shape.n < kAxpyColumnsAvx2 ? "too few columns" : kApplies;
}
const char* against_axpy_wide(const Case& c) {
    if (const char* why = against_axpy(c)) return why;
    const ProductShape& shape = shape_of(c);
    const bool in_turns = is_avx2(c) && shape.m >= kAxpyTurnsFewest && shape.m <= kAxpyTurnsMost;
    if (shape.m > jit::kMaxAxpyRows && !in_turns) return "too many rows";
    const std::int64_t least = shape.m == 1   ? kAxpyColumnsOfOne
                               : shape.m == 2 ? kAxpyColumnsOfTwo
                                              : kAxpyColumnsOfMore;
    return shape.n < least ? "too few columns" : kApplies;
}
const char* against_dot(const Case& c) {
    if (const char* why = against_skinny(c)) return why;
    const ProductShape& shape = shape_of(c);
    if (c.problem.whole_rows()) return "the epilogue needs whole rows";
    if (!shape.b_transposed || shape.a_transposed) return "A and B are not both of rows along k";
    if (shape.batch != 1) return "a batch";
    if (shape.m < 1 || shape.m > (is_avx512(c) ? kDotRows : kDotRowsAvx2)) return "too many rows";
    if (shape.n < kDotColumns || shape.k < kDotLeastSteps) return "too few columns or steps";
    return kApplies;
}
const char* against_transposed_c(const Case& c) {
    if (const char* why = against_skinny(c)) return why;
    const ProductShape& shape = shape_of(c);
    if (c.problem.whole_rows()) return "the epilogue needs whole rows";
    if (!shape.b_transposed || shape.a_transposed) return "A and B are not both of rows along k";
    if (c.problem.entries != 1 || shape.m <= 1) return "a batch, or one row";
    const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
                 k = static_cast<double>(shape.k);
    if (m * k + kTransposeC * m * n > kTransposeCGain * n * k)
        return "packing B costs less than transposing C";
    return kApplies;
}

// ---- Blocked: B, tile, A ---------------------------------------------------------------------------------

const char* against_prepack_b(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (!c.problem.request.prepacked) return "B may change between calls";
    if (shape.k == 0) return "no steps";
    // Entries of a batch with matrices of their own are no weights.
    if (shape.batch != 1 && shape.batch_stride_b != 0) return "each entry of the batch has a B of its own";
    return is_small(shape) ? "so small a B is better in place" : kApplies;
}
const char* against_chosen_b(const Case& c) {
    return c.choice.pack_b == Toggle::rule ? "nothing was chosen" : kApplies;
}
void pack_b_as_chosen(Case& c) {
    require(c.choice.pack_b == Toggle::yes || !shape_of(c).b_transposed,
            "pack_b=no: B is stored transposed, which no kernel reads in place");
    c.schedule.b = c.choice.pack_b == Toggle::yes ? Packing::per_call : Packing::in_place;
}
const char* against_transposed_b(const Case& c) {
    return shape_of(c).b_transposed ? kApplies : "B is stored by rows";
}
const char* against_few_rows_in_place(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (shape.m > (shape.ldb < kPageWideRow ? jit::kMaxTileRows : kPageWideRowsInPlace))
        return "too many rows";
    return is_fetched_again(c) ? "AVX2's tiles would fetch a large B again" : kApplies;
}
const char* against_small_in_place(const Case& c) {
    return is_small(shape_of(c)) ? kApplies : "an extent exceeds the small ones";
}
// So few rows that packing B costs more than its rows do, which are read anew for each tile of rows, from L2
// mostly.
const char* against_some_rows_in_place(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (in_dram(c)) return "B is in DRAM";
    if (shape.ldb >= kPageWideRow) return "each row of B is a page or more";
    if (b_rows_conflict(c)) return "rows of B conflict in L1's sets";
    if (shape.m > (is_avx512(c) ? kRowsInPlace : kRowsInPlaceAvx2)) return "too many rows";
    if (!is_avx512(c) && shape.k * shape.ldb >= c.machine.l2_floats) return "B is beyond L2";
    return kApplies;
}
void leave_b_in_place(Case& c) { c.schedule.b = Packing::in_place; }
void pack_b_per_call(Case& c) { c.schedule.b = Packing::per_call; }

// Threads that cut few rows would read all of B each, in place. Those that cut its columns read their own,
// which stay in their caches; and what no other core has read of a weight is updated without taking it back
// from there.
const char* against_columns_of_threads(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (c.machine.threads == 1) return "one thread";
    if (c.schedule.packs_b()) return "B is packed";
    if (c.problem.whole_rows() || shape.batch != 1) return "an epilogue of whole rows, or a batch";
    if (shape.m <= jit::kMaxTileRows || shape.m > kColumnsRows) return "too few rows, or too many";
    return shape.n < c.machine.threads * kColumnsOfThread ? "too few columns for the threads" : kApplies;
}

void set_tile(Case& c, const char* name) { c.schedule.tile = find_tile(name); }
const char* against_tile(const Case& c, const char* name) {
    return usable(*find_tile(name), c.machine) ? kApplies : "the tile cannot run here";
}
const char* against_forced_tile(const Case& c) {
    return c.overrides.tile || c.choice.tile != 0 ? kApplies : "nothing was chosen";
}
void take_forced_tile(Case& c) {
    const char* const name = c.overrides.tile ? c.overrides.tile : gemm_tiles().rows[c.choice.tile - 1].name;
    c.schedule.tile = &forced_tile(name, c.machine);
}
// DRAM brings lines in pairs: of a model's weights two lines of each row are better than three. (Not of one B
// that comes from there call after call.)
const char* against_line_pairs(const Case& c) {
    const std::int64_t m = shape_of(c).m;
    if (c.problem.request.cache_use <= c.machine.dram_use) return "the plan's weights stay in the LLC";
    if (c.schedule.packs_b()) return "B is packed";
    if (!is_avx512(c)) return "not AVX-512";
    if (m <= kPairRowsAbove || m > kPairRows) return "not 5 .. 8 rows";
    return against_tile(c, "f32_gemm_8x32_avx512");
}
// Of widths of layers the tile of 64 columns leaves threads alike much.
const char* against_even_columns(const Case& c) {
    if (c.schedule.split != Split::columns) return "threads have no columns of their own";
    return is_avx512(c) ? against_tile(c, "f32_gemm_6x64_avx512") : "not AVX-512";
}
// Rows of A lie whole pages apart, or nearly: the lines of a tile's rows conflict in one set of L1, which
// holds eight. Columns enough hide that the others come from L2 again for every step; these do not.
const char* conflict_tile(const Case& c) {
    return shape_of(c).n <= kWaitingColumnsAvx2 ? "f32_gemm_8x8_avx2" : "f32_gemm_8x48_avx512";
}
const char* against_a_set_conflict(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (shape.a_transposed) return "A is stored transposed";
    if (shape.n > kWaitingColumns) return "columns enough";
    if (shape.k < c.machine.page_floats) return "too few steps";
    if (off_multiple(shape.lda, c.machine.page_floats) >= kConflictFloats) return "rows of A do not conflict";
    return against_tile(c, conflict_tile(c));
}
void take_cheapest_tile(Case& c) {
    const ProductShape& shape = shape_of(c);
    c.schedule.tile = &cheapest_tile(c.machine, shape.m, shape.n, !c.schedule.packs_b(), shape.a_transposed);
}
// Tiles of a small product last some hundred cycles each: low and wide ones begin and end sooner, which is
// worth more than the loads that they add. Six rows where a tile's columns of B fill most of L1.
const char* low_tile(const Case& c) {
    return is_avx2(c)                       ? "f32_gemm_3x32_avx2"
           : shape_of(c).k <= kLowTileSteps ? "f32_gemm_4x64_avx512"
                                            : "f32_gemm_6x64_avx512";
}
const char* against_low_tile(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (c.overrides.tile || c.choice.tile != 0) return "the tile was chosen";
    if (c.schedule.packs_b()) return "B is packed";
    if (!is_small(shape)) return "the product is not small";
    if (shape.m < 2 * jit::kMaxTileRows || shape.n <= 2 * jit::kPanel) return "the product is tiny";
    if (const char* why = against_tile(c, low_tile(c))) return why;
    const GemmTile& low = *find_tile(low_tile(c));
    if (is_avx2(c) && shape.n % low.nr != 0) return "its columns are no whole tiles";
    const auto cycles = [&](const GemmTile& tile) { return block_cycles(c.machine, tile, shape.m, shape.n); };
    return cycles(low) > kLowTileCost * cycles(*c.schedule.tile) ? "the low tile costs too much" : kApplies;
}

const char* against_gathered_a(const Case& c) {
    return c.problem.request.gathered_a ? kApplies : "A is one matrix";
}
const char* against_chosen_a(const Case& c) {
    return c.choice.pack_a == Toggle::rule ? "nothing was chosen" : kApplies;
}
void pack_a_as_chosen(Case& c) {
    c.schedule.a = c.choice.pack_a == Toggle::yes ? Packing::per_call : Packing::in_place;
}
// A transposed A is read in place by AVX-512: a step of its tiles lasts long enough to hide the misses of a
// new row of A per step. AVX2's steps do not (75 instead of 89 % of the peak), and a copy is cheap when many
// columns use it.
const char* against_pack_a(const Case& c) {
    if (!shape_of(c).a_transposed) return "A is stored by rows";
    if (!c.schedule.packs_b()) return "B is in place";
    if (!tile_is(c, Isa::avx2)) return "the tile's steps are long";
    return shape_of(c).n <= c.schedule.tile->nr ? "one tile of columns" : kApplies;
}
const char* against_chosen_order(const Case& c) {
    return c.choice.order == TileOrder::rule ? "nothing was chosen" : kApplies;
}
const char* against_columns_outside(const Case& c) { return c.schedule.packs_b() ? "B is packed" : kApplies; }

// ---- Blocked: prefetch and grid --------------------------------------------------------------------------

const char* against_chosen_prefetch(const Case& c) {
    return c.choice.prefetch == 0 ? "nothing was chosen" : kApplies;
}
void prefetch_as_chosen(Case& c) {
    c.schedule.prefetch.distance = c.choice.prefetch == kNoPrefetch ? 0 : c.choice.prefetch;
}
const char* against_prefetch(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (c.schedule.packs_b()) return "B is packed";
    return shape.k * shape.ldb <= kPrefetchedFloats ? "L2 keeps B" : kApplies;
}
const char* against_prefetch_in_dram(const Case& c) {
    if (const char* why = against_prefetch(c)) return why;
    return in_dram(c) ? kApplies : "B is in the LLC";
}
// From DRAM a line takes twice as long as from L3, or longer.
void prefetch_from_dram(Case& c) {
    c.schedule.prefetch.distance = shape_of(c).ldb <= kLongRow ? kDistanceInDram : kDistanceInDramLong;
}
const char* against_prefetch_in_cache(const Case& c) {
    if (const char* why = against_prefetch(c)) return why;
    // AVX2's short steps have no time to prefetch what the tiles of rows above have brought into L2.
    const bool is_again = tile_is(c, Isa::avx2) && shape_of(c).m > c.schedule.tile->mr;
    return is_again && shape_of(c).k * shape_of(c).ldb < c.machine.l2_floats
               ? "the rows above brought B into L2"
               : kApplies;
}
// Prefetches are dropped while the line-fill buffers are full. That happens only when B comes from DRAM; from
// L3 a second prefetch costs up to a tenth of the time.
const char* against_repeated_prefetch(const Case& c) {
    if (c.schedule.packs_b()) return "B is packed";
    return in_dram(c) ? kApplies : "B is in the LLC";
}
const char* against_chosen_unroll(const Case& c) {
    return c.choice.unroll == 0 ? "nothing was chosen" : kApplies;
}

// The grid of thread tiles with the earliest end; near ties go to fewer, and to cuts of m before cuts of n.
void choose_grid(Case& c) {
    const ProductShape& shape = shape_of(c);
    const std::int64_t threads = c.machine.threads;
    const std::int64_t most_n =
        c.problem.whole_rows() ? 1 : std::min(threads, ceil_div(shape.n, c.schedule.tile->nr));
    double best = grid_cycles(c.machine, shape, c.schedule, 1);
    Schedule chosen = c.schedule, tried = c.schedule;
    for (tried.n_parts = 1; tried.n_parts <= most_n; ++tried.n_parts) {
        const std::int64_t most_m = std::min(threads / tried.n_parts, shape.m);
        for (tried.m_parts = 1; tried.m_parts <= most_m; ++tried.m_parts) {
            tried.workers = static_cast<int>(std::min(threads, shape.batch * tried.m_parts * tried.n_parts));
            const double cycles = grid_cycles(c.machine, shape, tried, std::max(tried.workers, 1));
            if (cycles >= best * kGridTie) continue;
            best = cycles;
            chosen = tried;
        }
    }
    c.schedule = chosen;
}
const char* against_sharing_columns(const Case& c) {
    if (c.schedule.split != Split::columns) return "threads have no columns of their own";
    return tiles_of(c).count() > 1 ? kApplies : "a second thread costs more than it brings";
}
void share_columns(Case& c) {
    c.schedule.m_parts = 1;
    c.schedule.n_parts = c.schedule.workers = c.machine.threads;
}
const char* against_keeping_the_grid(const Case& c) {
    if (c.schedule.split != Split::columns) return "threads have tiles of C already";
    return tiles_of(c).count() > 1 ? "threads have columns of their own" : kApplies;
}
const char* against_transposed_rows(const Case& c) {
    return c.problem.request.transposed_c ? kApplies : "C is stored by rows";
}
// Threads steal its rows from each other in slices that are in L1 when they are transposed, four lines of
// each of their columns. (Those of a B that each slice would have to pack anew are whole shares:
// whole-shares.)
void slice_transposed_rows(Case& c) {
    c.schedule.m_parts = c.schedule.n_parts = 1;
    const std::int64_t share = share_of_transposed(c, c.machine.threads);
    c.schedule.transposed_rows = std::min<std::int64_t>(share, jit::kPrefetchCColumns);
    c.schedule.workers = static_cast<int>(ceil_div(shape_of(c).m, share));
}
// The first tile of rows packs B while it computes: nearly for nothing, where its steps last long enough to
// hide that each begins a new row of B.
const char* against_first_use(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (c.schedule.b != Packing::per_call) return "B is not packed by the call";
    if (shape.b_transposed) return "B is stored transposed";
    if (shape.ldb > kFirstUseRow) return "rows of B lie further apart than pages";
    if (tile_is(c, Isa::avx512) || shape.k * shape.n <= c.schedule.n_parts * kFirstUseFloatsAvx2)
        return kApplies;
    return "short steps, and the thread's columns of B are beyond L2";
}
void pack_on_first_use(Case& c) {
    Prefetch& prefetch = c.schedule.prefetch;
    c.schedule.b = Packing::on_first_use;
    prefetch.packing = prefetch.distance > 0 ? prefetch.distance : kDistanceOfPacking;
}

// ---- Blocked: blocks -------------------------------------------------------------------------------------

// K blocks of equal length, cut where segments are.
const char* against_long_k(const Case& c) {
    return c.schedule.packs_b() && shape_of(c).k > kMostKc ? kApplies : "k fits one K block";
}
void cut_long_k(Case& c) {
    const std::int64_t blocks = ceil_div(shape_of(c).k, kMostKc);
    c.schedule.kc = round_up(ceil_div(shape_of(c).k, blocks), jit::kSegment);
}
void take_whole_k(Case& c) { c.schedule.kc = shape_of(c).k; }
// L2 holds the columns that are packed, those that are prefetched and the steps of A that meet them.
const char* against_segments_of_columns(const Case& c) {
    if (!packs_columns(c)) return "threads pack no columns of their own";
    return shape_of(c).k > kMostKcOfColumns ? kApplies : "k fits one K block";
}
void take_one_segment(Case& c) { c.schedule.kc = jit::kSegment; }
const char* against_segments_of_a(const Case& c) {
    return c.schedule.packs_a() && shape_of(c).a_transposed ? kApplies : "no transposed A is copied";
}
void take_a_segment_at_most(Case& c) { c.schedule.kc = std::min(c.schedule.kc, jit::kSegment); }
bool is_wide_for_few_rows(const Case& c) {
    return is_wide(c) && shape_of(c).m <= kWideFewRows && !c.schedule.is_prepacked();
}
const char* against_wide(const Case& c) {
    return is_wide(c) ? kApplies : "not AVX2 over a B that is copied first";
}
void take_wide_kc(Case& c) {
    c.schedule.kc = std::min(c.schedule.kc, is_wide_for_few_rows(c) ? kWideFewRowsKc : jit::kSegment);
}

const char* against_nc_in_place(const Case& c) { return c.schedule.packs_b() ? "B is packed" : kApplies; }
void take_part_columns(Case& c) { c.schedule.nc = part_columns(c); }
void take_wide_nc(Case& c) {
    c.schedule.nc = nc_of(c, is_wide_for_few_rows(c) ? kWideFewRowsFloats : kWideFloats);
}
const char* against_nc_of_copied_a(const Case& c) {
    return c.schedule.packs_a() ? kApplies : "A is in place";
}
void take_nc_of_copied_a(Case& c) { c.schedule.nc = nc_of(c, kCopiedAPanels * kPanelFloats); }
void take_nc_in_l2(Case& c) { c.schedule.nc = nc_of(c, kPanelFloats); }
// Packed for its tile B is one stream, which comes from L3 as fast as it is multiplied, and an A that comes
// from there too does not: it is walked as seldom as may be. One or two tiles of rows use each column of B so
// few times that a panel's end would only interrupt the stream.
const char* against_streamed_b(const Case& c) {
    return widest_for_one(c) > 0 ? kApplies : "not one AVX-512 thread whose A is long";
}
void stream_b(Case& c) {
    const std::int64_t nr = c.schedule.tile->nr, part = part_columns(c);
    const std::int64_t panels = std::max<std::int64_t>(ceil_div(part, std::max(widest_for_one(c), nr)), 1);
    c.schedule.nc = round_up(ceil_div(part, panels), nr);
}
// Each panel walks A anew: not where that is copied, or comes from DRAM.
const char* against_panels_to_steal(const Case& c) {
    if (!is_wide(c)) return "not AVX2 over a B that is copied first";
    if (c.schedule.workers == 1) return "one thread";
    return c.schedule.packs_a() || shape_of(c).k > kMostKc ? "each panel would copy A again" : kApplies;
}
void cut_panels_to_steal(Case& c) {
    const std::int64_t panel = std::max(part_columns(c) / kPanelsOfThread, kLeastPanel);
    c.schedule.nc = std::min(c.schedule.nc, round_up(panel, c.schedule.tile->nr));
}
// What follows finds C in L2: the longest row of a block is one of A, or of C.
void take_mc_in_l2(Case& c) {
    std::int64_t longest = std::max<std::int64_t>(c.schedule.kc, 1);
    const std::int64_t mr = c.schedule.tile->mr;
    if (widest_for_one(c) > 0) longest = std::max(longest, c.schedule.nc);
    c.schedule.mc = std::max(mr, kBlockFloats / longest / mr * mr);
}
const char* against_whole_shares(const Case& c) {
    if (!c.problem.request.transposed_c) return "C is stored by rows";
    if (c.schedule.kc >= shape_of(c).k) return "one K block";
    return holds_b(c) ? "the copy of B has all of k" : kApplies;
}
void take_whole_shares(Case& c) { c.schedule.transposed_rows = share_of_transposed(c, c.schedule.workers); }
// Threads that read their own columns steal them from each other in panels, not in slices of rows, each of
// which would read all of the columns again: a panel's come once from where they are, and from L2 for the
// other rows. Only the first panel's come beside nothing else.
const char* against_panels_of_columns(const Case& c) {
    return c.schedule.split == Split::columns || packs_columns(c) ? kApplies
                                                                  : "threads have no columns of their own";
}
void cut_panels_of_columns(Case& c) {
    const double steps =
        static_cast<double>(shape_of(c).m) * static_cast<double>(std::max<std::int64_t>(shape_of(c).k, 1));
    const auto columns = static_cast<std::int64_t>(std::ceil(c.machine.work_item_steps / steps));
    // Packed columns are few streams: A comes into L1 for two tiles of them.
    const std::int64_t nr = c.schedule.tile->nr, least = c.schedule.packs_b() ? 2 * nr : 0;
    c.schedule.nc = std::min(c.schedule.nc, std::max(round_up(columns, nr), least));
}
const char* against_chosen_blocks_of(const Case& c) {
    const bool chosen = c.choice.k_block > 0 || c.choice.m_block > 0 || c.choice.n_block > 0;
    return chosen ? kApplies : "nothing was chosen";
}
// Chosen blocks in whole tiles, none larger than its extent or its share of memory.
void take_chosen_blocks(Case& c) {
    Schedule& s = c.schedule;
    const ProductShape& shape = shape_of(c);
    const std::int64_t nr = s.tile->nr, mr = s.tile->mr;
    const std::int64_t rows = ceil_div(shape.m, s.m_parts);
    if (c.choice.k_block > 0) {
        const bool packs = s.packs_a() || s.packs_b();
        const std::int64_t most = packs ? kMostPackedFloats / jit::kMaxTileColumns : shape.k;
        s.kc = std::min(
            {shape.k, most, c.choice.k_block == kWholeExtent ? shape.k : std::int64_t{c.choice.k_block}});
    }
    // Accumulators of a panel lie in whole lines.
    const std::int64_t fit_accumulators =
        kMostAccumulatorFloats / std::max<std::int64_t>(rows, 1) / jit::kPanel * jit::kPanel / nr * nr;
    if (s.carries_accumulators(shape.k) && fit_accumulators == 0)
        s.kc = std::min(round_up(s.kc, jit::kSegment), shape.k);
    const std::int64_t kc = std::max<std::int64_t>(s.kc, 1);
    if (c.choice.n_block > 0) {
        const std::int64_t part = part_columns(c);
        const std::int64_t fit = s.packs_b() ? kMostPackedFloats / kc / nr * nr : part;
        const std::int64_t asked =
            c.choice.n_block == kWholeExtent ? part : round_up(std::int64_t{c.choice.n_block}, nr);
        s.nc = std::max(nr, std::min({part, asked, fit}));
    }
    if (s.carries_accumulators(shape.k)) s.nc = std::min(s.nc, fit_accumulators);
    if (c.choice.m_block > 0) {
        const std::int64_t fit = s.packs_a() ? kMostPackedFloats / kc / mr * mr : rows + mr;
        const std::int64_t asked = c.choice.m_block == kWholeExtent ? rows + mr : c.choice.m_block / mr * mr;
        s.mc = std::max(mr, std::min({round_up(rows, mr), asked, fit}));
    }
}
// K blocks of a rule may carry accumulators as well.
const char* against_fitting_accumulators(const Case& c) {
    return c.schedule.carries_accumulators(shape_of(c).k) ? kApplies : "K blocks end where segments do";
}
// Rows of A that another core has written, or that come from DRAM: the hardware begins anew with each of
// them. AVX2's steps have no time for it. A tile prefetches whole rows, a line with each step at most.
const char* against_prefetch_a(const Case& c) {
    const Schedule& s = c.schedule;
    if (!tile_is(c, Isa::avx512)) return "the tile's steps have no time for it";
    if (shape_of(c).a_transposed || s.packs_a()) return "A is not read by rows in place";
    if (s.is_prepacked()) return "B was packed once";
    if (s.kc < shape_of(c).k || shape_of(c).k == 0) return "several K blocks, or none";
    if (packs_columns(c) && 2 * s.tile->mr <= jit::kPanel) return kApplies;
    if (s.split == Split::columns) return kApplies;
    if (c.problem.request.transposed_c && s.packs_b() && s.nc <= s.tile->nr) return kApplies;
    return "A is in a cache of its thread";
}
const char* against_held_b(const Case& c) {
    return holds_b(c) ? kApplies : "no copy of B serves several slices of rows";
}
// B is packed once for all slices that one worker computes, unless a further K block packs over it; a panel
// packed once that is larger would come from DRAM for each slice.
const char* against_row_slices(const Case& c) {
    const Schedule& s = c.schedule;
    if (s.transposed_rows > 0) return "C is transposed";
    if (s.workers == 1) return "one thread";
    if (c.problem.whole_rows()) return "the epilogue needs whole rows";
    const bool holds = s.is_prepacked() ? panel_fits_with_all_k(c) : !s.packs_b() || s.holds_b;
    return s.kc < shape_of(c).k && !holds ? "each slice would walk B again" : kApplies;
}
void cut_row_slices(Case& c) {
    Schedule& s = c.schedule;
    const std::int64_t least_rows = shape_of(c).m / s.m_parts;
    const double steps =
        static_cast<double>(s.nc) * static_cast<double>(shape_of(c).k) * static_cast<double>(least_rows);
    // None may be empty: its worker would have packed nothing.
    const std::int64_t most = std::max<std::int64_t>(EvenCut(least_rows, s.tile->mr).pieces, 1);
    s.row_slices =
        std::clamp(static_cast<std::int64_t>(steps / c.machine.work_item_steps), std::int64_t{1}, most);
}
const char* against_transposed_slices(const Case& c) {
    return c.schedule.transposed_rows > 0 ? kApplies : "C is stored by rows";
}
void cut_transposed_slices(Case& c) {
    c.schedule.row_slices = ceil_div(shape_of(c).m, c.schedule.transposed_rows);
}

// ---- Skinny: the axpy form -------------------------------------------------------------------------------

std::int64_t axpy_rows(const Case& c) { return EvenCut(shape_of(c).m, jit::kMaxAxpyRows).size(0); }
std::int64_t segments(const Case& c) { return ceil_div(shape_of(c).k, jit::kSegment); }
// With AVX-512 one row reads 16 rows of B at once, by plain loads, as long as the LLC holds most of
// it; AVX2 no more than others.
bool axpy_in_dram(const Case& c) {
    return b_is_in_dram(c.problem, c.machine,
                        is_avx512(c) && shape_of(c).m == 1 ? c.machine.dram_use_of_row : c.machine.dram_use);
}
// Threads that take columns each read some lines of every row, and what the processor reads ahead for one are
// the columns of the other: with segments of k they read the memory in its order. Long rows lose little by
// that, less than threads whose segments are not alike long.
const char* against_k_segments(const Case& c) {
    const ProductShape& shape = shape_of(c);
    const std::int64_t threads = c.machine.threads;
    if (threads == 1) return "one thread";
    if (!axpy_in_dram(c)) return "B is in the LLC";
    if (floats_of_b(c) <= c.machine.fork_floats) return "a second thread costs more than it brings";
    if (shape.batch != 1 || segments(c) < 2) return "a batch, or one segment";
    const std::int64_t most = ceil_div(segments(c), threads) * jit::kSegment;  // steps of a thread
    const bool is_short = shape.n < threads * kAxpyLong, is_even = 10 * shape.k >= 9 * threads * most;
    if (!is_short && !is_even) return "long rows, and segments that are not alike long";
    if (shape.n > kAxpyPanel || segments(c) * shape.m * shape.n > kAxpySegmentFloats)
        return "too many accumulators";
    return kApplies;
}
void split_k(Case& c) { c.schedule.split = Split::k_segments; }
const char* against_axpy_columns(const Case& c) {
    if (c.problem.whole_rows()) return "the epilogue needs whole rows";
    return floats_of_b(c) <= c.machine.fork_floats ? "a second thread costs more than it brings" : kApplies;
}
void split_axpy_columns(Case& c) {
    c.schedule.split = Split::columns;
    c.schedule.n_parts = std::min<std::int64_t>(c.machine.threads, ceil_div(shape_of(c).n, kCutColumns));
}
void take_axpy_workers(Case& c) {
    c.schedule.workers =
        static_cast<int>(std::min<std::int64_t>(c.machine.threads, shape_of(c).batch * c.schedule.n_parts));
}
std::int64_t axpy_part(const Case& c) {
    return round_up(ceil_div(shape_of(c).n, c.schedule.n_parts), kCutColumns);
}
void take_axpy_panel(Case& c, std::int64_t most, std::int64_t pad) {
    c.schedule.nc = std::min(axpy_part(c), most);
    c.schedule.accumulator_stride = c.schedule.nc + pad;
}
const char* against_apart(const Case& c) {
    if (!is_avx2(c)) return "not AVX2";
    if (shape_of(c).m < kAxpyApartRows) return "too few rows";
    return axpy_in_dram(c) ? "B is in DRAM" : kApplies;
}
const char* against_axpy_stream_panel(const Case& c) {
    if (!axpy_in_dram(c)) return "B is in the LLC";
    if (shape_of(c).m != 1) return "several rows";
    return c.schedule.n_parts > 1 || c.schedule.split == Split::k_segments ? "several threads" : kApplies;
}
// How many rows of B are read at once, and what is prefetched meanwhile: the memory in its order, where one
// thread reads whole rows; the same columns of the next rows, where threads have columns each; else as many
// rows further on. A processor that does not gain by repeated prefetches follows one row by itself, unless
// threads have few columns each: two or four rows of each are enough streams then.
bool axpy_is_shared(const Case& c) { return c.schedule.workers > 1; }
bool axpy_is_long(const Case& c) { return c.schedule.nc >= kAxpyLong; }
bool axpy_is_followed(const Case& c) {
    return !c.machine.wants_repeated_prefetch && axpy_rows(c) == 1 && (axpy_is_long(c) || !axpy_is_shared(c));
}
const char* against_next_rows(const Case& c) {
    if (!axpy_in_dram(c)) return "B is in the LLC";
    return axpy_is_followed(c) ? "the processor follows one row by itself" : kApplies;
}
const char* against_next_lines(const Case& c) { return axpy_rows(c) == 1 ? "one row" : kApplies; }
// More rows at once gain where they are long and do not meet in the same sets of a cache.
void take_axpy_steps(Case& c) {
    Schedule& s = c.schedule;
    s.prefetch.distance = s.steps =
        jit::axpy_steps(c.machine.isa, static_cast<int>(axpy_rows(c)), s.prefetch.axpy);
    const bool is_wide_enough = !axpy_is_shared(c) && shape_of(c).n >= kAxpyWide &&
                                off_multiple(shape_of(c).ldb, c.machine.page_floats) >= kAxpyConflictFloats;
    if (!is_wide_enough) s.steps = std::min(s.steps, kAxpyRestSteps);
    s.rest_steps = kAxpyRestSteps;
}
const char* against_row_from_dram(const Case& c) {
    if (!axpy_in_dram(c)) return "B is in the LLC";
    return axpy_rows(c) > 1 ? "several rows" : kApplies;
}
const char* against_shared_row(const Case& c) {
    if (const char* why = against_row_from_dram(c)) return why;
    return axpy_is_shared(c) ? kApplies : "one thread";
}
void take_shared_row(Case& c) {
    Schedule& s = c.schedule;
    const bool repeats = c.machine.wants_repeated_prefetch;
    if (repeats) s.prefetch.axpy = jit::AxpyPrefetch::below;
    s.steps = repeats ? 1 : axpy_is_long(c) ? 4 : 2;
    s.prefetch.distance = 2 * s.steps;
}
const char* against_alone_row(const Case& c) {
    if (const char* why = against_row_from_dram(c)) return why;
    if (axpy_is_shared(c)) return "several threads";
    return axpy_is_followed(c) ? "the processor follows one row by itself" : kApplies;
}
const char* against_stream(const Case& c) {
    if (const char* why = against_alone_row(c)) return why;
    const ProductShape& shape = shape_of(c);
    const bool is_stream = shape.n <= kAxpyPanel && shape.ldb == shape.n && shape.n % kLineFloats == 0;
    return is_stream ? kApplies : "rows of B are no one stream";
}
void take_stream(Case& c) { c.schedule.prefetch.axpy = jit::AxpyPrefetch::next; }
const char* against_short_row(const Case& c) {
    if (const char* why = against_alone_row(c)) return why;
    if (!against_stream(c)) return "rows of B are one stream";
    return c.schedule.nc < (is_avx2(c) ? kAxpyShortAvx2 : kAxpyShort) ? kApplies : "rows are long enough";
}
void take_short_row(Case& c) {
    c.schedule.steps = 1;
    c.schedule.prefetch.distance = 2;
}
const char* against_segment_workers(const Case& c) {
    return c.schedule.split == Split::k_segments ? kApplies : "threads have columns";
}
void take_segment_workers(Case& c) {
    c.schedule.workers = static_cast<int>(std::min<std::int64_t>(c.machine.threads, segments(c)));
}

// ---- Skinny: the dot form --------------------------------------------------------------------------------

std::int64_t dot_tiles(const Case& c) { return ceil_div(shape_of(c).m, jit::dot_rows(c.machine.isa)); }
const char* against_dot_stream(const Case& c) {
    if (!in_dram(c)) return "B is in the LLC";
    return c.machine.wants_repeated_prefetch ? kApplies : "the machine follows plain reads";
}
// Where rows of B lie some multiple of 2 KiB apart, 16 of them meet in two sets of L1 or in one: a quarter of
// a line at a time, each line would come from L2 four times. Else this gains only where few rows of A share
// the work.
const char* against_dot_lines(const Case& c) { return is_avx512(c) ? kApplies : "not AVX-512"; }
// DRAM is slower than one chain, and follows 16 rows better than 32.
const char* against_dot_groups(const Case& c) {
    if (dot_tiles(c) > 1) return "several tiles of rows";
    return in_dram(c) ? "B is in DRAM" : kApplies;
}
const char* against_dot_threads(const Case& c) {
    return floats_of_b(c) > c.machine.fork_floats ? kApplies : "a second thread costs more than it brings";
}

// ---- Prepacked -------------------------------------------------------------------------------------------

DType format_of(const Case& c) {
    return c.problem.format == DType::f32 ? DType::f32_panels : c.problem.format;
}
bool is_half(DType format) { return format == DType::bf16 || format == DType::f16; }
// One row of f32 or of two bytes a weight, where one stream that is prefetched is the fastest way to read. A
// panel alone takes no longer than the memory needs to bring it; smaller weights, or more rows, would wait
// for the chain.
const char* against_one_stream(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (!c.machine.wants_repeated_prefetch) return "the machine follows plain reads";
    if (shape.m != 1) return "several rows";
    if (has_scales(format_of(c))) return "weights of a byte or less wait for the chain";
    const auto panels = static_cast<std::uint64_t>(ceil_div(shape.n, kStoredPanel)),
               bytes = static_cast<std::uint64_t>(stored_panel_bytes(format_of(c), shape.k));
    const double most = c.machine.dram_use_of_panels;
    const bool is_far = c.problem.request.cache_use > most || c.machine.cache_use(panels * bytes) > most;
    return is_far ? kApplies : "B is in the LLC";
}
// A panel of two bytes a weight takes exactly as long as one thread's memory needs to bring it, so that every
// wait is lost; two panels at once catch up. Threads whose cores share an LLC wait for DRAM anyway and
// read one panel better; where each has its own, they are as one thread alone.
void take_one_stream(Case& c) {
    Schedule& s = c.schedule;
    s.prefetch.packed = jit::PackedPrefetch::stream;
    s.panels = c.machine.threads == 1 && is_half(format_of(c)) ? 2 : 1;
    if (c.machine.threads > 1 && is_half(format_of(c))) s.panels_without_shared_llc = 2;
}
// Few rows: many panels, whose chains hide each other's latency. More rows: fewer, as many as registers hold.
// One row of AVX2 reads four where that is faster: not int4, nor two bytes a weight by several threads.
void take_panels(Case& c) {
    const std::int64_t m = shape_of(c).m;
    const DType format = format_of(c);
    const bool four = m == 1 && format != DType::int4 && (c.machine.threads == 1 || !is_half(format));
    c.schedule.panels = is_avx512(c)             ? (m <= kManyPanelsRows ? 4 : 2)
                        : four                   ? 4
                        : m <= kTwoPanelRowsAvx2 ? 2
                                                 : 1;
}
std::int64_t packed_tiles(const Case& c) {
    return std::max<std::int64_t>(
        1, ceil_div(shape_of(c).m, jit::packed_rows(c.machine.isa, c.schedule.panels)));
}
// Where repeated prefetches do not pay, f32 is faster without any, smaller weights with one.
const char* against_next_panels(const Case& c) {
    if (c.schedule.prefetch.packed == jit::PackedPrefetch::stream) return "B is one stream";
    if (packed_tiles(c) > 1) return "several tiles of rows";
    return c.machine.wants_repeated_prefetch || format_of(c) != DType::f32_panels
               ? kApplies
               : "the machine follows plain reads of f32";
}
const char* against_dequantise(const Case& c) {
    if (!c.machine.has_code()) return "no machine code";
    if (format_of(c) == DType::f32_panels) return "the weights are f32";
    return packed_tiles(c) >= kDequantiseTiles ? kApplies : "too few tiles of rows share the work";
}
const char* against_packed_threads(const Case& c) {
    if (c.problem.whole_rows()) return "the epilogue needs whole rows";
    const double work = floats_of_b(c) * static_cast<double>(std::max<std::int64_t>(shape_of(c).m, 1));
    return work > c.machine.fork_weights ? kApplies : "a second thread costs more than it brings";
}
void take_packed_threads(Case& c) {
    const std::int64_t panels = ceil_div(shape_of(c).n, kStoredPanel);
    c.schedule.workers = static_cast<int>(std::min<std::int64_t>(
        c.machine.threads, std::max<std::int64_t>(1, ceil_div(panels, c.schedule.panels))));
}

// ---- Slices of a narrow product --------------------------------------------------------------------------

// Its own copy for each thread: what the other cores wrote comes more slowly than it is written again.
const char* against_copied_rows_of_b(const Case& c) {
    const ProductShape& shape = shape_of(c);
    if (shape.a_transposed) return "A is stored transposed";
    if (shape.b_transposed) return "B is of rows along k";
    return shape.n > 1 || shape.ldb > 1 ? kApplies : "B is one row";
}
void take_slice_rows(Case& c) {
    const ProductShape& shape = shape_of(c);
    const double steps = static_cast<double>(shape.m * shape.n) * static_cast<double>(shape.k);
    const std::int64_t shares = steps < c.machine.fork_steps ? 1 : c.machine.threads;
    const std::int64_t slices = shares * ceil_div(shape.m, shares * kSliceRows);
    c.schedule.slice_rows = std::min(round_up(ceil_div(shape.m, slices), kSliceCutRows), shape.m);
    c.schedule.workers = static_cast<int>(std::min(shares, ceil_div(shape.m, c.schedule.slice_rows)));
}

// ---- The table -------------------------------------------------------------------------------------------

using R = Rules;
using D = Decides;
constexpr const char *kPrefetching = "decisions/0007-how-weights-come-from-memory.md",
                     *kForItsTile = "decisions/0012-packed-for-its-tile.md",
                     *kCopiedFirst = "decisions/0010-avx2-copies-b.md",
                     *kTopology = "decisions/0016-topology.md",
                     *kInPlace = "decisions/0017-in-place-or-packed.md",
                     *kOwnership = "decisions/0018-ownership-of-c.md",
                     *kNarrow = "decisions/0014-few-columns.md", *kTuning = "matmul_tuning.md", *kFacts = "";

// clang-format off
constexpr Rule kRules[] = {
    // The way. The first that applies has it.
    {R::way, D::way, "packed-weights", kFacts,
     [](const Case& c) { return c.problem.format != DType::f32 ? kApplies : "B is f32"; },
     take_algorithm<Algorithm::prepacked>},
    {R::way, D::way, "gathered-blocks", kFacts, against_gathered_a, take_algorithm<Algorithm::blocked>},
    {R::way, D::way, "chosen-blocks", kTuning, against_chosen_blocks, take_algorithm<Algorithm::blocked>},
    {R::way, D::way, "prepacked-row", kPrefetching,
     against_prepacked_row, take_algorithm<Algorithm::prepacked>},
    {R::way, D::way, "narrow-n-of-rows", kNarrow, against_narrow_n_of_rows, take_slices},
    {R::way, D::way, "narrow-n-of-columns", kNarrow, against_narrow_n_of_columns, take_slices},
    {R::way, D::way, "axpy-avx2", kInPlace, against_axpy_avx2, take_algorithm<Algorithm::skinny_axpy>},
    {R::way, D::way, "axpy-wide", kPrefetching, against_axpy_wide, take_algorithm<Algorithm::skinny_axpy>},
    {R::way, D::way, "dot", kPrefetching, against_dot, take_algorithm<Algorithm::skinny_dot>},
    {R::way, D::way, "transposed-c", kForItsTile,
     against_transposed_c, [](Case& c) { take(c, Algorithm::blocked, Transposed::c_tiles); }},
    {R::way, D::way, "blocked", kFacts, always, take_algorithm<Algorithm::blocked>},

    {R::blocked, D::b, "prepack-b", kForItsTile,
     against_prepack_b, [](Case& c) { c.schedule.b = Packing::prepacked; }},
    {R::blocked, D::b, "chosen-b", kTuning, against_chosen_b, pack_b_as_chosen},
    {R::blocked, D::b, "transposed-b", kFacts, against_transposed_b, pack_b_per_call},
    {R::blocked, D::b, "few-rows-in-place", kInPlace, against_few_rows_in_place, leave_b_in_place},
    {R::blocked, D::b, "small-in-place", kInPlace, against_small_in_place, leave_b_in_place},
    {R::blocked, D::b, "some-rows-in-place", kInPlace, against_some_rows_in_place, leave_b_in_place},
    {R::blocked, D::b, "pack-b", kFacts, always, pack_b_per_call},

    {R::blocked, D::split, "columns-of-threads", kTopology,
     against_columns_of_threads, [](Case& c) { c.schedule.split = Split::columns; }},

    {R::blocked, D::tile, "chosen-tile", kTuning, against_forced_tile, take_forced_tile},
    {R::blocked, D::tile, "line-pairs", kPrefetching,
     against_line_pairs, [](Case& c) { set_tile(c, "f32_gemm_8x32_avx512"); }},
    {R::blocked, D::tile, "even-columns", kTopology,
     against_even_columns, [](Case& c) { set_tile(c, "f32_gemm_6x64_avx512"); }},
    {R::blocked, D::tile, "a-set-conflict", kNarrow,
     against_a_set_conflict, [](Case& c) { set_tile(c, conflict_tile(c)); }},
    {R::blocked, D::tile, "cheapest-tile", kFacts, always, take_cheapest_tile},
    {R::blocked, D::amends, "low-tile-for-small", kForItsTile,
     against_low_tile, [](Case& c) { set_tile(c, low_tile(c)); }},

    {R::blocked, D::a, "gather-a", kFacts,
     against_gathered_a, [](Case& c) { c.schedule.a = Packing::per_call; }},
    {R::blocked, D::a, "chosen-a", kTuning, against_chosen_a, pack_a_as_chosen},
    {R::blocked, D::a, "pack-a", kForItsTile,
     against_pack_a, [](Case& c) { c.schedule.a = Packing::per_call; }},

    {R::blocked, D::order, "chosen-order", kTuning,
     against_chosen_order,
     [](Case& c) {
         c.schedule.order = c.choice.order == TileOrder::columns ? LoopOrder::columns : LoopOrder::rows;
     }},
    {R::blocked, D::order, "columns-outside", kForItsTile,
     against_columns_outside, [](Case& c) { c.schedule.order = LoopOrder::columns; }},

    {R::blocked, D::prefetch, "chosen-prefetch", kTuning, against_chosen_prefetch, prefetch_as_chosen},
    {R::blocked, D::prefetch, "prefetch-from-dram", kPrefetching,
     against_prefetch_in_dram, prefetch_from_dram},
    {R::blocked, D::prefetch, "prefetch-from-cache", kPrefetching,
     against_prefetch_in_cache, [](Case& c) { c.schedule.prefetch.distance = kDistanceInCache; }},
    {R::blocked, D::amends, "repeated-prefetch", kPrefetching,
     against_repeated_prefetch, [](Case& c) { c.schedule.prefetch.repeated = true; }},
    {R::blocked, D::amends, "chosen-unroll", kTuning,
     against_chosen_unroll, [](Case& c) { c.schedule.unroll = c.choice.unroll; }},

    {R::blocked, D::amends, "cheapest-grid", kFacts, always, choose_grid},
    {R::blocked, D::amends, "share-columns", kTopology, against_sharing_columns, share_columns},
    {R::blocked, D::amends, "keep-the-grid", kFacts,
     against_keeping_the_grid, [](Case& c) { c.schedule.split = Split::grid; }},
    {R::blocked, D::amends, "transposed-rows", kFacts, against_transposed_rows, slice_transposed_rows},
    {R::blocked, D::amends, "pack-on-first-use", kForItsTile, against_first_use, pack_on_first_use},

    {R::blocked, D::kc, "long-k", kForItsTile, against_long_k, cut_long_k},
    {R::blocked, D::kc, "whole-k", kFacts, always, take_whole_k},
    {R::blocked, D::amends, "segments-of-columns", kForItsTile,
     against_segments_of_columns, take_one_segment},
    {R::blocked, D::amends, "segments-of-a", kForItsTile, against_segments_of_a, take_a_segment_at_most},
    {R::blocked, D::amends, "wide-kc", kCopiedFirst, against_wide, take_wide_kc},
    {R::blocked, D::nc, "whole-part", kFacts, against_nc_in_place, take_part_columns},
    {R::blocked, D::nc, "wide-nc", kCopiedFirst, against_wide, take_wide_nc},
    {R::blocked, D::nc, "nc-of-copied-a", kForItsTile, against_nc_of_copied_a, take_nc_of_copied_a},
    {R::blocked, D::nc, "nc-in-l2", kFacts, always, take_nc_in_l2},
    {R::blocked, D::amends, "streamed-b", kForItsTile, against_streamed_b, stream_b},
    {R::blocked, D::amends, "panels-to-steal", kCopiedFirst, against_panels_to_steal, cut_panels_to_steal},
    {R::blocked, D::amends, "mc-in-l2", kFacts, always, take_mc_in_l2},
    {R::blocked, D::amends, "whole-shares", kForItsTile, against_whole_shares, take_whole_shares},
    {R::blocked, D::amends, "panels-of-columns", kOwnership,
     against_panels_of_columns, cut_panels_of_columns},
    {R::blocked, D::amends, "chosen-kc-nc-mc", kTuning, against_chosen_blocks_of, take_chosen_blocks},
    {R::blocked, D::amends, "fitting-accumulators", kFacts, against_fitting_accumulators, take_chosen_blocks},
    {R::blocked, D::amends, "prefetch-a", kOwnership,
     against_prefetch_a, [](Case& c) { c.schedule.prefetch.a = true; }},
    {R::blocked, D::amends, "held-b", kCopiedFirst,
     against_held_b, [](Case& c) { c.schedule.holds_b = true; }},
    {R::blocked, D::amends, "row-slices", kForItsTile, against_row_slices, cut_row_slices},
    {R::blocked, D::amends, "transposed-slices", kFacts, against_transposed_slices, cut_transposed_slices},

    {R::skinny_axpy, D::split, "k-segments", kPrefetching, against_k_segments, split_k},
    {R::skinny_axpy, D::split, "columns-each", kFacts, against_axpy_columns, split_axpy_columns},
    {R::skinny_axpy, D::amends, "threads-of-columns", kFacts, always, take_axpy_workers},
    {R::skinny_axpy, D::nc, "accumulators-apart", kInPlace,
     against_apart,
     [](Case& c) {
         c.schedule.accumulators_apart = true;
         take_axpy_panel(c, kAxpyApartPanel, kAxpyApartPad);
     }},
    {R::skinny_axpy, D::nc, "panel-of-stream", kInPlace,
     against_axpy_stream_panel, [](Case& c) { take_axpy_panel(c, kAxpyPanelOfStream, 0); }},
    {R::skinny_axpy, D::nc, "panel-in-cache", kFacts,
     always, [](Case& c) { take_axpy_panel(c, kAxpyPanel, 0); }},
    {R::skinny_axpy, D::prefetch, "next-rows", kPrefetching,
     against_next_rows, [](Case& c) { c.schedule.prefetch.axpy = jit::AxpyPrefetch::rows; }},
    {R::skinny_axpy, D::prefetch, "next-lines", kPrefetching,
     against_next_lines, [](Case& c) { c.schedule.prefetch.axpy = jit::AxpyPrefetch::near; }},
    {R::skinny_axpy, D::amends, "rows-at-once", kPrefetching, always, take_axpy_steps},
    {R::skinny_axpy, D::amends, "shared-row", kTopology, against_shared_row, take_shared_row},
    {R::skinny_axpy, D::amends, "stream", kPrefetching, against_stream, take_stream},
    {R::skinny_axpy, D::amends, "short-row", kPrefetching, against_short_row, take_short_row},
    {R::skinny_axpy, D::amends, "threads-of-segments", kFacts, against_segment_workers, take_segment_workers},

    {R::skinny_dot, D::amends, "dot-stream", kPrefetching,
     against_dot_stream, [](Case& c) { c.schedule.prefetch.stream = true; }},
    {R::skinny_dot, D::amends, "whole-lines", kPrefetching,
     against_dot_lines,
     [](Case& c) {
         const bool meet = off_multiple(shape_of(c).ldb, kDotConflictFloats) < kLineFloats;
         c.schedule.lines = meet || shape_of(c).m / dot_tiles(c) <= kDotLineRows;
     }},
    {R::skinny_dot, D::amends, "several-groups", kPrefetching,
     against_dot_groups,
     [](Case& c) { c.schedule.groups = jit::dot_groups(c.machine.isa, static_cast<int>(shape_of(c).m)); }},
    {R::skinny_dot, D::amends, "dot-panel", kFacts, always, [](Case& c) { c.schedule.nc = kDotPanel; }},
    {R::skinny_dot, D::amends, "dot-threads", kFacts,
     against_dot_threads,
     [](Case& c) {
         c.schedule.workers = static_cast<int>(std::min<std::int64_t>(c.machine.threads,
             ceil_div(shape_of(c).n, kDotPanel)));
     }},

    {R::prepacked, D::split, "one-stream", kPrefetching, against_one_stream, take_one_stream},
    {R::prepacked, D::split, "several-panels", kPrefetching, always, take_panels},
    {R::prepacked, D::amends, "next-panels", kPrefetching,
     against_next_panels, [](Case& c) { c.schedule.prefetch.packed = jit::PackedPrefetch::panels; }},
    {R::prepacked, D::amends, "dequantise-once", kFacts,
     against_dequantise, [](Case& c) { c.schedule.dequantise = true; }},
    {R::prepacked, D::amends, "packed-threads", kFacts, against_packed_threads, take_packed_threads},

    {R::slices, D::amends, "copied-rows-of-b", kNarrow,
     against_copied_rows_of_b, [](Case& c) { c.schedule.b = Packing::per_call; }},
    {R::slices, D::amends, "slice-rows", kFacts, always, take_slice_rows},
};
// clang-format on

bool is_of(const Rule& rule, const Schedule& schedule) {
    switch (rule.of) {
        case Rules::way:
            return true;
        case Rules::blocked:
            return schedule.algorithm == Algorithm::blocked && schedule.transposed == Transposed::no;
        case Rules::skinny_axpy:
            return schedule.algorithm == Algorithm::skinny_axpy;
        case Rules::skinny_dot:
            return schedule.algorithm == Algorithm::skinny_dot;
        case Rules::prepacked:
            return schedule.algorithm == Algorithm::prepacked;
        case Rules::slices:
            return schedule.transposed == Transposed::slices;
    }
    return false;
}

}  // namespace

RuleTable rules() { return {kRules, static_cast<int>(sizeof kRules / sizeof kRules[0])}; }

const Rule* find_rule(const char* name) {
    for (const Rule& rule : kRules)
        if (std::strcmp(rule.name, name) == 0) return &rule;
    return nullptr;
}

bool b_is_in_dram(const Problem& problem, const Machine& machine, double most) {
    const auto floats =
        static_cast<std::uint64_t>(problem.shape.k) * static_cast<std::uint64_t>(problem.shape.n);
    return problem.request.cache_use > most || machine.cache_use(floats * sizeof(float)) > most;
}

Schedule without_shared_llc(const Problem& problem, const Machine& machine, const Schedule& schedule) {
    const Overrides none;
    Case c = {problem, machine, none, ProductChoice(), schedule};
    c.schedule.panels = schedule.panels_without_shared_llc;
    c.schedule.panels_without_shared_llc = 0;
    if (!against_packed_threads(c)) take_packed_threads(c);
    return c.schedule;
}

Problem problem_of(const ProductShape& shape, EpilogueKind epilogue, const Request& request, DType format) {
    Problem problem;
    problem.shape = folded(shape);
    problem.entries = shape.batch;
    problem.epilogue = epilogue;
    problem.request = request;
    problem.format = format;
    return problem;
}

ProductShape folded(ProductShape shape) {
    if (shape.batch > 1 && !shape.a_transposed && shape.batch_stride_b == 0 &&
        shape.batch_stride_a == shape.m * shape.lda && shape.batch_stride_c == shape.m * shape.ldc) {
        shape.m *= shape.batch;
        shape.batch = 1;
    }
    return shape;
}

Schedule decide(const Problem& problem, const Machine& machine, const Overrides& overrides,
                const ProductChoice& choice, const Trace* trace) {
    check(choice);
    Case c = {problem, machine, overrides, choice, Schedule()};
    std::uint32_t decided = 0;  // bits of Decides
    for (const Rule& rule : kRules) {
        if (!is_of(rule, c.schedule)) continue;
        const std::uint32_t bit = rule.decides == Decides::amends ? 0 : 1u << static_cast<int>(rule.decides);
        const bool is_off = overrides.without_rule && is_measured(rule) &&
                            std::strcmp(overrides.without_rule, rule.name) == 0;
        const char* const why_not = (decided & bit) != 0 ? "decided before"
                                    : is_off             ? "switched off"
                                                         : rule.against(c);
        if (why_not == nullptr) {
            rule.then(c);
            decided |= bit;
        }
        if (trace != nullptr) trace->visit(trace->self, rule, why_not);
    }
    return c.schedule;
}

}  // namespace volta::cpu
