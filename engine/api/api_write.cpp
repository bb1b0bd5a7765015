// volta.h: writing.
#include <cmath>
#include <cstring>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"
#include "engine/model/text.h"
#include "engine/runtime/writer.h"

using namespace volta;
using namespace volta::api;

namespace {

constexpr std::size_t kMostStopTokens = 65536, kMostStopTexts = 1024, kMostStopBytes = 65536;
static_assert(__atomic_always_lock_free(sizeof(volta_cancel::requested), nullptr),
              "a signal handler stores it");

void check_numbers(const volta_write_options& given) {
    require((given.flags & ~static_cast<uint32_t>(VOLTA_WRITE_PAST_END)) == 0,
            "flags is %u, which has unknown bits", given.flags);
    require(given.max_tokens >= 0, "max_tokens is %lld, it must be at least 0",
            static_cast<long long>(given.max_tokens));
    require(std::isfinite(given.max_seconds) && given.max_seconds >= 0,
            "max_seconds is %g, it must be a finite number of at least 0", given.max_seconds);
}

void check_stop_tokens(const volta_write_options& given, std::int32_t vocabulary) {
    require(given.stop_token_count <= kMostStopTokens, "stop_token_count is %zu, at most %zu are possible",
            given.stop_token_count, kMostStopTokens);
    require(given.stop_tokens != nullptr || given.stop_token_count == 0, "stop_tokens is NULL");
    for (std::size_t i = 0; i < given.stop_token_count; ++i)
        require(given.stop_tokens[i] >= 0 && given.stop_tokens[i] < vocabulary,
                "stop token %zu is %d, outside the vocabulary of %d", i, given.stop_tokens[i], vocabulary);
}

std::pmr::vector<std::string_view> stop_texts(const volta_write_options& given,
                                              std::pmr::memory_resource* heap) {
    require(given.stop_text_count <= kMostStopTexts, "stop_text_count is %zu, at most %zu are possible",
            given.stop_text_count, kMostStopTexts);
    require(given.stop_texts != nullptr || given.stop_text_count == 0, "stop_texts is NULL");
    std::pmr::vector<std::string_view> texts(heap);
    texts.reserve(given.stop_text_count);
    for (std::size_t i = 0; i < given.stop_text_count; ++i) {
        require(given.stop_texts[i] != nullptr, "stop text %zu is NULL", i);
        const std::size_t bytes = strnlen(given.stop_texts[i], kMostStopBytes + 1);
        require(bytes > 0, "stop text %zu is empty", i);
        require(bytes <= kMostStopBytes, "stop text %zu has more than %zu bytes", i, kMostStopBytes);
        texts.emplace_back(given.stop_texts[i], bytes);
        const std::size_t bad = find_invalid_utf8(texts.back());
        require(bad == bytes, "stop text %zu is not UTF-8: byte 0x%02x at offset %zu", i,
                static_cast<unsigned>(static_cast<unsigned char>(texts.back()[bad % bytes])), bad);
    }
    return texts;
}

std::int32_t sequence_of(const volta_generator& generator, const volta_sequence* sequence) {
    if (sequence != nullptr) {
        require(sequence->generator == generator.generator, "the sequence is another generator's");
        return sequence->number;
    }
    if (generator.own < 0) fail(VOLTA_INVALID_STATE, "no sequence has been started");
    return generator.own;
}

const Tokenizer& tokenizer_of(const Generator& generator, const volta_tokenizer* tokenizer) {
    if (tokenizer != nullptr) return tokenizer->tokenizer;
    if (!generator.model().tokenizer)
        fail(VOLTA_INVALID_STATE, "the model carries no tokenizer, and none is given");
    return *generator.model().tokenizer;
}

void write_with(volta_generator& generator, const volta_sequence* sequence, const volta_tokenizer* tokenizer,
                const volta_write_options& given, volta_write_result& result) {
    check_numbers(given);
    Generator& self = *generator.generator;
    check_stop_tokens(given, self.vocabulary());
    std::pmr::memory_resource* const heap = generator.context->structures();
    const std::pmr::vector<std::string_view> texts = stop_texts(given, heap);
    WriteRequest request;
    request.sequence = sequence_of(generator, sequence);
    request.tokenizer = &tokenizer_of(self, tokenizer);
    request.stop_texts = texts.data();
    request.options = &given;
    write_text(self, request, heap, result);
}

}  // namespace

void volta_cancel_request(volta_cancel* cancel) {
    if (cancel != nullptr) __atomic_store_n(&cancel->requested, 1, __ATOMIC_RELEASE);
}

volta_status volta_generator_write(volta_generator* generator, volta_sequence* sequence,
                                   const volta_tokenizer* tokenizer, const volta_write_options* options,
                                   volta_write_result* result) {
    return guarded([&] {
        volta_write_result written = {};
        written.stop_index = written.last_token = -1;
        const auto report = [&] {
            if (result != nullptr) write_report(written, result);
        };
        report();
        require(generator != nullptr, "generator is NULL");
        const volta_write_options given = read_options(options);
        try {
            write_with(*generator, sequence, tokenizer, given, written);
        } catch (...) {
            report();
            throw;
        }
        report();
    });
}
