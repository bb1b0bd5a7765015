#include "engine/import/model_folder.h"

#include <cstring>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/folder.h"

namespace volta {
namespace {

constexpr const char* kWeights[] = {"model.safetensors", "model.safetensors.index.json"};
// Weights that a folder may have instead, and that are not read.
constexpr const char* kPickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};

// Of several the first counts, as it does for Hugging Face's libraries.
struct TokenizerFile {
    const char* name;
    const char* beside;  // must be there, too; NULL: nothing
};
constexpr TokenizerFile kTokenizers[] = {{"tokenizer.json", nullptr},
                                         {"tokenizer.model", nullptr},
                                         {"vocab.json", "merges.txt"},
                                         {"encoder.json", "vocab.bpe"},
                                         {"vocab.txt", nullptr}};

bool has_file(const char* folder, const char* name, std::pmr::memory_resource* heap) {
    return file_exists(path_in(folder, name, heap).c_str());
}

bool is_safetensors(std::string_view name) {
    constexpr std::string_view kEnding = ".safetensors";
    return name.size() > kEnding.size() && name.substr(name.size() - kEnding.size()) == kEnding;
}

// The only safetensors file of the folder; "" when there is none.
std::pmr::string only_safetensors(const char* folder, std::pmr::memory_resource* heap) {
    FolderReader reader(folder);
    std::pmr::string found(heap);
    for (FolderReader::Entry entry = reader.next(); entry.name != nullptr; entry = reader.next()) {
        if (entry.kind == FolderReader::Kind::folder || !is_safetensors(entry.name)) continue;
        if (!found.empty())
            fail(VOLTA_UNSUPPORTED,
                 "the folder has neither model.safetensors nor model.safetensors.index.json, but several "
                 "other "
                 "*.safetensors: name the one to read");
        found = entry.name;
    }
    if (reader.error() != 0)
        fail(VOLTA_IO_ERROR, "the folder cannot be read: %s", std::strerror(reader.error()));
    return found;
}

}  // namespace

std::pmr::string path_in(const char* folder, const char* name, std::pmr::memory_resource* heap) {
    std::pmr::string path(folder, heap);
    if (path.empty() || path.back() != '/') path += '/';
    path += name;
    return path;
}

std::pmr::string find_weights(const char* folder, std::pmr::memory_resource* heap) {
    for (const char* name : kWeights)
        if (has_file(folder, name, heap)) return path_in(folder, name, heap);
    const std::pmr::string only = only_safetensors(folder, heap);
    if (!only.empty()) return path_in(folder, only.c_str(), heap);
    for (const char* name : kPickles)
        if (has_file(folder, name, heap))
            fail(VOLTA_UNSUPPORTED,
                 "its weights are %s, a pickle of PyTorch: convert it first with tools/pt_to_safetensors.py",
                 name);
    fail(VOLTA_UNSUPPORTED,
         "it is a folder without weights: there is no model.safetensors in it, and no "
         "model.safetensors.index.json");
}

std::pmr::string find_tokenizer(const char* folder, std::pmr::memory_resource* heap) {
    for (const TokenizerFile& file : kTokenizers)
        if (has_file(folder, file.name, heap) &&
            (file.beside == nullptr || has_file(folder, file.beside, heap)))
            return path_in(folder, file.name, heap);
    return std::pmr::string(heap);
}

}  // namespace volta
