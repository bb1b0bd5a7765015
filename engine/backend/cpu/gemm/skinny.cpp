// Products of few rows. The axpy form walks over B by rows, a few steps of k at a time, and grows all columns
// of C together: tiles of few rows would read B in narrow strips, which is no stream to the memory
// (jitgen/gemm_axpy.h). The dot form is for a B that is stored as its transpose, as the head of a language
// model (jitgen/gemm_dot.h).
#include <algorithm>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/partition.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/base/multiples.h"
#include "engine/numerics/fma32.h"

namespace volta::cpu {
namespace {

// ---- The axpy form ---------------------------------------------------------------------------------------

class AxpyProduct final : public Product {
  public:
    explicit AxpyProduct(const Order& order)
        : Product(order.given, order.problem, order.machine, order.schedule, order.epilogue),
          turns_(problem_.shape.m, jit::kMaxAxpyRows),
          by_segments_(schedule_.split == Split::k_segments) {
        const Schedule& s = schedule_;
        set_name("f32_gemm_sweep_%s", isa_name(isa_));
        jit::AxpyForm form;
        form.isa = isa_;
        form.rows = static_cast<std::uint8_t>(most_rows());
        form.prefetch = s.prefetch.axpy;
        add_kernel(form, s.steps, order.context.compiler);
        if (form.prefetch == jit::AxpyPrefetch::next) form.prefetch = jit::AxpyPrefetch::rows;
        if (s.steps > s.rest_steps) add_kernel(form, s.rest_steps, order.context.compiler);
        if (s.steps > 1) add_kernel(form, 1, order.context.compiler);
        const std::int64_t scratch =
            epilogue_ ? static_cast<std::int64_t>(
                            scratch_bytes(problem_.whole_rows() ? problem_.shape.n : s.nc) / sizeof(float))
                      : 0;
        accumulator_floats_ = (by_segments_ ? segments() : 1) * problem_.shape.m * s.accumulator_stride;
        worker_floats_ = accumulator_floats_ + round_up(scratch + 1, jit::kPanel);
        workspace_bytes_ =
            static_cast<std::size_t>(worker_floats_ * (by_segments_ ? 1 : s.workers)) * sizeof(float);
    }

    bool has_code() const {
        return std::all_of(kernels_, kernels_ + kernel_count_,
                           [](const Kernel& each) { return each.run && each.run_fewer; });
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        if (by_segments_) return run_segments(pool, call);
        const std::int64_t parts = problem_.shape.batch * schedule_.n_parts;
        pool.run(schedule_.workers, [&](int worker, int workers) noexcept {
            float* const workspace = static_cast<float*>(call.workspace) + worker * worker_floats_;
            const Range mine = part_of(parts, 1, worker, workers);
            for (std::int64_t part = mine.begin; part < mine.end; ++part) run_part(call, part, workspace);
        });
    }

  private:
    struct Kernel {
        std::int64_t steps;                // of k
        jit::AxpyFunction run, run_fewer;  // most_rows(), and turns_.low
    };

    std::int64_t most_rows() const { return turns_.size(0); }

    void add_kernel(jit::AxpyForm form, std::int64_t steps, const Compiler& compiler) {
        form.steps = static_cast<std::uint8_t>(steps);
        Kernel kernel = {steps, compiler.cache->sweep(form, *compiler.arena), nullptr};
        form.rows = static_cast<std::uint8_t>(turns_.low);
        kernel.run_fewer = compiler.cache->sweep(form, *compiler.arena);
        kernels_[kernel_count_++] = kernel;
    }

    void run_part(const ProductCall& call, std::int64_t index, float* workspace) const {
        const std::int64_t entry = index / schedule_.n_parts;
        if (schedule_.n_parts > 1)
            prefetch_row(problem_.shape, call.a + entry * problem_.shape.batch_stride_a, problem_.shape.k);
        const Range columns =
            part_of(problem_.shape.n, kCutColumns, static_cast<int>(index % schedule_.n_parts),
                    static_cast<int>(schedule_.n_parts));
        for (std::int64_t j = columns.begin; j < columns.end; j += schedule_.nc) {
            const std::int64_t end = std::min<std::int64_t>(j + schedule_.nc, columns.end);
            run_columns(call, entry, j, end, workspace);
            if (!problem_.whole_rows()) finish(call, entry, j, end, workspace);
        }
        if (problem_.whole_rows()) finish(call, entry, columns.begin, columns.end, workspace);
    }

    std::int64_t segments() const { return ceil_div(problem_.shape.k, jit::kSegment); }

    // Each segment's chains grow in scratch memory of their own and are added in the order of k.
    void run_segments(ThreadPool& pool, const ProductCall& call) const {
        float* const chains = static_cast<float*>(call.workspace);
        const std::int64_t floats = problem_.shape.m * schedule_.accumulator_stride;
        pool.run_stealing(schedule_.workers, segments(), 1, [&](int, ThreadPool::WorkItems& items) noexcept {
            for (Range piece; items.next(&piece);)
                for (std::int64_t segment = piece.begin; segment < piece.end; ++segment) {
                    jit::AxpyArgs args = args_of(problem_.shape.n);
                    const std::int64_t step = segment * jit::kSegment;
                    prefetch_row(problem_.shape, call.a + step,
                                 std::min(jit::kSegment, problem_.shape.k - step));
                    args.chains = chains + segment * floats;
                    args.accumulator_stride = schedule_.accumulator_stride;
                    run_segment(args, call.a, call.b, step);
                }
        });
        jit::AxpyArgs args = args_of(problem_.shape.n);
        args.accumulator_stride = schedule_.accumulator_stride;
        for (std::int64_t segment = 0; segment < segments(); ++segment) {
            args.chains = chains + segment * floats;
            close(args, segment == 0 && !call.into, call.c);
        }
        finish(call, 0, 0, problem_.shape.n, chains);
    }

    // All k. The chains of a first segment that is stored grow in C itself, unless they stay apart.
    void run_columns(const ProductCall& call, std::int64_t entry, std::int64_t begin, std::int64_t end,
                     float* scratch) const {
        const float* const a = call.a + entry * problem_.shape.batch_stride_a;
        const float* const b = call.b + entry * problem_.shape.batch_stride_b + begin;
        float* const c = call.c + entry * problem_.shape.batch_stride_c + begin;
        jit::AxpyArgs args = args_of(end - begin);
        for (std::int64_t step = 0; step < problem_.shape.k || step == 0; step += jit::kSegment) {
            const bool stored = step == 0 && !call.into;
            if (problem_.shape.k == 0 && !stored) break;
            const bool in_place = stored && !schedule_.accumulators_apart;
            args.chains = in_place ? c : scratch;
            args.accumulator_stride = in_place ? problem_.shape.ldc : schedule_.accumulator_stride;
            run_segment(args, a, b, step);
            if (!in_place) close(args, stored, c);
        }
    }

    jit::AxpyArgs args_of(std::int64_t columns) const {
        jit::AxpyArgs args = {};
        args.columns = columns;
        args.b_stride = problem_.shape.ldb;
        args.a_row = problem_.shape.a_transposed ? 1 : problem_.shape.lda;
        args.a_step = problem_.shape.a_transposed ? problem_.shape.lda : 1;
        return args;
    }

    // The segment that begins with `step`: its chains, from +0.
    void run_segment(jit::AxpyArgs args, const float* a, const float* b, std::int64_t step) const {
        for (std::int64_t i = 0; i < problem_.shape.m; ++i)
            std::fill_n(args.chains + i * args.accumulator_stride, args.columns, 0.0f);
        const std::int64_t end = std::min(step + jit::kSegment, problem_.shape.k);
        for (std::int64_t k = step; k < end;) {
            const Kernel* kernel = kernels_;  // the last takes one step
            while (k + kernel->steps > end) ++kernel;
            args.b = b + k * problem_.shape.ldb;
            args.prefetch_target = args.b + schedule_.prefetch.distance * problem_.shape.ldb;
            for (std::int64_t turn = 0; turn < turns_.pieces; ++turn) {
                jit::AxpyArgs rows = args;
                rows.a = a + turns_.begin(turn) * args.a_row + k * args.a_step;
                rows.chains = args.chains + turns_.begin(turn) * args.accumulator_stride;
                (turns_.size(turn) == most_rows() ? kernel->run : kernel->run_fewer)(&rows);
            }
            k += kernel->steps;
        }
    }

    void close(const jit::AxpyArgs& args, bool stored, float* c) const {
        close_segment(args.chains, args.accumulator_stride, problem_.shape.m, args.columns, stored, c,
                      problem_.shape.ldc);
    }
    void finish(const ProductCall& call, std::int64_t entry, std::int64_t begin, std::int64_t end,
                float* workspace) const {
        run_epilogue(call, entry * problem_.shape.m, (entry + 1) * problem_.shape.m, begin, end,
                     workspace + accumulator_floats_);
    }

    const EvenCut turns_;  // of rows
    const bool by_segments_;
    Kernel kernels_[3] = {};  // the most steps first, one step last
    int kernel_count_ = 0;
    std::int64_t accumulator_floats_ = 0;  // of a panel, of all segments where threads take those
    std::int64_t worker_floats_ = 0;       // accumulators, then the epilogue's scratch
};

// ---- The dot form ----------------------------------------------------------------------------------------

constexpr std::int64_t kOutputs = jit::kDotOutputs;
constexpr std::int64_t kMostDotTiles = 12;  // fixed: of rows, more than rules choose

class DotProduct final : public Product {
  public:
    explicit DotProduct(const Order& order)
        : Product(order.given, order.problem, order.machine, order.schedule, order.epilogue) {
        const Schedule& s = schedule_;
        const std::int64_t m = problem_.shape.m;
        set_name("f32_gemm_dots_%s", isa_name(isa_));
        jit::DotForm form;
        form.isa = isa_;
        form.prefetches = s.prefetch.stream;
        form.lines = s.lines;
        // Rows in tiles of nearly equal height, one kernel for either; only the first tile reads B from DRAM.
        tile_count_ = ceil_div(m, jit::dot_rows(isa_));
        KernelCache& cache = *order.context.compiler.cache;
        jit::CodeArena& arena = *order.context.compiler.arena;
        for (std::int64_t tile = 0, row = 0; tile < tile_count_; ++tile) {
            const std::int64_t rows = (m - row) / (tile_count_ - tile);
            form.rows = static_cast<std::uint8_t>(rows);
            tiles_[tile] = {row, rows, cache.dots(form, arena)};
            if (s.groups > 1) {
                form.groups = static_cast<std::uint8_t>(s.groups);
                several_ = cache.dots(form, arena);
            }
            form.prefetches = false;
            row += rows;
        }
        sums_bytes_ = static_cast<std::size_t>(m * s.groups * kOutputs) * sizeof(float);
        worker_bytes_ = sums_bytes_ + static_cast<std::size_t>(
                                          round_up(static_cast<std::int64_t>(scratch_bytes(s.nc)), 64));
        workspace_bytes_ = worker_bytes_ * static_cast<std::size_t>(s.workers);
    }

    bool has_code() const {
        for (std::int64_t tile = 0; tile < tile_count_; ++tile)
            if (tiles_[tile].code == nullptr) return false;
        return schedule_.groups == 1 || several_ != nullptr;
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        const ProductShape& shape = problem_.shape;
        const std::int64_t groups_at_once = schedule_.groups, panel = schedule_.nc;
        pool.run(schedule_.workers, [&](int worker, int workers) noexcept {
            unsigned char* const workspace = static_cast<unsigned char*>(call.workspace) +
                                             static_cast<std::size_t>(worker) * worker_bytes_;
            const Range mine = part_of(shape.n, kCutColumns, worker, workers);
            if (workers > 1) prefetch_row(shape, call.a, shape.k);
            for (std::int64_t begin = mine.begin; begin < mine.end; begin += panel) {
                const std::int64_t end = std::min<std::int64_t>(mine.end, begin + panel);
                for (std::int64_t column = begin; column < end;) {
                    const std::int64_t groups =
                        column + groups_at_once * kOutputs <= end ? groups_at_once : 1;
                    run_outputs(call, column, groups, reinterpret_cast<float*>(workspace));
                    column += groups * kOutputs;
                }
                run_epilogue(call, 0, shape.m, begin, end, workspace + sums_bytes_);
            }
        });
    }

  private:
    // All k of 16 outputs, or of several times as many. The last ones are computed with those before them, so
    // that 16 rows of B are there; only their own are stored.
    void run_outputs(const ProductCall& call, std::int64_t column, std::int64_t groups, float* sums) const {
        const std::int64_t row = std::min(column, problem_.shape.n - groups * kOutputs);
        const float* const b = call.b + row * problem_.shape.ldb;
        for (std::int64_t k = 0; k < problem_.shape.k; k += jit::kSegment)
            for (std::int64_t tile = 0; tile < tile_count_; ++tile) {
                const Tile& rows = tiles_[tile];
                const std::int64_t steps = std::min(jit::kSegment, problem_.shape.k - k);
                jit::DotArgs args = {};
                args.a = call.a + rows.begin * problem_.shape.lda + k;
                args.a_stride = problem_.shape.lda;
                args.b = b + k;
                args.b_stride = problem_.shape.ldb;
                args.steps = steps / jit::kDotSteps * jit::kDotSteps;
                args.sums = sums;
                args.prefetch_target = b + groups * kOutputs * (problem_.shape.ldb + k);
                (groups > 1 ? several_ : rows.code)(&args);
                float* const c = call.c + rows.begin * problem_.shape.ldc + row;
                for (std::int64_t i = 0; i < rows.count; ++i)
                    for (std::int64_t j = column - row; j < groups * kOutputs; ++j) {
                        const float* const chain =
                            sums + (j / kOutputs * rows.count + i) * kOutputs + j % kOutputs;
                        finish(args, steps, i, j, *chain, k == 0 && !call.into,
                               &c[i * problem_.shape.ldc + j]);
                    }
            }
    }

    // The steps that are no four, then the segment joins C.
    static void finish(const jit::DotArgs& args, std::int64_t steps, std::int64_t i, std::int64_t j,
                       float sum, bool first, float* c) {
        for (std::int64_t s = args.steps; s < steps; ++s)
            sum = fma32(args.a[i * args.a_stride + s], args.b[j * args.b_stride + s], sum);
        *c = first ? sum : *c + sum;
    }

    struct Tile {
        std::int64_t begin, count;  // rows
        jit::DotFunction code;
    };

    Tile tiles_[kMostDotTiles];
    std::int64_t tile_count_ = 0;
    jit::DotFunction several_ = nullptr;             // of the only tile: several groups of 16 outputs at once
    std::size_t sums_bytes_ = 0, worker_bytes_ = 0;  // sums of a tile, and with the epilogue's scratch behind
};

template <class Skinny>
ProductPtr compile_skinny(const Order& order) {
    HeapPtr<Skinny> made = make_on<Skinny>(order.context.compiler.heap, order);
    if (!made->has_code()) return nullptr;
    return as_product(std::move(made));
}

}  // namespace

ProductPtr compile_skinny_axpy(const Order& order) { return compile_skinny<AxpyProduct>(order); }
ProductPtr compile_skinny_dot(const Order& order) { return compile_skinny<DotProduct>(order); }

}  // namespace volta::cpu
