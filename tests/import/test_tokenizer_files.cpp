// Tokenizers of other programs: the ids that those programs give, text that comes back, and files that are
// wrong.
#include "engine/import/tokenizer_files.h"

#include <cstring>
#include <ctime>
#include <iterator>
#include <vector>

#include "engine/base/file.h"
#include "tests/import/vocabulary_data.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/growth.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

using Ids = std::vector<std::int32_t>;

Ids encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
    Ids ids(text.size() + 8);
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

Tokenizer from_gguf(const std::string& bytes, TestHeap& heap) {
    return read_gguf_tokenizer(GgufFile(bytes.data(), bytes.size(), heap.structures()), heap.structures());
}

const char* const kTexts[] = {"text/tinyshakespeare.txt", "text/wikitext-2/valid.txt",
                              "text/war-and-peace.txt"};

// All of them; of a sample one, and the next call has another.
std::vector<const char*> texts_in_turn() {
    static std::size_t turn = 0;
    if (sample_stride() == 1) return {std::begin(kTexts), std::end(kTexts)};
    return {kTexts[turn++ % std::size(kTexts)]};
}

// ---- what the authors of the vocabularies expect

void expect_vectors(const char* name) {
    TestHeap heap;
    const std::string bytes = vocabulary_file(name);
    if (bytes.empty()) {
        print_message("no gguf/ggml-vocab-%s.gguf: set VOLTA_TEST_DATA\n", name);
        skip();
    }
    const Tokenizer tokenizer = from_gguf(bytes, heap);
    const auto vectors = test_vectors(name);
    int wrong = 0;
    for (const TestVector& vector : vectors) {
        const Ids ids = encode(tokenizer, vector.text);
        if (ids == vector.ids) continue;
        ++wrong;
        print_error("'%s' gave", vector.text.c_str());
        for (const std::int32_t id : ids) print_error(" %d", id);
        print_error("\n");
    }
    assert_int_equal(vectors.size(), 46);
    assert_int_equal(wrong, 0);
}

void test_llama_vocabulary_gives_the_expected_ids(void**) { expect_vectors("llama-spm"); }

void test_text_comes_back_from(const Tokenizer& tokenizer) {
    for (const char* name : texts_in_turn()) {
        const std::string text = read_bytes(data_folder() + "/" + name);
        if (text.empty()) continue;
        const std::clock_t start = std::clock();
        const Ids ids = encode(tokenizer, text);
        const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        const bool same = decode(tokenizer, ids) == text;
        print_message("%s: %zu bytes, %zu ids, %.2f s\n", name, text.size(), ids.size(), seconds);
        assert_true(same);
    }
}

void test_text_comes_back_from_llama(void**) {
    TestHeap heap;
    const std::string bytes = vocabulary_file("llama-spm");
    if (bytes.empty()) skip();
    const Tokenizer tokenizer = from_gguf(bytes, heap);
    test_text_comes_back_from(tokenizer);
    const EncodeOptions ends{true, false};
    assert_true(encode(tokenizer, "Hello", ends) == Ids({1, 15043}));
    assert_true(encode(tokenizer, "", ends) == Ids({1}));
    const Ids special = encode(tokenizer, "a</s>b", {false, true});
    assert_true(special == Ids({263, 2, 289}));
    assert_true(decode(tokenizer, special) == "ab");
    assert_true(encode(tokenizer, "a</s>b").size() > 3);
    assert_int_equal(tokenizer.vocabulary().options.unk, 0);
}

// ---- GPT-2

void test_gpt2_vocabulary_gives_the_expected_ids(void**) { expect_vectors("gpt-2"); }

void test_gpt2_files_and_gguf_give_the_same_ids(void**) {
    TestHeap heap;
    const std::string bytes = vocabulary_file("gpt-2"), folder = data_folder() + "/gpt2-bpe";
    if (bytes.empty() || !file_exists((folder + "/encoder.json").c_str())) {
        print_message("no gguf/ggml-vocab-gpt-2.gguf or gpt2-bpe/: set VOLTA_TEST_DATA\n");
        skip();
    }
    const Tokenizer a = from_gguf(bytes, heap);
    const Tokenizer b = open_tokenizer(folder.c_str(), TokenizerFormat::automatic, heap.structures());
    const Tokenizer c =
        open_tokenizer((folder + "/encoder.json").c_str(), TokenizerFormat::gpt2, heap.structures());
    assert_true(a.pieces() == b.pieces() && b.pieces() == c.pieces());
    assert_true(a.vocabulary().types == b.vocabulary().types);
    assert_int_equal(a.vocabulary().options.eos, b.vocabulary().options.eos);
    for (const TestVector& vector : test_vectors("gpt-2"))
        assert_true(encode(a, vector.text) == encode(b, vector.text));
    for (const char* name : texts_in_turn()) {
        const std::string text = read_bytes(data_folder() + "/" + name);
        assert_true(encode(a, text) == encode(b, text));
    }
    test_text_comes_back_from(a);
    assert_true(encode(a, "a<|endoftext|>", {false, true}) == Ids({64, 50256}));
    assert_true(encode(a, "<|endoftext|>").size() > 1);
}

void test_gpt2_files_are_checked(void**) {
    TestHeap heap;
    const auto refused = [&](const char* pieces, const char* merges) {
        return failure_of([&] { read_gpt2_tokenizer(pieces, merges, heap.structures()); });
    };
    constexpr const char kGood[] = "{\"a\": 1, \"b\": 0, \"ab\": 2, \"\\u0120a\": 3, \"\\u0120\": 4}";
    assert_int_equal(refused(kGood, "#version: 0.2\na b\r\n\xc4\xa0 a\n").status, VOLTA_OK);
    assert_true(
        refused("{\"a\": 0, \"b\": 2}", "").mentions("the id 2 is there twice, or is beyond the 2 pieces"));
    assert_true(refused("{\"a\": 0, \"b\": 0}", "").mentions("the id 0 is there twice"));
    for (const char* json : {"", "[]", "3", "{\"a\": \"b\"}", "{\"a\": -1}", "{\"a\": 1.5}", "{\"a\": {}}",
                             "{\"a\": 0", "{\"a\": 99999999999}", "{\"\xff\": 0}"}) {
        const Failure failure = refused(json, "");
        assert_true(failure.mentions("no JSON object of names and ids") ||
                    failure.mentions("is no valid JSON at byte"));
    }
    assert_true(refused("{\"\\u0144\": 0}", "").mentions("has a letter that stands for no byte"));
    assert_true(refused(kGood, "a b\na c\n").mentions("merge 1, 'a c', is no pair of pieces"));
    assert_true(refused(kGood, "ab\n").mentions("merge 0, 'ab', is no pair of pieces"));
    assert_true(refused(kGood, "b a\n").mentions("merge 0 of its tokenizer gives no piece"));
    assert_true(refused(kGood, "a b\n\xc4\xa0 a\na b\n")
                    .mentions("the merges 0 and 2 of its tokenizer are the same"));
    const Failure missing =
        failure_of([&] { open_tokenizer(".", TokenizerFormat::gpt2, heap.structures()); });
    assert_true(missing.mentions("is neither encoder.json with vocab.bpe beside it nor a folder of both"));
}

// ---- BERT

void test_bert_vocabulary_gives_the_expected_ids(void**) { expect_vectors("bert-bge"); }

void test_bert_has_its_ends(void**) {
    TestHeap heap;
    const std::string bytes = vocabulary_file("bert-bge");
    if (bytes.empty()) skip();
    const Tokenizer tokenizer = from_gguf(bytes, heap);
    const EncodeOptions ends{true, true};
    assert_true(encode(tokenizer, "Hello, world!", ends) == Ids({101, 7592, 1010, 2088, 999, 102}));
    assert_true(encode(tokenizer, "[CLS]hello[SEP][MASK]", {false, true}) == Ids({101, 7592, 102, 103}));
    assert_true(encode(tokenizer, "[MASK]") == Ids({1031, 7308, 1033}));
    assert_true(decode(tokenizer, encode(tokenizer,
                                         "C\xc3\xa0"
                                         "fe\tTokenization",
                                         ends)) == "cafe tokenization");
    // Hangul falls apart into its letters; a mark alone is nothing; a control character joins what it stands
    // between.
    assert_true(encode(tokenizer, "\xed\x95\x9c") ==
                encode(tokenizer, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"));
    assert_true(encode(tokenizer, "\xcc\x81").empty());
    assert_true(encode(tokenizer, "hel\x01lo\xff") == Ids({7592}));
    assert_true(encode(tokenizer, std::string(100, 'a')) != Ids({100}));
    assert_true(encode(tokenizer, std::string(101, 'a')) == Ids({100}));
    const std::string long_word(1000000, 'a');
    assert_true(encode(tokenizer, long_word) == Ids({100}));
    assert_int_equal(encode(tokenizer, std::string(1000000, '!')).size(), 1000000);
}

// ---- texts that nobody would write

void test_any_bytes_come_back(void**) {
    TestHeap heap;
    for (const char* name : {"gpt-2", "llama-spm"}) {
        const std::string bytes = vocabulary_file(name);
        if (bytes.empty()) skip();
        const Tokenizer tokenizer = from_gguf(bytes, heap);
        std::uint32_t seed = 1;
        for (int round = 0; round < 200; ++round) {
            std::string text;
            for (int i = 0; i < 64; ++i) {
                seed = seed * 1664525u + 1013904223u;
                text += round % 2 == 0 ? static_cast<char>(seed >> 24)
                                       : " \xe2\x82\xac\xf0\x9f\x98\x80\n'sA1"[(seed >> 24) % 13];
            }
            assert_true(decode(tokenizer, encode(tokenizer, text)) == text);
        }
        for (const char* part : {"a", " ", "\n", "\xff", "\xe6\x88\x91", "1", "'", "aB1 "}) {
            std::string text;
            while (text.size() < 1000000) text += part;
            const std::string less =
                text.substr(0, text.size() / test::kGrowthStep / std::strlen(part) * std::strlen(part));
            const bool same = decode(tokenizer, encode(tokenizer, text)) == text;
            const double growth =
                test::growth([&] { encode(tokenizer, less); }, [&] { encode(tokenizer, text); });
            if (growth > test::kMostWithTheSize)
                print_error("%s: 16 times the '%s' take %.1f times as long\n", name, part, growth);
            assert_true(same);
            assert_true(growth < test::kMostWithTheSize);
        }
    }
}

// ---- llama2.c

void test_llama2c_tokenizer_of_stories(void**) {
    TestHeap heap;
    const std::string path = data_folder() + "/stories260K/tok512.bin";
    if (!file_exists(path.c_str())) {
        print_message("no %s: set VOLTA_TEST_DATA\n", path.c_str());
        skip();
    }
    const Tokenizer tokenizer = open_tokenizer(path.c_str(), TokenizerFormat::automatic, heap.structures());
    assert_int_equal(tokenizer.size(), 512);
    assert_int_equal(tokenizer.kind(), TokenizerKind::spm);
    assert_true(encode(tokenizer, "Once upon a time", {true, false}) == Ids({1, 403, 407, 261, 378}));
    test_text_comes_back_from(tokenizer);
    const std::string story = read_bytes(data_folder() + "/stories260K/expected_greedy_200.txt");
    assert_true(decode(tokenizer, encode(tokenizer, story)) == story);
    assert_true(tokenizer.piece_after(-1, 403) == "Once" && tokenizer.piece(403) == " Once");
    assert_true(tokenizer.piece_after(1, 403) == "Once" && tokenizer.piece_after(407, 403) == " Once");
}

std::string llama2c(std::initializer_list<std::pair<float, const char*>> pieces) {
    std::string out = raw<std::int32_t>(8);
    for (const auto& piece : pieces)
        out += raw(piece.first) + raw(static_cast<std::int32_t>(std::strlen(piece.second))) + piece.second;
    return out;
}

void test_llama2c_files_are_checked(void**) {
    const std::string good =
        llama2c({{0, "<unk>"}, {0, "\n<s>\n"}, {0, "\n</s>\n"}, {0, "<0x0A>"}, {-1, " a"}});
    TestHeap heap;
    const Tokenizer tokenizer = read_llama2c_tokenizer(good, heap.structures());
    assert_true(tokenizer.piece(4) == " a" && tokenizer.piece(3) == "\n" && tokenizer.piece(1).empty());
    assert_true(encode(tokenizer, "<s>a", {false, true}) == Ids({1, 4}));
    const auto refused = [&](const std::string& bytes) {
        return failure_of([&] { read_llama2c_tokenizer(bytes, heap.structures()); });
    };
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
        const Failure failure = refused(good.substr(0, bytes));
        // A cut behind the third piece or the fourth leaves a shorter vocabulary: the format cannot tell.
        const bool between = bytes == good.size() - 10 || bytes == good.size() - 24;
        assert_int_equal(failure.status, between ? VOLTA_OK : VOLTA_CORRUPT_MODEL);
    }
    assert_true(refused(raw(0) + good.substr(4)).mentions("its longest piece has 0 bytes"));
    assert_true(refused(good + raw(0.0f) + raw(-1)).mentions("piece 5 has the length -1"));
    assert_true(refused(good + raw(0.0f) + raw(70000)).mentions("piece 5 has the length 70000"));
    assert_true(refused(llama2c({{0, "a"}, {0, "b"}})).mentions("it has 2 pieces, fewer than 3"));
    const std::string nan = raw<std::uint32_t>(0x7fc00000) + raw(1) + "x";
    assert_true(refused(good + nan).mentions("the score of piece 5 of its tokenizer is not finite"));
    assert_true(refused(good + raw(0.0f) + raw(6) + "<0xZZ>").mentions("is no byte like"));
}

// ---- GGUF

GgufBytes small_spm() {
    GgufBytes g;
    g.string("tokenizer.ggml.model", "llama")
        .strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "\xe2\x96\x81", "a"});
    g.array<float>("tokenizer.ggml.scores", 6, {0, 0, -1, -2});
    return g.array<std::int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 1, 1});
}

void test_gguf_tokenizers_are_checked(void**) {
    TestHeap heap;
    const auto refused = [&](const GgufBytes& g) { return failure_of([&] { from_gguf(g.finish(), heap); }); };
    assert_int_equal(refused(small_spm()).status, VOLTA_OK);
    assert_int_equal(refused(small_spm().u32("tokenizer.ggml.bos_token_id", 1)).status, VOLTA_OK);
    for (const char* name : {"bos", "eos", "unknown"}) {
        const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
        for (const std::uint32_t id : {4u, 0x7fffffffu, 0xfffffffeu}) {
            char text[96];
            std::snprintf(text, sizeof text, "'%s' is %u, outside its vocabulary [0, 4)", key.c_str(), id);
            assert_true(refused(small_spm().u32(key, id)).mentions(text));
        }
        assert_true(refused(small_spm().entry(key, 5, raw<std::int32_t>(-2))).mentions("' is -2, outside"));
    }
    assert_true(
        refused(small_spm().boolean("tokenizer.ggml.add_eos_token", 1))
            .mentions("'tokenizer.ggml.add_eos_token' is true, and no 'tokenizer.ggml.eos_token_id' says"));
    GgufBytes other;
    other.string("tokenizer.ggml.model", "rwkv");
    const Failure unknown = refused(other);
    assert_int_equal(unknown.status, VOLTA_UNSUPPORTED);
    assert_true(unknown.mentions("its tokenizer is 'rwkv'"));
    assert_true(refused(GgufBytes()).mentions("it has no key 'tokenizer.ggml.model'"));
    GgufBytes typed;
    typed.string("tokenizer.ggml.model", "llama").strings("tokenizer.ggml.tokens", {"a"});
    typed.array<float>("tokenizer.ggml.scores", 6, {0})
        .array<std::int32_t>("tokenizer.ggml.token_type", 5, {9});
    assert_true(refused(typed).mentions("token 0 is of an unknown type, 9"));
    assert_int_equal(heap.held, 0);
}

// "There is none" in every type that writers have used for it; a padding that is no piece is none as well.
void test_gguf_ids_that_are_none(void**) {
    TestHeap heap;
    const std::pair<std::uint32_t, std::string> nones[] = {{4, raw<std::uint32_t>(0xffffffffu)},
                                                           {5, raw<std::int32_t>(-1)},
                                                           {10, raw<std::uint64_t>(~std::uint64_t{0})},
                                                           {11, raw<std::int64_t>(-1)},
                                                           {3, raw<std::int16_t>(-1)},
                                                           {1, raw<std::int8_t>(-1)}};
    for (const auto& none : nones) {
        GgufBytes spm = small_spm();
        for (const char* name : {"bos", "eos", "unknown", "padding", "seperator", "mask", "cls", "eot", "eom",
                                 "fim_pre", "fim_suf", "fim_mid"})
            spm.entry(std::string("tokenizer.ggml.") + name + "_token_id", none.first, none.second);
        const Tokenizer tokenizer = from_gguf(spm.finish(), heap);
        const TokenizerOptions& ids = tokenizer.vocabulary().options;
        assert_true(ids.bos == -1 && ids.eos == -1 && ids.unk == -1 && ids.pad == -1);
        assert_false(ids.has(kAddBos) || ids.has(kAddEos));
        GgufBytes bert;
        bert.string("tokenizer.ggml.model", "bert").strings("tokenizer.ggml.tokens", {"[UNK]", "[CLS]", "a"});
        bert.u32("tokenizer.ggml.unknown_token_id", 0).u32("tokenizer.ggml.cls_token_id", 1);
        bert.entry("tokenizer.ggml.seperator_token_id", none.first, none.second);
        const Tokenizer words = from_gguf(bert.finish(), heap);
        assert_true(encode(words, "", {true, false}) == Ids({1}));
    }
    for (const std::uint32_t id : {3u, 4u, 32000u}) {
        const Tokenizer tokenizer =
            from_gguf(small_spm().u32("tokenizer.ggml.padding_token_id", id).finish(), heap);
        assert_int_equal(tokenizer.vocabulary().options.pad, id == 3 ? 3 : -1);
    }
}

void test_a_file_that_is_wrong_is_named(void**) {
    TestHeap heap;
    const Failure missing = failure_of(
        [&] { open_tokenizer("no/such/file.bin", TokenizerFormat::automatic, heap.structures()); });
    assert_int_equal(missing.status, VOLTA_IO_ERROR);
    assert_true(missing.mentions("no/such/file.bin"));
    const std::string text = missing.text;
    assert_true(text.find("no/such/file.bin") == text.rfind("no/such/file.bin"));
    TemporaryFolder folder;
    folder.write("tokenizer_config.json", "[1]");
    const std::string lines = folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
    const Failure beside =
        failure_of([&] { open_tokenizer(lines.c_str(), TokenizerFormat::automatic, heap.structures()); });
    assert_true(beside.mentions("in tokenizer_config.json beside it: the config is no object"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_llama_vocabulary_gives_the_expected_ids),
        cmocka_unit_test(test_text_comes_back_from_llama),
        cmocka_unit_test(test_gpt2_vocabulary_gives_the_expected_ids),
        cmocka_unit_test(test_gpt2_files_and_gguf_give_the_same_ids),
        cmocka_unit_test(test_gpt2_files_are_checked),
        cmocka_unit_test(test_bert_vocabulary_gives_the_expected_ids),
        cmocka_unit_test(test_bert_has_its_ends),
        cmocka_unit_test(test_any_bytes_come_back),
        cmocka_unit_test(test_llama2c_tokenizer_of_stories),
        cmocka_unit_test(test_llama2c_files_are_checked),
        cmocka_unit_test(test_gguf_tokenizers_are_checked),
        cmocka_unit_test(test_gguf_ids_that_are_none),
        cmocka_unit_test(test_a_file_that_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
