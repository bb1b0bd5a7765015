#include "engine/graph/print.h"

#include <charconv>
#include <cstdio>

#include "engine/base/hash.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

// Text without locale: numbers go through std::to_chars, whose shortest form reads back as the same double.
class Writer {
  public:
    explicit Writer(std::pmr::memory_resource* heap) : text(heap) {}
    std::pmr::string text;

    Writer& operator<<(const char* piece) { return text += piece, *this; }
    Writer& operator<<(std::int64_t value) {
        char digits[24];
        text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
        return *this;
    }
    Writer& operator<<(std::int32_t value) { return *this << std::int64_t{value}; }
    Writer& operator<<(std::uint32_t value) { return *this << std::int64_t{value}; }
    Writer& operator<<(double value) {
        char digits[32];
        text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
        return *this;
    }
    Writer& operator<<(const Shape& shape) { return *this << to_text(shape).text; }

    // In quotes; what could end the quotes or the line is written as \xNN.
    Writer& quoted(const char* name) {
        text += '"';
        for (; *name != '\0'; ++name) {
            const unsigned char c = static_cast<unsigned char>(*name);
            if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, "\\x%02x", c);
                text += escaped;
            } else {
                text += *name;
            }
        }
        text += '"';
        return *this;
    }
    Writer& hex(std::uint32_t bits) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(bits));
        return *this << digits;
    }
};

const char* phase_name(Phase phase) { return phase == Phase::reduce ? "reduce" : "update"; }

void write_attribute(Writer& out, const Attribute& attribute) {
    out << attr_name(attribute.key) << "=";
    if (attribute.integer_count < 0) {
        out << attribute.number;
        return;
    }
    out << "[";
    for (int i = 0; i < attribute.integer_count; ++i) out << (i ? ", " : "") << attribute.integers[i];
    out << "]";
}

// Zeros, empty lists, "to the end" and the scale of 1 go without saying where they are the default.
bool is_silent(const AttrRow& row, const Attribute& attribute) {
    if (row.required) return false;
    if (row.is_list) return attribute.integer_count == 0;
    return attribute == number(row.key, row.default_number) &&
           (row.default_number == 0 || row.default_number == kToTheEnd || row.key == Attr::scale);
}

// " {axis=1, epsilon=1e-05}"
void write_attributes(Writer& out, Op op, const std::pmr::vector<Attribute>& attributes) {
    const OpRow& row = op_row(op);
    bool any = false;
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        if (static_cast<int>(i) < row.attribute_count && is_silent(row.attributes[i], attributes[i]))
            continue;
        out << (any ? ", " : " {");
        write_attribute(out, attributes[i]);
        any = true;
    }
    if (any) out << "}";
}

// Body inputs: a number is an earlier body operation, in2 node operand 2 (a product: in0).
void write_body_name(Writer& out, std::int32_t input) {
    if (input < 0)
        out << "in" << ~input;
    else
        out << input;
}

// " [0 = add(in0, in1); 1 = gelu_tanh(0); results 1, 0]"
void write_body(Writer& out, const Body& body) {
    if (body.ops.empty()) return;
    out << " [";
    for (std::size_t i = 0; i < body.ops.size(); ++i) {
        out << static_cast<std::int64_t>(i) << " = " << op_row(body.ops[i].op).name << "(";
        for (std::size_t j = 0; j < body.ops[i].inputs.size(); ++j) {
            out << (j ? ", " : "");
            write_body_name(out, body.ops[i].inputs[j]);
        }
        out << ")";
        write_attributes(out, body.ops[i].op, body.ops[i].attributes);
        out << "; ";
    }
    out << "results ";
    for (std::size_t i = 0; i < body.results.size(); ++i) {
        out << (i ? ", " : "");
        write_body_name(out, body.results[i]);
    }
    out << "]";
}

void write_init(Writer& out, const SourceInfo& source) {
    out << " {init=";
    switch (source.init.kind) {
        case VOLTA_INIT_NORMAL:
            out << "normal(" << source.init.a << ")";
            break;
        case VOLTA_INIT_UNIFORM:
            out << "uniform(" << source.init.a << ", " << source.init.b << ")";
            break;
        default:
            out << "constant(" << source.init.a << ")";
            break;
    }
    out << ", stream=" << source.stream << "}";
}

void write_inputs(Writer& out, const Node& node) {
    out << "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) out << (i ? ", %" : "%") << node.inputs[i];
    out << ")";
}

void write_types(Writer& out, const Graph& graph, const Node& node) {
    for (std::int32_t i = 0; i < node.output_count; ++i) {
        const Value& value = graph.value(node.first_output + i);
        out << (i ? ", " : " : ") << dtype_name(value.dtype) << value.shape;
    }
}

using Bits = std::pmr::vector<std::uint32_t>;

void write_bits(Writer& out, const Bits& constant, std::size_t most) {
    out << " =";
    if (constant.size() > most) {
        out << " xxh3 " << to_text(hash_bytes(constant.data(), constant.size() * sizeof constant[0])).text;
        return;
    }
    for (const std::uint32_t bits : constant) (out << " ").hex(bits);
}

void write_node(Writer& out, const Graph& graph, NodeId id, std::size_t most_bits) {
    const Node& node = graph.node(id);
    for (std::int32_t i = 0; i < node.output_count; ++i) out << (i ? ", %" : "%") << node.first_output + i;
    out << " = " << op_row(node.op).name;
    if (!node.name.empty()) (out << " ").quoted(node.name.c_str());
    if (op_row(node.op).lowering != Lowering::source) write_inputs(out, node);
    write_attributes(out, node.op, node.attributes);
    write_body(out, node.body);
    if (node.op == Op::parameter) write_init(out, graph.source(id));
    if (node.op == Op::input && graph.source(id).declared != graph.shape(node.first_output))
        out << " {declared=" << graph.source(id).declared << "}";
    write_types(out, graph, node);
    if (node.op == Op::constant)
        write_bits(out, graph.constants[static_cast<std::size_t>(node.data)], most_bits);
    if (node.phase != Phase::each) out << " @" << phase_name(node.phase);
    out << "\n";
}

std::pmr::string print_with(const Graph& graph, std::size_t most_bits, std::pmr::memory_resource* heap) {
    Writer out(heap);
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id)
        write_node(out, graph, id, most_bits);
    for (const GraphOutput& output : graph.outputs)
        (out << "output ").quoted(output.name.c_str()) << " = %" << output.value << "\n";
    return std::move(out.text);
}

}  // namespace

std::pmr::string print(const Graph& graph, std::pmr::memory_resource* heap) {
    return print_with(graph, SIZE_MAX, heap);
}

std::pmr::string print_shortened(const Graph& graph, std::pmr::memory_resource* heap) {
    constexpr std::size_t kMostElements = 1024;
    return print_with(graph, kMostElements, heap);
}

}  // namespace volta
