#include "engine/import/onnx/writer.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/format.h"
#include "engine/graph/step_input.h"
#include "engine/import/onnx/wire_writer.h"
#include "engine/import/onnx/write_table.h"

namespace volta::onnx {
namespace {

std::size_t place(std::int64_t index) { return static_cast<std::size_t>(index); }

std::size_t element_bytes(Type type) {
    return type == Type::i64 ? 8 : type == Type::i8 || type == Type::flag ? 1 : 4;
}

// Fields of an AttributeProto: its type and its value, whose number is that of the kind but for lists.
void encode_setting(const Setting& setting, std::pmr::string& node, std::pmr::memory_resource* heap) {
    std::pmr::string text(heap);
    FieldWriter fields(text);
    fields.bytes(1, setting.name);
    switch (setting.kind) {
        case AttributeKind::real:
            fields.real(2, static_cast<float>(setting.number));
            break;
        case AttributeKind::integer:
            fields.integer(3, static_cast<std::int64_t>(setting.number));
            break;
        case AttributeKind::text:
            fields.bytes(4, setting.text);
            break;
        default:
            for (int i = 0; i < setting.integers.rank; ++i) fields.integer(8, setting.integers[i]);
    }
    fields.integer(20, static_cast<std::int64_t>(setting.kind));
    FieldWriter(node).bytes(5, text);
}

}  // namespace

Writer::Writer(const Graph& graph, int opset, std::size_t most_nodes, std::uint64_t most_bytes,
               std::pmr::memory_resource* heap)
    : graph_(graph),
      opset_(opset),
      most_nodes_(most_nodes),
      most_bytes_(most_bytes),
      heap_(heap),
      symbols_(heap),
      refs_(heap),
      values_(graph.values.size(), -1, heap),
      needed_(graph.nodes.size(), false, heap),
      read_(graph.values.size(), false, heap),
      lines_(heap),
      initializers_(heap),
      names_(heap),
      constants_(heap),
      causals_(heap),
      nodes_text_(heap),
      ports_text_(heap) {}

void Writer::refuse(const char* format, ...) const {
    char why[300];
    va_list arguments;
    va_start(arguments, format);
    vformat(why, sizeof why, format, arguments);
    va_end(arguments);
    fail(VOLTA_UNSUPPORTED, "node %d (%s, opset %d): %s", static_cast<int>(node_), op_row(node().op).name,
         opset_, why);
}

void Writer::spend(std::uint64_t bytes) {
    spent_ += bytes;
    if (bytes > most_bytes_ || spent_ > most_bytes_)
        fail(VOLTA_UNSUPPORTED, "its nodes and constants have more than %llu bytes",
             static_cast<unsigned long long>(most_bytes_));
}

// ---- Open extents --------------------------------------------------------------------------------------

// Open extents are 1 in the graph itself; here each has another prime. 0: every extent is one by itself;
// 1: those of the same axis are one, in all inputs; 2: all are one.
bool Writer::open_as(int grouping) {
    constexpr std::int64_t kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
    constexpr std::size_t kMost = sizeof kPrimes / sizeof *kPrimes;
    symbols_.clear();
    std::pmr::vector<Shape> shapes(heap_);
    int with_open = 0;
    for (const SourceInfo& source : graph_.sources) {
        bool open = false;
        for (int axis = 0; axis < source.declared.rank; ++axis) open = open || source.declared[axis] < 0;
        with_open += open;
    }
    for (const SourceInfo& source : graph_.sources) {
        const Node& input = graph_.node(source.node);
        if (input.op != Op::input) continue;
        Shape& shape = shapes.emplace_back(source.declared);
        // From the last axis: a sequence gets the smallest, which its context is sure to have.
        for (int axis = shape.rank - 1; axis >= 0; --axis) {
            if (shape[axis] >= 0) continue;
            Symbol symbol = {};
            const bool is_time = axis == 1 && graph_.value(input.first_output).dtype == DType::i32;
            char of_axis[24];
            std::snprintf(of_axis, sizeof of_axis, "axis%d", axis);
            const char* const what = grouping == 2 ? "extent"
                                     : axis == 0   ? "batch"
                                     : is_time     ? "time"
                                                   : of_axis;
            if (grouping == 0 && with_open > 1)
                std::snprintf(symbol.name, sizeof symbol.name, "%.40s_%s", input.name.c_str(), what);
            else
                std::snprintf(symbol.name, sizeof symbol.name, "%s", what);
            std::size_t known = 0;
            while (known < symbols_.size() && std::strcmp(symbols_[known].name, symbol.name) != 0) ++known;
            if (known == symbols_.size()) {
                if (known == kMost)
                    fail(VOLTA_UNSUPPORTED, "more than %zu extents of its inputs are open", kMost);
                symbol.extent = kPrimes[known];
                symbols_.push_back(symbol);
            }
            shape[axis] = symbols_[known].extent;
        }
    }
    if (symbols_.empty()) return true;
    try {
        larger_.emplace(specialize(graph_, shapes.data(), static_cast<int>(shapes.size()), heap_));
    } catch (const Error& error) {
        if (grouping == 2)
            fail(VOLTA_UNSUPPORTED, "only some of the extents that are open have a result: %s", error.what());
        return false;
    }
    return true;
}

void Writer::find_open() {
    for (int grouping = 0; !open_as(grouping);) ++grouping;
}

bool Writer::is_open(ValueId id, int axis) const {
    return larger_ && larger_->shape(id)[axis] != graph_.shape(id)[axis];
}

bool Writer::has_open(ValueId id) const { return larger_ && larger_->shape(id) != graph_.shape(id); }

// ---- Names and values ----------------------------------------------------------------------------------

Ref Writer::add(std::pmr::string&& name, Type type) {
    Made& made = refs_.emplace_back();
    made.name = std::move(name);
    made.type = type;
    return static_cast<Ref>(refs_.size()) - 1;
}

std::pmr::string Writer::free_name(std::string_view wanted) {
    std::pmr::string name(wanted, heap_);
    while (names_.find(name) != names_.end()) name += '_';
    return name;
}

// "layer_norm_12/Sub", and for one more of the same node "layer_norm_12/Add_7": by its place among them.
std::pmr::string Writer::group_name(const char* op) {
    char name[96];
    int length =
        std::snprintf(name, sizeof name, "%s_%d/%s", op_row(node().op).name, static_cast<int>(node_), op);
    if (lines_of_node_ > 0)
        std::snprintf(name + length, sizeof name - static_cast<std::size_t>(length), "_%d", lines_of_node_);
    ++lines_of_node_;
    return free_name(name);
}

Ref Writer::in(int input) {
    const Ref ref = values_[place(value(input))];
    if (ref < 0) {
        const NodeId producer = graph_.value(value(input)).producer;
        refuse("its input %d is a result of node %d (%s) that has no form in ONNX", input,
               static_cast<int>(producer), op_row(graph_.node(producer).op).name);
    }
    return ref;
}

void Writer::give(Ref ref, int output) { values_[place(node().first_output + output)] = ref; }

bool Writer::wants(int output) const { return read_[place(node().first_output + output)]; }

Shape Writer::integers(Attr key) const {
    Shape values;
    if (const Attribute* attribute = node().find(key))
        for (int i = 0; i < attribute->integer_count; ++i) values[values.rank++] = attribute->integers[i];
    return values;
}

// ---- Nodes ---------------------------------------------------------------------------------------------

Writer::Line& Writer::add_line(const char* op) {
    if (lines_.size() >= most_nodes_) fail(VOLTA_UNSUPPORTED, "it has more than %zu nodes", most_nodes_);
    Line& line = lines_.emplace_back();
    line.op = op;
    return line;
}

Ref Writer::op(const char* name, const Ref* inputs, int input_count, const Setting* settings,
               int setting_count, int outputs) {
    Line& line = add_line(name);
    std::pmr::string whole = group_name(name);
    line.inputs.assign(inputs, inputs + input_count);
    line.outputs = outputs;
    for (int i = 0; i < setting_count; ++i) encode_setting(settings[i], line.settings, heap_);
    const Type type = input_count > 0 && inputs[0] >= 0 ? this->type(inputs[0]) : Type::f32;
    for (int k = 0; k < outputs; ++k) {
        char suffix[16] = "";
        if (k > 0) std::snprintf(suffix, sizeof suffix, ".%d", k);
        const Ref ref = add(free_name(std::pmr::string(whole, heap_).append(suffix)), type);
        refs_.back().can_be_renamed = true;
        if (k == 0) line.first = ref;
    }
    return line.first;
}

Ref Writer::op(const char* name, std::initializer_list<Ref> inputs, std::initializer_list<Setting> settings,
               int outputs) {
    return op(name, inputs.begin(), static_cast<int>(inputs.size()), settings.begin(),
              static_cast<int>(settings.size()), outputs);
}

Ref Writer::flag(Ref ref) {
    if (type(ref) == Type::flag) return ref;
    return typed(op("Cast", {ref}, {onnx::whole("to", static_cast<int>(Type::flag))}), Type::flag);
}

Ref Writer::whole(Ref ref) {
    if (type(ref) == Type::i64) return ref;
    return typed(op("Cast", {ref}, {onnx::whole("to", static_cast<int>(Type::i64))}), Type::i64);
}

Ref Writer::tensor(Type type, const Shape& shape, const void* data) {
    const auto bytes = static_cast<std::size_t>(shape.elements()) * element_bytes(type);
    Hasher hasher;
    hasher.add(&type, sizeof type);
    hasher.add(shape.extent, sizeof shape.extent[0] * static_cast<std::size_t>(shape.rank));
    hasher.add(&shape.rank, sizeof shape.rank);
    hasher.add(data, bytes);
    const auto known = constants_.find(hasher.result());
    if (known != constants_.end()) return known->second;
    spend(bytes + 64);
    std::pmr::string value(heap_), attribute(heap_);
    FieldWriter fields(value);
    for (int axis = 0; axis < shape.rank; ++axis) fields.integer(1, shape[axis]);
    fields.integer(2, static_cast<std::int64_t>(type));
    fields.bytes(9, {static_cast<const char*>(data), bytes});
    FieldWriter of_attribute(attribute);
    of_attribute.bytes(1, "value");
    of_attribute.bytes(5, value);
    of_attribute.integer(20, static_cast<std::int64_t>(AttributeKind::tensor));
    char name[32];
    std::snprintf(name, sizeof name, "constant_%zu", constants_.size());
    Line& line = add_line("Constant");
    FieldWriter(line.settings).bytes(5, attribute);
    const Ref ref = line.first = add(free_name(name), type);
    constants_.emplace(hasher.result(), ref);
    return ref;
}

Ref Writer::scalar(double value) {
    const auto rounded = static_cast<float>(value);
    return tensor(Type::f32, {}, &rounded);
}

Ref Writer::index(std::int64_t value) { return tensor(Type::i64, {}, &value); }

Ref Writer::wholes(const Shape& values) { return tensor(Type::i64, {values.rank}, values.extent); }

Ref Writer::extents(ValueId id) {
    if (!has_open(id)) return wholes(graph_.shape(id));
    return typed(op("Shape", {values_[place(id)]}), Type::i64);
}

Ref Writer::reshape_like(Ref x, ValueId other) { return op("Reshape", {x, extents(other)}); }

Ref Writer::split(Ref x, int axis, const Shape& sizes) {
    return op("Split", {x, wholes(sizes)}, {onnx::whole("axis", axis)}, sizes.rank);
}

// `axes` became an input in opset 13 for ReduceSum, in 18 for the others. No axes: all.
Ref Writer::reduce(const char* name, Ref x, const Shape& axes, bool keep) {
    const Setting keepdims = onnx::whole("keepdims", keep);
    if (axes.rank == 0) return op(name, {x}, {keepdims});
    if (opset_ >= 18 || std::strcmp(name, "ReduceSum") == 0) return op(name, {x, wholes(axes)}, {keepdims});
    return op(name, {x}, {onnx::wholes("axes", axes), keepdims});
}

Ref Writer::places(ValueId id, int axis) {
    const std::int64_t extent = graph_.shape(id)[axis];
    if (is_open(id, axis)) {
        const Ref count = op("Gather", {extents(id), index(axis)}, {onnx::whole("axis", 0)});
        return op("Range", {index(0), count, index(1)});
    }
    spend(static_cast<std::uint64_t>(extent) * 8);
    std::pmr::vector<std::int64_t> numbers(place(extent), heap_);
    for (std::int64_t i = 0; i < extent; ++i) numbers[place(i)] = i;
    return tensor(Type::i64, {extent}, numbers.data());
}

Ref Writer::causal(ValueId id, int axis) {
    const std::int64_t now = graph_.shape(id)[axis], later = larger_ ? larger_->shape(id)[axis] : now;
    for (const Causal& made : causals_)
        if (made.now == now && made.later == later) return made.ref;
    const Ref all = places(id, axis);
    const Ref seen = typed(op("LessOrEqual", {unsqueeze(all, 0), unsqueeze(all, 1)}), Type::flag);
    causals_.push_back({now, later, seen});
    return seen;
}

// ---- The graph -----------------------------------------------------------------------------------------

Initializer& Writer::add_initializer(std::string_view name, Type type, const Shape& shape, Part part) {
    Initializer& made = initializers_.emplace_back();
    made.name = name;
    made.type = type;
    made.shape = shape;
    made.parameter = parameters_;
    made.part = part;
    return made;
}

// A weight in fewer bits: its integers and the scale of each 32 along k.
void Writer::write_parameter(ValueId id) {
    const Value& value = graph_.value(id);
    const std::string_view name = node().name;
    if (!is_stored(value.dtype)) {
        add_initializer(name, Type::f32, value.shape, Part::elements);
        give(add(std::pmr::string(name, heap_), Type::f32));
    } else {
        if (value.dtype != DType::int8)
            refuse("the parameter '%.100s' is stored as %s, which is not written", node().name.c_str(),
                   dtype_name(value.dtype));
        if (opset_ < 21)
            refuse("the parameter '%.100s' is stored as int8, which is written from opset 21 on",
                   node().name.c_str());
        const std::int64_t groups = (value.shape[1] + kStoredGroup - 1) / kStoredGroup;
        const Ref integers = add(std::pmr::string(name, heap_), Type::i8);
        add_initializer(name, Type::i8, value.shape, Part::integers);
        const Initializer& of_scales = add_initializer(free_name(std::pmr::string(name, heap_) += "/scale"),
                                                       Type::f32, {value.shape[0], groups}, Part::scales);
        const Ref scales = add(std::pmr::string(of_scales.name, heap_), Type::f32);
        if (needed_[place(node_)])
            give(typed(op("DequantizeLinear", {integers, scales},
                          {onnx::whole("axis", 1), onnx::whole("block_size", kStoredGroup)}),
                       Type::f32));
    }
    ++parameters_;
}

void Writer::write_source() {
    const ValueId id = node().first_output;
    const Value& value = graph_.value(id);
    if (node().op == Op::parameter) return write_parameter(id);
    if (node().op == Op::input) {
        if (is_step_input(node().name.c_str())) return;
        const Type type = value.dtype == DType::i32 ? Type::i64 : Type::f32;
        add_port(11, node().name, type, id);
        return give(add(std::pmr::string(node().name, heap_), type));
    }
    if (node().op != Op::constant) refuse("the operator has no form in ONNX");
    if (!needed_[place(node_)]) return;
    const auto& bits = graph_.constants[place(node().data)];
    if (value.dtype == DType::f32) return give(tensor(Type::f32, value.shape, bits.data()));
    std::pmr::vector<std::int64_t> wide(heap_);
    for (const std::uint32_t element : bits) wide.push_back(static_cast<std::int32_t>(element));
    give(tensor(Type::i64, value.shape, wide.data()));
}

void Writer::write_node() {
    lines_of_node_ = 0;
    if (op_row(node().op).lowering == Lowering::source) return write_source();
    if (!needed_[place(node_)]) return;
    const WriteRow* const row = find_write_row(node().op);
    if (row == nullptr) refuse("the operator has no form in ONNX");
    if (row->native == nullptr || opset_ < row->since) return row->write(*this);
    std::pmr::vector<Ref> operands(heap_);
    for (int i = 0; i < inputs(); ++i) operands.push_back(in(i));
    Setting settings[3];
    int count = 0;
    for (const Attribute& attribute : node().attributes)
        if (attribute.key == Attr::alpha || attribute.key == Attr::beta || attribute.key == Attr::gamma)
            settings[count++] = onnx::real(attr_name(attribute.key), attribute.number);
    give(op(row->native, operands.data(), static_cast<int>(operands.size()), settings, count));
}

// Results that are outputs get their names; what has one already, as an input has, is copied.
void Writer::write_outputs() {
    for (const GraphOutput& output : graph_.outputs) {
        Ref ref = values_[place(output.value)];
        node_ = graph_.value(output.value).producer;
        if (ref < 0) refuse("the output '%.100s' is a result that has no form in ONNX", output.name.c_str());
        Made& made = refs_[place(ref)];
        if (made.name != output.name) {
            if (names_.find(output.name)->second)
                refuse(
                    "the output '%.100s' has the name of an input or a parameter, which ONNX does not allow",
                    output.name.c_str());
            if (!made.can_be_renamed) ref = op("Identity", {ref});
            refs_[place(ref)].name = output.name;
            refs_[place(ref)].can_be_renamed = false;
        }
        add_port(12, output.name, type(ref), output.value);
    }
}

void Writer::write() {
    find_open();
    const auto need = [&](ValueId id) {
        read_[place(id)] = true;
        needed_[place(graph_.value(id).producer)] = true;
    };
    for (const GraphOutput& output : graph_.outputs) need(output.value);
    for (NodeId id = static_cast<NodeId>(graph_.nodes.size()) - 1; id >= 0; --id)
        if (needed_[place(id)])
            for (const ValueId input : graph_.node(id).inputs) need(input);
    for (const SourceInfo& source : graph_.sources)
        names_.emplace(std::pmr::string(graph_.node(source.node).name, heap_), true);
    for (const GraphOutput& output : graph_.outputs)
        names_.emplace(std::pmr::string(output.name, heap_), false);
    for (node_ = 0; node_ < static_cast<NodeId>(graph_.nodes.size()); ++node_) write_node();
    write_outputs();
    encode();
}

// A ValueInfoProto.
void Writer::add_port(std::uint32_t field, std::string_view name, Type type, ValueId id) {
    std::pmr::string shape(heap_), tensor(heap_), of_type(heap_), port(heap_);
    const Shape& extents = graph_.shape(id);
    for (int axis = 0; axis < extents.rank; ++axis) {
        std::pmr::string extent(heap_);
        if (!is_open(id, axis)) FieldWriter(extent).integer(1, extents[axis]);
        for (const Symbol& symbol : symbols_)
            if (is_open(id, axis) && extents[axis] == 1 && larger_->shape(id)[axis] == symbol.extent)
                FieldWriter(extent).bytes(2, symbol.name);
        FieldWriter(shape).bytes(1, extent);
    }
    FieldWriter(tensor).integer(1, static_cast<std::int64_t>(type));
    FieldWriter(tensor).bytes(2, shape);
    FieldWriter(of_type).bytes(1, tensor);
    FieldWriter(port).bytes(1, name);
    FieldWriter(port).bytes(2, of_type);
    FieldWriter(ports_text_).bytes(field, port);
}

void Writer::encode() {
    for (const Line& line : lines_) {
        std::pmr::string text(heap_);
        FieldWriter fields(text);
        for (const Ref input : line.inputs)
            fields.bytes(1, input < 0 ? std::string_view() : refs_[place(input)].name);
        for (int k = 0; k < line.outputs; ++k) fields.bytes(2, refs_[place(line.first + k)].name);
        fields.bytes(3, refs_[place(line.first)].name);
        fields.bytes(4, line.op);
        text += line.settings;
        FieldWriter(nodes_text_).bytes(1, text);
        if (nodes_text_.size() > most_bytes_) spend(nodes_text_.size());
    }
}

}  // namespace volta::onnx
