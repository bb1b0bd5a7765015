// The kinds with steps: which vocabularies are refused, one sentence each, and what single steps do to a
// text. How whole tokenizers of other programs cut texts is compared in tests/import.
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/model/chat.h"
#include "engine/model/tokenizer.h"
#include "engine/model/word_models.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::test;

using Ids = std::vector<std::int32_t>;

template <class Kind>
void add_step(TextSteps& steps, Kind kind, std::uint32_t number = 0, std::string_view first = "",
              std::string_view second = "") {
    steps.emplace_back(static_cast<std::uint8_t>(kind), number, first, second);
}

void fill(Vocabulary& v, std::initializer_list<const char*> pieces) {
    for (const char* piece : pieces) v.pieces.emplace_back(piece);
    v.types.assign(v.pieces.size(), PieceType::normal);
}

//  0 a  1 b  2 ab
Vocabulary small_stepped(std::pmr::memory_resource* heap) {
    Vocabulary v(heap);
    v.kind = TokenizerKind::stepped_bpe;
    fill(v, {"a", "b", "ab"});
    v.merges.push_back({0, 1});
    return v;
}

//  0 <unk>  1 a  2 ab
Vocabulary small_unigram(std::pmr::memory_resource* heap) {
    Vocabulary v(heap);
    v.kind = TokenizerKind::unigram;
    fill(v, {"<unk>", "a", "ab"});
    v.types[0] = PieceType::unknown;
    v.wide_scores.assign(3, -1);
    v.options.unk = 0;
    return v;
}

//  0 <unk>  1 a
Vocabulary small_sentencepiece(std::pmr::memory_resource* heap) {
    Vocabulary v(heap);
    v.kind = TokenizerKind::sentencepiece_unigram;
    fill(v, {"<unk>", "a"});
    v.types[0] = PieceType::unknown;
    v.scores.assign(2, -1);
    v.options.unk = 0;
    add_step(v.normalisers, NormaliserKind::sentencepiece);
    return v;
}

struct Refusal {
    Vocabulary (*base)(std::pmr::memory_resource*);
    void (*change)(Vocabulary&);
    const char* sentence;
};

constexpr std::uint8_t kNoKind = 99;

const Refusal kRefusals[] = {
    // What all kinds have.
    {small_stepped, [](Vocabulary& v) { v.kind = static_cast<TokenizerKind>(kNoKind); },
     "is of an unknown kind, 99"},
    {small_stepped, [](Vocabulary& v) { v.types.pop_back(); }, "has 3 pieces and 2 types of pieces"},
    {small_stepped, [](Vocabulary& v) { v.types[1] = static_cast<PieceType>(kNoKind); },
     "piece 1 of its tokenizer is of the unknown type 99"},
    {small_stepped, [](Vocabulary& v) { v.types[0] = PieceType::control, v.pieces[0].assign(257, 'a'); },
     "piece 0 of its tokenizer, which is found whole, has 257 bytes, more than 256"},
    {small_stepped, [](Vocabulary& v) { v.added.assign(2, 0); }, "has 3 pieces, and says how 2 are found"},
    {small_stepped, [](Vocabulary& v) { v.added.assign(3, 64); },
     "piece 0 of its tokenizer is found in the unknown way 64"},
    {small_stepped, [](Vocabulary& v) { v.options.eos = 3; },
     "the id 'eos' of its tokenizer is 3, outside the vocabulary [0, 3)"},
    {small_stepped, [](Vocabulary& v) { v.options.flags = kAddBos; },
     "is to add an id that it does not have"},
    // Normalisers.
    {small_stepped,
     [](Vocabulary& v) {
         for (int i = 0; i < 65; ++i) add_step(v.normalisers, NormaliserKind::nfc);
     },
     "has 65 normalisers, more than 64"},
    {small_stepped, [](Vocabulary& v) { add_step(v.normalisers, kNoKind); },
     "has a normaliser of the unknown kind 99"},
    {small_stepped, [](Vocabulary& v) { add_step(v.normalisers, 0); },
     "has a normaliser of the unknown kind 0"},
    {small_stepped, [](Vocabulary& v) { add_step(v.normalisers, NormaliserKind::sentencepiece); },
     "is that of another kind of tokenizer"},
    {small_stepped, [](Vocabulary& v) { add_step(v.normalisers, NormaliserKind::replace); },
     "replaces an empty text"},
    {small_stepped, [](Vocabulary& v) { add_step(v.normalisers, NormaliserKind::strip); },
     "a normaliser of its tokenizer has the number 0"},
    {small_stepped, [](Vocabulary& v) { add_step(v.normalisers, NormaliserKind::nfc, 1); },
     "a normaliser of its tokenizer has the number 1"},
    {small_stepped,
     [](Vocabulary& v) { add_step(v.normalisers, NormaliserKind::prepend, 0, std::string(257, 'x')); },
     "puts more than 256 bytes into a text"},
    {small_stepped, [](Vocabulary& v) { add_step(v.normalisers, NormaliserKind::replace, 0, "\xff"); },
     "has a text that is not UTF-8"},
    // Steps that cut.
    {small_stepped,
     [](Vocabulary& v) {
         for (int i = 0; i < 65; ++i) add_step(v.cutters, CutterKind::gpt2_words);
     },
     "cuts texts in 65 steps, more than 64"},
    {small_stepped, [](Vocabulary& v) { add_step(v.cutters, kNoKind); },
     "cuts texts by a step of the unknown kind 99"},
    {small_stepped, [](Vocabulary& v) { add_step(v.cutters, CutterKind::split, 5, "a"); },
     "a step that cuts texts of its tokenizer has the number 5"},
    {small_stepped, [](Vocabulary& v) { add_step(v.cutters, CutterKind::metaspace); },
     "writes spaces as what is no character"},
    {small_stepped, [](Vocabulary& v) { add_step(v.cutters, CutterKind::metaspace, 0, "a b"); },
     "writes spaces as what is no character"},
    {small_stepped,
     [](Vocabulary& v) {
         add_step(v.cutters, CutterKind::byte_letters), add_step(v.cutters, CutterKind::byte_letters);
     },
     "writes bytes as letters twice"},
    // Decoders.
    {small_stepped,
     [](Vocabulary& v) {
         for (int i = 0; i < 65; ++i) add_step(v.decoders, DecoderKind::fuse);
     },
     "has 65 decoders, more than 64"},
    {small_stepped, [](Vocabulary& v) { add_step(v.decoders, kNoKind); },
     "has a decoder of the unknown kind 99"},
    {small_stepped, [](Vocabulary& v) { add_step(v.decoders, DecoderKind::replace); },
     "a decoder of its tokenizer looks for nothing"},
    {small_stepped,
     [](Vocabulary& v) { add_step(v.decoders, DecoderKind::replace, 0, "a", std::string(257, 'x')); },
     "a decoder of its tokenizer writes 257 bytes"},
    {small_stepped,
     [](Vocabulary& v) {
         add_step(v.decoders, DecoderKind::spaces), add_step(v.decoders, DecoderKind::bytes);
     },
     "the decoder of bytes is not the first"},
    {small_stepped,
     [](Vocabulary& v) {
         add_step(v.decoders, DecoderKind::fuse), add_step(v.decoders, DecoderKind::replace, 0, "ab", "c");
     },
     "a decoder of its tokenizer, of kind 2, looks at more than one piece"},
    // Each makes 256 times as many bytes.
    {small_stepped,
     [](Vocabulary& v) {
         for (int i = 0; i < 4; ++i)
             add_step(v.decoders, DecoderKind::replace, 0, "a", std::string(256, 'a'));
     },
     "the text of piece 0 of its tokenizer has 65536 bytes"},
    // Of single kinds.
    {small_unigram, [](Vocabulary& v) { v.wide_scores.pop_back(); },
     "its unigram tokenizer has 3 pieces and 2 scores"},
    {small_unigram, [](Vocabulary& v) { v.wide_scores[2] = 1e300; },
     "the score of piece 2 of its tokenizer is beyond 1e+30"},
    {small_unigram, [](Vocabulary& v) { v.pieces[1].assign(1025, 'a'); },
     "piece 1 of its tokenizer has more than 1024 bytes"},
    {small_sentencepiece, [](Vocabulary& v) { v.normalisers.clear(); },
     "its tokenizer of SentencePiece has the steps of another kind"},
    {small_sentencepiece, [](Vocabulary& v) { v.normalisers[0].number = 16; },
     "the normaliser of its tokenizer has the number 16"},
    {small_sentencepiece, [](Vocabulary& v) { v.scores.pop_back(); },
     "its tokenizer of SentencePiece has 2 pieces and 1 scores"},
    {small_sentencepiece, [](Vocabulary& v) { v.scores[1] = 1e38f; },
     "the score of piece 1 of its tokenizer is beyond"},
    {small_sentencepiece, [](Vocabulary& v) { v.options.unk = -1; }, "has no piece for what is unknown"},
};

void test_vocabularies_are_checked(void**) {
    TestHeap heap;
    for (const Refusal& row : kRefusals) {
        Failure failure;
        {
            Vocabulary v = row.base(heap.structures());
            row.change(v);
            failure = failure_of([&] { Tokenizer::from_vocabulary(std::move(v)); });
        }
        if (!failure.mentions(row.sentence)) print_error("not '%s': %s\n", row.sentence, failure.text);
        assert_true(failure.mentions(row.sentence));
        assert_int_equal(failure.status, VOLTA_CORRUPT_MODEL);
        assert_int_equal(heap.held, 0);
    }
}

Ids encode(const Tokenizer& tokenizer, std::string_view text) {
    Ids ids(tokenizer.encode(text, nullptr, 0));
    tokenizer.encode(text, ids.data(), ids.size());
    return ids;
}

// Bytes as letters, by a normaliser or by a step that cuts: a space is then the letter U+0120.
void test_bytes_as_letters(void**) {
    TestHeap heap;
    for (const bool cuts : {false, true}) {
        Vocabulary v(heap.structures());
        v.kind = TokenizerKind::stepped_bpe;
        fill(v, {"a", "\xc4\xa0", "\xc3\x83", "\xc2\xa9"});
        if (cuts) {
            add_step(v.cutters, CutterKind::byte_letters);
            add_step(v.cutters, CutterKind::gpt2_words);
        } else {
            add_step(v.normalisers, NormaliserKind::byte_letters);
        }
        const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
        assert_true(encode(t, "a \xc3\xa9") == Ids({0, 1, 2, 3}));
    }
}

// Pieces of raw bytes: letters for bytes are read back before a word is looked for.
void test_letters_are_bytes_where_pieces_are(void**) {
    TestHeap heap;
    Vocabulary v(heap.structures());
    v.kind = TokenizerKind::stepped_bpe;
    fill(v, {"a", " ", "\xc3", "\xa9", "\xc3\xa9"});
    v.merges.push_back({2, 3});
    v.options.flags = kBytePieces;
    add_step(v.normalisers, NormaliserKind::byte_letters);
    const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
    assert_true(encode(t, "a \xc3\xa9") == Ids({0, 1, 4}));
}

// What two normalisers make of a text.
void test_normalisers_change_a_text(void**) {
    TestHeap heap;
    {
        Vocabulary v(heap.structures());
        v.kind = TokenizerKind::stepped_bpe;
        fill(v, {"a", "b", " "});
        add_step(v.normalisers, NormaliserKind::nmt);
        const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
        assert_true(encode(t,
                           "a\tb\x01"
                           "\xe2\x80\x8b"
                           "a") == Ids({0, 2, 1, 2, 0}));
    }
    Vocabulary v = small_stepped(heap.structures());
    add_step(v.normalisers, NormaliserKind::replace_expression, 0, "x+", "b");
    const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
    assert_true(encode(t, "axxaax") == Ids({2, 0, 2}));
}

// A conversation whose text the normaliser makes much longer has all its ids.
void test_a_chat_may_have_more_ids_than_bytes(void**) {
    TestHeap heap;
    Vocabulary v = small_unigram(heap.structures());
    for (const char* mark : {"<|im_start|>", "<|im_end|>"}) {
        v.pieces.emplace_back(mark);
        v.types.push_back(PieceType::control);
        v.wide_scores.push_back(-1);
    }
    add_step(v.normalisers, NormaliserKind::replace, 0, "*", std::string(50, 'a'));
    const Tokenizer tokenizer = Tokenizer::from_vocabulary(std::move(v));
    const Chat chat(*find_chat_format("chatml"), tokenizer, nullptr, heap.structures());
    const ChatMessage message = {"user", "****"};
    const ChatTokens tokens = chat.encode(&message, 1, true);
    assert_true(std::count(tokens.ids.begin(), tokens.ids.end(), 1) >= 200);
    assert_true(std::count(tokens.ids.begin(), tokens.ids.end(), 3) == 2);
}

// Places in a text are 32 bits. Of one that is too long nothing is looked at.
void test_2_gib_are_refused(void**) {
    TestHeap heap;
    const std::size_t bytes = std::size_t{1} << 31;
    void* const text = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(text != MAP_FAILED);
    const std::string_view whole(static_cast<const char*>(text), bytes);
    IdSink none(nullptr, 0);
    const Failure of_word = failure_of([&] {
        const Vocabulary vocabulary = small_unigram(heap.structures());
        WordScratch scratch(heap.structures());
        make_word_model(vocabulary)->encode(whole, scratch, none);
    });
    const Failure of_text = failure_of([&] {
        Tokenizer::from_vocabulary(small_sentencepiece(heap.structures())).encode(whole, nullptr, 0);
    });
    munmap(text, bytes);
    assert_true(of_word.mentions("a word of the text has 2147483648 bytes"));
    assert_int_equal(of_word.status, VOLTA_INVALID_ARGUMENT);
    assert_true(of_text.mentions("the text has 2147483648 bytes, too many for its tokenizer"));
    assert_int_equal(of_text.status, VOLTA_INVALID_ARGUMENT);
}

// The decoder `strip` takes its character off both ends, as often as it says and no more.
void test_a_decoder_strips_both_ends(void**) {
    TestHeap heap;
    Vocabulary v(heap.structures());
    v.kind = TokenizerKind::stepped_bpe;
    fill(v, {"__a__", "_", "a_", "a"});
    add_step(v.decoders, DecoderKind::strip, (2u << 16) | 1u, "_");
    const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
    const char* const kTexts[] = {"_a", "", "a", "a"};
    for (std::int32_t id = 0; id < 4; ++id) assert_true(t.piece(id) == kTexts[id]);
}

// A hostile list of steps cannot make a text of any length.
void test_a_normalised_text_has_a_bound(void**) {
    TestHeap heap;
    Vocabulary v = small_stepped(heap.structures());
    for (int i = 0; i < 3; ++i)
        add_step(v.normalisers, NormaliserKind::replace, 0, "a", std::string(256, 'a'));
    const Tokenizer t = Tokenizer::from_vocabulary(std::move(v));
    const Failure failure = failure_of([&] { encode(t, "a"); });
    assert_int_equal(failure.status, VOLTA_INVALID_ARGUMENT);
    assert_true(failure.mentions("the text has 16777216 bytes when it is normalised; 65600 are possible"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_vocabularies_are_checked),
        cmocka_unit_test(test_bytes_as_letters),
        cmocka_unit_test(test_letters_are_bytes_where_pieces_are),
        cmocka_unit_test(test_normalisers_change_a_text),
        cmocka_unit_test(test_a_chat_may_have_more_ids_than_bytes),
        cmocka_unit_test(test_2_gib_are_refused),
        cmocka_unit_test(test_a_decoder_strips_both_ends),
        cmocka_unit_test(test_a_normalised_text_has_a_bound),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
