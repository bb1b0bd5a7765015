// The walk that finds what a segment consists of.
#pragma once

#include <algorithm>

#include "engine/tape/segment.h"
#include "engine/tape/trace.h"

namespace volta {

template <class Available>
NeededNodes needed_nodes(const Trace& trace, const SegmentRequest& request, const Available& available) {
    std::pmr::memory_resource* const heap = trace.graph.heap();
    NeededNodes needed{std::pmr::vector<char>(trace.graph.nodes.size(), 0, heap),
                       std::pmr::vector<ValueId>(heap)};
    std::pmr::vector<ValueId> open(request.wanted, heap);
    for (const NodeId effect : request.effects) {
        needed.nodes[static_cast<std::size_t>(effect)] = 1;
        const auto& inputs = trace.graph.node(effect).inputs;
        open.insert(open.end(), inputs.begin(), inputs.end());
    }
    std::pmr::vector<char> seen(trace.graph.values.size(), 0, heap);
    while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        char& mark = seen[static_cast<std::size_t>(value)];
        if (mark != 0) continue;
        mark = 1;
        if (available(value)) {
            needed.inputs.push_back(value);
            continue;
        }
        const NodeId producer = trace.graph.value(value).producer;
        char& copied = needed.nodes[static_cast<std::size_t>(producer)];
        if (copied != 0) continue;
        copied = 1;
        const auto& inputs = trace.graph.node(producer).inputs;
        open.insert(open.end(), inputs.begin(), inputs.end());
    }
    std::sort(needed.inputs.begin(), needed.inputs.end());
    return needed;
}

}  // namespace volta
