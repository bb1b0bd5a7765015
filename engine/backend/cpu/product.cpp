#include "engine/backend/cpu/product.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <utility>

#include "engine/backend/cpu/kernel_cache.h"
#include "engine/backend/cpu/product_dots.h"
#include "engine/backend/cpu/product_kept_row.h"
#include "engine/backend/cpu/product_pack.h"
#include "engine/backend/cpu/product_plan.h"
#include "engine/backend/cpu/product_strip.h"
#include "engine/backend/cpu/product_swap.h"
#include "engine/backend/cpu/product_sweep.h"
#include "engine/base/error.h"

namespace volta::cpu {
namespace {

constexpr std::size_t kLineFloats = kTensorAlignment / sizeof(float);
// Bytes: Zen 4 has them and gains by asking, Zen 3 has half of them and loses.
constexpr std::size_t kAskingL2 = 1 << 20;

std::size_t padded(std::int64_t floats) {
    return (static_cast<std::size_t>(floats) + kLineFloats - 1) / kLineFloats * kLineFloats;
}

class CpuProduct final : public Product {
  public:
    CpuProduct(const ProductShape& shape, const ProductPlan& plan, const jit::RowKernel* epilogue,
               const CompileContext& context, const ProductChoice& choice)
        : shape_(shape),
          plan_(plan),
          epilogue_(epilogue),
          row_epilogue_(epilogue && epilogue->program().needs_whole_rows()),
          sums_b_(context.sum_b && shape.m > 0 && shape.n > 0 && shape.batch == 1),
          strips_(context.heap) {
        name(choice);
        choose_slices();
        if ((plan_.pack_b && plan_.shape.b_transposed) || plan_.turned_rows > 0)
            transposes_ = context.cache->transposes(plan_.tile->isa, *context.arena);
        resolve_strips(context);
        if (plan_.pack_b && !plan_.keep_b)
            b_floats_ = padded(
                packed_floats(plan_.panel_columns, plan_.holds_all_passes() ? plan_.shape.k : plan_.depth));
        if (plan_.pack_a)
            a_floats_ =
                padded(plan_.block_rows * (plan_.shape.a_transposed ? plan_.depth : plan_.packed_a_stride()));
        if (plan_.carries_chains()) {
            chain_stride_ = static_cast<std::int64_t>(padded(plan_.panel_columns));
            chain_floats_ = padded((plan_.most_rows() + (sums_b_ ? 1 : 0)) * chain_stride_);
        }
        if (plan_.turned_rows > 0) {
            turned_stride_ = static_cast<std::int64_t>(padded(plan_.panel_columns));
            turned_floats_ = static_cast<std::size_t>(plan_.turned_rows * turned_stride_);
        }
        if (epilogue_)
            epilogue_floats_ = padded(static_cast<std::int64_t>(epilogue_bytes() / sizeof(float)) + 1);
    }

    std::size_t workspace_bytes() const noexcept override {
        return worker_floats() * static_cast<std::size_t>(plan_.workers) * sizeof(float);
    }
    std::size_t kept_bytes() const noexcept override {
        return static_cast<std::size_t>(plan_.kept_floats()) * sizeof(float);
    }
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return shape_; }
    EpilogueKind epilogue() const noexcept override { return epilogue_kind(epilogue_); }
    bool sums_b() const noexcept override { return sums_b_; }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        if (plan_.shape.m == 0 || plan_.shape.n == 0 || plan_.shape.batch == 0) return;
        pool.share(plan_.workers, units(), 1, [&](int worker, ThreadPool::Pieces& pieces) noexcept {
            float* const workspace =
                static_cast<float*>(call.workspace) + static_cast<std::size_t>(worker) * worker_floats();
            std::int64_t packed = -1;
            for (Range piece; pieces.next(&piece);)
                for (std::int64_t unit = piece.begin; unit < piece.end; ++unit)
                    run_unit(call, unit, workspace, &packed);
        });
    }

    void keep(ThreadPool& pool, const float* b, float* kept) const noexcept override {
        const std::int64_t groups = plan_.groups(), all = plan_.n_parts * groups;
        pool.run(pool.thread_count(), [&](int worker, int workers) noexcept {
            const Range mine = part_of(all, 1, worker, workers);
            for (std::int64_t g = mine.begin; g < mine.end; ++g) keep_group(b, g / groups, g % groups, kept);
        });
    }

  private:
    const ProductShape shape_;  // as given
    const ProductPlan plan_;
    const jit::RowKernel* const epilogue_;
    const bool row_epilogue_;  // it reduces over rows of C, so it needs all columns
    const bool sums_b_;
    std::int64_t slices_ = 1;  // of a part's rows
    jit::TransposeFunctions transposes_;
    std::pmr::vector<TileStrip> strips_;  // a product needs few heights
    TileStrip sums_;                      // of the columns of B
    enum StripUse { kPlain, kPacking, kAsking, kStripUses };
    std::uint8_t strip_of_[kStripUses][jit::kMaxTileRows + 1] = {};  // by height: 1 + its index, 0: none
    std::size_t a_floats_ = 0, b_floats_ = 0, chain_floats_ = 0, turned_floats_ = 0,
                epilogue_floats_ = 0;  // per worker
    std::int64_t chain_stride_ = 0, turned_stride_ = 0;
    char name_[sizeof(ChoiceText) + 32];

    // What a thread works on: rows and columns of one batch entry.
    struct Part {
        const float *a, *b;  // element (0, 0) of the part's rows of A and columns of B
        float* c;
        std::int64_t c_stride;
        float* turned;                 // where C goes once it is turned round; NULL: it stays
        std::int64_t first_row, rows;  // first_row counts over the batch, as the epilogue does
        std::int64_t first_column, columns;
        std::int64_t n_part;
        float* sums;  // of the part's columns, by the part of the first rows; NULL: not here
        float *packed_a, *packed_b, *chains, *to_turn;
        void* epilogue_scratch;
    };
    // Columns [column, column + columns) and steps [step, step + depth) of a part.
    struct Pass {
        std::int64_t column, columns, step, depth;
        const float* b;
        std::int64_t ldb;  // from row to row, or, packed, from column to column
        const float*
            unpacked;       // the first tile of rows reads B here and packs it into `b`; NULL: it is packed
        const float* next;  // what the next pass packs; NULL: nothing
        bool add, last;
        bool into;                 // C has an operand that the chains are added to
        bool finds_a;              // another group of the same rows went before
        bool resumed, unfinished;  // it goes on with chains in scratch memory; it leaves them there
        std::int64_t first_tile, end_tile, tiles;  // of the part's rows
    };

    std::size_t worker_floats() const {
        return a_floats_ + b_floats_ + chain_floats_ + turned_floats_ + epilogue_floats_;
    }

    PackedWidths widths() const { return {plan_.tile->isa, plan_.tile->nr}; }

    std::size_t epilogue_bytes() const {
        return epilogue_->scratch_bytes(row_epilogue_           ? plan_.shape.n
                                        : plan_.turned_rows > 0 ? plan_.turned_rows
                                                                : plan_.panel_columns);
    }

    // --- making

    // The tile, and what the choice says beside it.
    void name(ProductChoice choice) {
        choice.tile = 0;
        const ChoiceText rest = to_text(choice);
        std::snprintf(name_, sizeof name_, "%s%s%s", plan_.tile->name, *rest.text ? " " : "", rest.text);
    }

    // B is packed once for all slices that one worker computes, unless a further pass packs over it; a group
    // packed once that is larger would come from memory for each slice.
    void choose_slices() {
        if (plan_.turned_rows > 0) {
            slices_ = (plan_.shape.m + plan_.turned_rows - 1) / plan_.turned_rows;
            return;
        }
        const bool holds = plan_.keep_b ? plan_.group_fits() : !plan_.pack_b || plan_.holds_all_passes();
        const bool walks_again = plan_.depth < plan_.shape.k && !holds;
        if (plan_.workers == 1 || row_epilogue_ || walks_again) return;
        const std::int64_t least_rows = plan_.shape.m / plan_.m_parts;
        const double steps = static_cast<double>(plan_.panel_columns) * static_cast<double>(plan_.shape.k) *
                             static_cast<double>(least_rows);
        // None may be empty: its worker would have packed nothing.
        const std::int64_t most = std::max<std::int64_t>(EvenCut(least_rows, plan_.tile->mr).pieces, 1);
        slices_ = std::clamp(static_cast<std::int64_t>(steps / kUnitSteps), std::int64_t{1}, most);
    }

    void resolve_strips(const CompileContext& context) {
        for (std::int64_t i = 0; i < plan_.m_parts; ++i) {
            const std::int64_t rows = plan_.row_begin(i + 1) - plan_.row_begin(i);
            if (plan_.turned_rows == 0) {
                resolve_heights(rows, context);
            } else {
                resolve_heights(std::min(rows, plan_.turned_rows), context);
                resolve_heights(rows % plan_.turned_rows, context);
            }
        }
        if (sums_b_) resolve_sums(context);
    }

    // The strips of so many rows.
    void resolve_heights(std::int64_t all, const CompileContext& context) {
        const EvenCut tiles(all, plan_.tile->mr);
        if (tiles.pieces == 0) return;
        for (const std::int64_t rows : {tiles.size(0), tiles.size(tiles.pieces - 1)})
            for (const StripUse use : {kPlain, kPacking, kAsking})
                if (use == kPlain || plan_.packs_in_tiles() || (use == kAsking && plan_.asks_a))
                    resolve_strip(static_cast<int>(rows), use, context);
    }

    void resolve_sums(const CompileContext& context) {
        jit::GemmForm form;
        form.isa = plan_.tile->isa;
        form.a = jit::GemmA::ones;
        form.b = plan_.pack_b ? jit::GemmB::tile : jit::GemmB::rows;
        form.prefetch = static_cast<std::uint8_t>(plan_.prefetch);
        form.unroll = static_cast<std::uint8_t>(plan_.unroll);
        sums_ = TileStrip(form, plan_.tile->nr);
        add_widths(sums_, context);
    }

    void resolve_strip(int rows, StripUse use, const CompileContext& context) {
        if (strip_of_[use][rows] != 0) return;
        jit::GemmForm form;
        form.isa = plan_.tile->isa;
        form.mr = static_cast<std::uint8_t>(rows);
        form.a = plan_.shape.a_transposed ? jit::GemmA::k_major : jit::GemmA::rows;
        form.b = use == kPacking ? jit::GemmB::rows_to_tile
                 : plan_.pack_b  ? jit::GemmB::tile
                                 : jit::GemmB::rows;
        form.prefetch = static_cast<std::uint8_t>(use == kPacking     ? plan_.packing_prefetch()
                                                  : asks_instead(use) ? 0
                                                                      : plan_.prefetch);
        form.ahead = use == kAsking ? 1 : 0;
        form.unroll = static_cast<std::uint8_t>(plan_.unroll);
        strips_.emplace_back(form, plan_.tile->nr);
        add_widths(strips_.back(), context);
        strip_of_[use][rows] = static_cast<std::uint8_t>(strips_.size());
    }

    // The tiles above have brought B into L2.
    bool asks_instead(StripUse use) const { return use == kAsking && !plan_.pack_b; }

    // The kernels of all widths that passes have.
    void add_widths(TileStrip& strip, const CompileContext& context) const {
        for (std::int64_t j = 0; j < plan_.n_parts; ++j) {
            const std::int64_t columns = plan_.column_begin(j + 1) - plan_.column_begin(j);
            if (columns == 0) continue;
            if (columns >= plan_.panel_columns) strip.add_columns(plan_.panel_columns, context);
            strip.add_columns(columns % plan_.panel_columns, context);
        }
    }

    // Group g of n-part j, all passes.
    void keep_group(const float* b, std::int64_t j, std::int64_t g, float* kept) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t column = plan_.column_begin(j) + g * plan_.panel_columns;
        const std::int64_t columns = std::min(plan_.panel_columns, plan_.column_begin(j + 1) - column);
        float* const to = kept + plan_.kept_begin(j, g, column);
        for (std::int64_t step = 0; columns > 0 && step < shape.k; step += plan_.depth) {
            const std::int64_t depth = std::min(plan_.depth, shape.k - step);
            const float* const from =
                b + (shape.b_transposed ? column * shape.ldb + step : step * shape.ldb + column);
            pack_b(from, shape.ldb, shape.b_transposed, columns, depth, transposes_, widths(),
                   to + packed_floats(columns, step));
        }
    }

    // --- running

    Part part_at(const ProductCall& call, std::int64_t index, float* workspace) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t i = index / plan_.n_parts % plan_.m_parts, j = index % plan_.n_parts;
        const std::int64_t entry = index / (plan_.n_parts * plan_.m_parts);
        const std::int64_t row = plan_.row_begin(i), column = plan_.column_begin(j);
        Part part;
        part.a = call.a + entry * shape.batch_stride_a + (shape.a_transposed ? row : row * shape.lda);
        part.b = call.b + entry * shape.batch_stride_b + (shape.b_transposed ? column * shape.ldb : column);
        part.c = call.c + entry * shape.batch_stride_c + row * shape.ldc + column;
        part.c_stride = shape.ldc;
        part.turned = nullptr;
        part.first_row = entry * shape.m + row;
        part.rows = plan_.row_begin(i + 1) - row;
        part.first_column = column;
        part.n_part = j;
        part.sums = sums_b_ && i == 0 ? call.sums + column : nullptr;
        part.columns = plan_.column_begin(j + 1) - column;
        part.packed_a = workspace;
        part.packed_b = workspace + a_floats_;
        part.chains = part.packed_b + b_floats_;
        part.to_turn = part.chains + chain_floats_;
        part.epilogue_scratch = part.to_turn + turned_floats_;
        return part;
    }

    // A slice of the part's rows, and a group of its columns, whose C is scratch memory until it is turned
    // round.
    Part turning(const ProductCall& call, Part part, std::int64_t slice, std::int64_t column) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t row = slice * plan_.turned_rows;
        part.a += row * shape.lda;
        part.b += column * shape.ldb;
        part.c = part.to_turn;
        part.c_stride = turned_stride_;
        part.turned = call.c + column * shape.ldc + row;
        part.first_row = row;
        part.rows = std::min(plan_.turned_rows, part.rows - row);
        part.first_column = column;
        part.columns = std::min(plan_.panel_columns, part.columns - column);
        return part;
    }

    // What workers take from each other: a slice of the rows of one group of columns. Where all columns are
    // needed before an epilogue it is a part.
    std::int64_t units() const { return plan_.parts() * (row_epilogue_ ? 1 : plan_.groups() * slices_); }

    // `packed`: the group whose B lies in the workspace, from slice to slice of it; -1: none.
    void run_unit(const ProductCall& call, std::int64_t unit, float* workspace, std::int64_t* packed) const {
        const std::int64_t groups = plan_.groups(), slice = unit % slices_, group = unit / slices_;
        if (!row_epilogue_) {
            const Part part = part_at(call, group / groups, workspace);
            const std::int64_t column = group % groups * plan_.panel_columns;
            if (part.rows == 0 || column >= part.columns) return;  // the last parts may have fewer groups
            const bool slices_ask = plan_.packs_in_tiles();  // each for its own rows, until there is a group
            const bool finds_a = *packed >= 0 && !(slices_ask && *packed == group);
            const bool is_packed = std::exchange(*packed, group) == group && slices_ > 1;
            if (plan_.turned_rows > 0) return run_turned(call, turning(call, part, slice, column), is_packed);
            return run_columns(call, part, column, slice, slices_, is_packed, finds_a);
        }
        const Part part = part_at(call, unit, workspace);
        if (part.rows == 0 || part.columns == 0) return;
        for (std::int64_t n = 0; n < part.columns; n += plan_.panel_columns)
            run_columns(call, part, n, 0, 1, false, n > 0);
        run_epilogue(call, part, 0, part.rows, 0, part.columns);
    }

    void run_turned(const ProductCall& call, const Part& part, bool is_packed) const {
        const std::int64_t ldc = plan_.shape.ldc;
        if (call.into)
            turn_round(part.turned, ldc, part.columns, part.rows, transposes_.of_16, part.c, part.c_stride);
        const bool holds_b = plan_.depth >= plan_.shape.k || plan_.holds_all_passes();
        run_columns(call, part, 0, 0, 1, is_packed && holds_b, false);
        turn_round(part.c, part.c_stride, part.rows, part.columns, transposes_.of_16, part.turned, ldc);
        if (call.epilogue && call.epilogue->kernel)
            jit::run_block(*call.epilogue->kernel, call.epilogue->args, part.first_column,
                           part.first_column + part.columns, part.first_row, part.first_row + part.rows,
                           part.epilogue_scratch);
    }

    // All of k for one group of columns and one of `slices` slices of the part's rows.
    void run_columns(const ProductCall& call, const Part& part, std::int64_t column, std::int64_t slice,
                     std::int64_t slices, bool is_packed, bool finds_a) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t columns = std::min(plan_.panel_columns, part.columns - column);
        const EvenCut tiles(part.rows, plan_.tile->mr);
        const Range mine = part_of(tiles.pieces, 1, static_cast<int>(slice), static_cast<int>(slices));
        std::int64_t step = 0;
        do {
            const std::int64_t depth = std::min(plan_.depth, shape.k - step);
            const std::int64_t end = step + depth;
            Pass pass = {};
            pass.column = column;
            pass.columns = columns;
            pass.step = step;
            pass.depth = depth;
            pass.into = call.into;
            pass.add = call.into || step >= jit::kSegment;  // a segment has been closed before
            pass.last = end == shape.k;
            pass.resumed = step % jit::kSegment != 0;
            pass.unfinished = !pass.last && end % jit::kSegment != 0;
            pass.finds_a = finds_a;
            pass.first_tile = mine.begin;
            pass.end_tile = mine.end;
            pass.tiles = tiles.pieces;
            const float* const b =
                part.b + (shape.b_transposed ? column * shape.ldb + step : step * shape.ldb + column);
            if (plan_.keep_b) {
                const std::int64_t group = column / plan_.panel_columns;
                pass.b = call.kept + plan_.kept_begin(part.n_part, group, part.first_column + column) +
                         packed_floats(columns, step);
                pass.ldb = depth;
            } else if (plan_.pack_b) {
                float* const packed_b =
                    part.packed_b + (plan_.holds_all_passes() ? packed_floats(columns, step) : 0);
                pass.b = packed_b;
                pass.ldb = depth;
                if (plan_.packs_in_tiles()) {
                    if (!is_packed) pass.unpacked = b;
                    if (!pass.last) {
                        pass.next = b + depth * shape.ldb;
                    } else if (column + columns < part.columns) {
                        pass.next = part.b + column + columns;
                    }
                } else if (!is_packed) {
                    pack_b(b, shape.ldb, shape.b_transposed, columns, depth, transposes_, widths(), packed_b);
                }
            } else {
                pass.b = b;
                pass.ldb = shape.ldb;
            }
            run_pass(call, part, pass, tiles);
            if (part.sums && slice == 0 && (shape.k > 0 || !call.into)) sum_columns(part, pass);
            step += depth;
        } while (step < shape.k);
    }

    // Of B, while the columns of the pass are in L2: the row of C that a row of ones in A would give.
    void sum_columns(const Part& part, const Pass& pass) const {
        jit::GemmArgs args = {};
        args.b = pass.b;
        args.b_stride = pass.ldb;
        args.c = part.sums + pass.column;
        float* const chains = part.chains + part.rows * chain_stride_;
        args.chain_in = pass.resumed ? chains : nullptr;
        args.chain_out = pass.unfinished ? chains : nullptr;
        args.steps = pass.depth;
        args.first_step = pass.step;
        args.add = pass.add;
        sums_.run(args, pass.columns);
    }

    // Row blocks in turn: their rows of A stay in L2 for all columns of the pass, and so does their C for the
    // epilogue.
    void run_pass(const ProductCall& call, const Part& part, const Pass& pass, const EvenCut& tiles) const {
        const std::int64_t per_block = std::max<std::int64_t>(1, plan_.block_rows / plan_.tile->mr);
        for (std::int64_t first = pass.first_tile; first < pass.end_tile; first += per_block) {
            const std::int64_t end = std::min(first + per_block, pass.end_tile);
            if (plan_.shape.k > 0 || !call.into) run_block(part, pass, tiles, first, end);
            if (epilogue_ && !row_epilogue_ && !part.turned && pass.last)
                run_epilogue(call, part, tiles.begin(first), tiles.begin(end), pass.column,
                             pass.column + pass.columns);
        }
    }

    // Tiles [first, end) of rows, all columns of the pass.
    void run_block(const Part& part, const Pass& pass, const EvenCut& tiles, std::int64_t first,
                   std::int64_t end) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t row = tiles.begin(first);
        jit::GemmArgs args = {};
        args.a_stride = shape.lda;
        args.c_stride = part.c_stride;
        args.claim_stride = shape.ldc;
        args.steps = pass.depth;
        args.first_step = pass.step;
        args.add = pass.add;
        const float* const a =
            shape.a_transposed ? part.a + pass.step * shape.lda + row : part.a + row * shape.lda + pass.step;
        const std::int64_t packed_stride = plan_.packed_a_stride();
        if (plan_.pack_a && shape.a_transposed) {
            pack_a(a, shape.lda, tiles, first, end, pass.depth, part.packed_a);
        } else if (plan_.pack_a) {
            copy_rows(a, shape.lda, tiles.begin(end) - row, pass.depth, part.packed_a, packed_stride);
            args.a_stride = packed_stride;
        }
        args.chain_stride = chain_stride_;
        args.packed = part.packed_b;
        const float* const rows_of_a = plan_.pack_a ? part.packed_a : a;
        const std::int64_t a_row = !plan_.pack_a        ? (shape.a_transposed ? 1 : shape.lda)
                                   : shape.a_transposed ? pass.depth
                                                        : packed_stride;
        // Each tile for its share of the rows that this one's columns become.
        const bool claims = part.turned && pass.last && !pass.into && part.rows == jit::kClaimedColumns &&
                            pass.columns <= plan_.tile->nr && !plan_.columns_outside;
        const auto point_at = [&](std::int64_t t) {
            args.a = rows_of_a + (tiles.begin(t) - row) * a_row;
            if (plan_.pack_a && shape.a_transposed) args.a_stride = tiles.size(t);
            float* const chains = part.chains + tiles.begin(t) * chain_stride_;
            args.chain_in = pass.resumed ? chains : nullptr;
            args.chain_out = pass.unfinished ? chains : nullptr;
            args.c = part.c + tiles.begin(t) * part.c_stride + pass.column;
            if (claims) {
                const Range rows =
                    part_of(pass.columns, 1, static_cast<int>(t), static_cast<int>(tiles.pieces));
                args.claim = part.turned + rows.begin * shape.ldc;
                args.claim_rows = rows.end - rows.begin;
            }
            const bool packs = use_of(pass, t) == kPacking;
            args.b = packs ? pass.unpacked : pass.b;
            args.b_stride = packs ? shape.ldb : pass.ldb;
            const Asked asked = asked_by(pass, t);
            args.ahead = asked.b;
            args.ahead_stride = shape.ldb;
            if (asked.tiles > 0) {
                const std::int64_t rows_on = tiles.size(t) * a_row;
                args.ahead = args.a + rows_on;
                args.ahead_stride = asked.tiles * rows_on / pass.depth;
            }
        };
        const auto strip = [&](std::int64_t t) -> const TileStrip& {
            return strips_[strip_of_[use_of(pass, t)][tiles.size(t)] - 1u];
        };
        if (!plan_.columns_outside) {
            for (std::int64_t t = first; t < end; ++t) {
                point_at(t);
                strip(t).run(args, pass.columns);
            }
            return;
        }
        for (std::int64_t j = 0, width = 0; j < pass.columns; j += width) {
            width = strips_[0].width_at(j, pass.columns);
            for (std::int64_t t = first, next = 0; t < end; t = next) {
                next = std::min({end, end_of_use(pass, t), t < tiles.larger ? tiles.larger : end});
                point_at(t);
                const std::int64_t rows_on = tiles.size(t) * a_row;
                strip(t).run_rows(args, j, static_cast<int>(width), next - t, rows_on,
                                  plan_.asks_a ? rows_on : 0);
            }
        }
    }

    // What a tile asks for, a line with each step of k: the rows of A of so many tiles below, or a column of
    // lines of B.
    struct Asked {
        std::int64_t tiles = 0;
        const float* b = nullptr;
        explicit operator bool() const { return tiles > 0 || b; }
    };

    // Where tiles ask for A's rows, all do whose B is packed before, and of a B in place those below the
    // first, until A has been read once. Of the next pass's B a tile asks for one line of every step, until
    // all that one column of tiles will read is in L2: every other tile, if there are enough, since lines
    // from a distant core come more slowly than one with each step. The ones between ask for A's rows.
    Asked asked_by(const Pass& pass, std::int64_t t) const {
        if (plan_.asks_a && !plan_.packs_in_tiles())
            return {plan_.pack_b || (t > pass.first_tile && !pass.finds_a) ? 1 : 0, nullptr};
        const std::int64_t lines = (plan_.tile->nr + jit::kPanel - 1) / jit::kPanel, below = t - 1;
        const bool takes_turns = pass.tiles > 2 * lines;
        if (below < 0) return {};
        if (takes_turns && below % 2 == 0) return {plan_.asks_a && !pass.finds_a ? kAskedTiles : 0, nullptr};
        const std::int64_t line = takes_turns ? below / 2 : below;
        return {0, pass.next && line < lines ? pass.next + line * jit::kPanel : nullptr};
    }
    static constexpr std::int64_t kAskedTiles = 2;
    StripUse use_of(const Pass& pass, std::int64_t t) const {
        if (t == pass.first_tile && pass.unpacked) return kPacking;
        return asked_by(pass, t) ? kAsking : kPlain;
    }
    // One past the last tile of the same use that one call may take.
    std::int64_t end_of_use(const Pass& pass, std::int64_t t) const {
        const bool goes_on = (plan_.asks_a && !plan_.packs_in_tiles()) || (!pass.unpacked && !pass.next);
        return goes_on && use_of(pass, t) == use_of(pass, t + 1) ? pass.end_tile : t + 1;
    }

    void run_epilogue(const ProductCall& call, const Part& part, std::int64_t row, std::int64_t row_end,
                      std::int64_t column, std::int64_t column_end) const {
        if (!call.epilogue || !call.epilogue->kernel) return;
        jit::run_block(*call.epilogue->kernel, call.epilogue->args, part.first_row + row,
                       part.first_row + row_end, part.first_column + column, part.first_column + column_end,
                       part.epilogue_scratch);
    }
};

void check(const ProductShape& shape, bool turns_c) {
    const bool sizes = shape.batch >= 0 && shape.m >= 0 && shape.n >= 0 && shape.k >= 0;
    const std::int64_t a_row = shape.a_transposed ? shape.m : shape.k,
                       b_row = shape.b_transposed ? shape.k : shape.n;
    const bool strides =
        shape.lda >= a_row && shape.ldb >= b_row && shape.ldc >= (turns_c ? shape.m : shape.n);
    if (!sizes || !strides)
        fail(VOLTA_INTERNAL,
             "a product of [%lld, %lld] and [%lld, %lld] with leading dimensions %lld, %lld and %lld",
             static_cast<long long>(shape.m), static_cast<long long>(shape.k),
             static_cast<long long>(shape.k), static_cast<long long>(shape.n),
             static_cast<long long>(shape.lda), static_cast<long long>(shape.ldb),
             static_cast<long long>(shape.ldc));
}

ProductUse use_of(const CompileContext& context) {
    return {context.keep_b, context.sum_b, context.cache_use};
}

// Forced, or as tuned for this product and this use of it; the default where the tuned tile cannot run
// (generated code refused).
ProductChoice choice_of(const ProductShape& shape, const jit::RowKernel* epilogue,
                        const CompileContext& context) {
    if (context.forced_choice) return *context.forced_choice;
    if (context.forced_tile || !context.tuning) return {};
    const TuningKey key =
        key_of(shape, epilogue_kind(epilogue), context.isa, context.thread_count, use_of(context));
    const ProductChoice choice = context.tuning->find(key);
    const bool runs = choice.tile == 0 || usable(gemm_tiles().rows[choice.tile - 1], context);
    return runs ? choice : ProductChoice();
}

ProductPtr compile_way(const ProductShape& shape, const jit::RowKernel* epilogue_kernel,
                       const CompileContext& context) {
    const bool whole_rows = epilogue_kernel && epilogue_kernel->program().needs_whole_rows();
    const ProductChoice choice = choice_of(shape, epilogue_kernel, context);
    const bool chosen_here = choice == ProductChoice() && !context.forced_tile;
    if (chosen_here && context.keep_b && gains_by_kept_row(shape, context))
        return compile_kept_row(shape, epilogue_kernel, context);
    const bool free = chosen_here && !context.turns_c && !context.keep_b && context.isa != Isa::scalar &&
                      context.arena->available();
    if (free && gains_by_sweep(shape, context.isa))
        if (ProductPtr swept = compile_sweep(shape, epilogue_kernel, context)) return swept;
    if (free && !whole_rows && gains_by_dots(shape, context.isa))
        if (ProductPtr dots = compile_dots(shape, epilogue_kernel, context)) return dots;
    if (free && !whole_rows && gains_by_swap(shape)) return compile_swapped(shape, epilogue_kernel, context);
    const ProductPlan plan = plan_product(shape, whole_rows, context, choice);
    void* const place = context.heap->allocate(sizeof(CpuProduct), alignof(CpuProduct));
    try {
        return ProductPtr(new (place) CpuProduct(shape, plan, epilogue_kernel, context, choice),
                          ProductDelete{context.heap, sizeof(CpuProduct), alignof(CpuProduct)});
    } catch (...) {
        context.heap->deallocate(place, sizeof(CpuProduct), alignof(CpuProduct));
        throw;
    }
}

}  // namespace

EpilogueKind epilogue_kind(const jit::RowKernel* kernel) {
    if (kernel == nullptr) return EpilogueKind::none;
    return kernel->program().needs_whole_rows() ? EpilogueKind::rows : EpilogueKind::blocks;
}

bool gains_by_asking() noexcept { return host_cpu().l2_bytes >= kAskingL2; }

double cache_use(std::uint64_t bytes) noexcept {
    const std::size_t last = host_cpu().l3_bytes;
    return last > 0 ? static_cast<double>(bytes) / static_cast<double>(last) : 0;
}

ProductPtr compile_product(const ProductShape& shape, const jit::RowKernel* epilogue_kernel,
                           const CompileContext& context) {
    check(shape, context.turns_c);
    if (epilogue_kernel && epilogue_kernel->program().has_column_sum())
        fail(VOLTA_INTERNAL, "an epilogue that sums columns runs after its product, not inside it");
    ProductPtr product = compile_way(shape, epilogue_kernel, context);
    product->set_use(use_of(context));
    return product;
}

}  // namespace volta::cpu
