// What a model's file says of its conversations, where the file is none of this library's.
#include <stdio.h>
#include <string.h>

#include <string>

#include "engine/base/hash.h"
#include "engine/model/file_layout.h"
#include "tests/support/cmocka_cpp.h"
#include "volta.h"

namespace {
using namespace volta;

constexpr const char* kPath = "test_chat_of_files.volta";

std::string read_bytes() {
    std::string bytes;
    FILE* const file = fopen(kPath, "rb");
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) bytes.append(part, n);
    fclose(file);
    return bytes;
}

// A vocabulary of llama2.c: what is not known, begins and ends.
void write_vocabulary() {
    FILE* const file = fopen(kPath, "wb");
    const int32_t longest = 6;
    fwrite(&longest, sizeof longest, 1, file);
    for (const std::string piece : {"<unk>", "\n<s>\n", "\n</s>\n"}) {
        const float score = 0;
        const auto bytes = static_cast<int32_t>(piece.size());
        fwrite(&score, sizeof score, 1, file);
        fwrite(&bytes, sizeof bytes, 1, file);
        fwrite(piece.data(), 1, piece.size(), file);
    }
    fclose(file);
}

// The file with another word of the same length in its metadata, and the checksum right.
void replace_word(const char* word, const char* other) {
    std::string bytes = read_bytes();
    bytes.replace(bytes.find(word), strlen(word), other);
    Preamble preamble;
    memcpy(&preamble, bytes.data(), sizeof preamble);
    const size_t head = kPreambleBytes + preamble.metadata_bytes;
    const Hash128 hash = hash_bytes(bytes.data(), head);
    const ChecksumBytes checksum = {hash.low, hash.high};
    memcpy(&bytes[head], &checksum, sizeof checksum);
    FILE* const file = fopen(kPath, "wb");
    fwrite(bytes.data(), 1, bytes.size(), file);
    fclose(file);
}

void test_a_format_of_a_later_version_is_named(void**) {
    volta_context* context = nullptr;
    volta_tokenizer* tokenizer = nullptr;
    volta_model *model = nullptr, *opened = nullptr;
    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    gpt.vocabulary = 3;
    gpt.layers = gpt.heads = 1;
    gpt.dim = gpt.context = 4;
    assert_int_equal(volta_context_create(nullptr, &context), VOLTA_OK);
    write_vocabulary();
    assert_int_equal(volta_tokenizer_open(context, kPath, VOLTA_TOKENIZER_AUTO, &tokenizer), VOLTA_OK);
    assert_int_equal(volta_model_create_gpt(context, &gpt, 1, &model), VOLTA_OK);
    assert_int_equal(volta_model_set_tokenizer(model, tokenizer), VOLTA_OK);
    assert_int_equal(volta_model_set_chat_format(model, "zephyr", nullptr), VOLTA_OK);
    assert_int_equal(volta_model_save(model, kPath), VOLTA_OK);
    replace_word("zephyr", "levant");
    assert_int_equal(volta_model_open(context, kPath, nullptr, &opened), VOLTA_OK);
    const volta_chat_message message = {"user", "0.1"};
    int32_t ids[64];
    size_t count = 0;
    assert_int_equal(volta_model_encode_chat(opened, &message, 1, 0, ids, nullptr, 64, &count),
                     VOLTA_UNSUPPORTED);
    const std::string text = volta_last_error();
    assert_int_equal(text.find("the model's chat format, 'levant', is not known; there are chatml, "), 0);
    volta_model_release(opened);
    volta_model_release(model);
    volta_tokenizer_release(tokenizer);
    volta_context_release(context);
    remove(kPath);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_a_format_of_a_later_version_is_named)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
