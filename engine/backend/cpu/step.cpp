#include "engine/backend/cpu/step.h"

#include <algorithm>

#include "engine/base/error.h"

namespace volta::cpu {

StepCompiler::StepCompiler(const Plan& owner, const Node& compiled, const BackendContext& backend,
                           std::pmr::vector<ActionPtr>& list, std::size_t kept_bytes)
    : plan(owner), node(compiled), context(backend), actions(list), kept_bytes_(kept_bytes) {
    if (context.forced_choice) forced_choice_ = parse_choice(context.forced_choice);
}

Ref StepCompiler::place(ValueId value) const {
    const Place& place = plan.places[static_cast<std::size_t>(value)];
    return Ref{place.region, place.offset, place.micro_stride};
}

Ref StepCompiler::temporary(std::size_t bytes) {
    const Ref ref{kWorkspace, workspace_bytes_, 0};
    workspace_bytes_ += (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    return ref;
}

Ref StepCompiler::kept(std::size_t bytes) {
    const Ref ref{kKept, kept_bytes_, 0};
    kept_bytes_ += (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    return ref;
}

CompileContext StepCompiler::kernels() const {
    CompileContext kernels = {};
    kernels.isa = context.isa;
    kernels.thread_count = thread_count();
    kernels.arena = context.arena;
    kernels.cache = &cache();
    kernels.heap = heap();
    kernels.forced_tile = context.forced_tile;
    kernels.forced_choice = forced_choice_ ? &*forced_choice_ : nullptr;
    kernels.tuning = &own().tuning;
    return kernels;
}

const jit::RowKernel& StepCompiler::kernel(const jit::Program& program) const {
    return cache().row(program, context.isa, *context.arena);
}

void StepCompiler::unsupported(const char* why) const {
    fail(VOLTA_UNSUPPORTED, "%s: %s", op_row(node.op).name, why);
}

bool StepCompiler::is_cold(int i) const {
    if (plan.graph.producer(input_id(i)).op != Op::parameter) return false;
    std::uint64_t bytes = 0;
    for (const Region& region : plan.regions)
        if (region.kind == RegionKind::parameter) bytes += region.bytes;
    const std::size_t l3 = host_cpu().l3_bytes;
    return l3 > 0 && bytes > l3 / 2;
}

int StepCompiler::workers_for(double operations) const {
    const double worth = operations / context.operations_per_worker;
    return worth >= thread_count() ? thread_count() : std::max(1, static_cast<int>(worth));
}

}  // namespace volta::cpu
