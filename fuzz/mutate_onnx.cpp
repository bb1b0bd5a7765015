// A mutator for ONNX files: it takes the messages apart, changes what they mean (which values a node reads,
// its operator, attributes, types, shapes, the opset) and writes them again with lengths that are right, so
// that changes reach the operators and not only the reader. Tensors whose shape changed get as many elements,
// mostly.
#include <stdint.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "fuzz/random.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// Which fields of a message are messages.
struct Kind {
    struct Part {
        uint32_t field;
        const Kind* kind;
    };
    const char* name;
    std::vector<Part> parts;
};
extern const Kind kGraph, kAttribute;
const Kind kTensor = {"tensor", {}}, kDimension = {"dimension", {}}, kOpset = {"opset", {}};
const Kind kShape = {"shape", {{1, &kDimension}}};
const Kind kTensorType = {"type", {{2, &kShape}}};
const Kind kType = {"types", {{1, &kTensorType}}};
const Kind kPort = {"port", {{2, &kType}}};
const Kind kNode = {"node", {{5, &kAttribute}}};
const Kind kAttribute = {"attribute", {{5, &kTensor}, {6, &kGraph}}};
const Kind kGraph = {"graph", {{1, &kNode}, {5, &kTensor}, {11, &kPort}, {12, &kPort}}};
const Kind kModel = {"model", {{7, &kGraph}, {8, &kOpset}}};

struct Message;
struct Field {
    uint32_t number = 0;
    int wire = 0;  // 0: a number, 2: bytes, or parts of a kind; 1 and 5: bytes of fixed length
    uint64_t value = 0;
    std::string bytes;
    std::vector<Message> part;  // one, or none
};
struct Message {
    const Kind* kind = nullptr;
    std::vector<Field> fields;
};

struct Broken {};

Message read(const std::string& bytes, const Kind& kind, int depth) {
    Message message;
    message.kind = &kind;
    if (depth > 12) throw Broken();
    for (protozero::pbf_reader reader(bytes); reader.next();) {
        Field field;
        field.number = reader.tag();
        field.wire = static_cast<int>(reader.wire_type());
        switch (reader.wire_type()) {
            case protozero::pbf_wire_type::varint:
                field.value = reader.get_uint64();
                break;
            case protozero::pbf_wire_type::fixed64:
                field.value = reader.get_fixed64();
                break;
            case protozero::pbf_wire_type::fixed32:
                field.value = reader.get_fixed32();
                break;
            default: {
                field.bytes = reader.get_bytes();
                for (const Kind::Part& part : kind.parts)
                    if (part.field == field.number)
                        field.part.push_back(read(field.bytes, *part.kind, depth + 1));
            }
        }
        message.fields.push_back(std::move(field));
    }
    return message;
}

void add_varint(std::string& bytes, uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
    bytes += static_cast<char>(value);
}

std::string write(const Message& message) {
    std::string bytes;
    for (const Field& field : message.fields) {
        add_varint(bytes, uint64_t{field.number} << 3 | static_cast<uint64_t>(field.wire));
        if (field.wire == 0) {
            add_varint(bytes, field.value);
        } else if (field.wire == 2) {
            const std::string whole = field.part.empty() ? field.bytes : write(field.part[0]);
            add_varint(bytes, whole.size());
            bytes += whole;
        } else {
            for (int i = 0; i < (field.wire == 1 ? 8 : 4); ++i)
                bytes += static_cast<char>(field.value >> (8 * i));
        }
    }
    return bytes;
}

constexpr int64_t kNumbers[] = {-1,    0,     1,         2,         3,         4,         5,           7,
                                8,     9,     16,        64,        65,        255,       1024,        1025,
                                65535, 65536, 1 << 20,   1 << 24,   INT32_MAX, INT32_MIN, -2,          -7,
                                -65,   100,   INT64_MAX, INT64_MIN, 1LL << 40, 1LL << 62, 0x7fffffff0, 13};
constexpr const char* kOperators[] = {"Abs",
                                      "Add",
                                      "And",
                                      "ArgMax",
                                      "AveragePool",
                                      "BatchNormalization",
                                      "BitShift",
                                      "Cast",
                                      "Ceil",
                                      "Clip",
                                      "Concat",
                                      "Constant",
                                      "ConstantOfShape",
                                      "Conv",
                                      "ConvInteger",
                                      "ConvTranspose",
                                      "CumProd",
                                      "CumSum",
                                      "DepthToSpace",
                                      "DequantizeLinear",
                                      "Div",
                                      "Dropout",
                                      "DynamicQuantizeLinear",
                                      "Einsum",
                                      "Equal",
                                      "Expand",
                                      "EyeLike",
                                      "Flatten",
                                      "Floor",
                                      "GRU",
                                      "Gather",
                                      "GatherElements",
                                      "GatherND",
                                      "Gemm",
                                      "GlobalAveragePool",
                                      "GroupNormalization",
                                      "Hardmax",
                                      "Identity",
                                      "InstanceNormalization",
                                      "LRN",
                                      "LSTM",
                                      "LayerNormalization",
                                      "Less",
                                      "LpPool",
                                      "MatMul",
                                      "MatMulInteger",
                                      "Max",
                                      "MaxPool",
                                      "Mean",
                                      "Mod",
                                      "Mul",
                                      "NegativeLogLikelihoodLoss",
                                      "NonZero",
                                      "Not",
                                      "OneHot",
                                      "PRelu",
                                      "Pad",
                                      "Pow",
                                      "QLinearConv",
                                      "QLinearMatMul",
                                      "QuantizeLinear",
                                      "RNN",
                                      "Range",
                                      "ReduceMax",
                                      "ReduceProd",
                                      "ReduceSum",
                                      "Reshape",
                                      "Resize",
                                      "Round",
                                      "ScatterElements",
                                      "ScatterND",
                                      "Shape",
                                      "Size",
                                      "Slice",
                                      "Softmax",
                                      "Split",
                                      "Squeeze",
                                      "Sub",
                                      "Sum",
                                      "SwiGLU",
                                      "Tile",
                                      "TopK",
                                      "Transpose",
                                      "Trilu",
                                      "Unsqueeze",
                                      "Upsample",
                                      "Where"};
constexpr const char* kTexts[] = {"linear",
                                  "cubic",
                                  "nearest",
                                  "add",
                                  "mul",
                                  "SAME_UPPER",
                                  "SAME_LOWER",
                                  "VALID",
                                  "align_corners",
                                  "tf_crop_and_resize",
                                  "asymmetric",
                                  "reflect",
                                  "edge",
                                  "ij,jk->ik",
                                  "...i,i",
                                  "bidirectional",
                                  "mean",
                                  "CRD",
                                  "",
                                  "floor"};

class Mutation {
  public:
    explicit Mutation(unsigned seed) : random_(seed) {}

    void change(Message& model) {
        collect(model);
        for (size_t changes = 1 + random_.below(3); changes > 0; --changes) change_once(model);
    }

  private:
    void collect(Message& message) {
        const std::string kind = message.kind->name;
        if (kind == "node") nodes_.push_back(&message);
        if (kind == "attribute") attributes_.push_back(&message);
        if (kind == "tensor") tensors_.push_back(&message);
        if (kind == "port") ports_.push_back(&message);
        for (Field& field : message.fields) {
            const bool is_name = (kind == "node" && field.number <= 2) ||
                                 (kind == "tensor" && field.number == 8) ||
                                 (kind == "port" && field.number == 1);
            if (is_name && field.wire == 2) names_.push_back(field.bytes);
            for (Message& part : field.part) collect(part);
        }
    }

    Field* pick(Message& message, uint32_t number) {
        std::vector<Field*> found;
        for (Field& field : message.fields)
            if (field.number == number) found.push_back(&field);
        return found.empty() ? nullptr : found[random_.below(found.size())];
    }
    template <class T>
    T* any(std::vector<T*>& list) {
        return list.empty() ? nullptr : list[random_.below(list.size())];
    }
    uint64_t number() {
        if (random_.one_in(4)) return random_.below(12);
        return static_cast<uint64_t>(kNumbers[random_.below(sizeof kNumbers / sizeof *kNumbers)]);
    }

    static Field of_number(uint32_t number, uint64_t value) {
        Field field;
        field.number = number;
        field.value = value;
        return field;
    }
    static Field of_bytes(uint32_t number, const std::string& bytes) {
        Field field;
        field.number = number;
        field.wire = 2;
        field.bytes = bytes;
        return field;
    }

    void change_once(Message& model) {
        switch (random_.below(12)) {
            case 0:
            case 1:
                return change_inputs();
            case 2:
                if (Message* const node = any(nodes_))
                    if (Field* const op = pick(*node, 4))
                        op->bytes = kOperators[random_.below(sizeof kOperators / sizeof *kOperators)];
                return;
            case 3:
            case 4:
                return change_attribute();
            case 5:
                return move_attribute();
            case 6:
            case 7:
                return change_tensor();
            case 8:
                return change_port();
            case 9:
                for (Field& field : model.fields)
                    if (field.number == 8 && !field.part.empty())
                        if (Field* const version = pick(field.part[0], 2)) version->value = random_.below(32);
                return;
            default:
                return change_nodes(model);
        }
    }

    void change_inputs() {
        Message* const node = any(nodes_);
        if (node == nullptr || names_.empty()) return;
        const uint32_t which = random_.one_in(6) ? 2 : 1;
        if (random_.one_in(4)) {
            node->fields.push_back(of_bytes(which, names_[random_.below(names_.size())]));
        } else if (Field* const field = pick(*node, which)) {
            field->bytes = random_.one_in(8) ? "" : names_[random_.below(names_.size())];
        }
    }

    void change_attribute() {
        Message* const attribute = any(attributes_);
        if (attribute == nullptr || attribute->fields.empty()) return;
        Field& field = attribute->fields[random_.below(attribute->fields.size())];
        if (field.number == 3 || field.number == 20 || (field.number == 8 && field.wire == 0)) {
            field.value = number();
        } else if (field.number == 2) {
            field.value = random_.one_in(2) ? random_.next() & 0xffffffff : 0x3f000000u;
        } else if (field.number == 4) {
            field.bytes = kTexts[random_.below(sizeof kTexts / sizeof *kTexts)];
        } else if (field.number == 8) {  // packed
            std::string packed;
            for (size_t count = random_.below(7); count > 0; --count) add_varint(packed, number());
            field.bytes = packed;
        }
    }

    // To another node, whose operator has none of that name, or twice to one.
    void move_attribute() {
        Message *const from = any(nodes_), *const to = any(nodes_);
        if (from == nullptr || to == nullptr) return;
        if (const Field* const field = pick(*from, 5)) {
            const Field copy = *field;
            to->fields.push_back(copy);
        }
    }

    void change_tensor() {
        Message* const tensor = any(tensors_);
        if (tensor == nullptr) return;
        constexpr uint64_t kTypes[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 16, 13};
        if (random_.one_in(3)) {
            for (Field& field : tensor->fields)
                if (field.number == 2) field.value = kTypes[random_.below(sizeof kTypes / sizeof *kTypes)];
        } else {
            const auto is_extent = [](const Field& field) { return field.number == 1; };
            tensor->fields.erase(std::remove_if(tensor->fields.begin(), tensor->fields.end(), is_extent),
                                 tensor->fields.end());
            for (size_t rank = random_.below(5); rank > 0; --rank)
                tensor->fields.push_back(of_number(1, random_.one_in(8) ? number() : 1 + random_.below(4)));
        }
        if (!random_.one_in(6)) fill(*tensor);
    }

    // As many elements as the shape says, of those that there were.
    void fill(Message& tensor) {
        uint64_t count = 1, type = 0;
        std::string old;
        for (const Field& field : tensor.fields) {
            if (field.number == 1 && field.wire == 0) count = field.value > 4096 ? 4097 : count * field.value;
            if (count > 4096) return;
            if (field.number == 1 && field.wire == 2) return;
            if (field.number == 2) type = field.value;
            if (field.number == 9) old = field.bytes;
        }
        const uint64_t size = type == 7 || type == 11 || type == 13                ? 8
                              : type == 1 || type == 6 || type == 12               ? 4
                              : type == 4 || type == 5 || type == 10 || type == 16 ? 2
                                                                                   : 1;
        std::string bytes;
        while (bytes.size() < count * size)
            bytes +=
                old.empty() || random_.one_in(16) ? std::string(1, static_cast<char>(random_.below(3))) : old;
        bytes.resize(count * size);
        const auto is_data = [](const Field& field) {
            return field.number == 4 || field.number == 5 || field.number == 7 || field.number >= 9;
        };
        tensor.fields.erase(std::remove_if(tensor.fields.begin(), tensor.fields.end(), is_data),
                            tensor.fields.end());
        tensor.fields.push_back(of_bytes(9, bytes));
    }

    void change_port() {
        Message* const port = any(ports_);
        if (port == nullptr) return;
        if (random_.one_in(4) && !names_.empty()) {
            if (Field* const name = pick(*port, 1)) name->bytes = names_[random_.below(names_.size())];
            return;
        }
        Field* const types = pick(*port, 2);
        if (types == nullptr || types->part.empty()) return;
        Field* const type = pick(types->part[0], 1);
        if (type == nullptr || type->part.empty()) return;
        if (random_.one_in(3)) {
            if (Field* const element = pick(type->part[0], 1)) element->value = 1 + random_.below(16);
            return;
        }
        Field* const shape = pick(type->part[0], 2);
        if (shape == nullptr || shape->part.empty()) return;
        Message dimension;
        dimension.kind = &kDimension;
        if (random_.one_in(4))
            dimension.fields.push_back(of_bytes(2, random_.one_in(2) ? "N" : "T"));
        else
            dimension.fields.push_back(of_number(1, random_.one_in(4) ? number() : 1 + random_.below(6)));
        Field made = of_bytes(1, "");
        made.part.push_back(dimension);
        Field* const old = pick(shape->part[0], 1);
        if (old != nullptr && !random_.one_in(4))
            *old = made;
        else
            shape->part[0].fields.push_back(made);
    }

    // One more, one less, or in another order. Pointers into the graph end here.
    void change_nodes(Message& model) {
        for (Field& field : model.fields) {
            if (field.number != 7 || field.part.empty()) continue;
            std::vector<Field>& fields = field.part[0].fields;
            std::vector<size_t> places;
            for (size_t i = 0; i < fields.size(); ++i)
                if (fields[i].number == 1) places.push_back(i);
            if (places.empty()) continue;
            const size_t at = places[random_.below(places.size())],
                         other = places[random_.below(places.size())];
            switch (random_.below(3)) {
                case 0:
                    std::swap(fields[at], fields[other]);
                    break;
                case 1: {
                    const Field copy = fields[at];
                    fields.push_back(copy);
                    break;
                }
                default:
                    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        nodes_.clear(), attributes_.clear(), tensors_.clear(), ports_.clear(), names_.clear();
        collect(model);
    }

    Random random_;
    std::vector<Message*> nodes_, attributes_, tensors_, ports_;
    std::vector<std::string> names_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    if (seed % 8 != 0) {
        try {
            Message model = read(std::string(reinterpret_cast<const char*>(data), size), kModel, 0);
            Mutation(seed).change(model);
            const std::string bytes = write(model);
            if (bytes.size() <= max_size) {
                std::copy(bytes.begin(), bytes.end(), data);
                return bytes.size();
            }
        } catch (const protozero::exception&) {  // no messages: as libFuzzer changes bytes
        } catch (const Broken&) {
        }
    }
    return LLVMFuzzerMutate(data, size, max_size);
}
