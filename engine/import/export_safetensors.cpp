#include "engine/import/export_safetensors.h"

#include <charconv>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace volta {
namespace {

// Names and texts are UTF-8 (engine/model/text.h): only what JSON itself forbids is escaped.
void add_text(std::pmr::string& json, std::string_view text) {
    constexpr const char* kHex = "0123456789abcdef";
    json += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20) {
            json += "\\u00";
            json += kHex[byte >> 4];
            json += kHex[byte & 15];
            continue;
        }
        if (c == '"' || c == '\\') json += '\\';
        json += c;
    }
    json += '"';
}

void add_number(std::pmr::string& json, std::uint64_t number) {
    char digits[24];
    json.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void add_tensor(std::pmr::string& json, const NamedTensor& tensor, std::uint64_t offset) {
    add_text(json, tensor.name);
    json += R"(:{"dtype":"F32","shape":[)";
    for (int axis = 0; axis < tensor.shape.rank; ++axis) {
        if (axis > 0) json += ',';
        add_number(json, static_cast<std::uint64_t>(tensor.shape[axis]));
    }
    json += R"(],"data_offsets":[)";
    add_number(json, offset);
    json += ',';
    add_number(json, offset + tensor.bytes());
    json += "]}";
}

// {"__metadata__": {...}, "<parameter>": {...}, ...}, with spaces at the end so that the data is aligned.
std::pmr::string header_of(const Model& model, std::pmr::memory_resource* heap) {
    std::pmr::string json("{\"__metadata__\":{", heap);
    for (const Metadata& text : model.metadata) {
        if (&text != model.metadata.data()) json += ',';
        add_text(json, text.key);
        json += ':';
        add_text(json, text.value);
    }
    json += '}';
    std::uint64_t offset = 0;
    for (const NamedTensor& parameter : model.parameters) {
        json += ',';
        add_tensor(json, parameter, offset);
        offset += parameter.bytes();
    }
    json += '}';
    while ((sizeof(std::uint64_t) + json.size()) % kTensorAlignment != 0) json += ' ';
    return json;
}

}  // namespace

void export_safetensors(const Model& model, const char* path, std::pmr::memory_resource* heap) {
    for (const NamedTensor& parameter : model.parameters)
        if (is_stored(parameter.dtype))
            fail(VOLTA_UNSUPPORTED,
                 "parameter '%s' is stored as %s: export the f32 model that it was made of",
                 parameter.name.c_str(), dtype_name(parameter.dtype));
    const std::pmr::string header = header_of(model, heap);
    const std::uint64_t header_bytes = header.size();
    AtomicFile file(path, heap);
    file.write(&header_bytes, sizeof header_bytes);
    file.write(header.data(), header.size());
    for (const NamedTensor& parameter : model.parameters)
        if (parameter.bytes() > 0) file.write(parameter.data, parameter.bytes());
    file.commit();
}

}  // namespace volta
