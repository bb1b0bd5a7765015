// Tokenizers: text to ids and back, strict UTF-8, and messages that say where a text is wrong.
#include "engine/model/tokenizer.h"

#include <cstdlib>
#include <string>

#include "engine/model/text.h"
#include "tests/model/expect_error.h"
#include "tests/model/model_editor.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::test;

using Ids = std::vector<std::int32_t>;

Ids encode(const Tokenizer& tokenizer, std::string_view text) {
    Ids ids(tokenizer.encode(text, nullptr, 0));
    tokenizer.encode(text, ids.data(), ids.size());
    return ids;
}

std::string decode(const Tokenizer& tokenizer, const Ids& ids) {
    std::string text;
    for (const std::int32_t id : ids) text += tokenizer.piece(id);
    return text;
}

void test_bytes_are_their_own_ids(void**) {
    TestHeap heap;
    const Tokenizer tokenizer = Tokenizer::make_byte(heap.structures());
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    const Ids ids = encode(tokenizer, all);
    assert_int_equal(tokenizer.size(), 256);
    assert_string_equal(tokenizer_kind_name(tokenizer.kind()), "byte");
    for (int byte = 0; byte < 256; ++byte) assert_int_equal(ids[static_cast<std::size_t>(byte)], byte);
    assert_true(decode(tokenizer, ids) == all);
}

void test_characters_are_sorted_and_distinct(void**) {
    TestHeap heap;
    const Tokenizer tokenizer =
        Tokenizer::make_character("zebra é ⚡ \xf0\x9d\x9b\x91 zz\n", heap.structures());
    const char* const expected[] = {"\n", " ", "a", "b", "e", "r", "z", "é", "⚡", "\xf0\x9d\x9b\x91"};
    assert_int_equal(tokenizer.size(), 10);
    assert_string_equal(tokenizer_kind_name(tokenizer.kind()), "char");
    for (std::int32_t id = 0; id < 10; ++id) assert_true(tokenizer.piece(id) == expected[id]);
    const Ids ids = encode(tokenizer, "⚡a\n");
    assert_true(ids == Ids({8, 2, 0}));
    assert_true(decode(tokenizer, ids) == "⚡a\n");
    assert_int_equal(tokenizer.encode("", nullptr, 0), 0);
}

void test_encode_writes_no_more_than_capacity(void**) {
    TestHeap heap;
    for (const bool bytes : {true, false}) {
        const Tokenizer tokenizer = bytes ? Tokenizer::make_byte(heap.structures())
                                          : Tokenizer::make_character("abc", heap.structures());
        std::int32_t ids[3] = {-7, -7, -7};
        assert_int_equal(tokenizer.encode("abcab", ids, 2), 5);
        assert_int_equal(ids[2], -7);
        assert_int_equal(ids[1], tokenizer.encode("b", ids + 2, 1) == 1 ? ids[2] : -1);
    }
}

void test_every_code_point_survives(void**) {
    TestHeap heap;
    std::string text;
    for (std::uint32_t c = 0; c < 0x110000; ++c) {
        if (c >= 0xd800 && c < 0xe000) continue;
        if (c < 0x80) {
            text += static_cast<char>(c);
        } else if (c < 0x800) {
            text += static_cast<char>(0xc0 | c >> 6);
            text += static_cast<char>(0x80 | (c & 63));
        } else if (c < 0x10000) {
            text += static_cast<char>(0xe0 | c >> 12);
            text += static_cast<char>(0x80 | (c >> 6 & 63));
            text += static_cast<char>(0x80 | (c & 63));
        } else {
            text += static_cast<char>(0xf0 | c >> 18);
            text += static_cast<char>(0x80 | (c >> 12 & 63));
            text += static_cast<char>(0x80 | (c >> 6 & 63));
            text += static_cast<char>(0x80 | (c & 63));
        }
    }
    const Tokenizer tokenizer = Tokenizer::make_character(text, heap.structures());
    assert_int_equal(tokenizer.size(), 0x110000 - 0x800);
    const Ids ids = encode(tokenizer, text);
    assert_true(decode(tokenizer, ids) == text);
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] != static_cast<std::int32_t>(i)) assert_int_equal(ids[i], i);
}

// Unicode 15, table 3-7, from the other side: what is not in it is refused, at its first byte.
void test_only_utf8_is_read(void**) {
    const struct {
        const char* text;
        std::size_t invalid_at;
    } cases[] = {
        {"\x80", 0},
        {"a\xbf", 1},
        {"\xc0\x80", 0},          // overlong zero
        {"\xc1\xbf", 0},          // overlong U+007F
        {"\xe0\x9f\xbf", 0},      // overlong U+07FF
        {"\xf0\x8f\xbf\xbf", 0},  // overlong U+FFFF
        {"\xed\xa0\x80", 0},      // surrogate U+D800
        {"\xed\xbf\xbf", 0},      // surrogate U+DFFF
        {"\xf4\x90\x80\x80", 0},  // U+110000
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
        {"ab\xc3", 2},  // cut off
        {"\xe2\x9a", 0},
        {"\xf0\x9d\x9b", 0},
        {"\xc3\x28", 0},  // no continuation
        {"\xe2\x28\xa1", 0},
        {"\xe2\x9a\x28", 0},
        {"\xf0\x9d\x28\x91", 0},
        {"\xf0\x9d\x9b\x28", 0},
        {"\xed\x9f\xbf", 3},  // U+D7FF, the last before the surrogates
        {"\xee\x80\x80", 3},
        {"\xf4\x8f\xbf\xbf", 4},  // U+10FFFF
        {"\xc2\x80", 2},
        {"\xe0\xa0\x80", 3},
        {"\xf0\x90\x80\x80", 4},
    };
    for (const auto& test : cases) {
        if (find_invalid_utf8(test.text) != test.invalid_at)
            print_error("case %ld\n", static_cast<long>(&test - cases));
        assert_int_equal(find_invalid_utf8(test.text), test.invalid_at);
    }
}

void test_messages_name_character_and_offset(void**) {
    TestHeap heap;
    const Tokenizer tokenizer = Tokenizer::make_character("abc é", heap.structures());
    const struct {
        const char* text;
        const char* part;
    } cases[] = {
        {"abü", "'ü' (U+00FC) at offset 2"},
        {"é\xf0\x9d\x9b\x91", "(U+1D6D1) at offset 2"},
        {"a\n", "the character U+000A at offset 1"},
        {"a\xc2\x85", "the character U+0085 at offset 1"},
        {"ab\xff", "not UTF-8: byte 0xff at offset 2"},
    };
    for (const auto& test : cases) {
        const Failure failure = failure_of([&] { encode(tokenizer, test.text); });
        if (!failure.mentions(test.part)) print_error("%s\n", failure.text);
        assert_int_equal(failure.status, VOLTA_INVALID_ARGUMENT);
        assert_true(failure.mentions(test.part));
    }
    assert_true(failure_of([&] { Tokenizer::make_character("", heap.structures()); }).mentions("is empty"));
    assert_true(failure_of([&] {
                    Tokenizer::make_character("abc\x80", heap.structures());
                }).mentions("0x80 at offset 3"));
    assert_true(
        failure_of([&] { tokenizer.piece(5); }).mentions("token id 5 is outside the vocabulary [0, 5)"));
    assert_true(failure_of([&] { tokenizer.piece(-1); }).status == VOLTA_INVALID_ARGUMENT);
}

void test_pieces_of_a_file_are_checked(void**) {
    TestHeap heap;
    const auto pieces_of = [&](std::initializer_list<const char*> texts) {
        std::pmr::vector<std::pmr::string> pieces(heap.structures());
        for (const char* text : texts) pieces.emplace_back(text);
        return pieces;
    };
    const auto status = [&](TokenizerKind kind, const std::pmr::vector<std::pmr::string>& pieces) {
        return failure_of([&] {
                   Vocabulary vocabulary(heap.structures());
                   vocabulary.kind = kind;
                   vocabulary.pieces.assign(pieces.begin(), pieces.end());
                   Tokenizer::from_vocabulary(std::move(vocabulary));
               })
            .status;
    };
    const auto kind = TokenizerKind::character;
    assert_int_equal(status(kind, pieces_of({"a", "b", "é"})), VOLTA_OK);
    assert_int_equal(status(kind, pieces_of({})), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(kind, pieces_of({"b", "a"})), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(kind, pieces_of({"a", "a"})), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(kind, pieces_of({"ab"})), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(kind, pieces_of({""})), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(kind, pieces_of({"\xff"})), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(TokenizerKind::byte, pieces_of({"a"})), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(static_cast<TokenizerKind>(99), pieces_of({"a"})), VOLTA_CORRUPT_MODEL);
    const Tokenizer bytes = Tokenizer::make_byte(heap.structures());
    assert_int_equal(status(TokenizerKind::byte, bytes.pieces()), VOLTA_OK);
}

void test_a_copy_is_on_its_own_heap(void**) {
    TestHeap first, second;
    {
        const Tokenizer tokenizer = Tokenizer::make_character("some text", first.structures());
        const Tokenizer copy(tokenizer, second.structures());
        const Ids a = encode(tokenizer, "text"), b = encode(copy, "text");
        assert_true(a == b);
        assert_true(second.held > 0);
    }
    assert_int_equal(first.held, 0);
    assert_int_equal(second.held, 0);
}

// Real texts, where they are at hand: VOLTA_TEST_DATA, or ../shared/data beside the repository.
void test_real_texts_round_trip(void**) {
    const char* given = std::getenv("VOLTA_TEST_DATA");
    const std::string folder = given != nullptr ? given : "../../shared/data";
    int read = 0;
    for (const char* name : {"tinyshakespeare.txt", "wikitext-2/valid.txt", "war-and-peace.txt"}) {
        const std::string text = read_bytes(folder + "/text/" + name);
        if (text.empty()) continue;
        TestHeap heap;
        const Tokenizer tokenizer = Tokenizer::make_character(text, heap.structures());
        const Tokenizer bytes = Tokenizer::make_byte(heap.structures());
        assert_true(decode(tokenizer, encode(tokenizer, text)) == text);
        assert_true(decode(bytes, encode(bytes, text)) == text);
        print_message("%s: %zu bytes, %d characters\n", name, text.size(),
                      static_cast<int>(tokenizer.size()));
        ++read;
    }
    if (read > 0) return;
    print_message("no texts in %s: set VOLTA_TEST_DATA to a folder with text/\n", folder.c_str());
    skip();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_their_own_ids),
        cmocka_unit_test(test_characters_are_sorted_and_distinct),
        cmocka_unit_test(test_encode_writes_no_more_than_capacity),
        cmocka_unit_test(test_every_code_point_survives),
        cmocka_unit_test(test_only_utf8_is_read),
        cmocka_unit_test(test_messages_name_character_and_offset),
        cmocka_unit_test(test_pieces_of_a_file_are_checked),
        cmocka_unit_test(test_a_copy_is_on_its_own_heap),
        cmocka_unit_test(test_real_texts_round_trip),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
