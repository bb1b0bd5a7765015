// The graph: what to compute. SSA: every value is written by exactly one node, nodes stand in an order in
// which inputs come before their users, shapes are known. A graph is only ever appended to; passes build new
// graphs.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/memory.h"
#include "engine/base/shape.h"
#include "engine/graph/op.h"

namespace volta {

using ValueId = std::int32_t;  // index into Graph::values; -1: none
using NodeId = std::int32_t;

// When a node runs. A session has one phase; a training step runs `each` per micro-batch, then `reduce` once
// (loss, complete gradients, norm), then, if all is finite, `update` once.
enum class Phase : std::uint8_t { each, reduce, update };

// Every structure below is allocator-aware: a container puts its elements on its own heap, and a plain copy,
// which would silently use another one, does not exist.
using Allocator = std::pmr::polymorphic_allocator<char>;

// The attribute, or its default from the table; 0 where the operator has none.
double attribute_number(Op op, const std::pmr::vector<Attribute>& attributes, Attr key);

// One operation inside a fused node. Inputs >= 0 are values of earlier body operations; ~i is node input i.
struct BodyOp {
    using allocator_type = Allocator;
    explicit BodyOp(Allocator heap) : inputs(heap), attributes(heap) {}
    BodyOp(const BodyOp& other, Allocator heap)
        : op(other.op), inputs(other.inputs, heap), attributes(other.attributes, heap) {}
    BodyOp(BodyOp&& other, Allocator heap)
        : op(other.op),
          inputs(std::move(other.inputs), heap),
          attributes(std::move(other.attributes), heap) {}
    BodyOp(BodyOp&&) = default;
    BodyOp& operator=(BodyOp&&) = default;

    Op op = Op::count_;
    std::pmr::vector<std::int32_t> inputs;
    std::pmr::vector<Attribute> attributes;  // as Node::attributes
};
bool operator==(const BodyOp& a, const BodyOp& b);

// Elementwise work carried by a node: Op::fused (over its inputs), or a product (carries_product() in
// engine/graph/forms.h), where body input ~0 is the finished product, ~i (i >= 1) node input i + 1, and the
// results replace the product as the node's outputs. All results have one shape: the fused node's, or the
// product's. Of Op::fused_rows operations may work along the last axis and give several values; values are
// numbered through all operations in order, and a result may be a number per row.
struct Body {
    using allocator_type = Allocator;
    explicit Body(Allocator heap) : ops(heap), results(heap) {}
    Body(const Body& other, Allocator heap) : ops(other.ops, heap), results(other.results, heap) {}
    Body(Body&& other, Allocator heap)
        : ops(std::move(other.ops), heap), results(std::move(other.results), heap) {}
    Body(Body&&) = default;
    Body& operator=(Body&&) = default;

    std::pmr::vector<BodyOp> ops;            // empty: no body
    std::pmr::vector<std::int32_t> results;  // per node output: a body value, or ~0 for the product itself
};
inline bool operator==(const Body& a, const Body& b) { return a.ops == b.ops && a.results == b.results; }

struct Node {
    using allocator_type = Allocator;
    explicit Node(Allocator heap) : inputs(heap), attributes(heap), name(heap), body(heap) {}
    Node(const Node& other, Allocator heap);
    Node(Node&& other, Allocator heap);
    Node(Node&&) = default;
    Node& operator=(Node&&) = default;  // unreachable: graphs are only moved between equal heaps

    Op op = Op::constant;
    Phase phase = Phase::each;
    std::pmr::vector<ValueId> inputs;
    ValueId first_output = -1;
    std::int32_t output_count = 0;
    std::pmr::vector<Attribute>
        attributes;          // every attribute of the row, ascending by key, defaults filled in
    std::pmr::string name;   // sources: unique; others: for messages, may be empty
    std::int32_t data = -1;  // constant: index into Graph::constants
    Body body;

    double number(Attr key) const;  // the attribute, or its default from the table
    bool flag(Attr key) const { return number(key) != 0; }
    const Attribute* find(Attr key) const;  // NULL: not there
};

struct Value {
    DType dtype = DType::f32;
    Shape shape;
    NodeId producer = -1;
};

// How a parameter starts (volta_init).
struct Init {
    std::int32_t kind = VOLTA_INIT_CONSTANT;
    double a = 0, b = 0;
};

struct GraphOutput {
    using allocator_type = Allocator;
    explicit GraphOutput(Allocator heap) : name(heap) {}
    GraphOutput(const GraphOutput& other, Allocator heap) : name(other.name, heap), value(other.value) {}
    GraphOutput(GraphOutput&& other, Allocator heap)
        : name(std::move(other.name), heap), value(other.value) {}
    GraphOutput(GraphOutput&&) = default;
    GraphOutput& operator=(GraphOutput&&) = default;  // unreachable: as above

    std::pmr::string name;
    ValueId value = -1;
};

// Facts about sources that are not part of what is computed.
struct SourceInfo {
    NodeId node;
    Shape declared;        // inputs: -1 where the host chooses the extent
    Init init;             // parameters
    std::uint32_t stream;  // parameters: the Philox stream of their init, in creation order
};

class Graph {
  public:
    explicit Graph(std::pmr::memory_resource* heap);
    Graph(const Graph& other, std::pmr::memory_resource* heap);  // a copy on another heap
    Graph(Graph&&) = default;
    Graph& operator=(Graph&&) = default;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    std::pmr::memory_resource* heap() const { return nodes.get_allocator().resource(); }

    // ---- building: each throws Error and leaves the graph as it was ----
    // Extents of -1 are the host's to choose (specialize); until then the value has 1 there.
    ValueId input(const char* name, DType dtype, const Shape& declared);
    // Of a stored dtype: rank 2, [n, k]; only products and look-ups may read it.
    ValueId parameter(const char* name, const Shape& shape, const Init& init, DType dtype = DType::f32);
    ValueId state(const char* name, DType dtype, const Shape& shape);
    ValueId constant(DType dtype, const Shape& shape, const void* data);
    ValueId scalar(float value);  // a constant of shape []
    // Applies an operator: checks arity, attributes and shapes by its row; defaults are filled in.
    // Returns the first output; the others follow it.
    ValueId apply(Op op, std::initializer_list<ValueId> inputs,
                  std::initializer_list<Attribute> attributes = {}, Phase phase = Phase::each);
    ValueId apply(Op op, const ValueId* inputs, int input_count, const Attribute* attributes,
                  int attribute_count, Phase phase, const Body* body = nullptr);
    // The same for a node that is put together: op, phase, inputs, attributes (any order), name and body.
    ValueId apply(Node&& node);
    void output(const char* name, ValueId value);
    // Takes away what has come since it had so many nodes. No output may be of it.
    void cut(std::size_t node_count) noexcept;

    // ---- reading ----
    const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
    const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
    const Node& producer(ValueId id) const { return node(value(id).producer); }
    const Shape& shape(ValueId id) const { return value(id).shape; }
    ValueId find_source(const char* name) const;  // -1: none
    const SourceInfo& source(NodeId node) const;
    // The elements of an f32 constant, into `content`. False: the value is none.
    bool read_constant(ValueId id, std::pmr::vector<float>& content) const;

    std::pmr::vector<Node> nodes;
    std::pmr::vector<Value> values;
    std::pmr::vector<GraphOutput> outputs;
    std::pmr::vector<SourceInfo> sources;  // one per source node but constants, in node order
    std::pmr::vector<std::pmr::vector<std::uint32_t>> constants;  // bits; equal ones are kept once

  private:
    friend void copy_node(const Graph& from, NodeId node, Graph& to, std::pmr::vector<ValueId>& renamed);
    friend Graph specialize(const Graph& graph, const Shape* shapes, int count,
                            std::pmr::memory_resource* heap);
    ValueId add_source(Op op, const char* name, DType dtype, const SourceInfo& info);
    ValueId append(Node&& node, const TypedShape* outputs, std::size_t count);
    std::int32_t intern(const std::uint32_t* bits, std::size_t count);
    // Where a name stands in one of the lists below, or would.
    std::size_t place_of_source(std::string_view name) const;
    std::size_t place_of_output(std::string_view name);

    std::pmr::vector<NodeId> sources_by_name_;  // ascending: no hash that names in a file could make collide
    // Ascending too. Of another number of outputs than there are it is of none: they may be cleared.
    std::pmr::vector<std::int32_t> outputs_by_name_;
};

// Attributes in code: number(Attr::axis, 1), list(Attr::axes, {0, 1}).
Attribute number(Attr key, double value);
Attribute list(Attr key, std::initializer_list<std::int64_t> values);
Attribute list(Attr key, const Shape& shape);

// The same graph for concrete input extents: every shape is inferred anew. Throws SHAPE_MISMATCH naming
// input, expected and given shape. `input_shapes` in input order.
Graph specialize(const Graph& graph, const Shape* input_shapes, int count, std::pmr::memory_resource* heap);

// Copies node `node` of `from` into `to` with inputs renamed by `renamed` (one entry per value of `from`),
// and enters its outputs there. For passes and gradients.
void copy_node(const Graph& from, NodeId node, Graph& to, std::pmr::vector<ValueId>& renamed);

}  // namespace volta
