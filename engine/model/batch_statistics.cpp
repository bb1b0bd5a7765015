#include "engine/model/batch_statistics.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/forms.h"
#include "engine/numerics/define_norms.h"

namespace volta {
namespace {

constexpr struct {
    int input;
    const char* name;
} kRunning[] = {{3, "running mean"}, {4, "running variance"}};

// Updates write them, so nobody else may hold on to what they were.
void check_running(const Graph& graph, const Node& norm) {
    for (const auto& running : kRunning) {
        const ValueId value = norm.inputs[static_cast<std::size_t>(running.input)];
        const Node& source = graph.producer(value);
        require(source.op == Op::parameter,
                "batch_norm: its %s is no parameter of the model, so training has no place for it",
                running.name);
        std::ptrdiff_t uses = 0;
        for (const Node& node : graph.nodes)
            uses += std::count(node.inputs.begin(), node.inputs.end(), value);
        require(uses == 1,
                "batch_norm: its %s '%s' is used %lld times in the model: training needs one of its own for "
                "each",
                running.name, source.name.c_str(), static_cast<long long>(uses));
    }
}

ValueId replace(const Graph& graph, const Node& norm, Graph& to, const std::pmr::vector<ValueId>& renamed) {
    check_running(graph, norm);
    const Shape& shape = graph.shape(norm.inputs[0]);
    const std::int64_t elements = channel_planes(shape).per_channel();
    if (elements < 2)
        fail(VOLTA_SHAPE_MISMATCH,
             "batch_norm: training needs at least 2 values of each channel in a micro-batch, x is %s",
             to_text(shape).text);
    ValueId inputs[5];
    for (std::size_t i = 0; i < 5; ++i) inputs[i] = renamed[static_cast<std::size_t>(norm.inputs[i])];
    return add_trained_norm(to, inputs, norm.find(Attr::epsilon), norm.find(Attr::momentum)).y;
}

// Both are frozen: the norm stays what inference makes of it.
bool keeps_statistics(const Graph& graph, const Node& norm, const std::pmr::vector<char>& frozen) {
    if (frozen.empty()) return false;
    const auto is_frozen = [&](int i) {
        return frozen[static_cast<std::size_t>(norm.inputs[static_cast<std::size_t>(kRunning[i].input)])] !=
               0;
    };
    for (int i = 0; i < 2; ++i)
        if (is_frozen(i) && !is_frozen(1 - i))
            fail(VOLTA_INVALID_ARGUMENT,
                 "the %s '%s' is frozen, the %s of the same batch_norm is not: both are, or none",
                 kRunning[i].name,
                 graph.producer(norm.inputs[static_cast<std::size_t>(kRunning[i].input)]).name.c_str(),
                 kRunning[1 - i].name);
    return is_frozen(0);
}

}  // namespace

TrainedNorm add_trained_norm(Graph& to, const ValueId* inputs, const Attribute* epsilon,
                             const Attribute* momentum) {
    const ValueId mean = to.apply(Op::batch_statistics, {inputs[0]}), variance = mean + 1;
    const ValueId norm[] = {inputs[0], inputs[1], inputs[2], mean, variance};
    TrainedNorm made{};
    made.y = to.apply(Op::batch_norm_train, norm, 5, epsilon, epsilon != nullptr ? 1 : 0, Phase::each);
    const std::int64_t elements = channel_planes(to.shape(inputs[0])).per_channel();
    const Attribute how[] = {number(Attr::elements, static_cast<double>(elements)),
                             momentum != nullptr ? *momentum : Attribute{}};
    const ValueId statistics[] = {inputs[3], inputs[4], mean, variance};
    made.running =
        to.apply(Op::running_statistics, statistics, 4, how, momentum != nullptr ? 2 : 1, Phase::each);
    return made;
}

Graph with_batch_statistics(const Graph& graph, const std::pmr::vector<char>& frozen,
                            std::pmr::memory_resource* heap) {
    Graph result(heap);
    std::pmr::vector<ValueId> renamed(graph.values.size(), -1, heap);
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
        const Node& node = graph.node(id);
        if (node.op == Op::batch_norm && !keeps_statistics(graph, node, frozen))
            renamed[static_cast<std::size_t>(node.first_output)] = replace(graph, node, result, renamed);
        else
            copy_node(graph, id, result, renamed);
    }
    for (const GraphOutput& output : graph.outputs)
        result.output(output.name.c_str(), renamed[static_cast<std::size_t>(output.value)]);
    return result;
}

}  // namespace volta
