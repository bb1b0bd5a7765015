#include "engine/model/quantize.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/numerics/stored_weights.h"

namespace volta {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// How a parameter is read by all its readers together.
enum class Layout : std::uint8_t { unread, outputs_first, inputs_first, other };

class Layouts {
  public:
    explicit Layouts(const Graph& graph) : layouts_(graph.values.size(), Layout::unread, graph.heap()) {
        for (const Node& node : graph.nodes)
            for (std::size_t i = 0; i < node.inputs.size(); ++i) join(node.inputs[i], read(graph, node, i));
        for (const GraphOutput& output : graph.outputs) join(output.value, Layout::other);
        for (std::size_t id = 0; id < layouts_.size(); ++id) {
            const Shape& shape = graph.shape(static_cast<ValueId>(id));
            const bool is_parameter = graph.producer(static_cast<ValueId>(id)).op == Op::parameter;
            if (!is_parameter || shape.rank != 2 || inputs(shape, layouts_[id]) < kStoredGroup)
                layouts_[id] = Layout::other;
        }
    }
    bool is_stored(ValueId value) const {
        return layouts_[at(value)] == Layout::outputs_first || layouts_[at(value)] == Layout::inputs_first;
    }
    bool is_transposed(ValueId value) const { return layouts_[at(value)] == Layout::inputs_first; }

  private:
    static std::int64_t inputs(const Shape& shape, Layout layout) {
        return layout == Layout::inputs_first ? shape[0] : layout == Layout::outputs_first ? shape[1] : 0;
    }
    static Layout read(const Graph& graph, const Node& node, std::size_t input) {
        if (node.op == Op::matmul && input == 1 && !node.flag(Attr::transpose_a))
            return node.flag(Attr::transpose_b) ? Layout::outputs_first : Layout::inputs_first;
        // A table of positions is small, and every token adds a row of it: it stays as it is.
        if (node.op == Op::gather && input == 0 && graph.producer(node.inputs[1]).op != Op::position_ids)
            return Layout::outputs_first;
        return Layout::other;
    }
    void join(ValueId value, Layout layout) {
        Layout& own = layouts_[at(value)];
        own = own == Layout::unread || own == layout ? layout : Layout::other;
    }

    std::pmr::vector<Layout> layouts_;
};

Graph stored_graph(const Graph& from, const Layouts& layouts, DType dtype, std::pmr::memory_resource* heap) {
    Graph to(heap);
    std::pmr::vector<ValueId> renamed(from.values.size(), -1, heap);
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes.size()); ++id) {
        const Node& node = from.node(id);
        if (node.op == Op::parameter && layouts.is_stored(node.first_output)) {
            const Shape& shape = from.shape(node.first_output);
            const bool transposed = layouts.is_transposed(node.first_output);
            renamed[at(node.first_output)] =
                to.parameter(node.name.c_str(), transposed ? Shape{shape[1], shape[0]} : shape,
                             from.source(id).init, dtype);
        } else if (node.op == Op::matmul && layouts.is_transposed(node.inputs[1])) {
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

// The weight [n, k] of `from`, which is stored so or as its transpose, a panel of outputs at a time.
Buffer store(const NamedTensor& from, bool transposed, DType dtype, const Shape& shape,
             std::pmr::memory_resource* heap, std::pmr::memory_resource* tensors) {
    const std::int64_t n = shape[0], k = shape[1];
    Buffer stored(tensors, static_cast<std::size_t>(tensor_bytes(dtype, shape)));
    auto* const out = static_cast<unsigned char*>(stored.data());
    std::memset(out, 0, static_cast<std::size_t>(tensor_bytes(dtype, shape)));
    std::pmr::vector<float> panel(static_cast<std::size_t>(k * kStoredPanel), 0.0f, heap);
    const auto* const w = static_cast<const float*>(from.data);
    for (std::int64_t first = 0; first < n; first += kStoredPanel) {
        const std::int64_t count = std::min(kStoredPanel, n - first);
        for (std::int64_t p = 0; transposed && p < k; ++p)
            for (std::int64_t j = 0; j < count; ++j)
                panel[static_cast<std::size_t>(j * k + p)] = w[p * n + first + j];
        for (std::int64_t j = 0; j < count; ++j) {
            const float* const row = transposed ? panel.data() + j * k : w + (first + j) * k;
            require(store_row(dtype, row, first + j, k, out),
                    "parameter '%s' cannot be stored as %s: it has values that are not finite, or too large "
                    "for it",
                    from.name.c_str(), dtype_name(dtype));
        }
    }
    return stored;
}

}  // namespace

HeapPtr<Model> quantize(const Model& model, DType dtype, std::pmr::memory_resource* structures,
                        std::pmr::memory_resource* tensors) {
    for (const NamedTensor& parameter : model.parameters)
        require(!is_stored(parameter.dtype),
                "parameter '%s' is stored as %s already: begin with the f32 model", parameter.name.c_str(),
                dtype_name(parameter.dtype));
    const Layouts layouts(model.graph);
    HeapPtr<Model> made = make_on<Model>(structures, structures, tensors);
    made->graph = stored_graph(model.graph, layouts, dtype, structures);
    std::size_t stored = 0;
    for (const NamedTensor& parameter : model.parameters) {
        const ValueId value = model.graph.find_source(parameter.name.c_str());
        const Value& wanted = made->graph.value(made->graph.find_source(parameter.name.c_str()));
        NamedTensor tensor{std::pmr::string(parameter.name, structures), wanted.dtype, wanted.shape, nullptr,
                           Buffer()};
        if (layouts.is_stored(value)) {
            tensor.owned =
                store(parameter, layouts.is_transposed(value), dtype, wanted.shape, structures, tensors);
            ++stored;
        } else {
            tensor.owned = Buffer(tensors, parameter.bytes());
            if (parameter.bytes() > 0) std::memcpy(tensor.owned.data(), parameter.data, parameter.bytes());
        }
        tensor.data = tensor.owned.data();
        made->parameters.push_back(std::move(tensor));
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
