// SentencePiece's tokenizer.model: the ids and texts that the package sentencepiece gives, of settings that
// decide them (tests/parity/parity_sentencepiece.py compares many more), and files that are wrong.
#include "engine/import/tokenizer_files.h"

#include <cmath>

#include "engine/model/character_map.h"
#include "tests/import/sentencepiece_files.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

using Ids = std::vector<std::int32_t>;
#define MARK "\xe2\x96\x81"

Ids encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
    Ids ids(text.size() * 3 + 8);
    ids.resize(tokenizer.encode(text, ids.data(), ids.size(), options));
    return ids;
}
std::string decode(const Tokenizer& tokenizer, const Ids& ids) {
    std::string text;
    std::int32_t previous = -1;
    for (const std::int32_t id : ids) {
        text += tokenizer.piece_after(previous, id);
        previous = id;
    }
    return text;
}

// "ab" merges before "ba"; with bytes, those of é.
SentencePieceFile pairs() {
    SentencePieceFile file;
    file.pieces = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {MARK, -9}, {"a", -10},  {"b", -11},
                   {"ab", -1},      {"ba", -2},    {MARK "a", -3}, {"x", -12}, {"abab", -4}};
    return file;
}
SentencePieceFile with_bytes(SentencePieceFile file) {
    file.byte_fallback = true;
    for (int byte = 0; byte < 256; ++byte) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", byte);
        file.pieces.push_back({name, 0, 6});
    }
    return file;
}

Tokenizer read(const SentencePieceFile& file, TestHeap& heap) {
    return read_sentencepiece_tokenizer(file.bytes(), heap.structures());
}

void test_pairs(void**) {
    TestHeap heap;
    const Tokenizer tokenizer = read(pairs(), heap);
    assert_int_equal(tokenizer.kind(), TokenizerKind::sentencepiece_pairs);
    assert_true(encode(tokenizer, "abba") == Ids({3, 6, 7}));
    assert_true(encode(tokenizer, "  abab   ab ") == Ids({3, 10, 3, 6}));
    assert_true(encode(tokenizer, "aa") == Ids({8, 4}));
    assert_true(encode(tokenizer, "").empty() && encode(tokenizer, "   ").empty());
    assert_true(encode(tokenizer, "a??b") == Ids({8, 0, 5}));  // one for all that stand together
    assert_true(encode(tokenizer, "ab", {true, false}) == Ids({1, 3, 6}));
    assert_true(encode(tokenizer, "<s>ab", {false, true}) == Ids({1, 3, 6}));
    assert_true(encode(tokenizer, "<s>", {}) == Ids({3, 0}));
    assert_true(encode(tokenizer, "a\xff") == Ids({8, 0}));
    assert_string_equal(decode(tokenizer, {3, 6, 3, 6}).c_str(), "ab ab");
    assert_string_equal(decode(tokenizer, {8, 0, 5}).c_str(), "a \xe2\x81\x87 b");
}

// Control pieces go by the names that the file has for them; what is unknown reads as it says.
void test_names_of_its_own(void**) {
    TestHeap heap;
    SentencePieceFile file = pairs();
    file.pieces[1].text = "[BOS]";
    file.pieces[2].text = "[EOS]";
    file.bos = "[BOS]";
    file.eos = "[EOS]";
    file.unknown = "??";
    const Tokenizer tokenizer = read(file, heap);
    assert_int_equal(tokenizer.vocabulary().options.bos, 1);
    assert_int_equal(tokenizer.vocabulary().options.eos, 2);
    assert_true(encode(tokenizer, "ab", {true, false}) == Ids({1, 3, 6}));
    assert_string_equal(decode(tokenizer, {8, 0, 5}).c_str(), "a??b");
}

void test_llamas_own_is_spm(void**) {
    TestHeap heap;
    SentencePieceFile file = with_bytes(pairs());
    file.few_spaces = false;
    const Tokenizer tokenizer = read(file, heap);
    assert_int_equal(tokenizer.kind(), TokenizerKind::spm);
    assert_true(encode(tokenizer, " ab\xc3\xa9") == Ids({3, 3, 6, 11 + 0xc3, 11 + 0xa9}));
    file.few_spaces = true;
    const Tokenizer other = read(file, heap);
    assert_int_equal(other.kind(), TokenizerKind::sentencepiece_pairs);
    assert_true(encode(other, " ab\xc3\xa9") == Ids({3, 6, 11 + 0xc3, 11 + 0xa9}));
    assert_string_equal(decode(other, {3, 6, 11 + 0xc3, 11 + 0xa9}).c_str(), "ab\xc3\xa9");
}

void test_what_is_the_users_is_whole(void**) {
    TestHeap heap;
    SentencePieceFile file = pairs();
    file.pieces.push_back({"a<", 0, 4});
    file.pieces.push_back({MARK MARK, 0, 4});
    file.few_spaces = false;
    const Tokenizer tokenizer = read(file, heap);
    assert_true(encode(tokenizer, "ba<b") == Ids({3, 5, 11, 5}));
    assert_true(encode(tokenizer, "a  a") == Ids({8, 12, 4}));
    assert_string_equal(decode(tokenizer, {8, 12, 4}).c_str(), "a  a");
    file.model_type = 1;
    for (SentencePiece& piece : file.pieces)
        if (piece.type == 1) piece.score = -1;
    const Tokenizer unigram = read(file, heap);
    assert_true(encode(unigram, "ba<b") == Ids({3, 5, 11, 5}));
}

void test_unigrams(void**) {
    TestHeap heap;
    SentencePieceFile file;
    file.model_type = 1;
    file.pieces = {{"<unk>", 0, 2}, {"</s>", 0, 3}, {MARK, -2},        {"a", -1.5f},
                   {"b", -1.5f},    {"ab", -3.25f}, {MARK "a", -2.5f}, {"ba", -2}};
    const Tokenizer tokenizer = read(file, heap);
    assert_int_equal(tokenizer.kind(), TokenizerKind::sentencepiece_unigram);
    assert_true(encode(tokenizer, "abab ba") == Ids({6, 7, 4, 2, 7}));
    assert_true(encode(tokenizer,
                       "a\xc3\xa9\xc3\xa9"
                       "b") == Ids({6, 0, 4}));
    assert_true(encode(tokenizer, "a", {true, false}) == Ids({6, 1}));
    file.suffix = true;
    assert_true(encode(read(file, heap), "ab a") == Ids({3, 4, 6, 2}));
}

void test_the_character_map(void**) {
    TestHeap heap;
    SentencePieceFile file = pairs();
    file.map =
        character_map({{"A", "a"}, {"Ab", "x"}, {"e\xcc\x81", "ab"}, {"\xe3\x80\x80", " "}, {"~", ""}});
    const Tokenizer tokenizer = read(file, heap);
    assert_true(encode(tokenizer, "A") == Ids({8}));
    assert_true(encode(tokenizer, "xAb") == Ids({3, 9, 9}));
    assert_true(encode(tokenizer, "xe\xcc\x81") == Ids({3, 9, 6}));
    assert_true(encode(tokenizer, "\xe3\x80\x80x\xe3\x80\x80 x~") == Ids({3, 9, 3, 9}));
    assert_true(encode(tokenizer, "~").empty());

    // Hugging Face's way: clusters, then characters, by the shortest rule.
    const CharacterMap map(file.map);
    const auto precompiled = [&](std::string_view text) {
        std::pmr::string out(heap.structures());
        append_precompiled(map, text, 1000, &out);
        return std::string(out);
    };
    assert_string_equal(precompiled("Abe\xcc\x81~\xe3\x80\x80").c_str(), "abab ");
    assert_string_equal(precompiled("A\xcc\x81").c_str(), "a");  // as that program has it
    assert_string_equal(precompiled("A\xcc\x81\xcc\x81\xcc\x81").c_str(), "a\xcc\x81\xcc\x81\xcc\x81");
    assert_string_equal(precompiled("e\xcc\x81\xcc\x81").c_str(), "ab");
}

struct Damage {
    const char* text;
    void (*change)(SentencePieceFile& file);
    volta_status status;
};
const Damage kDamages[] = {
    {"it has no pieces", [](SentencePieceFile& f) { f.pieces.clear(); }, VOLTA_CORRUPT_MODEL},
    {"piece 4 is empty", [](SentencePieceFile& f) { f.pieces[4].text.clear(); }, VOLTA_CORRUPT_MODEL},
    {"has no piece for what is unknown", [](SentencePieceFile& f) { f.pieces[0].type = 3; },
     VOLTA_CORRUPT_MODEL},
    {"the pieces 0 and 1 are both for what is unknown", [](SentencePieceFile& f) { f.pieces[1].type = 2; },
     VOLTA_CORRUPT_MODEL},
    {"piece 4, 'a', is of an unknown type, 9", [](SentencePieceFile& f) { f.pieces[4].type = 9; },
     VOLTA_CORRUPT_MODEL},
    {"piece 4, 'a', is marked as unused", [](SentencePieceFile& f) { f.pieces[4].type = 5; },
     VOLTA_UNSUPPORTED},
    {"piece 4 of its tokenizer is no byte like <0x0A>", [](SentencePieceFile& f) { f.pieces[4].type = 6; },
     VOLTA_CORRUPT_MODEL},
    {"has no piece for the byte 0", [](SentencePieceFile& f) { f.byte_fallback = true; },
     VOLTA_CORRUPT_MODEL},
    {"the score of piece 4 of its tokenizer is beyond", [](SentencePieceFile& f) { f.pieces[4].score = NAN; },
     VOLTA_CORRUPT_MODEL},
    {"its model_type is 3, neither 1 (unigram) nor 2 (bpe)", [](SentencePieceFile& f) { f.model_type = 3; },
     VOLTA_UNSUPPORTED},
    {"has 5 bytes, and says that 1000 of them",
     [](SentencePieceFile& f) {
         f.map = {"\xe8\x03\0\0x", 5};
     },
     VOLTA_CORRUPT_MODEL},
    {"the last text of the character map of its tokenizer does not end",
     [](SentencePieceFile& f) {
         f.map = character_map({{"a", "b"}}) + "x";
     },
     VOLTA_CORRUPT_MODEL},
    {"its denormalizer_spec has a character map, which this library does not apply",
     [](SentencePieceFile& f) {
         f.map_back = character_map({{"a", "b"}});
     },
     VOLTA_UNSUPPORTED},
    {"has 1025 bytes, more than 1024", [](SentencePieceFile& f) { f.pieces[4].text.assign(1025, 'a'); },
     VOLTA_CORRUPT_MODEL},
};

void test_what_is_wrong_is_named(void**) {
    TestHeap heap;
    for (const Damage& row : kDamages) {
        SentencePieceFile file = pairs();
        row.change(file);
        const Failure failure = failure_of([&] { read(file, heap); });
        if (failure.status != row.status || !failure.mentions(row.text))
            print_error("%s: %d %s\n", row.text, failure.status, failure.text);
        assert_int_equal(failure.status, row.status);
        assert_true(failure.mentions(row.text));
    }
    assert_int_equal(heap.held, 0);
}

// Every cut, and every byte changed: refused, or read and used.
void test_damaged_files(void**) {
    TestHeap heap;
    SentencePieceFile file = pairs();
    file.map = character_map({{"A", "a"}});
    const std::string good = file.bytes();
    const auto use = [&](const std::string& bytes) {
        const Failure failure =
            failure_of([&] { encode(read_sentencepiece_tokenizer(bytes, heap.structures()), "abA  x\xff"); });
        assert_true(failure.status == VOLTA_OK || failure.status == VOLTA_CORRUPT_MODEL ||
                    failure.status == VOLTA_UNSUPPORTED || failure.status == VOLTA_INVALID_ARGUMENT);
    };
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes) use(good.substr(0, bytes));
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const char flip : {'\x01', '\x80', '\xff'}) {
            std::string bytes = good;
            bytes[at] = static_cast<char>(bytes[at] ^ flip);
            use(bytes);
        }
    }
    assert_int_equal(heap.held, 0);
}

// A rule that makes a text longer without bound is an error of the text.
void test_a_text_that_grows(void**) {
    TestHeap heap;
    SentencePieceFile file = pairs();
    file.map = character_map({{"A", std::string(100000, 'a')}});
    const Tokenizer tokenizer = read(file, heap);
    const Failure failure = failure_of([&] { encode(tokenizer, "AAAA"); });
    assert_int_equal(failure.status, VOLTA_INVALID_ARGUMENT);
    assert_true(failure.mentions("when it is normalised"));
}

void test_what_lies_beside_the_file(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const std::string path = folder.write("tokenizer.model", pairs().bytes());
    const auto ids = [&](const char* config) {
        folder.write("tokenizer_config.json", config);
        return encode(open_tokenizer(path.c_str(), TokenizerFormat::automatic, heap.structures()), "ab",
                      {true, false});
    };
    assert_true(ids("{}") == Ids({1, 3, 6}));
    assert_true(ids(R"({"tokenizer_class": "LlamaTokenizer", "add_eos_token": true})") == Ids({1, 3, 6, 2}));
    assert_true(ids(R"({"tokenizer_class": "T5Tokenizer"})") == Ids({3, 6, 2}));
    assert_true(ids(R"({"add_bos_token": false})") == Ids({3, 6}));
    assert_true(ids(R"({"bos_token": {"content": "</s>"}})") == Ids({2, 3, 6}));
    const Failure shifted = failure_of([&] { ids(R"({"tokenizer_class": "XLMRobertaTokenizer"})"); });
    assert_int_equal(shifted.status, VOLTA_UNSUPPORTED);
    assert_true(shifted.mentions("the tokenizer_class 'XLMRobertaTokenizer' may have other ids"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_names_of_its_own),
        cmocka_unit_test(test_llamas_own_is_spm),
        cmocka_unit_test(test_what_is_the_users_is_whole),
        cmocka_unit_test(test_unigrams),
        cmocka_unit_test(test_the_character_map),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_a_text_that_grows),
        cmocka_unit_test(test_what_lies_beside_the_file),
    };
    return cmocka_run_group_tests_name("sentencepiece", tests, nullptr, nullptr);
}
