// From bytes to a model: frame, checksum, metadata, places, then everything the metadata says.
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/decode_model.h"
#include "engine/model/file_layout.h"
#include "engine/model/model_file.h"
#include "engine/model/parts.h"
#include "engine/model/text.h"

namespace volta {
namespace {

struct Frame {
    const unsigned char* metadata;
    std::uint32_t metadata_bytes;
    const unsigned char* data_section;
    std::uint64_t data_bytes;
};

bool all_zero(const unsigned char* begin, const unsigned char* end) {
    for (; begin != end; ++begin)
        if (*begin != 0) return false;
    return true;
}

bool checksum_matches(const unsigned char* data, std::size_t bytes, std::uint64_t low, std::uint64_t high) {
    return hash_bytes(data, bytes) == Hash128{high, low};
}

Preamble read_preamble(const unsigned char* data, std::size_t bytes) {
    if (bytes < kPreambleBytes)
        fail(VOLTA_CORRUPT_MODEL, "it has %zu bytes, fewer than the %zu of the preamble", bytes,
             kPreambleBytes);
    Preamble preamble;
    std::memcpy(&preamble, data, sizeof preamble);
    if (std::memcmp(preamble.magic, kMagic, sizeof kMagic) != 0)
        fail(VOLTA_CORRUPT_MODEL, "it is no Volta model: it does not start with the bytes that mark one");
    if (preamble.format_version != kFormatVersion)
        fail(VOLTA_UNSUPPORTED, "it has format version %u; this library reads version %u",
             preamble.format_version, kFormatVersion);
    if (preamble.metadata_bytes > kMaxMetadataBytes)
        fail(VOLTA_CORRUPT_MODEL, "its metadata has %u bytes, the most are %u", preamble.metadata_bytes,
             kMaxMetadataBytes);
    return preamble;
}

// The frame of a file whose metadata is what was written. Touches nothing of the data section.
Frame read_frame(const unsigned char* data, std::size_t bytes) {
    const Preamble preamble = read_preamble(data, bytes);
    const std::size_t checksum_at = kPreambleBytes + preamble.metadata_bytes;
    const std::uint64_t start = data_start(preamble.metadata_bytes);
    if (start > bytes)
        fail(VOLTA_CORRUPT_MODEL, "it is cut off: %zu bytes, its metadata of %u bytes ends at %llu", bytes,
             preamble.metadata_bytes, static_cast<unsigned long long>(start));
    ChecksumBytes stored;
    std::memcpy(&stored, data + checksum_at, sizeof stored);
    if (!checksum_matches(data, checksum_at, stored.low, stored.high))
        fail(VOLTA_CORRUPT_MODEL, "the checksum of its metadata does not match");
    if (!all_zero(data + checksum_at + kChecksumBytes, data + start))
        fail(VOLTA_CORRUPT_MODEL, "the padding behind its metadata is not zero");
    return {data + kPreambleBytes, preamble.metadata_bytes, data + start, bytes - start};
}

TensorBytes locate_tensors(const fb::Model& file, const Frame& frame, std::pmr::memory_resource* heap) {
    TensorBytes bytes(heap);
    bytes.reserve(file.tensors()->size());
    for (const fb::Tensor* tensor : *file.tensors()) bytes.push_back(frame.data_section + tensor->offset());
    return bytes;
}

// Constants are read at once, so they are always compared; the rest when the caller asks.
void compare_checksums(const fb::Model& file, const Frame& frame, bool all, const Stop& stop) {
    std::uint64_t end = 0;
    std::size_t index = 0;
    for (const fb::Tensor* tensor : *file.tensors()) {
        if (all) stop.ask("the checksum of tensor", index++, file.tensors()->size());
        const unsigned char* data = frame.data_section + tensor->offset();
        const ShownName name = shown(view(tensor->name()));
        if (all && !all_zero(frame.data_section + end, data))
            fail(VOLTA_CORRUPT_MODEL, "the padding before tensor '%.*s' is not zero", name.bytes, name.text);
        end = tensor->offset() + tensor->bytes();
        if ((all || tensor->role() == fb::Role::constant) &&
            !checksum_matches(data, tensor->bytes(), tensor->checksum()->low(), tensor->checksum()->high()))
            fail(VOLTA_CORRUPT_MODEL, "the checksum of tensor '%.*s' does not match", name.bytes, name.text);
    }
}

HeapPtr<Model> read_frame_and_model(const void* data, std::size_t bytes, bool verify, const Stop& stop,
                                    std::pmr::memory_resource* structures,
                                    std::pmr::memory_resource* tensors) {
    const Frame frame = read_frame(static_cast<const unsigned char*>(data), bytes);
    const fb::Model& file = verified_metadata(frame.metadata, frame.metadata_bytes);
    check_tensors(file, frame.data_bytes, structures);
    compare_checksums(file, frame, verify, stop);
    return decode_model(file, locate_tensors(file, frame, structures), structures, tensors);
}

// Says what was being done. The path goes last, where a message that is too long is cut.
template <class Body>
HeapPtr<Model> opening(const char* path, Body body) {
    try {
        return body();
    } catch (const Error& error) {
        if (path == nullptr) fail(error.status(), "cannot open the model: %s", error.what());
        fail(error.status(), "cannot open the model: %s ('%s')", error.what(), path);
    }
}

}  // namespace

HeapPtr<Model> read_model(const void* data, std::size_t bytes, const ReadOptions& options,
                          std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    require(data != nullptr || bytes == 0, "the memory to read a model from is NULL");
    const bool copied = options.mode == LoadMode::copy;
    require(copied || reinterpret_cast<std::uintptr_t>(data) % kTensorAlignment == 0,
            "the memory to read a model from is not aligned to %zu bytes, and is not to be copied",
            kTensorAlignment);
    Buffer copy(tensors, copied ? bytes : 0);
    if (copied && bytes > 0) std::memcpy(copy.data(), data, bytes);
    HeapPtr<Model> model = opening(nullptr, [&] {
        return read_frame_and_model(copied ? copy.data() : data, bytes, copied || options.verify_checksums,
                                    *options.stop, structures, tensors);
    });
    model->block = std::move(copy);
    return model;
}

HeapPtr<Model> read_model(const char* path, const ReadOptions& options, std::pmr::memory_resource* structures,
                          std::pmr::memory_resource* tensors) {
    const bool copied = options.mode == LoadMode::copy;
    const bool has_parts = path != nullptr && is_folder(path), is_in_memory = has_parts || copied;
    Buffer copy = copied && !has_parts ? read_file(path, tensors) : Buffer();
    MappedFile mapping = is_in_memory ? MappedFile() : MappedFile(path);
    HeapPtr<Model> model = opening(path, [&] {
        if (has_parts) copy = read_parts(path, *options.stop, structures, tensors);
        return read_frame_and_model(is_in_memory ? copy.data() : mapping.data(),
                                    is_in_memory ? copy.bytes() : mapping.bytes(),
                                    copied || options.verify_checksums, *options.stop, structures, tensors);
    });
    model->mapping = std::move(mapping);
    model->block = std::move(copy);
    return model;
}

}  // namespace volta
