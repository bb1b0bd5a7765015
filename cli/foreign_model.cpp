#include "cli/foreign_model.h"

#include <unistd.h>

#include <cstdio>

#include "cli/checkpoint_folder.h"
#include "cli/files.h"
#include "cli/graphs.h"
#include "cli/support.h"
#include "cli/text.h"

namespace voltac {
namespace {

constexpr std::size_t kMagicBytes = 16;

std::string first_bytes(const std::string& path) {
    char bytes[kMagicBytes];
    std::FILE* file = is_folder(path) ? nullptr : std::fopen(path.c_str(), "rb");
    if (file == nullptr) return "";  // the library says why
    const std::size_t count = std::fread(bytes, 1, sizeof bytes, file);
    std::fclose(file);
    return std::string(bytes, count);
}

std::string beside(const std::string& path, const char* name) {
    return path.substr(0, path.rfind('/') + 1) + name;
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool is_safetensors(const std::string& bytes) {  // behind the length of its header
    return bytes.size() > 8 && bytes[8] == '{';
}

// What voltac convert is given: the folder of a file that Hugging Face's libraries wrote, for its tokenizer.
std::string source_of(const std::string& path) {
    if (is_folder(path)) return exists(path + "/config.json") ? path : "";
    const std::string bytes = first_bytes(path);
    if (is_safetensors(bytes) || has_ending(path, ".safetensors.index.json")) {
        const std::string folder = path.substr(0, path.rfind('/') + 1);
        return !exists(beside(path, "config.json")) ? path : folder.empty() ? "." : folder;
    }
    return bytes.compare(0, 4, "GGUF") == 0 || is_onnx_file(path) ? path : "";
}

// "llama.volta" of "models/llama.gguf" and "models/llama/".
std::string model_name(const std::string& source) {
    const std::string path = without_slashes(source);
    std::string name = path.substr(path.rfind('/') + 1);
    for (const char* ending : {".safetensors", ".gguf", ".onnx"})
        if (has_ending(name, ending)) name.resize(name.rfind('.'));
    return (name.find_first_not_of('.') == std::string::npos ? "model" : name) + ".volta";
}

// As a shell takes it.
std::string quoted(const std::string& word) {
    constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=,:@%";
    if (!word.empty() && word.front() != '-' && word.find_first_not_of(kPlain) == std::string::npos)
        return word;
    std::string text = "'";
    for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
    return (word.front() == '-' ? "./" : "") + text + "'";
}

}  // namespace

bool is_volta_model(const std::string& path) {
    return first_bytes(path).compare(0, 5, "VOLTA") == 0 || is_checkpoint_folder(path);
}

std::string conversion_hint(const std::string& path) {
    const std::string source = source_of(path);
    if (source.empty()) return "";
    return "; voltac convert " + quoted(one_line(without_slashes(source))) + " --out " +
           quoted(one_line(model_name(source))) + " makes a model file of it";
}

Model open_model(const Context& context, const std::string& path, const std::string& load) {
    volta_open_options options = VOLTA_OPEN_OPTIONS_INIT;
    options.mode = load == kLoadNames[VOLTA_LOAD_COPY] ? VOLTA_LOAD_COPY : VOLTA_LOAD_MAP;
    volta_model* model = nullptr;
    if (volta_model_open(context.get(), path.c_str(), &options, &model) != VOLTA_OK)
        failure(volta_last_error() + conversion_hint(path));
    return Model(model);
}

}  // namespace voltac
