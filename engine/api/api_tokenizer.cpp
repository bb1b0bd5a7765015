// volta.h: tokenizer.
#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"
#include "engine/import/tokenizer_files.h"
#include "engine/model/train_bpe.h"

using namespace volta;
using namespace volta::api;

namespace {

void create_tokenizer(volta_context* context, volta_tokenizer** out,
                      Tokenizer (*make)(std::string_view, std::pmr::memory_resource*),
                      std::string_view text) {
    require(out != nullptr, "out_tokenizer is NULL");
    require(context != nullptr, "context is NULL");
    const ContextRef owner(unwrap(context));
    *out = make_handle<volta_tokenizer>(owner, make(text, owner->structures()));
}

}  // namespace

volta_status volta_tokenizer_create_byte(volta_context* context, volta_tokenizer** out_tokenizer) {
    if (out_tokenizer != nullptr) *out_tokenizer = nullptr;
    return guarded([&] {
        create_tokenizer(
            context, out_tokenizer,
            [](std::string_view, std::pmr::memory_resource* heap) { return Tokenizer::make_byte(heap); }, {});
    });
}

volta_status volta_tokenizer_create_char(volta_context* context, const char* text, size_t text_bytes,
                                         volta_tokenizer** out_tokenizer) {
    if (out_tokenizer != nullptr) *out_tokenizer = nullptr;
    return guarded([&] {
        require(text != nullptr, "text is NULL");
        create_tokenizer(
            context, out_tokenizer,
            [](std::string_view t, std::pmr::memory_resource* heap) {
                return Tokenizer::make_character(t, heap);
            },
            std::string_view(text, text_bytes));
    });
}

volta_status volta_tokenizer_open(volta_context* context, const char* path, volta_tokenizer_format format,
                                  volta_tokenizer** out_tokenizer) {
    if (out_tokenizer != nullptr) *out_tokenizer = nullptr;
    return guarded([&] {
        require(out_tokenizer != nullptr, "out_tokenizer is NULL");
        require(context != nullptr, "context is NULL");
        require(path != nullptr, "path is NULL");
        require(format >= VOLTA_TOKENIZER_AUTO && format <= VOLTA_TOKENIZER_SENTENCEPIECE,
                "format is %d, which is no format of tokenizers", format);
        const ContextRef owner(unwrap(context));
        *out_tokenizer = make_handle<volta_tokenizer>(
            owner, open_tokenizer(path, static_cast<TokenizerFormat>(format), owner->structures()));
    });
}

volta_status volta_tokenizer_train_bpe(volta_context* context, const char* text, size_t text_bytes,
                                       int32_t vocabulary, volta_tokenizer** out_tokenizer) {
    if (out_tokenizer != nullptr) *out_tokenizer = nullptr;
    return guarded([&] {
        require(out_tokenizer != nullptr, "out_tokenizer is NULL");
        require(context != nullptr, "context is NULL");
        require(text != nullptr, "text is NULL");
        const ContextRef owner(unwrap(context));
        *out_tokenizer = make_handle<volta_tokenizer>(
            owner,
            train_bpe(std::string_view(text, text_bytes), vocabulary, owner->structures(), owner->stop()));
    });
}

void volta_tokenizer_release(volta_tokenizer* tokenizer) {
    unfailing([&] { end_handle(tokenizer); });
}

const char* volta_tokenizer_kind(const volta_tokenizer* tokenizer) {
    return tokenizer != nullptr ? tokenizer_kind_name(tokenizer->tokenizer.kind()) : "";
}

int32_t volta_tokenizer_size(const volta_tokenizer* tokenizer) {
    return tokenizer != nullptr ? tokenizer->tokenizer.size() : 0;
}

volta_status volta_tokenizer_encode(const volta_tokenizer* tokenizer, const char* text, size_t text_bytes,
                                    int32_t* ids, size_t capacity, size_t* out_count) {
    return volta_tokenizer_encode_with(tokenizer, nullptr, text, text_bytes, ids, capacity, out_count);
}

volta_status volta_tokenizer_encode_with(const volta_tokenizer* tokenizer,
                                         const volta_encode_options* options, const char* text,
                                         size_t text_bytes, int32_t* ids, size_t capacity,
                                         size_t* out_count) {
    if (out_count != nullptr) *out_count = 0;
    return guarded([&] {
        require(tokenizer != nullptr, "tokenizer is NULL");
        require(out_count != nullptr, "out_count is NULL");
        require(text != nullptr || text_bytes == 0, "text is NULL");
        require(ids != nullptr || capacity == 0, "ids is NULL and capacity is %zu", capacity);
        const volta_encode_options given = read_options(options);
        require(given.pair != nullptr || given.pair_bytes == 0, "pair is NULL and pair_bytes is %zu",
                given.pair_bytes);
        const std::string_view pair(given.pair, given.pair_bytes);
        *out_count = tokenizer->tokenizer.encode(
            std::string_view(text, text_bytes), ids, capacity,
            {given.ends != 0, given.special != 0, given.pair != nullptr ? &pair : nullptr, given.max_tokens,
             given.segments});
    });
}

namespace {

template <class Piece>  // Piece: std::string_view(const Tokenizer&)
volta_status lend_piece(const volta_tokenizer* tokenizer, const char** out_text, size_t* out_bytes,
                        Piece piece) {
    if (out_text != nullptr) *out_text = nullptr;
    if (out_bytes != nullptr) *out_bytes = 0;
    return guarded([&] {
        require(tokenizer != nullptr, "tokenizer is NULL");
        require(out_text != nullptr && out_bytes != nullptr, "%s is NULL",
                out_text == nullptr ? "out_text" : "out_bytes");
        const std::string_view text = piece(tokenizer->tokenizer);
        *out_text = text.data();
        *out_bytes = text.size();
    });
}

}  // namespace

volta_status volta_tokenizer_decode(const volta_tokenizer* tokenizer, int32_t id, const char** out_text,
                                    size_t* out_bytes) {
    return lend_piece(tokenizer, out_text, out_bytes, [&](const Tokenizer& t) { return t.piece(id); });
}

volta_status volta_tokenizer_decode_after(const volta_tokenizer* tokenizer, int32_t previous_id, int32_t id,
                                          const char** out_text, size_t* out_bytes) {
    return lend_piece(tokenizer, out_text, out_bytes,
                      [&](const Tokenizer& t) { return t.piece_after(previous_id, id); });
}

volta_status volta_tokenizer_special(const volta_tokenizer* tokenizer, volta_special_ids* out_ids) {
    return guarded([&] {
        require(tokenizer != nullptr, "tokenizer is NULL");
        const TokenizerOptions& options = tokenizer->tokenizer.vocabulary().options;
        volta_special_ids ids = {};
        ids.bos = options.bos;
        ids.eos = options.eos;
        ids.unk = options.unk;
        ids.pad = options.pad;
        ids.adds_bos = options.has(kAddBos);
        ids.adds_eos = options.has(kAddEos);
        write_report(ids, out_ids);
    });
}
