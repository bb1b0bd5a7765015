#include "engine/runtime/packed_graph.h"

#include "engine/base/error.h"
#include "engine/runtime/decode_graph.h"
#include "engine/runtime/session.h"
#include "engine/runtime/token_loss.h"

namespace volta {
namespace {

ValueId renamed_at(const std::pmr::vector<ValueId>& renamed, ValueId value) {
    return renamed[static_cast<std::size_t>(value)];
}

// With `starts` behind its inputs, but for the state of a dropout.
ValueId attention_of_documents(const Node& attention, ValueId starts, Graph& to,
                               const std::pmr::vector<ValueId>& renamed) {
    Node node(attention, to.heap());
    for (ValueId& input : node.inputs) input = renamed_at(renamed, input);
    const bool random = node.number(Attr::probability) > 0;
    node.inputs.insert(node.inputs.end() - (random ? 1 : 0), starts);
    for (Attribute& attribute : node.attributes)
        if (attribute.key == Attr::documents) attribute.number = 1;
    return to.apply(std::move(node));
}

}  // namespace

void check_packable(const Graph& model, std::pmr::memory_resource* heap) {
    language_model(model);
    const std::pmr::string obstacle = decode_obstacle(model, heap);
    if (!obstacle.empty())
        fail(VOLTA_UNSUPPORTED, "packed documents cannot be kept apart in this model: %s", obstacle.c_str());
    for (const Node& node : model.nodes)
        if (node.op == Op::attention && node.flag(Attr::documents))
            fail(VOLTA_UNSUPPORTED, "packed documents: node %%%d (attention) has documents already",
                 node.first_output);
}

Graph packed_graph(const Graph& concrete, std::pmr::memory_resource* heap) {
    const ValueId tokens = host_inputs(concrete, heap)[0];
    Graph result(heap);
    std::pmr::vector<ValueId> renamed(concrete.values.size(), -1, heap);
    ValueId starts = -1;
    for (NodeId id = 0; id < static_cast<NodeId>(concrete.nodes.size()); ++id) {
        const Node& node = concrete.node(id);
        const auto first = static_cast<std::size_t>(node.first_output);
        if (node.op == Op::attention) {
            const ValueId made = attention_of_documents(node, starts, result, renamed);
            for (std::int32_t i = 0; i < node.output_count; ++i)
                renamed[first + static_cast<std::size_t>(i)] = made + i;
        } else if (node.op == Op::position_ids) {
            renamed[first] = result.apply(Op::position_ids, {renamed_at(renamed, node.inputs[0]), starts},
                                          {number(Attr::limit, node.number(Attr::limit))});
        } else {
            copy_node(concrete, id, result, renamed);
        }
        if (node.first_output == tokens)
            starts = result.input(kStartsInput, DType::i32, concrete.shape(tokens));
    }
    for (const GraphOutput& output : concrete.outputs)
        result.output(output.name.c_str(), renamed_at(renamed, output.value));
    return result;
}

void check_starts(const std::int32_t* starts, std::int64_t rows, std::int64_t time) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t t = 0; t < time; ++t) {
            const std::int32_t start = starts[row * time + t];
            const std::int32_t before = t == 0 ? 0 : starts[row * time + t - 1];
            if (start != t && start != before)
                fail(VOLTA_INVALID_ARGUMENT,
                     "document starts: row %lld has %d at place %lld, where a document begins or that of %d "
                     "goes "
                     "on",
                     static_cast<long long>(row), start, static_cast<long long>(t), before);
        }
}

}  // namespace volta
