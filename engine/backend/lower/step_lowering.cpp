#include "engine/backend/lower/step_lowering.h"

#include "engine/backend/lower/lowerings.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"

namespace volta {

StepLowering::StepLowering(const Plan& owner, const Node& lowered, std::pmr::memory_resource* heap)
    : plan(owner), node(lowered), heap_(heap) {}

Ref StepLowering::place(ValueId value) const {
    const Place& place = plan.places[static_cast<std::size_t>(value)];
    return Ref{place.region, place.offset, place.micro_stride};
}

Ref StepLowering::temporary(std::size_t bytes) {
    const Ref ref{kWorkspace, workspace_bytes_, 0};
    workspace_bytes_ += (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    return ref;
}

void StepLowering::unsupported(Limit limit) const {
    fail(VOLTA_UNSUPPORTED, "%s: %s on %s at level %s", op_row(node.op).name, limit_row(limit).why,
         backend_name(), level_name(plan.arithmetic.level));
}

void StepLowering::no_kernel() const {
    fail(VOLTA_UNSUPPORTED, "%s: %s has no kernel for it at level %s", op_row(node.op).name, backend_name(),
         level_name(plan.arithmetic.level));
}

namespace {

// Then there is nothing to do, however many rows without columns there are.
bool writes_nothing(const StepLowering& step) {
    for (std::int32_t i = 0; i < step.node.output_count; ++i)
        if (step.plan.graph.shape(step.node.first_output + i).elements() > 0) return false;
    return true;
}

}  // namespace

void lower_step(StepLowering& step) {
    if (writes_nothing(step)) return;
    switch (op_row(step.node.op).lowering) {
        case Lowering::elementwise:
            return lower_elementwise(step);
        case Lowering::row:
            return lower_row(step);
        case Lowering::pairs:
            return lower_pairs(step);
        case Lowering::reduction:
            return lower_reduction(step);
        case Lowering::norm:
            return lower_norm(step);
        case Lowering::movement:
            return lower_movement(step);
        case Lowering::gather:
            return lower_gather(step);
        case Lowering::embedding_gradient:
            return lower_embedding_gradient(step);
        case Lowering::product:
            return lower_product(step);
        case Lowering::convolution:
            return lower_convolution(step);
        case Lowering::pooling:
            return lower_pooling(step);
        case Lowering::axis_map:
            return lower_axis_map(step);
        case Lowering::attention:
            return lower_attention(step);
        case Lowering::attention_grad:
            return lower_attention_gradient(step);
        case Lowering::cached_attention:
            return lower_cached_attention(step);
        case Lowering::update:
            return lower_update(step);
        case Lowering::source:
        case Lowering::alias:
            break;
    }
    step.no_kernel();
}

}  // namespace volta
