// ONNX files made by a test.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace volta::test {

using Messages = std::vector<std::string>;
using Names = std::vector<std::string>;

enum OnnxType {
    kFloat = 1,
    kUint8 = 2,
    kInt8 = 3,
    kInt32 = 6,
    kInt64 = 7,
    kBool = 9,
    kHalf = 10,
    kDouble = 11,
    kBrain = 16
};

template <class Fill>
std::string message(Fill fill) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    fill(writer);
    return bytes;
}

inline void add_head(protozero::pbf_writer& writer, const std::string& name, int type,
                     const std::vector<std::int64_t>& shape) {
    writer.add_packed_int64(1, shape.begin(), shape.end());
    writer.add_int32(2, type);
    writer.add_string(8, name);
}
template <class T>
std::string raw_tensor(const std::string& name, int type, const std::vector<std::int64_t>& shape,
                       const std::vector<T>& values) {
    return message([&](protozero::pbf_writer& writer) {
        add_head(writer, name, type, shape);
        writer.add_bytes(9, reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    });
}
inline std::string float_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                                const std::vector<float>& values) {
    return raw_tensor(name, kFloat, shape, values);
}
inline std::string int_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                              const std::vector<std::int64_t>& values) {
    return raw_tensor(name, kInt64, shape, values);
}

inline std::string int_attribute(const std::string& name, std::int64_t value) {
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        writer.add_int64(3, value);
        writer.add_int32(20, 2);
    });
}
inline std::string ints_attribute(const std::string& name, const std::vector<std::int64_t>& values) {
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        for (const std::int64_t value : values) writer.add_int64(8, value);
        writer.add_int32(20, 7);
    });
}
inline std::string floats_attribute(const std::string& name, const std::vector<float>& values) {
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        for (const float value : values) writer.add_float(7, value);
        writer.add_int32(20, 6);
    });
}
inline std::string float_attribute(const std::string& name, float value) {
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        writer.add_float(2, value);
        writer.add_int32(20, 1);
    });
}
inline std::string text_attribute(const std::string& name, const std::string& value) {
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        writer.add_bytes(4, value);
        writer.add_int32(20, 3);
    });
}
inline std::string texts_attribute(const std::string& name, const Names& values) {
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        for (const std::string& value : values) writer.add_bytes(9, value);
        writer.add_int32(20, 8);
    });
}
inline std::string tensor_attribute(const std::string& name, const std::string& tensor) {
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        writer.add_message(5, tensor);
        writer.add_int32(20, 4);
    });
}

inline std::string node(const std::string& op, const Names& inputs, const Names& outputs,
                        const Messages& attributes = {}, const std::string& domain = "") {
    return message([&](protozero::pbf_writer& writer) {
        for (const std::string& name : inputs) writer.add_string(1, name);
        for (const std::string& name : outputs) writer.add_string(2, name);
        writer.add_string(3, "the " + op);
        writer.add_string(4, op);
        for (const std::string& attribute : attributes) writer.add_message(5, attribute);
        if (!domain.empty()) writer.add_string(7, domain);
    });
}

// An extent of "" has neither number nor name; "N" a name, "3" a number.
inline std::string port(const std::string& name, int type, const Names& extents) {
    const std::string shape = message([&](protozero::pbf_writer& writer) {
        for (const std::string& extent : extents)
            writer.add_message(1, message([&](protozero::pbf_writer& dimension) {
                                   if (extent.empty()) return;
                                   if (extent[0] >= '0' && extent[0] <= '9')
                                       dimension.add_int64(1, std::stoll(extent));
                                   else
                                       dimension.add_string(2, extent);
                               }));
    });
    const std::string tensor = message([&](protozero::pbf_writer& writer) {
        writer.add_int32(1, type);
        writer.add_message(2, shape);
    });
    return message([&](protozero::pbf_writer& writer) {
        writer.add_string(1, name);
        writer.add_message(2, message([&](protozero::pbf_writer& of) { of.add_message(1, tensor); }));
    });
}

struct OnnxGraph {
    Messages nodes, initializers, inputs, outputs;
    std::int64_t opset = 17;
    std::string producer = "a test";
};

inline std::string onnx_file(const OnnxGraph& graph) {
    const std::string body = message([&](protozero::pbf_writer& writer) {
        for (const std::string& one : graph.nodes) writer.add_message(1, one);
        writer.add_string(2, "graph");
        for (const std::string& one : graph.initializers) writer.add_message(5, one);
        for (const std::string& one : graph.inputs) writer.add_message(11, one);
        for (const std::string& one : graph.outputs) writer.add_message(12, one);
    });
    return message([&](protozero::pbf_writer& writer) {
        writer.add_int64(1, 8);
        writer.add_string(2, graph.producer);
        writer.add_message(7, body);
        writer.add_message(8,
                           message([&](protozero::pbf_writer& opset) { opset.add_int64(2, graph.opset); }));
    });
}

}  // namespace volta::test
