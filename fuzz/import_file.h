// What the fuzz targets of imports do with a file of weights and what stands beside it: a model or a reason,
// and of a model the way out and back.
#pragma once

#include <string.h>

#include <string>

#include "fuzz/limits.h"

namespace fuzz {

inline volta_import_options import_options(const char* config) {
    volta_import_options options = {};
    options.struct_size = sizeof options;
    options.config_path = config;
    return options;
}

inline volta_model* import_file(const std::string& path, const volta_import_options& options) {
    volta_model* model = nullptr;
    const volta_status status = volta_model_import(context(), path.c_str(), &options, &model);
    expect_status(status, model != nullptr);
    expect(status == VOLTA_OK || status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED ||
               status == VOLTA_SHAPE_MISMATCH || status == VOLTA_IO_ERROR ||
               (status == VOLTA_INVALID_ARGUMENT && options.key_map_path != nullptr),
           "another status");
    return model;
}

// As GGUF, where it has such a form, and back.
inline void check_gguf(const volta_model* model, const std::string& exported) {
    char hash[33], again[33];
    const volta_gguf_export_options options = {sizeof options, VOLTA_F32, 1};
    const volta_status status = volta_model_export_gguf(model, &options, exported.c_str());
    expect(status == VOLTA_OK || status == VOLTA_UNSUPPORTED, "export to GGUF");
    if (status != VOLTA_OK) return;
    volta_model* imported = import_file(exported, import_options(nullptr));
    expect(imported != nullptr, "the GGUF file that was exported is not imported");
    const char* pairs = nullptr;
    volta_model_get_metadata(model, "volta.llama.interleaved", &pairs);
    const bool turned = pairs != nullptr && strcmp(pairs, "0") == 0;  // rows of q and k change places
    expect(volta_model_hash(model, hash) == VOLTA_OK && volta_model_hash(imported, again) == VOLTA_OK &&
               (turned || strcmp(hash, again) == 0),
           "another hash by GGUF");
    volta_model_release(imported);
}

// Under Volta's names, and under Hugging Face's where it has such a model. The two paths are written.
inline void check_round_trip(const volta_model* model, const std::string& exported,
                             const std::string& config) {
    char hash[33], again[33];
    check_gguf(model, exported);
    expect(volta_model_hash(model, hash) == VOLTA_OK, "hash");
    for (const volta_weight_names names : {VOLTA_NAMES_OWN, VOLTA_NAMES_HUGGING_FACE}) {
        const char* const beside = names == VOLTA_NAMES_OWN ? nullptr : config.c_str();
        const volta_export_options options = {sizeof options, names, beside};
        const volta_status status = volta_model_export_safetensors_with(model, &options, exported.c_str());
        if (status == VOLTA_UNSUPPORTED && names != VOLTA_NAMES_OWN) continue;
        expect(status == VOLTA_OK, "export");
        volta_model* imported = import_file(exported, import_options(beside));
        expect(imported != nullptr, "what was exported is not imported");
        expect(volta_model_hash(imported, again) == VOLTA_OK && strcmp(hash, again) == 0, "another hash");
        volta_model_release(imported);
    }
}

}  // namespace fuzz
