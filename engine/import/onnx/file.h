// An ONNX file as views into its bytes: the messages of onnx.proto that an import needs, taken apart as far
// as names, shapes and lists go. Bytes of tensors and values of attributes stay where they are. What is kept
// grows with what is really there, up to the limits below.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/base/shape.h"

namespace volta::onnx {

// TensorProto.DataType; those without a row in kElementTypes are refused by number.
enum class Type : std::int32_t {
    none = 0,
    f32 = 1,
    u8 = 2,
    i8 = 3,
    u16 = 4,
    i16 = 5,
    i32 = 6,
    i64 = 7,
    text = 8,
    flag = 9,
    f16 = 10,
    f64 = 11,
    u32 = 12,
    u64 = 13,
    bf16 = 16
};
const char* type_name(Type type);  // "int64"; one that is unknown: "an unknown type"
constexpr bool is_real(Type type) {
    return type == Type::f32 || type == Type::f16 || type == Type::f64 || type == Type::bf16;
}
constexpr bool is_whole(Type type) {
    return (type >= Type::u8 && type <= Type::i64) || type == Type::flag || type == Type::u32 ||
           type == Type::u64;
}

// Integers that float holds all of: they are f32 in a model.
constexpr bool is_narrow(Type type) {
    return type == Type::u8 || type == Type::i8 || type == Type::u16 || type == Type::i16;
}

// Far above any model, and no more than a model file may hold: what a hostile file can make a reader keep.
inline constexpr std::size_t kMostNodes = 65536, kMostInitializers = 16384,
                             kMostListed = std::size_t{1} << 19, kMostOpenExtents = 64;

struct TensorView {
    std::string_view name;
    std::string_view message;  // the whole TensorProto: its elements are read from it again
    Type type = Type::none;
    Shape shape;
    bool external = false;
};

enum class AttributeKind : std::int32_t {
    none = 0,
    real = 1,
    integer = 2,
    text = 3,
    tensor = 4,
    graph = 5,
    reals = 6,
    integers = 7,
    texts = 8
};
struct AttributeView {
    std::string_view name, message;
    AttributeKind kind = AttributeKind::none;
};

struct NodeView {
    using allocator_type = std::pmr::polymorphic_allocator<char>;
    explicit NodeView(allocator_type heap) : inputs(heap), outputs(heap), attributes(heap) {}
    NodeView(NodeView&& other, allocator_type heap)
        : message(other.message),
          name(other.name),
          op(other.op),
          domain(other.domain),
          inputs(std::move(other.inputs), heap),
          outputs(std::move(other.outputs), heap),
          attributes(std::move(other.attributes), heap) {}
    NodeView(NodeView&&) = default;
    std::string_view message, name, op, domain;
    std::pmr::vector<std::string_view> inputs, outputs;  // "": left out
    std::pmr::vector<AttributeView> attributes;
};

struct ExtentView {
    std::int64_t extent = -1;  // negative: open
    std::string_view symbol;   // dim_param
};
struct PortView {  // an input or output of the graph
    std::string_view message, name;
    Type type = Type::none;
    const char* other = nullptr;  // what it is instead of a tensor
    bool has_shape = false;
    std::int32_t rank = 0;
    ExtentView extents[kMaxRank];
};

struct OpsetView {
    std::string_view domain;
    std::int64_t version = 0;
};

struct FileView {
    explicit FileView(std::pmr::memory_resource* heap)
        : opsets(heap), nodes(heap), initializers(heap), inputs(heap), outputs(heap) {}
    std::int64_t ir_version = 0;
    std::string_view producer;
    std::string_view description, constants;  // of a file of Volta's own (export_onnx.h)
    std::pmr::vector<OpsetView> opsets;
    std::pmr::vector<NodeView> nodes;
    std::pmr::vector<TensorView> initializers;
    std::pmr::vector<PortView> inputs, outputs;
    std::size_t functions = 0;
    bool sparse = false;  // it has sparse initialisers
};

// By its first fields, or by all of them: a ModelProto.
bool looks_like_onnx(std::string_view bytes);

// Throws CORRUPT_MODEL, or UNSUPPORTED where a limit is exceeded. The views point into `bytes`.
FileView read_file_view(std::string_view bytes, std::pmr::memory_resource* heap);
// A GraphProto by itself: a branch of an If. It has no opsets.
FileView read_graph_view(std::string_view message, std::pmr::memory_resource* heap);
// A TensorProto, as attributes have them and as files by themselves.
TensorView read_tensor(std::string_view message);

// The value of an attribute; a missing field is 0 or "", as protobuf has it.
float real_of(const AttributeView& attribute);
std::int64_t integer_of(const AttributeView& attribute);
std::string_view bytes_of(const AttributeView& attribute);  // of text, tensor and graph
void integers_of(const AttributeView& attribute, std::pmr::vector<std::int64_t>& values);
void reals_of(const AttributeView& attribute, std::pmr::vector<double>& values);
void texts_of(const AttributeView& attribute, std::pmr::vector<std::string_view>& values);

}  // namespace volta::onnx
