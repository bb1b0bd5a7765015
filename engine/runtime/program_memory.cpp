#include "engine/runtime/program_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/memory.h"

namespace volta {
namespace {

bool is_exchanged(RegionKind kind) { return kind == RegionKind::input || kind == RegionKind::output; }

}  // namespace

ProgramMemory::ProgramMemory(const Program& program, std::pmr::memory_resource* structures)
    : program_(&program),
      addresses_(program.plan().regions.size(), nullptr, structures),
      hosts_(program.plan().regions.size(), nullptr, structures),
      lent_(program.plan().regions.size(), false, structures),
      placed_(program.plan().regions.size(), false, structures),
      in_place_(program.plan().regions.size(), false, structures),
      offsets_(program.plan().regions.size(), 0, structures),
      owned_(structures) {}

bool ProgramMemory::is_split(std::size_t region) const {
    return !program_->memory().is_host() && !in_place_[region] &&
           is_exchanged(program_->plan().regions[region].kind);
}

ProgramMemory::Way ProgramMemory::way(std::size_t region) const {
    return program_->plan().regions[region].kind == RegionKind::input ? kToDevice : kToHost;
}

ProgramMemory::Route ProgramMemory::route(std::size_t region) const {
    if (!is_split(region)) return Route::none;
    if (placed_[region]) return Route::placed;
    const bool is_large = program_->plan().regions[region].bytes > kGathered;
    return lent_[region] && is_large ? Route::direct : Route::packed;
}

std::size_t ProgramMemory::pack(Way which, std::pmr::vector<std::size_t>* offsets) const {
    const auto& regions = program_->plan().regions;
    std::size_t end = 0;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (route(i) != Route::packed || way(i) != which) continue;
        end = (end + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
        if (offsets != nullptr) (*offsets)[i] = end;
        end += static_cast<std::size_t>(regions[i].bytes);
    }
    return end;
}

void ProgramMemory::lend(std::size_t region, void* address) {
    hosts_[region] = address;
    if (!is_split(region)) addresses_[region] = address;
    lent_[region] = true;
}

void ProgramMemory::lend_in_place(std::size_t region, void* address) {
    in_place_[region] = true;
    lend(region, address);
}

void ProgramMemory::place(std::size_t region, const Exchange& exchange, std::size_t offset) {
    lend(region, exchange.host(offset));
    if (!is_split(region)) return;
    placed_[region] = true;
    addresses_[region] = exchange.device(offset);
    offsets_[region] = offset;
    shared_[way(region)] = &exchange;
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
        if (is_split(i)) {
            if (route(i) != Route::direct) continue;  // below
            bill.staging += bytes;                    // the device's side
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
    for (const Way each : {kToDevice, kToHost}) {
        const std::uint64_t both_sides = 2 * pack(each, nullptr);
        bill.staging += both_sides;
        bill.total += both_sides;
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
        if (is_split(i) ? route(i) == Route::direct : !lent_[i]) bytes += regions[i].bytes;
    return bytes + pack(kToDevice, nullptr) + pack(kToHost, nullptr);
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
    const auto own = [&](std::size_t region) {
        const bool zeroed = plan.regions[region].kind == RegionKind::state;
        owned_.emplace_back(memory, static_cast<std::size_t>(plan.regions[region].bytes), zeroed);
        return owned_.back().data();
    };
    owned_.reserve(plan.regions.size());
    for (const Way each : {kToDevice, kToHost})
        packed_[each] = Exchange(memory, program_->staging(), pack(each, &offsets_));
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        switch (route(i)) {
            case Route::none:
                if (!lent_[i]) addresses_[i] = hosts_[i] = own(i);
                break;
            case Route::packed:
                addresses_[i] = packed_[way(i)].device(offsets_[i]);
                if (!lent_[i]) hosts_[i] = packed_[way(i)].host(offsets_[i]);
                break;
            case Route::direct:
                addresses_[i] = own(i);
                break;
            case Route::placed:
                break;
        }
        fetches_ = fetches_ || (is_split(i) && way(i) == kToHost && plan.regions[i].bytes > 0);
    }
    if (addresses_[1] != nullptr && !lent_[1]) fill_constants();
    kept_ = Block(memory, program_->kept_bytes());
    if (workspace_lent_) return;
    workspace_ = Block(memory, program_->workspace_bytes());
    workspace_address_ = workspace_.data();
}

int ProgramMemory::find(RegionKind kind, const char* name) const {
    const Plan& plan = program_->plan();
    const auto is_it = [&](std::size_t i) {
        return plan.regions[i].kind == kind && plan.regions[i].name == name;
    };
    const ValueId source = plan.graph.find_source(name);  // most of them, and there it is
    if (source >= 0 && plan.places[static_cast<std::size_t>(source)].region >= 0) {
        const std::int32_t region = plan.places[static_cast<std::size_t>(source)].region;
        if (is_it(static_cast<std::size_t>(region))) return region;
    }
    for (std::size_t i = 0; i < plan.regions.size(); ++i)
        if (is_it(i)) return static_cast<int>(i);
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

// Whether the region is sent before the plan runs, or fetched when these phases have run.
bool ProgramMemory::moves(std::size_t region, Way which, Phases phases) const {
    const Plan& plan = program_->plan();
    const Region& each = plan.regions[region];
    if (!is_split(region) || each.bytes == 0 || way(region) != which) return false;
    if (which == kToDevice) return true;
    const Phase phase = plan.graph.producer(each.source).phase;
    return phases.first <= phase && phase <= phases.last;
}

bool ProgramMemory::send() const {
    const auto& regions = program_->plan().regions;
    Exchange::Span packed, placed;
    bool sends = false;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (!moves(i, kToDevice, kNone)) continue;
        sends = true;
        if (route(i) == Route::direct) {
            program_->require_ran(program_->memory().write(addresses_[i], hosts_[i], regions[i].bytes));
            continue;
        }
        (placed_[i] ? placed : packed).add(offsets_[i], regions[i].bytes);
        if (lent_[i] && !placed_[i])
            std::memcpy(packed_[kToDevice].host(offsets_[i]), hosts_[i], regions[i].bytes);
    }
    if (!packed.is_empty()) program_->require_ran(packed_[kToDevice].send(packed));
    if (!placed.is_empty()) program_->require_ran(shared_[kToDevice]->send(placed));
    return sends;
}

void ProgramMemory::fetch(Phases phases) const {
    const auto& regions = program_->plan().regions;
    Memory& memory = program_->memory();
    Exchange::Span packed, placed;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (!moves(i, kToHost, phases)) continue;
        if (route(i) == Route::direct)
            program_->require_ran(memory.read(hosts_[i], addresses_[i], regions[i].bytes));
        else
            (placed_[i] ? placed : packed).add(offsets_[i], regions[i].bytes);
    }
    if (!packed.is_empty()) program_->require_ran(packed_[kToHost].fetch(packed));
    if (!placed.is_empty()) program_->require_ran(shared_[kToHost]->fetch(placed));
    if (packed.is_empty() && placed.is_empty()) return;
    program_->require_ran(memory.wait());
    for (std::size_t i = 0; i < regions.size(); ++i)
        if (lent_[i] && route(i) == Route::packed && moves(i, kToHost, phases))
            std::memcpy(hosts_[i], packed_[kToHost].host(offsets_[i]), regions[i].bytes);
}

// The host may write the next inputs when a run has ended, so what was sent must be there by then: where
// results are fetched, it is; else this waits.
template <class Run>
void ProgramMemory::run_split(bool sends, Phases fetched, const Run& run) const {
    Memory& memory = program_->memory();
    try {
        if (sends && send() && !fetches_) program_->require_ran(memory.wait());
        program_->require_ran(run());
        fetch(fetched);
    } catch (...) {
        memory.wait();  // what has failed reads and writes the host's side no more
        throw;
    }
}

void ProgramMemory::run(Phase phase, std::uint32_t micro_index) const {
    program_->require_at_rest();
    const auto phase_run = [&] { return program_->run(phase, state(micro_index)); };
    if (program_->memory().is_host()) {
        program_->require_ran(phase_run());
        return program_->check_host();
    }
    const bool is_first = phase == Phase::each && micro_index == 0;
    const bool is_last = phase != Phase::each || micro_index + 1 == program_->plan().micro_batches;
    run_split(is_first, is_last ? Phases{phase, phase} : kNone, phase_run);
}

void ProgramMemory::run_training(const std::array<int, 2>& finite, TrainingRun& training) const {
    program_->require_at_rest();
    const Plan& plan = program_->plan();
    RunState run_state = state(0);
    run_state.update_needs_finite = finite;
    training.micro_batches = plan.micro_batches;
    const auto run = [&] { return program_->run_training(run_state, training); };
    if (program_->memory().is_host()) return program_->require_ran(run());
    Exchange::Span outputs;
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
        if (!moves(i, kToHost, {Phase::each, Phase::reduce})) continue;
        if (route(i) != Route::packed || lent_[i])
            fail(VOLTA_INTERNAL, "the output %s of a training plan is not its memory's own",
                 plan.regions[i].name.c_str());
        outputs.add(offsets_[i], plan.regions[i].bytes);
    }
    if (!outputs.is_empty()) {
        training.seen = packed_[kToHost].host(outputs.begin);
        training.written = packed_[kToHost].device(outputs.begin);
        training.seen_bytes = outputs.end - outputs.begin;
    }
    run_split(true, kNone, run);
}

}  // namespace volta
