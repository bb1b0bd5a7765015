#include "engine/backend/cuda/step.h"

#include "engine/backend/cuda/attention_action.h"
#include "engine/backend/cuda/cublaslt_action.h"
#include "engine/backend/cuda/move_actions.h"
#include "engine/backend/cuda/product_action.h"
#include "engine/backend/cuda/row_action.h"

namespace volta::cuda {

void CudaStep::rows(const jit::Program& program, const std::pmr::vector<Ref>& refs, const LoopSpace& loops,
                    const RowUse& use) {
    add<RowAction>(*this, program, refs, loops, use).when = use.when;
}

void CudaStep::copy(const CopyLoops& loops, Ref from, Ref to, When when) {
    add<CopyAction>(*this, loops, from, to).when = when;
}

void CudaStep::zero(Ref to, std::int64_t elements) { add<ZeroAction>(to, elements); }

void CudaStep::positions(const PositionStep& step) {
    if (step.documents) unsupported(Limit::positions_of_documents);
    add<PositionAction>(*this, step.y, step.rows, step.columns);
}

void CudaStep::rotary(const RotaryStep& step) { add<RotaryAction>(*this, step); }
void CudaStep::rotary_table(const RotaryTableStep& step) { add<RotaryTableAction>(*this, step); }
void CudaStep::gather(const GatherStep& step) { add<GatherAction>(*this, step); }

void CudaStep::embedding_gradient(const EmbeddingGradientStep& step) {
    add<EmbeddingGradientAction>(*this, step);
}

bool CudaStep::product(const ProductStep& step) {
    if (CublasLtAction::takes(*this, step))
        add<CublasLtAction>(*this, step);
    else
        add<ProductAction>(*this, step);
    return false;
}

void CudaStep::attention(const AttentionStep& step) { add<AttentionAction>(*this, step); }
void CudaStep::cached_attention(const CachedAttentionStep& step) { add<CachedAttentionAction>(*this, step); }

}  // namespace volta::cuda
