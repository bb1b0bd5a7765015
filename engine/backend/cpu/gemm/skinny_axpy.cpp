#include "engine/backend/cpu/gemm/skinny_axpy.h"

#include <algorithm>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/plan.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

// For several rows it matters when few rows of B share a page, or not even one. AVX2's tiles are narrower,
// and gain by it earlier: two rows always, more of them when B lies beyond L2.
constexpr std::int64_t kFewestColumns = 64, kFewestColumnsOfTwo = 2048, kFewestColumnsOfMore = 8192;
constexpr std::int64_t kFewestColumnsOfAvx2 = 512;
constexpr std::int64_t kGroupColumns = 4096;  // whose chains stay in L1, or in L2 for several rows
// Of one row that a thread reads from memory by itself: as the memory lies. Its chains stay in L2.
constexpr std::int64_t kGroupColumnsOfStream = 64 * 1024;
// AVX2 takes two steps of three or four rows at a time and would wait for chains in L2, where B comes from a
// cache: they stay in L1, three lines more than a page apart.
constexpr std::int64_t kNearColumns = 1024, kNearApart = 48, kFewestRowsApart = 3;
// Of AVX2 also seven and eight rows, in turns of a kernel's: one tile has fewer rows, and two read B twice.
constexpr std::int64_t kFewestRowsInTurns = 7, kMostRowsInTurns = 8;
constexpr std::int64_t kShortColumns = 512, kShortColumnsOfAvx2 = 1024;
constexpr std::int64_t kLineFloats = 16;
constexpr std::int64_t kRestSteps = 8;  // of what is left of more
constexpr std::int64_t kWideColumns = 1024, kPageFloats = 1024, kApartFloats = 128;
constexpr std::int64_t kLongColumns = 1152;                  // of a thread
constexpr std::int64_t kMostAccumulatorFloats = 256 * 1024;  // of all segments
// With AVX-512 one row reads 16 rows of B at once, by plain loads, as long as the last cache holds most of
// it; AVX2 no more than others.
constexpr double kMostCacheUseOfOneRow = 0.8;
constexpr double kElementsForThread = 200000;  // of B: what starting a second thread costs

constexpr const char* kPrefetchNames[] = {"hardware", "next_lines", "next_rows", "repeated", "stream"};

class AxpyProduct final : public Product {
  public:
    AxpyProduct(const ProductShape& shape, const jit::RowKernel* epilogue, const CompileContext& context)
        : given_(shape),
          shape_(folded(shape)),
          turns_(shape_.m, jit::kMaxAxpyRows),
          epilogue_(epilogue),
          whole_rows_(epilogue_kind(epilogue) == EpilogueKind::rows),
          name_(context.machine.isa == Isa::avx512 ? "f32_gemm_sweep_avx512" : "f32_gemm_sweep_avx2") {
        jit::AxpyForm form;
        form.isa = context.machine.isa;
        form.rows = static_cast<std::uint8_t>(most_rows());
        const bool far = b_is_in_dram(
            context, shape_,
            context.machine.isa == Isa::avx512 && shape_.m == 1 ? kMostCacheUseOfOneRow : kMostCacheUse);
        const double elements = static_cast<double>(shape_.n) * static_cast<double>(shape_.k);
        by_segments_ = far && elements > kElementsForThread && gains_by_segments(context.machine.threads);
        if (!whole_rows_ && !by_segments_ && elements > kElementsForThread)
            n_parts_ = std::min<std::int64_t>(context.machine.threads, ceil_div(shape_.n, kCutColumns));
        workers_ = std::min<std::int64_t>(context.machine.threads, shape_.batch * n_parts_);
        const std::int64_t part = round_up(ceil_div(shape_.n, n_parts_), kCutColumns);
        accumulators_apart_ = context.machine.isa == Isa::avx2 && shape_.m >= kFewestRowsApart && !far;
        const bool streams = far && shape_.m == 1 && n_parts_ == 1 && !by_segments_;
        group_columns_ = std::min(part, accumulators_apart_ ? kNearColumns
                                        : streams           ? kGroupColumnsOfStream
                                                            : kGroupColumns);
        accumulator_stride_ = group_columns_ + (accumulators_apart_ ? kNearApart : 0);
        choose_steps(form, far, context.machine.wants_repeated_prefetch);
        prefetch_ = kPrefetchNames[static_cast<int>(form.prefetch)];
        add_kernel(form, steps_, context);
        if (form.prefetch == jit::AxpyPrefetch::next) form.prefetch = jit::AxpyPrefetch::rows;
        if (steps_ > kRestSteps) add_kernel(form, kRestSteps, context);
        if (steps_ > 1) add_kernel(form, 1, context);
        if (by_segments_) workers_ = std::min<std::int64_t>(context.machine.threads, segments());
        const std::int64_t scratch =
            epilogue ? static_cast<std::int64_t>(
                           epilogue->scratch_bytes(whole_rows_ ? shape_.n : group_columns_) / sizeof(float))
                     : 0;
        accumulator_floats_ = (by_segments_ ? segments() : 1) * shape_.m * accumulator_stride_;
        worker_floats_ = accumulator_floats_ + round_up(scratch + 1, jit::kPanel);
    }

    bool has_code() const {
        return std::all_of(kernels_, kernels_ + kernel_count_,
                           [](const Kernel& each) { return each.run && each.run_fewer; });
    }

    std::size_t workspace_bytes() const noexcept override {
        return static_cast<std::size_t>(worker_floats_ * (by_segments_ ? 1 : workers_)) * sizeof(float);
    }
    std::size_t kept_bytes() const noexcept override { return 0; }
    void keep(ThreadPool&, const float*, float*) const noexcept override {}
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return given_; }
    EpilogueKind epilogue() const noexcept override { return epilogue_kind(epilogue_); }
    void describe(ScheduleText& text) const noexcept override {
        const auto number = [](std::int64_t n) { return static_cast<long long>(n); };
        text.add(
            "skinny_axpy rows=%lldx%lld steps=%lld prefetch=%s distance=%lld nc=%lld accumulators=%s:%lld "
            "split=%s n_parts=%lld workers=%lld",
            number(turns_.pieces), number(most_rows()), number(steps_), prefetch_, number(distance_),
            number(group_columns_), accumulators_apart_ ? "apart" : "in_c", number(accumulator_stride_),
            by_segments_ ? "k" : "n", number(n_parts_), number(workers_));
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        if (by_segments_) return run_segments(pool, call);
        const std::int64_t parts = shape_.batch * n_parts_;
        pool.run(static_cast<int>(workers_), [&](int worker, int workers) noexcept {
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

    void add_kernel(jit::AxpyForm form, std::int64_t steps, const CompileContext& context) {
        form.steps = static_cast<std::uint8_t>(steps);
        Kernel kernel = {steps, context.cache->sweep(form, *context.arena), nullptr};
        form.rows = static_cast<std::uint8_t>(turns_.low);
        kernel.run_fewer = context.cache->sweep(form, *context.arena);
        kernels_[kernel_count_++] = kernel;
    }

    // How many rows of B are read at once, and what is prefetched meanwhile: the memory as it lies, where one
    // thread reads whole rows; the same columns of the next rows, where threads have columns each; else as
    // many rows further on. A processor that does not gain by prefetching follows one row by itself, unless
    // threads have few columns each: two or four rows of each are enough streams then.
    void choose_steps(jit::AxpyForm& form, bool far, bool prefetches) {
        const bool is_long = group_columns_ >= kLongColumns, is_shared = workers_ > 1;
        const bool is_followed = !prefetches && form.rows == 1 && (is_long || !is_shared);
        form.prefetch = far && !is_followed ? jit::AxpyPrefetch::rows
                        : form.rows == 1    ? jit::AxpyPrefetch::none
                                            : jit::AxpyPrefetch::near;
        distance_ = steps_ = jit::axpy_steps(form.isa, form.rows, form.prefetch);
        // More rows at once gain where they are long and do not meet in the same sets of a cache.
        const std::int64_t behind = shape_.ldb % kPageFloats, apart = std::min(behind, kPageFloats - behind);
        const bool is_wide = !is_shared && shape_.n >= kWideColumns && apart >= kApartFloats;
        if (!is_wide) steps_ = std::min(steps_, kRestSteps);
        if (!far || form.rows > 1) return;
        if (is_shared) {
            if (prefetches) form.prefetch = jit::AxpyPrefetch::below;
            steps_ = prefetches ? 1 : is_long ? 4 : 2;
            distance_ = 2 * steps_;
        } else if (is_followed) {
            return;
        } else if (shape_.n <= kGroupColumns && shape_.ldb == shape_.n && shape_.n % kLineFloats == 0) {
            form.prefetch = jit::AxpyPrefetch::next;
        } else if (group_columns_ < (form.isa == Isa::avx2 ? kShortColumnsOfAvx2 : kShortColumns)) {
            steps_ = 1;
            distance_ = 2;
        }
    }

    void run_part(const ProductCall& call, std::int64_t index, float* workspace) const {
        const std::int64_t entry = index / n_parts_;
        if (n_parts_ > 1) prefetch_row(shape_, call.a + entry * shape_.batch_stride_a, shape_.k);
        const Range columns =
            part_of(shape_.n, kCutColumns, static_cast<int>(index % n_parts_), static_cast<int>(n_parts_));
        for (std::int64_t j = columns.begin; j < columns.end; j += group_columns_) {
            const std::int64_t end = std::min<std::int64_t>(j + group_columns_, columns.end);
            run_columns(call, entry, j, end, workspace);
            if (!whole_rows_) run_epilogue(call, entry, j, end, workspace);
        }
        if (whole_rows_) run_epilogue(call, entry, columns.begin, columns.end, workspace);
    }

    std::int64_t segments() const { return ceil_div(shape_.k, jit::kSegment); }

    // Threads that take columns each read some lines of every row, and what the processor reads ahead for one
    // are the columns of the other: with segments of k they read the memory as it lies. Long rows lose little
    // by that, less than threads whose segments are not alike long.
    bool gains_by_segments(std::int64_t threads) const {
        const std::int64_t most = ceil_div(segments(), threads) * jit::kSegment;  // steps of a thread
        const bool is_short = shape_.n < threads * kLongColumns,
                   is_even = 10 * shape_.k >= 9 * threads * most;
        return threads > 1 && shape_.batch == 1 && segments() > 1 && (is_short || is_even) &&
               shape_.n <= kGroupColumns && segments() * shape_.m * shape_.n <= kMostAccumulatorFloats;
    }

    // Each segment's chains grow in scratch memory of their own and are added in the order of k.
    void run_segments(ThreadPool& pool, const ProductCall& call) const {
        float* const chains = static_cast<float*>(call.workspace);
        const std::int64_t floats = shape_.m * accumulator_stride_;
        pool.run_stealing(
            static_cast<int>(workers_), segments(), 1, [&](int, ThreadPool::WorkItems& items) noexcept {
                for (Range piece; items.next(&piece);)
                    for (std::int64_t segment = piece.begin; segment < piece.end; ++segment) {
                        jit::AxpyArgs args = args_of(shape_.n);
                        const std::int64_t step = segment * jit::kSegment;
                        prefetch_row(shape_, call.a + step, std::min(jit::kSegment, shape_.k - step));
                        args.chains = chains + segment * floats;
                        args.accumulator_stride = accumulator_stride_;
                        run_segment(args, call.a, call.b, step);
                    }
            });
        jit::AxpyArgs args = args_of(shape_.n);
        args.accumulator_stride = accumulator_stride_;
        for (std::int64_t segment = 0; segment < segments(); ++segment) {
            args.chains = chains + segment * floats;
            finish(args, segment == 0 && !call.into, call.c);
        }
        run_epilogue(call, 0, 0, shape_.n, chains);
    }

    // All k. The chains of a first segment that is stored grow in C itself, unless they stay apart.
    void run_columns(const ProductCall& call, std::int64_t entry, std::int64_t begin, std::int64_t end,
                     float* scratch) const {
        const float* const a = call.a + entry * shape_.batch_stride_a;
        const float* const b = call.b + entry * shape_.batch_stride_b + begin;
        float* const c = call.c + entry * shape_.batch_stride_c + begin;
        jit::AxpyArgs args = args_of(end - begin);
        for (std::int64_t step = 0; step < shape_.k || step == 0; step += jit::kSegment) {
            const bool stored = step == 0 && !call.into;
            if (shape_.k == 0 && !stored) break;
            const bool in_place = stored && !accumulators_apart_;
            args.chains = in_place ? c : scratch;
            args.accumulator_stride = in_place ? shape_.ldc : accumulator_stride_;
            run_segment(args, a, b, step);
            if (!in_place) finish(args, stored, c);
        }
    }

    jit::AxpyArgs args_of(std::int64_t columns) const {
        jit::AxpyArgs args = {};
        args.columns = columns;
        args.b_stride = shape_.ldb;
        args.a_row = shape_.a_transposed ? 1 : shape_.lda;
        args.a_step = shape_.a_transposed ? shape_.lda : 1;
        return args;
    }

    // The segment that begins with `step`: its chains, from +0.
    void run_segment(jit::AxpyArgs args, const float* a, const float* b, std::int64_t step) const {
        for (std::int64_t i = 0; i < shape_.m; ++i)
            std::fill_n(args.chains + i * args.accumulator_stride, args.columns, 0.0f);
        const std::int64_t end = std::min(step + jit::kSegment, shape_.k);
        for (std::int64_t k = step; k < end;) {
            const Kernel* kernel = kernels_;  // the last takes one step
            while (k + kernel->steps > end) ++kernel;
            args.b = b + k * shape_.ldb;
            args.prefetch_target = args.b + distance_ * shape_.ldb;
            for (std::int64_t turn = 0; turn < turns_.pieces; ++turn) {
                jit::AxpyArgs rows = args;
                rows.a = a + turns_.begin(turn) * args.a_row + k * args.a_step;
                rows.chains = args.chains + turns_.begin(turn) * args.accumulator_stride;
                (turns_.size(turn) == most_rows() ? kernel->run : kernel->run_fewer)(&rows);
            }
            k += kernel->steps;
        }
    }

    // C = a segment's chains, or C + these.
    void finish(const jit::AxpyArgs& args, bool stored, float* c) const {
        for (std::int64_t i = 0; i < shape_.m; ++i) {
            const float* const chains = args.chains + i * args.accumulator_stride;
            float* const row = c + i * shape_.ldc;
            if (stored) {
                std::copy_n(chains, args.columns, row);
                continue;
            }
            for (std::int64_t j = 0; j < args.columns; ++j) row[j] += chains[j];
        }
    }

    void run_epilogue(const ProductCall& call, std::int64_t entry, std::int64_t begin, std::int64_t end,
                      float* workspace) const {
        if (!call.epilogue || !call.epilogue->kernel || begin == end) return;
        jit::run_block(*call.epilogue->kernel, call.epilogue->args, entry * shape_.m, (entry + 1) * shape_.m,
                       begin, end, workspace + accumulator_floats_);
    }

    const ProductShape given_, shape_;
    const EvenCut turns_;  // of rows
    const jit::RowKernel* const epilogue_;
    const bool whole_rows_;
    const char* const name_;
    Kernel kernels_[3] = {};  // the most steps first, one step last
    int kernel_count_ = 0;
    const char* prefetch_ = "";
    std::int64_t steps_ = 1, distance_ = 1;  // of k: at once, and to what is prefetched
    std::int64_t n_parts_ = 1, workers_ = 1;
    bool by_segments_ = false;             // threads take segments of k, else columns
    bool accumulators_apart_ = false;      // from C, in scratch memory
    std::int64_t group_columns_ = 0;       // columns walked at a time
    std::int64_t accumulator_stride_ = 0;  // from row to row of chains in scratch memory
    std::int64_t accumulator_floats_ = 0;  // of a group, of all segments where threads take those
    std::int64_t worker_floats_ = 0;       // chains, then the epilogue's scratch
};

}  // namespace

bool gains_by_axpy(const ProductShape& given, Isa isa) {
    const ProductShape shape = folded(given);
    if (shape.b_transposed || shape.m == 0 || shape.batch == 0) return false;
    const bool in_turns = isa == Isa::avx2 && shape.m >= kFewestRowsInTurns && shape.m <= kMostRowsInTurns;
    if (shape.m > jit::kMaxAxpyRows && !in_turns) return false;
    const bool far = shape.m == 2 || shape.k * shape.n >= kL2Floats;
    if (isa == Isa::avx2 && shape.m > 1 && far && shape.n >= kFewestColumnsOfAvx2) return true;
    return shape.n >= (shape.m == 1   ? kFewestColumns
                       : shape.m == 2 ? kFewestColumnsOfTwo
                                      : kFewestColumnsOfMore);
}

ProductPtr compile_axpy(const ProductShape& shape, const jit::RowKernel* epilogue,
                        const CompileContext& context) {
    HeapPtr<AxpyProduct> made = make_on<AxpyProduct>(context.heap, shape, epilogue, context);
    if (!made->has_code()) return nullptr;
    return as_product(std::move(made));
}

}  // namespace volta::cpu
