// Lines of JSON: what each says, and a sentence with file and line for each that says nothing.
#include "tests/data/data_test.h"

namespace {
using namespace volta::test;

volta_status parse(const std::string& text, volta_documents** documents,
                   const volta_dataset_options* options = nullptr) {
    return volta_documents_parse("a.jsonl", text.data(), text.size(), options, documents);
}

volta_document document_of(const volta_documents* documents, uint64_t index) {
    volta_document document = VOLTA_DOCUMENT_INIT;
    assert_ok(volta_documents_get(documents, index, &document));
    return document;
}

void test_every_kind_of_line(void**) {
    volta_documents* documents = nullptr;
    assert_ok(parse(
        "{\"prompt\": \"p\", \"completion\": \"\\u00e9\\n\"}\r\n"
        "\n  \t\n"
        "{\"messages\": [{\"role\": \"user\", \"content\": \"a long content that has a place of its own\"},"
        " {\"content\": \"\", \"role\": \"assistant\"}]}\n"
        "{\"text\": \"t\"}\n"
        "{\"text\": \"t\", \"label\": 7}\n"
        "{\"label\": \"cat\", \"text\": \"t\", \"text_pair\": \"\"}",
        &documents));
    assert_int_equal(volta_documents_count(documents), 5);
    const volta_document prompt = document_of(documents, 0);
    assert_string_equal(prompt.prompt, "p");
    assert_string_equal(prompt.completion, "\xc3\xa9\n");
    assert_null(prompt.messages);
    assert_null(prompt.text);
    assert_int_equal(prompt.label, -1);
    assert_int_equal(prompt.line, 1);
    const volta_document messages = document_of(documents, 1);
    assert_int_equal(messages.line, 4);
    assert_int_equal(messages.message_count, 2);
    assert_string_equal(messages.messages[0].content, "a long content that has a place of its own");
    assert_string_equal(messages.messages[1].role, "assistant");
    assert_string_equal(messages.messages[1].content, "");
    assert_null(messages.prompt);
    const volta_document text = document_of(documents, 2);
    assert_string_equal(text.text, "t");
    assert_int_equal(text.label, -1);
    assert_int_equal(document_of(documents, 3).label, 7);
    assert_null(document_of(documents, 3).text_pair);
    assert_string_equal(document_of(documents, 4).label_name, "cat");
    assert_string_equal(document_of(documents, 4).text_pair, "");
    assert_int_equal(document_of(documents, 4).label, -1);
    volta_document none = VOLTA_DOCUMENT_INIT;
    assert_fails(volta_documents_get(documents, 5, &none), VOLTA_INVALID_ARGUMENT,
                 "document is 5, and there are 5");
    volta_documents_release(documents);
}

void test_lines_that_are_no_documents(void**) {
    const struct {
        std::string line;
        const char* sentence;
    } rows[] = {
        {"{", "a.jsonl:2: it is no valid JSON"},
        {"{\"text\": \"\xff\"}", "a.jsonl:2: it is no valid JSON"},
        {"{\"text\": 1e999}", "a.jsonl:2: it is no valid JSON"},
        {"3", "a.jsonl:2: it is no object of JSON"},
        {"{}", "a.jsonl:2: it has none of \"prompt\" with"},
        {"{\"prompt\": \"a\"}", "a.jsonl:2: there is no \"completion\""},
        {"{\"prompt\": \"a\", \"completion\": []}", "a.jsonl:2: \"completion\" is no text"},
        {"{\"prompt\": \"a\", \"completion\": \"b\", \"mor\\u001be\": 1}",
         "a.jsonl:2: \"mor?e\" does not go with \"prompt\""},
        {"{\"text\": \"a\", \"text_pair\": \"b\"}", "a.jsonl:2: \"text_pair\" does not go with \"text\""},
        {"{\"text\": \"a\\u0000\"}", "a.jsonl:2: \"text\" has a zero byte"},
        {"{\"text\": \"a\", \"label\": 1.5}", "a.jsonl:2: \"label\" is neither a whole number nor a name"},
        {"{\"text\": \"a\", \"label\": -1}", "a.jsonl:2: \"label\" is no number of a class"},
        {"{\"text\": \"a\", \"label\": 18446744073709551615}",
         "a.jsonl:2: \"label\" is no number of a class"},
        {"{\"messages\": {}}", "a.jsonl:2: \"messages\" is no list of messages"},
        {"{\"messages\": [3]}", "a.jsonl:2: message 1: it is no object with"},
        {"{\"messages\": [{\"role\": \"user\", \"content\": 3}]}",
         "a.jsonl:2: message 1: \"content\" is no text"},
        {"{\"text\": " + std::string(100000, '['), "a.jsonl:2: it is nested too deep"},
        {"{\"text\": \"" + std::string(17 << 20, 'a') + "\"}",
         "a.jsonl:2: it has 17825804 bytes, the most are 16777216"},
    };
    volta_documents* documents = nullptr;
    for (const auto& row : rows) {
        assert_fails(parse("{\"text\": \"sound\"}\n" + row.line + "\n", &documents), VOLTA_CORRUPT_MODEL,
                     row.sentence);
        assert_null(documents);
    }
    assert_fails(parse("", &documents), VOLTA_CORRUPT_MODEL, "a.jsonl: there is no document in it");
    assert_fails(parse("\n \n", &documents), VOLTA_CORRUPT_MODEL, "a.jsonl: there is no document in it");
    std::string many = "{\"messages\": [";
    for (int i = 0; i < 4097; ++i)
        many += std::string(i > 0 ? "," : "") + "{\"role\": \"user\", \"content\": \"\"}";
    assert_fails(parse(many + "]}", &documents), VOLTA_CORRUPT_MODEL,
                 "a.jsonl:1: it has 4097 messages, the most are 4096");
}

void test_calls_are_checked(void**) {
    volta_documents* documents = nullptr;
    assert_fails(volta_documents_parse(nullptr, "", 0, nullptr, &documents), VOLTA_INVALID_ARGUMENT,
                 "name is NULL");
    assert_fails(volta_documents_parse("a", nullptr, 1, nullptr, &documents), VOLTA_INVALID_ARGUMENT,
                 "text is NULL");
    assert_fails(volta_documents_parse("a", "", 0, nullptr, nullptr), VOLTA_INVALID_ARGUMENT,
                 "out_documents is NULL");
    assert_fails(volta_documents_get(nullptr, 0, nullptr), VOLTA_INVALID_ARGUMENT, "documents is NULL");
    assert_int_equal(volta_documents_count(nullptr), 0);
    volta_documents_release(nullptr);
}

struct Packed {
    std::vector<uint64_t> rows, places;
    uint64_t count = 0;
};
Packed packed(const std::vector<uint64_t>& lengths, uint64_t row_tokens) {
    Packed packed = {std::vector<uint64_t>(lengths.size()), std::vector<uint64_t>(lengths.size()), 0};
    assert_ok(volta_documents_pack(lengths.data(), lengths.size(), row_tokens, nullptr, packed.rows.data(),
                                   packed.places.data(), &packed.count));
    return packed;
}

void test_packing_is_first_fit(void**) {
    const Packed few = packed({5, 4, 3, 6, 1, 10, 2}, 10);
    assert_true(few.rows == std::vector<uint64_t>({0, 0, 1, 1, 0, 2, 3}));
    assert_true(few.places == std::vector<uint64_t>({0, 5, 0, 3, 9, 0, 0}));
    assert_int_equal(few.count, 4);
    assert_int_equal(packed({}, 10).count, 0);
    // Against every row in turn.
    std::vector<uint64_t> lengths(2000);
    std::uint32_t state = 7;
    for (uint64_t& length : lengths) length = 1 + ((state = state * 1664525u + 1013904223u) >> 8) % 64;
    const Packed many = packed(lengths, 64);
    std::vector<uint64_t> used;
    for (size_t i = 0; i < lengths.size(); ++i) {
        size_t row = 0;
        while (row < used.size() && used[row] + lengths[i] > 64) ++row;
        if (row == used.size()) used.push_back(0);
        assert_int_equal(many.rows[i], row);
        assert_int_equal(many.places[i], used[row]);
        used[row] += lengths[i];
    }
    assert_int_equal(many.count, used.size());
}

void test_documents_that_no_row_takes(void**) {
    const uint64_t lengths[] = {3, 0}, long_ones[] = {3, 11};
    uint64_t rows[2], places[2], count = 7;
    const auto pack = [&](const uint64_t* given, uint64_t documents, uint64_t row_tokens) {
        return volta_documents_pack(given, documents, row_tokens, nullptr, rows, places, &count);
    };
    assert_fails(pack(lengths, 2, 10), VOLTA_INVALID_ARGUMENT,
                 "document 1 has 0 tokens, a row takes 1 to 10");
    assert_int_equal(count, 0);
    assert_fails(pack(long_ones, 2, 10), VOLTA_INVALID_ARGUMENT,
                 "document 1 has 11 tokens, a row takes 1 to 10");
    assert_fails(pack(lengths, 1, 0), VOLTA_INVALID_ARGUMENT, "row_tokens is 0, it must be 1 to 2147483647");
    assert_fails(pack(lengths, 1, uint64_t{1} << 31), VOLTA_INVALID_ARGUMENT,
                 "row_tokens is 2147483648, it must be 1 to 2147483647");
    assert_fails(pack(lengths, (uint64_t{1} << 32) + 1, 10), VOLTA_INVALID_ARGUMENT,
                 "there are 4294967297 documents, the most are 4294967296");
    assert_fails(pack(nullptr, 1, 10), VOLTA_INVALID_ARGUMENT, "lengths, rows or places is NULL");
    assert_fails(volta_documents_pack(lengths, 1, 10, nullptr, rows, places, nullptr), VOLTA_INVALID_ARGUMENT,
                 "out_row_count is NULL");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_line),
        cmocka_unit_test(test_lines_that_are_no_documents),
        cmocka_unit_test(test_calls_are_checked),
        cmocka_unit_test(test_packing_is_first_fit),
        cmocka_unit_test(test_documents_that_no_row_takes),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
