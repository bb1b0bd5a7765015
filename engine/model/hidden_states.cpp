#include "engine/model/hidden_states.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/model/bert.h"
#include "engine/model/derive.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

constexpr int kNameBytes = 64;

// Which norm's result the states are: its weight, as the builders call it.
void write_last_norm(const Model& model, const std::pmr::string& architecture, char (&name)[kNameBytes]) {
    std::snprintf(name, sizeof name, "norm_final.weight");
    if (architecture != "bert") return;
    const std::pmr::string* const layers = model.find_metadata("volta.bert.layers");
    const long count = layers != nullptr ? std::strtol(layers->c_str(), nullptr, 10) : 0;
    if (count < 1 || count > kMostLayers)
        fail(VOLTA_UNSUPPORTED, "the model says it is a bert, but not of how many layers");
    std::snprintf(name, sizeof name, "block.%ld.norm2.weight", count - 1);
}

ValueId find_states(const Model& model) {
    const std::pmr::string* const architecture = model.find_metadata("volta.architecture");
    const bool is_known = architecture != nullptr &&
                          (*architecture == "gpt" || *architecture == "llama" || *architecture == "bert");
    if (!is_known) fail(VOLTA_UNSUPPORTED, "the model is no GPT, Llama or BERT: it has no states of tokens");
    char name[kNameBytes];
    write_last_norm(model, *architecture, name);
    const Graph& graph = model.graph;
    const ValueId weight = graph.find_source(name);
    for (const Node& node : graph.nodes)
        if ((node.op == Op::layer_norm || node.op == Op::rms_norm) && node.inputs[1] == weight &&
            graph.shape(node.first_output).rank == 3)
            return node.first_output;
    fail(VOLTA_UNSUPPORTED, "the model says it is a %s, but has no norm with the weight '%s'",
         architecture->c_str(), name);
}

// What the states are made of; the host's inputs stay, whoever reads them.
Graph cut(const Graph& from, ValueId states, std::pmr::memory_resource* heap) {
    std::pmr::vector<char> needed(from.nodes.size(), 0, heap);
    needed[static_cast<std::size_t>(from.value(states).producer)] = 1;
    for (std::size_t id = from.nodes.size(); id-- > 0;) {
        const Node& node = from.nodes[id];
        if (node.op == Op::input && !is_step_input(node.name.c_str())) needed[id] = 1;
        if (needed[id] == 0) continue;
        for (const ValueId input : node.inputs)
            needed[static_cast<std::size_t>(from.value(input).producer)] = 1;
    }
    Graph to(heap);
    std::pmr::vector<ValueId> renamed(from.values.size(), -1, heap);
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes.size()); ++id)
        if (needed[static_cast<std::size_t>(id)] != 0) copy_node(from, id, to, renamed);
    to.output("hidden", renamed[static_cast<std::size_t>(states)]);
    return to;
}

}  // namespace

HeapPtr<Model> hidden_states(const Model& model, std::pmr::memory_resource* structures,
                             std::pmr::memory_resource* tensors) {
    const ValueId states = find_states(model);
    HeapPtr<Model> made = derive(model, cut(model.graph, states, structures), structures, tensors);
    if (*model.find_metadata("volta.architecture") == "bert") {
        char head[16];
        std::snprintf(head, sizeof head, "%d", static_cast<int>(BertHead::hidden));
        made->set_metadata("volta.bert.head", head);
        made->set_metadata("volta.bert.classes", "0");
    } else {
        forget_architecture(*made);
    }
    return made;
}

}  // namespace volta
