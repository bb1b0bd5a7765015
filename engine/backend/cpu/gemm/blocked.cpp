#include "engine/backend/cpu/gemm/blocked.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/backend/cpu/gemm/k_block.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/macro_kernels.h"
#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/cpu/gemm/plan.h"

namespace volta::cpu {
namespace {

constexpr std::size_t kLineFloats = kTensorAlignment / sizeof(float);

std::size_t padded(std::int64_t floats) {
    return (static_cast<std::size_t>(floats) + kLineFloats - 1) / kLineFloats * kLineFloats;
}

class TiledProduct final : public Product {
  public:
    TiledProduct(const ProductShape& shape, const ProductPlan& plan, const jit::RowKernel* epilogue,
                 const CompileContext& context, const ProductChoice& choice)
        : shape_(shape),
          plan_(plan),
          epilogue_(epilogue),
          row_epilogue_(epilogue && epilogue->program().needs_whole_rows()),
          sums_b_(context.sum_b && shape.m > 0 && shape.n > 0 && shape.batch == 1),
          strips_(plan, sums_b_, context) {
        name(choice);
        choose_slices();
        if ((plan_.pack_b && plan_.shape.b_transposed) || plan_.transposed_rows > 0)
            transposes_ = context.cache->transposes(plan_.tile->isa, *context.arena);
        if (plan_.pack_b && !plan_.prepacked)
            b_floats_ =
                padded(packed_floats(plan_.nc, plan_.holds_all_passes() ? plan_.shape.k : plan_.depth));
        if (plan_.pack_a)
            a_floats_ = padded(plan_.mc * (plan_.shape.a_transposed ? plan_.depth : plan_.packed_a_stride()));
        if (plan_.carries_accumulators()) {
            accumulator_stride_ = static_cast<std::int64_t>(padded(plan_.nc));
            accumulator_floats_ = padded((plan_.most_rows() + (sums_b_ ? 1 : 0)) * accumulator_stride_);
        }
        if (plan_.transposed_rows > 0) {
            c_tile_stride_ = static_cast<std::int64_t>(padded(plan_.nc));
            c_tile_floats_ = static_cast<std::size_t>(plan_.transposed_rows * c_tile_stride_);
        }
        if (epilogue_)
            epilogue_floats_ = padded(static_cast<std::int64_t>(epilogue_bytes() / sizeof(float)) + 1);
    }

    std::size_t workspace_bytes() const noexcept override {
        return worker_floats() * static_cast<std::size_t>(plan_.workers) * sizeof(float);
    }
    std::size_t kept_bytes() const noexcept override {
        return static_cast<std::size_t>(plan_.prepacked_floats()) * sizeof(float);
    }
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return shape_; }
    EpilogueKind epilogue() const noexcept override { return epilogue_kind(epilogue_); }
    void describe(ScheduleText& text) const noexcept override {
        const ProductPlan& p = plan_;
        const auto number = [](std::int64_t n) { return static_cast<long long>(n); };
        text.add(
            "blocked tile=%s a=%s b=%s kc=%lld nc=%lld mc=%lld order=%s grid=%lldx%lld workers=%d "
            "slices=%lld",
            p.tile->name, p.pack_a ? "per_call" : "in_place",
            p.prepacked              ? "prepacked"
            : !p.pack_b              ? "in_place"
            : p.packs_on_first_use() ? "on_first_use"
                                     : "per_call",
            number(p.depth), number(p.nc), number(p.mc), p.columns_outside ? "columns" : "rows",
            number(p.m_parts), number(p.n_parts), p.workers, number(slices_));
        if (p.transposed_rows > 0) text.add(" transpose_c=%lld", number(p.transposed_rows));
        if (p.prefetch > 0) text.add(" prefetch_b=%d%s", p.prefetch, p.repeated_prefetch ? " repeated" : "");
        if (p.prefetch_a) text.add(" prefetch_a");
        if (p.holds_all_passes()) text.add(" holds_b");
        if (sums_b_) text.add(" sums_b");
        text.add(" unroll=%d", p.unroll);
    }
    bool sums_b() const noexcept override { return sums_b_; }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        if (plan_.shape.m == 0 || plan_.shape.n == 0 || plan_.shape.batch == 0) return;
        pool.run_stealing(plan_.workers, units(), 1, [&](int worker, ThreadPool::WorkItems& items) noexcept {
            float* const workspace =
                static_cast<float*>(call.workspace) + static_cast<std::size_t>(worker) * worker_floats();
            std::int64_t packed = -1;
            for (Range piece; items.next(&piece);)
                for (std::int64_t unit = piece.begin; unit < piece.end; ++unit)
                    run_unit(call, unit, workspace, &packed);
        });
    }

    void keep(ThreadPool& pool, const float* b, float* kept) const noexcept override {
        const std::int64_t groups = plan_.groups(), all = plan_.n_parts * groups;
        pool.run(pool.thread_count(), [&](int worker, int workers) noexcept {
            const Range mine = part_of(all, 1, worker, workers);
            for (std::int64_t g = mine.begin; g < mine.end; ++g)
                prepack_panel(b, g / groups, g % groups, kept);
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
    const MacroKernels strips_;
    std::size_t a_floats_ = 0, b_floats_ = 0, accumulator_floats_ = 0, c_tile_floats_ = 0,
                epilogue_floats_ = 0;  // per worker
    std::int64_t accumulator_stride_ = 0, c_tile_stride_ = 0;
    char name_[sizeof(ChoiceText) + 32];

    // What a thread works on: rows and columns of one batch entry.
    struct Part {
        const float *a, *b;  // element (0, 0) of the part's rows of A and columns of B
        float* c;
        std::int64_t c_stride;
        float* turned;                 // where C goes once it is transposed; NULL: it stays
        std::int64_t first_row, rows;  // first_row counts over the batch, as the epilogue does
        std::int64_t first_column, columns;
        std::int64_t n_part;
        float* sums;  // of the part's columns, by the part of the first rows; NULL: not here
        float *packed_a, *packed_b, *chains, *c_tile;
        void* epilogue_scratch;
    };
    std::size_t worker_floats() const {
        return a_floats_ + b_floats_ + accumulator_floats_ + c_tile_floats_ + epilogue_floats_;
    }

    PackedWidths widths() const { return {plan_.tile->isa, plan_.tile->nr}; }

    std::size_t epilogue_bytes() const {
        return epilogue_->scratch_bytes(row_epilogue_               ? plan_.shape.n
                                        : plan_.transposed_rows > 0 ? plan_.transposed_rows
                                                                    : plan_.nc);
    }

    // --- making

    // The tile, and what the choice says beside it.
    void name(ProductChoice choice) {
        choice.tile = 0;
        const ChoiceText rest = to_text(choice);
        std::snprintf(name_, sizeof name_, "%s%s%s", plan_.tile->name, *rest.text ? " " : "", rest.text);
    }

    // B is packed once for all slices that one worker computes, unless a further pass packs over it; a group
    // packed once that is larger would come from DRAM for each slice.
    void choose_slices() {
        if (plan_.transposed_rows > 0) {
            slices_ = (plan_.shape.m + plan_.transposed_rows - 1) / plan_.transposed_rows;
            return;
        }
        const bool holds = plan_.prepacked ? plan_.group_fits() : !plan_.pack_b || plan_.holds_all_passes();
        const bool walks_again = plan_.depth < plan_.shape.k && !holds;
        if (plan_.workers == 1 || row_epilogue_ || walks_again) return;
        const std::int64_t least_rows = plan_.shape.m / plan_.m_parts;
        const double steps = static_cast<double>(plan_.nc) * static_cast<double>(plan_.shape.k) *
                             static_cast<double>(least_rows);
        // None may be empty: its worker would have packed nothing.
        const std::int64_t most = std::max<std::int64_t>(EvenCut(least_rows, plan_.tile->mr).pieces, 1);
        slices_ = std::clamp(static_cast<std::int64_t>(steps / kUnitSteps), std::int64_t{1}, most);
    }

    // Group g of n-part j, all passes.
    void prepack_panel(const float* b, std::int64_t j, std::int64_t g, float* kept) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t column = plan_.column_begin(j) + g * plan_.nc;
        const std::int64_t columns = std::min(plan_.nc, plan_.column_begin(j + 1) - column);
        float* const to = kept + plan_.prepacked_begin(j, g, column);
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
        part.c_tile = part.chains + accumulator_floats_;
        part.epilogue_scratch = part.c_tile + c_tile_floats_;
        return part;
    }

    // A slice of the part's rows, and a group of its columns, whose C is scratch memory until it is turned
    // round.
    Part transposing(const ProductCall& call, Part part, std::int64_t slice, std::int64_t column) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t row = slice * plan_.transposed_rows;
        part.a += row * shape.lda;
        part.b += column * shape.ldb;
        part.c = part.c_tile;
        part.c_stride = c_tile_stride_;
        part.turned = call.c + column * shape.ldc + row;
        part.first_row = row;
        part.rows = std::min(plan_.transposed_rows, part.rows - row);
        part.first_column = column;
        part.columns = std::min(plan_.nc, part.columns - column);
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
            const std::int64_t column = group % groups * plan_.nc;
            if (part.rows == 0 || column >= part.columns) return;  // the last parts may have fewer groups
            const bool slices_prefetch =
                plan_.packs_on_first_use();  // each for its own rows, until there is a group
            const bool finds_a = *packed >= 0 && !(slices_prefetch && *packed == group);
            const bool is_packed = std::exchange(*packed, group) == group && slices_ > 1;
            if (plan_.transposed_rows > 0)
                return run_transposed(call, transposing(call, part, slice, column), is_packed);
            return run_columns(call, part, column, slice, slices_, is_packed, finds_a);
        }
        const Part part = part_at(call, unit, workspace);
        if (part.rows == 0 || part.columns == 0) return;
        for (std::int64_t n = 0; n < part.columns; n += plan_.nc)
            run_columns(call, part, n, 0, 1, false, n > 0);
        run_epilogue(call, part, 0, part.rows, 0, part.columns);
    }

    void run_transposed(const ProductCall& call, const Part& part, bool is_packed) const {
        const std::int64_t ldc = plan_.shape.ldc;
        if (call.into)
            transpose(part.turned, ldc, part.columns, part.rows, transposes_.of_16, part.c, part.c_stride);
        const bool holds_b = plan_.depth >= plan_.shape.k || plan_.holds_all_passes();
        run_columns(call, part, 0, 0, 1, is_packed && holds_b, false);
        transpose(part.c, part.c_stride, part.rows, part.columns, transposes_.of_16, part.turned, ldc);
        if (call.epilogue && call.epilogue->kernel)
            jit::run_block(*call.epilogue->kernel, call.epilogue->args, part.first_column,
                           part.first_column + part.columns, part.first_row, part.first_row + part.rows,
                           part.epilogue_scratch);
    }

    // All of k for one group of columns and one of `slices` slices of the part's rows.
    void run_columns(const ProductCall& call, const Part& part, std::int64_t column, std::int64_t slice,
                     std::int64_t slices, bool is_packed, bool finds_a) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t columns = std::min(plan_.nc, part.columns - column);
        const EvenCut tiles(part.rows, plan_.tile->mr);
        const Range mine = part_of(tiles.pieces, 1, static_cast<int>(slice), static_cast<int>(slices));
        std::int64_t step = 0;
        do {
            const std::int64_t depth = std::min(plan_.depth, shape.k - step);
            const std::int64_t end = step + depth;
            KBlock pass = {};
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
            if (plan_.prepacked) {
                const std::int64_t group = column / plan_.nc;
                pass.b = call.kept + plan_.prepacked_begin(part.n_part, group, part.first_column + column) +
                         packed_floats(columns, step);
                pass.ldb = depth;
            } else if (plan_.pack_b) {
                float* const packed_b =
                    part.packed_b + (plan_.holds_all_passes() ? packed_floats(columns, step) : 0);
                pass.b = packed_b;
                pass.ldb = depth;
                if (plan_.packs_on_first_use()) {
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

    // While its columns of B are in L2.
    void sum_columns(const Part& part, const KBlock& pass) const {
        jit::GemmArgs args = {};
        args.b = pass.b;
        args.b_stride = pass.ldb;
        args.c = part.sums + pass.column;
        float* const chains = part.chains + part.rows * accumulator_stride_;
        args.accumulators_in = pass.resumed ? chains : nullptr;
        args.accumulators_out = pass.unfinished ? chains : nullptr;
        args.steps = pass.depth;
        args.first_step = pass.step;
        args.add = pass.add;
        strips_.sums().run(args, pass.columns);
    }

    // Row blocks in turn: their rows of A stay in L2 for all columns of the pass, and so does their C for the
    // epilogue.
    void run_pass(const ProductCall& call, const Part& part, const KBlock& pass, const EvenCut& tiles) const {
        const std::int64_t per_block = std::max<std::int64_t>(1, plan_.mc / plan_.tile->mr);
        for (std::int64_t first = pass.first_tile; first < pass.end_tile; first += per_block) {
            const std::int64_t end = std::min(first + per_block, pass.end_tile);
            if (plan_.shape.k > 0 || !call.into) run_block(part, pass, tiles, first, end);
            if (epilogue_ && !row_epilogue_ && !part.turned && pass.last)
                run_epilogue(call, part, tiles.begin(first), tiles.begin(end), pass.column,
                             pass.column + pass.columns);
        }
    }

    // Tiles [first, end) of rows, all columns of the pass.
    void run_block(const Part& part, const KBlock& pass, const EvenCut& tiles, std::int64_t first,
                   std::int64_t end) const {
        const ProductShape& shape = plan_.shape;
        const std::int64_t row = tiles.begin(first);
        jit::GemmArgs args = {};
        args.a_stride = shape.lda;
        args.c_stride = part.c_stride;
        args.prefetch_c_stride = shape.ldc;
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
        args.accumulator_stride = accumulator_stride_;
        args.packed = part.packed_b;
        const float* const rows_of_a = plan_.pack_a ? part.packed_a : a;
        const std::int64_t a_row = !plan_.pack_a        ? (shape.a_transposed ? 1 : shape.lda)
                                   : shape.a_transposed ? pass.depth
                                                        : packed_stride;
        // Each tile for its share of the rows that this one's columns become.
        const bool prefetches_c = part.turned && pass.last && !pass.into &&
                                  part.rows == jit::kPrefetchCColumns && pass.columns <= plan_.tile->nr &&
                                  !plan_.columns_outside;
        const auto point_at = [&](std::int64_t t) {
            args.a = rows_of_a + (tiles.begin(t) - row) * a_row;
            if (plan_.pack_a && shape.a_transposed) args.a_stride = tiles.size(t);
            float* const chains = part.chains + tiles.begin(t) * accumulator_stride_;
            args.accumulators_in = pass.resumed ? chains : nullptr;
            args.accumulators_out = pass.unfinished ? chains : nullptr;
            args.c = part.c + tiles.begin(t) * part.c_stride + pass.column;
            if (prefetches_c) {
                const Range rows =
                    part_of(pass.columns, 1, static_cast<int>(t), static_cast<int>(tiles.pieces));
                args.prefetch_c = part.turned + rows.begin * shape.ldc;
                args.prefetch_c_rows = rows.end - rows.begin;
            }
            const bool packs = tile_use(plan_, pass, t) == TileUse::packing;
            args.b = packs ? pass.unpacked : pass.b;
            args.b_stride = packs ? shape.ldb : pass.ldb;
            const Prefetched asked = prefetched_by(plan_, pass, t);
            args.prefetch_target = asked.b;
            args.prefetch_stride = shape.ldb;
            if (asked.tiles > 0) {
                const std::int64_t rows_on = tiles.size(t) * a_row;
                args.prefetch_target = args.a + rows_on;
                args.prefetch_stride = asked.tiles * rows_on / pass.depth;
            }
        };
        const auto strip = [&](std::int64_t t) -> const MacroKernel& {
            return strips_.of(tile_use(plan_, pass, t), tiles.size(t));
        };
        if (!plan_.columns_outside) {
            for (std::int64_t t = first; t < end; ++t) {
                point_at(t);
                strip(t).run(args, pass.columns);
            }
            return;
        }
        for (std::int64_t j = 0, width = 0; j < pass.columns; j += width) {
            width = strips_.width_at(j, pass.columns);
            for (std::int64_t t = first, next = 0; t < end; t = next) {
                next = std::min({end, end_of_use(plan_, pass, t), t < tiles.larger ? tiles.larger : end});
                point_at(t);
                const std::int64_t rows_on = tiles.size(t) * a_row;
                strip(t).run_rows(args, j, static_cast<int>(width), next - t, rows_on,
                                  plan_.prefetch_a ? rows_on : 0);
            }
        }
    }

    void run_epilogue(const ProductCall& call, const Part& part, std::int64_t row, std::int64_t row_end,
                      std::int64_t column, std::int64_t column_end) const {
        if (!call.epilogue || !call.epilogue->kernel) return;
        jit::run_block(*call.epilogue->kernel, call.epilogue->args, part.first_row + row,
                       part.first_row + row_end, part.first_column + column, part.first_column + column_end,
                       part.epilogue_scratch);
    }
};

}  // namespace

ProductPtr compile_tiled(const ProductShape& shape, const jit::RowKernel* epilogue,
                         const CompileContext& context, const ProductChoice& choice) {
    const bool whole_rows = epilogue && epilogue->program().needs_whole_rows();
    const ProductPlan plan = plan_product(shape, whole_rows, context, choice);
    return as_product(make_on<TiledProduct>(context.heap, shape, plan, epilogue, context, choice));
}

}  // namespace volta::cpu
