// B in panels of 16 columns, which are read one after the other: packed weights, dequantised in registers,
// and f32 that was packed once. Also by topology, where the fastest way depends on which cores the threads
// run on.
#include <algorithm>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/cpu/gemm/partition.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/base/multiples.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/gemm_packed.h"

namespace volta::cpu {
namespace {

static_assert(jit::kPanel == kStoredPanel, "packed B lies as f32_panels do");
constexpr std::int64_t kEpilogueColumns = 256;  // fixed: at least, per call of an epilogue

class PrepackedProduct final : public Product {
  public:
    explicit PrepackedProduct(const Order& order)
        : Product(order.given, order.problem, order.machine, order.schedule, order.epilogue),
          format_(problem_.format == DType::f32 ? DType::f32_panels : problem_.format),
          panels_(ceil_div(problem_.shape.n, kStoredPanel)),
          wide_(schedule_.panels),
          tiles_(problem_.shape.m, jit::packed_rows(isa_, wide_)) {
        set_name("%s_gemm_%dx%d_%s", dtype_name(format_), static_cast<int>(tiles_.low + (tiles_.larger > 0)),
                 wide_ * static_cast<int>(kStoredPanel), isa_name(isa_));
        add_kernels(order.context.compiler);
        sum_floats_ = (tiles_.low + 1) * wide_ * kStoredPanel;
        const std::size_t scratch = scratch_bytes(problem_.whole_rows() ? problem_.shape.n : panel_columns());
        if (dequantise_[0] != nullptr || dequantise_[1] != nullptr)
            dequantised_floats_ = wide_ * kStoredPanel * (jit::kSegment + jit::kSegment / kStoredGroup);
        worker_bytes_ = static_cast<std::size_t>(sum_floats_ + dequantised_floats_) * sizeof(float) +
                        static_cast<std::size_t>(round_up(static_cast<std::int64_t>(scratch), 64));
        workspace_bytes_ = worker_bytes_ * static_cast<std::size_t>(schedule_.workers);
        if (problem_.format != DType::f32) return;
        prepacked_bytes_ =
            static_cast<std::size_t>(packed_floats(problem_.shape.n, problem_.shape.k)) * sizeof(float);
        if (problem_.shape.b_transposed)
            transposes_ = order.context.compiler.cache->transposes(isa_, *order.context.compiler.arena);
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        const ProductShape& shape = problem_.shape;
        const void* const b = problem_.format == DType::f32 ? call.prepacked : call.packed_weight;
        const bool whole_rows = problem_.whole_rows();
        pool.run(schedule_.workers, [&](int worker, int workers) noexcept {
            unsigned char* const workspace = static_cast<unsigned char*>(call.workspace) +
                                             static_cast<std::size_t>(worker) * worker_bytes_;
            const Range mine = part_of(panels_, wide_, worker, workers);
            if (workers > 1) prefetch_row(shape, call.a, shape.k);
            const std::int64_t group = panel_columns() / kStoredPanel;
            for (std::int64_t first = mine.begin; first < mine.end; first += group) {
                const std::int64_t end = std::min<std::int64_t>(mine.end, first + group);
                for (std::int64_t panel = first; panel < end; panel += wide_)
                    run_panels(call, static_cast<const unsigned char*>(b), panel,
                               reinterpret_cast<float*>(workspace));
                if (!whole_rows) finish(call, first * kStoredPanel, end * kStoredPanel, workspace);
            }
            if (whole_rows) finish(call, 0, shape.n, workspace);
        });
    }

    void prepack(ThreadPool& pool, const float* b, float* prepacked) const noexcept override {
        const ProductShape& shape = problem_.shape;
        pool.run(pool.thread_count(), [&](int worker, int workers) noexcept {
            const Range mine = part_of(shape.n, jit::kPanel, worker, workers);
            if (mine.begin >= mine.end) return;
            pack_b(b + mine.begin * (shape.b_transposed ? shape.ldb : 1), shape.ldb, shape.b_transposed,
                   mine.end - mine.begin, shape.k, transposes_, kPanelWidths,
                   prepacked + mine.begin * shape.k);
        });
    }

  private:
    void add_kernels(const Compiler& compiler) {
        const int last = static_cast<int>(panels_ % wide_);
        for (int taller = 0; taller < 2; ++taller)
            for (int narrow = 0; narrow < 2; ++narrow) {
                Kernel& kernel = kernels_[taller][narrow];
                kernel.form.isa = isa_;
                kernel.form.dtype = format_;
                kernel.form.rows = static_cast<std::uint8_t>(tiles_.low + taller);
                kernel.form.panels = static_cast<std::uint8_t>(narrow ? last : wide_);
                kernel.form.prefetch = schedule_.prefetch.packed;
                const bool used = (taller ? tiles_.larger > 0 : tiles_.low > 0) && kernel.form.panels > 0;
                if (!used || isa_ == Isa::scalar) continue;
                if (schedule_.dequantise) {
                    jit::PackedForm dequantise = kernel.form;
                    dequantise.use = jit::PackedUse::dequantise;
                    dequantise.rows = 0;
                    dequantise_[narrow] = compiler.cache->stored(dequantise, *compiler.arena);
                    if (dequantise_[narrow] != nullptr) kernel.form.use = jit::PackedUse::dequantised;
                }
                kernel.code = compiler.cache->stored(kernel.form, *compiler.arena);
                if (kernel.code == nullptr || !jit::can_be_prescaled(kernel.form)) continue;
                jit::PackedForm prescaled = kernel.form;
                prescaled.prescaled = true;
                kernel.prescaled = compiler.cache->stored(prescaled, *compiler.arena);
            }
    }

    struct Kernel {
        jit::PackedForm form;
        jit::PackedFunction code = nullptr, prescaled = nullptr;
        void operator()(jit::PackedArgs& args) const noexcept {
            if (prescaled != nullptr && prescaled(&args) != 0) return;
            if (code != nullptr) {
                code(&args);
            } else {
                jit::gemm_packed_plain(form, args);
            }
        }
    };

    bool is_stream() const { return schedule_.prefetch.packed == jit::PackedPrefetch::stream; }
    std::int64_t panel_columns() const {
        return std::max<std::int64_t>(kEpilogueColumns, wide_ * kStoredPanel);
    }

    // All k of up to wide_ panels, for all rows, segment by segment: the weights of a segment stay in cache,
    // as they are stored or, for several tiles of rows, as f32.
    void run_panels(const ProductCall& call, const unsigned char* weight, std::int64_t panel,
                    float* sums) const {
        const std::int64_t panel_bytes = stored_panel_bytes(format_, problem_.shape.k);
        const bool narrow = panel + wide_ > panels_;
        const unsigned char* const b = weight + panel * panel_bytes;
        const std::int64_t segment_bytes = stored_panel_bytes(format_, jit::kSegment);
        jit::PackedArgs args = {};
        args.a_stride = problem_.shape.lda;
        args.panel_stride = panel_bytes;
        args.sums = sums;
        args.dequantised = sums + sum_floats_;
        args.scales = args.dequantised + wide_ * kStoredPanel * jit::kSegment;
        for (std::int64_t k = 0; k < problem_.shape.k || k == 0; k += jit::kSegment) {
            args.b = b + k / jit::kSegment * segment_bytes;
            args.prefetch_target = target_of(b, args.b - b, panel_bytes);
            args.steps = std::min(jit::kSegment, problem_.shape.k - k);
            if (dequantise_[narrow] != nullptr && args.steps > 0) dequantise_[narrow](&args);
            for (std::int64_t tile = 0; tile < tiles_.pieces; ++tile) {
                const Kernel& kernel = kernels_[tile < tiles_.larger][narrow];
                args.a = call.a + tiles_.begin(tile) * problem_.shape.lda + k;
                const std::int64_t rows = kernel.form.rows;
                if (args.steps > 0) {
                    kernel(args);
                } else {
                    std::fill_n(sums, rows * kernel.form.panels * kStoredPanel, 0.0f);
                }
                const std::int64_t column = panel * kStoredPanel, stride = kernel.form.panels * kStoredPanel;
                close_segment(sums, stride, rows, std::min(stride, problem_.shape.n - column),
                              k == 0 && !call.into, call.c + tiles_.begin(tile) * problem_.shape.ldc + column,
                              problem_.shape.ldc);
            }
        }
    }

    // What the kernels call args.prefetch_target, of a tile of panels at b that is read `read` bytes behind
    // their starts: the same place of the next tile, or of a stream of several panels as many bytes behind
    // its start as are read; a stream of one panel is prefetched from where it is.
    const unsigned char* target_of(const unsigned char* b, std::int64_t read,
                                   std::int64_t panel_bytes) const {
        if (!is_stream()) return b + read + wide_ * panel_bytes;
        return wide_ == 1 ? b + read : b + wide_ * (panel_bytes + read);
    }

    void finish(const ProductCall& call, std::int64_t begin, std::int64_t end,
                unsigned char* workspace) const {
        run_epilogue(call, 0, problem_.shape.m, begin, std::min(end, problem_.shape.n),
                     workspace + static_cast<std::size_t>(sum_floats_ + dequantised_floats_) * sizeof(float));
    }

    const DType format_;
    const std::int64_t panels_;
    const int wide_;  // panels of a tile
    const EvenCut tiles_;
    jit::TransposeFunctions transposes_;
    Kernel kernels_[2][2];  // [one row more][the last panels]
    // [the last panels]; NULL: used as they are stored
    jit::PackedFunction dequantise_[2] = {nullptr, nullptr};
    std::int64_t sum_floats_ = 0, dequantised_floats_ = 0;
    std::size_t worker_bytes_ = 0;  // sums of a tile, a segment's weights as f32, then the epilogue's scratch
};

// One way where the threads' cores share an LLC, another where they do not: asked at each run.
class ByTopology final : public Product {
  public:
    ByTopology(const Order& order, ProductPtr shared_llc, ProductPtr no_shared_llc)
        : Product(order.given, order.problem, order.machine, order.schedule, order.epilogue),
          shared_llc_(std::move(shared_llc)),
          no_shared_llc_(std::move(no_shared_llc)) {
        set_name("%s far=%s", shared_llc_->kernel_name(), no_shared_llc_->kernel_name());
        workspace_bytes_ = std::max(shared_llc_->workspace_bytes(), no_shared_llc_->workspace_bytes());
    }

    void describe(ScheduleText& text) const noexcept override {
        text.add("by_topology shared_llc: ");
        shared_llc_->describe(text);
        text.add(" | no_shared_llc: ");
        no_shared_llc_->describe(text);
    }
    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        (pool.spans_llcs() ? no_shared_llc_ : shared_llc_)->run(pool, call);
    }

  private:
    const ProductPtr shared_llc_, no_shared_llc_;
};

}  // namespace

ProductPtr compile_prepacked(const Order& order) {
    std::pmr::memory_resource* const heap = order.context.compiler.heap;
    if (order.schedule.panels_without_shared_llc == 0)
        return as_product(make_on<PrepackedProduct>(heap, order));
    const Schedule other = without_shared_llc(order.problem, order.machine, order.schedule);
    const Order second = {order.given, order.problem, order.machine, other, order.epilogue, order.context};
    return as_product(make_on<ByTopology>(heap, order, as_product(make_on<PrepackedProduct>(heap, order)),
                                          as_product(make_on<PrepackedProduct>(heap, second))));
}

}  // namespace volta::cpu
