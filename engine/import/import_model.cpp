#include "engine/import/import_model.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/import/assemble.h"
#include "engine/import/chat_template.h"
#include "engine/import/file_kind.h"
#include "engine/import/gguf_weights.h"
#include "engine/import/import_error.h"
#include "engine/import/llama2c.h"
#include "engine/import/model_folder.h"
#include "engine/import/onnx/file.h"
#include "engine/import/safetensors.h"
#include "engine/import/tokenizer_files.h"
#include "engine/model/adapters.h"

namespace volta {
namespace {

constexpr std::size_t kMostKeyMapBytes = std::size_t{1} << 20;

class Importer {
  public:
    Importer(const char* path, const ImportOptions& options, std::pmr::memory_resource* structures,
             std::pmr::memory_resource* tensors)
        : path_(path),
          blamed_(path),
          weights_(structures),
          config_path_(structures),
          tokenizer_path_(structures),
          options_(options),
          structures_(structures),
          tensors_(tensors) {}

    HeapPtr<Model> import() {
        try {
            return import_all();
        } catch (const Error& error) {
            fail_about(error, "cannot import the model", blamed_);
        }
    }

  private:
    // What `body` does; where that fails, the file to name is `path`, not the weights.
    template <class Body>
    auto about(const char* path, Body body) {
        try {
            return body();
        } catch (const Error&) {
            blamed_ = path;
            throw;
        }
    }

    HeapPtr<Model> import_all() {
        find_files();
        HeapPtr<Model> model = import_weights();
        const std::pmr::string* const architecture = model->find_metadata("volta.architecture");
        if (options_.bert && !takes_choice_)
            fail(VOLTA_INVALID_ARGUMENT, "the head and the inputs of a BERT are given, but %s",
                 architecture != nullptr && *architecture == "bert" ? "it says itself which it has"
                                                                    : "it is no BERT");
        if (options_.network && !takes_network_)
            fail(VOLTA_INVALID_ARGUMENT, "a %s is asked for, but the file says itself what it is",
                 options_.network->network->name);
        if (!tokenizer_path_.empty())
            about(tokenizer_path_.c_str(), [&] {
                model->tokenizer.emplace(named_tokenizer());
                check_tokenizer(*model);
                describe_chat(find_chat_template(tokenizer_path_, structures_), *model);
            });
        else if (model->tokenizer && !is_graph_)
            check_tokenizer(*model);
        return model;
    }

    // Of a folder, its weights and the tokenizer beside them, which an option may name otherwise.
    void find_files() {
        require(options_.tokenizer_path == nullptr || *options_.tokenizer_path != '\0',
                "the path of the tokenizer is empty");
        if (options_.tokenizer_path != nullptr) tokenizer_path_ = options_.tokenizer_path;
        const bool takes_folder =
            options_.format == WeightFormat::automatic || options_.format == WeightFormat::safetensors;
        if (!takes_folder || !is_folder(path_)) return;
        weights_ = find_weights(path_, structures_);
        if (tokenizer_path_.empty() && !options_.no_tokenizer)
            tokenizer_path_ = find_tokenizer(path_, structures_);
        path_ = blamed_ = weights_.c_str();
    }

    HeapPtr<Model> import_weights() {
        MappedFile file(path_);
        const WeightFormat format =
            options_.format == WeightFormat::automatic ? format_of(file) : options_.format;
        require(format == WeightFormat::onnx || options_.onnx.shape_count == 0,
                "shapes are given, but it is no ONNX file");
        require(format == WeightFormat::onnx || !options_.onnx.exact_graph,
                "an exact graph is asked for, but it is no ONNX file");
        if (format == WeightFormat::gguf) return from_gguf(std::move(file));
        if (format == WeightFormat::llama2c) {
            check_kind(file);
            return from_llama2c(std::move(file));
        }
        if (format == WeightFormat::onnx) {
            check_kind(file);
            return from_onnx(std::move(file));
        }
        return from_safetensors(is_index(file) ? read_safetensors_index(path_, structures_)
                                               : read_safetensors(path_, structures_));
    }

    // The length that a safetensors file begins with may be a brace, too.
    static bool is_index(const MappedFile& file) {
        return begins(file, "{") && !looks_like_safetensors(file.data(), file.bytes());
    }

    static WeightFormat format_of(const MappedFile& file) {
        if (begins(file, "GGUF")) return WeightFormat::gguf;
        if (is_index(file) || looks_like_safetensors(file.data(), file.bytes()))
            return WeightFormat::safetensors;
        if (onnx::looks_like_onnx({reinterpret_cast<const char*>(file.data()), file.bytes()}))
            return WeightFormat::onnx;
        if (looks_like_llama2c(file.data(), file.bytes())) return WeightFormat::llama2c;
        fail_unknown(file);
    }

    static bool begins(const MappedFile& file, std::string_view magic) {
        return file.bytes() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
    }

    static void check_kind(const MappedFile& file) {
        const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.bytes());
        if (const char* kind = other_file_kind(bytes)) fail(VOLTA_UNSUPPORTED, "it is %s", kind);
    }

    [[noreturn]] static void fail_unknown(const MappedFile& file) {
        if (file.bytes() == 0) fail(VOLTA_UNSUPPORTED, "it is empty");
        check_kind(file);
        if (std::all_of(file.data(), file.data() + std::min<std::size_t>(file.bytes(), 4096),
                        [](unsigned char byte) { return byte == 0; }))
            fail(VOLTA_UNSUPPORTED, "it begins with zeros, as a download that has not ended does");
        if (begins(file, "VOLTA")) fail(VOLTA_UNSUPPORTED, "it is a model of Volta already: open it");
        fail(VOLTA_UNSUPPORTED,
             "it is no file of weights that is known: safetensors, an index of several, GGUF, ONNX or "
             "llama2.c");
    }

    HeapPtr<Model> from_gguf(MappedFile&& mapping) {
        const GgufFile file(mapping.data(), mapping.bytes(), structures_);
        require_first_part(file);
        const KeyMap keys = key_map(naming_of(file));
        takes_choice_ = file.string("general.architecture") == "bert";
        const BertChoice choice = options_.bert.value_or(BertChoice());
        const WeightSource source = read_gguf_weights(file, std::move(mapping), path_, structures_);
        HeapPtr<Model> model =
            assembled(source, keys, architecture_from_gguf(file, source, keys, choice, structures_));
        if (tokenizer_path_.empty() && !options_.no_tokenizer && has_gguf_tokenizer(file))
            model->tokenizer.emplace(own_tokenizer(file));
        if (model->tokenizer) describe_chat(file.string("tokenizer.chat_template", ""), *model);
        return model;
    }

    Tokenizer own_tokenizer(const GgufFile& file) const {
        return if_known([&] { return read_gguf_tokenizer(file, structures_); });
    }

    Tokenizer named_tokenizer() const {
        const auto open = [&] {
            return open_tokenizer(tokenizer_path_.c_str(), TokenizerFormat::automatic, structures_);
        };
        return options_.tokenizer_path != nullptr ? open() : if_known(open);
    }

    // A tokenizer that nobody has named.
    template <class Read>
    static Tokenizer if_known(Read read) {
        try {
            return read();
        } catch (const Error& error) {
            if (error.status() != VOLTA_UNSUPPORTED) throw;
            fail(VOLTA_UNSUPPORTED, "%s; the model can be had without one (--tokenizer none, no_tokenizer)",
                 error.what());
        }
    }

    HeapPtr<Model> from_onnx(MappedFile&& mapping) {
        require(options_.key_map_path == nullptr,
                "a key map is given, but an ONNX file has names of its own");
        require(!options_.weights || !is_stored(*options_.weights),
                "the weights of an ONNX file become f32; a model can be quantized");
        is_graph_ = true;
        HeapPtr<Model> model =
            onnx::import_onnx(std::move(mapping), path_, options_.onnx, structures_, tensors_);
        if (options_.no_tokenizer) model->tokenizer.reset();
        return model;
    }

    HeapPtr<Model> from_llama2c(MappedFile&& mapping) {
        const Llama2c file = read_llama2c(std::move(mapping), structures_);
        const KeyMap keys = key_map(find_naming("llama2.c", "llama"));
        return assembled(file.source, keys, completed(file.config));
    }

    HeapPtr<Model> from_safetensors(WeightSource&& source) {
        if (source.find_text("volta.architecture") == nullptr)
            return from_foreign_safetensors(std::move(source));
        const KeyMap keys = key_map(naming_of(source, nullptr));
        HeapPtr<Model> model = assembled(source, keys, architecture_from_texts(source.texts));
        add_texts(source, *model);
        return model;
    }

    // Sizes that cannot be are told of the config, which says them: the weights only fill in what it leaves
    // out.
    HeapPtr<Model> from_foreign_safetensors(WeightSource&& source) {
        if (options_.network) return from_network(std::move(source));
        config_path_ = find_config();
        if (config_path_.empty()) naming_of(source, nullptr);  // says that there is none
        const char* const path = config_path_.c_str();
        const ConfigFile config = about(path, [&] { return ConfigFile(path, structures_); });
        const Naming& naming = *about(path, [&] { return &naming_of(source, &config); });
        KeyMap keys = key_map(naming);
        keys.set_wrapper(common_wrapper(source));
        add_shared(source, keys);
        takes_choice_ = encoder_naming(config.text("model_type", "")) != nullptr;
        const BertChoice choice = options_.bert.value_or(BertChoice());
        const Architecture architecture =
            about(path, [&] { return architecture_from_config(config, source, keys, choice, structures_); });
        Graph graph = about(path, [&] { return build_graph(architecture, structures_); });
        HeapPtr<Model> model = assemble(source, keys, architecture, std::move(graph), options_.weights,
                                        structures_, tensors_, *options_.stop, options_.log);
        const std::pmr::string type(config.text("model_type", ""), structures_);
        if (has_other_modules(type)) model->set_metadata("volta.model_type", type.c_str());
        return model;
    }

    HeapPtr<Model> from_network(WeightSource&& source) {
        const NetworkConfig& given = *options_.network;
        KeyMap keys = key_map(find_naming("pytorch", given.network->architecture));
        keys.set_wrapper(common_wrapper(source));
        takes_network_ = true;
        return assembled(source, keys, network_architecture(given, source, keys, structures_));
    }

    // What all names begin with, up to its last dot.
    static std::string_view common_wrapper(const WeightSource& source) {
        if (source.tensors.empty()) return {};
        const std::string_view first = source.tensors.front().name, last = source.tensors.back().name;
        const std::size_t most = std::min(first.size(), last.size());  // sorted: the others are between them
        const auto differ = std::mismatch(first.begin(), first.begin() + most, last.begin()).first;
        const std::string_view common = first.substr(0, static_cast<std::size_t>(differ - first.begin()));
        return common.substr(0, common.rfind('.') + 1);
    }

    // Of tensors that share their memory, safetensors' save_model writes one, and says in the metadata which
    // of them each other name stands for.
    void add_shared(WeightSource& source, const KeyMap& keys) const {
        std::pmr::vector<WeightTensor> shared(structures_);
        for (const Metadata& text : source.texts) {
            if (source.find(text.key) != nullptr) continue;
            const auto match = keys.match(text.key, structures_);
            const WeightTensor* tensor = source.find(text.value);
            if (!match || match->parameter.empty() || tensor == nullptr) continue;
            check_weight_name(text.key);
            shared.push_back({std::pmr::string(text.key, structures_), tensor->type, tensor->shape,
                              tensor->data, tensor->bytes});
        }
        for (WeightTensor& tensor : shared) add_tensor(source, std::move(tensor));
        if (!shared.empty()) finish_tensors(source);
    }

    HeapPtr<Model> assembled(const WeightSource& source, const KeyMap& keys,
                             const Architecture& architecture) {
        return assemble(source, keys, architecture, build_graph(architecture, structures_), options_.weights,
                        structures_, tensors_, *options_.stop, options_.log);
    }

    // A model may have rows that no id reaches, as padding; an id without a row would be no input of it.
    static void check_tokenizer(const Model& model) {
        const NamedTensor* table = model.find_parameter("token_embedding");
        if (table == nullptr)
            fail(VOLTA_INVALID_ARGUMENT, "a tokenizer is given, but the model reads no tokens");
        const std::int64_t rows = table->shape[0];
        if (model.tokenizer->size() > rows)
            fail(VOLTA_SHAPE_MISMATCH, "the tokenizer has %d ids, the model a vocabulary of %lld",
                 model.tokenizer->size(), static_cast<long long>(rows));
    }

    // What the host named, else config.json in the file's folder; "" when there is none.
    std::pmr::string find_config() const {
        if (options_.config_path != nullptr) return std::pmr::string(options_.config_path, structures_);
        const std::string_view path(path_);
        std::pmr::string beside(path.substr(0, path.rfind('/') + 1), structures_);
        beside += "config.json";
        if (!file_exists(beside.c_str())) beside.clear();
        return beside;
    }

    KeyMap key_map(const Naming& naming) {
        const char* const path = options_.key_map_path;
        if (path == nullptr) return KeyMap(naming, "", structures_);
        return about(path, [&] {
            const Buffer bytes = read_file(path, structures_, kMostKeyMapBytes);
            return KeyMap(naming, {static_cast<const char*>(bytes.data()), bytes.bytes()}, structures_);
        });
    }

    // The host's own metadata of a model that Volta exported.
    static void add_texts(const WeightSource& source, Model& model) {
        try {
            for (const Metadata& text : source.texts)
                if (model.find_metadata(text.key.c_str()) == nullptr)
                    model.set_metadata(text.key.c_str(), text.value.c_str());
        } catch (const Error& error) {
            fail(VOLTA_CORRUPT_MODEL, "in its metadata: %s", error.what());
        }
    }

    const char* path_;
    const char* blamed_;        // the file that a failure is about
    std::pmr::string weights_;  // of a folder; else empty
    std::pmr::string config_path_, tokenizer_path_;
    const ImportOptions& options_;
    bool takes_choice_ = false;   // the file is one that options_.bert is for
    bool takes_network_ = false;  // likewise options_.network
    bool is_graph_ = false;       // of ONNX: a tokenizer in it was given to this very graph
    std::pmr::memory_resource* structures_;
    std::pmr::memory_resource* tensors_;
};

}  // namespace

HeapPtr<Model> import_model(const char* path, const ImportOptions& options,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    return Importer(path, options, structures, tensors).import();
}

std::pmr::string survey_model(const char* path, const ImportOptions& options,
                              std::pmr::memory_resource* structures) {
    try {
        const MappedFile file(path);
        const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.bytes());
        if (options.format != WeightFormat::onnx && !onnx::looks_like_onnx(bytes)) {
            if (const char* kind = other_file_kind(bytes)) fail(VOLTA_UNSUPPORTED, "it is %s", kind);
            fail(VOLTA_UNSUPPORTED, "it is no ONNX file");
        }
        return onnx::survey_onnx(file, path, options.onnx, structures);
    } catch (const Error& error) {
        fail_about(error, "cannot survey the model", path);
    }
}

}  // namespace volta
