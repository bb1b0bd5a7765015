// The kinds that merge or cover pieces, on vocabularies small enough to follow by hand; and learning one.
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "engine/model/piece_index.h"
#include "engine/model/split_words.h"
#include "engine/model/tokenizer.h"
#include "engine/model/train_bpe.h"
#include "engine/model/unicode.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/growth.h"

namespace {
using namespace volta;
using namespace volta::test;

using Ids = std::vector<std::int32_t>;
using Words = std::vector<std::string>;

Ids encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
    Ids ids(tokenizer.encode(text, nullptr, 0, options));
    tokenizer.encode(text, ids.data(), ids.size(), options);
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

void add_piece(Vocabulary& v, const char* piece, PieceType type = PieceType::normal, float score = 0) {
    v.pieces.emplace_back(piece);
    v.types.push_back(type);
    if (v.kind == TokenizerKind::spm) v.scores.push_back(score);
}

void test_of_equal_pieces_the_first_one_counts(void**) {
    TestHeap heap;
    PieceIndex index(heap.structures());
    const struct {
        const char* text;
        std::int32_t id;
    } pieces[] = {{"a", 5},
                  {"ab", 3},
                  {"a", 2},
                  {"ab", 9},
                  {"a", 7},
                  {"long enough for two words", 4},
                  {"long enough for two words", 1}};
    for (const auto& piece : pieces) index.add(piece.text, piece.id);
    index.sort();
    assert_int_equal(index.find("a"), 2);
    assert_int_equal(index.find("ab"), 3);
    assert_int_equal(index.find("long enough for two words"), 1);
    assert_int_equal(index.find("b"), -1);
    assert_true(index.longest_prefix("abc").id == 3 && index.longest_prefix("abc").bytes == 2);
    assert_true(index.longest_prefix("ac").id == 2 && index.longest_prefix("c").id == -1);
}

// ---- spm

//  0 <unk>  1 <s>  2 </s>  3 _  4 a  5 b  6 aa(-1)  7 ab(-2)  8 _a(-3)  9 <0x0A>  10 TOOL (user)
Vocabulary small_spm(TestHeap& heap) {
    Vocabulary v(heap.structures());
    v.kind = TokenizerKind::spm;
    add_piece(v, "<unk>", PieceType::unknown);
    add_piece(v, "<s>", PieceType::control);
    add_piece(v, "</s>", PieceType::control);
    add_piece(v, "\xe2\x96\x81", PieceType::normal, -9);
    add_piece(v, "a", PieceType::normal, -9);
    add_piece(v, "b", PieceType::normal, -9);
    add_piece(v, "aa", PieceType::normal, -1);
    add_piece(v, "ab", PieceType::normal, -2);
    add_piece(v,
              "\xe2\x96\x81"
              "a",
              PieceType::normal, -3);
    add_piece(v, "<0x0A>", PieceType::byte);
    add_piece(v, "TOOL", PieceType::user);
    v.options.unk = 0;
    v.options.bos = 1;
    v.options.eos = 2;
    v.options.flags = kAddBos | kAddEos;
    return v;
}

void test_spm_merges_the_highest_score_first(void**) {
    TestHeap heap;
    const Tokenizer t = Tokenizer::from_vocabulary(small_spm(heap));
    assert_string_equal(tokenizer_kind_name(t.kind()), "spm");
    assert_true(encode(t, "aab") == Ids({6, 5}));  // aa before ab
    assert_true(encode(t, "aaa") == Ids({6, 4}));  // the leftmost of equals
    assert_true(encode(t, " ab") == Ids({3, 7}));  // ab before _a
    assert_true(encode(t, "a a") == Ids({4, 8}));
    assert_true(encode(t, "a\nb") == Ids({4, 9, 5}));
    assert_true(encode(t, "axb") == Ids({4, 0, 5}));  // no bytes for it: unknown
    assert_true(encode(t, "").empty());
    assert_true(decode(t, encode(t, " ab a\nb")) == " ab a\nb");
}

void test_every_byte_has_its_piece(void**) {
    TestHeap heap;
    Vocabulary v(heap.structures());
    v.kind = TokenizerKind::spm;
    for (int byte = 0; byte < 256; ++byte) {
        char piece[8];
        std::snprintf(piece, sizeof piece, "<0x%02X>", static_cast<unsigned>(byte));
        add_piece(v, piece, PieceType::byte);
    }
    const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
    const std::string text =
        "\x7f\x0f\xc2\xaa\xef\xbb\xbf\xf4\x8f\xbf\xbd";  // characters of one to four bytes
    Ids expected;
    for (const char byte : text) expected.push_back(static_cast<unsigned char>(byte));
    assert_true(encode(t, text.c_str()) == expected);
    assert_true(decode(t, expected) == text);
}

void test_special_pieces_are_text_unless_asked_for(void**) {
    TestHeap heap;
    const Tokenizer t = Tokenizer::from_vocabulary(small_spm(heap));
    assert_true(encode(t, "a</s>b", {false, true}) == Ids({4, 2, 5}));
    const Ids plain = encode(t, "a</s>b");
    assert_true(plain.size() == 6 && plain[0] == 4 && plain[1] == 0 && plain.back() == 5);
    assert_true(encode(t, "aTOOLa") == Ids({4, 10, 4}));  // pieces of type user always are
    assert_true(encode(t, "ab", {true, false}) == Ids({1, 7, 2}));
    assert_true(encode(t, "", {true, false}) == Ids({1, 2}));
    assert_true(t.piece(1).empty() && t.piece(10) == "TOOL");
    std::int32_t few[2] = {-7, -7};
    assert_int_equal(t.encode("ab", few, 1, {true, false}), 3);
    assert_true(few[0] == 1 && few[1] == -7);
}

void test_the_space_before_a_text_is_taken_away_again(void**) {
    TestHeap heap;
    Vocabulary v = small_spm(heap);
    v.options.flags |= kSpacePrefix;
    const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
    assert_true(encode(t, "a") == Ids({8}));
    assert_true(encode(t, "", {}).empty());
    assert_true(t.piece(8) == " a" && t.piece_after(-1, 8) == "a" && t.piece_after(1, 8) == "a");
    assert_true(t.piece_after(4, 8) == " a");
    for (const char* text : {"a", " a", "  a", "a ", " ", "ab a", "aTOOLa"})
        assert_true(decode(t, encode(t, text)) == text);
    assert_true(failure_of([&] { t.piece_after(11, 8); }).mentions("token id 11 is outside"));
    assert_true(failure_of([&] { t.piece_after(-2, 8); }).mentions("token id -2 is outside"));
}

void test_without_a_piece_for_it_text_is_refused(void**) {
    TestHeap heap;
    Vocabulary v = small_spm(heap);
    v.options.unk = -1;
    const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
    const Failure failure = failure_of([&] { encode(t, "axb"); });
    assert_int_equal(failure.status, VOLTA_INVALID_ARGUMENT);
    assert_true(failure.mentions("the vocabulary lacks the byte 0x78"));
}

// ---- bpe

//  0 a  1 b  2 c  3 ab  4 bc  5 abc  6 aa, merges in this order of ranks: bc, ab, aa, a+bc
Vocabulary small_bpe(TestHeap& heap) {
    Vocabulary v(heap.structures());
    v.kind = TokenizerKind::bpe;
    for (const char* piece : {"a", "b", "c", "ab", "bc", "abc", "aa"}) v.pieces.emplace_back(piece);
    for (const Merge merge : {Merge{1, 2}, Merge{0, 1}, Merge{0, 0}, Merge{0, 4}}) v.merges.push_back(merge);
    return v;
}

void test_bpe_merges_the_lowest_rank_first(void**) {
    TestHeap heap;
    const Tokenizer t = Tokenizer::from_vocabulary(small_bpe(heap));
    assert_true(encode(t, "abc") == Ids({5}));  // bc, then a+bc
    assert_true(encode(t, "abab") == Ids({3, 3}));
    assert_true(encode(t, "aabc") == Ids({6, 4}));  // aa comes before a+bc
    assert_true(encode(t, "aaa") == Ids({6, 0}));
    const Failure failure = failure_of([&] { encode(t, "ab\xc3\xa9"); });
    assert_true(failure.mentions("the vocabulary lacks the byte 0xc3 at offset 2"));
}

void test_bpe_vocabularies_are_checked(void**) {
    TestHeap heap;
    const auto refused = [&](void (*change)(Vocabulary&)) {
        Vocabulary v = small_bpe(heap);
        change(v);
        return failure_of([&] { Tokenizer::from_vocabulary(std::move(v)); });
    };
    assert_true(refused([](Vocabulary& v) {
                    v.merges.push_back({7, 0});
                }).mentions("merge 4 of its tokenizer has the id 7"));
    assert_true(refused([](Vocabulary& v) { v.merges.push_back({0, -1}); }).mentions("has the id -1"));
    assert_true(refused([](Vocabulary& v) {
                    v.merges.push_back({2, 2});
                }).mentions("merge 4 of its tokenizer gives no piece"));
    assert_true(refused([](Vocabulary& v) { v.merges.push_back({0, 1}); }).mentions("the merges 1 and 4"));
    assert_true(refused([](Vocabulary& v) { v.scores.assign(7, 0); }).mentions("parts of another kind"));
    assert_true(refused([](Vocabulary& v) {
                    v.pieces.emplace_back(600, 'x');
                    v.merges.push_back({7, 7});
                }).mentions("gives 1200 bytes, the most are 1024"));
    assert_int_equal(heap.held, 0);
}

Words split(std::string_view text) {
    WordWalk walk(WordSplit::gpt2, text);
    Words words;
    for (std::string_view word = walk.next(); !word.empty(); word = walk.next()) words.emplace_back(word);
    return words;
}

void test_words_are_cut_as_gpt2_does(void**) {
    assert_true(split("Hello world") == Words({"Hello", " world"}));
    assert_true(split("it's  12,5\n\n x") == Words({"it", "'s", " ", " 12", ",", "5", "\n\n", " x"}));
    assert_true(split("I'LL we'll") == Words({"I", "'", "LL", " we", "'ll"}));
    assert_true(split("a  ") == Words({"a", "  "}));
    assert_true(split("\xc3\xa9t\xc3\xa9 \xc2\xbd") == Words({"\xc3\xa9t\xc3\xa9", " \xc2\xbd"}));
    assert_true(split("a\xff\xfe b\xe2\x82") == Words({"a", "\xff\xfe", " b", "\xe2\x82"}));
    assert_true(split("").empty());
}

// ---- wordpiece

Vocabulary small_wordpiece(TestHeap& heap) {
    Vocabulary v(heap.structures());
    v.kind = TokenizerKind::wordpiece;
    add_piece(v, "[UNK]", PieceType::unknown);
    for (const char* piece : {"un", "##aff", "##able", "!", "\xe4\xb8\xad", "unaff", "##b"})
        add_piece(v, piece);
    v.options.unk = 0;
    v.options.flags = kLowerCase;
    v.options.most_word_characters = 12;
    return v;
}

void test_wordpiece_takes_the_longest_piece(void**) {
    TestHeap heap;
    const Tokenizer t = Tokenizer::from_vocabulary(small_wordpiece(heap));
    assert_true(encode(t, "UNAFFable") == Ids({6, 3}));
    assert_true(encode(t,
                       "\xc3\x9an\xc3\xa0"
                       "ff!un") == Ids({6, 4, 1}));
    assert_true(encode(t,
                       "un\xe4\xb8\xad"
                       "affable") == Ids({1, 5, 0}));
    assert_true(encode(t, "unaffx") == Ids({0}));  // the whole word, not a part of it
    assert_true(encode(t, "unbbbbbbbbbb") == Ids({1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}));
    assert_true(encode(t, "unbbbbbbbbbbb") == Ids({0}));
    assert_true(decode(t, encode(t, " Unaffable  un!")) == "unaffable un !");
    assert_true(encode(t, "un\xee\x80\x80 un\xe2\x80\x8d") == Ids({1, 1}));  // U+E000, U+200D: left out
    assert_true(encode(t, "un\xf0\x9f\xab\xa8 un") == Ids({0, 1}));  // U+1FAE8 is younger than the tables
    Vocabulary cased = small_wordpiece(heap);
    cased.options.flags = 0;
    const Tokenizer c = Tokenizer::from_vocabulary(std::move(cased));
    assert_true(encode(c, "UN un") == Ids({0, 1}));
}

// BERT takes accents off before it looks for signs: what is left of "is not equal to" is the sign "=".
void test_wordpiece_looks_for_signs_behind_accents(void**) {
    TestHeap heap;
    for (const bool lower : {true, false}) {
        Vocabulary v(heap.structures());
        v.kind = TokenizerKind::wordpiece;
        add_piece(v, "[UNK]", PieceType::unknown);
        for (const char* piece :
             {"a", "b", "=", "##=", "##b", "<", ">", "`", ";", "\xe2\x89\xa0", "##\xe2\x89\xa0"})
            add_piece(v, piece);
        v.options.unk = 0;
        v.options.flags = lower ? kLowerCase : 0u;
        v.options.most_word_characters = 12;
        const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
        const auto between = [&](const char* sign) { return encode(t, std::string("a") + sign + "b"); };
        assert_true(between("=") == Ids({1, 3, 2}));
        assert_true(between(";") == Ids({1, 9, 2}));
        assert_true(between("\xe2\x89\xa0") == (lower ? Ids({1, 3, 2}) : Ids({1, 11, 5})));  // U+2260
        if (!lower) continue;
        assert_true(between("=\xcc\xb8") == Ids({1, 3, 2}));     // the same in two characters
        assert_true(between("\xe2\x89\xae") == Ids({1, 6, 2}));  // U+226E: <
        assert_true(between("\xe2\x89\xaf") == Ids({1, 7, 2}));  // U+226F: >
        assert_true(between("\xe1\xbf\xaf") == Ids({1, 8, 2}));  // U+1FEF: `
        assert_true(between("\xcd\xbe") == Ids({1, 9, 2}));      // U+037E: ;
        assert_true(encode(t, "\xe2\x89\xa0\xe2\x89\xa0") == Ids({3, 3}));
        assert_true(encode(t, std::string(12, 'a') + "\xe2\x89\xa0") == Ids({0, 3}));
    }
}

void test_wordpiece_vocabularies_are_checked(void**) {
    TestHeap heap;
    Vocabulary a = small_wordpiece(heap), b = small_wordpiece(heap);
    a.options.unk = -1;
    b.options.most_word_characters = 0;
    assert_true(failure_of([&] {
                    Tokenizer::from_vocabulary(std::move(a));
                }).mentions("has no piece for unknown words"));
    assert_true(failure_of([&] {
                    Tokenizer::from_vocabulary(std::move(b));
                }).mentions("allows words of 0 characters; 1 to 1000"));
}

void test_unicode_tables_know_some_characters(void**) {
    assert_true(contains(kControls, 0) && contains(kControls, 0x200d) && contains(kControls, '\n'));
    assert_true(contains(kControls, 0xe000) && contains(kControls, 0xfeff));
    for (const std::uint32_t unassigned : {0x378u, 0xffffu, 0x1faeau, 0x10ffffu, 0x110000u})  // of Unicode 16
        assert_false(contains(kControls, unassigned));
    assert_true(contains(kAccents, 0x301) && !contains(kAccents, 'a') && is_sign('~'));
    assert_true(is_sign(0x3002) && !is_sign('0') && contains(kNumbers, 0xbd) && contains(kLetters, 0x4e00));
    const struct {
        std::uint32_t from;
        std::initializer_list<std::uint32_t> to;
    } folded[] = {{0xc9, {'e'}},
                  {0x1ec6, {'e'}},
                  {0x130, {'i'}},
                  {'e', {'e'}},
                  {0x301, {}},
                  {0x2260, {'='}},
                  {0xac01, {0x1100, 0x1161, 0x11a8}},
                  {0x1d15e, {0x1d157, 0x1d165}},
                  {0x10400, {0x10428}}};
    for (const auto& row : folded) {
        std::uint32_t out[kMostFolded];
        assert_int_equal(fold(row.from, out), static_cast<int>(row.to.size()));
        assert_true(std::equal(row.to.begin(), row.to.end(), out));
    }
}

// What Unicode's NormalizationTest.txt tests, by hand: composing, Hangul, marks out of order, a mark that is
// blocked, exclusions, compatibility.
void test_normal_forms(void**) {
    const struct {
        const char *text, *nfc, *nfd, *nfkc, *nfkd;
    } kRows[] = {
        {"e\xcc\x81", "\xc3\xa9", "e\xcc\x81", "\xc3\xa9", "e\xcc\x81"},
        {"\xea\xb0\x81", "\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81",
         "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"},
        {"q\xcc\x87\xcc\xa3", "q\xcc\xa3\xcc\x87", "q\xcc\xa3\xcc\x87", "q\xcc\xa3\xcc\x87",
         "q\xcc\xa3\xcc\x87"},
        {"e\xcc\x88\xcc\x81x", "\xc3\xab\xcc\x81x", "e\xcc\x88\xcc\x81x", "\xc3\xab\xcc\x81x",
         "e\xcc\x88\xcc\x81x"},
        {"\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc", "\xe0\xa4\x95\xe0\xa4\xbc", "\xe0\xa4\x95\xe0\xa4\xbc",
         "\xe0\xa4\x95\xe0\xa4\xbc"},
        {"\xef\xac\x81\xc2\xbd", "\xef\xac\x81\xc2\xbd", "\xef\xac\x81\xc2\xbd",
         "fi1\xe2\x81\x84"
         "2",
         "fi1\xe2\x81\x84"
         "2"},
        {"\xe2\x84\xab", "\xc3\x85", "A\xcc\x8a", "\xc3\x85", "A\xcc\x8a"},
    };
    TestHeap heap;
    for (const auto& row : kRows) {
        const char* const expected[] = {row.nfc, row.nfd, row.nfkc, row.nfkd};
        for (int form = 0; form < 4; ++form) {
            std::pmr::string out(heap.structures());
            append_normal(row.text, static_cast<NormalForm>(form), &out);
            assert_string_equal(out.c_str(), expected[form]);
        }
    }
}

// ---- learning

// What train_bpe does, counted anew before every merge.
std::vector<Merge> learn_slowly(std::string_view text, std::int32_t pieces) {
    std::map<Words::value_type, long> counts;
    for (const std::string& word : split(text)) ++counts[word];
    std::vector<std::pair<Ids, long>> words;
    words.reserve(counts.size());
    for (const auto& [word, count] : counts) words.push_back({Ids(), count});
    std::size_t at = 0;
    for (const auto& [word, count] : counts) {
        for (const char byte : word) words[at].first.push_back(static_cast<unsigned char>(byte));
        ++at;
    }
    std::vector<Merge> merges;
    for (std::int32_t id = 256; id < pieces; ++id) {
        std::map<std::pair<std::int32_t, std::int32_t>, long> pairs;
        for (const auto& [ids, count] : words)
            for (std::size_t i = 1; i < ids.size(); ++i) pairs[{ids[i - 1], ids[i]}] += count;
        std::pair<std::int32_t, std::int32_t> best;
        long most = 1;
        for (const auto& [pair, count] : pairs)
            if (count > most) {
                most = count;
                best = pair;
            }
        if (most == 1) break;
        merges.push_back({best.first, best.second});
        for (auto& [ids, count] : words)
            for (std::size_t i = 1; i < ids.size(); ++i)
                if (ids[i - 1] == best.first && ids[i] == best.second) {
                    ids[i - 1] = id;
                    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i));
                }
    }
    return merges;
}

std::string some_text() {
    std::string text;
    std::uint32_t seed = 7;
    const char* const kSyllables[] = {"ba", "na", "ko", "aaa", "ab", "\xc3\xa9", " ", " ", "\n", "'s"};
    for (int i = 0; i < 6000; ++i) {
        seed = seed * 1664525u + 1013904223u;
        text += kSyllables[(seed >> 24) % 10];
    }
    return text;
}

void test_learning_counts_as_the_definition_does(void**) {
    TestHeap heap;
    const std::string text = some_text();
    const Tokenizer t = train_bpe(text, 300, heap.structures());
    const std::vector<Merge> expected = learn_slowly(text, 300);
    const auto& merges = t.vocabulary().merges;
    assert_int_equal(t.size(), 300);
    assert_int_equal(merges.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        assert_int_equal(merges[i].left, expected[i].left);
        assert_int_equal(merges[i].right, expected[i].right);
    }
    const Ids ids = encode(t, text);
    assert_true(decode(t, ids) == text && ids.size() < text.size() / 2);
}

void test_learning_ends_where_nothing_is_there_twice(void**) {
    TestHeap heap;
    assert_int_equal(train_bpe("abcd", 1000, heap.structures()).size(), 256);
    assert_int_equal(train_bpe("abab", 1000, heap.structures()).size(), 257);
    // aa, aaaa, ...: a word of one letter halves until one pair is left.
    const Tokenizer t = train_bpe(std::string(64, 'a'), 1000, heap.structures());
    assert_int_equal(t.size(), 256 + 5);
    assert_true(t.piece(260) == std::string(32, 'a'));
    assert_true(failure_of([&] { train_bpe("", 300, heap.structures()); }).mentions("is empty"));
    assert_true(failure_of([&] { train_bpe("a", 255, heap.structures()); }).mentions("has 255 pieces"));
}

// One word of 300,000 letters: the work grows with their number, not with its square.
void test_learning_from_a_long_word_grows_with_it(void**) {
    TestHeap heap;
    std::string word;
    std::uint32_t seed = 3;
    for (int i = 0; i < 300000; ++i) {
        seed = seed * 1664525u + 1013904223u;
        word += static_cast<char>('a' + (seed >> 24) % 26);
    }
    const auto learn = [&](const std::string& text) { return train_bpe(text, 600, heap.structures()); };
    const Tokenizer t = learn(word);
    assert_int_equal(t.size(), 600);
    assert_true(decode(t, encode(t, word)) == word);
    const std::string part = word.substr(0, word.size() / test::kGrowthStep);
    const double growth = test::growth([&] { learn(part); }, [&] { learn(word); });
    print_message("%zu letters: %.1f times as long as %zu\n", word.size(), growth, part.size());
    assert_true(growth < test::kMostWithTheSize);
}

void test_memory_that_runs_out_leaves_nothing(void**) {
    for (long call = 1;; call += 1 + call / 8) {
        TestHeap heap;
        heap.refused_call = call;
        const Failure failure = failure_of([&] {
            const Tokenizer t = train_bpe("some words and some more words", 270, heap.structures());
            encode(t, "some words");
        });
        assert_int_equal(heap.held, 0);
        if (failure.status == VOLTA_OK) break;
        assert_int_equal(failure.status, VOLTA_OUT_OF_MEMORY);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_spm_merges_the_highest_score_first),
        cmocka_unit_test(test_of_equal_pieces_the_first_one_counts),
        cmocka_unit_test(test_every_byte_has_its_piece),
        cmocka_unit_test(test_special_pieces_are_text_unless_asked_for),
        cmocka_unit_test(test_the_space_before_a_text_is_taken_away_again),
        cmocka_unit_test(test_without_a_piece_for_it_text_is_refused),
        cmocka_unit_test(test_bpe_merges_the_lowest_rank_first),
        cmocka_unit_test(test_bpe_vocabularies_are_checked),
        cmocka_unit_test(test_words_are_cut_as_gpt2_does),
        cmocka_unit_test(test_wordpiece_takes_the_longest_piece),
        cmocka_unit_test(test_wordpiece_looks_for_signs_behind_accents),
        cmocka_unit_test(test_wordpiece_vocabularies_are_checked),
        cmocka_unit_test(test_unicode_tables_know_some_characters),
        cmocka_unit_test(test_normal_forms),
        cmocka_unit_test(test_learning_counts_as_the_definition_does),
        cmocka_unit_test(test_learning_ends_where_nothing_is_there_twice),
        cmocka_unit_test(test_learning_from_a_long_word_grows_with_it),
        cmocka_unit_test(test_memory_that_runs_out_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
