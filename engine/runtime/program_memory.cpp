#include "engine/runtime/program_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {
namespace {

bool is_exchanged(RegionKind kind) { return kind == RegionKind::input || kind == RegionKind::output; }

}  // namespace

ProgramMemory::ProgramMemory(const Program& program, std::pmr::memory_resource* structures)
    : program_(&program),
      addresses_(program.plan().regions.size(), nullptr, structures),
      hosts_(program.plan().regions.size(), nullptr, structures),
      lent_(program.plan().regions.size(), false, structures),
      owned_(structures) {}

bool ProgramMemory::is_split(std::size_t region) const {
    return !program_->memory().is_host() && is_exchanged(program_->plan().regions[region].kind);
}

void ProgramMemory::lend(std::size_t region, void* address) {
    hosts_[region] = address;
    if (!is_split(region)) addresses_[region] = address;
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
        const std::uint64_t bytes = regions[i].bytes;
        if (is_split(i)) {  // the device's side is always owned
            bill.staging += bytes;
            bill.total += bytes;
        }
        if (lent_[i]) continue;
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

// In the device's memory.
std::uint64_t ProgramMemory::owned_bytes() const {
    const auto& regions = program_->plan().regions;
    std::uint64_t bytes = program_->kept_bytes() + (workspace_lent_ ? 0 : program_->workspace_bytes());
    for (std::size_t i = 0; i < regions.size(); ++i)
        if (!lent_[i] || is_split(i)) bytes += regions[i].bytes;
    return bytes;
}

void ProgramMemory::require_room() const {
    const std::uint64_t needed = owned_bytes(), available = program_->memory().available();
    if (needed <= available) return;
    const auto& regions = program_->plan().regions;
    std::size_t largest = 0;  // owned
    for (std::size_t i = 1; i < regions.size(); ++i)
        if (!lent_[i] && (lent_[largest] || regions[i].bytes > regions[largest].bytes)) largest = i;
    fail(VOLTA_OUT_OF_MEMORY, "the plan needs %llu bytes, the %s has %llu; largest: %s of %llu bytes",
         static_cast<unsigned long long>(needed), program_->memory().is_host() ? "host" : "device",
         static_cast<unsigned long long>(available),
         largest == 0 ? "activations" : regions[largest].name.c_str(),
         static_cast<unsigned long long>(regions[largest].bytes));
}

// Writes the graph's constants to their places in the constants region.
void ProgramMemory::fill_constants() {
    const Plan& plan = program_->plan();
    for (const Node& node : plan.graph.nodes) {
        if (node.op != Op::constant) continue;
        const Place& place = plan.places[static_cast<std::size_t>(node.first_output)];
        if (place.region != 1) continue;  // not used by any step
        const auto& bits = plan.graph.constants[static_cast<std::size_t>(node.data)];
        if (bits.empty()) continue;
        void* const to = static_cast<unsigned char*>(addresses_[1]) + place.offset;
        program_->require_ran(program_->memory().write(to, bits.data(), bits.size() * sizeof(bits[0])));
    }
}

void ProgramMemory::allocate() {
    require_room();
    Memory& memory = program_->memory();
    const Plan& plan = program_->plan();
    const auto own = [&](Memory& where, std::size_t region) {
        const bool zeroed = plan.regions[region].kind == RegionKind::state;
        owned_.emplace_back(where, static_cast<std::size_t>(plan.regions[region].bytes), zeroed);
        return owned_.back().data();
    };
    owned_.reserve(2 * plan.regions.size());
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        if (is_split(i)) {
            addresses_[i] = own(memory, i);
            if (!lent_[i]) hosts_[i] = own(program_->staging(), i);
        } else if (!lent_[i]) {
            addresses_[i] = hosts_[i] = own(memory, i);
        }
    }
    if (addresses_[1] != nullptr && !lent_[1]) fill_constants();
    kept_ = Block(memory, program_->kept_bytes());
    if (workspace_lent_) return;
    workspace_ = Block(memory, program_->workspace_bytes());
    workspace_address_ = workspace_.data();
}

int ProgramMemory::find(RegionKind kind, const char* name) const {
    const auto& regions = program_->plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i)
        if (regions[i].kind == kind && regions[i].name == name) return static_cast<int>(i);
    return -1;
}

void ProgramMemory::load(std::size_t region, void* to) const {
    program_->require_ran(
        program_->memory().read(to, addresses_[region], program_->plan().regions[region].bytes));
}

void ProgramMemory::store(std::size_t region, const void* from) {
    program_->require_ran(
        program_->memory().write(addresses_[region], from, program_->plan().regions[region].bytes));
}

const void* ProgramMemory::fetch(std::size_t region, Block& copy) const {
    if (program_->memory().is_host()) return addresses_[region];
    const std::size_t bytes = program_->plan().regions[region].bytes;
    if (copy.bytes() != bytes) copy = Block(program_->staging(), bytes);
    load(region, copy.data());
    return copy.data();
}

// Sends the inputs, or fetches the outputs that `phase` has written.
void ProgramMemory::exchange(bool sends, Phase phase) const {
    const Plan& plan = program_->plan();
    Memory& memory = program_->memory();
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        const Region& region = plan.regions[i];
        if (!is_split(i) || region.bytes == 0 || sends != (region.kind == RegionKind::input)) continue;
        if (!sends && plan.graph.producer(region.source).phase != phase) continue;
        program_->require_ran(sends ? memory.write(addresses_[i], hosts_[i], region.bytes)
                                    : memory.read(hosts_[i], addresses_[i], region.bytes));
    }
}

void ProgramMemory::run(Phase phase, std::uint32_t micro_index) const {
    const bool split = !program_->memory().is_host();
    if (split && phase == Phase::each && micro_index == 0) exchange(true, phase);
    program_->require_ran(
        program_->run(phase, RunState{addresses_.data(), workspace_address_, micro_index, kept_.data()}));
    const bool last = phase != Phase::each || micro_index + 1 == program_->plan().micro_batches;
    if (split && last) exchange(false, phase);
}

}  // namespace volta
