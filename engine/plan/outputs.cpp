// Outputs and limits: what a plan promises its host about the memory on its border.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/forms.h"
#include "engine/graph/step_input.h"
#include "engine/plan/place.h"

namespace volta {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool is_source(const Node& node) { return op_row(node.op).lowering == Lowering::source; }

// Does the value hold for the whole step, or only until the next micro-batch?
bool is_of_whole_step(const Node& origin) {
    if (origin.op == Op::input) return is_step_input(origin.name.c_str());
    return is_source(origin) || origin.phase != Phase::each || persists(origin);
}

// Values whose content ends when an in-place step overwrites it.
std::pmr::vector<bool> overwritten_contents(const Graph& graph, const Identity& identity) {
    std::pmr::vector<bool> overwritten(graph.values.size(), false, graph.heap());
    for (const Node& node : graph.nodes) {
        for_each_in_place(node, [&](ValueId, ValueId input) {
            const Node& owner = graph.producer(identity.bytes(input));
            require(owner.op != Op::input && owner.op != Op::constant,
                    "%s would overwrite %s \"%s\", which is not its to write", op_row(node.op).name,
                    op_row(owner.op).name, owner.name.c_str());
            overwritten[at(identity.content(input))] = true;
        });
    }
    return overwritten;
}

// The same bytes again. Phase each where there is one micro-batch: a session runs no other.
ValueId append_copy(Graph& graph, ValueId value, const Node& origin, std::uint32_t micro_batches) {
    const Phase producer = graph.producer(value).phase;
    const bool late = micro_batches > 1 && producer == Phase::each && is_of_whole_step(origin);
    return graph.apply(Op::broadcast_to, {value}, {list(Attr::shape, graph.shape(value))},
                       late ? Phase::reduce : producer);
}

}  // namespace

void separate_outputs(Graph& graph, std::uint32_t micro_batches) {
    const Identity identity(graph);
    const std::pmr::vector<bool> overwritten = overwritten_contents(graph, identity);
    std::pmr::vector<bool> taken(graph.values.size(), false, graph.heap());
    for (GraphOutput& output : graph.outputs) {
        const ValueId bytes = identity.bytes(output.value);
        const Node& origin = graph.producer(bytes);
        if (micro_batches > 1)
            require(is_of_whole_step(origin),
                    "output %s is computed anew in each of %u micro-batches: stack or accumulate it",
                    output.name.c_str(), micro_batches);
        if (is_source(origin) || taken[at(bytes)] || overwritten[at(identity.content(output.value))])
            output.value = append_copy(graph, output.value, origin, micro_batches);
        else
            taken[at(bytes)] = true;
    }
}

namespace {

struct IdRange {
    std::int64_t low, high;  // inclusive
};

// Follows ids from the operators that use them as indices back to where they come from.
class IdTracer {
  public:
    explicit IdTracer(Plan& plan)
        : plan_(plan),
          graph_(plan.graph),
          seen_(graph_.values.size(), -1, plan.graph.heap()),
          pending_(plan.graph.heap()) {}

    void run() {
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
            const Node& node = graph_.nodes[n];
            for (const IdInput& ids : op_row(node.op).ids)
                if (const int input = id_input(node, ids); input >= 0)
                    trace(node, node.inputs[at(input)], {ids.lowest, id_bound(graph_, node, ids) - 1});
        }
    }

  private:
    void trace(const Node& user, ValueId ids, IdRange allowed) {
        ++round_;
        pending_.assign(1, ids);
        while (!pending_.empty()) {
            const ValueId value = pending_.back();
            pending_.pop_back();
            if (seen_[at(value)] == round_) continue;
            seen_[at(value)] = round_;
            if (graph_.shape(value).elements() > 0) follow(user, value, allowed);
        }
    }

    void follow(const Node& user, ValueId value, IdRange allowed) {
        const Node& node = graph_.producer(value);
        if (node.op == Op::input) return limit(value, allowed);
        if (node.op == Op::constant) return check_constant(user, node, allowed);
        switch (op_row(node.op).whole) {
            case Whole::flag:
                return check(user, {0, 1}, allowed);
            case Whole::index:
                return check(user, {0, graph_.shape(node.inputs[0]).last() - 1}, allowed);
            case Whole::of_inputs:
                pending_.insert(pending_.end(), node.inputs.begin(), node.inputs.end());
                return;
            case Whole::unknown:
                break;
        }
        fail(VOLTA_UNSUPPORTED, "%s: its ids come from %s, where they cannot be checked",
             op_row(user.op).name, op_row(node.op).name);
    }

    // An input's limit is what all its users allow.
    void limit(ValueId input, IdRange allowed) {
        constexpr std::int64_t kMost = 2147483647;
        const auto low = static_cast<std::int32_t>(allowed.low);
        const auto high = static_cast<std::int32_t>(std::min(allowed.high, kMost));
        const std::int32_t region = plan_.places[at(input)].region;
        for (InputLimit& known : plan_.limits) {
            if (known.region != region) continue;
            known.low = std::max(known.low, low);
            known.high = std::min(known.high, high);
            return;
        }
        plan_.limits.push_back(InputLimit{region, low, high});
    }

    void check(const Node& user, IdRange given, IdRange allowed) const {
        require(given.low >= allowed.low && given.high <= allowed.high,
                "%s: ids run from %lld to %lld, the table takes %lld to %lld", op_row(user.op).name,
                static_cast<long long>(given.low), static_cast<long long>(given.high),
                static_cast<long long>(allowed.low), static_cast<long long>(allowed.high));
    }

    void check_constant(const Node& user, const Node& constant, IdRange allowed) const {
        for (const std::uint32_t bits : graph_.constants[at(constant.data)]) {
            const std::int64_t id = static_cast<std::int32_t>(bits);
            check(user, {id, id}, allowed);
        }
    }

    Plan& plan_;
    const Graph& graph_;
    std::pmr::vector<std::int32_t> seen_;  // the round in which a value was followed last
    std::pmr::vector<ValueId> pending_;
    std::int32_t round_ = -1;
};

}  // namespace

void limit_inputs(Plan& plan) {
    IdTracer(plan).run();
    std::sort(plan.limits.begin(), plan.limits.end(),
              [](const InputLimit& a, const InputLimit& b) { return a.region < b.region; });
}

}  // namespace volta
