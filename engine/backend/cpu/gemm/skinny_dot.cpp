#include "engine/backend/cpu/gemm/skinny_dot.h"

#include <algorithm>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/plan.h"
#include "engine/base/multiples.h"
#include "engine/numerics/fma32.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kOutputs = jit::kDotOutputs;
// Above, the transposed product computes more than it would read (transposed.h).
constexpr std::int64_t kMostRows = 12, kMostRowsOfAvx2 = 4;
constexpr std::int64_t kGroupColumns = 256;  // finished by an epilogue at a time
constexpr std::int64_t kMeetingFloats = 512, kLineFloats = 16;
constexpr double kElementsForThread = 200000;  // of B: what starting a second thread costs

class DotProduct final : public Product {
  public:
    DotProduct(const ProductShape& shape, const jit::RowKernel* epilogue, const CompileContext& context)
        : given_(shape),
          shape_(folded(shape)),
          epilogue_(epilogue),
          name_(context.machine.isa == Isa::avx512 ? "f32_gemm_dots_avx512" : "f32_gemm_dots_avx2") {
        jit::DotForm form;
        form.isa = context.machine.isa;
        const bool far = b_is_in_dram(context, shape);
        form.prefetches = far && context.machine.wants_repeated_prefetch;
        // Rows in tiles of nearly equal height, one kernel for either; only the first tile reads B from
        // memory.
        const std::int64_t most = jit::dot_rows(context.machine.isa), tiles = ceil_div(shape_.m, most);
        for (std::int64_t tile = 0, row = 0; tile < tiles; ++tile) {
            const std::int64_t rows = (shape_.m - row) / (tiles - tile);
            form.rows = static_cast<std::uint8_t>(rows);
            form.lines = reads_lines(form);
            if (tile == 0) {
                lines_ = form.lines;
                prefetches_ = form.prefetches;
            }
            tiles_[tile] = {row, rows, context.cache->dots(form, *context.arena)};
            // Memory is slower than one chain, and follows 16 rows better than 32.
            if (tiles == 1 && !far) groups_ = jit::dot_groups(form.isa, form.rows);
            if (groups_ > 1) {
                form.groups = static_cast<std::uint8_t>(groups_);
                several_ = context.cache->dots(form, *context.arena);
            }
            form.prefetches = false;
            row += rows;
        }
        tile_count_ = tiles;
        if (static_cast<double>(shape.n) * static_cast<double>(shape.k) > kElementsForThread)
            workers_ = static_cast<int>(
                std::min<std::int64_t>(context.machine.threads, ceil_div(shape.n, kGroupColumns)));
        const std::size_t scratch = epilogue != nullptr ? epilogue->scratch_bytes(kGroupColumns) : 0;
        sums_bytes_ = static_cast<std::size_t>(shape.m * groups_ * kOutputs) * sizeof(float);
        worker_bytes_ =
            sums_bytes_ + static_cast<std::size_t>(round_up(static_cast<std::int64_t>(scratch), 64));
    }

    bool has_code() const {
        for (std::int64_t tile = 0; tile < tile_count_; ++tile)
            if (tiles_[tile].code == nullptr) return false;
        return groups_ == 1 || several_ != nullptr;
    }
    std::size_t workspace_bytes() const noexcept override {
        return worker_bytes_ * static_cast<std::size_t>(workers_);
    }
    std::size_t kept_bytes() const noexcept override { return 0; }
    void keep(ThreadPool&, const float*, float*) const noexcept override {}
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return given_; }
    EpilogueKind epilogue() const noexcept override { return epilogue_kind(epilogue_); }
    void describe(ScheduleText& text) const noexcept override {
        text.add("skinny_dot tiles=%lldx%lld groups=%lld prefetch=%s reads=%s workers=%d",
                 static_cast<long long>(tile_count_), static_cast<long long>(tiles_[0].count),
                 static_cast<long long>(groups_), prefetches_ ? "stream" : "hardware",
                 lines_ ? "lines" : "quarters", workers_);
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        pool.run(workers_, [&](int worker, int workers) noexcept {
            unsigned char* const workspace = static_cast<unsigned char*>(call.workspace) +
                                             static_cast<std::size_t>(worker) * worker_bytes_;
            const Range mine = part_of(shape_.n, kCutColumns, worker, workers);
            if (workers > 1) prefetch_row(shape_, call.a, shape_.k);
            for (std::int64_t begin = mine.begin; begin < mine.end; begin += kGroupColumns) {
                const std::int64_t end = std::min<std::int64_t>(mine.end, begin + kGroupColumns);
                for (std::int64_t column = begin; column < end;) {
                    const std::int64_t groups = column + groups_ * kOutputs <= end ? groups_ : 1;
                    run_outputs(call, column, groups, reinterpret_cast<float*>(workspace));
                    column += groups * kOutputs;
                }
                if (call.epilogue == nullptr || call.epilogue->kernel == nullptr) continue;
                jit::run_block(*call.epilogue->kernel, call.epilogue->args, 0, shape_.m, begin, end,
                               workspace + sums_bytes_);
            }
        });
    }

  private:
    // Where rows of B lie some multiple of 2 KiB apart, 16 of them meet in two sets of L1 or in one: a
    // quarter of a line at a time, each line would come from L2 four times. Else this gains only where few
    // rows of A share the work.
    bool reads_lines(const jit::DotForm& form) const {
        const std::int64_t behind = shape_.ldb % kMeetingFloats;
        const bool meet = std::min(behind, kMeetingFloats - behind) < kLineFloats;
        return form.isa == Isa::avx512 && (meet || form.rows <= 2);
    }

    // All k of 16 outputs, or of several times as many. The last ones are computed with those before them, so
    // that 16 rows of B are there; only their own are stored.
    void run_outputs(const ProductCall& call, std::int64_t column, std::int64_t groups, float* sums) const {
        const std::int64_t row = std::min(column, shape_.n - groups * kOutputs);
        const float* const b = call.b + row * shape_.ldb;
        for (std::int64_t k = 0; k < shape_.k; k += jit::kSegment)
            for (std::int64_t tile = 0; tile < tile_count_; ++tile) {
                const Tile& rows = tiles_[tile];
                const std::int64_t steps = std::min(jit::kSegment, shape_.k - k);
                jit::DotArgs args = {};
                args.a = call.a + rows.begin * shape_.lda + k;
                args.a_stride = shape_.lda;
                args.b = b + k;
                args.b_stride = shape_.ldb;
                args.steps = steps / jit::kDotSteps * jit::kDotSteps;
                args.sums = sums;
                args.prefetch_target = b + groups * kOutputs * (shape_.ldb + k);
                (groups > 1 ? several_ : rows.code)(&args);
                float* const c = call.c + rows.begin * shape_.ldc + row;
                for (std::int64_t i = 0; i < rows.count; ++i)
                    for (std::int64_t j = column - row; j < groups * kOutputs; ++j) {
                        const float* const chain =
                            sums + (j / kOutputs * rows.count + i) * kOutputs + j % kOutputs;
                        finish(args, steps, i, j, *chain, k == 0 && !call.into, &c[i * shape_.ldc + j]);
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

    const ProductShape given_, shape_;
    const jit::RowKernel* const epilogue_;
    const char* const name_;
    Tile tiles_[kMostRows];
    std::int64_t tile_count_ = 0;
    jit::DotFunction several_ = nullptr;  // of the only tile: groups_ x 16 outputs at once
    std::int64_t groups_ = 1;
    bool lines_ = false, prefetches_ = false;  // of the first tile
    int workers_ = 1;
    std::size_t sums_bytes_ = 0, worker_bytes_ = 0;  // sums of a tile, and with the epilogue's scratch behind
};

}  // namespace

bool gains_by_dot(const ProductShape& given, Isa isa) {
    const ProductShape shape = folded(given);
    return shape.batch == 1 && shape.b_transposed && !shape.a_transposed && isa != Isa::scalar &&
           shape.m >= 1 && shape.m <= (isa == Isa::avx512 ? kMostRows : kMostRowsOfAvx2) &&
           shape.n >= 4 * kOutputs && shape.k >= 16;
}

ProductPtr compile_dot(const ProductShape& shape, const jit::RowKernel* epilogue,
                       const CompileContext& context) {
    HeapPtr<DotProduct> made = make_on<DotProduct>(context.heap, shape, epilogue, context);
    if (!made->has_code()) return nullptr;
    return as_product(std::move(made));
}

}  // namespace volta::cpu
