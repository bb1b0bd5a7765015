#include "engine/passes/kept_results.h"

#include <algorithm>

#include "engine/graph/step_input.h"

namespace volta {

KeptResults::KeptResults(const Graph& graph, std::pmr::memory_resource* heap)
    : graph_(graph),
      content_(graph.values.size(), -1, heap),
      read_late_(graph.values.size(), false, heap),
      last_read_(graph.values.size(), -1, heap),
      bytes_(graph.nodes.size(), 0, heap) {
    backward_ = first_backward_node(heap);
    for (NodeId id = 0; id < node_count(graph); ++id) name_contents(id);
    for (NodeId id = 0; id < node_count(graph); ++id) note_reads(id);
    for (const GraphOutput& output : graph.outputs) read_late_[index_of(content(output.value))] = true;
    for (NodeId id = 0; id < backward_; ++id)
        for_each_output(id, [&](ValueId value) {
            if (read_late_[index_of(value)]) bytes_[index_of(id)] += bytes_of(value);
        });
}

bool KeptResults::may_repeat(NodeId id) const {
    const Node& node = graph_.node(id);
    if (id >= backward_ || is_source(node) || is_alias(node) || node.phase != Phase::each) return false;
    if (holds_over_micro_batches(node) || writes_in_place(node)) return false;
    return !is_output(node);
}

bool KeptResults::is_cheap(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!op_row(node.op).recompute || !may_repeat(id)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return maker(input) < 0 || is_kept(maker(input)); });
}

NodeId KeptResults::first_backward_node(std::pmr::memory_resource* heap) const {
    std::pmr::vector<bool> depends(graph_.values.size(), false, heap);
    for (NodeId id = 0; id < node_count(graph_); ++id) {
        const Node& node = graph_.node(id);
        if (node.op == Op::input && node.name == name_of(StepInput::gradient_scale))
            depends[index_of(node.first_output)] = true;
        for (const ValueId input : node.inputs)
            if (depends[index_of(input)]) return id;
    }
    return node_count(graph_);
}

void KeptResults::name_contents(NodeId id) {
    const Node& node = graph_.node(id);
    for_each_output(id, [&](ValueId value) { content_[index_of(value)] = value; });
    if (is_alias(node)) content_[index_of(node.first_output)] = content(node.inputs[0]);
}

void KeptResults::note_reads(NodeId id) {
    const Node& node = graph_.node(id);
    if (is_alias(node)) return;
    for (const ValueId input : node.inputs) {
        const std::size_t value = index_of(content(input));
        if (id >= backward_)
            read_late_[value] = true;
        else
            last_read_[value] = id;
    }
}

bool KeptResults::is_output(const Node& node) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const GraphOutput& output) {
        const ValueId value = content(output.value);
        return value >= node.first_output && value < node.first_output + node.output_count;
    });
}

}  // namespace volta
