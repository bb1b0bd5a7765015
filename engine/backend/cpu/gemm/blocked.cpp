#include <algorithm>
#include <utility>

#include "engine/backend/cpu/gemm/k_block.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/macro_kernels.h"
#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/cpu/gemm/partition.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/base/offset.h"

namespace volta::cpu {
namespace {

constexpr std::size_t kLineFloats = kTensorAlignment / sizeof(float);

std::size_t padded(std::int64_t floats) {
    return (static_cast<std::size_t>(floats) + kLineFloats - 1) / kLineFloats * kLineFloats;
}

// Register tiles in blocks for the caches: N panels of nc columns, K blocks of kc steps, row blocks of mc
// rows.
class BlockedProduct final : public Product {
  public:
    explicit BlockedProduct(const Order& order)
        : Product(order.given, order.problem, order.machine, order.schedule, order.epilogue),
          tiles_(order.problem.shape, order.schedule),
          row_epilogue_(order.problem.whole_rows()),
          dequantised_(order.dequantised),
          kernels_(order.problem, order.schedule, order.context.compiler) {
        sums_b_ = problem_.sums_b();
        name(order.choice);
        const ProductShape& shape = problem_.shape;
        const Schedule& s = schedule_;
        if ((s.packs_b() && shape.b_transposed) || s.transposed_rows > 0)
            transposes_ =
                order.context.compiler.cache->transposes(s.tile->isa, *order.context.compiler.arena);
        if (s.packs_b() && !s.is_prepacked())
            b_floats_ = padded(packed_floats(s.nc, s.holds_b ? shape.k : s.kc));
        if (s.packs_a()) a_floats_ = padded(s.mc * (shape.a_transposed ? s.kc : s.packed_a_stride()));
        if (s.carries_accumulators(shape.k)) {
            accumulator_stride_ = static_cast<std::int64_t>(padded(s.nc));
            accumulator_floats_ = padded((tiles_.most_rows() + (sums_b_ ? 1 : 0)) * accumulator_stride_);
        }
        if (s.transposed_rows > 0) {
            c_tile_stride_ = static_cast<std::int64_t>(padded(s.nc));
            c_tile_floats_ = static_cast<std::size_t>(s.transposed_rows * c_tile_stride_);
        }
        if (epilogue_)
            epilogue_floats_ = padded(static_cast<std::int64_t>(epilogue_bytes() / sizeof(float)) + 1);
        workspace_bytes_ = worker_floats() * static_cast<std::size_t>(s.workers) * sizeof(float);
        if (s.is_prepacked())
            prepacked_bytes_ = static_cast<std::size_t>(tiles_.prepacked_floats()) * sizeof(float);
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        const ProductShape& shape = problem_.shape;
        if (shape.m == 0 || shape.n == 0 || shape.batch == 0) return;
        pool.run_stealing(
            schedule_.workers, units(), 1, [&](int worker, ThreadPool::WorkItems& items) noexcept {
                float* const workspace =
                    static_cast<float*>(call.workspace) + static_cast<std::size_t>(worker) * worker_floats();
                std::int64_t packed = -1;
                for (Range piece; items.next(&piece);)
                    for (std::int64_t unit = piece.begin; unit < piece.end; ++unit)
                        run_unit(call, unit, workspace, &packed);
            });
    }

    void prepack(ThreadPool& pool, const float* b, float* prepacked) const noexcept override {
        const std::int64_t panels = tiles_.panels(), all = tiles_.n_parts * panels;
        pool.run(pool.thread_count(), [&](int worker, int workers) noexcept {
            const Range mine = part_of(all, 1, worker, workers);
            for (std::int64_t g = mine.begin; g < mine.end; ++g)
                prepack_panel(b, g / panels, g % panels, prepacked);
        });
    }

  private:
    const ThreadTiles tiles_;
    const bool row_epilogue_;  // it reduces over rows of C, so it needs all columns
    const DType dequantised_;  // f32: B is no packed weight
    jit::TransposeFunctions transposes_;
    const MacroKernels kernels_;
    std::size_t a_floats_ = 0, b_floats_ = 0, accumulator_floats_ = 0, c_tile_floats_ = 0,
                epilogue_floats_ = 0;  // per worker
    std::int64_t accumulator_stride_ = 0, c_tile_stride_ = 0;

    // What a thread works on: rows and columns of one batch entry.
    struct Part {
        const float *a, *b;             // element (0, 0) of the part's rows of A and columns of B
        const float* const* rows_of_a;  // where they begin, if they are gathered; else NULL
        float* c;
        std::int64_t c_stride;
        float* c_transposed;           // where C goes once it is transposed; NULL: it stays
        std::int64_t first_row, rows;  // first_row counts over the batch, as the epilogue does
        std::int64_t first_column, columns;
        std::int64_t n_part;
        float* sums;  // of the part's columns, by the part of the first rows; NULL: not here
        float *packed_a, *packed_b, *accumulators, *c_tile;
        void* epilogue_scratch;
    };
    std::size_t worker_floats() const {
        return a_floats_ + b_floats_ + accumulator_floats_ + c_tile_floats_ + epilogue_floats_;
    }

    PackedWidths widths() const { return {schedule_.tile->isa, schedule_.tile->nr}; }

    std::size_t epilogue_bytes() const {
        return epilogue_->scratch_bytes(row_epilogue_                   ? problem_.shape.n
                                        : schedule_.transposed_rows > 0 ? schedule_.transposed_rows
                                                                        : schedule_.nc);
    }

    // --- making

    // The tile, and what the choice says beside it.
    void name(ProductChoice choice) {
        choice.tile = 0;
        const ChoiceText rest = to_text(choice);
        set_name("%s%s%s", schedule_.tile->name, *rest.text ? " " : "", rest.text);
    }

    // Group g of n-part j, all K blocks.
    void prepack_panel(const float* b, std::int64_t j, std::int64_t g, float* prepacked) const {
        const ProductShape& shape = problem_.shape;
        const std::int64_t column = tiles_.column_begin(j) + g * schedule_.nc;
        const std::int64_t columns = std::min(schedule_.nc, tiles_.column_begin(j + 1) - column);
        float* const to = prepacked + tiles_.prepacked_begin(j, g, column);
        for (std::int64_t step = 0; columns > 0 && step < shape.k; step += schedule_.kc) {
            const std::int64_t depth = std::min(schedule_.kc, shape.k - step);
            const float* const from =
                b + (shape.b_transposed ? column * shape.ldb + step : step * shape.ldb + column);
            pack_b(from, shape.ldb, shape.b_transposed, columns, depth, transposes_, widths(),
                   to + packed_floats(columns, step));
        }
    }

    // --- running

    // A and B may be absent: rows of A are gathered, or B was packed before.
    Part part_at(const ProductCall& call, std::int64_t index, float* workspace) const {
        const ProductShape& shape = problem_.shape;
        const std::int64_t i = index / tiles_.n_parts % tiles_.m_parts, j = index % tiles_.n_parts;
        const std::int64_t entry = index / (tiles_.n_parts * tiles_.m_parts);
        const std::int64_t row = tiles_.row_begin(i), column = tiles_.column_begin(j);
        Part part;
        part.a = call.rows_of_a
                     ? nullptr
                     : call.a + entry * shape.batch_stride_a + (shape.a_transposed ? row : row * shape.lda);
        part.rows_of_a = call.rows_of_a ? call.rows_of_a + row : nullptr;
        part.b =
            offset(call.b, entry * shape.batch_stride_b + (shape.b_transposed ? column * shape.ldb : column));
        part.c = call.c + entry * shape.batch_stride_c + row * shape.ldc + column;
        part.c_stride = shape.ldc;
        part.c_transposed = nullptr;
        part.first_row = entry * shape.m + row;
        part.rows = tiles_.row_begin(i + 1) - row;
        part.first_column = column;
        part.n_part = j;
        part.sums = sums_b_ && i == 0 ? call.sums + column : nullptr;
        part.columns = tiles_.column_begin(j + 1) - column;
        part.packed_a = workspace;
        part.packed_b = workspace + a_floats_;
        part.accumulators = part.packed_b + b_floats_;
        part.c_tile = part.accumulators + accumulator_floats_;
        part.epilogue_scratch = part.c_tile + c_tile_floats_;
        return part;
    }

    // A slice of the part's rows, and a panel of its columns, whose C is scratch memory until it is
    // transposed.
    Part transposing(const ProductCall& call, Part part, std::int64_t slice, std::int64_t column) const {
        const ProductShape& shape = problem_.shape;
        const std::int64_t row = slice * schedule_.transposed_rows;
        part.a = offset(part.a, row * shape.lda);
        part.b = offset(part.b, column * shape.ldb);
        part.c = part.c_tile;
        part.c_stride = c_tile_stride_;
        part.c_transposed = call.c + column * shape.ldc + row;
        part.first_row = row;
        part.rows = std::min(schedule_.transposed_rows, part.rows - row);
        part.first_column = column;
        part.columns = std::min(schedule_.nc, part.columns - column);
        return part;
    }

    // What workers steal from each other: a slice of the rows of one panel of columns. Where all columns are
    // needed before an epilogue it is a part.
    std::int64_t units() const {
        return tiles_.count() * (row_epilogue_ ? 1 : tiles_.panels() * schedule_.row_slices);
    }

    // `packed`: the panel whose B lies in the workspace, from slice to slice of it; -1: none.
    void run_unit(const ProductCall& call, std::int64_t unit, float* workspace, std::int64_t* packed) const {
        const std::int64_t panels = tiles_.panels(), slice = unit % schedule_.row_slices,
                           panel = unit / schedule_.row_slices;
        if (!row_epilogue_) {
            const Part part = part_at(call, panel / panels, workspace);
            const std::int64_t column = panel % panels * schedule_.nc;
            if (part.rows == 0 || column >= part.columns) return;  // the last parts may have fewer panels
            // Slices prefetch, each its own rows, until there is another panel.
            const bool finds_a = *packed >= 0 && !(schedule_.packs_on_first_use() && *packed == panel);
            const bool is_packed = std::exchange(*packed, panel) == panel && schedule_.row_slices > 1;
            if (schedule_.transposed_rows > 0)
                return run_transposed(call, transposing(call, part, slice, column), is_packed);
            return run_columns(call, part, column, slice, schedule_.row_slices, is_packed, finds_a);
        }
        const Part part = part_at(call, unit, workspace);
        if (part.rows == 0 || part.columns == 0) return;
        for (std::int64_t n = 0; n < part.columns; n += schedule_.nc)
            run_columns(call, part, n, 0, 1, false, n > 0);
        finish(call, part, 0, part.rows, 0, part.columns);
    }

    void run_transposed(const ProductCall& call, const Part& part, bool is_packed) const {
        const std::int64_t ldc = problem_.shape.ldc;
        if (call.into)
            transpose(part.c_transposed, ldc, part.columns, part.rows, transposes_.of_16, part.c,
                      part.c_stride);
        const bool holds_b = schedule_.kc >= problem_.shape.k || schedule_.holds_b;
        run_columns(call, part, 0, 0, 1, is_packed && holds_b, false);
        transpose(part.c, part.c_stride, part.rows, part.columns, transposes_.of_16, part.c_transposed, ldc);
        run_epilogue(call, part.first_column, part.first_column + part.columns, part.first_row,
                     part.first_row + part.rows, part.epilogue_scratch);
    }

    // All of k for one panel of columns and one of `slices` slices of the part's rows.
    void run_columns(const ProductCall& call, const Part& part, std::int64_t column, std::int64_t slice,
                     std::int64_t slices, bool is_packed, bool finds_a) const {
        const ProductShape& shape = problem_.shape;
        const std::int64_t columns = std::min(schedule_.nc, part.columns - column);
        const EvenCut tiles(part.rows, schedule_.tile->mr);
        const Range mine = part_of(tiles.pieces, 1, static_cast<int>(slice), static_cast<int>(slices));
        std::int64_t step = 0;
        do {
            const std::int64_t depth = std::min(schedule_.kc, shape.k - step);
            const std::int64_t end = step + depth;
            KBlock block = {};
            block.column = column;
            block.columns = columns;
            block.step = step;
            block.depth = depth;
            block.into = call.into;
            block.add = call.into || step >= jit::kSegment;  // a segment has been closed before
            block.last = end == shape.k;
            block.resumed = step % jit::kSegment != 0;
            block.unfinished = !block.last && end % jit::kSegment != 0;
            block.finds_a = finds_a;
            block.first_tile = mine.begin;
            block.end_tile = mine.end;
            block.tiles = tiles.pieces;
            const float* const b =
                offset(part.b, shape.b_transposed ? column * shape.ldb + step : step * shape.ldb + column);
            if (schedule_.is_prepacked()) {
                const std::int64_t panel = column / schedule_.nc;
                block.b = call.prepacked +
                          tiles_.prepacked_begin(part.n_part, panel, part.first_column + column) +
                          packed_floats(columns, step);
                block.ldb = depth;
            } else if (schedule_.packs_b()) {
                float* const packed_b =
                    part.packed_b + (schedule_.holds_b ? packed_floats(columns, step) : 0);
                block.b = packed_b;
                block.ldb = depth;
                if (schedule_.packs_on_first_use()) {
                    if (!is_packed) block.unpacked = b;
                    if (!block.last) {
                        block.next = b + depth * shape.ldb;
                    } else if (column + columns < part.columns) {
                        block.next = part.b + column + columns;
                    }
                } else if (!is_packed && is_stored(dequantised_)) {
                    const StoredWeights weight{dequantised_,
                                               static_cast<const unsigned char*>(call.packed_weight), shape.k,
                                               shape.n};
                    pack_stored(weight, part.first_column + column, columns, step, depth, transposes_,
                                widths(), packed_b);
                } else if (!is_packed) {
                    pack_b(b, shape.ldb, shape.b_transposed, columns, depth, transposes_, widths(), packed_b);
                }
            } else {
                block.b = b;
                block.ldb = shape.ldb;
            }
            run_k_block(call, part, block, tiles);
            if (part.sums && slice == 0 && (shape.k > 0 || !call.into)) sum_columns(part, block);
            step += depth;
        } while (step < shape.k);
    }

    // While its columns of B are in L2.
    void sum_columns(const Part& part, const KBlock& block) const {
        jit::GemmArgs args = {};
        args.b = block.b;
        args.b_stride = block.ldb;
        args.c = part.sums + block.column;
        float* const accumulators = part.accumulators + part.rows * accumulator_stride_;
        args.accumulators_in = block.resumed ? accumulators : nullptr;
        args.accumulators_out = block.unfinished ? accumulators : nullptr;
        args.steps = block.depth;
        args.first_step = block.step;
        args.add = block.add;
        kernels_.sums().run(args, block.columns);
    }

    // Row blocks in turn: their rows of A stay in L2 for all columns of the block, and so does their C for
    // the epilogue.
    void run_k_block(const ProductCall& call, const Part& part, const KBlock& block,
                     const EvenCut& tiles) const {
        const std::int64_t per_block = std::max<std::int64_t>(1, schedule_.mc / schedule_.tile->mr);
        for (std::int64_t first = block.first_tile; first < block.end_tile; first += per_block) {
            const std::int64_t end = std::min(first + per_block, block.end_tile);
            if (problem_.shape.k > 0 || !call.into) run_block(part, block, tiles, first, end);
            if (epilogue_ && !row_epilogue_ && !part.c_transposed && block.last)
                finish(call, part, tiles.begin(first), tiles.begin(end), block.column,
                       block.column + block.columns);
        }
    }

    // Tiles [first, end) of rows, all columns of the block.
    void run_block(const Part& part, const KBlock& block, const EvenCut& tiles, std::int64_t first,
                   std::int64_t end) const {
        const ProductShape& shape = problem_.shape;
        const std::int64_t row = tiles.begin(first);
        jit::GemmArgs args = {};
        args.a_stride = shape.lda;
        args.c_stride = part.c_stride;
        args.prefetch.c_stride = shape.ldc;
        args.steps = block.depth;
        args.first_step = block.step;
        args.add = block.add;
        const float* const a = part.rows_of_a       ? nullptr
                               : shape.a_transposed ? part.a + block.step * shape.lda + row
                                                    : part.a + row * shape.lda + block.step;
        const std::int64_t packed_stride = schedule_.packed_a_stride();
        if (schedule_.packs_a() && shape.a_transposed) {
            pack_a(a, shape.lda, tiles, first, end, block.depth, part.packed_a);
        } else if (schedule_.packs_a()) {
            const std::int64_t rows = tiles.begin(end) - row;
            if (part.rows_of_a)
                gather_rows(part.rows_of_a + row, block.step, rows, block.depth, part.packed_a,
                            packed_stride);
            else
                copy_rows(a, shape.lda, rows, block.depth, part.packed_a, packed_stride);
            args.a_stride = packed_stride;
        }
        args.accumulator_stride = accumulator_stride_;
        args.packed = part.packed_b;
        const float* const rows_of_a = schedule_.packs_a() ? part.packed_a : a;
        const std::int64_t a_row = !schedule_.packs_a() ? (shape.a_transposed ? 1 : shape.lda)
                                   : shape.a_transposed ? block.depth
                                                        : packed_stride;
        // Each tile for its share of the rows that this one's columns become.
        const bool prefetches_c = part.c_transposed && block.last && !block.into &&
                                  part.rows == jit::kPrefetchCColumns &&
                                  block.columns <= schedule_.tile->nr && schedule_.order == LoopOrder::rows;
        const auto point_at = [&](std::int64_t t) {
            args.a = rows_of_a + (tiles.begin(t) - row) * a_row;
            if (schedule_.packs_a() && shape.a_transposed) args.a_stride = tiles.size(t);
            float* const accumulators = part.accumulators + tiles.begin(t) * accumulator_stride_;
            args.accumulators_in = block.resumed ? accumulators : nullptr;
            args.accumulators_out = block.unfinished ? accumulators : nullptr;
            args.c = part.c + tiles.begin(t) * part.c_stride + block.column;
            if (prefetches_c) {
                const Range rows =
                    part_of(block.columns, 1, static_cast<int>(t), static_cast<int>(tiles.pieces));
                args.prefetch.c = part.c_transposed + rows.begin * shape.ldc;
                args.prefetch.c_rows = rows.end - rows.begin;
            }
            const bool packs = tile_use(schedule_, block, t) == TileUse::packing;
            args.b = packs ? block.unpacked : block.b;
            args.b_stride = packs ? shape.ldb : block.ldb;
            const Prefetched asked = prefetched_by(schedule_, block, t);
            args.prefetch.target = asked.b;
            args.prefetch.stride = shape.ldb;
            if (asked.tiles > 0) {
                const std::int64_t rows_on = tiles.size(t) * a_row;
                args.prefetch.target = args.a + rows_on;
                args.prefetch.stride = asked.tiles * rows_on / block.depth;
            }
        };
        const auto kernels = [&](std::int64_t t) -> const MacroKernel& {
            return kernels_.of(tile_use(schedule_, block, t), tiles.size(t));
        };
        if (schedule_.order == LoopOrder::rows) {
            for (std::int64_t t = first; t < end; ++t) {
                point_at(t);
                kernels(t).run(args, block.columns);
            }
            return;
        }
        for (std::int64_t j = 0, width = 0; j < block.columns; j += width) {
            width = kernels_.width_at(j, block.columns);
            for (std::int64_t t = first, next = 0; t < end; t = next) {
                next =
                    std::min({end, end_of_use(schedule_, block, t), t < tiles.larger ? tiles.larger : end});
                point_at(t);
                const std::int64_t rows_on = tiles.size(t) * a_row;
                kernels(t).run_rows(args, j, static_cast<int>(width), next - t, rows_on,
                                    schedule_.prefetch.a ? rows_on : 0);
            }
        }
    }

    void finish(const ProductCall& call, const Part& part, std::int64_t row, std::int64_t row_end,
                std::int64_t column, std::int64_t column_end) const {
        run_epilogue(call, part.first_row + row, part.first_row + row_end, part.first_column + column,
                     part.first_column + column_end, part.epilogue_scratch);
    }
};

}  // namespace

ProductPtr compile_blocked(const Order& order) {
    return as_product(make_on<BlockedProduct>(order.context.compiler.heap, order));
}

}  // namespace volta::cpu
