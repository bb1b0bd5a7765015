#include "engine/backend/cpu/product_plan.h"

#include <algorithm>

namespace volta::cpu {
namespace {

// What stays in a core's L2 while it is used: packed columns of B, and the rows of A that meet them.
constexpr std::int64_t kPanelFloats = 96 * 1024;
constexpr std::int64_t kBlockFloats = 64 * 1024;
constexpr std::int64_t kMostDepth = 4096;  // steps of k; 48 columns of them are 768 KiB
constexpr std::int64_t kWideRow = 8192;    // floats: a new page, or two, with each step of k
constexpr int kFarPrefetch = 8;            // steps ahead when the hardware does not see where B goes on
constexpr double kStartCycles = 6000;      // of a second thread: about 0.2 MFLOP on one core
constexpr double kPackCyclesPerFloat = 0.5;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

// A batch whose entries share B and follow each other in A and C is one taller product.
ProductShape folded(ProductShape shape) {
    if (shape.batch > 1 && !shape.a_transposed && shape.batch_stride_b == 0 &&
        shape.batch_stride_a == shape.m * shape.lda && shape.batch_stride_c == shape.m * shape.ldc) {
        shape.m *= shape.batch;
        shape.batch = 1;
    }
    return shape;
}

// B is read where it lies when it is used for few rows, or when it is so small that its rows do not collide
// in L1.
bool packs_b(const ProductShape& shape) {
    if (shape.b_transposed) return true;
    const bool few_rows = shape.m <= (shape.ldb < kWideRow ? jit::kMaxTileRows : 4);
    const bool small = shape.m <= 128 && shape.n <= 128 && shape.k <= 128;
    return !few_rows && !small;
}

// A transposed A is read where it lies by AVX-512: a step of its tiles lasts long enough to hide the misses
// of a new row of A per step. AVX2's steps do not (75 instead of 89 % of the peak), and a copy is cheap when
// many columns use it.
bool packs_a(const ProductPlan& plan) {
    const bool short_steps = plan.tile->isa == Isa::avx2;
    return plan.shape.a_transposed && plan.pack_b && short_steps && plan.shape.n > plan.tile->nr;
}

double part_cycles(const ProductPlan& plan, std::int64_t m, std::int64_t n) {
    const double k = static_cast<double>(plan.shape.k);
    double cycles = block_cycles(*plan.tile, m, n) * k;
    if (plan.pack_b) cycles += kPackCyclesPerFloat * k * static_cast<double>(n);
    if (plan.pack_a) cycles += kPackCyclesPerFloat * k * static_cast<double>(m);
    return cycles;
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

void choose_blocks(ProductPlan& plan) {
    const ProductShape& shape = plan.shape;
    plan.depth = shape.k;
    if (plan.pack_b && shape.k > kMostDepth) {  // passes of equal length, cut where segments are
        const std::int64_t passes = ceil_div(shape.k, kMostDepth);
        plan.depth = round_up(ceil_div(shape.k, passes), jit::kSegment);
    }
    const std::int64_t depth = std::max<std::int64_t>(plan.depth, 1), nr = plan.tile->nr, mr = plan.tile->mr;
    // A copied A is copied again for every group of columns, so there the groups are large (and lie in L3).
    const std::int64_t floats = plan.pack_a ? 16 * kPanelFloats : kPanelFloats;
    const std::int64_t part_columns = round_up(ceil_div(shape.n, plan.n_parts), nr);
    plan.panel_columns =
        plan.pack_b ? std::min(part_columns, std::max(nr, floats / depth / nr * nr)) : part_columns;
    plan.block_rows = std::max(mr, kBlockFloats / depth / mr * mr);
}

}  // namespace

std::int64_t ProductPlan::column_begin(std::int64_t j) const {
    const std::int64_t tiles = ceil_div(shape.n, tile->nr);
    return std::min(tiles * j / n_parts * tile->nr, shape.n);
}

ProductPlan plan_product(const ProductShape& shape, bool whole_rows, const CompileContext& context) {
    ProductPlan plan;
    plan.shape = folded(shape);
    plan.pack_b = packs_b(plan.shape);
    plan.tile = &select_tile(context, plan.shape.m, plan.shape.n, !plan.pack_b);
    plan.pack_a = packs_a(plan);
    plan.columns_outside = plan.pack_a || !plan.pack_b;
    plan.prefetch = !plan.pack_b && shape.ldb >= kWideRow ? kFarPrefetch : 0;
    choose_grid(plan, whole_rows, context.thread_count);
    choose_blocks(plan);
    return plan;
}

}  // namespace volta::cpu
