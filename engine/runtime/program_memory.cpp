#include "engine/runtime/program_memory.h"

#include <cstring>

namespace volta {

ProgramMemory::ProgramMemory(const Program& program, std::pmr::memory_resource* structures)
    : program_(&program),
      addresses_(program.plan().regions.size(), nullptr, structures),
      lent_(program.plan().regions.size(), false, structures),
      owned_(structures) {}

void ProgramMemory::lend(std::size_t region, void* address) {
    addresses_[region] = address;
    lent_[region] = true;
}

void ProgramMemory::lend_scratch(void* arena, void* workspace) {
    lend(0, arena);
    workspace_address_ = workspace;
    workspace_lent_ = true;
}

std::uint64_t ProgramMemory::arena_bytes() const { return program_->plan().regions[0].bytes; }

void ProgramMemory::add_to(volta_bill& bill) const {
    const auto& regions = program_->plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (lent_[i]) continue;
        const std::uint64_t bytes = regions[i].bytes;
        switch (regions[i].kind) {
            case RegionKind::arena:
                bill.activations += bytes;
                break;
            case RegionKind::parameter:
                bill.parameters += bytes;
                break;
            case RegionKind::state:
                bill.optimizer_state += bytes;
                break;
            case RegionKind::gradient:
                bill.gradients += bytes;
                break;
            case RegionKind::constants:
            case RegionKind::input:
            case RegionKind::output:
                bill.staging += bytes;
                break;
        }
        bill.total += bytes;
    }
    bill.parameters += program_->kept_bytes();
    bill.total += program_->kept_bytes();
    if (!workspace_lent_) {
        bill.workspace += program_->workspace_bytes();
        bill.total += program_->workspace_bytes();
    }
}

namespace {

// Writes the graph's constants to their places in the constants region.
void fill_constants(const Plan& plan, unsigned char* base) {
    for (const Node& node : plan.graph.nodes) {
        if (node.op != Op::constant) continue;
        const Place& place = plan.places[static_cast<std::size_t>(node.first_output)];
        if (place.region != 1) continue;  // not used by any step
        const auto& bits = plan.graph.constants[static_cast<std::size_t>(node.data)];
        if (!bits.empty()) std::memcpy(base + place.offset, bits.data(), bits.size() * sizeof(bits[0]));
    }
}

}  // namespace

void ProgramMemory::allocate(std::pmr::memory_resource* tensors) {
    const Plan& plan = program_->plan();
    owned_.reserve(plan.regions.size());
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        if (lent_[i]) continue;
        const bool zeroed = plan.regions[i].kind == RegionKind::state;
        owned_.emplace_back(tensors, static_cast<std::size_t>(plan.regions[i].bytes), zeroed);
        addresses_[i] = owned_.back().data();
    }
    if (addresses_[1] != nullptr && !lent_[1])
        fill_constants(plan, static_cast<unsigned char*>(addresses_[1]));
    kept_ = Buffer(tensors, program_->kept_bytes());
    if (workspace_lent_) return;
    workspace_ = Buffer(tensors, program_->workspace_bytes());
    workspace_address_ = workspace_.data();
}

int ProgramMemory::find(RegionKind kind, const char* name) const {
    const auto& regions = program_->plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i)
        if (regions[i].kind == kind && regions[i].name == name) return static_cast<int>(i);
    return -1;
}

}  // namespace volta
