// Any bytes as a file of weights, through the public header: volta_model_import must give a model or a
// reason, within fuzz/limits.h, with its weights kept and with them as f32; a model that it gives is exported
// and imported again, or saved and opened, with the same hash. One target per container: FUZZ_FORMAT is one
// of VOLTA_WEIGHTS_*.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "fuzz/files.h"
#include "fuzz/import_file.h"
#include "fuzz/limits.h"

namespace {
using fuzz::expect;

// A folder with the configs that safetensors files need, and the files of a run.
struct Place {
    std::string gpt, llama, bert, file, second, exported, config;  // second: the other part of a GGUF file
};

Place make_place() {
    constexpr char kGpt[] = R"({"model_type": "gpt2", "n_head": 2})";
    constexpr char kLlama[] = R"({"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1,)"
                              R"("tie_word_embeddings": true})";
    const std::string& folder = fuzz::folder();
    constexpr char kBert[] = R"({"model_type": "bert", "num_attention_heads": 2})";
    Place place = {folder + "/gpt.json",
                   folder + "/llama.json",
                   folder + "/bert.json",
                   folder + "/file-00001-of-00002.gguf",
                   folder + "/file-00002-of-00002.gguf",
                   folder + "/exported",
                   folder + "/config.json"};
    fuzz::write_file(place.gpt, kGpt, strlen(kGpt));
    fuzz::write_file(place.llama, kLlama, strlen(kLlama));
    fuzz::write_file(place.bert, kBert, strlen(kBert));
    return place;
}

bool contains(const uint8_t* data, size_t size, const char* word) {
    return memmem(data, size, word, strlen(word)) != nullptr;
}

bool is_stored(const volta_model* model) {
    bool stored = false;
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        expect(volta_model_parameter_info(model, i, &info) == VOLTA_OK, "parameter_info");
        stored = stored || info.dtype != VOLTA_F32;
    }
    return stored;
}

// What no safetensors file holds goes through Volta's own.
void check_saved(const Place& place, volta_model* model) {
    char hash[33], again[33];
    expect(volta_model_hash(model, hash) == VOLTA_OK, "hash");
    expect(volta_model_save(model, place.exported.c_str()) == VOLTA_OK, "save");
    volta_model* opened = nullptr;
    expect(volta_model_open(fuzz::context(), place.exported.c_str(), nullptr, &opened) == VOLTA_OK, "open");
    expect(volta_model_hash(opened, again) == VOLTA_OK && strcmp(hash, again) == 0, "another hash");
    volta_model_release(opened);
}

// Written as ONNX and read again: the same model, or it has no such form.
void check_written(const Place& place, volta_model* model) {
    char hash[33], again[33];
    const volta_onnx_export_options options = {sizeof options, 17, 0};
    const volta_status status = volta_model_export_onnx(model, &options, place.exported.c_str());
    expect(status == VOLTA_OK || status == VOLTA_UNSUPPORTED, "export");
    if (status != VOLTA_OK) return;
    volta_model* imported = fuzz::import_file(place.exported, fuzz::import_options(nullptr));
    expect(imported != nullptr, "what was written is not imported");
    expect(volta_model_hash(model, hash) == VOLTA_OK && volta_model_hash(imported, again) == VOLTA_OK &&
               strcmp(hash, again) == 0,
           "another hash");
    volta_model_release(imported);
}

void import_and_check(const Place& place, const char* config, int32_t weights, size_t size) {
    const fuzz::Limits limits(size);
    volta_import_options options = fuzz::import_options(config);
    options.format = FUZZ_FORMAT;
    options.weights = weights;
    volta_model* model = fuzz::import_file(place.file, options);
    limits.check_time();
    fuzz::limit += size_t{64} << 20;  // what is done with a model has memory of its own
    constexpr bool kIsGraph = FUZZ_FORMAT == VOLTA_WEIGHTS_ONNX;  // that no file of weights alone says
    if (model != nullptr && (kIsGraph || is_stored(model))) {
        check_saved(place, model);
        if (kIsGraph) check_written(place, model);
    } else if (model != nullptr && weights == VOLTA_F32) {
        fuzz::check_round_trip(model, place.exported, place.config);
    }
    volta_model_release(model);
}

// Bytes in which a second GGUF file begins are two parts of one.
size_t first_part(const uint8_t* data, size_t size) {
    if (FUZZ_FORMAT != VOLTA_WEIGHTS_GGUF || size < 8) return size;
    const void* const second = memmem(data + 4, size - 4, "GGUF", 4);
    return second == nullptr ? size : static_cast<size_t>(static_cast<const uint8_t*>(second) - data);
}

void write_parts(const Place& place, const uint8_t* data, size_t size) {
    const size_t first = first_part(data, size);
    fuzz::write_file(place.file, data, first);
    if (first < size)
        fuzz::write_file(place.second, data + first, size - first);
    else
        unlink(place.second.c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Place place = make_place();
    write_parts(place, data, size);
    const std::string& config = contains(data, size, "embed_tokens")      ? place.llama
                                : contains(data, size, "word_embeddings") ? place.bert
                                                                          : place.gpt;
    import_and_check(place, config.c_str(), VOLTA_IMPORT_KEEP, size);
    import_and_check(place, config.c_str(), VOLTA_F32, size);
    return 0;
}
