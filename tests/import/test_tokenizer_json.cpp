// Hugging Face's tokenizer.json and BERT's vocab.txt: the ids of the same vocabularies in other files, and
// files that are wrong or ask for something else.
#include "engine/base/file.h"
#include "engine/import/tokenizer_files.h"
#include "tests/import/vocabulary_data.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
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

std::string quoted(std::string_view text) {
    std::string json = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') json += '\\';
        json += c;
    }
    return json + "\"";
}

void replace(std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    assert_true(at != text.npos);
    text.replace(at, from.size(), to);
}

// ---- BPE

std::string bpe_json(const std::string& vocab, const std::string& merges, const std::string& added = "") {
    return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)" + added +
           R"(], "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
  "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false},
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
  "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "merges": [)" +
           merges + R"(], "vocab": )" + vocab + "}}";
}
constexpr const char kEnd[] =
    R"({"id": 50256, "special": true, "content": "<|endoftext|>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": true})";

void test_gpt2_as_json_gives_the_same_ids(void**) {
    // Before there is anything that a jump out of the test would leave behind.
    if (read_bytes(data_folder() + "/gpt2-bpe/encoder.json").empty()) skip();
    TestHeap heap;
    const std::string folder = data_folder() + "/gpt2-bpe";
    const std::string vocab = read_bytes(folder + "/encoder.json");
    std::string lines = read_bytes(folder + "/vocab.bpe");
    const Tokenizer expected = open_tokenizer(folder.c_str(), TokenizerFormat::gpt2, heap.structures());
    lines.erase(0, lines.find('\n') + 1);
    for (const bool pairs : {false, true}) {
        std::string merges;
        for (std::size_t at = 0, end; (end = lines.find('\n', at)) != lines.npos; at = end + 1) {
            const std::string line = lines.substr(at, end - at);
            const std::size_t space = line.find(' ');
            merges += merges.empty() ? "" : ",";
            merges += pairs ? "[" + quoted(line.substr(0, space)) + "," + quoted(line.substr(space + 1)) + "]"
                            : quoted(line);
        }
        TemporaryFolder files;
        const std::string path = files.write("tokenizer.json", bpe_json(vocab, merges, kEnd));
        const Tokenizer tokenizer =
            open_tokenizer(path.c_str(), TokenizerFormat::automatic, heap.structures());
        assert_true(tokenizer.pieces() == expected.pieces());
        assert_true(tokenizer.vocabulary().types == expected.vocabulary().types);
        assert_int_equal(tokenizer.vocabulary().options.eos, 50256);
        assert_int_equal(tokenizer.vocabulary().merges.size(), expected.vocabulary().merges.size());
        const std::string text = read_bytes(data_folder() + "/text/tinyshakespeare.txt");
        assert_true(encode(tokenizer, text) == encode(expected, text));
        assert_true(encode(tokenizer, "a<|endoftext|>", {false, true}) == Ids({64, 50256}));
    }
}

// ---- WordPiece

struct WordPiece {
    std::string lines, vocab;  // vocab.txt, and an object of pieces and ids
};

// BERT's own spelling of a vocabulary whose pieces begin words with U+2581.
WordPiece spelt(const Tokenizer& tokenizer) {
    WordPiece result;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
        std::string piece(tokenizer.pieces()[static_cast<std::size_t>(id)]);
        if (piece.compare(0, 3, "\xe2\x96\x81") == 0)
            piece.erase(0, 3);
        else if (tokenizer.vocabulary().type(id) == PieceType::normal)
            piece.insert(0, "##");
        result.lines += piece + "\n";
        result.vocab += (id > 0 ? "," : "{") + quoted(piece) + ":" + std::to_string(id);
    }
    result.vocab += "}";
    return result;
}

std::string wordpiece_json(const std::string& vocab, int cls = 101, int sep = 102) {
    return R"({"added_tokens": [
    {"id": 0, "content": "[PAD]", "single_word": false, "lstrip": false, "rstrip": false, "special": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                 "strip_accents": null, "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [)" +
           std::to_string(cls) + R"(], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [)" +
           std::to_string(sep) + R"(], "tokens": ["[SEP]"]}}},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": )" +
           vocab + "}}";
}

void test_bert_in_other_files_gives_the_same_ids(void**) {
    TestHeap heap;
    const std::string bytes = vocabulary_file("bert-bge");
    if (bytes.empty()) skip();
    const Tokenizer expected =
        read_gguf_tokenizer(GgufFile(bytes.data(), bytes.size(), heap.structures()), heap.structures());
    const WordPiece files = spelt(expected);
    TemporaryFolder folder;
    const std::string lines = folder.write("vocab.txt", files.lines);
    const std::string json = folder.write("tokenizer.json", wordpiece_json(files.vocab));
    std::string other = wordpiece_json(files.vocab);
    const std::size_t begin = other.find("{\"type\": \"TemplateProcessing\""),
                      end = other.find("\"decoder\"");
    other.replace(begin, end - begin,
                  R"({"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}, )");
    const std::string older = folder.write("older.json", other);
    for (const std::string& path : {lines, json, older}) {
        const Tokenizer tokenizer =
            open_tokenizer(path.c_str(), TokenizerFormat::automatic, heap.structures());
        assert_int_equal(tokenizer.size(), expected.size());
        for (const TestVector& vector : test_vectors("bert-bge"))
            assert_true(encode(tokenizer, vector.text) == vector.ids);
        const EncodeOptions ends{true, true};
        assert_true(encode(tokenizer, "Hello, world!", ends) == Ids({101, 7592, 1010, 2088, 999, 102}));
        assert_true(encode(tokenizer, "[CLS]hello[SEP][MASK]", {false, true}) == Ids({101, 7592, 102, 103}));
        assert_true(encode(tokenizer, std::string(101, 'a')) == Ids({100}));
    }
}

constexpr const char kLines[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\r\nHello\n##s";

void test_a_vocabulary_of_lines(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const std::string path = folder.write("vocab.txt", kLines);
    const auto ids = [&](const char* text) {
        const Tokenizer tokenizer = open_tokenizer(path.c_str(), TokenizerFormat::bert, heap.structures());
        return encode(tokenizer, text, {true, true});
    };
    assert_true(ids("Hellos what") == Ids({2, 5, 7, 1, 3}));
    folder.write("tokenizer_config.json", R"({"do_lower_case": false, "model_max_length": 512})");
    assert_true(ids("Hellos hello") == Ids({2, 6, 7, 5, 3}));
    folder.write("tokenizer_config.json", R"({"do_lower_case": 3})");
    const Failure wrong = failure_of([&] { ids(""); });
    assert_true(wrong.status == VOLTA_CORRUPT_MODEL && wrong.mentions("do_lower_case"));
    const auto refused = [&](const char* lines) {
        return failure_of([&] { read_bert_tokenizer(lines, true, heap.structures()); });
    };
    assert_true(refused("[UNK]\n\na\n").mentions("line 2 of it is empty"));
    assert_true(refused("a\nb\n").mentions("no piece for unknown words"));
    assert_true(refused("").status != VOLTA_OK);
    assert_int_equal(heap.held, 0);
}

// ---- what is refused

constexpr const char kVocab[] = R"({"a": 0, "b": 1, "ab": 2})";
constexpr const char kPieces[] = R"({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4})";

struct Refusal {
    bool wordpiece;
    const char *from, *to;
    volta_status status;
    const char* text;
};
const Refusal kRefusals[] = {
    {false, "\"BPE\"", "\"Other\"", VOLTA_UNSUPPORTED,
     "its model.type is 'Other', which this library does not"},
    {false, "\"normalizer\": null", "\"normalizer\": {\"type\": \"Other\"}", VOLTA_UNSUPPORTED,
     "its normalizer 'Other' has the type 'Other', which this library does not know"},
    {false, "\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\", \"form\": 3}", VOLTA_UNSUPPORTED,
     "its normalizer 'NFC' has the member 'form'"},
    {false, "\"normalizer\": null",
     "\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"a!==\"}", VOLTA_CORRUPT_MODEL,
     "the precompiled_charsmap of its normalizer 'Precompiled' is no base64"},
    {false, "\"normalizer\": null",
     "\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"6AMAAHg=\"}",
     VOLTA_CORRUPT_MODEL,
     "the character map of its tokenizer has 5 bytes, and says that 1000 of them are its units"},
    {false, "\"normalizer\": null", "\"normalizer\": 3", VOLTA_CORRUPT_MODEL,
     "its normalizer is no object with a type"},
    {false, "\"normalizer\": null",
     "\"normalizer\": {\"type\": \"Replace\", \"pattern\": \"a\", \"content\": \"\"}", VOLTA_CORRUPT_MODEL,
     "the pattern of a 'Replace' in it is neither a String nor a Regex"},
    {false, "\"normalizer\": null", "\"normalizer\": null, \"normalizer\": {\"type\": \"NFC\"}",
     VOLTA_UNSUPPORTED, "its member 'normalizer' is there twice"},
    {false, "{\"type\": \"ByteLevel\", \"add_prefix_space\": false", "{\"type\": \"UnicodeScripts\"",
     VOLTA_UNSUPPORTED, "its pre_tokenizer 'UnicodeScripts' has the type 'UnicodeScripts'"},
    {false, "\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true",
     "\"type\": \"Split\", \"behavior\": \"Isolated\", \"pattern\": {\"Regex\": \"(a)\\\\1\"}",
     VOLTA_UNSUPPORTED, "the part '\\1' of the expression '(a)\\1' is not known to this library"},
    {false, "\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true",
     "\"type\": \"Split\", \"behavior\": \"Sideways\", \"pattern\": {\"String\": \"a\"}", VOLTA_UNSUPPORTED,
     "its pre_tokenizer 'Split' has the behavior 'Sideways'"},
    {false, "\"trim_offsets\": true", "\"trim\": true", VOLTA_UNSUPPORTED,
     "its pre_tokenizer 'ByteLevel' has the member 'trim'"},
    {false, "\"dropout\": null", "\"dropout\": 0.1", VOLTA_UNSUPPORTED, "model.dropout"},
    {false, "\"dropout\": null", "\"other\": 0.1", VOLTA_UNSUPPORTED,
     "its model's member 'other' is not known"},
    {false, "\"truncation\": null", "\"other\": null", VOLTA_UNSUPPORTED, "its member 'other' is not known"},
    {false, "\"end_of_word_suffix\": \"\"", "\"end_of_word_suffix\": \"</w>\"", VOLTA_UNSUPPORTED,
     "model.end_of_word_suffix is '</w>'"},
    {false, "\"post_processor\": {\"type\": \"ByteLevel\"", "\"post_processor\": {\"type\": \"Other\"",
     VOLTA_UNSUPPORTED, "post_processor.type is 'Other'"},
    {false, "\"decoder\": {\"type\": \"ByteLevel\"", "\"decoder\": {\"type\": \"CTC\"", VOLTA_UNSUPPORTED,
     "its decoder 'CTC' has the type 'CTC'"},
    {false, "\"type\": \"BPE\"", "\"type\": \"BPE\", \"type\": \"Unigram\"", VOLTA_UNSUPPORTED,
     "the config has 'model.type' twice, 'BPE' and 'Unigram'"},
    {false, "\"added_tokens\": [", "\"added_tokens\": [{\"id\": 1, \"content\": \"<m>\"}",
     VOLTA_CORRUPT_MODEL, "the id 1 is there twice"},
    {false, "\"added_tokens\": [", "\"added_tokens\": [{\"id\": 3, \"content\": \"ab\"}", VOLTA_UNSUPPORTED,
     "its added token 'ab' has the id 3, and 2 in its vocabulary"},
    {false, "\"added_tokens\": [", "\"added_tokens\": [{\"id\": 9, \"content\": \"<m>\"}",
     VOLTA_CORRUPT_MODEL, "piece '<m>' has no text or no id below the number of pieces"},
    {false, "\"added_tokens\": [", "\"added_tokens\": [{\"content\": \"<m>\"}", VOLTA_CORRUPT_MODEL,
     "piece '<m>' has no"},
    {false, "\"b\": 1", "\"b\": 0", VOLTA_CORRUPT_MODEL, "the id 0 is there twice"},
    {false, "\"b\": 1", "\"b\": 3", VOLTA_CORRUPT_MODEL, "no id below the number of pieces"},
    {false, "\"b\": 1", "\"b\": \"1\"", VOLTA_CORRUPT_MODEL, "its vocab is no object of pieces and ids"},
    {false, "\"b\": 1", "\"b\": {\"c\": 1}", VOLTA_CORRUPT_MODEL, "its vocab is no object of pieces and ids"},
    {false, "\"a b\"", "\"a c\"", VOLTA_CORRUPT_MODEL, "merge 0, 'a c', is no pair of pieces"},
    {false, "\"a b\"", "[\"a\"]", VOLTA_CORRUPT_MODEL, "merge 0, 'a', is no pair of pieces"},
    {false, "\"a b\"", "[\"a\", \"b\", \"a\"]", VOLTA_CORRUPT_MODEL, "merge 1 is no pair of texts"},
    {false, "\"a b\"", "{\"a\": 3}", VOLTA_CORRUPT_MODEL, "merge 0 is no pair of texts"},
    {false, "}}", "}", VOLTA_CORRUPT_MODEL, "no valid JSON"},
    {false, "\"truncation\": null", "\"truncation\": [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", VOLTA_CORRUPT_MODEL,
     "nested more than 16 deep"},
    {true, "{\"id\": \"A\"", "{\"id\": \"B\"", VOLTA_UNSUPPORTED,
     "its post_processor puts the sequence 'B' beside one text"},
    {true, "{\"id\": \"[SEP]\"", "{\"id\": \"[END]\"", VOLTA_CORRUPT_MODEL,
     "its post_processor puts '[END]' around a text, and does not say its id"},
    {true, "\"decoder\": {\"type\": \"WordPiece\"", "\"decoder\": {\"type\": \"BPEDecoder\"",
     VOLTA_UNSUPPORTED, "its decoder 'BPEDecoder' has the type 'BPEDecoder'"},
    {true, "\"max_input_chars_per_word\": 100", "\"max_input_chars_per_word\": 0", VOLTA_CORRUPT_MODEL,
     "allows words of 0 characters"},
    {false, "\"add_prefix_space\": false", "\"add_prefix_space\": 3", VOLTA_CORRUPT_MODEL,
     "the add_prefix_space of its pre_tokenizer 'ByteLevel' is no truth value"},
    {true, "\"unk_token\": \"[UNK]\"", "\"unk_token\": \"<unk>\"", VOLTA_CORRUPT_MODEL,
     "no piece for unknown words"},
};

void test_what_is_not_read_is_named(void**) {
    TestHeap heap;
    const std::string good[] = {bpe_json(kVocab, "\"a b\""), wordpiece_json(kPieces, 2, 3)};
    for (const std::string& json : good) read_json_tokenizer(json, heap.structures());
    for (const Refusal& row : kRefusals) {
        std::string json = good[row.wordpiece];
        replace(json, row.from, row.to);
        const Failure failure = failure_of([&] { read_json_tokenizer(json, heap.structures()); });
        if (failure.status != row.status || !failure.mentions(row.text))
            print_error("%s -> %s: %d %s\n", row.from, row.to, failure.status, failure.text);
        assert_int_equal(failure.status, row.status);
        assert_true(failure.mentions(row.text));
    }
    for (const char* json : {"", "[]", "{}", "3", "{\"model\": []}", "{\"model\": {\"vocab\": []}}"})
        assert_true(failure_of([&] { read_json_tokenizer(json, heap.structures()); }).status != VOLTA_OK);
    assert_int_equal(heap.held, 0);
}

// ---- what is put around a text

std::string special(const char* name, const char* ids) {
    return quoted(name) + R"(: {"id": )" + quoted(name) + R"(, "ids": [)" + ids + R"(], "tokens": []})";
}
std::string item(const char* name) {
    return R"({"SpecialToken": {"id": )" + quoted(name) + R"(, "type_id": 0}})";
}
const std::string kText = R"({"Sequence": {"id": "A", "type_id": 0}})";
const std::string kSpecials = R"("special_tokens": {)" + special("<s>", "3") + "," + special("</s>", "4") +
                              "," + special("<two>", "3, 4") + "," + special("<far>", "5") + "}";
std::string template_of(const std::string& single) {
    return R"({"type": "TemplateProcessing", "single": [)" + single +
           R"(], "pair": [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "B"}}], )" + kSpecials + "}";
}
std::string sequence(const std::string& processors) {
    return R"({"type": "Sequence", "processors": [)" + processors + "]}";
}
const std::string kByteLevel = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false})";
const std::string kRoberta = R"({"type": "RobertaProcessing", "sep": ["</s>", 4], "cls": ["<s>", 3],
                                 "trim_offsets": true, "add_prefix_space": false})";

struct Ends {
    std::string processor;
    Ids ids;           // of "ab" with ends
    const char* text;  // NULL: read
};
const Ends kEnds[] = {
    {"null", {2}, nullptr},
    {kByteLevel, {2}, nullptr},
    {template_of(kText), {2}, nullptr},
    {template_of(item("<s>") + "," + kText + "," + item("</s>")), {3, 2, 4}, nullptr},
    {template_of(item("<s>") + "," + kText), {3, 2}, nullptr},
    {template_of(kText + "," + item("</s>")), {2, 4}, nullptr},
    {template_of(item("</s>") + "," + kText + "," + item("</s>")), {4, 2, 4}, nullptr},
    {kRoberta, {3, 2, 4}, nullptr},
    {R"({"type": "BertProcessing", "cls": ["any name", 3], "sep": ["</s>", 4]})", {3, 2, 4}, nullptr},
    {sequence(kByteLevel + "," + template_of(item("<s>") + "," + kText)), {3, 2}, nullptr},
    {sequence(template_of(kText + "," + item("</s>")) + "," + kByteLevel), {2, 4}, nullptr},
    {sequence(template_of(kText + "," + item("</s>")) + "," + template_of(item("<s>") + "," + kText)),
     {3, 2, 4},
     nullptr},
    {sequence(kRoberta), {3, 2, 4}, nullptr},
    {sequence(""), {2}, nullptr},
    {template_of(item("<s>") + "," + item("<s>") + "," + kText),
     {},
     "puts 2 pieces before a text and 0 behind it"},
    {template_of(kText + "," + item("</s>") + "," + item("<s>")),
     {},
     "puts 0 pieces before a text and 2 behind it"},
    {sequence(kRoberta + "," + kRoberta), {}, "puts 2 pieces before a text and 2 behind it"},
    {template_of(item("<two>") + "," + kText),
     {},
     "its post_processor puts '<two>', which is 2 ids, around a text"},
    {template_of(item("<far>") + "," + kText), {}, "puts '<far>' around a text, the id 5 of 5"},
    {template_of(item("<none>") + "," + kText), {}, "puts '<none>' around a text, and does not say its id"},
    {R"({"type": "TemplateProcessing", "single": [)" + item("<s>") + "," + kText +
         R"(], "special_tokens": {)" + special("<s>", "3") + "," + special("<s>", "4") + "}}",
     {},
     "its post_processor has '<s>' twice"},
    {template_of(item("<s>")), {}, "its post_processor leaves the text itself out"},
    {template_of(""), {}, "its post_processor leaves the text itself out"},
    {template_of(kText + "," + kText), {}, "puts the sequence 'A' twice"},
    {sequence(sequence(kRoberta)),
     {},
     "its post_processor.type is 'Sequence', which this library does not read"},
    {sequence(R"({"type": "Other"})"),
     {},
     "its post_processor.type is 'Other', which this library does not read"},
    {R"({"type": "RobertaProcessing", "sep": ["</s>", 4]})", {}, "puts 'cls' around a text"},
    {"[3]", {}, "its post_processor is no object with a type"},
};

std::string with_processor(const std::string& processor) {
    std::string json = bpe_json(kVocab, "\"a b\"", R"({"id": 3, "content": "<s>", "special": true},
                                                      {"id": 4, "content": "</s>", "special": true})");
    replace(json, R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false})", processor);
    return json;
}

std::string pair_template(const std::string& single, const std::string& pair) {
    return R"({"type": "TemplateProcessing", "single": [)" + single + R"(], "pair": [)" + pair +
           R"(], "special_tokens": {)" + special("<s>", "3") + "," + special("</s>", "4") + "," +
           special("<two>", "3, 4") + "}}";
}
const std::string kSecond = R"({"Sequence": {"id": "B", "type_id": 1}})";
const std::string kBos = item("<s>"), kEos = item("</s>"), kOne = kBos + "," + kText + "," + kEos;

void assert_refused(const Failure& failure, volta_status status, const char* part) {
    if (failure.status != status || !failure.mentions(part)) print_error("got: '%s'\n", failure.text);
    assert_true(failure.status == status && failure.mentions(part));
}

// What the package tokenizers makes of "aa" and "bbb", and of how many of each letter with truncation
// "longest_first".
void test_pairs(void**) {
    TestHeap heap;
    const struct {
        std::string processor;
        Ids ids;  // empty: refused
    } rows[] = {
        {"null", {0, 0, 1, 1, 1}},
        {kByteLevel, {0, 0, 1, 1, 1}},
        {pair_template(kOne, kBos + "," + kText + "," + kEos + "," + kSecond + "," + kEos),
         {3, 0, 0, 4, 1, 1, 1, 4}},
        {pair_template(kOne, kBos + "," + kText + "," + kEos + "," + kEos + "," + kSecond + "," + kEos),
         {3, 0, 0, 4, 4, 1, 1, 1, 4}},
        {pair_template(kText, kText + "," + kSecond), {0, 0, 1, 1, 1}},
        {kRoberta, {3, 0, 0, 4, 4, 1, 1, 1, 4}},
        {R"({"type": "BertProcessing", "cls": ["<s>", 3], "sep": ["</s>", 4]})", {3, 0, 0, 4, 1, 1, 1, 4}},
        {sequence(kByteLevel + "," + kRoberta), {3, 0, 0, 4, 4, 1, 1, 1, 4}},
        // As Llama's, and others that a vocabulary cannot say.
        {pair_template(kBos + "," + kText, kBos + "," + kText + "," + kBos + "," + kSecond), {}},
        {pair_template(kOne, kOne + "," + kSecond), {}},
        {pair_template(kOne, kText + "," + kEos + "," + kSecond + "," + kEos), {}},
        {pair_template(kOne, kBos + "," + kSecond + "," + kEos + "," + kText + "," + kEos), {}},
        {pair_template(kOne, kBos + "," + kText + "," + item("<two>") + "," + kSecond + "," + kEos), {}},
        {pair_template(kOne, kBos + "," + kText + "," + item("<no>") + "," + kSecond + "," + kEos), {}},
        {pair_template(kOne, kOne + "," + kSecond + "," + kEos + "," + kText), {}},
        {pair_template(kOne, "3"), {}},
        {template_of(kOne), {}},
        {sequence(template_of(kText + "," + kEos) + "," + template_of(kBos + "," + kText)), {}},
    };
    const std::string_view second = "bbb";
    Ids ids(16), segments(16);
    const EncodeOptions pair{true, false, &second, 0, segments.data()};
    for (const auto& row : rows) {
        const Tokenizer tokenizer = read_json_tokenizer(with_processor(row.processor), heap.structures());
        if (row.ids.empty()) {
            assert_refused(failure_of([&] { tokenizer.encode("aa", ids.data(), 16, pair); }),
                           VOLTA_UNSUPPORTED, "puts two texts together in a way that is not known");
            continue;
        }
        ids.resize(16);
        ids.resize(tokenizer.encode("aa", ids.data(), 16, pair));
        assert_true(ids == row.ids);
        const std::size_t first = row.ids.size() - 3 - (row.ids.back() == 4 ? 1 : 0);
        for (std::size_t i = 0; i < ids.size(); ++i) assert_int_equal(segments[i], i < first ? 0 : 1);
    }
    const Tokenizer bert = read_json_tokenizer(with_processor(rows[2].processor), heap.structures());
    const struct {
        std::size_t first, second, most, kept_first, kept_second, kept_alone;
    } cuts[] = {{2, 3, 20, 2, 3, 2}, {5, 5, 9, 3, 3, 5}, {5, 5, 10, 3, 4, 5}, {1, 6, 7, 1, 3, 1},
                {6, 1, 7, 3, 1, 5},  {2, 6, 7, 2, 2, 2}, {6, 2, 7, 2, 2, 5},  {4, 6, 8, 2, 3, 4},
                {6, 4, 8, 3, 2, 6},  {0, 6, 6, 0, 3, 0}, {6, 0, 6, 3, 0, 4},  {3, 3, 3, 0, 0, 1},
                {3, 4, 4, 0, 1, 2},  {4, 3, 4, 1, 0, 2}, {3, 3, 5, 1, 1, 3}};
    for (const auto& cut : cuts) {
        const std::string a(cut.first, 'a'), b(cut.second, 'b');
        const std::string_view behind = b;
        const auto encoded = [&](const EncodeOptions& options) {
            Ids out(32);
            out.resize(bert.encode(a, out.data(), out.size(), options));
            // As many as there is room for, and the count of all.
            Ids some(2);
            assert_int_equal(bert.encode(a, some.data(), 2, options), out.size());
            assert_true(std::equal(some.begin(), some.end(), out.begin()));
            return out;
        };
        Ids expected{3};
        expected.insert(expected.end(), cut.kept_first, 0);
        expected.push_back(4);
        expected.insert(expected.end(), cut.kept_second, 1);
        expected.push_back(4);
        assert_true(encoded({true, false, &behind, cut.most, nullptr}) == expected);
        expected.assign(1, 3);
        expected.insert(expected.end(), cut.kept_alone, 0);
        expected.push_back(4);
        assert_true(encoded({true, false, nullptr, cut.most, nullptr}) == expected);
    }
    assert_refused(failure_of([&] {
                       bert.encode("aa", ids.data(), 16, {true, false, &second, 2, nullptr});
                   }),
                   VOLTA_INVALID_ARGUMENT, "max_tokens is 2, and 3 ids stand around the text");
}

void test_what_is_put_around_a_text(void**) {
    TestHeap heap;
    const std::string added = R"({"id": 3, "content": "<s>", "special": true},
                                 {"id": 4, "content": "</s>", "special": true})";
    for (const Ends& row : kEnds) {
        std::string json = bpe_json(kVocab, "\"a b\"", added);
        const std::size_t begin = json.find("{\"type\": \"ByteLevel\", \"add_prefix_space\": true"),
                          end = json.find(",\n  \"decoder\"");
        json.replace(begin, end - begin, row.processor);
        if (row.text != nullptr) {
            const Failure failure = failure_of([&] { read_json_tokenizer(json, heap.structures()); });
            if (!failure.mentions(row.text)) print_error("%s: %s\n", row.processor.c_str(), failure.text);
            assert_true(failure.mentions(row.text));
            continue;
        }
        const Tokenizer tokenizer = read_json_tokenizer(json, heap.structures());
        assert_true(encode(tokenizer, "ab", {true, false}) == row.ids);
        assert_true(encode(tokenizer, "ab") == Ids({2}));
    }
    assert_int_equal(heap.held, 0);
}

// WordPiece takes the same shapes.
void test_one_piece_around_a_text_of_wordpiece(void**) {
    TestHeap heap;
    std::string json = wordpiece_json(kPieces, 2, 3);
    replace(json, R"(, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}])",
            R"(, {"Sequence": {"id": "A", "type_id": 0}}])");
    assert_true(encode(read_json_tokenizer(json, heap.structures()), "a", {true, false}) == Ids({2, 4}));
}

// ---- steps

// The ids and texts are those that Hugging Face's tokenizers gives; tests/parity/parity_tokenizers.py
// compares many more.
struct Stepped {
    const char *name, *json, *text;
    Ids ids;
    const char* decoded;
};
// clang-format off
const Stepped kStepped[] = {
    {"digits in threes",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\p{N}{1,2}|\\s?[a-z]+"}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "ab a123.",
     {6, 7, 8, 4, 10},
     "ab a123."},
    {"digits in threes",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\p{N}{1,2}|\\s?[a-z]+"}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "1231 23",
     {8, 4, 2, 5, 9},
     "1231 23"},
    {"digits alone",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "12a12",
     {2, 3, 0, 2, 3},
     "12a12"},
    {"digits together",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": false}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "a12a",
     {0, 8, 0},
     "a12a"},
    {"cut at a sign",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "CharDelimiterSplit", "delimiter": "."}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "ab.12..a",
     {6, 8, 0},
     "ab12a"},
    {"cut at a sign",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "CharDelimiterSplit", "delimiter": "."}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "a b12  .a",
     {0, 5, 1, 8, 5, 5, 0},
     "a b12  a"},
    {"cut at spaces",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "a b12  .a",
     {0, 1, 8, 10, 0},
     "ab12.a"},
    {"space before",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "ab",
     {5, 6},
     " ab"},
    {"space before",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     " ab",
     {5, 6},
     " ab"},
    {"space before",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "",
     {},
     ""},
    {"whole words",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10, "aab": 11}, "merges": ["a b", "Ġ a", "1 2", "2 3"], "ignore_merges": true}})JSON",
     "aab",
     {11},
     "aab"},
    {"whole words",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10, "aab": 11}, "merges": ["a b", "Ġ a", "1 2", "2 3"], "ignore_merges": true}})JSON",
     "aaab",
     {0, 0, 6},
     "aaab"},
    {"added",
     R"JSON({"version": "1.0", "added_tokens": [{"single_word": false, "lstrip": true, "rstrip": false, "normalized": false, "special": false, "id": 11, "content": "1.1"}, {"single_word": true, "lstrip": false, "rstrip": false, "normalized": true, "special": false, "id": 12, "content": "B12"}, {"single_word": false, "lstrip": false, "rstrip": true, "normalized": false, "special": false, "id": 13, "content": "2."}], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "a  1.1 a",
     {0, 11, 7},
     "a1.1 a"},
    {"added",
     R"JSON({"version": "1.0", "added_tokens": [{"single_word": false, "lstrip": true, "rstrip": false, "normalized": false, "special": false, "id": 11, "content": "1.1"}, {"single_word": true, "lstrip": false, "rstrip": false, "normalized": true, "special": false, "id": 12, "content": "B12"}, {"single_word": false, "lstrip": false, "rstrip": true, "normalized": false, "special": false, "id": 13, "content": "2."}], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "b12 ab12 B12",
     {12, 5, 6, 8, 5, 12},
     "b12 ab12 b12"},
    {"added",
     R"JSON({"version": "1.0", "added_tokens": [{"single_word": false, "lstrip": true, "rstrip": false, "normalized": false, "special": false, "id": 11, "content": "1.1"}, {"single_word": true, "lstrip": false, "rstrip": false, "normalized": true, "special": false, "id": 12, "content": "B12"}, {"single_word": false, "lstrip": false, "rstrip": true, "normalized": false, "special": false, "id": 13, "content": "2."}], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "1": 2, "2": 3, "3": 4, "Ġ": 5, "ab": 6, "Ġa": 7, "12": 8, "23": 9, ".": 10}, "merges": ["a b", "Ġ a", "1 2", "2 3"]}})JSON",
     "2.  1.1a",
     {13, 11, 0},
     "2.1.1a"},
    {"bytes of characters",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}, "model": {"type": "BPE", "vocab": {"<unk>": 0, "<0xC3>": 1, "<0xA9>": 2, "▁": 3, "a": 4, "b": 5, "▁a": 6, "ab": 7}, "merges": [["▁", "a"], ["a", "b"]], "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true}})JSON",
     "ab aé",
     {6, 5, 6, 1, 2},
     "ab aé"},
    {"bytes of characters",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}, "model": {"type": "BPE", "vocab": {"<unk>": 0, "<0xC3>": 1, "<0xA9>": 2, "▁": 3, "a": 4, "b": 5, "▁a": 6, "ab": 7}, "merges": [["▁", "a"], ["a", "b"]], "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true}})JSON",
     "a èèb",
     {6, 3, 0, 5},
     "a <unk>b"},
    {"metaspace first",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}, "post_processor": null, "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}, "model": {"type": "BPE", "vocab": {"<unk>": 0, "<0xC3>": 1, "<0xA9>": 2, "▁": 3, "a": 4, "b": 5, "▁a": 6, "ab": 7}, "merges": [["▁", "a"], ["a", "b"]], "unk_token": "<unk>"}})JSON",
     "ab ab",
     {6, 5, 6, 5},
     "ab ab"},
    {"metaspace first",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}, "post_processor": null, "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}, "model": {"type": "BPE", "vocab": {"<unk>": 0, "<0xC3>": 1, "<0xA9>": 2, "▁": 3, "a": 4, "b": 5, "▁a": 6, "ab": 7}, "merges": [["▁", "a"], ["a", "b"]], "unk_token": "<unk>"}})JSON",
     "a  a",
     {6, 3, 6},
     "a  a"},
    {"unigram",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}, "post_processor": null, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}]}, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<0xC3>", -9.0], ["<0xA9>", -9.0], ["▁", -2.0], ["a", -1.5], ["b", -1.5], ["ab", -3.25], ["▁a", -2.5], ["ba", -2.0]], "byte_fallback": false}})JSON",
     "abab ba",
     {7, 8, 5, 3, 8},
     "abab ba"},
    {"unigram",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}, "post_processor": null, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}]}, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<0xC3>", -9.0], ["<0xA9>", -9.0], ["▁", -2.0], ["a", -1.5], ["b", -1.5], ["ab", -3.25], ["▁a", -2.5], ["ba", -2.0]], "byte_fallback": false}})JSON",
     "aééb",
     {7, 0, 5},
     "a<unk>b"},
    {"unigram",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}, "post_processor": null, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}]}, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<0xC3>", -9.0], ["<0xA9>", -9.0], ["▁", -2.0], ["a", -1.5], ["b", -1.5], ["ab", -3.25], ["▁a", -2.5], ["ba", -2.0]], "byte_fallback": true}})JSON",
     "abab ba",
     {7, 8, 5, 3, 8},
     "abab ba"},
    {"unigram",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}, "post_processor": null, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}]}, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<0xC3>", -9.0], ["<0xA9>", -9.0], ["▁", -2.0], ["a", -1.5], ["b", -1.5], ["ab", -3.25], ["▁a", -2.5], ["ba", -2.0]], "byte_fallback": true}})JSON",
     "aééb",
     {7, 1, 2, 1, 2, 5},
     "aééb"},
    {"unigram behind added",
     R"JSON({"version": "1.0", "added_tokens": [{"single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true, "id": 0, "content": "<unk>"}, {"single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false, "id": 9, "content": "<m>"}], "normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}, "post_processor": null, "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<0xC3>", -9.0], ["<0xA9>", -9.0], ["▁", -2.0], ["a", -1.5], ["b", -1.5], ["ab", -3.25], ["▁a", -2.5], ["ba", -2.0]]}})JSON",
     "ab<m>b",
     {4, 5, 9, 5},
     "ab<m>b"},
    {"wordpiece",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}, "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 10, "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "ete": 4, "!": 5}}})JSON",
     "Unaffable Été!",
     {1, 2, 3, 4, 5},
     "unaffable ete!"},
    {"wordpiece",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}, "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 10, "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "ete": 4, "!": 5}}})JSON",
     "unx unaffableable",
     {0, 0},
     "[UNK] [UNK]"},
    {"wordlevel",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Strip", "strip_left": true, "strip_right": true}]}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "ab": 1, ".": 2, "c": 3}}})JSON",
     "  ａb. c² ",
     {1, 2, 0},
     "ab . <unk>"},
    {"wordlevel",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Strip", "strip_left": true, "strip_right": true}]}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "ab": 1, ".": 2, "c": 3}}})JSON",
     "ａｂ",
     {1},
     "ab"},
    {"merged",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\s"}, "behavior": "MergedWithPrevious", "invert": false}, {"type": "Split", "pattern": {"Regex": "-c"}, "behavior": "MergedWithNext", "invert": false}, {"type": "Split", "pattern": {"Regex": "-"}, "behavior": "Contiguous", "invert": false}]}, "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a ": 1, "b": 2, "-c": 3, "--": 4}}})JSON",
     "a b--",
     {1, 2, 4},
     "a  b --"},
    {"merged",
     R"JSON({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\s"}, "behavior": "MergedWithPrevious", "invert": false}, {"type": "Split", "pattern": {"Regex": "-c"}, "behavior": "MergedWithNext", "invert": false}, {"type": "Split", "pattern": {"Regex": "-"}, "behavior": "Contiguous", "invert": false}]}, "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a ": 1, "b": 2, "-c": 3, "--": 4}}})JSON",
     "-cb",
     {0, 0},
     "<unk> <unk>"},
};
// clang-format on

std::string decode(const Tokenizer& tokenizer, const Ids& ids) {
    std::string text;
    std::int32_t previous = -1;
    for (const std::int32_t id : ids) {
        text += tokenizer.piece_after(previous, id);
        previous = id;
    }
    return text;
}

void test_steps(void**) {
    TestHeap heap;
    for (const Stepped& row : kStepped) {
        const Tokenizer made = read_json_tokenizer(row.json, heap.structures());
        const Tokenizer copy(made, heap.structures());
        for (const Tokenizer* tokenizer : {&made, &copy}) {
            const Ids ids = encode(*tokenizer, row.text);
            if (ids != row.ids || decode(*tokenizer, ids) != row.decoded) {
                print_error("%s of '%s': '%s', ids", row.name, row.text, decode(*tokenizer, ids).c_str());
                for (const std::int32_t id : ids) print_error(" %d", id);
                print_error("\n");
            }
            assert_true(ids == row.ids);
            assert_string_equal(decode(*tokenizer, ids).c_str(), row.decoded);
        }
    }
    assert_int_equal(heap.held, 0);
}

// Bytes that are no UTF-8 go by the steps; without pieces for them they are what is unknown, or an error.
void test_what_is_no_utf8(void**) {
    TestHeap heap;
    const auto row = [](const char* name) {
        for (const Stepped& one : kStepped)
            if (std::string_view(one.name) == name) return one.json;
        return "";
    };
    assert_true(encode(read_json_tokenizer(row("bytes of characters"), heap.structures()), "a\xc3") ==
                Ids({6, 1}));
    assert_true(encode(read_json_tokenizer(row("wordpiece"), heap.structures()), "un\xc3") == Ids({1, 0}));
    const Failure failure =
        failure_of([&] { encode(read_json_tokenizer(row("digits alone"), heap.structures()), "a\xc3"); });
    assert_int_equal(failure.status, VOLTA_INVALID_ARGUMENT);
    assert_true(failure.mentions("the vocabulary lacks the byte 0xc3 of the text"));
}

// Which pieces begin and end texts says the file beside it.
void test_names_beside_the_file(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const std::string added = R"({"id": 3, "content": "<s>", "special": true},
                                 {"id": 4, "content": "<end>", "special": true})";
    const std::string path = folder.write("tokenizer.json", bpe_json(kVocab, "\"a b\"", added));
    const auto options = [&] {
        return open_tokenizer(path.c_str(), TokenizerFormat::json, heap.structures()).vocabulary().options;
    };
    assert_true(options().bos == 3 && options().eos == -1);
    folder.write("tokenizer_config.json",
                 R"({"eos_token": "<end>", "pad_token": {"content": "<end>"}, "bos_token": null})");
    assert_true(options().eos == 4 && options().pad == 4 && options().flags == 0);
}

// Of unigrams the vocabulary is an array of pairs, and the piece for unknown words is a number.
void test_what_is_wrong_with_unigrams(void**) {
    struct Unigrams {
        const char *vocab, *unknown, *text;
    };
    const Unigrams rows[] = {
        {R"([["<unk>", 0], ["a", -1]])", "2", "its unk_id is 2 of 2 pieces"},
        {R"([["<unk>", 0], ["a", -1]])", "-1", "'model.unk_id' of the config is no whole number"},
        {R"([["<unk>", 0], ["a"]])", "0", "piece 2 of its vocab is no pair of a text and a score"},
        {R"([["<unk>", 0], [-1, "a"]])", "0", "piece 2 of its vocab is no pair of a text and a score"},
        {R"([["<unk>", 0, 1]])", "0", "piece 1 of its vocab is no pair of a text and a score"},
    };
    TestHeap heap;
    for (const Unigrams& row : rows) {
        const std::string json = std::string(R"({"version": "1.0", "added_tokens": [], "model": {)") +
                                 R"("type": "Unigram", "unk_id": )" + row.unknown + R"(, "vocab": )" +
                                 row.vocab + "}}";
        const Failure failure = failure_of([&] { read_json_tokenizer(json, heap.structures()); });
        if (!failure.mentions(row.text)) print_error("%s: %s\n", row.vocab, failure.text);
        assert_int_equal(failure.status, VOLTA_CORRUPT_MODEL);
        assert_true(failure.mentions(row.text));
    }
    assert_int_equal(heap.held, 0);
}

// Files whose model has no type: those with merges are BPE.
void test_a_model_without_a_type(void**) {
    TestHeap heap;
    std::string json = bpe_json(kVocab, "\"a b\"");
    replace(json, "\"type\": \"BPE\", ", "");
    assert_true(encode(read_json_tokenizer(json, heap.structures()), "abab") == Ids({2, 2}));
}

// Any part of a file, and any byte of it changed: a tokenizer or a sentence.
void test_damaged_files_are_refused_or_read(void**) {
    TestHeap heap;
    std::vector<std::string> files = {bpe_json(kVocab, "\"a b\""), wordpiece_json(kPieces, 2, 3)};
    for (const Stepped& row : kStepped)
        if (files.back() != row.json) files.emplace_back(row.json);
    for (const std::string& whole : files) {
        const std::size_t step = &whole < &files[2] ? 1 : 7;  // the rest are many
        for (std::size_t at = 0; at < whole.size(); at += step)
            for (const char byte : {'\0', '"', '}', ']', '9', '\xff'}) {
                std::string json = whole;
                json[at] = byte;
                failure_of([&] { read_json_tokenizer(json, heap.structures()); });
                if (byte == '\0')
                    assert_true(failure_of([&] {
                                    read_json_tokenizer(whole.substr(0, at), heap.structures());
                                }).status != VOLTA_OK);
            }
    }
    assert_int_equal(heap.held, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2_as_json_gives_the_same_ids),
        cmocka_unit_test(test_bert_in_other_files_gives_the_same_ids),
        cmocka_unit_test(test_a_vocabulary_of_lines),
        cmocka_unit_test(test_what_is_not_read_is_named),
        cmocka_unit_test(test_what_is_put_around_a_text),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_one_piece_around_a_text_of_wordpiece),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_what_is_wrong_with_unigrams),
        cmocka_unit_test(test_what_is_no_utf8),
        cmocka_unit_test(test_names_beside_the_file),
        cmocka_unit_test(test_a_model_without_a_type),
        cmocka_unit_test(test_damaged_files_are_refused_or_read),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
