// Any bytes as a file of weights, through the public header: volta_model_import must give a model or a
// reason, within a second and twice the file and 64 MiB; a model that it gives is exported and imported again
// with the same hash. One target per container: FUZZ_FORMAT is one of VOLTA_WEIGHTS_*.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "include/volta.h"

namespace {

// A wrong answer of the library is a finding like any other.
void expect(bool condition, const char* what) {
    if (condition) return;
    fprintf(stderr, "%s: %s\n", what, volta_last_error());
    abort();
}

// What the library holds now, and the most it may.
size_t held = 0, limit = 0;

void* allocate(void*, size_t size, size_t alignment, volta_memory_kind) {
    held += size;
    expect(held <= limit, "a small file asked for much memory");
    void* pointer = nullptr;
    return posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) == 0
               ? pointer
               : nullptr;
}
void release(void*, void* pointer, size_t size, size_t, volta_memory_kind) {
    held -= size;
    free(pointer);
}

// A folder with the configs that safetensors files need, and the two files of a run.
struct Place {
    std::string gpt, llama, bert, file, exported, config;
    volta_context* context = nullptr;
};

void write_file(const std::string& path, const void* data, size_t size) {
    FILE* file = fopen(path.c_str(), "wb");
    expect(file != nullptr && fwrite(data, 1, size, file) == size && fclose(file) == 0,
           "the file was not written");
}

Place make_place() {
    constexpr char kGpt[] = R"({"model_type": "gpt2", "n_head": 2})";
    constexpr char kLlama[] = R"({"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1,)"
                              R"("tie_word_embeddings": true})";
    // Every export is flushed to its disk: in memory, where there is such a folder, that costs nothing.
    char shared[] = "/dev/shm/fuzz_import_XXXXXX", plain[] = "/tmp/fuzz_import_XXXXXX";
    char* const name = access("/dev/shm", W_OK) == 0 ? shared : plain;
    const std::string folder = mkdtemp(name);
    constexpr char kBert[] = R"({"model_type": "bert", "num_attention_heads": 2})";
    Place place = {folder + "/gpt.json",
                   folder + "/llama.json",
                   folder + "/bert.json",
                   folder + "/file",
                   folder + "/exported",
                   folder + "/config.json",
                   nullptr};
    write_file(place.gpt, kGpt, strlen(kGpt));
    write_file(place.llama, kLlama, strlen(kLlama));
    write_file(place.bert, kBert, strlen(kBert));
    static const volta_allocator allocator = {allocate, release, nullptr};
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.allocator = &allocator;
    options.thread_count = 1;
    options.isa = VOLTA_ISA_SCALAR;
    limit = SIZE_MAX;
    expect(volta_context_create(&options, &place.context) == VOLTA_OK, "no context");
    return place;
}

bool contains(const uint8_t* data, size_t size, const char* word) {
    return memmem(data, size, word, strlen(word)) != nullptr;
}

volta_model* import_file(const Place& place, const std::string& path, volta_weight_format format,
                         const char* config) {
    volta_import_options options = {};
    options.struct_size = sizeof options;
    options.format = format;
    options.config_path = config;
    volta_model* model = nullptr;
    const volta_status status = volta_model_import(place.context, path.c_str(), &options, &model);
    expect((status == VOLTA_OK) == (model != nullptr), "model and status disagree");
    expect(status == VOLTA_OK || status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED ||
               status == VOLTA_SHAPE_MISMATCH || status == VOLTA_IO_ERROR,
           "another status");
    return model;
}

// Under Volta's names, and under Hugging Face's where it has such a model.
void check_round_trip(const Place& place, volta_model* model) {
    char hash[33], again[33];
    expect(volta_model_hash(model, hash) == VOLTA_OK, "hash");
    limit += size_t{64} << 20;
    for (const volta_weight_names names : {VOLTA_NAMES_OWN, VOLTA_NAMES_HUGGING_FACE}) {
        const char* const config = names == VOLTA_NAMES_OWN ? nullptr : place.config.c_str();
        const volta_export_options options = {sizeof options, names, config};
        const volta_status status =
            volta_model_export_safetensors_with(model, &options, place.exported.c_str());
        if (status == VOLTA_UNSUPPORTED && names != VOLTA_NAMES_OWN) continue;
        expect(status == VOLTA_OK, "export");
        volta_model* imported = import_file(place, place.exported, VOLTA_WEIGHTS_AUTO, config);
        expect(imported != nullptr, "what was exported is not imported");
        expect(volta_model_hash(imported, again) == VOLTA_OK && strcmp(hash, again) == 0, "another hash");
        volta_model_release(imported);
    }
}

double seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Place place = make_place();
    write_file(place.file, data, size);
    const std::string& config = contains(data, size, "embed_tokens")      ? place.llama
                                : contains(data, size, "word_embeddings") ? place.bert
                                                                          : place.gpt;
    const size_t before = held;
    limit = before + 2 * size + (size_t{64} << 20);
    const double start = seconds();
    volta_model* model = import_file(place, place.file, FUZZ_FORMAT, config.c_str());
    expect(seconds() - start < 1 || getenv("FUZZ_ANY_TIME") != nullptr, "an import took more than a second");
    if (model != nullptr) check_round_trip(place, model);
    volta_model_release(model);
    expect(held == before, "an import left memory behind");
    return 0;
}
