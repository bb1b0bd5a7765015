// What the fuzz targets of tokenizers do with bytes: put them where volta_tokenizer_open finds them, and use
// what comes out.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "fuzz/files.h"
#include "fuzz/limits.h"

namespace fuzz {

// The ids of a text, or none where the vocabulary lacks something.
inline std::vector<int32_t> encode(const volta_tokenizer* tokenizer, const volta_encode_options& options,
                                   const char* text, size_t bytes) {
    size_t count = 0, again = 0;
    const volta_status status =
        volta_tokenizer_encode_with(tokenizer, &options, text, bytes, nullptr, 0, &count);
    expect(status == VOLTA_OK || status == VOLTA_INVALID_ARGUMENT, "encode");
    if (status != VOLTA_OK) return {};
    std::vector<int32_t> ids(count);
    expect(
        volta_tokenizer_encode_with(tokenizer, &options, text, bytes, ids.data(), count, &again) == VOLTA_OK,
        "encode again");
    expect(again == count, "encode counts differently");
    return ids;
}

// Of the bytes as two texts, at most a few ids with a segment each, or a reason.
inline void encode_pair(const volta_tokenizer* tokenizer, const char* text, size_t size, size_t most) {
    const size_t first = size / 3;
    int32_t ids[24] = {}, segments[24] = {};
    volta_encode_options options = {};
    options.struct_size = sizeof options;
    options.ends = 1;
    options.pair = text + first;
    options.pair_bytes = size - first;
    options.max_tokens = most;
    options.segments = segments;
    size_t count = 0;
    const volta_status status =
        volta_tokenizer_encode_with(tokenizer, &options, text, first, ids, 24, &count);
    expect(status == VOLTA_OK || status == VOLTA_INVALID_ARGUMENT || status == VOLTA_UNSUPPORTED,
           "encode a pair");
    if (status != VOLTA_OK) return expect_sentence();
    expect(most == 0 || count <= most, "a pair is longer than it may be");
    for (size_t i = 0; i < count && i < 24; ++i)
        expect(ids[i] >= 0 && ids[i] < volta_tokenizer_size(tokenizer) &&
                   segments[i] >= (i > 0 ? segments[i - 1] : 0) && segments[i] <= 1,
               "another id of a pair, or another segment");
}

inline void use(const volta_tokenizer* tokenizer, const uint8_t* data, size_t size) {
    volta_special_ids special = {};
    special.struct_size = sizeof special;
    expect(volta_tokenizer_special(tokenizer, &special) == VOLTA_OK, "special");
    const char* text = nullptr;
    size_t bytes = 0;
    for (int32_t id = 0; id < volta_tokenizer_size(tokenizer); ++id)
        expect(volta_tokenizer_decode(tokenizer, id, &text, &bytes) == VOLTA_OK, "decode");
    for (int32_t flags = 0; flags < 4; ++flags) {
        volta_encode_options options = {};
        options.struct_size = sizeof options;
        options.ends = flags & 1;
        options.special = flags >> 1;
        int32_t previous = -1;
        for (const int32_t id : encode(tokenizer, options, reinterpret_cast<const char*>(data), size)) {
            expect(volta_tokenizer_decode_after(tokenizer, previous, id, &text, &bytes) == VOLTA_OK, "id");
            previous = id;
        }
    }
    for (const size_t most : {0, 2, 7, 24})
        encode_pair(tokenizer, reinterpret_cast<const char*>(data), size, most);
}

inline void open_and_use(const std::string& path, volta_tokenizer_format format, const uint8_t* data,
                         size_t size) {
    const Limits limits(size);
    volta_tokenizer* tokenizer = nullptr;
    const volta_status status = volta_tokenizer_open(context(), path.c_str(), format, &tokenizer);
    limits.check_time();
    expect_status(status, tokenizer != nullptr);
    expect(status == VOLTA_OK || status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED, "open");
    if (status == VOLTA_OK) use(tokenizer, data, size);
    volta_tokenizer_release(tokenizer);
}

}  // namespace fuzz
