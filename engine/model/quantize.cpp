#include "engine/model/quantize.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/numerics/stored_weights.h"

namespace volta {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

WeightLayout read(const Graph& graph, const Node& node, std::size_t input) {
    if (node.op == Op::matmul && input == 1 && !node.flag(Attr::transpose_a))
        return node.flag(Attr::transpose_b) ? WeightLayout::outputs_first : WeightLayout::inputs_first;
    // A table of positions is small, and every token adds a row of it: it stays as it is.
    if (node.op == Op::gather && input == 0 && graph.producer(node.inputs[1]).op != Op::position_ids)
        return WeightLayout::outputs_first;
    return WeightLayout::other;
}

void join(WeightLayout& own, WeightLayout layout) {
    own = own == WeightLayout::unread || own == layout ? layout : WeightLayout::other;
}

std::int64_t inputs_of(const Shape& shape, WeightLayout layout) {
    return layout == WeightLayout::inputs_first    ? shape[0]
           : layout == WeightLayout::outputs_first ? shape[1]
                                                   : 0;
}

bool may_be_stored(WeightLayout layout) {
    return layout == WeightLayout::outputs_first || layout == WeightLayout::inputs_first;
}

}  // namespace

std::pmr::vector<WeightLayout> weight_layouts(const Graph& graph, std::pmr::memory_resource* heap) {
    std::pmr::vector<WeightLayout> layouts(graph.values.size(), WeightLayout::unread, heap);
    for (const Node& node : graph.nodes)
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            join(layouts[at(node.inputs[i])], read(graph, node, i));
    for (const GraphOutput& output : graph.outputs) join(layouts[at(output.value)], WeightLayout::other);
    for (std::size_t id = 0; id < layouts.size(); ++id) {
        const Shape& shape = graph.shape(static_cast<ValueId>(id));
        const bool is_parameter = graph.producer(static_cast<ValueId>(id)).op == Op::parameter;
        if (!is_parameter || shape.rank != 2 || inputs_of(shape, layouts[id]) < kStoredGroup)
            layouts[id] = WeightLayout::other;
    }
    return layouts;
}

Graph stored_graph(const Graph& from, const std::pmr::vector<WeightLayout>& layouts,
                   const std::pmr::vector<DType>& dtypes, std::pmr::memory_resource* heap) {
    Graph to(heap);
    std::pmr::vector<ValueId> renamed(from.values.size(), -1, heap);
    std::pmr::vector<bool> turned(from.values.size(), false, heap);  // stored, and inputs came first
    auto dtype = dtypes.begin();
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes.size()); ++id) {
        const Node& node = from.node(id);
        const DType wanted = node.op == Op::parameter ? *dtype++ : DType::f32;
        if (is_stored(wanted) && may_be_stored(layouts[at(node.first_output)])) {
            const Shape& shape = from.shape(node.first_output);
            const bool inputs_first = layouts[at(node.first_output)] == WeightLayout::inputs_first;
            turned[at(node.first_output)] = inputs_first;
            renamed[at(node.first_output)] =
                to.parameter(node.name.c_str(), inputs_first ? Shape{shape[1], shape[0]} : shape,
                             from.source(id).init, wanted);
        } else if (node.op == Op::matmul && turned[at(node.inputs[1])]) {
            Node product(node, heap);
            for (ValueId& input : product.inputs) input = renamed[at(input)];
            for (Attribute& attribute : product.attributes)
                if (attribute.key == Attr::transpose_b) attribute.number = 1;
            renamed[at(node.first_output)] = to.apply(std::move(product));
        } else {
            copy_node(from, id, to, renamed);
        }
    }
    for (const GraphOutput& output : from.outputs) to.output(output.name.c_str(), renamed[at(output.value)]);
    return to;
}

bool store_matrix(const float* w, WeightLayout layout, DType dtype, const Shape& stored,
                  std::pmr::memory_resource* heap, unsigned char* out) {
    const std::int64_t n = stored[0], k = stored[1];
    const bool turned = layout == WeightLayout::inputs_first;
    // A panel of outputs at a time, so that each touched line of w gives several values at once.
    std::pmr::vector<float> panel(turned ? static_cast<std::size_t>(k * kStoredPanel) : 0, 0.0f, heap);
    for (std::int64_t first = 0; first < n; first += kStoredPanel) {
        const std::int64_t count = std::min(kStoredPanel, n - first);
        for (std::int64_t p = 0; turned && p < k; ++p)
            for (std::int64_t j = 0; j < count; ++j)
                panel[static_cast<std::size_t>(j * k + p)] = w[p * n + first + j];
        for (std::int64_t j = 0; j < count; ++j)
            if (!store_row(dtype, turned ? panel.data() + j * k : w + (first + j) * k, first + j, k, out))
                return false;
    }
    return true;
}

HeapPtr<Model> quantize(const Model& model, DType dtype, std::pmr::memory_resource* structures,
                        std::pmr::memory_resource* tensors, const Stop& stop) {
    for (const NamedTensor& parameter : model.parameters)
        require(!is_stored(parameter.dtype),
                "parameter '%s' is stored as %s already: begin with the f32 model", parameter.name.c_str(),
                dtype_name(parameter.dtype));
    const auto layouts = weight_layouts(model.graph, structures);
    HeapPtr<Model> made = make_on<Model>(structures, structures, tensors);
    made->arithmetic = model.arithmetic;
    const std::pmr::vector<DType> dtypes(model.parameters.size(), dtype, structures);
    made->graph = stored_graph(model.graph, layouts, dtypes, structures);
    for (const NamedTensor& parameter : model.parameters) {
        const Value& wanted = made->graph.value(made->graph.find_source(parameter.name.c_str()));
        made->parameters.push_back(
            {std::pmr::string(parameter.name, structures), wanted.dtype, wanted.shape, nullptr, Buffer()});
    }
    made->allocate_parameters(true);  // the last panel may have rows that are none
    std::size_t stored = 0;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        const NamedTensor& parameter = model.parameters[i];
        stop.ask("parameter", i, model.parameters.size());
        const WeightLayout layout = layouts[at(model.graph.find_source(parameter.name.c_str()))];
        if (may_be_stored(layout)) {
            require(store_matrix(static_cast<const float*>(parameter.data), layout, dtype,
                                 made->parameters[i].shape, structures,
                                 static_cast<unsigned char*>(made->place_of(i))),
                    "parameter '%s' cannot be stored as %s: it has values that are not finite, or too large "
                    "for it",
                    parameter.name.c_str(), dtype_name(dtype));
            ++stored;
        } else if (parameter.bytes() > 0) {
            std::memcpy(made->place_of(i), parameter.data, parameter.bytes());
        }
    }
    require(stored > 0,
            "the model has no weight to store as %s: none of its parameters is read by products alone and "
            "has %lld inputs or more",
            dtype_name(dtype), static_cast<long long>(kStoredGroup));
    if (model.tokenizer) made->tokenizer.emplace(*model.tokenizer, structures);
    for (const Metadata& entry : model.metadata) made->set_metadata(entry.key.c_str(), entry.value.c_str());
    return made;
}

}  // namespace volta
