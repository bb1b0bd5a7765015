#include "engine/model/derive.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"

namespace volta {

HeapPtr<Model> derive(const Model& from, Graph&& graph, std::pmr::memory_resource* structures,
                      std::pmr::memory_resource* tensors) {
    HeapPtr<Model> made = make_on<Model>(structures, structures, tensors);
    made->arithmetic = from.arithmetic;
    made->graph = std::move(graph);
    for (const SourceInfo& source : made->graph.sources) {
        const Node& node = made->graph.node(source.node);
        if (node.op != Op::parameter) continue;
        const Value& value = made->graph.value(node.first_output);
        made->parameters.push_back(
            {std::pmr::string(node.name, structures), value.dtype, value.shape, nullptr, Buffer()});
    }
    made->allocate_parameters(true);
    for (std::size_t i = 0; i < made->parameters.size(); ++i) {
        const NamedTensor& wanted = made->parameters[i];
        const NamedTensor* const given = from.find_parameter(wanted.name.c_str());
        if (given != nullptr && given->dtype == wanted.dtype && given->shape == wanted.shape &&
            given->bytes() > 0)
            std::memcpy(made->place_of(i), given->data, given->bytes());
    }
    if (from.tokenizer) made->tokenizer.emplace(*from.tokenizer, structures);
    for (const Metadata& entry : from.metadata) made->set_metadata(entry.key.c_str(), entry.value.c_str());
    return made;
}

void forget_architecture(Model& model) {
    const auto is_architecture = [](const Metadata& entry) { return entry.key.compare(0, 6, "volta.") == 0; };
    model.metadata.erase(std::remove_if(model.metadata.begin(), model.metadata.end(), is_architecture),
                         model.metadata.end());
}

std::ptrdiff_t readers(const Graph& graph, ValueId value) {
    std::ptrdiff_t count = 0;
    for (const Node& node : graph.nodes) count += std::count(node.inputs.begin(), node.inputs.end(), value);
    for (const GraphOutput& output : graph.outputs) count += output.value == value;
    return count;
}

void require_f32_parameters(const Model& model, const char* what) {
    for (const NamedTensor& parameter : model.parameters)
        if (is_stored(parameter.dtype))
            fail(VOLTA_UNSUPPORTED, "parameter '%s' is stored as %s: %s, which needs f32",
                 parameter.name.c_str(), dtype_name(parameter.dtype), what);
}

}  // namespace volta
