#include "engine/plan/place.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/plan/memory_planner.h"
#include "engine/plan/sharing.h"

namespace volta {
namespace {

constexpr std::int32_t kArena = 0, kConstants = 1;
constexpr char kGradientPrefix[] = "gradient/";

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool starts_with(const std::pmr::string& text, const char* prefix) {
    return text.compare(0, std::char_traits<char>::length(prefix), prefix) == 0;
}

std::uint64_t bytes_of(const Value& value) {
    return tensor_bytes(value.dtype, value.shape);  // below 2^63: graphs have no larger values
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t result = 0;
    if (multiply_overflows(a, b, &result))
        fail(VOLTA_UNSUPPORTED, "a region would be larger than 2^64 bytes");
    return result;
}

// Values that share their bytes: an alias, an in-place output, an elementwise result in its input's memory.
struct Group {
    std::uint64_t bytes = 0;
    std::int32_t first_step = -1, last_step = -1;  // -1: no step touches it
    std::int32_t region = kArena;
    std::int32_t merged_into = -1;
    std::int32_t whole = -1;   // of which this is a part, in the arena; -1: none
    std::uint64_t offset = 0;  // in the whole
    bool persistent = false;   // holds over micro-batches
};

// Decides in which group, and so in which region, each value lies; then asks the memory planner for the
// arena.
class Placer {
  public:
    Placer(Plan& plan, const Identity& identity)
        : plan_(plan),
          graph_(plan.graph),
          identity_(identity),
          groups_(graph_.values.size(), plan.graph.heap()),
          read_in_each_(graph_.values.size(), false, plan.graph.heap()) {}

    void run() {
        for (const Step& step : plan_.steps) steps_in_each_ += step.phase == Phase::each;
        measure();
        add_regions();
        share_dying_inputs();
        place_arena();
        place_parts();
        place_rest();
    }

  private:
    // The group of a value's bytes; groups are indexed by the value that first had them.
    std::int32_t group_of(ValueId value) const {
        std::int32_t group = identity_.bytes(value);
        while (groups_[at(group)].merged_into >= 0) group = groups_[at(group)].merged_into;
        return group;
    }

    void touch(ValueId value, std::int32_t step) {
        Group& group = groups_[at(identity_.bytes(value))];
        if (group.first_step < 0) group.first_step = step;
        group.last_step = std::max(group.last_step, step);
    }

    // Sizes and lifetimes. What holds over micro-batches is alive from the first step to the last of phase
    // each.
    void measure() {
        for (std::size_t v = 0; v < graph_.values.size(); ++v) groups_[v].bytes = bytes_of(graph_.values[v]);
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            const Node& node = graph_.node(plan_.steps[s].node);
            const auto step = static_cast<std::int32_t>(s);
            for (const ValueId input : node.inputs) touch(input, step);
            for (std::int32_t i = 0; i < node.output_count; ++i) touch(node.first_output + i, step);
            if (node.phase == Phase::each)
                for (const ValueId input : node.inputs) read_in_each_[at(identity_.bytes(input))] = true;
            if (plan_.micro_batches > 1 && node.phase == Phase::each && persists(node)) {
                for (std::int32_t i = 0; i < node.output_count; ++i) hold(node.first_output + i);
            }
        }
    }

    void hold(ValueId value) {
        Group& group = groups_[at(identity_.bytes(value))];
        group.persistent = true;
        group.first_step = 0;
        group.last_step = std::max(group.last_step, steps_in_each_ - 1);
    }

    void add_regions() {
        std::pmr::memory_resource* heap = graph_.heap();
        const auto add = [&](RegionKind kind, const char* name, std::uint64_t bytes, ValueId source) {
            plan_.regions.push_back(Region{kind, std::pmr::string(name, heap), bytes, source});
            return static_cast<std::int32_t>(plan_.regions.size()) - 1;
        };
        add(RegionKind::arena, "", 0, -1);
        add(RegionKind::constants, "", 0, -1);
        for (const Node& node : graph_.nodes)
            if (node.op == Op::constant) groups_[at(node.first_output)].region = kConstants;
        for (const SourceInfo& info : graph_.sources) {
            const Node& node = graph_.node(info.node);
            Group& group = groups_[at(node.first_output)];
            std::uint64_t bytes = group.bytes;
            RegionKind kind = node.op == Op::parameter ? RegionKind::parameter : RegionKind::state;
            if (node.op == Op::input) {
                kind = RegionKind::input;
                if (is_per_micro_batch(node)) bytes = product(bytes, plan_.micro_batches);
            }
            group.region = add(kind, node.name.c_str(), bytes, node.first_output);
        }
        for (const GraphOutput& output : graph_.outputs) {
            const RegionKind kind =
                starts_with(output.name, kGradientPrefix) ? RegionKind::gradient : RegionKind::output;
            Group& group = groups_[at(identity_.bytes(output.value))];
            group.region = add(kind, output.name.c_str(), group.bytes, output.value);
        }
    }

    // The host gives all micro-batches of what phase each reads, but one value of what belongs to the whole
    // step.
    bool is_per_micro_batch(const Node& input) const {
        return plan_.micro_batches > 1 && read_in_each_[at(input.first_output)] &&
               !is_step_input(input.name.c_str());
    }

    // A step may write over an input that it is the last to read, if element i of the input matters for
    // element i of the output alone. Saves memory, and with it the traffic to it.
    void share_dying_inputs() {
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            const Node& node = graph_.node(plan_.steps[s].node);
            for (std::int32_t output = 0; output < node.output_count; ++output)
                for (std::size_t slot = 0; slot < node.inputs.size(); ++slot)
                    if (may_overwrite(node, slot, output) &&
                        try_share(node, node.inputs[slot], node.first_output + output,
                                  static_cast<std::int32_t>(s)))
                        break;
        }
    }

    bool try_share(const Node& node, ValueId input, ValueId output, std::int32_t step) {
        const Value &from = graph_.value(input), &to = graph_.value(output);
        const std::int32_t source = group_of(input), target = group_of(output);
        Group &dying = groups_[at(source)], &born = groups_[at(target)];
        if (source == target || from.shape != to.shape || from.dtype != to.dtype) return false;
        if (dying.region != kArena || dying.last_step != step || dying.bytes == 0) return false;
        if (born.first_step != step || born.persistent || dying.bytes != born.bytes) return false;
        int slots = 0;  // reads of these bytes by this step, under whatever name
        for (const ValueId other : node.inputs) slots += group_of(other) == source;
        if (slots != 1) return false;
        dying.last_step = born.last_step;
        dying.region = born.region;  // a chain that ends in a region runs there from its start
        born.merged_into = source;
        return true;
    }

    void place_arena() {
        std::pmr::vector<Lifetime> lifetimes(graph_.heap());
        std::pmr::vector<std::int32_t> owners(graph_.heap());
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const Group& group = groups_[g];
            if (group.merged_into >= 0 || group.region != kArena || group.first_step < 0) continue;
            if (identity_.bytes(static_cast<ValueId>(g)) != static_cast<ValueId>(g) || group.whole >= 0)
                continue;
            lifetimes.push_back(Lifetime{group.bytes, group.first_step, group.last_step});
            owners.push_back(static_cast<std::int32_t>(g));
        }
        const MemoryPlan memory = plan_memory(lifetimes);
        plan_.regions[kArena].bytes = memory.arena_bytes;
        plan_.places.assign(graph_.values.size(), Place{});
        for (std::size_t i = 0; i < owners.size(); ++i)
            plan_.places[at(owners[i])] = Place{kArena, memory.offsets[i], 0};
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            std::uint64_t offset = 0;
            std::int32_t whole = static_cast<std::int32_t>(g);
            for (; groups_[at(whole)].whole >= 0; whole = groups_[at(whole)].whole)
                offset += groups_[at(whole)].offset;
            if (at(whole) != g) plan_.places[g] = Place{kArena, plan_.places[at(whole)].offset + offset, 0};
        }
    }

    // Parts are made where a concat, their last reader, wants them, so that nothing is copied; unless the
    // arena grows by it: the whole is there as soon as its first part.
    void place_parts() {
        const std::pmr::vector<Group> apart(groups_, groups_.get_allocator());
        const std::pmr::vector<Place> places(plan_.places, plan_.places.get_allocator());
        const std::uint64_t bytes = plan_.regions[kArena].bytes;
        bool has_parts = false;
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            const Node& node = graph_.node(plan_.steps[s].node);
            if (plan_.micro_batches == 1 && joins_whole_parts(graph_, node))
                has_parts = join(node, static_cast<std::int32_t>(s)) || has_parts;
        }
        if (!has_parts) return;
        place_arena();
        if (plan_.regions[kArena].bytes <= bytes) return;
        groups_ = apart;
        plan_.places = places;
        plan_.regions[kArena].bytes = bytes;
    }

    bool join(const Node& node, std::int32_t step) {
        const std::int32_t whole = group_of(node.first_output);
        if (groups_[at(whole)].region != kArena || groups_[at(whole)].first_step != step) return false;
        bool has_parts = false;
        std::uint64_t offset = 0;
        for (const ValueId input : node.inputs) {
            const std::int32_t part = group_of(input);
            const std::uint64_t bytes = bytes_of(graph_.value(input));
            if (can_be_part(node, part, bytes, step) && offset % kTensorAlignment == 0) {
                groups_[at(part)].whole = whole;
                groups_[at(part)].offset = offset;
                has_parts = true;
            }
            offset += bytes;
        }
        for (const ValueId input : node.inputs)
            if (const Group& part = groups_[at(group_of(input))]; part.whole == whole)
                groups_[at(whole)].first_step = std::min(groups_[at(whole)].first_step, part.first_step);
        return has_parts;
    }

    bool can_be_part(const Node& node, std::int32_t part, std::uint64_t bytes, std::int32_t step) const {
        const Group& group = groups_[at(part)];
        if (group.region != kArena || group.whole >= 0 || group.persistent || group.first_step < 0)
            return false;
        if (group.last_step != step || group.bytes != bytes || bytes == 0) return false;
        int slots = 0;
        for (const ValueId other : node.inputs) slots += group_of(other) == part;
        return slots == 1;
    }

    void place_rest() {
        for (const Node& node : graph_.nodes) {
            if (node.op != Op::constant) continue;
            Region& region = plan_.regions[kConstants];
            plan_.places[at(node.first_output)] = Place{kConstants, region.bytes, 0};
            region.bytes += padded(groups_[at(node.first_output)].bytes);  // all of it is in memory
        }
        for (std::size_t v = 0; v < graph_.values.size(); ++v) {
            const std::int32_t group = group_of(static_cast<ValueId>(v));
            const std::int32_t region = groups_[at(group)].region;
            const bool at_start = region != kArena && region != kConstants;
            plan_.places[v] = at_start ? Place{region, 0, 0} : plan_.places[at(group)];
            plan_.places[v].micro_stride = micro_stride(static_cast<ValueId>(v));
        }
    }

    std::uint64_t micro_stride(ValueId value) const {
        const Node& origin = graph_.producer(identity_.bytes(value));
        if (plan_.micro_batches == 1) return 0;
        const std::uint64_t bytes = bytes_of(graph_.value(value));
        if (op_row(origin.op).micro_batches == MicroBatches::stacked) return bytes / plan_.micro_batches;
        return origin.op == Op::input && is_per_micro_batch(origin) ? bytes : 0;
    }

    Plan& plan_;
    const Graph& graph_;
    const Identity& identity_;
    std::pmr::vector<Group> groups_;
    std::pmr::vector<bool> read_in_each_;  // by the value that first had the bytes
    std::int32_t steps_in_each_ = 0;
};

}  // namespace

void place_values(Plan& plan, const Identity& identity) { Placer(plan, identity).run(); }

PlanBill bill_of(const Plan& plan) {
    PlanBill bill = {};
    for (const Region& region : plan.regions) {
        switch (region.kind) {
            case RegionKind::arena:
                bill.activations += region.bytes;
                break;
            case RegionKind::constants:
                bill.constants += region.bytes;
                break;
            case RegionKind::input:
                bill.inputs += region.bytes;
                break;
            case RegionKind::output:
                bill.outputs += region.bytes;
                break;
            case RegionKind::parameter:
                bill.parameters += region.bytes;
                break;
            case RegionKind::state:
                bill.optimizer_state += region.bytes;
                break;
            case RegionKind::gradient:
                bill.gradients += region.bytes;
                break;
        }
    }
    return bill;
}

}  // namespace volta
