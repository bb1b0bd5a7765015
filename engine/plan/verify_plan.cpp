// The plan verifier: what can be said without running. The rest is said by a run on shadow memory
// (shadow_run.cpp).
#include <algorithm>

#include "engine/graph/forms.h"
#include "engine/graph/step_input.h"
#include "engine/plan/plan_view.h"

namespace volta {

PlanView::PlanView(const Plan& viewed)
    : plan(viewed),
      graph(viewed.graph),
      heap(viewed.graph.heap()),
      content_(graph.values.size(), -1, heap),
      read_in_each_(graph.values.size(), false, heap) {
    for (const Node& node : graph.nodes)
        for (std::int32_t i = 0; i < node.output_count; ++i)
            content_[at(node.first_output + i)] =
                is_alias(node) ? content(node.inputs[0]) : node.first_output + i;
    for (const Node& node : graph.nodes)
        if (node.phase == Phase::each && !is_alias(node))
            for (const ValueId input : node.inputs) read_in_each_[at(content(input))] = true;
}

bool PlanView::is_per_micro_batch(const Node& input) const {
    return plan.micro_batches > 1 && input.op == Op::input && !is_step_input(input.name.c_str()) &&
           read_in_each_[at(input.first_output)];
}

std::uint64_t PlanView::micro_stride(ValueId value) const {
    if (plan.micro_batches == 1) return 0;
    if (stacks(origin(value))) return bytes_of(value) / plan.micro_batches;
    return is_per_micro_batch(origin(value)) ? bytes_of(value) : 0;
}

namespace {

class Verifier {
  public:
    explicit Verifier(const PlanView& view) : view_(view), plan_(view.plan), graph_(view.graph) {}

    void run() const {
        check_sizes();
        check_regions();
        check_places();
        check_extents();
        check_steps();
        run_on_shadow_memory(view_);
        check_limits();
        check_bill();
        check_text();
    }

  private:
    static std::size_t at(std::int32_t id) { return PlanView::at(id); }
    template <class Index>
    static void rule(bool holds, const char* what, Index where, const char* text) {
        PlanView::rule(holds, what, static_cast<std::int64_t>(where), text);
    }

    void check_sizes() const {
        rule(plan_.micro_batches >= 1, "micro-batches", plan_.micro_batches, "a plan has at least one");
        rule(plan_.places.size() == graph_.values.size(), "places", plan_.places.size(),
             "one for each value");
        rule(plan_.regions.size() >= 2 && plan_.regions[0].kind == RegionKind::arena &&
                 plan_.regions[1].kind == RegionKind::constants,
             "regions", plan_.regions.size(), "arena and constants come first");
    }

    // Behind arena and constants: the sources in their order, then the outputs in theirs.
    void check_regions() const {
        std::size_t next = 2;
        const auto check = [&](RegionKind kind, const std::pmr::string& name, ValueId value,
                               std::uint64_t copies) {
            rule(next < plan_.regions.size(), "region", next, "is missing");
            const Region& region = plan_.regions[next];
            rule(region.kind == kind && region.name == name && region.source == value, "region", next,
                 "is not that of its source or output");
            rule(region.bytes == view_.bytes_of(value) * copies, "region", next,
                 "is not as large as its value");
            rule(at(view_.place(value).region) == next && view_.place(value).offset == 0, "region", next,
                 "its value does not lie there");
            ++next;
        };
        for (const SourceInfo& info : graph_.sources) {
            const Node& node = graph_.node(info.node);
            const RegionKind kind = node.op == Op::input       ? RegionKind::input
                                    : node.op == Op::parameter ? RegionKind::parameter
                                                               : RegionKind::state;
            check(kind, node.name, node.first_output,
                  view_.is_per_micro_batch(node) ? plan_.micro_batches : 1);
        }
        for (const GraphOutput& output : graph_.outputs) {
            const bool is_gradient = output.name.compare(0, 9, "gradient/") == 0;
            check(is_gradient ? RegionKind::gradient : RegionKind::output, output.name, output.value, 1);
        }
        rule(next == plan_.regions.size(), "region", next, "belongs to nothing");
    }

    void check_places() const {
        for (std::size_t v = 0; v < plan_.places.size(); ++v) {
            const auto value = static_cast<ValueId>(v);
            const Place &place = plan_.places[v], &origin = view_.place(view_.content(value));
            rule(place.region >= 0 && at(place.region) < plan_.regions.size(), "value", v,
                 "lies in no region");
            rule(place.offset % kTensorAlignment == 0, "value", v, "is not aligned");
            rule(place.micro_stride == view_.micro_stride(value), "value", v,
                 "has a wrong distance between micro-batches");
            rule(place.region == origin.region && place.offset == origin.offset, "value", v,
                 "is an alias and does not lie where its origin does");
            rule((place.region == 1) == (view_.origin(value).op == Op::constant), "value", v,
                 "constants, and they alone, lie among the constants");
            std::uint64_t end = 0;
            rule(!add_overflows(place.offset, extent_of(value), &end) &&
                     end <= plan_.regions[at(place.region)].bytes,
                 "value", v, "reaches beyond its region");
        }
    }

    // Bytes from the value's place to its end, over all micro-batches.
    std::uint64_t extent_of(ValueId value) const {
        const bool is_strided = !PlanView::stacks(view_.origin(value));
        return view_.bytes_of(value) +
               (is_strided ? view_.place(value).micro_stride * (plan_.micro_batches - 1) : 0);
    }

    // Arena and constants are as large as what lies in them, and constants do not overlap.
    void check_extents() const {
        std::uint64_t arena = 0, constants = 0;
        for (std::size_t v = 0; v < plan_.places.size(); ++v) {
            const std::uint64_t end = plan_.places[v].offset + view_.bytes_of(static_cast<ValueId>(v));
            const std::uint64_t room = (end + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
            if (plan_.places[v].region == 0) arena = std::max(arena, room);
            if (plan_.places[v].region != 1 ||
                view_.content(static_cast<ValueId>(v)) != static_cast<ValueId>(v))
                continue;
            rule(plan_.places[v].offset == constants, "value", v, "constants do not follow each other");
            constants = room;
        }
        rule(plan_.regions[0].bytes == arena, "region", 0, "is not as large as what lies in it");
        rule(plan_.regions[1].bytes == constants, "region", 1, "is not as large as what lies in it");
    }

    void check_steps() const {
        std::pmr::vector<bool> seen(graph_.nodes.size(), false, view_.heap);
        Phase phase = Phase::each;
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            const Step& step = plan_.steps[s];
            rule(step.node >= 0 && at(step.node) < graph_.nodes.size(), "step", s, "runs no node");
            const Node& node = graph_.node(step.node);
            rule(!seen[at(step.node)], "step", s, "runs a node again");
            rule(!PlanView::is_source(node) && !PlanView::is_alias(node), "step", s,
                 "runs a node that computes nothing");
            // With one micro-batch, what it leaves is complete: phase each may do the work of reduce, and
            // where that is wanted that of update.
            const bool may_be_early = node.phase == Phase::reduce || plan_.update_in_backward;
            const bool is_early = plan_.micro_batches == 1 && may_be_early && step.phase == Phase::each;
            rule(step.phase == node.phase || is_early, "step", s, "is not in its node's phase");
            rule(step.phase >= phase, "step", s, "is in a phase that is over");
            phase = step.phase;
            seen[at(step.node)] = true;
        }
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
            rule(seen[n] || PlanView::is_source(graph_.nodes[n]) || PlanView::is_alias(graph_.nodes[n]),
                 "node", n, "is not run");
    }

    // ---- Ids: forward over the graph, the smallest and largest integer that a value can hold
    // --------------------

    struct Range {
        std::int64_t low = INT32_MIN, high = INT32_MAX;
    };

    Range range_of_constant(const Node& node) const {
        Range range{INT32_MAX, INT32_MIN};
        for (const std::uint32_t bits : graph_.constants[at(node.data)]) {
            range.low = std::min<std::int64_t>(range.low, static_cast<std::int32_t>(bits));
            range.high = std::max<std::int64_t>(range.high, static_cast<std::int32_t>(bits));
        }
        return range;
    }

    Range range_of_input(const Node& node) const {
        for (const InputLimit& limit : plan_.limits)
            if (limit.region == view_.place(node.first_output).region) return {limit.low, limit.high};
        return {};
    }

    Range range_of(const Node& node, const std::pmr::vector<Range>& ranges) const {
        if (node.op == Op::input) return range_of_input(node);
        if (node.op == Op::constant) return range_of_constant(node);
        switch (op_row(node.op).whole) {
            case Whole::flag:
                return {0, 1};
            case Whole::index:
                return {0, graph_.shape(node.inputs[0]).last() - 1};
            case Whole::of_inputs: {
                Range joined{INT32_MAX, INT32_MIN};
                for (const ValueId input : node.inputs) {
                    joined.low = std::min(joined.low, ranges[at(input)].low);
                    joined.high = std::max(joined.high, ranges[at(input)].high);
                }
                return joined;
            }
            case Whole::unknown:
                break;
        }
        return {};
    }

    void check_limits() const {
        for (const InputLimit& limit : plan_.limits)
            rule(limit.region >= 0 && at(limit.region) < plan_.regions.size() &&
                     plan_.regions[at(limit.region)].kind == RegionKind::input,
                 "limit of region", limit.region, "is not that of an input");
        std::pmr::vector<Range> ranges(graph_.values.size(), Range{}, view_.heap);
        for (const Node& node : graph_.nodes) {
            if (graph_.value(node.first_output).dtype == DType::i32)
                ranges[at(node.first_output)] = range_of(node, ranges);
            for (const IdInput& used : op_row(node.op).ids) {
                const int input = id_input(node, used);
                if (input < 0) continue;
                const ValueId ids = node.inputs[at(input)];
                const Range& range = ranges[at(ids)];
                rule(graph_.shape(ids).elements() == 0 ||
                         (range.low >= used.lowest && range.high < id_bound(graph_, node, used)),
                     "value", ids, "may hold ids outside of the table that they are used with");
            }
        }
    }

    // ---- Bill and text
    // ------------------------------------------------------------------------------------------

    void check_bill() const {
        const auto sum = [&](RegionKind kind) {
            std::uint64_t bytes = 0;
            for (const Region& region : plan_.regions) bytes += region.kind == kind ? region.bytes : 0;
            return bytes;
        };
        const PlanBill& bill = plan_.bill;
        rule(bill.activations == sum(RegionKind::arena) && bill.constants == sum(RegionKind::constants) &&
                 bill.inputs == sum(RegionKind::input) && bill.outputs == sum(RegionKind::output) &&
                 bill.parameters == sum(RegionKind::parameter) &&
                 bill.optimizer_state == sum(RegionKind::state) &&
                 bill.gradients == sum(RegionKind::gradient),
             "bill of", bill.activations, "bytes of activations: it is not the sum of the regions");
    }

    void check_text() const {
        rule(plan_.text == print(plan_, view_.heap), "text of", plan_.text.size(),
             "bytes is not this plan's");
        rule(plan_.hash == hash_bytes(plan_.text.data(), plan_.text.size()), "hash of", plan_.text.size(),
             "bytes of text is not this text's");
    }

    const PlanView& view_;
    const Plan& plan_;
    const Graph& graph_;
};

}  // namespace

void verify(const Plan& plan) { Verifier(PlanView(plan)).run(); }

}  // namespace volta
