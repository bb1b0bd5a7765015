#include "engine/tape/segment.h"

#include <cstdio>

#include "engine/base/error.h"
#include "engine/tape/trace.h"

namespace volta {
namespace {

struct Name {
    char text[24];
};
Name name_of(const char* kind, std::size_t index) {
    Name name;
    std::snprintf(name.text, sizeof name.text, "%s%zu", kind, index);
    return name;
}

// Names depend on places alone, so that equal pieces of work share a plan.
ValueId add_source(Graph& graph, const Value& value, Op op, std::size_t index) {
    switch (op) {
        case Op::parameter:
            return graph.parameter(name_of("w", index).text, value.shape, Init{});
        case Op::state:
            return graph.state(name_of("s", index).text, value.dtype, value.shape);
        default:
            return graph.input(name_of("x", index).text, value.dtype, value.shape);
    }
}

RegionKind region_kind(Op op) {
    return op == Op::parameter ? RegionKind::parameter
                               : (op == Op::state ? RegionKind::state : RegionKind::input);
}

const char* prefix(Op op) { return op == Op::parameter ? "w" : (op == Op::state ? "s" : "x"); }

}  // namespace

BorrowedProgram Segment::prepare(Context& context, const Trace& trace, const SegmentRequest& request,
                                 const NeededNodes& needed) {
    std::pmr::memory_resource* const heap = context.structures();
    Graph graph(heap);
    std::pmr::vector<ValueId> renamed(trace.graph.values.size(), -1, heap);
    for (std::size_t i = 0; i < needed.inputs.size(); ++i) {
        const ValueId input = needed.inputs[i];
        renamed[static_cast<std::size_t>(input)] =
            add_source(graph, trace.graph.value(input), trace.graph.producer(input).op, i);
    }
    for (std::size_t node = 0; node < needed.nodes.size(); ++node) {
        if (needed.nodes[node] == 0) continue;
        const Node& from = trace.graph.nodes[node];
        // One of several results may be there already: what is copied computes it again, for others' sake.
        std::pmr::vector<ValueId> before(heap);
        for (std::int32_t i = 0; i < from.output_count; ++i)
            before.push_back(renamed[static_cast<std::size_t>(from.first_output + i)]);
        copy_node(trace.graph, static_cast<NodeId>(node), graph, renamed);
        // There are no micro-batches: what a step needs is made once in it, and outlives its phase.
        Node& copy = graph.nodes.back();
        if (!request.effects.empty() && copy.phase == Phase::each && copy.op != Op::constant)
            copy.phase = Phase::reduce;
        for (std::int32_t i = 0; i < from.output_count; ++i)
            if (before[static_cast<std::size_t>(i)] >= 0)
                renamed[static_cast<std::size_t>(from.first_output + i)] =
                    before[static_cast<std::size_t>(i)];
        if (copy.op != Op::constant) nodes_.push_back(static_cast<NodeId>(node));
    }
    for (std::size_t i = 0; i < request.wanted.size(); ++i)
        graph.output(name_of("y", i).text, renamed[static_cast<std::size_t>(request.wanted[i])]);
    return context.plans().borrow(graph, PrepareOptions{});
}

Segment::Segment(Context& context, const Trace& trace, const SegmentRequest& request, std::size_t call_count,
                 NeededNodes&& needed)
    : call_count_(call_count),
      wanted_(request.wanted, context.structures()),
      effects_(request.effects, context.structures()),
      nodes_(context.structures()),
      inputs_(context.structures()),
      outputs_(context.structures()),
      program_(prepare(context, trace, request, needed)),
      memory_(*program_, context.structures()) {
    for (std::size_t i = 0; i < needed.inputs.size(); ++i) {
        const Op op = trace.graph.producer(needed.inputs[i]).op;
        const int region = memory_.find(region_kind(op), name_of(prefix(op), i).text);
        if (region < 0) continue;  // a pass found that nothing needs it
        inputs_.push_back({needed.inputs[i], region});
        memory_.lend(static_cast<std::size_t>(region), nullptr);
    }
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        const int region = memory_.find(RegionKind::output, name_of("y", i).text);
        if (region < 0) fail(VOLTA_INTERNAL, "the plan of a record has no output %zu", i);
        outputs_.push_back({wanted_[i], region});
        memory_.lend(static_cast<std::size_t>(region), nullptr);
        if (wanted_[i] == request.norm) norm_region_ = region;
        if (wanted_[i] == request.loss) loss_region_ = region;
    }
    memory_.lend_scratch(nullptr, nullptr);  // one for all segments of the tape
    memory_.allocate();
}

}  // namespace volta
