#include "engine/backend/cpu/gemm/plan.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

// What stays in a core's L2 while it is used: packed columns of B, and the rows of A that meet them.
constexpr std::int64_t kPanelFloats = 96 * 1024;
constexpr std::int64_t kBlockFloats = 64 * 1024;
constexpr std::int64_t kMostDepth = 4096;           // steps of k; 48 columns of them are 768 KiB
constexpr std::int64_t kMostDepthOfColumns = 1024;  // packs_columns: beyond it a pass is one segment
constexpr std::int64_t kWideRow = 8192;             // floats: a new page, or two, with each step of k
constexpr std::int64_t kRowsInPlace = 192, kRowsInPlaceOfAvx2 = 64;     // reads_rows
constexpr std::int64_t kPageFloats = 1024, kApartFloats = jit::kPanel;  // rows_conflict, rows_of_a_conflict
constexpr std::int64_t kColumnsThatWait = 16,
                       kColumnsOfAvx2 = 8;  // so many fill a vector of 512, of 256 bits
// Wide passes (has_wide_passes): six rows of A, one segment of k long, stay in L1, and the columns of B in
// L3, so that A and C are walked few times. A B that few rows use is copied in blocks that stay in L2.
constexpr std::int64_t kWideFloats = 1536 * jit::kSegment;
constexpr std::int64_t kFewRows = 32, kFewRowsDepth = 128, kFewRowsFloats = 768 * 128;
// Groups of one thread with AVX-512 (widest_for_one): floats of A that are walked as seldom as may be, where
// B was packed once and where each call packs it.
constexpr std::int64_t kFarAFloats = 256 * 1024, kFarAFloatsOfPacking = 768 * 1024,
                       kWideFloatsOfOne = 1280 * 1024;
constexpr std::int64_t kNarrowTileRows = 6;                           // is_fetched_again
constexpr std::int64_t kGroupsOfThread = 4, kLeastGroupColumns = 96;  // what threads can take from each other
// Floats of B that L2 does not keep: the hardware does not see where a tile's columns go on in the next row.
constexpr std::int64_t kPrefetchedFloats = 64 * 1024;
// Steps ahead that B is prefetched, where it lies in L3 and where in memory.
constexpr int kPrefetchOfCached = 32, kPrefetchOfFar = 64, kPrefetchOfFarLong = 48;
constexpr std::int64_t kLongRow = 3072;  // floats: so many rows ahead push each other out of L2
constexpr std::int64_t kMostRowsByColumns = 128, kLeastColumnsOfThread = 128;  // takes_columns
constexpr std::int64_t kTransposedRows = jit::kPrefetchCColumns;               // transpose_slices
constexpr double kStartCycles = 6000;  // of a second thread: about 0.2 MFLOP on one core
constexpr double kPackCyclesPerFloat = 0.5, kPackInTileCyclesPerFloat = 0.1;
constexpr double kWriteCyclesPerFloat = 1;  // of C, to lines that other cores have; up to 4 between far ones
// What a chosen block may cost at most, per thread: a choice may come from a file.
constexpr std::int64_t kMostPackedFloats = 4 * 1024 * 1024;
constexpr std::int64_t kMostAccumulatorFloats = 4 * 1024 * 1024;

// A tile of AVX2 holds only some of so few rows: each tile would fetch anew a B that is beyond L2, a line per
// row of it.
bool is_fetched_again(const ProductShape& shape, Isa isa) {
    return isa == Isa::avx2 && shape.m > kNarrowTileRows && shape.m <= jit::kMaxTileRows &&
           shape.k * shape.n >= kL2Floats;
}

// The rows of such a B do not collide in L1, where reading them is as fast as reading panels, or faster.
bool is_small(const ProductShape& shape) {
    return !shape.b_transposed && shape.m <= 128 && shape.n <= 128 && shape.k <= 128;
}

// A tile's columns of B lie in one set of a cache, or in few: what L2 could hold drives itself out.
bool rows_conflict(const ProductShape& shape) {
    const std::int64_t behind = shape.ldb % kPageFloats;
    return std::min(behind, kPageFloats - behind) < kApartFloats;
}

// Rows of A lie whole pages apart, or nearly: the lines of a tile's rows meet in one set of L1, which holds
// eight. Columns enough hide that the others come from L2 again for every step; these do not.
bool rows_of_a_conflict(const ProductShape& shape) {
    const std::int64_t behind = shape.lda % kPageFloats;
    return !shape.a_transposed && shape.n <= kColumnsThatWait && shape.k >= kPageFloats &&
           std::min(behind, kPageFloats - behind) < kApartFloats;
}

// So few rows that packing B costs more than its rows do, which are read anew for each tile of rows, from L2
// mostly.
bool reads_rows(const ProductShape& shape, const CompileContext& context) {
    if (b_is_in_dram(context, shape) || shape.ldb >= kWideRow || rows_conflict(shape)) return false;
    if (context.machine.isa == Isa::avx512) return shape.m <= kRowsInPlace;
    return shape.m <= kRowsInPlaceOfAvx2 && shape.k * shape.ldb < kL2Floats;
}

// B is read in place when it is used for few rows, or when it is small.
bool packs_b(const ProductShape& shape, const CompileContext& context) {
    if (shape.b_transposed) return true;
    const bool few_rows = shape.m <= (shape.ldb < kWideRow ? jit::kMaxTileRows : 4) &&
                          !is_fetched_again(shape, context.machine.isa);
    return !few_rows && !is_small(shape) && !reads_rows(shape, context);
}

// A transposed A is read in place by AVX-512: a step of its tiles lasts long enough to hide the misses
// of a new row of A per step. AVX2's steps do not (75 instead of 89 % of the peak), and a copy is cheap when
// many columns use it.
bool packs_a(const ProductPlan& plan) {
    const bool short_steps = plan.tile->isa == Isa::avx2;
    return plan.shape.a_transposed && plan.pack_b && short_steps && plan.shape.n > plan.tile->nr;
}

// AVX2's passes over a B that is copied first, or was packed once: one segment deep, and wide.
bool has_wide_passes(const ProductPlan& plan) {
    return plan.tile->isa == Isa::avx2 && plan.pack_b && !plan.packs_on_first_use();
}

// Columns of a group, at most, where one thread computes with AVX-512 (0: what L2 holds, as everywhere else).
// Packed for its tile B is one stream, which comes from L3 as fast as it is multiplied, and an A that comes
// from there too does not: it is walked as seldom as may be. One or two tiles of rows use each column of B so
// few times that a group would only interrupt the stream.
std::int64_t widest_for_one(const ProductPlan& plan) {
    const ProductShape& shape = plan.shape;
    if (plan.tile->isa != Isa::avx512 || !plan.pack_b || plan.workers > 1 || shape.a_transposed) return 0;
    if (plan.prepacked && shape.m <= 2 * plan.tile->mr) return shape.n;
    const std::int64_t far = plan.prepacked ? kFarAFloats : kFarAFloatsOfPacking;
    return shape.m * plan.depth > far ? kWideFloatsOfOne / plan.depth : 0;
}

double pack_b_cycles(const ProductPlan& plan, double n) {
    if (!plan.pack_b || plan.prepacked) return 0;
    const double each = plan.packs_on_first_use() ? kPackInTileCyclesPerFloat : kPackCyclesPerFloat;
    return each * static_cast<double>(plan.shape.k) * n;
}

double part_cycles(const ProductPlan& plan, std::int64_t m, std::int64_t n) {
    const double k = static_cast<double>(plan.shape.k);
    double cycles = block_cycles(plan.machine, *plan.tile, m, n) * k;
    // Also where it costs less than this: threads that share B's columns pack, and hold, less.
    if (plan.pack_b && !plan.prepacked) cycles += kPackCyclesPerFloat * k * static_cast<double>(n);
    if (plan.pack_a) cycles += kPackCyclesPerFloat * k * static_cast<double>(m);
    // So few steps hide the writing of C only in part.
    const double bare = 1 - k / jit::kPrefetchCSteps;
    return cycles + std::max(bare, 0.0) * kWriteCyclesPerFloat * static_cast<double>(m * n);
}

// Until the last of `workers` threads has ended its parts.
double grid_cycles(const ProductPlan& plan, int workers) {
    const std::int64_t tiles = ceil_div(plan.shape.n, plan.tile->nr);
    const std::int64_t m = ceil_div(plan.shape.m, plan.m_parts);
    const std::int64_t n = std::min(ceil_div(tiles, plan.n_parts) * plan.tile->nr, plan.shape.n);
    const double turns = static_cast<double>(ceil_div(plan.parts(), workers));
    return turns * part_cycles(plan, m, n) + (workers > 1 ? kStartCycles : 0);
}

// The grid of parts with the earliest end; near ties go to fewer parts, and to cuts of m before cuts of n.
void choose_grid(ProductPlan& plan, bool whole_rows, std::int64_t threads) {
    const std::int64_t most_n = whole_rows ? 1 : std::min(threads, ceil_div(plan.shape.n, plan.tile->nr));
    double best = grid_cycles(plan, 1);
    ProductPlan chosen = plan;
    for (plan.n_parts = 1; plan.n_parts <= most_n; ++plan.n_parts) {
        const std::int64_t most_m = std::min(threads / plan.n_parts, plan.shape.m);
        for (plan.m_parts = 1; plan.m_parts <= most_m; ++plan.m_parts) {
            plan.workers = static_cast<int>(std::min(threads, plan.parts()));
            const double cycles = grid_cycles(plan, std::max(plan.workers, 1));
            if (cycles >= best * 0.99) continue;
            best = cycles;
            chosen = plan;
        }
    }
    plan = chosen;
}

// Threads that cut few rows would read all of B each, in place. Those that cut its columns read their
// own, which stay in their caches; and what no other core has read of a weight is updated without taking it
// back from there.
bool takes_columns(const ProductPlan& plan, bool whole_rows, const CompileContext& context) {
    const ProductShape& shape = plan.shape;
    return !whole_rows && !plan.pack_b && shape.batch == 1 && context.machine.threads > 1 &&
           shape.m > jit::kMaxTileRows && shape.m <= kMostRowsByColumns &&
           shape.n >= context.machine.threads * kLeastColumnsOfThread;
}

// The same, where a thread's first tile of rows packs its columns.
bool packs_columns(const ProductPlan& plan) {
    return plan.tile->isa == Isa::avx512 && plan.packs_on_first_use() && plan.n_parts > 1 &&
           plan.shape.m <= kMostRowsByColumns;
}

// Rows of C that is transposed, one thread's of them: whole lines, once they are columns.
std::int64_t share_of_transposed(const ProductPlan& plan, int threads) {
    return round_up(ceil_div(plan.shape.m, threads), jit::kPanel);
}

// Threads take its rows from each other in slices that are in L1 when they are turned, four lines of each of
// their columns. (Those of a B that each slice would have to pack anew are whole shares.)
void transpose_slices(ProductPlan& plan, int threads) {
    plan.m_parts = plan.n_parts = 1;
    const std::int64_t share = share_of_transposed(plan, threads);
    plan.transposed_rows = std::min(share, kTransposedRows);
    plan.workers = static_cast<int>(ceil_div(plan.shape.m, share));
}

void choose_blocks(ProductPlan& plan) {
    const ProductShape& shape = plan.shape;
    plan.depth = shape.k;
    if (plan.pack_b && shape.k > kMostDepth) {  // passes of equal length, cut where segments are
        const std::int64_t passes = ceil_div(shape.k, kMostDepth);
        plan.depth = round_up(ceil_div(shape.k, passes), jit::kSegment);
    }
    // L2 holds the columns that are packed, those that are prefetched and the steps of A that meet them.
    if (packs_columns(plan) && shape.k > kMostDepthOfColumns) plan.depth = jit::kSegment;
    const std::int64_t nr = plan.tile->nr, mr = plan.tile->mr;
    // A copied A is copied again for every group of columns, so there the groups are large (and lie in L3).
    std::int64_t floats = plan.pack_a ? 16 * kPanelFloats : kPanelFloats;
    if (plan.pack_a && shape.a_transposed)
        plan.depth = std::min(plan.depth, jit::kSegment);  // a tile of A stays in L1
    const bool wide = has_wide_passes(plan);
    if (wide) {
        const bool few_rows = shape.m <= kFewRows && !plan.prepacked;
        plan.depth = std::min(plan.depth, few_rows ? kFewRowsDepth : jit::kSegment);
        floats = few_rows ? kFewRowsFloats : kWideFloats;
    }
    const std::int64_t depth = std::max<std::int64_t>(plan.depth, 1);
    const std::int64_t part_columns = round_up(ceil_div(shape.n, plan.n_parts), nr);
    plan.nc = plan.pack_b ? std::min(part_columns, std::max(nr, floats / depth / nr * nr)) : part_columns;
    std::int64_t longest = depth;  // row of a block, of A or of C
    if (const std::int64_t widest = widest_for_one(plan)) {
        const std::int64_t groups = std::max<std::int64_t>(ceil_div(part_columns, std::max(widest, nr)), 1);
        plan.nc = round_up(ceil_div(part_columns, groups), nr);
        longest = std::max(longest, plan.nc);  // what follows finds C in L2
    }
    // Each group walks A anew: not where that is copied, or comes from DRAM.
    if (wide && plan.workers > 1 && !plan.pack_a && shape.k <= kMostDepth) {
        const std::int64_t group = std::max(part_columns / kGroupsOfThread, kLeastGroupColumns);
        plan.nc = std::min(plan.nc, round_up(group, nr));
    }
    plan.mc = std::max(mr, kBlockFloats / longest / mr * mr);
}

// Threads that read their own columns take them from each other in groups, not in slices of rows, each of
// which would read all of the columns again: a group's come once from where they are, and from L2 for the
// other rows. Only the first group's come beside nothing else.
void choose_column_groups(ProductPlan& plan) {
    const double steps =
        static_cast<double>(plan.shape.m) * static_cast<double>(std::max<std::int64_t>(plan.shape.k, 1));
    const auto columns = static_cast<std::int64_t>(std::ceil(kUnitSteps / steps));
    // Packed columns are few streams: A comes into L1 for two tiles of them.
    const std::int64_t least = plan.pack_b ? 2 * plan.tile->nr : 0;
    plan.nc = std::min(plan.nc, std::max(round_up(columns, plan.tile->nr), least));
}

// Chosen blocks in whole tiles, none larger than its extent or its share of memory.
void apply_blocks(ProductPlan& plan, const ProductChoice& choice) {
    const std::int64_t nr = plan.tile->nr, mr = plan.tile->mr;
    const std::int64_t rows = ceil_div(plan.shape.m, plan.m_parts);
    if (choice.k_block > 0) {
        const bool packs = plan.pack_a || plan.pack_b;
        const std::int64_t most = packs ? kMostPackedFloats / jit::kMaxTileColumns : plan.shape.k;
        plan.depth = std::min({plan.shape.k, most,
                               choice.k_block == kWholeExtent ? plan.shape.k : std::int64_t{choice.k_block}});
    }
    // Chains of a column group lie in whole lines.
    const std::int64_t fit_accumulators =
        kMostAccumulatorFloats / std::max<std::int64_t>(rows, 1) / jit::kPanel * jit::kPanel / nr * nr;
    if (plan.carries_accumulators() && fit_accumulators == 0)
        plan.depth = std::min(round_up(plan.depth, jit::kSegment), plan.shape.k);
    const std::int64_t depth = std::max<std::int64_t>(plan.depth, 1);
    if (choice.n_block > 0) {
        const std::int64_t part = round_up(ceil_div(plan.shape.n, plan.n_parts), nr);
        const std::int64_t fit = plan.pack_b ? kMostPackedFloats / depth / nr * nr : part;
        const std::int64_t asked =
            choice.n_block == kWholeExtent ? part : round_up(std::int64_t{choice.n_block}, nr);
        plan.nc = std::max(nr, std::min({part, asked, fit}));
    }
    if (plan.carries_accumulators()) plan.nc = std::min(plan.nc, fit_accumulators);
    if (choice.m_block > 0) {
        const std::int64_t fit = plan.pack_a ? kMostPackedFloats / depth / mr * mr : rows + mr;
        const std::int64_t asked = choice.m_block == kWholeExtent ? rows + mr : choice.m_block / mr * mr;
        plan.mc = std::max(mr, std::min({round_up(rows, mr), asked, fit}));
    }
}

// Of a B that is read in place. From memory a line takes twice as long as from L3, or longer. AVX2's
// short steps have no time to prefetch what the tiles of rows above have brought into L2.
int decide_prefetch(const ProductPlan& plan, bool far) {
    if (plan.pack_b || plan.shape.k * plan.shape.ldb <= kPrefetchedFloats) return 0;
    const bool is_again = plan.tile->isa == Isa::avx2 && plan.shape.m > plan.tile->mr;
    if (!far && is_again && plan.shape.k * plan.shape.ldb < kL2Floats) return 0;
    if (!far) return kPrefetchOfCached;
    return plan.shape.ldb <= kLongRow ? kPrefetchOfFar : kPrefetchOfFarLong;
}

// Rows of A that another core has written, or that come from DRAM: the hardware begins anew with each of
// them. AVX2's steps have no time for it. A tile prefetches whole rows, a line with each step at most.
bool prefetch_a(const ProductPlan& plan, bool shares_columns, const CompileContext& context) {
    if (plan.tile->isa != Isa::avx512 || plan.shape.a_transposed || plan.prepacked || plan.pack_a)
        return false;
    if (plan.depth < plan.shape.k || plan.shape.k == 0) return false;
    if (packs_columns(plan) && 2 * plan.tile->mr <= jit::kPanel) return true;
    return shares_columns || (context.transpose_c && plan.pack_b && plan.nc <= plan.tile->nr);
}

bool decide(Toggle toggle, bool rule) { return toggle == Toggle::rule ? rule : toggle == Toggle::yes; }

// Tiles of a small product last some hundred cycles each: low and wide ones begin and end sooner, which is
// worth more than the loads that they add. Six rows where a tile's columns of B fill most of L1.
const GemmTile& low_tile_if_small(const ProductPlan& plan, const CompileContext& context,
                                  const GemmTile& best) {
    constexpr double kMostCost = 1.1;  // as estimated without beginnings and ends
    constexpr std::int64_t kStepsInL1 = 64;
    if (plan.pack_b || !is_small(plan.shape)) return best;
    if (plan.shape.m < 2 * jit::kMaxTileRows || plan.shape.n <= 2 * jit::kPanel) return best;
    const bool is_narrow = context.machine.isa == Isa::avx2;
    const GemmTile& low = *find_tile(is_narrow                    ? "f32_gemm_3x32_avx2"
                                     : plan.shape.k <= kStepsInL1 ? "f32_gemm_4x64_avx512"
                                                                  : "f32_gemm_6x64_avx512");
    if (!usable(low, context) || (is_narrow && plan.shape.n % low.nr != 0)) return best;
    const auto cycles = [&](const GemmTile& tile) {
        return block_cycles(context.machine, tile, plan.shape.m, plan.shape.n);
    };
    return cycles(low) <= kMostCost * cycles(best) ? low : best;
}

const GemmTile& choose_tile(const ProductPlan& plan, const CompileContext& context,
                            const ProductChoice& choice, bool by_columns) {
    // Memory brings lines in pairs: of a model's weights two lines of each row are better than three. (Not of
    // one B that comes from there call after call.)
    const bool pairs = is_in_dram(context) && !plan.pack_b && context.machine.isa == Isa::avx512 &&
                       plan.shape.m > 4 && plan.shape.m <= 8;
    if (pairs && choice.tile == 0 && !context.forced_tile) {
        const GemmTile* const two_lines = find_tile("f32_gemm_8x32_avx512");
        if (usable(*two_lines, context)) return *two_lines;
    }
    // Of widths of layers the tile of 64 columns leaves threads alike much.
    if (by_columns && context.machine.isa == Isa::avx512 && choice.tile == 0 && !context.forced_tile) {
        const GemmTile* const even = find_tile("f32_gemm_6x64_avx512");
        if (usable(*even, context)) return *even;
    }
    if (rows_of_a_conflict(plan.shape) && choice.tile == 0 && !context.forced_tile) {
        const bool narrow = plan.shape.n <= kColumnsOfAvx2;
        const GemmTile* const low = find_tile(narrow ? "f32_gemm_8x8_avx2" : "f32_gemm_8x48_avx512");
        if (usable(*low, context)) return *low;
    }
    if (choice.tile == 0 || context.forced_tile) {
        const GemmTile& best =
            select_tile(context, plan.shape.m, plan.shape.n, !plan.pack_b, plan.shape.a_transposed);
        return context.forced_tile ? best : low_tile_if_small(plan, context, best);
    }
    return forced_tile(gemm_tiles().rows[choice.tile - 1].name, context);
}

}  // namespace

ProductShape folded(ProductShape shape) {
    if (shape.batch > 1 && !shape.a_transposed && shape.batch_stride_b == 0 &&
        shape.batch_stride_a == shape.m * shape.lda && shape.batch_stride_c == shape.m * shape.ldc) {
        shape.m *= shape.batch;
        shape.batch = 1;
    }
    return shape;
}

std::int64_t ProductPlan::column_begin(std::int64_t j) const {
    const std::int64_t tiles = ceil_div(shape.n, tile->nr);
    return std::min(tiles * j / n_parts * tile->nr, shape.n);
}

std::int64_t ProductPlan::groups() const {
    const std::int64_t part = ceil_div(ceil_div(shape.n, tile->nr), n_parts) * tile->nr;
    return ceil_div(part, std::max<std::int64_t>(nc, 1));
}

// A group of w columns at column c takes whole panels, which may be one more than its columns' share of them.
std::int64_t ProductPlan::prepacked_floats() const {
    return prepacked ? (round_up(shape.n, jit::kPanel) + jit::kPanel * n_parts * groups()) * shape.k : 0;
}

std::int64_t ProductPlan::prepacked_begin(std::int64_t j, std::int64_t g, std::int64_t column) const {
    return (column / jit::kPanel + j * groups() + g) * jit::kPanel * shape.k;
}

std::int64_t ProductPlan::packed_a_stride() const {
    const std::int64_t lines = ceil_div(depth, jit::kPanel);
    return (lines + 1 - lines % 2) * jit::kPanel;
}

ProductPlan plan_product(const ProductShape& shape, bool whole_rows, const CompileContext& context,
                         const ProductChoice& choice) {
    check(choice);
    ProductPlan plan;
    plan.machine = context.machine;
    plan.shape = folded(shape);
    // Packed once, B is seldom better in place. (Entries of a batch with matrices of their own are no
    // weights.)
    plan.prepacked = context.prepacked && plan.shape.k > 0 &&
                     (plan.shape.batch == 1 || plan.shape.batch_stride_b == 0) && !is_small(plan.shape);
    plan.pack_b = plan.prepacked || decide(choice.pack_b, packs_b(plan.shape, context));
    require(plan.pack_b || !plan.shape.b_transposed,
            "pack_b=no: B is stored transposed, which no kernel reads in place");
    const bool by_columns = takes_columns(plan, whole_rows, context);
    plan.tile = &choose_tile(plan, context, choice, by_columns);
    plan.pack_a = decide(choice.pack_a, packs_a(plan));
    plan.columns_outside =
        choice.order == TileOrder::rule ? !plan.pack_b : choice.order == TileOrder::columns;
    const bool far = b_is_in_dram(context, plan.shape);
    plan.prefetch = decide_prefetch(plan, far);
    if (choice.prefetch > 0) plan.prefetch = choice.prefetch == kNoPrefetch ? 0 : choice.prefetch;
    // Prefetches are dropped while the line-fill buffers are full. That happens only when B comes from DRAM;
    // from L3 a second prefetch costs up to a tenth of the time.
    plan.repeated_prefetch = far && !plan.pack_b;
    if (choice.unroll > 0) plan.unroll = choice.unroll;
    choose_grid(plan, whole_rows, context.machine.threads);
    const bool shares_columns = by_columns && plan.parts() > 1;
    if (shares_columns) {
        plan.m_parts = 1;
        plan.n_parts = plan.workers = context.machine.threads;
    }
    if (context.transpose_c) transpose_slices(plan, context.machine.threads);
    choose_blocks(plan);
    if (context.transpose_c && plan.depth < plan.shape.k && !plan.holds_all_passes())
        plan.transposed_rows = share_of_transposed(plan, plan.workers);
    if (shares_columns || packs_columns(plan)) choose_column_groups(plan);
    apply_blocks(plan, choice);
    plan.prefetch_a = prefetch_a(plan, shares_columns, context);
    return plan;
}

double expected_cycles(const ProductPlan& plan) {
    constexpr double kCallCycles = 40, kTouchCyclesPerFloat = 0.15;  // C and chains in L2, read and written
    const double m = static_cast<double>(plan.most_rows()), k = static_cast<double>(plan.shape.k);
    const std::int64_t columns =
        ceil_div(ceil_div(plan.shape.n, plan.tile->nr), plan.n_parts) * plan.tile->nr;
    const double n = static_cast<double>(std::min(columns, plan.shape.n));
    const double passes = plan.depth > 0 ? static_cast<double>(ceil_div(plan.shape.k, plan.depth)) : 1;
    double cycles =
        block_cycles(plan.machine, *plan.tile, plan.most_rows(), static_cast<std::int64_t>(n)) * k;
    cycles += pack_b_cycles(plan, n);
    if (plan.pack_a)
        cycles += kPackCyclesPerFloat * k * m *
                  std::ceil(n / static_cast<double>(std::max<std::int64_t>(plan.nc, 1)));
    cycles += kTouchCyclesPerFloat * m * n * (passes - 1) * (plan.carries_accumulators() ? 2 : 1);
    cycles += kCallCycles * passes * std::ceil(m / plan.tile->mr) * std::ceil(n / plan.tile->nr);
    return cycles * static_cast<double>(ceil_div(plan.parts(), std::max(plan.workers, 1)));
}

PlanKey key_of(const ProductPlan& plan) {
    const std::int64_t columns =
        ceil_div(ceil_div(plan.shape.n, plan.tile->nr), plan.n_parts) * plan.tile->nr;
    return {tile_row(*plan.tile),
            plan.pack_a,
            plan.pack_b,
            plan.columns_outside,
            plan.prefetch,
            plan.unroll,
            plan.m_parts,
            plan.n_parts,
            plan.depth,
            std::min(plan.nc, columns),
            std::min(plan.mc, round_up(plan.most_rows(), plan.tile->mr))};
}

}  // namespace volta::cpu
