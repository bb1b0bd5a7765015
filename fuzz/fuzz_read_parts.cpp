// Any text as the manifest of a checkpoint in parts, through the public header: volta_model_open must give
// the model that the parts beside it are, or a reason. "NAME0", "SUM0" and so on stand for the parts' names
// and checksums, and "SIGN" for the checksum of what is before it, so that changes get past it.
#define XXH_INLINE_ALL
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz/files.h"

namespace {
using fuzz::expect;

constexpr unsigned kParts = 2;

// A folder with a model in parts, what its manifest says of them, and the model's hash.
struct Place {
    std::string folder, names[kParts], sums[kParts];
    char hash[33];
};

volta_model* open(const std::string& folder, volta_status* status) {
    volta_open_options options = VOLTA_OPEN_OPTIONS_INIT;
    options.verify = 1;  // so that a model is the model: ranges may be put together in another order
    volta_model* model = nullptr;
    *status = volta_model_open(fuzz::context(), folder.c_str(), &options, &model);
    return model;
}

Place make_place() {
    Place place;
    place.folder = fuzz::folder() + "/parts";
    volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
    options.vocabulary = 8, options.layers = options.heads = 1, options.dim = options.context = 8;
    volta_model* model = nullptr;
    expect(volta_model_create_gpt(fuzz::context(), &options, 1, &model) == VOLTA_OK, "no model");
    expect(volta_model_hash(model, place.hash) == VOLTA_OK, "no hash");
    expect(volta_model_save_sharded(model, kParts, place.folder.c_str()) == VOLTA_OK, "not saved");
    volta_model_release(model);
    std::ifstream manifest(place.folder + "/volta.manifest");
    std::string word, bytes;
    for (unsigned part = 0; part < kParts && manifest >> word;)
        if (word == "part" && manifest >> place.names[part] >> bytes >> place.sums[part]) ++part;
    expect(!place.sums[kParts - 1].empty(), "the manifest is another");
    return place;
}

void replace(std::string& text, const std::string& word, const std::string& by) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
        text.replace(at, word.size(), by);
}

std::string signed_text(const Place& place, std::string text) {
    for (unsigned part = 0; part < kParts; ++part) {
        replace(text, "NAME" + std::to_string(part), place.names[part]);
        replace(text, "SUM" + std::to_string(part), place.sums[part]);
    }
    const size_t line = text.rfind("checksum SIGN");
    if (line == std::string::npos) return text;
    const XXH128_hash_t hash = XXH3_128bits(text.data(), line);
    char digits[33];
    snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
             static_cast<unsigned long long>(hash.low64));
    return text.replace(line + strlen("checksum "), strlen("SIGN"), digits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Place kPlace = make_place();
    const std::string text = signed_text(kPlace, std::string(reinterpret_cast<const char*>(data), size));
    fuzz::write_file(kPlace.folder + "/volta.manifest", text.data(), text.size());
    const fuzz::Limits limits(text.size());
    volta_status status = VOLTA_OK;
    volta_model* const model = open(kPlace.folder, &status);
    limits.check_time();
    fuzz::expect_status(status, model != nullptr);
    char hash[33];
    if (model != nullptr)
        expect(volta_model_hash(model, hash) == VOLTA_OK && strcmp(hash, kPlace.hash) == 0, "another model");
    volta_model_release(model);
    return 0;
}
