#include "engine/import/onnx/file.h"

#include "engine/base/error.h"
#include "engine/import/onnx/export_onnx.h"
#include "engine/import/protobuf.h"
#include "engine/model/text.h"

namespace volta::onnx {
namespace {

constexpr struct {
    Type type;
    const char* name;
} kTypes[] = {{Type::none, "no type"}, {Type::f32, "float"},  {Type::u8, "uint8"},     {Type::i8, "int8"},
              {Type::u16, "uint16"},   {Type::i16, "int16"},  {Type::i32, "int32"},    {Type::i64, "int64"},
              {Type::text, "string"},  {Type::flag, "bool"},  {Type::f16, "float16"},  {Type::f64, "double"},
              {Type::u32, "uint32"},   {Type::u64, "uint64"}, {Type::bf16, "bfloat16"}};

template <class T>
void check_room(const std::pmr::vector<T>& list, std::size_t most, const char* what) {
    if (list.size() >= most) fail(VOLTA_UNSUPPORTED, "it has more than %zu %s", most, what);
}

Type type_of(std::int64_t number) {
    return static_cast<Type>(number < 0 || number > INT32_MAX ? INT32_MAX : number);
}

AttributeView read_attribute(std::string_view message) {
    AttributeView attribute;
    attribute.message = message;
    AttributeKind seen = AttributeKind::none;  // files of before 2017 say no kind
    for (Fields fields(message); fields.next();) {
        switch (fields.number()) {
            case 1:
                attribute.name = fields.bytes();
                break;
            case 2:
                seen = AttributeKind::real;
                break;
            case 3:
                seen = AttributeKind::integer;
                break;
            case 4:
                seen = AttributeKind::text;
                break;
            case 5:
                seen = AttributeKind::tensor;
                break;
            case 6:
                seen = AttributeKind::graph;
                break;
            case 7:
                seen = AttributeKind::reals;
                break;
            case 8:
                seen = AttributeKind::integers;
                break;
            case 9:
                seen = AttributeKind::texts;
                break;
            case 20:
                attribute.kind = static_cast<AttributeKind>(type_of(fields.integer()));
                break;
            default:
                break;
        }
    }
    if (attribute.kind == AttributeKind::none) attribute.kind = seen;
    return attribute;
}

class FileReader {
  public:
    explicit FileReader(std::pmr::memory_resource* heap) : heap_(heap), file_(heap) {}

    FileView read(std::string_view bytes) {
        bool has_graph = false;
        for (Fields fields(bytes); fields.next();) {
            switch (fields.number()) {
                case 1:
                    file_.ir_version = fields.integer();
                    break;
                case 2:
                    file_.producer = fields.bytes();
                    break;
                case 7:  // given twice, the two are one: so protobuf merges messages
                    has_graph = true;
                    read_graph(fields.bytes());
                    break;
                case 8:
                    read_opset(fields.bytes());
                    break;
                case 14:
                    read_text(fields.bytes());
                    break;
                case 25:
                    ++file_.functions;
                    break;
                default:
                    break;
            }
        }
        if (!has_graph) fail(VOLTA_CORRUPT_MODEL, "it has no graph");
        return std::move(file_);
    }

    FileView read_branch(std::string_view message) {
        read_graph(message);
        return std::move(file_);
    }

  private:
    void read_opset(std::string_view message) {
        check_room(file_.opsets, kMostOpenExtents, "sets of operators");
        OpsetView opset;
        for (Fields fields(message); fields.next();) {
            if (fields.number() == 1)
                opset.domain = fields.bytes();
            else if (fields.number() == 2)
                opset.version = fields.integer();
        }
        file_.opsets.push_back(opset);
    }

    void read_text(std::string_view message) {
        std::string_view key, value;
        for (Fields fields(message); fields.next();) {
            if (fields.number() == 1)
                key = fields.bytes();
            else if (fields.number() == 2)
                value = fields.bytes();
        }
        if (key == kModelKey) file_.description = value;
        if (key == kConstantsKey) file_.constants = value;
    }

    void read_graph(std::string_view message) {
        for (Fields fields(message); fields.next();) {
            switch (fields.number()) {
                case 1:
                    check_room(file_.nodes, kMostNodes, "nodes");
                    file_.nodes.push_back(read_node(fields.bytes()));
                    break;
                case 5:
                    check_room(file_.initializers, kMostInitializers, "initialisers");
                    file_.initializers.push_back(read_tensor(fields.bytes()));
                    break;
                case 11:
                    add_port(file_.inputs, fields.bytes(), "inputs");
                    break;
                case 12:
                    add_port(file_.outputs, fields.bytes(), "outputs");
                    break;
                case 15:
                    file_.sparse = true;
                    break;
                default:
                    break;
            }
        }
    }

    // Inputs, outputs and attributes of all nodes.
    void count_listed() {
        if (++listed_ > kMostListed)
            fail(VOLTA_UNSUPPORTED, "its nodes have more than %zu inputs, outputs and attributes",
                 kMostListed);
    }

    NodeView read_node(std::string_view message) {
        NodeView node(heap_);
        node.message = message;
        for (Fields fields(message); fields.next();) {
            switch (fields.number()) {
                case 1:
                    count_listed();
                    node.inputs.push_back(fields.bytes());
                    break;
                case 2:
                    count_listed();
                    node.outputs.push_back(fields.bytes());
                    break;
                case 3:
                    node.name = fields.bytes();
                    break;
                case 4:
                    node.op = fields.bytes();
                    break;
                case 5:
                    count_listed();
                    node.attributes.push_back(read_attribute(fields.bytes()));
                    break;
                case 7:
                    node.domain = fields.bytes();
                    break;
                default:
                    break;
            }
        }
        if (node.domain == "ai.onnx") node.domain = {};
        return node;
    }

    void add_port(std::pmr::vector<PortView>& ports, std::string_view message, const char* what) {
        check_room(ports, kMostInitializers, what);
        PortView port;
        port.message = message;
        for (Fields fields(message); fields.next();) {
            if (fields.number() == 1)
                port.name = fields.bytes();
            else if (fields.number() == 2)
                read_type(fields.bytes(), port);
        }
        ports.push_back(port);
    }

    static void read_type(std::string_view message, PortView& port) {
        for (Fields fields(message); fields.next();) {
            switch (fields.number()) {
                case 1:
                    read_tensor_type(fields.bytes(), port);
                    break;
                case 4:
                    port.other = "a sequence";
                    break;
                case 5:
                    port.other = "a map";
                    break;
                case 8:
                    port.other = "a sparse tensor";
                    break;
                case 9:
                    port.other = "an optional value";
                    break;
                default:
                    break;
            }
        }
    }

    static void read_tensor_type(std::string_view message, PortView& port) {
        for (Fields fields(message); fields.next();) {
            if (fields.number() == 1)
                port.type = type_of(fields.integer());
            else if (fields.number() == 2)
                read_shape(fields.bytes(), port);
        }
    }

    static void read_shape(std::string_view message, PortView& port) {
        port.has_shape = true;
        for (Fields fields(message); fields.next();) {
            if (fields.number() != 1) continue;
            ExtentView extent;
            for (Fields parts(fields.bytes()); parts.next();) {
                if (parts.number() == 1)
                    extent.extent = parts.integer();
                else if (parts.number() == 2)
                    extent.symbol = parts.bytes();
            }
            if (port.rank == kMaxRank) {
                const ShownName name = shown(port.name);
                fail(VOLTA_UNSUPPORTED, "'%.*s' has more than %d axes", name.bytes, name.text, kMaxRank);
            }
            port.extents[port.rank++] = extent;
        }
    }

    std::pmr::memory_resource* heap_;
    FileView file_;
    std::size_t listed_ = 0;
};

// The fields of a ModelProto, and whether each is bytes.
bool is_model_field(std::uint32_t number, bool is_bytes) {
    switch (number) {
        case 1:
        case 5:
            return !is_bytes;
        case 2:
        case 3:
        case 4:
        case 6:
        case 7:
        case 8:
        case 14:
        case 20:
        case 25:
        case 26:
            return is_bytes;
        default:
            return false;
    }
}

}  // namespace

const char* type_name(Type type) {
    for (const auto& row : kTypes)
        if (row.type == type) return row.name;
    return "an unknown type";
}

bool looks_like_onnx(std::string_view bytes) {
    int count = 0;
    bool version_first = false, has_graph = false;
    try {
        for (Fields fields(bytes); fields.next(); ++count) {
            if (!is_model_field(fields.number(), fields.is_bytes())) return false;
            if (count == 0 && fields.number() == 1) {
                const std::int64_t version = fields.integer();
                version_first = version > 0 && version < 128;
            }
            has_graph = has_graph || fields.number() == 7;
        }
    } catch (const Error&) {
        return version_first && count >= 2;
    }
    return has_graph;
}

FileView read_file_view(std::string_view bytes, std::pmr::memory_resource* heap) {
    return FileReader(heap).read(bytes);
}

FileView read_graph_view(std::string_view message, std::pmr::memory_resource* heap) {
    return FileReader(heap).read_branch(message);
}

TensorView read_tensor(std::string_view message) {
    TensorView tensor;
    tensor.message = message;
    bool too_many = false, negative = false;
    for (Fields fields(message); fields.next();) {
        switch (fields.number()) {
            case 1:
                fields.integers([&](std::int64_t extent) {
                    negative = negative || extent < 0;
                    too_many = too_many || tensor.shape.rank == kMaxRank;
                    if (!too_many) tensor.shape[tensor.shape.rank++] = extent;
                });
                break;
            case 2:
                tensor.type = type_of(fields.integer());
                break;
            case 8:
                tensor.name = fields.bytes();
                break;
            case 14:
                tensor.external = fields.integer() == 1;
                break;
            default:
                break;
        }
    }
    const ShownName name = shown(tensor.name);
    if (too_many)
        fail(VOLTA_UNSUPPORTED, "tensor '%.*s' has more than %d axes", name.bytes, name.text, kMaxRank);
    if (negative) fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' has a negative extent", name.bytes, name.text);
    std::uint64_t bytes = 0;
    Shape without_zeros = tensor.shape;
    for (int axis = 0; axis < without_zeros.rank; ++axis)
        if (without_zeros[axis] == 0) without_zeros[axis] = 1;
    if (tensor_bytes_overflow(DType::f32, without_zeros, &bytes) || bytes > UINT64_MAX / 4)
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' has too many elements: %s", name.bytes, name.text,
             to_text(tensor.shape).text);
    return tensor;
}

float real_of(const AttributeView& attribute) {
    float value = 0;
    for (Fields fields(attribute.message); fields.next();)
        if (fields.number() == 2) value = fields.real();
    return value;
}

std::int64_t integer_of(const AttributeView& attribute) {
    std::int64_t value = 0;
    for (Fields fields(attribute.message); fields.next();)
        if (fields.number() == 3) value = fields.integer();
    return value;
}

std::string_view bytes_of(const AttributeView& attribute) {
    std::string_view value;
    for (Fields fields(attribute.message); fields.next();)
        if (fields.number() >= 4 && fields.number() <= 6) value = fields.bytes();
    return value;
}

void integers_of(const AttributeView& attribute, std::pmr::vector<std::int64_t>& values) {
    for (Fields fields(attribute.message); fields.next();)
        if (fields.number() == 8)
            fields.integers([&](std::int64_t value) {
                check_room(values, kMostListed, "integers in an attribute");
                values.push_back(value);
            });
}

void reals_of(const AttributeView& attribute, std::pmr::vector<double>& values) {
    for (Fields fields(attribute.message); fields.next();)
        if (fields.number() == 7)
            fields.reals([&](float value) {
                check_room(values, kMostListed, "numbers in an attribute");
                values.push_back(static_cast<double>(value));
            });
}

void texts_of(const AttributeView& attribute, std::pmr::vector<std::string_view>& values) {
    for (Fields fields(attribute.message); fields.next();) {
        if (fields.number() != 9) continue;
        check_room(values, kMostListed, "texts in an attribute");
        values.push_back(fields.bytes());
    }
}

}  // namespace volta::onnx
