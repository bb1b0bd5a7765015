// Any bytes as a model file, through the public header: volta_model_open_memory must give a model or a
// reason, and a model that it gives must answer every question. Mutations: tests/model/model_mutator.cpp.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/limits.h"

namespace {
using fuzz::expect;

void ask_tensors(const volta_model* model) {
    volta_tensor_info info;
    for (size_t i = 0; i < volta_model_input_count(model); ++i)
        expect(volta_model_input_info(model, i, &info) == VOLTA_OK && info.name != nullptr, "input_info");
    for (size_t i = 0; i < volta_model_output_count(model); ++i)
        expect(volta_model_output_info(model, i, &info) == VOLTA_OK && info.rank <= VOLTA_MAX_RANK,
               "output_info");
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        expect(volta_model_parameter_info(model, i, &info) == VOLTA_OK, "parameter_info");
        const float* data = nullptr;
        size_t elements = 0;
        const volta_status status = volta_model_parameter(model, info.name, &data, &elements);
        expect(status == (info.dtype == VOLTA_F32 ? VOLTA_OK : VOLTA_UNSUPPORTED), "parameter");
        volatile float sum = 0;  // every element is inside the file
        for (size_t j = 0; j < elements; ++j) sum = sum + data[j];
    }
    char hash[33];
    expect(volta_model_hash(model, hash) == VOLTA_OK && strlen(hash) == 32, "hash");
}

void ask_tokenizer(const volta_model* model) {
    volta_tokenizer* tokenizer = nullptr;
    expect(volta_model_get_tokenizer(model, &tokenizer) == VOLTA_OK, "get_tokenizer");
    const char* kind = volta_tokenizer_kind(tokenizer);
    for (int32_t id = 0; tokenizer != nullptr && id < volta_tokenizer_size(tokenizer); ++id) {
        const char* text = nullptr;
        size_t bytes = 0, count = 0;
        int32_t again = -1;
        expect(volta_tokenizer_decode(tokenizer, id, &text, &bytes) == VOLTA_OK, "decode");
        const volta_status encoded = volta_tokenizer_encode(tokenizer, text, bytes, &again, 1, &count);
        // The other kinds may lack a byte, and know several ways to write a piece.
        if (strcmp(kind, "byte") != 0 && strcmp(kind, "char") != 0) continue;
        expect(encoded == VOLTA_OK, "encode");
        expect(count == 1 && again == id, "a piece encodes to another id");
    }
    volta_tokenizer_release(tokenizer);
}

volta_status open(const void* data, size_t size, volta_load_mode mode, int32_t verify) {
    volta_open_options options = {};
    options.struct_size = sizeof options;
    options.mode = mode;
    options.verify = verify;
    const fuzz::Limits limits(size);
    volta_model* model = nullptr;
    const volta_status status = volta_model_open_memory(fuzz::context(), data, size, &options, &model);
    limits.check_time();
    fuzz::expect_status(status, model != nullptr);
    expect(status == VOLTA_OK || status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED,
           "another status");
    if (model != nullptr) {
        ask_tensors(model);
        ask_tokenizer(model);
    }
    volta_model_release(model);
    return status;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // A block of exactly this size, 64-byte aligned, so that a read beyond the file is seen.
    void* exact = nullptr;
    if (posix_memalign(&exact, 64, size > 0 ? size : 1) != 0) return 0;
    if (size > 0) memcpy(exact, data, size);
    const volta_status mapped = open(exact, size, VOLTA_LOAD_MAP, 0);
    const volta_status verified = open(exact, size, VOLTA_LOAD_MAP, 1);
    const volta_status copied = open(exact, size, VOLTA_LOAD_COPY, 0);
    expect(verified == copied, "the copying load and the verifying one disagree");
    expect(verified != VOLTA_OK || mapped == VOLTA_OK, "verifying accepts what mapping refuses");
    free(exact);
    return 0;
}
