#include "engine/model/description.h"

#include <cstring>

#include "engine/base/error.h"
#include "engine/model/decode_model.h"
#include "engine/model/encode_model.h"
#include "engine/model/file_layout.h"
#include "engine/model/model_file.h"

namespace volta {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// RFC 4648, with padding.
void add_base64(std::pmr::string& text, const unsigned char* bytes, std::size_t count) {
    text.reserve(text.size() + (count + 2) / 3 * 4);
    for (std::size_t at = 0; at < count; at += 3) {
        const std::size_t left = count - at;
        const unsigned group = unsigned{bytes[at]} << 16 | (left > 1 ? bytes[at + 1] : 0u) << 8 |
                               (left > 2 ? bytes[at + 2] : 0u);
        text += kDigits[group >> 18];
        text += kDigits[group >> 12 & 63];
        text += left > 1 ? kDigits[group >> 6 & 63] : '=';
        text += left > 2 ? kDigits[group & 63] : '=';
    }
}

Buffer from_base64(std::string_view text, std::pmr::memory_resource* heap) {
    constexpr const char* kWrong = "its description is no base64";
    if (text.size() % 4 != 0) fail(VOLTA_CORRUPT_MODEL, "%s", kWrong);
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
    Buffer bytes(heap, text.size() / 4 * 3 - padding);
    auto* to = static_cast<unsigned char*>(bytes.data());
    unsigned group = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_padding = i >= text.size() - padding;
        const char* const digit = is_padding ? kDigits : std::strchr(kDigits, text[i]);
        if (digit == nullptr || *digit == '\0') fail(VOLTA_CORRUPT_MODEL, "%s", kWrong);
        group = group << 6 | static_cast<unsigned>(digit - kDigits);
        if (i % 4 != 3) continue;
        for (int shift = 16; shift >= 0; shift -= 8)
            if (static_cast<std::size_t>(to - static_cast<unsigned char*>(bytes.data())) < bytes.bytes())
                *to++ = static_cast<unsigned char>(group >> shift);
        group = 0;
    }
    return bytes;
}

}  // namespace

Description describe(const Model& model, std::pmr::memory_resource* heap) {
    Description description{std::pmr::string(heap), std::pmr::string(heap)};
    SaveSource source;
    source.model = &model;
    StoredTensors tensors(heap);
    const std::uint64_t data_bytes = collect_tensors(source, nullptr, tensors);
    BuilderHeap builder_heap(heap);
    flatbuffers::FlatBufferBuilder builder(4096, &builder_heap);
    encode_model(builder, model, nullptr, tensors, data_bytes);
    add_base64(description.model, builder.GetBufferPointer(), builder.GetSize());
    std::pmr::string constants(heap);
    for (const StoredTensor& tensor : tensors)
        if (tensor.role == fb::Role::constant)
            constants.append(static_cast<const char*>(tensor.data), static_cast<std::size_t>(tensor.bytes));
    add_base64(description.constants, reinterpret_cast<const unsigned char*>(constants.data()),
               constants.size());
    return description;
}

HeapPtr<Model> read_description(std::string_view model, std::string_view constants,
                                std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    if (model.size() / 4 * 3 > kMaxMetadataBytes) fail(VOLTA_CORRUPT_MODEL, "its description is too long");
    const Buffer metadata = from_base64(model, structures), elements = from_base64(constants, structures);
    const fb::Model& file = verified_metadata(metadata.data(), metadata.bytes());
    check_tensors(file, file.data_bytes(), structures);
    TensorBytes bytes(structures);
    std::uint64_t at = 0;
    for (const fb::Tensor* tensor : *file.tensors()) {
        const bool is_constant = tensor->role() == fb::Role::constant;
        bytes.push_back(is_constant ? static_cast<const char*>(elements.data()) + at : nullptr);
        if (is_constant && tensor->bytes() > elements.bytes() - at)
            fail(VOLTA_CORRUPT_MODEL, "its description lacks constants");
        at += is_constant ? tensor->bytes() : 0;
    }
    return decode_model(file, bytes, structures, tensors);
}

}  // namespace volta
