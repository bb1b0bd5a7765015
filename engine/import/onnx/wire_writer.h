// The wire format of protocol buffers the other way: fields of one message, appended to a text in the order
// of the calls, which is that of their numbers. Lists are not packed: so onnx.proto has them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "engine/import/protobuf.h"

namespace volta::onnx {

class FieldWriter {
  public:
    explicit FieldWriter(std::pmr::string& out) : out_(out) {}

    void integer(std::uint32_t field, std::int64_t value) {
        key(field, protozero::pbf_wire_type::varint);
        varint(static_cast<std::uint64_t>(value));
    }
    void real(std::uint32_t field, float value) {
        key(field, protozero::pbf_wire_type::fixed32);
        char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        out_.append(bytes, sizeof bytes);
    }
    void bytes(std::uint32_t field, std::string_view value) {
        head(field, value.size());
        out_ += value;
    }
    // Of a field whose bytes follow elsewhere.
    void head(std::uint32_t field, std::uint64_t size) {
        key(field, protozero::pbf_wire_type::length_delimited);
        varint(size);
    }

  private:
    void key(std::uint32_t field, protozero::pbf_wire_type type) {
        varint(field << 3 | static_cast<std::uint32_t>(type));
    }
    void varint(std::uint64_t value) {
        char bytes[protozero::max_varint_length];
        out_.append(bytes, static_cast<std::size_t>(protozero::add_varint_to_buffer(bytes, value)));
    }
    std::pmr::string& out_;
};

}  // namespace volta::onnx
