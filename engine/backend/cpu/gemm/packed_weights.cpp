#include "engine/backend/cpu/gemm/packed_weights.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/plan.h"
#include "engine/base/error.h"
#include "engine/base/multiples.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/gemm_packed.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kEpilogueColumns = 256;  // at least, per call of an epilogue
constexpr std::int64_t kTilesForExpanding = 4;  // of rows: dequantising weights once pays off
constexpr double kWeightsForThread = 65536;     // times rows: what starting a second thread costs

bool is_half(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

// Rows in tiles of nearly equal height.
struct RowTiles {
    std::int64_t count = 1, height = 1, taller = 0;  // the first `taller` have one row more
    RowTiles(std::int64_t rows, std::int64_t most)
        : count(std::max<std::int64_t>(1, ceil_div(rows, most))),
          height(rows / count),
          taller(rows % count) {}
    std::int64_t begin(std::int64_t tile) const { return tile * height + std::min(tile, taller); }
};

constexpr const char* kPrefetchNames[] = {"hardware", "next_panels", "stream"};

class PackedWeightProduct final : public Product {
  public:
    // stream_panels: of a tile, where panels are read as one stream.
    PackedWeightProduct(const ProductShape& shape, DType dtype, const jit::RowKernel* epilogue,
                        const CompileContext& context, int stream_panels)
        : shape_(shape),
          dtype_(dtype),
          epilogue_(epilogue),
          whole_rows_(epilogue_kind(epilogue) == EpilogueKind::rows),
          panels_(ceil_div(shape.n, kStoredPanel)),
          streams_(reads_one_stream(shape, dtype, context)),
          wide_(streams_ ? stream_panels : tile_panels(shape, dtype, context)),
          tiles_(shape.m, jit::packed_rows(context.machine.isa, wide_)) {
        std::snprintf(name_, sizeof name_, "%s_gemm_%dx%d_%s", dtype_name(dtype),
                      static_cast<int>(tiles_.height + (tiles_.taller > 0)),
                      wide_ * static_cast<int>(kStoredPanel), isa_name(context.machine.isa));
        const int last = static_cast<int>(panels_ % wide_);
        // Where prefetching several times does not pay, f32 is faster without any, smaller weights with one.
        const bool prefetches =
            tiles_.count == 1 && (context.machine.wants_repeated_prefetch || dtype != DType::f32_panels);
        const jit::PackedPrefetch prefetch = streams_     ? jit::PackedPrefetch::stream
                                             : prefetches ? jit::PackedPrefetch::panels
                                                          : jit::PackedPrefetch::none;
        for (int taller = 0; taller < 2; ++taller)
            for (int narrow = 0; narrow < 2; ++narrow) {
                Kernel& kernel = kernels_[taller][narrow];
                kernel.form.isa = context.machine.isa;
                kernel.form.dtype = dtype;
                kernel.form.rows = static_cast<std::uint8_t>(tiles_.height + taller);
                kernel.form.panels = static_cast<std::uint8_t>(narrow ? last : wide_);
                kernel.form.prefetch = prefetch;
                const bool used = (taller ? tiles_.taller > 0 : tiles_.height > 0) && kernel.form.panels > 0;
                if (!used || context.machine.isa == Isa::scalar) continue;
                if (tiles_.count >= kTilesForExpanding && dtype != DType::f32_panels) {
                    jit::PackedForm dequantise = kernel.form;
                    dequantise.use = jit::PackedUse::dequantise;
                    dequantise.rows = 0;
                    dequantise_[narrow] = context.cache->stored(dequantise, *context.arena);
                    if (dequantise_[narrow] != nullptr) kernel.form.use = jit::PackedUse::dequantised;
                }
                kernel.code = context.cache->stored(kernel.form, *context.arena);
                if (kernel.code == nullptr || !jit::can_be_prescaled(kernel.form)) continue;
                jit::PackedForm prescaled = kernel.form;
                prescaled.prescaled = true;
                kernel.prescaled = context.cache->stored(prescaled, *context.arena);
            }
        const double work = static_cast<double>(shape.n) * static_cast<double>(shape.k) *
                            static_cast<double>(std::max<std::int64_t>(shape.m, 1));
        if (!whole_rows_ && work > kWeightsForThread)
            workers_ = static_cast<int>(std::min<std::int64_t>(
                context.machine.threads, std::max<std::int64_t>(1, ceil_div(panels_, wide_))));
        sum_floats_ = (tiles_.height + 1) * wide_ * kStoredPanel;
        const std::int64_t block = whole_rows_ ? shape.n : group_columns();
        const std::size_t scratch = epilogue != nullptr ? epilogue->scratch_bytes(block) : 0;
        if (dequantise_[0] != nullptr || dequantise_[1] != nullptr)
            dequantised_floats_ = wide_ * kStoredPanel * (jit::kSegment + jit::kSegment / kStoredGroup);
        worker_bytes_ = static_cast<std::size_t>(sum_floats_ + dequantised_floats_) * sizeof(float) +
                        static_cast<std::size_t>(round_up(static_cast<std::int64_t>(scratch), 64));
    }

    std::size_t workspace_bytes() const noexcept override {
        return worker_bytes_ * static_cast<std::size_t>(workers_);
    }
    std::size_t kept_bytes() const noexcept override { return 0; }
    void keep(ThreadPool&, const float*, float*) const noexcept override {}
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return shape_; }
    EpilogueKind epilogue() const noexcept override { return epilogue_kind(epilogue_); }
    void describe(ScheduleText& text) const noexcept override {
        text.add("prepacked format=%s tiles=%lldx%lld panels=%d prefetch=%s%s workers=%d", dtype_name(dtype_),
                 static_cast<long long>(tiles_.count), static_cast<long long>(tiles_.height), wide_,
                 kPrefetchNames[static_cast<int>(kernels_[0][0].form.prefetch)],
                 dequantise_[0] != nullptr || dequantise_[1] != nullptr ? " dequantise" : "", workers_);
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        pool.run(workers_, [&](int worker, int workers) noexcept {
            unsigned char* const workspace = static_cast<unsigned char*>(call.workspace) +
                                             static_cast<std::size_t>(worker) * worker_bytes_;
            const Range mine = part_of(panels_, wide_, worker, workers);
            if (workers > 1) prefetch_row(shape_, call.a, shape_.k);
            const std::int64_t group = group_columns() / kStoredPanel;
            for (std::int64_t first = mine.begin; first < mine.end; first += group) {
                const std::int64_t end = std::min<std::int64_t>(mine.end, first + group);
                for (std::int64_t panel = first; panel < end; panel += wide_)
                    run_panels(call, panel, reinterpret_cast<float*>(workspace));
                if (!whole_rows_) run_epilogue(call, first * kStoredPanel, end * kStoredPanel, workspace);
            }
            if (whole_rows_) run_epilogue(call, 0, shape_.n, workspace);
        });
    }

    // One row of f32 or of two bytes a weight, where one stream that is prefetched is the fastest way to
    // read. A panel alone takes no longer than the memory needs to bring it; smaller weights, or more rows,
    // would wait for the chain.
    static bool reads_one_stream(const ProductShape& shape, DType dtype, const CompileContext& context) {
        const auto panels = static_cast<std::uint64_t>(ceil_div(shape.n, kStoredPanel)),
                   panel_bytes = static_cast<std::uint64_t>(stored_panel_bytes(dtype, shape.k));
        return context.machine.wants_repeated_prefetch && shape.m == 1 && !has_scales(dtype) &&
               comes_from_dram(context, panels * panel_bytes, kMostCacheUseOfPanels);
    }

  private:
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

    // Few rows: many panels, whose chains hide each other's latency. More rows: fewer, as many as registers
    // hold. One row of AVX2 reads four where that is faster: not int4, nor two bytes a weight by several
    // threads.
    static int tile_panels(const ProductShape& shape, DType dtype, const CompileContext& context) {
        if (context.machine.isa == Isa::avx512) return shape.m <= 4 ? 4 : 2;
        if (shape.m == 1 && dtype != DType::int4 && (context.machine.threads == 1 || !is_half(dtype)))
            return 4;
        return shape.m <= 2 ? 2 : 1;
    }
    std::int64_t group_columns() const {
        return std::max<std::int64_t>(kEpilogueColumns, wide_ * kStoredPanel);
    }

    // All k of up to wide_ panels, for all rows, segment by segment: the weights of a segment stay in cache,
    // as they are stored or, for several tiles of rows, as f32.
    void run_panels(const ProductCall& call, std::int64_t panel, float* sums) const {
        const std::int64_t panel_bytes = stored_panel_bytes(dtype_, shape_.k);
        const bool narrow = panel + wide_ > panels_;
        const unsigned char* const b = static_cast<const unsigned char*>(call.stored) + panel * panel_bytes;
        const std::int64_t segment_bytes = stored_panel_bytes(dtype_, jit::kSegment);
        jit::PackedArgs args = {};
        args.a_stride = shape_.lda;
        args.panel_stride = panel_bytes;
        args.sums = sums;
        args.dequantised = sums + sum_floats_;
        args.scales = args.dequantised + wide_ * kStoredPanel * jit::kSegment;
        for (std::int64_t k = 0; k < shape_.k || k == 0; k += jit::kSegment) {
            args.b = b + k / jit::kSegment * segment_bytes;
            args.prefetch_target = target_of(b, args.b - b, panel_bytes);
            args.steps = std::min(jit::kSegment, shape_.k - k);
            if (dequantise_[narrow] != nullptr && args.steps > 0) dequantise_[narrow](&args);
            for (std::int64_t tile = 0; tile < tiles_.count; ++tile) {
                const Kernel& kernel = kernels_[tile < tiles_.taller][narrow];
                args.a = call.a + tiles_.begin(tile) * shape_.lda + k;
                const std::int64_t rows = kernel.form.rows;
                if (args.steps > 0) {
                    kernel(args);
                } else {
                    std::fill_n(sums, rows * kernel.form.panels * kStoredPanel, 0.0f);
                }
                add_sums(call.c + tiles_.begin(tile) * shape_.ldc, sums, rows, panel * kStoredPanel,
                         kernel.form.panels * kStoredPanel, k == 0 && !call.into);
            }
        }
    }

    // What the kernels call args.prefetch_target, of a tile of panels at b that is read `read` bytes behind
    // their starts: the same place of the next tile, or of a stream of several panels as many bytes behind
    // its start as are read; a stream of one panel is prefetched from where it is.
    const unsigned char* target_of(const unsigned char* b, std::int64_t read,
                                   std::int64_t panel_bytes) const {
        if (!streams_) return b + read + wide_ * panel_bytes;
        return wide_ == 1 ? b + read : b + wide_ * (panel_bytes + read);
    }

    // The first segment is stored, unless C holds what it is added to; later ones are added.
    void add_sums(float* c, const float* sums, std::int64_t rows, std::int64_t column, std::int64_t stride,
                  bool first) const {
        const std::int64_t columns = std::min(stride, shape_.n - column);
        for (std::int64_t i = 0; i < rows; ++i) {
            float* const to = c + i * shape_.ldc + column;
            const float* const from = sums + i * stride;
            if (first) {
                std::copy_n(from, columns, to);
            } else {
                for (std::int64_t j = 0; j < columns; ++j) to[j] = to[j] + from[j];
            }
        }
    }

    void run_epilogue(const ProductCall& call, std::int64_t begin, std::int64_t end,
                      unsigned char* workspace) const {
        end = std::min(end, shape_.n);
        if (call.epilogue == nullptr || call.epilogue->kernel == nullptr || begin >= end) return;
        jit::run_block(
            *call.epilogue->kernel, call.epilogue->args, 0, shape_.m, begin, end,
            workspace + static_cast<std::size_t>(sum_floats_ + dequantised_floats_) * sizeof(float));
    }

    const ProductShape shape_;
    const DType dtype_;
    const jit::RowKernel* const epilogue_;
    const bool whole_rows_;
    const std::int64_t panels_;
    const bool streams_;  // panel after panel
    const int wide_;      // panels of a tile
    const RowTiles tiles_;
    Kernel kernels_[2][2];  // [one row more][the last panels]
    jit::PackedFunction dequantise_[2] = {nullptr,
                                          nullptr};  // [the last panels]; NULL: used as they are stored
    int workers_ = 1;
    std::int64_t sum_floats_ = 0, dequantised_floats_ = 0;
    std::size_t worker_bytes_ = 0;  // sums of a tile, a segment's weights as f32, then the epilogue's scratch
    char name_[48];
};

// A panel of two bytes a weight takes exactly as long as one thread's memory needs to bring it, so that every
// wait is lost; two panels at once catch up. Threads whose cores share a last cache wait for memory anyway
// and read one panel better; where each has its own, they are as one thread alone.
class ByTopology final : public Product {
  public:
    ByTopology(ProductPtr near, ProductPtr far)
        : shared_llc_(std::move(near)), no_shared_llc_(std::move(far)) {
        std::snprintf(name_, sizeof name_, "%s far=%s", shared_llc_->kernel_name(),
                      no_shared_llc_->kernel_name());
    }

    std::size_t workspace_bytes() const noexcept override {
        return std::max(shared_llc_->workspace_bytes(), no_shared_llc_->workspace_bytes());
    }
    std::size_t kept_bytes() const noexcept override { return 0; }
    void keep(ThreadPool&, const float*, float*) const noexcept override {}
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return shared_llc_->shape(); }
    EpilogueKind epilogue() const noexcept override { return shared_llc_->epilogue(); }
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
    char name_[104];  // two of a product
};

}  // namespace

ProductPtr compile_packed_weight_product(const ProductShape& shape, DType dtype,
                                         const jit::RowKernel* epilogue, const CompileContext& context) {
    const auto with = [&](int stream_panels) {
        return as_product(
            make_on<PackedWeightProduct>(context.heap, shape, dtype, epilogue, context, stream_panels));
    };
    const bool is_alone = context.machine.threads == 1;
    if (is_alone || !is_half(dtype) || !PackedWeightProduct::reads_one_stream(shape, dtype, context))
        return with(is_alone && is_half(dtype) ? 2 : 1);
    return as_product(make_on<ByTopology>(context.heap, with(1), with(2)));
}

}  // namespace volta::cpu
