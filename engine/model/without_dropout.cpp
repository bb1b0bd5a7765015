#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"

namespace volta {
namespace {

bool is_random_input(const Node& node) {
    return node.op == Op::input && node.name == name_of(StepInput::random);
}

void set_number(Node& node, Attr key, double value) {
    for (Attribute& attribute : node.attributes)
        if (attribute.key == key) attribute.number = value;
}

// Attention (and its gradient) without its last input, the random one; every probability stays.
ValueId apply_without_random(const Node& node, Graph& to, const std::pmr::vector<ValueId>& renamed) {
    Node copy(node, to.heap());
    copy.inputs.pop_back();
    for (ValueId& input : copy.inputs) input = renamed[static_cast<std::size_t>(input)];
    set_number(copy, Attr::probability, 0);
    set_number(copy, Attr::stream, 0);
    return to.apply(std::move(copy));
}

}  // namespace

Graph without_dropout(const Graph& graph, std::pmr::memory_resource* heap) {
    Graph result(heap);
    std::pmr::vector<ValueId> renamed(graph.values.size(), -1, heap);
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
        const Node& node = graph.node(id);
        if (is_random_input(node)) continue;
        const auto first = static_cast<std::size_t>(node.first_output);
        if (node.op == Op::dropout) {
            renamed[first] = renamed[static_cast<std::size_t>(node.inputs[0])];
        } else if (op_row(node.op).random && node.number(Attr::probability) > 0) {
            const ValueId made = apply_without_random(node, result, renamed);
            for (std::int32_t i = 0; i < node.output_count; ++i)
                renamed[first + static_cast<std::size_t>(i)] = made + i;
        } else {
            copy_node(graph, id, result, renamed);
        }
    }
    for (const GraphOutput& output : graph.outputs)
        result.output(output.name.c_str(), renamed[static_cast<std::size_t>(output.value)]);
    return result;
}

}  // namespace volta
