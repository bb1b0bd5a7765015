#include "engine/model/replace_head.h"

#include <cstdio>

#include "engine/base/error.h"
#include "engine/model/derive.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

struct Head {
    ValueId weight = -1, bias = -1;  // -1: there is none
    bool transposed = false;         // the weight is [classes, width]
};

bool is_parameter(const Graph& graph, ValueId value) { return graph.producer(value).op == Op::parameter; }

void require_own(const Graph& graph, ValueId value, const char* what) {
    require(readers(graph, value) == 1,
            "the last layer's %s '%s' is read elsewhere too: it has no head to replace", what,
            graph.producer(value).name.c_str());
}

Head find_head(const Graph& graph) {
    const GraphOutput& output = graph.outputs.front();
    Head head;
    ValueId product = output.value;
    const auto fits = [&](bool holds) {
        require(holds,
                "output '%s' is no product with a weight, with or without a bias: the model has no head to "
                "replace",
                output.name.c_str());
    };
    require(readers(graph, product) == 1, "output '%s' is read elsewhere too: it has no head to replace",
            output.name.c_str());
    if (graph.producer(product).op == Op::add) {
        const Node& sum = graph.producer(product);
        const bool is_second = is_parameter(graph, sum.inputs[1]);
        head.bias = sum.inputs[is_second ? 1 : 0];
        product = sum.inputs[is_second ? 0 : 1];
        fits(is_parameter(graph, head.bias) && graph.shape(head.bias).rank == 1);
        require_own(graph, head.bias, "bias");
        fits(readers(graph, product) == 1);
    }
    const Node& node = graph.producer(product);
    fits(node.op == Op::matmul && is_parameter(graph, node.inputs[1]) &&
         graph.shape(node.inputs[1]).rank == 2);
    head.weight = node.inputs[1];
    head.transposed = node.flag(Attr::transpose_b);
    const Shape& weight = graph.shape(head.weight);
    fits(head.bias < 0 || graph.shape(head.bias)[0] == weight[head.transposed ? 0 : 1]);
    require_own(graph, head.weight, "weight");
    return head;
}

Graph graph_with(const Graph& from, const Head& head, std::int64_t classes, std::pmr::memory_resource* heap) {
    Graph to(heap);
    std::pmr::vector<ValueId> renamed(from.values.size(), -1, heap);
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes.size()); ++id) {
        const Node& node = from.node(id);
        const ValueId first = node.first_output;
        if (first != head.weight && first != head.bias) {
            copy_node(from, id, to, renamed);
            continue;
        }
        Shape shape = from.shape(first);
        shape[first == head.weight && !head.transposed ? 1 : 0] = classes;
        renamed[static_cast<std::size_t>(first)] =
            to.parameter(node.name.c_str(), shape, from.source(id).init);
    }
    for (const GraphOutput& output : from.outputs)
        to.output(output.name.c_str(), renamed[static_cast<std::size_t>(output.value)]);
    return to;
}

// "volta.<architecture>.classes", where the model says how many it has.
void describe_classes(Model& model, std::int64_t classes) {
    const std::pmr::string* const architecture = model.find_metadata("volta.architecture");
    if (architecture == nullptr) return;
    char key[128], value[32];
    std::snprintf(key, sizeof key, "volta.%.64s.classes", architecture->c_str());
    std::snprintf(value, sizeof value, "%lld", static_cast<long long>(classes));
    if (model.find_metadata(key) != nullptr) model.set_metadata(key, value);
}

}  // namespace

HeapPtr<Model> replace_head(const Model& model, std::int64_t classes, std::uint64_t seed,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                            const InitMachine& machine) {
    require_size({"classes", classes}, 1, kMostModelSize);
    require_f32_parameters(model, "a new head is trained");
    const Head head = find_head(model.graph);
    HeapPtr<Model> made =
        derive(model, graph_with(model.graph, head, classes, structures), structures, tensors);
    Initialiser initialiser(machine, seed, structures);
    std::size_t place = 0;
    for (const SourceInfo& source : made->graph.sources) {
        const Node& node = made->graph.node(source.node);
        if (node.op != Op::parameter) continue;
        const ValueId before = model.graph.find_source(node.name.c_str());
        if (before == head.weight || before == head.bias)
            initialiser.fill(static_cast<float*>(made->place_of(place)), made->parameters[place].shape,
                             source.init, source.stream);
        ++place;
    }
    describe_classes(*made, classes);
    return made;
}

}  // namespace volta
