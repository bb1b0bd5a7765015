#include "engine/backend/cpu/step.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/backend/cpu/actions/attention_action.h"
#include "engine/backend/cpu/actions/column_sum_action.h"
#include "engine/backend/cpu/actions/convolution_action.h"
#include "engine/backend/cpu/actions/copy_action.h"
#include "engine/backend/cpu/actions/gather_action.h"
#include "engine/backend/cpu/actions/pointwise_action.h"
#include "engine/backend/cpu/actions/product_action.h"
#include "engine/backend/cpu/actions/rotary_action.h"
#include "engine/backend/cpu/actions/row_action.h"
#include "engine/backend/lower/lowerings.h"

namespace volta::cpu {

CpuStep::CpuStep(const Plan& owner, const Node& compiled, const BackendContext& backend,
                 const Machine& chosen_for, Actions& list, std::size_t kept_bytes,
                 std::pmr::vector<KeptPacking>& packings)
    : StepLowering(owner, compiled, backend.heap),
      context(backend),
      machine(chosen_for),
      actions_(list),
      kept_bytes_(kept_bytes),
      packings_(packings) {
    if (context.forced_choice) forced_choice_ = parse_choice(context.forced_choice);
}

// ---- Work as actions -----------------------------------------------------------------------------------

void CpuStep::rows(const jit::Program& program, const std::pmr::vector<Ref>& refs, const LoopSpace& loops,
                   const RowUse& use) {
    if (ProductPtr product = ColumnSumAction::product_of(*this, program, loops))
        add<ColumnSumAction>(*this, std::move(product), refs, use);
    else
        add<RowAction>(*this, program, refs, loops, use);
}

void CpuStep::copy(const CopyLoops& loops, Ref from, Ref to, When when) {
    add<CopyAction>(*this, loops, from, to).when = when;
}

void CpuStep::zero(Ref to, std::int64_t elements) { add<ZeroAction>(*this, to, elements); }

void CpuStep::positions(const PositionStep& step) { add<PositionAction>(step); }

void CpuStep::rotary(const RotaryStep& step) { add<RotaryAction>(*this, step); }
void CpuStep::rotary_table(const RotaryTableStep& step) { add<RotaryTableAction>(step); }

void CpuStep::gather(const GatherStep& step) {
    if (is_stored(step.dtype))
        add<StoredGatherAction>(*this, step);
    else
        add<GatherAction>(*this, step);
}

void CpuStep::embedding_gradient(const EmbeddingGradientStep& step) {
    add<EmbeddingGradientAction>(*this, step);
}

bool CpuStep::product(const ProductStep& step) { return add<ProductAction>(*this, step).sums_b(); }
bool CpuStep::convolution(const ConvolutionStep& step) {
    if (is_depthwise(step)) {  // without a kernel: rows
        const bool fits = DepthwiseConvolution::fits(step, kernels());
        if (fits) add<DepthwiseConvolutionAction>(*this, step);
        return fits;
    }
    if (step.gives == ConvolutionStep::Gives::weight && DepthwiseGradient::fits(step, kernels()))
        add<WeightGradientAction<DepthwiseGradient>>(*this, step);
    else if (step.gives == ConvolutionStep::Gives::weight && GradientProducts::fits(step))
        add<WeightGradientAction<GradientProducts>>(*this, step);
    else if (step.gives == ConvolutionStep::Gives::weight)
        add<WeightGradientAction<WeightGradient>>(*this, step);
    else if (PointwiseConvolutionAction::fits(step, kernels()))
        add<PointwiseConvolutionAction>(*this, step);
    else if (!add<PictureConvolutionAction>(*this, step).runs_epilogue() && step.epilogue != nullptr)
        rows(*step.epilogue->program, *step.epilogue->refs, *step.epilogue->loops, RowUse());
    return true;
}
bool CpuStep::window(const WindowStep& step) {
    const bool fits = WindowAction::fits(step, kernels());
    if (fits) add<WindowAction>(*this, step);
    return fits;
}
void CpuStep::attention(const AttentionStep& step) { add<AttentionAction>(*this, step); }
void CpuStep::cached_attention(const CachedAttentionStep& step) { add<CachedAttentionAction>(*this, step); }

// ---- What actions ask for ------------------------------------------------------------------------------

Ref CpuStep::kept(std::size_t bytes) {
    const Ref ref{kKept, kept_bytes_, 0};
    kept_bytes_ += (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    return ref;
}

Ref CpuStep::kept_packing(const Product& product, Ref b, bool* is_filled) {
    ScheduleText mine;
    product.describe(mine);
    for (const KeptPacking& other : packings_) {
        if (other.weight.region != b.region || other.weight.offset != b.offset) continue;
        ScheduleText theirs;
        other.product->describe(theirs);
        *is_filled = other.product->shape() == product.shape() && std::strcmp(mine.text, theirs.text) == 0;
        if (*is_filled) return other.kept;
    }
    *is_filled = false;
    packings_.push_back({b, &product, kept(product.prepacked_bytes())});
    return packings_.back().kept;
}

CompileContext CpuStep::kernels() const {
    CompileContext kernels = {};
    kernels.machine = machine;
    kernels.compiler = {context.arena, &own().kernels, heap()};
    kernels.overrides.tile = context.forced_tile;
    kernels.overrides.choice = forced_choice_ ? &*forced_choice_ : nullptr;
    kernels.tuned = &own().tuned;
    return kernels;
}

const jit::RowKernel& CpuStep::kernel(const jit::Program& program, Isa isa) const {
    return own().kernels.row(program, isa, *context.arena);
}

double CpuStep::cache_use_beside(const Ref& ref) const {
    if (!is_parameter(ref)) return 0;
    std::uint64_t bytes = 0;
    for (const Region& region : plan.regions)
        if (region.kind == RegionKind::parameter) bytes += region.bytes;
    return machine.cache_use(bytes);
}

int CpuStep::workers_for(double operations) const {
    const double worth = operations / context.operations_per_worker;
    return worth >= thread_count() ? thread_count() : std::max(1, static_cast<int>(worth));
}

}  // namespace volta::cpu
