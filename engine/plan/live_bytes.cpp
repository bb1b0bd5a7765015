#include "engine/plan/live_bytes.h"

#include <algorithm>

#include "engine/plan/memory_planner.h"
#include "engine/plan/order.h"

namespace volta {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// When the bytes of each value hold something, by the value that first had them.
class Lives {
  public:
    Lives(const Plan& plan, std::pmr::memory_resource* heap)
        : plan_(plan), identity_(plan.graph), first_(values(), -1, heap), last_(values(), -1, heap) {
        const auto last_of_each =
            static_cast<std::int32_t>(std::count_if(plan.steps.begin(), plan.steps.end(),
                                                    [](const Step& s) { return s.phase == Phase::each; })) -
            1;
        for_each_step([&](const Node& node, std::int32_t step) {
            for (const ValueId input : node.inputs) touch(input, step);
            const bool holds = plan.micro_batches > 1 && node.phase == Phase::each && persists(node);
            for (std::int32_t i = 0; i < node.output_count; ++i) {
                touch(node.first_output + i, step);
                if (!holds) continue;
                touch(node.first_output + i, last_of_each);
                first_[at(identity_.bytes(node.first_output + i))] = 0;
            }
        });
        for_each_step([&](const Node& node, std::int32_t step) {
            for (std::int32_t i = 0; i < node.output_count; ++i) take_over(node, node.first_output + i, step);
        });
    }

    // Adds the values in the arena to what is alive at their steps.
    void add_to(std::pmr::vector<std::uint64_t>& live) const {
        for (std::size_t v = 0; v < values(); ++v) {
            if (first_[v] < 0 || plan_.places[v].region != 0) continue;
            const Value& value = plan_.graph.values[v];
            const std::uint64_t bytes = padded(bytes_of(value));
            for (std::int32_t step = first_[v]; step <= last_[v]; ++step) live[at(step)] += bytes;
        }
    }

  private:
    static std::uint64_t bytes_of(const Value& value) { return tensor_bytes(value.dtype, value.shape); }
    std::size_t values() const { return plan_.graph.values.size(); }

    template <class Visit>
    void for_each_step(Visit visit) const {
        for (std::size_t s = 0; s < plan_.steps.size(); ++s)
            visit(plan_.graph.node(plan_.steps[s].node), static_cast<std::int32_t>(s));
    }

    void touch(ValueId value, std::int32_t step) {
        const std::size_t owner = at(identity_.bytes(value));
        if (first_[owner] < 0) first_[owner] = step;
        last_[owner] = std::max(last_[owner], step);
    }

    // A result may lie where an input lay whose last reader makes it: the bytes count once.
    void take_over(const Node& node, ValueId output, std::int32_t step) {
        const std::size_t born = at(identity_.bytes(output));
        if (first_[born] != step) return;
        for (const ValueId input : node.inputs) {
            const std::size_t dying = at(identity_.bytes(input));
            const Place &from = plan_.places[dying], &to = plan_.places[born];
            if (dying == born || last_[dying] != step || from.region != to.region) continue;
            if (node.op == Op::concat && from.offset >= to.offset &&
                from.offset < to.offset + bytes_of(plan_.graph.values[born]))
                last_[dying] = step - 1;  // it is a part already
            else if (from.offset == to.offset)
                first_[born] = step + 1;
        }
    }

    const Plan& plan_;
    const Identity identity_;
    std::pmr::vector<std::int32_t> first_, last_;  // -1: no step touches it
};

}  // namespace

std::pmr::vector<std::uint64_t> live_bytes(const Plan& plan, std::pmr::memory_resource* heap) {
    std::pmr::vector<std::uint64_t> live(plan.steps.size(), 0, heap);
    Lives(plan, heap).add_to(live);
    return live;
}

}  // namespace volta
