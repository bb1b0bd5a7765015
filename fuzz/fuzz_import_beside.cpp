// Any bytes as what stands beside a file of weights, through the public header: volta_model_import must give
// a model or a reason that names this file or the weights, within fuzz/limits.h, and a model that a
// config gives is exported and imported again with the same hash. One target per kind: FUZZ_OPTION is the
// member of volta_import_options that names the file, config_path or key_map_path. The weights are a GPT, a
// Llama and a BERT, small and sound.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "fuzz/files.h"
#include "fuzz/import_file.h"
#include "fuzz/limits.h"

namespace {
using fuzz::expect;

struct Weights {
    std::string file, config;
    size_t bytes = 0;  // of the file
};

// Writes the model under Hugging Face's names, and lets it go.
Weights write_weights(const char* name, volta_model* model) {
    Weights weights = {fuzz::folder() + "/" + name, fuzz::folder() + "/" + name + ".json"};
    const volta_export_options options = {sizeof options, VOLTA_NAMES_HUGGING_FACE, weights.config.c_str()};
    expect(volta_model_export_safetensors_with(model, &options, weights.file.c_str()) == VOLTA_OK, "export");
    volta_model_release(model);
    weights.bytes = static_cast<size_t>(std::filesystem::file_size(weights.file));
    return weights;
}

// Of two layers with two heads, four wide: the corpus names these sizes.
std::vector<Weights> make_weights() {
    std::vector<Weights> all;
    volta_model* model = nullptr;
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 5;
    gpt.layers = gpt.heads = 2;
    gpt.dim = 4;
    gpt.context = 3;
    expect(volta_model_create_gpt(fuzz::context(), &gpt, 1, &model) == VOLTA_OK, "gpt");
    all.push_back(write_weights("gpt", model));
    volta_llama_options llama = {};
    llama.struct_size = sizeof llama;
    llama.vocabulary = 5;
    llama.layers = llama.heads = 2;
    llama.kv_heads = 1;
    llama.dim = 4;
    llama.hidden = 6;
    llama.context = 3;
    expect(volta_model_create_llama(fuzz::context(), &llama, 2, &model) == VOLTA_OK, "llama");
    all.push_back(write_weights("llama", model));
    volta_bert_options bert = {};
    bert.struct_size = sizeof bert;
    bert.vocabulary = 5;
    bert.layers = bert.heads = 2;
    bert.dim = 4;
    bert.hidden = 6;
    bert.context = 3;
    expect(volta_model_create_bert(fuzz::context(), &bert, 3, &model) == VOLTA_OK, "bert");
    all.push_back(write_weights("bert", model));
    return all;
}

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Whether a refusal begins by speaking of the file beside the weights.
bool speaks_of_beside(const std::string& text) {
    int config = 0, key_map = 0;
    sscanf(text.c_str(), "cannot import the model: the config %n", &config);
    sscanf(text.c_str(), "cannot import the model: line %*d of the key map%n", &key_map);
    return config > 0 || key_map > 0;
}

// A refusal names the file that it is about at its end, or within where it ends with neither; the longest
// ones are cut before that. What it quotes of the fuzzed bytes may well be the name of the other file.
void expect_file(const Weights& weights, const std::string& beside) {
    const std::string text = volta_last_error();
    const auto ends = [&](const std::string& path) { return ends_with(text, "('" + path + "')"); };
    const auto holds = [&](const std::string& path) { return text.find(path) != std::string::npos; };
    const bool at_end = ends(beside) || ends(weights.file);
    const bool beside_named = at_end ? ends(beside) : holds(beside);
    const bool weights_named = at_end ? ends(weights.file) : holds(weights.file);
    expect(text.size() > 500 || beside_named || (weights_named && !speaks_of_beside(text)),
           "a refusal names another file");
}

void import_and_check(const Weights& weights, const std::string& beside, size_t size) {
    const fuzz::Limits limits(size + weights.bytes);
    volta_import_options options = fuzz::import_options(weights.config.c_str());
    options.FUZZ_OPTION = beside.c_str();
    volta_model* model = fuzz::import_file(weights.file, options);
    limits.check_time();
    if (model == nullptr) expect_file(weights, beside);
    fuzz::limit += size_t{64} << 20;  // what is done with a model has memory of its own
    char hash[33];
    // What a config says goes into the export; of a key map nothing stays in the model but its numbers.
    if (model != nullptr && options.key_map_path == nullptr)
        fuzz::check_round_trip(model, fuzz::folder() + "/exported", fuzz::folder() + "/exported.json");
    else if (model != nullptr)
        expect(volta_model_hash(model, hash) == VOLTA_OK, "hash");
    volta_model_release(model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::vector<Weights> all = make_weights();
    static const std::string beside = fuzz::folder() + "/beside";
    fuzz::write_file(beside, data, size);
    for (const Weights& weights : all) import_and_check(weights, beside, size);
    return 0;
}
