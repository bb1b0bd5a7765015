#include "tests/model/model_editor.h"

#include <cstdio>
#include <cstring>

#include "engine/base/hash.h"
#include "engine/model/file_layout.h"

namespace volta::test {
namespace {

template <class T>
void append(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

object::Checksum checksum_of(std::string_view bytes) {
    const Hash128 hash = hash_bytes(bytes.data(), bytes.size());
    return object::Checksum(hash.low, hash.high);
}

// The verifier minds where a list begins, not how its elements are aligned.
bool is_aligned(const flatbuffers::Vector<std::int64_t>* list) {
    return list == nullptr || list->size() == 0 ||
           reinterpret_cast<std::uintptr_t>(list->Data()) % alignof(std::int64_t) == 0;
}
template <class List, class Fits>
bool all_of(const List* list, Fits fits) {
    for (flatbuffers::uoffset_t i = 0; list != nullptr && i < list->size(); ++i)
        if (!fits(*list->Get(i))) return false;
    return true;
}
bool lists_are_aligned(const object::Model& model) {
    const auto attribute = [](const object::Attribute& x) { return is_aligned(x.integers()); };
    const auto node = [&](const object::Node& x) {
        return is_aligned(x.shape()) && all_of(x.attributes(), attribute);
    };
    return all_of(model.tensors(), [](const object::Tensor& x) { return is_aligned(x.shape()); }) &&
           (model.graph() == nullptr || all_of(model.graph()->nodes(), node));
}

}  // namespace

object::TensorT& ModelEditor::tensor(std::string_view name) {
    for (auto& tensor : model.tensors)
        if (tensor->name == name) return *tensor;
    std::fprintf(stderr, "no tensor %s\n", std::string(name).c_str());
    std::abort();
}

object::NodeT& ModelEditor::node(std::string_view op_or_name) {
    for (auto& node : model.graph->nodes)
        if (node->op == op_or_name || node->name == op_or_name) return *node;
    std::fprintf(stderr, "no node %s\n", std::string(op_or_name).c_str());
    std::abort();
}

std::string frame(std::string_view metadata, std::string_view data, std::uint32_t format_version,
                  std::string_view magic) {
    std::string file(magic.empty() ? std::string_view(kMagic, sizeof kMagic) : magic);
    append(file, format_version);
    append(file, static_cast<std::uint32_t>(metadata.size()));
    file += metadata;
    const Hash128 hash = hash_bytes(file.data(), file.size());
    append(file, hash.low);
    append(file, hash.high);
    file.resize(static_cast<std::size_t>(aligned(file.size())), '\0');
    file += data;
    return file;
}

bool take_apart(std::string_view file, ModelEditor* editor) {
    Preamble preamble;
    if (file.size() < sizeof preamble) return false;
    std::memcpy(&preamble, file.data(), sizeof preamble);
    if (preamble.metadata_bytes > kMaxMetadataBytes || data_start(preamble.metadata_bytes) > file.size())
        return false;
    const std::string metadata(
        file.substr(sizeof preamble, preamble.metadata_bytes));  // aligned by its allocation
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(metadata.data());
    flatbuffers::Verifier verifier(bytes, metadata.size(), 64, 100000);
    if (!object::VerifyModelBuffer(verifier)) return false;
    if (!lists_are_aligned(*object::GetModel(bytes))) return false;
    object::GetModel(bytes)->UnPackTo(&editor->model);
    editor->data = file.substr(static_cast<std::size_t>(data_start(preamble.metadata_bytes)));
    editor->format_version = preamble.format_version;
    return true;
}

std::string put_together(const ModelEditor& editor) {
    flatbuffers::FlatBufferBuilder builder;
    object::FinishModelBuffer(builder, object::CreateModel(builder, &editor.model));
    const std::string_view metadata(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                                    builder.GetSize());
    return frame(metadata, editor.data, editor.format_version, editor.magic);
}

void refresh_checksums(ModelEditor& editor) {
    for (auto& tensor : editor.model.tensors) {
        if (tensor->offset > editor.data.size() || tensor->bytes > editor.data.size() - tensor->offset)
            continue;
        const std::string_view data(editor.data);
        *tensor->checksum = checksum_of(
            data.substr(static_cast<std::size_t>(tensor->offset), static_cast<std::size_t>(tensor->bytes)));
    }
}

void relayout(ModelEditor& editor) {
    std::uint64_t end = 0;
    for (auto& tensor : editor.model.tensors) {
        std::uint64_t elements = 1;
        for (const std::int64_t extent : tensor->shape) elements *= static_cast<std::uint64_t>(extent);
        tensor->offset = aligned(end);
        tensor->bytes = elements * 4;
        end = tensor->offset + tensor->bytes;
    }
    editor.data.assign(static_cast<std::size_t>(end), '\0');
    editor.model.data_bytes = end;
    refresh_checksums(editor);
}

std::string read_bytes(const std::string& path) {
    std::string bytes;
    if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
        char block[4096];
        for (std::size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, n);
        std::fclose(file);
    }
    return bytes;
}

void write_bytes(const std::string& path, std::string_view bytes) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
        std::perror(path.c_str());
        std::abort();
    }
    std::fclose(file);
}

}  // namespace volta::test
