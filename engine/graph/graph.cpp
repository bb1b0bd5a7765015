#include "engine/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/error.h"
#include "engine/graph/attributes.h"

namespace volta {
namespace {

// Room for `more` elements, so that adding them cannot throw; doubling, so that a graph grows in linear time.
template <class T>
void make_room(std::pmr::vector<T>& vector, std::size_t more) {
    const std::size_t needed = vector.size() + more;
    if (needed > vector.capacity()) vector.reserve(std::max(needed, 2 * vector.capacity()));
}

// Whether the bytes of a tensor can be counted; an empty one must not hide extents that overflow on the way.
bool elements_fit(const Shape& shape) {
    std::uint64_t bytes = element_size(DType::f32);
    for (int axis = 0; axis < shape.rank; ++axis) {
        const std::uint64_t extent = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[axis], 1));
        if (multiply_overflows(bytes, extent, &bytes) || bytes > static_cast<std::uint64_t>(INT64_MAX))
            return false;
    }
    return true;
}

void expect_elements_fit(const char* what, const Shape& shape) {
    if (!elements_fit(shape))
        fail(VOLTA_SHAPE_MISMATCH, "%s: the shape %s has too many elements", what, to_text(shape).text);
}

}  // namespace

// ---- Structures --------------------------------------------------------------------------------

bool operator==(const BodyOp& a, const BodyOp& b) {
    return a.op == b.op && a.inputs == b.inputs && a.attributes == b.attributes;
}

Node::Node(const Node& other, Allocator heap)
    : op(other.op),
      phase(other.phase),
      inputs(other.inputs, heap),
      first_output(other.first_output),
      output_count(other.output_count),
      attributes(other.attributes, heap),
      name(other.name, heap),
      data(other.data),
      body(other.body, heap) {}

Node::Node(Node&& other, Allocator heap)
    : op(other.op),
      phase(other.phase),
      inputs(std::move(other.inputs), heap),
      first_output(other.first_output),
      output_count(other.output_count),
      attributes(std::move(other.attributes), heap),
      name(std::move(other.name), heap),
      data(other.data),
      body(std::move(other.body), heap) {}

Attribute number(Attr key, double value) {
    Attribute attribute;
    attribute.key = key;
    attribute.number = value;
    return attribute;
}

Attribute list(Attr key, std::initializer_list<std::int64_t> values) { return list(key, Shape(values)); }

Attribute list(Attr key, const Shape& shape) {
    Attribute attribute;
    attribute.key = key;
    attribute.integer_count = shape.rank;
    std::copy(shape.extent, shape.extent + shape.rank, attribute.integers);
    return attribute;
}

Graph::Graph(std::pmr::memory_resource* heap)
    : nodes(heap),
      values(heap),
      outputs(heap),
      sources(heap),
      constants(heap),
      sources_by_name_(heap),
      outputs_by_name_(heap) {}

Graph::Graph(const Graph& other, std::pmr::memory_resource* heap)
    : nodes(other.nodes, heap),
      values(other.values, heap),
      outputs(other.outputs, heap),
      sources(other.sources, heap),
      constants(other.constants, heap),
      sources_by_name_(other.sources_by_name_, heap),
      outputs_by_name_(other.outputs_by_name_, heap) {}

// ---- Sources -----------------------------------------------------------------------------------

std::size_t Graph::place_of_source(std::string_view name) const {
    const auto before = [&](NodeId id, std::string_view wanted) { return node(id).name < wanted; };
    return static_cast<std::size_t>(
        std::lower_bound(sources_by_name_.begin(), sources_by_name_.end(), name, before) -
        sources_by_name_.begin());
}

ValueId Graph::find_source(const char* name) const {
    const std::size_t place = place_of_source(name);
    if (place == sources_by_name_.size() || node(sources_by_name_[place]).name != name) return -1;
    return node(sources_by_name_[place]).first_output;
}

const SourceInfo& Graph::source(NodeId id) const {
    const auto before = [](const SourceInfo& info, NodeId wanted) { return info.node < wanted; };
    const auto at = std::lower_bound(sources.begin(), sources.end(), id, before);
    if (at == sources.end() || at->node != id) fail(VOLTA_INTERNAL, "node %d is no source", id);
    return *at;
}

bool Graph::read_constant(ValueId id, std::pmr::vector<float>& content) const {
    if (producer(id).op != Op::constant || value(id).dtype != DType::f32) return false;
    const auto& bits = constants[static_cast<std::size_t>(producer(id).data)];
    content.resize(bits.size());
    if (!bits.empty()) std::memcpy(content.data(), bits.data(), bits.size() * sizeof bits[0]);
    return true;
}

ValueId Graph::add_source(Op op, const char* name, DType dtype, const SourceInfo& info) {
    const char* const kind = op_row(op).name;
    require(name != nullptr && *name != '\0', "the name of %s %s is empty", op == Op::input ? "an" : "a",
            kind);
    require(find_source(name) < 0, "%s \"%s\": there is already a source of this name", kind, name);
    TypedShape typed = {dtype, info.declared};
    for (int axis = 0; axis < typed.shape.rank; ++axis) {
        std::int64_t& extent = typed.shape[axis];
        const bool is_open = op == Op::input && extent == -1;
        require(is_open || extent >= 0, "%s \"%s\": the extent %lld of axis %d is negative", kind, name,
                static_cast<long long>(extent), axis);
        if (is_open) extent = 1;
    }
    expect_elements_fit(name, typed.shape);
    Node node(heap());
    node.op = op;
    node.name = name;
    make_room(sources, 1);
    make_room(sources_by_name_, 1);
    const auto place = static_cast<std::ptrdiff_t>(place_of_source(name));
    const ValueId id = append(std::move(node), &typed, 1);
    sources.push_back(info);
    sources.back().node = static_cast<NodeId>(nodes.size()) - 1;
    sources_by_name_.insert(sources_by_name_.begin() + place, sources.back().node);
    return id;
}

ValueId Graph::input(const char* name, DType dtype, const Shape& declared) {
    return add_source(Op::input, name, dtype, {-1, declared, {}, 0});
}

ValueId Graph::parameter(const char* name, const Shape& shape, const Init& init, DType dtype) {
    require(init.kind >= VOLTA_INIT_CONSTANT && init.kind <= VOLTA_INIT_UNIFORM,
            "%d is no way to start a parameter", static_cast<int>(init.kind));
    std::uint32_t stream = 0;
    for (const SourceInfo& source : sources)
        if (node(source.node).op == Op::parameter) stream = std::max(stream, source.stream + 1);
    std::uint64_t bytes = 0;
    require(dtype != DType::i32, "parameter \"%s\": i32 is no type of parameters", name);
    require(!is_stored(dtype) || (shape.rank == 2 && shape[0] >= 0 && shape[1] >= 0 &&
                                  !tensor_bytes_overflow(dtype, shape, &bytes)),
            "parameter \"%s\": %s%s is no packed weight: that has the shape [outputs, inputs]", name,
            dtype_name(dtype), to_text(shape).text);
    return add_source(Op::parameter, name, dtype, {-1, shape, init, stream});
}

ValueId Graph::state(const char* name, DType dtype, const Shape& shape) {
    return add_source(Op::state, name, dtype, {-1, shape, {}, 0});
}

std::int32_t Graph::intern(const std::uint32_t* bits, std::size_t count) {
    for (std::size_t i = 0; i < constants.size(); ++i)
        if (constants[i].size() == count && std::equal(constants[i].begin(), constants[i].end(), bits))
            return static_cast<std::int32_t>(i);
    constants.emplace_back(bits, bits + count);
    return static_cast<std::int32_t>(constants.size()) - 1;
}

ValueId Graph::constant(DType dtype, const Shape& shape, const void* data) {
    for (int axis = 0; axis < shape.rank; ++axis)
        require(shape[axis] >= 0, "a constant's shape %s has a negative extent", to_text(shape).text);
    expect_elements_fit("a constant", shape);
    const std::size_t count = static_cast<std::size_t>(shape.elements());
    require(data != nullptr || count == 0, "the data of a constant is NULL");
    std::pmr::vector<std::uint32_t> bits(count, heap());
    if (count > 0) std::memcpy(bits.data(), data, count * sizeof bits[0]);
    const TypedShape typed = {dtype, shape};
    make_room(nodes, 1);
    make_room(values, 1);
    Node node(heap());
    node.data = intern(bits.data(), count);
    return append(std::move(node), &typed, 1);
}

ValueId Graph::scalar(float value) { return constant(DType::f32, {}, &value); }

// ---- Operators ---------------------------------------------------------------------------------

// Last of all, after everything that may fail: room first, then nothing throws.
ValueId Graph::append(Node&& node, const TypedShape* outputs_of, std::size_t count) {
    require(values.size() + count <= static_cast<std::size_t>(INT32_MAX), "a graph has at most %d values",
            INT32_MAX);
    make_room(nodes, 1);
    make_room(values, count);
    node.first_output = static_cast<ValueId>(values.size());
    node.output_count = static_cast<std::int32_t>(count);
    nodes.push_back(std::move(node));
    for (std::size_t i = 0; i < count; ++i)
        values.push_back({outputs_of[i].dtype, outputs_of[i].shape, static_cast<NodeId>(nodes.size()) - 1});
    return nodes.back().first_output;
}

ValueId Graph::apply(Node&& given) {
    require(given.op < Op::count_, "there is no operator of number %d", static_cast<int>(given.op));
    const OpRow& row = op_row(given.op);
    Node node(std::move(given), heap());
    check_inputs(*this, node);
    complete_attributes(row, node.attributes);
    for (BodyOp& op : node.body.ops) {
        require(op.op < Op::count_, "%s: there is no operator of number %d", row.name,
                static_cast<int>(op.op));
        complete_attributes(op_row(op.op), op.attributes);
    }
    const bool carries_body = row.has_body;
    require(carries_body || (node.body.ops.empty() && node.body.results.empty()), "%s: carries no body",
            row.name);

    std::pmr::vector<TypedShape> inputs(heap()), results(heap());
    for (const ValueId id : node.inputs) inputs.push_back({value(id).dtype, value(id).shape});
    row.shape(node, inputs.data(), static_cast<int>(inputs.size()), results);
    for (const TypedShape& result : results) expect_elements_fit(row.name, result.shape);
    return append(std::move(node), results.data(), results.size());
}

ValueId Graph::apply(Op op, const ValueId* inputs, int input_count, const Attribute* attributes,
                     int attribute_count, Phase phase, const Body* body) {
    Node node(heap());
    node.op = op;
    node.phase = phase;
    node.inputs.assign(inputs, inputs + input_count);
    node.attributes.assign(attributes, attributes + attribute_count);
    if (body != nullptr) node.body = Body(*body, heap());
    return apply(std::move(node));
}

ValueId Graph::apply(Op op, std::initializer_list<ValueId> inputs,
                     std::initializer_list<Attribute> attributes, Phase phase) {
    return apply(op, inputs.begin(), static_cast<int>(inputs.size()), attributes.begin(),
                 static_cast<int>(attributes.size()), phase);
}

std::size_t Graph::place_of_output(std::string_view name) {
    const auto name_of = [&](std::int32_t index) -> std::string_view {
        return outputs[static_cast<std::size_t>(index)].name;
    };
    if (outputs_by_name_.size() != outputs.size()) {
        outputs_by_name_.resize(outputs.size());
        std::iota(outputs_by_name_.begin(), outputs_by_name_.end(), 0);
        std::sort(outputs_by_name_.begin(), outputs_by_name_.end(),
                  [&](std::int32_t a, std::int32_t b) { return name_of(a) < name_of(b); });
    }
    const auto before = [&](std::int32_t index, std::string_view wanted) { return name_of(index) < wanted; };
    return static_cast<std::size_t>(
        std::lower_bound(outputs_by_name_.begin(), outputs_by_name_.end(), name, before) -
        outputs_by_name_.begin());
}

void Graph::output(const char* name, ValueId value_id) {
    require(name != nullptr && *name != '\0', "the name of an output is empty");
    require(value_id >= 0 && value_id < static_cast<ValueId>(values.size()),
            "output \"%s\": there is no such value in this graph", name);
    require(!is_stored(value(value_id).dtype), "output \"%s\" is a weight stored as %s, which no output is",
            name, dtype_name(value(value_id).dtype));
    const std::size_t place = place_of_output(name);
    require(place == outputs_by_name_.size() ||
                outputs[static_cast<std::size_t>(outputs_by_name_[place])].name != name,
            "output \"%s\": there is already an output of this name", name);
    GraphOutput result(heap());
    result.name = name;
    result.value = value_id;
    make_room(outputs, 1);
    make_room(outputs_by_name_, 1);
    outputs.push_back(std::move(result));
    outputs_by_name_.insert(outputs_by_name_.begin() + static_cast<std::ptrdiff_t>(place),
                            static_cast<std::int32_t>(outputs.size()) - 1);
}

void Graph::cut(std::size_t node_count) noexcept {
    if (node_count >= nodes.size()) return;
    const auto value_count = static_cast<std::size_t>(nodes[node_count].first_output);
    const auto goes = [&](NodeId id) { return static_cast<std::size_t>(id) >= node_count; };
    sources_by_name_.erase(std::remove_if(sources_by_name_.begin(), sources_by_name_.end(), goes),
                           sources_by_name_.end());
    while (!sources.empty() && goes(sources.back().node)) sources.pop_back();
    while (values.size() > value_count) values.pop_back();
    while (nodes.size() > node_count) nodes.pop_back();
}

// ---- Copies ------------------------------------------------------------------------------------

void copy_node(const Graph& from, NodeId id, Graph& to, std::pmr::vector<ValueId>& renamed) {
    if (renamed.size() < from.values.size()) renamed.resize(from.values.size(), -1);
    const Node& node = from.node(id);
    const Value& first = from.value(node.first_output);
    ValueId copied;
    if (node.op == Op::constant) {
        copied =
            to.constant(first.dtype, first.shape, from.constants[static_cast<std::size_t>(node.data)].data());
    } else if (op_row(node.op).lowering == Lowering::source) {
        copied = to.add_source(node.op, node.name.c_str(), first.dtype, from.source(id));
    } else {
        Node copy(node, to.heap());
        for (ValueId& input : copy.inputs) {
            const ValueId value = renamed[static_cast<std::size_t>(input)];
            if (value < 0)
                fail(VOLTA_INTERNAL, "%s is copied before its input %%%d", op_row(node.op).name, input);
            input = value;
        }
        copied = to.apply(std::move(copy));
    }
    for (std::int32_t i = 0; i < node.output_count; ++i)
        renamed[static_cast<std::size_t>(node.first_output + i)] = copied + i;
}

namespace {

// The declared shape with the host's extents filled in.
Shape specialized_shape(const Node& node, const Shape& declared, const Shape& given) {
    bool fits = given.rank == declared.rank;
    for (int axis = 0; fits && axis < given.rank; ++axis)
        fits = given[axis] >= 0 && (declared[axis] == -1 || declared[axis] == given[axis]);
    if (!fits)
        fail(VOLTA_SHAPE_MISMATCH, "input \"%s\": expected shape %s, got %s", node.name.c_str(),
             to_text(declared).text, to_text(given).text);
    return given;
}

}  // namespace

Graph specialize(const Graph& graph, const Shape* input_shapes, int count, std::pmr::memory_resource* heap) {
    int inputs = 0;
    for (const Node& node : graph.nodes) inputs += node.op == Op::input;
    require(count == inputs, "%d input shapes are given for a graph of %d inputs", count, inputs);

    Graph result(heap);
    result.nodes.reserve(graph.nodes.size());
    result.values.reserve(graph.values.size());
    std::pmr::vector<ValueId> renamed(graph.values.size(), -1, heap);
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
        const Node& node = graph.node(id);
        if (node.op != Op::input) {
            copy_node(graph, id, result, renamed);
            continue;
        }
        SourceInfo info = graph.source(id);
        info.declared = specialized_shape(node, info.declared, *input_shapes++);
        renamed[static_cast<std::size_t>(node.first_output)] =
            result.add_source(Op::input, node.name.c_str(), graph.value(node.first_output).dtype, info);
    }
    for (const GraphOutput& output : graph.outputs)
        result.output(output.name.c_str(), renamed[static_cast<std::size_t>(output.value)]);
    return result;
}

}  // namespace volta
