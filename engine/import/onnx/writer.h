// A graph of Volta's as nodes of ONNX. Each operator is written by its row (write_table.h), through the calls
// below; the same graph gives the same bytes. What has no form there is refused by node, operator and opset.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/hash.h"
#include "engine/graph/graph.h"
#include "engine/import/onnx/file.h"

namespace volta::onnx {

using Ref = std::int32_t;  // a value of the ONNX graph; -1: left out

// An attribute of a node.
struct Setting {
    const char* name;
    AttributeKind kind;
    double number = 0;  // real, integer
    const char* text = nullptr;
    Shape integers = {};
};
inline Setting whole(const char* name, std::int64_t value) {
    return {name, AttributeKind::integer, static_cast<double>(value)};
}
inline Setting real(const char* name, double value) { return {name, AttributeKind::real, value}; }
inline Setting text(const char* name, const char* value) { return {name, AttributeKind::text, 0, value}; }
inline Setting wholes(const char* name, const Shape& values) {
    return {name, AttributeKind::integers, 0, nullptr, values};
}

// A tensor of the file: a parameter of this place among the graph's, or a part of a stored one.
enum class Part : std::uint8_t { elements, integers, scales };
struct Initializer {
    using allocator_type = Allocator;
    explicit Initializer(Allocator heap) : name(heap) {}
    Initializer(Initializer&& other, Allocator heap)
        : name(std::move(other.name), heap),
          type(other.type),
          shape(other.shape),
          parameter(other.parameter),
          part(other.part) {}
    Initializer(Initializer&&) = default;
    std::pmr::string name;
    Type type = Type::f32;
    Shape shape;
    std::size_t parameter = 0;
    Part part = Part::elements;
    std::uint64_t bytes() const {
        return static_cast<std::uint64_t>(shape.elements()) * (type == Type::i8 ? 1 : sizeof(float));
    }
};

class Writer {
  public:
    // More nodes, or more bytes of nodes, are refused.
    Writer(const Graph& graph, int opset, std::size_t most_nodes, std::uint64_t most_bytes,
           std::pmr::memory_resource* heap);
    void write();
    // Fields 1, and 11 and 12, of a GraphProto.
    const std::pmr::string& nodes() const { return nodes_text_; }
    const std::pmr::string& ports() const { return ports_text_; }
    const std::pmr::vector<Initializer>& initializers() const { return initializers_; }

    // ---- For the rows: the node that is being written
    int opset() const { return opset_; }
    const Graph& graph() const { return graph_; }
    const Node& node() const { return graph_.node(node_); }
    double number(Attr key) const { return node().number(key); }
    std::int64_t count(Attr key) const { return static_cast<std::int64_t>(number(key)); }
    Shape integers(Attr key) const;  // empty: none
    int inputs() const { return static_cast<int>(node().inputs.size()); }
    ValueId value(int input) const { return node().inputs[static_cast<std::size_t>(input)]; }
    Ref in(int input);
    const Shape& shape(int input) const { return graph_.shape(value(input)); }
    bool is_open(ValueId id, int axis) const;
    bool has_open(ValueId id) const;
    void give(Ref ref, int output = 0);
    bool wants(int output) const;     // a node that is written, or the host, reads it
    void spend(std::uint64_t bytes);  // before so many are made
    [[noreturn]] void refuse(const char* format, ...) const __attribute__((format(printf, 2, 3)));

    // ---- Nodes: the first of their results, of the type of their first input
    Ref op(const char* name, std::initializer_list<Ref> inputs, std::initializer_list<Setting> settings = {},
           int outputs = 1);
    Ref op(const char* name, const Ref* inputs, int input_count, const Setting* settings, int setting_count,
           int outputs = 1);
    Ref typed(Ref ref, Type type) {
        refs_[static_cast<std::size_t>(ref)].type = type;
        return ref;
    }
    Type type(Ref ref) const { return refs_[static_cast<std::size_t>(ref)].type; }
    Ref flag(Ref ref);   // as bool
    Ref whole(Ref ref);  // as int64
    // Constants, each once.
    Ref tensor(Type type, const Shape& shape, const void* data);
    Ref scalar(double value);
    Ref index(std::int64_t value);
    Ref wholes(const Shape& values);
    Ref reshape(Ref x, const Shape& to) { return op("Reshape", {x, wholes(to)}); }
    Ref reshape_like(Ref x, ValueId other);  // which may have open extents
    Ref extents(ValueId id);                 // as int64
    Ref transpose(Ref x, const Shape& order) { return op("Transpose", {x}, {onnx::wholes("perm", order)}); }
    Ref split(Ref x, int axis, const Shape& sizes);
    Ref reduce(const char* name, Ref x, const Shape& axes, bool keep);
    Ref unsqueeze(Ref x, int axis) { return op("Unsqueeze", {x, wholes({axis})}); }
    // 0, 1, ... along an axis of a value; the keys that a query sees, [time, time].
    Ref places(ValueId id, int axis);
    Ref causal(ValueId id, int axis);

  private:
    struct Made {
        using allocator_type = Allocator;
        explicit Made(Allocator heap) : name(heap) {}
        Made(Made&& other, Allocator heap)
            : name(std::move(other.name), heap), type(other.type), can_be_renamed(other.can_be_renamed) {}
        Made(Made&&) = default;
        std::pmr::string name;
        Type type = Type::f32;
        bool can_be_renamed = false;
    };
    struct Line {  // a node, called after its first result
        using allocator_type = Allocator;
        explicit Line(Allocator heap) : inputs(heap), settings(heap) {}
        Line(Line&& other, Allocator heap)
            : op(other.op),
              inputs(std::move(other.inputs), heap),
              first(other.first),
              outputs(other.outputs),
              settings(std::move(other.settings), heap) {}
        Line(Line&&) = default;
        const char* op = nullptr;
        std::pmr::vector<Ref> inputs;
        Ref first = -1;
        int outputs = 1;
        std::pmr::string settings;  // field 5 of a NodeProto
    };
    struct Symbol {
        std::int64_t extent;  // of the larger graph
        char name[80];
    };
    struct Causal {
        std::int64_t now, later;
        Ref ref;
    };

    void find_open();
    bool open_as(int grouping);
    void write_node();
    void write_source();
    void write_parameter(ValueId id);
    void write_outputs();
    void encode();
    void add_port(std::uint32_t field, std::string_view name, Type type, ValueId id);
    Ref add(std::pmr::string&& name, Type type);
    std::pmr::string free_name(std::string_view wanted);
    std::pmr::string group_name(const char* op);
    Line& add_line(const char* op);
    Initializer& add_initializer(std::string_view name, Type type, const Shape& shape, Part part);

    const Graph& graph_;
    const int opset_;
    const std::size_t most_nodes_;
    const std::uint64_t most_bytes_;
    std::uint64_t spent_ = 0;
    std::pmr::memory_resource* heap_;
    std::optional<Graph> larger_;  // with other open extents: what differs is open
    std::pmr::vector<Symbol> symbols_;
    std::pmr::vector<Made> refs_;
    std::pmr::vector<Ref> values_;          // by ValueId
    std::pmr::vector<bool> needed_, read_;  // by NodeId, by ValueId
    std::pmr::deque<Line> lines_;
    std::pmr::vector<Initializer> initializers_;
    // Names of sources (true) and of outputs: those of the writer's own are others, and differ by themselves.
    std::pmr::map<std::pmr::string, bool, std::less<>> names_;
    struct LessHash {
        bool operator()(const Hash128& a, const Hash128& b) const {
            return a.high != b.high ? a.high < b.high : a.low < b.low;
        }
    };
    std::pmr::map<Hash128, Ref, LessHash> constants_;
    std::pmr::vector<Causal> causals_;
    std::pmr::string nodes_text_, ports_text_;
    NodeId node_ = -1;
    int lines_of_node_ = 0;
    std::size_t parameters_ = 0;
};

}  // namespace volta::onnx
