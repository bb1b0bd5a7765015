#include "engine/runtime/norm_pass.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/runtime/training_graph.h"

namespace volta {

namespace {

int find(const ProgramMemory& memory, RegionKind kind, const char* name) {
    const int found = memory.find(kind, name);
    if (found < 0) fail(VOLTA_INTERNAL, "a plan of the step's two passes has no region %s", name);
    return found;
}

}  // namespace

NormPass::NormPass(const Program& program, ProgramMemory& update, std::pmr::memory_resource* structures)
    : memory_(program, structures), update_(update) {
    update_.lend_scratch(nullptr, nullptr);
    borrow();
}

// Where the other pass has it, which is nowhere before that has been allocated.
void NormPass::borrow() {
    memory_.lend_scratch(arena_.data(), workspace_.data());
    const auto& regions = program().plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const RegionKind kind = regions[i].kind;
        if (kind != RegionKind::input && kind != RegionKind::parameter) continue;
        const auto other = static_cast<std::size_t>(find(update_, kind, regions[i].name.c_str()));
        memory_.lend(i, kind == RegionKind::input ? update_.host(other) : update_.address(other));
    }
}

std::uint64_t NormPass::arena_bytes() const { return std::max(memory_.arena_bytes(), update_.arena_bytes()); }

std::uint64_t NormPass::workspace_bytes() const {
    return std::max(memory_.workspace_bytes(), update_.workspace_bytes());
}

void NormPass::add_to(volta_bill& bill) const {
    memory_.add_to(bill);
    bill.activations += arena_bytes();
    bill.workspace += workspace_bytes();
    bill.total += arena_bytes() + workspace_bytes();
}

std::uint64_t NormPass::needed_bytes() const {
    return memory_.needed_bytes() + arena_bytes() + workspace_bytes();
}

void NormPass::allocate() {
    Memory& memory = program().memory();
    arena_ = Block(memory, static_cast<std::size_t>(arena_bytes()));
    workspace_ = Block(memory, static_cast<std::size_t>(workspace_bytes()));
    update_.lend_scratch(arena_.data(), workspace_.data());
    borrow();
    memory_.allocate();
}

void NormPass::run() const {
    memory_.run(Phase::each, 0);
    memory_.run(Phase::reduce, 0);
}

void NormPass::tell_clip_factor() const {
    *update_.at<float>(find(update_, RegionKind::input, name_of(StepInput::clip_factor))) =
        *memory_.at<const float>(find(memory_, RegionKind::output, kClipFactor));
}

}  // namespace volta
