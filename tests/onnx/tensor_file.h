// Values of the .pb files beside ONNX's cases, read without the library that is tested: any type as doubles.
#pragma once

#include <cstdint>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

namespace cases {

enum Type { kF32 = 1, kU8, kI8, kU16, kI16, kI32, kI64, kText, kFlag, kF16, kF64, kU32, kU64, kBf16 = 16 };

struct Tensor {
    int type = 0;
    std::vector<std::int64_t> shape;
    std::vector<double> values;
    bool readable = true;  // of a type that has numbers
    bool is_whole() const { return type != kF32 && type != kF16 && type != kF64 && type != kBf16; }
};

inline double half(std::uint16_t bits, bool brain) {
    if (brain) {
        const std::uint32_t wide = std::uint32_t{bits} << 16;
        float value;
        std::memcpy(&value, &wide, sizeof value);
        return static_cast<double>(value);
    }
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = 0;
    if (exponent == 31)
        value = fraction != 0 ? __builtin_nan("") : __builtin_inf();
    else
        value =
            __builtin_ldexp(exponent != 0 ? 1024 + fraction : fraction, (exponent != 0 ? exponent : 1) - 25);
    return bits >> 15 != 0 ? -value : value;
}

template <class T>
void append_raw(const protozero::data_view& raw, std::vector<double>& values) {
    for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, raw.data() + at, sizeof value);
        values.push_back(static_cast<double>(value));
    }
}

inline void append_raw(int type, const protozero::data_view& raw, std::vector<double>& values) {
    switch (type) {
        case kF32:
            return append_raw<float>(raw, values);
        case kF64:
            return append_raw<double>(raw, values);
        case kU8:
        case kFlag:
            return append_raw<std::uint8_t>(raw, values);
        case kI8:
            return append_raw<std::int8_t>(raw, values);
        case kU16:
            return append_raw<std::uint16_t>(raw, values);
        case kI16:
            return append_raw<std::int16_t>(raw, values);
        case kI32:
            return append_raw<std::int32_t>(raw, values);
        case kU32:
            return append_raw<std::uint32_t>(raw, values);
        case kI64:
            return append_raw<std::int64_t>(raw, values);
        case kU64:
            return append_raw<std::uint64_t>(raw, values);
        case kF16:
        case kBf16:
            for (std::size_t at = 0; at + 2 <= raw.size(); at += 2) {
                std::uint16_t bits;
                std::memcpy(&bits, raw.data() + at, sizeof bits);
                values.push_back(half(bits, type == kBf16));
            }
            return;
        default:
            return;
    }
}

inline Tensor read_tensor(const std::string& bytes) {
    using protozero::pbf_wire_type;
    Tensor tensor;
    for (protozero::pbf_reader field(bytes); field.next();) {
        const bool packed = field.wire_type() == pbf_wire_type::length_delimited;
        if (field.tag() == 1 && packed) {
            for (const std::int64_t extent : field.get_packed_int64()) tensor.shape.push_back(extent);
        } else if (field.tag() == 1) {
            tensor.shape.push_back(field.get_int64());
        } else if (field.tag() == 2) {
            tensor.type = field.get_int32();
        } else {
            field.skip();
        }
    }
    const bool is_half = tensor.type == kF16 || tensor.type == kBf16;
    const auto of_32_bits = [&](std::int32_t value) {
        tensor.values.push_back(is_half ? half(static_cast<std::uint16_t>(value), tensor.type == kBf16)
                                        : static_cast<double>(value));
    };
    for (protozero::pbf_reader field(bytes); field.next();) {
        const bool packed = field.wire_type() == pbf_wire_type::length_delimited;
        switch (field.tag()) {
            case 4:
                if (packed)
                    for (const float value : field.get_packed_float())
                        tensor.values.push_back(static_cast<double>(value));
                else
                    tensor.values.push_back(static_cast<double>(field.get_float()));
                break;
            case 5:
                if (packed)
                    for (const std::int32_t value : field.get_packed_int32()) of_32_bits(value);
                else
                    of_32_bits(field.get_int32());
                break;
            case 7:
                if (packed)
                    for (const std::int64_t value : field.get_packed_int64())
                        tensor.values.push_back(static_cast<double>(value));
                else
                    tensor.values.push_back(static_cast<double>(field.get_int64()));
                break;
            case 9:
                append_raw(tensor.type, field.get_view(), tensor.values);
                break;
            case 10:
                if (packed)
                    for (const double value : field.get_packed_double()) tensor.values.push_back(value);
                else
                    tensor.values.push_back(field.get_double());
                break;
            case 11:
                if (packed)
                    for (const std::uint64_t value : field.get_packed_uint64())
                        tensor.values.push_back(static_cast<double>(value));
                else
                    tensor.values.push_back(static_cast<double>(field.get_uint64()));
                break;
            default:
                field.skip();
        }
    }
    std::size_t count = 1;
    for (const std::int64_t extent : tensor.shape) count *= static_cast<std::size_t>(extent);
    tensor.readable =
        tensor.type != kText && tensor.type != 0 && tensor.type <= kBf16 && tensor.values.size() == count;
    return tensor;
}

// Of a ModelProto: the names of inputs that are no initialisers, and of outputs.
struct Ports {
    std::vector<std::string> inputs, outputs;
    std::vector<int> types;  // of the inputs
};

inline int element_type(protozero::pbf_reader port) {
    int type = 0;
    while (port.next(2)) {
        protozero::pbf_reader of = port.get_message();
        while (of.next(1)) {
            protozero::pbf_reader tensor = of.get_message();
            while (tensor.next(1)) type = tensor.get_int32();
        }
    }
    return type;
}

inline Ports read_ports(const std::string& bytes) {
    Ports ports;
    std::vector<std::string> initialisers, inputs;
    std::vector<int> types;
    const auto name_of = [](protozero::pbf_reader port, std::uint32_t tag) {
        std::string name;
        while (port.next()) {
            if (port.tag() == tag)
                name = port.get_string();
            else
                port.skip();
        }
        return name;
    };
    for (protozero::pbf_reader model(bytes); model.next();) {
        if (model.tag() != 7) {
            model.skip();
            continue;
        }
        for (protozero::pbf_reader graph = model.get_message(); graph.next();) {
            switch (graph.tag()) {
                case 5:
                    initialisers.push_back(name_of(graph.get_message(), 8));
                    break;
                case 11: {
                    const protozero::pbf_reader port = graph.get_message();
                    inputs.push_back(name_of(port, 1));
                    types.push_back(element_type(port));
                    break;
                }
                case 12:
                    ports.outputs.push_back(name_of(graph.get_message(), 1));
                    break;
                default:
                    graph.skip();
            }
        }
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        bool has_value = false;
        for (const std::string& other : initialisers) has_value = has_value || other == inputs[i];
        if (has_value) continue;
        ports.inputs.push_back(inputs[i]);
        ports.types.push_back(types[i]);
    }
    return ports;
}

// Bytes behind a ModelProto that give an input a value, as an initialiser of its name: protobuf merges the
// two graphs.
inline void append_varint(std::string& bytes, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
    bytes += static_cast<char>(value);
}
inline void append_field(std::string& bytes, unsigned number, const std::string& value) {
    append_varint(bytes, number << 3 | 2);
    append_varint(bytes, value.size());
    bytes += value;
}
inline std::string bound(const std::string& name, std::string tensor) {
    append_field(tensor, 8, name);  // a later name counts
    std::string graph, model;
    append_field(graph, 5, tensor);
    append_field(model, 7, graph);
    return model;
}

}  // namespace cases
