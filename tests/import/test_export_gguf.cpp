// GGUF files that are written are read as the model that they were made of, their tokenizer too.
#include "engine/import/export_gguf.h"

#include <cmath>

#include "engine/import/bpe_files.h"
#include "engine/import/gguf_encode.h"
#include "engine/import/import_model.h"
#include "engine/import/tokenizer_files.h"
#include "engine/import/word_splits.h"
#include "engine/model/decoder.h"
#include "engine/model/network.h"
#include "engine/model/quantize.h"
#include "tests/import/bert_files.h"
#include "tests/import/gguf_bytes.h"
#include "tests/import/gpt_files.h"
#include "tests/import/llama_files.h"
#include "tests/import/run_model.h"
#include "tests/import/same_model.h"
#include "tests/import/vocabulary_data.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr auto kKeep = std::optional<DType>();

struct Fixture {
    HeapPtr<Model> gpt() {
        auto model = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
        scatter(*model);
        return model;
    }
    HeapPtr<Model> gpt_of(std::int64_t vocabulary) {
        GptConfig config = small_gpt();
        config.vocabulary = vocabulary;
        return create_gpt(config, 1, heap.structures(), heap.tensors());
    }
    HeapPtr<Model> llama(bool tied, bool interleaved) {
        auto model = create_llama(small_llama(tied, interleaved), 3, heap.structures(), heap.tensors());
        scatter(*model);
        return model;
    }
    HeapPtr<Model> decoder(const DecoderConfig& config) {
        auto model = Model::create(build_decoder(config, "decoder", heap.structures()), 5, heap.structures(),
                                   heap.tensors());
        describe_decoder(config, *model);
        scatter(*model);
        return model;
    }
    HeapPtr<Model> qwen2(bool tied) {
        DecoderConfig config = decoder_of(small_llama(tied, false));
        config.qkv_bias = true;
        return decoder(config);
    }
    HeapPtr<Model> bert(BertHead head) {
        auto model = create_bert(small_bert(head), 7, heap.structures(), heap.tensors());
        scatter(*model);
        return model;
    }
    std::string write(const Model& model, std::optional<DType> weights = kKeep, bool no_tokenizer = false) {
        std::string path = folder.file("m.gguf");
        GgufExport wanted;
        wanted.weights = weights;
        wanted.no_tokenizer = no_tokenizer;
        export_gguf(model, path.c_str(), wanted, heap.structures());
        return path;
    }
    HeapPtr<Model> import(const std::string& path, std::optional<DType> weights = DType::f32) {
        ImportOptions options;
        options.weights = weights;
        return import_model(path.c_str(), options, heap.structures(), heap.tensors());
    }
    bool comes_back(const Model& model) {
        return is_same_model(model, *import(write(model)), heap.structures());
    }
    Failure refusal(const Model& model, std::optional<DType> weights = kKeep) {
        return failure_of([&] { write(model, weights); });
    }
    std::string bytes(const std::string& path) {
        const MappedFile file(path.c_str());
        return {reinterpret_cast<const char*>(file.data()), file.bytes()};
    }
    TestHeap heap;
    TemporaryFolder folder;
};

void test_models_come_back(void**) {
    Fixture fixture;
    assert_true(fixture.comes_back(*fixture.gpt()));
    for (const bool tied : {true, false}) assert_true(fixture.comes_back(*fixture.llama(tied, true)));
    for (const bool tied : {true, false}) assert_true(fixture.comes_back(*fixture.qwen2(tied)));
    for (const BertHead head : {BertHead::hidden, BertHead::pooled, BertHead::classes})
        assert_true(fixture.comes_back(*fixture.bert(head)));
}

// In these files pairs are neighbours: the same model, whose sums of q and k have another order.
void test_rotary_halves_become_pairs(void**) {
    Fixture fixture;
    const auto model = fixture.llama(true, false);
    const auto imported = fixture.import(fixture.write(*model));
    assert_string_equal(imported->find_metadata("volta.llama.interleaved")->c_str(), "1");
    const auto run = run_model(*model, fixture.heap.structures());
    const double difference = largest_difference(run, run_model(*imported, fixture.heap.structures()));
    assert_true(difference < 1e-6);
    // The same rows, each in its place: parts 0 and 1 of qkv are permuted, part 2 is not.
    const NamedTensor &ours = *model->find_parameter("block.1.qkv.weight"),
                      &theirs = *imported->find_parameter("block.1.qkv.weight");
    const auto *a = static_cast<const float*>(ours.data), *b = static_cast<const float*>(theirs.data);
    const std::int64_t columns = ours.shape.last(), head = 16;
    assert_int_equal(columns, 64 + 32 + 32);
    for (std::int64_t row = 0; row < ours.shape.rows(); ++row)
        for (std::int64_t column = 0; column < columns; ++column) {
            const std::int64_t place = column % head;
            const std::int64_t from = column < 96 ? column - place + place / 2 + place % 2 * 8 : column;
            assert_true(b[row * columns + column] == a[row * columns + from]);
        }
}

// A Llama 3.1 has frequencies of its own, which go as factors.
void test_rotary_frequencies_come_back(void**) {
    Fixture fixture;
    for (const bool interleaved : {true, false}) {
        DecoderConfig config = decoder_of(small_llama(true, interleaved));
        config.frequencies.count = 8;
        for (int i = 0; i < 8; ++i)
            config.frequencies.values[i] = static_cast<float>(std::pow(10000.0, i / -8.0) / (i < 3   ? 1
                                                                                             : i < 5 ? 2.5
                                                                                                     : 8));
        const auto model = fixture.decoder(config);
        const auto imported = fixture.import(fixture.write(*model));
        assert_string_equal(imported->find_metadata("volta.decoder.interleaved")->c_str(), "1");
        const auto run = run_model(*model, fixture.heap.structures());
        assert_true(largest_difference(run, run_model(*imported, fixture.heap.structures())) < 1e-6);
        if (interleaved)
            assert_true(hash_parameters(*model, fixture.heap.structures()) ==
                        hash_parameters(*imported, fixture.heap.structures()));
    }
}

void test_the_same_model_gives_the_same_bytes(void**) {
    Fixture fixture;
    const std::string first = fixture.bytes(fixture.write(*fixture.gpt(), DType::int8));
    assert_true(first == fixture.bytes(fixture.write(*fixture.gpt(), DType::int8)));
    assert_true(first != fixture.bytes(fixture.write(*fixture.gpt(), DType::int4)));
}

// Weights that are stored are written as they are, and kept as they are read.
void test_stored_weights_come_back(void**) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::int8, DType::int4}) {
        Fixture fixture;
        for (const auto& model : {fixture.gpt(), fixture.llama(false, true), fixture.qwen2(true),
                                  fixture.bert(BertHead::classes)}) {
            const auto stored = quantize(*model, dtype, fixture.heap.structures(), fixture.heap.tensors());
            const auto imported = fixture.import(fixture.write(*stored), std::nullopt);
            for (const NamedTensor& parameter : stored->parameters) {
                const NamedTensor& other = *imported->find_parameter(parameter.name.c_str());
                if (other.dtype == DType::f32 && is_stored(parameter.dtype))
                    continue;  // few outputs, or odd rows
                assert_true(parameter.dtype == other.dtype && parameter.shape == other.shape);
                assert_memory_equal(parameter.data, other.data, parameter.bytes());
            }
            assert_int_equal(imported->find_parameter("token_embedding")->dtype, dtype);
        }
    }
    Fixture fixture;
    const auto model = fixture.gpt();
    const auto panels =
        quantize(*model, DType::f32_panels, fixture.heap.structures(), fixture.heap.tensors());
    assert_true(is_same_model(*model, *fixture.import(fixture.write(*panels)), fixture.heap.structures()));
}

// Matrices have the type, positions, norms and biases are f32; so are rows that are no whole blocks.
void test_which_tensors_have_the_type(void**) {
    Fixture fixture;
    const struct {
        DType dtype;
        const char* name;
        std::int64_t file_type;
    } rows[] = {{DType::f32, "F32", 0},
                {DType::f16, "F16", 1},
                {DType::bf16, "BF16", 32},
                {DType::int8, "Q8_0", 7},
                {DType::int4, "Q4_0", 2}};
    for (const auto& row : rows) {
        const std::string bytes = fixture.bytes(fixture.write(*fixture.bert(BertHead::hidden), row.dtype));
        const GgufFile file(bytes.data(), bytes.size(), fixture.heap.structures());
        const auto type = [&](const char* name) { return std::string(file.find_tensor(name)->type->name); };
        assert_true(type("token_embd.weight") == row.name && type("blk.1.attn_k.weight") == row.name);
        assert_true(type("position_embd.weight") == "F32" && type("blk.0.attn_q.bias") == "F32");
        const bool has_blocks = row.dtype == DType::int8 || row.dtype == DType::int4;
        assert_true(type("blk.0.ffn_down.weight") == (has_blocks ? "F32" : row.name));  // of 48
        assert_int_equal(file.integer("general.file_type"), row.file_type);
    }
}

// A linear congruential generator's values, as the package gguf quantises them (tests/parity/parity_gguf.py).
void test_values_are_rounded_as_the_package_does(void**) {
    std::vector<float> values(8192);
    std::uint32_t state = 48;
    for (std::size_t i = 0; i < values.size(); ++i) {
        state = state * 1664525u + 1013904223u;
        values[i] =
            (static_cast<float>(state >> 8) - 8388608.0f) * std::ldexp(1.0f, -23 - static_cast<int>(i / 512));
        if (i / 32 % 16 == 3) values[i] = 0;
        if (i / 32 % 16 == 5)
            values[i] = std::ldexp(std::round(std::ldexp(values[i], 3)), -3);  // many equals
        if (values[i] == 0) values[i] = 0;  // of a block of zeros the package takes a sign
    }
    const struct {
        DType dtype;
        std::uint64_t hash;
    } rows[] = {
        {DType::f32, 0x24daebe49ec5155eu},  {DType::f16, 0x8989e5aea5510f16u},
        {DType::bf16, 0x13df26a9d4296378u}, {DType::int8, 0x2915682e4bbe223fu},
        {DType::int4, 0x03f9b7e45001f644u},
    };
    for (const auto& row : rows) {
        const GgufOutputType& type = *find_gguf_output(row.dtype);
        std::vector<unsigned char> bytes(values.size() / type.block_values * type.block_bytes);
        assert_true(type.encode(values.data(), static_cast<std::int64_t>(values.size()), bytes.data()));
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
        if (hash != row.hash) print_error("%s: %llx\n", type.name, static_cast<unsigned long long>(hash));
        assert_true(hash == row.hash);
        const StoredType& read = *find_stored_type(type.name);
        assert_int_equal(read.block_bytes, type.block_bytes);
        assert_int_equal(find_gguf_tensor_type(type.id)->block_bytes, type.block_bytes);
        assert_string_equal(find_gguf_tensor_type(type.id)->name, type.name);
    }
    for (const float bad : {NAN, INFINITY, -INFINITY, 1e38f}) {
        float block[32] = {1, bad};
        unsigned char bytes[128];
        for (const DType dtype : {DType::f16, DType::int8, DType::int4})
            assert_false(find_gguf_output(dtype)->encode(block, 32, bytes));
        assert_int_equal(find_gguf_output(DType::bf16)->encode(block, 32, bytes), bad == 1e38f);
        assert_true(find_gguf_output(DType::f32)->encode(block, 32, bytes));
    }
    float tiny[32] = {1e-44f, -3e-45f};  // the inverse of their scale is infinite
    unsigned char bytes[34];
    for (const DType dtype : {DType::int8, DType::int4})
        assert_true(find_gguf_output(dtype)->encode(tiny, 32, bytes));
}

// --- tokenizers

Vocabulary bpe(std::pmr::memory_resource* heap) {
    Vocabulary vocabulary(heap);
    vocabulary.kind = TokenizerKind::bpe;
    vocabulary.options.split = WordSplit::gpt2;
    for (int byte = 0; byte < 256; ++byte) vocabulary.pieces.emplace_back(1, static_cast<char>(byte));
    vocabulary.pieces.emplace_back(" t");
    vocabulary.pieces.emplace_back(" th");
    vocabulary.pieces.emplace_back("\xc3\xa9");
    vocabulary.merges = {{' ', 't'}, {256, 'h'}, {0xc3, 0xa9}};
    vocabulary.pieces.emplace_back("<|endoftext|>");
    vocabulary.types.resize(vocabulary.pieces.size(), PieceType::normal);
    vocabulary.types.back() = PieceType::control;
    vocabulary.options.bos = vocabulary.options.eos = vocabulary.size() - 1;
    return vocabulary;
}

void check_same_vocabulary(const Vocabulary& a, const Vocabulary& b) {
    assert_int_equal(a.kind, b.kind);
    assert_true(a.pieces == b.pieces && a.scores == b.scores);
    for (std::int32_t id = 0; id < a.size(); ++id) assert_int_equal(a.type(id), b.type(id));
    assert_int_equal(a.merges.size(), b.merges.size());
    for (std::size_t i = 0; i < a.merges.size(); ++i)
        assert_true(a.merges[i].left == b.merges[i].left && a.merges[i].right == b.merges[i].right);
    const TokenizerOptions &x = a.options, &y = b.options;
    assert_int_equal(x.flags, y.flags);
    assert_true(x.bos == y.bos && x.eos == y.eos && x.unk == y.unk && x.pad == y.pad);
}

// In a model of as many ids as the vocabulary has, and of three more.
void check_comes_back(Fixture& fixture, const Tokenizer& tokenizer, const char* text) {
    for (const std::int64_t more : {0, 3}) {
        const auto model = fixture.gpt_of(tokenizer.size() + more);
        model->tokenizer.emplace(tokenizer, fixture.heap.structures());
        const auto imported = fixture.import(fixture.write(*model));
        assert_true(imported->tokenizer.has_value());
        assert_int_equal(imported->tokenizer->size(), tokenizer.size() + more);
        if (more == 0) check_same_vocabulary(tokenizer.vocabulary(), imported->tokenizer->vocabulary());
        EncodeOptions ends;
        ends.ends = true;
        std::vector<std::int32_t> a(4096), b(4096);
        a.resize(tokenizer.encode(text, a.data(), a.size(), ends));
        b.resize(imported->tokenizer->encode(text, b.data(), b.size(), ends));
        assert_true(a == b && a.size() > 2);
        assert_false(fixture.import(fixture.write(*model, kKeep, true))->tokenizer.has_value());
    }
}

void test_tokenizers_come_back(void**) {
    Fixture fixture;
    const char* const text = "then the \xc3\xa9t\xc3\xa9\n";
    check_comes_back(fixture, Tokenizer::from_vocabulary(bpe(fixture.heap.structures())), text);

    const auto bytes = fixture.gpt_of(256);
    bytes->tokenizer.emplace(Tokenizer::make_byte(fixture.heap.structures()));
    const auto imported = fixture.import(fixture.write(*bytes));  // pieces that nothing merges
    assert_int_equal(imported->tokenizer->kind(), TokenizerKind::bpe);
    std::int32_t ids[32];
    const std::size_t count = imported->tokenizer->encode(text, ids, 32);
    assert_int_equal(count, std::strlen(text));
    for (std::size_t i = 0; i < count; ++i) assert_int_equal(ids[i], static_cast<unsigned char>(text[i]));

    Vocabulary spm(fixture.heap.structures());
    spm.kind = TokenizerKind::spm;
    for (const char* piece : {"<unk>", "<s>", "</s>", "\xe2\x96\x81", "t", "h", "\xe2\x96\x81t"})
        spm.pieces.emplace_back(piece);
    spm.types = {PieceType::unknown, PieceType::control, PieceType::control};
    spm.types.resize(spm.pieces.size(), PieceType::normal);
    spm.scores = {0, 0, 0, -3, -4, -5, -1.5f};
    spm.options.unk = 0, spm.options.bos = 1, spm.options.eos = 2;
    spm.options.flags = kAddBos | kSpacePrefix;
    check_comes_back(fixture, Tokenizer::from_vocabulary(std::move(spm)), "t h th");
}

// Whoever has the file has the format of its conversations.
void test_the_chat_format_comes_back(void**) {
    Fixture fixture;
    const auto model = fixture.gpt_of(260);
    model->tokenizer.emplace(Tokenizer::from_vocabulary(bpe(fixture.heap.structures())));
    const std::string without = fixture.bytes(fixture.write(*model));
    assert_true(without.find("tokenizer.chat_template") == without.npos);
    model->set_metadata("volta.chat.format", "chatml");
    model->set_metadata("volta.chat.system", "It's\nso");
    const auto imported = fixture.import(fixture.write(*model));
    assert_string_equal(imported->find_metadata("volta.chat.format")->c_str(), "chatml");
    assert_string_equal(imported->find_metadata("volta.chat.system")->c_str(), "It's\nso");
    const std::string bare = fixture.bytes(fixture.write(*model, kKeep, true));
    assert_true(bare.find("tokenizer.chat_template") == bare.npos);
}

void test_wordpieces_are_marked(void**) {
    Fixture fixture;
    const auto tokenizer = read_bert_tokenizer(
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nca\n##t\n##s\n!\n[unused1]\n", true, fixture.heap.structures());
    const auto model = fixture.bert(BertHead::hidden);
    model->tokenizer.emplace(tokenizer, fixture.heap.structures());
    const auto imported = fixture.import(fixture.write(*model));
    const auto& pieces = imported->tokenizer->pieces();
    assert_int_equal(pieces.size(), 40);
    assert_true(pieces[4] == "\xe2\x96\x81the" && pieces[6] == "t" && pieces[3] == "[SEP]" &&
                pieces[9] == "[unused1]");
    EncodeOptions ends;
    ends.ends = true;
    std::int32_t a[16], b[16];
    const char* const text = "The cats! cat dog";
    const std::size_t count = tokenizer.encode(text, a, 16, ends);
    assert_int_equal(imported->tokenizer->encode(text, b, 16, ends), count);
    assert_memory_equal(a, b, count * sizeof *a);
}

// Of a tokenizer.json: a model between steps.
Tokenizer stepped(Fixture& fixture, const std::string& model, const std::string& steps,
                  const std::string& added = "") {
    return read_json_tokenizer(R"({"added_tokens": [)" + added + "], " + steps + R"("model": )" + model + "}",
                               fixture.heap.structures());
}
constexpr const char kBertModel[] = R"({"type": "WordPiece", "unk_token": "[UNK]",
    "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "the": 4, "ca": 5, "##t": 6, "!": 7}})";
constexpr const char kBertCutter[] = R"("pre_tokenizer": {"type": "BertPreTokenizer"}, )";
std::string bert_steps(bool lowercase) {
    return std::string(R"("normalizer": {"type": "BertNormalizer", "lowercase": )") +
           (lowercase ? "true" : "false") + "}, " + kBertCutter;
}

Tokenizer read_gguf_tokenizer_of(const std::string& bytes, Fixture& fixture) {
    return read_gguf_tokenizer(GgufFile(bytes.data(), bytes.size(), fixture.heap.structures()),
                               fixture.heap.structures());
}

void test_the_steps_of_bert_are_written_as_bert(void**) {
    Fixture fixture;
    const Tokenizer tokenizer = stepped(fixture, kBertModel, bert_steps(true));
    const auto model = fixture.bert(BertHead::hidden);
    model->tokenizer.emplace(tokenizer, fixture.heap.structures());
    const auto imported = fixture.import(fixture.write(*model));
    assert_int_equal(imported->tokenizer->kind(), TokenizerKind::wordpiece);
    std::int32_t a[16], b[16];
    const char* const text = "The cat! dog";
    const std::size_t count = tokenizer.encode(text, a, 16);
    assert_int_equal(count, 5);
    assert_int_equal(imported->tokenizer->encode(text, b, 16), count);
    assert_memory_equal(a, b, count * sizeof *a);
}

void test_steps_without_a_form_are_refused(void**) {
    Fixture fixture;
    constexpr const char kBpe[] = R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []})";
    const struct {
        std::string model, steps, added;
        const char* text;
    } rows[] = {
        {kBertModel, bert_steps(false), "", "tells capital letters apart"},
        {kBertModel, kBertCutter, "", "makes words of a text otherwise than BERT does"},
        {kBertModel, R"("normalizer": {"type": "BertNormalizer"}, )", "", "otherwise than BERT does"},
        {kBertModel, bert_steps(true), R"({"id": 8, "content": "whole", "single_word": true})",
         "piece 8 of its tokenizer, 'whole', takes what stands beside it into account"},
        {kBpe, R"("pre_tokenizer": {"type": "Whitespace"}, )", "", "in a way that has no name in GGUF files"},
        {R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1.5]]})", "", "",
         "its tokenizer is of the kind 'unigram', which is written to no GGUF file"},
        {R"({"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}})", "", "", "the kind 'wordlevel'"},
    };
    const auto model = fixture.bert(BertHead::hidden);
    for (const auto& row : rows) {
        model->tokenizer.reset();
        model->tokenizer.emplace(stepped(fixture, row.model, row.steps, row.added));
        assert_failure(fixture.refusal(*model), VOLTA_UNSUPPORTED, row.text);
        fixture.write(*model, kKeep, true);
    }
}

// ---- ways to cut words that have a name, as published files have them

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define REST "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
constexpr char kNoBytes[] = R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";
constexpr char kBytes[] = R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
constexpr char kDigits[] = R"({"type": "Digits", "individual_digits": true})";

std::string json_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}
std::string split(const char* expression) {
    return R"({"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": ")" +
           json_text(expression) + "\"}}";
}
struct NamedCut {
    std::vector<const char*> names;  // the first is written
    std::vector<std::string> cutters;
    bool composed, whole;
};
std::vector<NamedCut> named_cuts() {
    return {
        {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2"},
         {split(CONTRACTIONS
                "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" REST),
          kNoBytes},
         false,
         true},
        {{"qwen2", "deepseek-r1-qwen"},
         {split(CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" REST),
          kNoBytes},
         true,
         false},
        {{"gpt-4o", "llama4"},
         {split("[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER
                "+" LOWER "*" CONTRACTIONS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" REST),
          kNoBytes},
         false,
         false},
        {{"tekken"},
         {split("[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER
                "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" REST),
          kNoBytes},
         false,
         true},
        {{"smollm", "starcoder", "refact", "command-r"}, {kDigits, kBytes}, false, false},
        {{"deepseek-coder"},
         {split("[\\r\\n]"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"),
          split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), kDigits, kNoBytes},
         false,
         false},
        {{"deepseek-v3", "hunyuan-dense"},
         {split("\\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
          split("[!\"#$%&'()*+,\\-./"
                ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
                "?[\\p{P}\\p{S}]+[\\r\\n]*" REST),
          kNoBytes},
         false,
         false},
        {{"falcon"},
         {R"({"type": "Punctuation", "behavior": "Contiguous"})", kBytes,
          R"({"type": "Digits", "individual_digits": false})", split("[0-9][0-9][0-9]")},
         false,
         false},
        {{"bloom", "poro-chat"},
         {split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"), kNoBytes},
         false,
         false},
    };
}

std::string joined(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
    return out;
}

Tokenizer tokenizer_of(Fixture& fixture, const NamedCut& cut) {
    std::string vocab;
    for (int byte = 0; byte < 256; ++byte) {
        const char raw = static_cast<char>(byte);
        const auto letter = as_letters(std::string_view(&raw, 1), std::pmr::get_default_resource());
        vocab += "\"" + json_text(letter) + "\": " + std::to_string(byte) + ", ";
    }
    const std::string model = std::string(R"({"type": "BPE", "ignore_merges": )") +
                              (cut.whole ? "true" : "false") + R"(, "vocab": {)" + vocab +
                              R"("th": 256, "the": 257}, "merges": ["t h", "th e"]})";
    const std::string steps = std::string(R"("normalizer": )") +
                              (cut.composed ? R"({"type": "NFC"})" : "null") +
                              R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" +
                              joined(cut.cutters) + R"(]}, "decoder": {"type": "ByteLevel"}, )";
    return stepped(fixture, model, steps, R"({"id": 258, "content": "<|end|>", "special": true})");
}

void test_ways_to_cut_words_have_names(void**) {
    Fixture fixture;
    for (const NamedCut& cut : named_cuts()) {
        const Tokenizer tokenizer = tokenizer_of(fixture, cut);
        const auto model = fixture.gpt_of(tokenizer.size());
        model->tokenizer.emplace(tokenizer, fixture.heap.structures());
        std::string bytes = fixture.bytes(fixture.write(*model));
        const std::string name = raw_string(cut.names[0]);
        const std::string key = raw_string("tokenizer.ggml.pre") + raw<std::uint32_t>(8);
        assert_int_equal(bytes.compare(bytes.find(key) + key.size(), name.size(), name), 0);
        for (const char* other : cut.names) {
            std::string changed = bytes + std::string(64, '\0');  // tensors move by less
            changed.replace(bytes.find(key) + key.size(), name.size(), raw_string(other));
            const auto read = read_gguf_tokenizer_of(changed, fixture);
            const Vocabulary &a = tokenizer.vocabulary(), &b = read.vocabulary();
            check_same_vocabulary(a, b);
            assert_true(same_steps(a.normalisers, b.normalisers) && same_steps(a.cutters, b.cutters) &&
                        same_steps(a.decoders, b.decoders));
        }
    }
}

// As Llama's files have it: characters, bytes for those that no piece has, spaces written as U+2581.
std::string llama_model(const std::string& merges, const std::string& more = "") {
    std::string vocab = R"("<unk>": 0, "<s>": 1, "</s>": 2)";
    char name[32];
    for (int byte = 0; byte < 256; ++byte) {
        std::snprintf(name, sizeof name, ", \"<0x%02X>\": %d", byte, byte + 3);
        vocab += name;
    }
    return R"({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true, )" + more +
           R"("vocab": {)" + vocab +
           ", \"\u2581\": 259, \"a\": 260, \"b\": 261, \"ab\": 262, \"\u2581a\": 263, \"bab\": 264, "
           "\"\u2581ab\": 265}, "
           "\"merges\": [" +
           merges + "]}";
}
constexpr char kLlamaMerges[] = "\"a b\", \"\u2581 a\", \"b ab\", \"\u2581 ab\", \"\u2581a b\"";
constexpr char kEndPieces[] = R"({"id": 0, "content": "<unk>", "special": true},
    {"id": 1, "content": "<s>", "special": true}, {"id": 2, "content": "</s>", "special": true})";
constexpr char kPrepends[] =
    "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": "
    "\"\u2581\"}, "
    "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"\u2581\"}]}, ";
constexpr char kMetaspace[] =
    R"("pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "never", "split": false}, )";
constexpr char kReplaces[] =
    "\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"\u2581\"}, "
    R"("pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"}, )";

void test_pairs_of_characters_are_written_as_scores(void**) {
    Fixture fixture;
    for (const char* steps : {kPrepends, kMetaspace, kReplaces}) {
        const Tokenizer tokenizer = stepped(fixture, llama_model(kLlamaMerges), steps, kEndPieces);
        const auto model = fixture.gpt_of(tokenizer.size());
        model->tokenizer.emplace(tokenizer, fixture.heap.structures());
        const auto imported = fixture.import(fixture.write(*model));
        assert_int_equal(imported->tokenizer->kind(), TokenizerKind::spm);
        std::uint32_t dice = 1;
        for (int n = 0; n < 500; ++n) {
            const char* const letters[] = {"a", "a", "b", "b", " ", " ", "ab", "\xc3\xa9"};
            std::string text;
            for (std::uint32_t i = dice >> 16; i % 13 > 0; --i) {
                dice = dice * 1664525u + 1013904223u;
                text += letters[dice >> 24 & 7];
            }
            dice = dice * 1664525u + 1013904223u;
            std::int32_t a[64], b[64];
            const std::size_t count = tokenizer.encode(text, a, 64);
            assert_int_equal(imported->tokenizer->encode(text, b, 64), count);
            assert_memory_equal(a, b, count * sizeof *a);
        }
    }
}

void test_merges_that_are_no_scores_are_refused(void**) {
    Fixture fixture;
    const auto model = fixture.gpt_of(266);
    const auto refusal = [&](const std::string& json, const char* steps) {
        model->tokenizer.reset();
        model->tokenizer.emplace(stepped(fixture, json, steps, kEndPieces));
        return fixture.refusal(*model);
    };
    assert_int_equal(refusal(llama_model(kLlamaMerges), kPrepends).status, VOLTA_OK);
    assert_failure(refusal(llama_model("\"a b\", \"\u2581 a\", \"b ab\", \"\u2581 ab\""), kPrepends),
                   VOLTA_UNSUPPORTED, "'\u2581ab' has two parts that no merge joins");
    assert_failure(
        refusal(llama_model("\"a b\", \"\u2581 a\", \"\u2581 ab\", \"b ab\", \"\u2581a b\""), kPrepends),
        VOLTA_UNSUPPORTED, "'\u2581ab' is merged before and behind another piece");
    assert_failure(refusal(llama_model(kLlamaMerges), R"("normalizer": {"type": "NFC"}, )"),
                   VOLTA_UNSUPPORTED, "in a way that has no name in GGUF files");
    assert_failure(refusal(llama_model(kLlamaMerges, R"("ignore_merges": true, )"), kPrepends),
                   VOLTA_UNSUPPORTED, "has words that are not merged");
}

void test_a_way_without_a_name_is_refused(void**) {
    Fixture fixture;
    NamedCut cut = named_cuts()[0];
    const auto model = fixture.gpt_of(259);
    const auto refusal = [&] {
        model->tokenizer.reset();
        model->tokenizer.emplace(tokenizer_of(fixture, cut));
        return fixture.refusal(*model);
    };
    assert_int_equal(refusal().status, VOLTA_OK);
    cut.composed = true;
    assert_failure(refusal(), VOLTA_UNSUPPORTED, "in a way that has no name in GGUF files");
    cut.composed = false;
    cut.cutters[0] = split("[a-z]+");
    assert_failure(refusal(), VOLTA_UNSUPPORTED, "in a way that has no name in GGUF files");
    GgufBytes g;
    g.string("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.tokens", {"a"});
    g.string("tokenizer.ggml.pre", "sideways");
    assert_failure(failure_of([&] { read_gguf_tokenizer_of(g.finish(), fixture); }), VOLTA_UNSUPPORTED,
                   "its tokenizer splits words as 'sideways' does, which this library does not know");
}

// Vocabularies of llama.cpp's own tests, and its texts.
void test_real_tokenizers_come_back(void**) {
    Fixture fixture;
    int found = 0;
    for (const char* name : {"gpt-2", "llama-spm", "bert-bge"}) {
        const std::string bytes = vocabulary_file(name);
        if (bytes.empty()) continue;
        ++found;
        const Tokenizer tokenizer = read_gguf_tokenizer(
            GgufFile(bytes.data(), bytes.size(), fixture.heap.structures()), fixture.heap.structures());
        std::string texts;
        for (const TestVector& vector : test_vectors(name)) texts += vector.text;
        check_comes_back(fixture, tokenizer, texts.c_str());
    }
    if (found == 0) skip();
}

void test_what_has_no_form_is_refused(void**) {
    Fixture fixture;
    std::pmr::memory_resource* const heap = fixture.heap.structures();
    const long held = fixture.heap.held;
    {
        assert_failure(fixture.refusal(*fixture.bert(BertHead::masked)), VOLTA_UNSUPPORTED,
                       "the masked head of a BERT has no form in a GGUF file");
        NetworkConfig network;
        network.network = &find_network("cnn");
        assert_failure(fixture.refusal(*create_network(network, 1, heap, fixture.heap.tensors())),
                       VOLTA_UNSUPPORTED, "a cnn has no form in a GGUF file");
        // A Qwen 2 is a Llama with biases and nothing else.
        const auto other = [&](auto change) {
            DecoderConfig config = decoder_of(small_llama(true, false));
            config.qkv_bias = true;
            change(config);
            assert_failure(fixture.refusal(*fixture.decoder(config)), VOLTA_UNSUPPORTED,
                           "GPT-2, Llama and Qwen 2 are written as GGUF files; this one is none of them");
        };
        other([](DecoderConfig& config) { config.window = 8; });
        other([](DecoderConfig& config) { config.proj_bias = true; });
        other([](DecoderConfig& config) { config.head_norm = HeadNorm::head; });
        other([](DecoderConfig& config) { config.interleaved = true; });
        other([](DecoderConfig& config) { config.qkv_bias = false, config.rope_scale = 2; });
        const auto scaled = [](DecoderConfig& config) {
            config.frequencies.count = 8;
            for (float& frequency : config.frequencies.values) frequency = 0.5f;
        };
        other(scaled);
        other([&](DecoderConfig& config) { scaled(config), config.qkv_bias = false, config.rope_scale = 2; });
        const auto model = fixture.gpt();
        model->set_metadata("volta.gpt.window", "8");
        assert_failure(fixture.refusal(*model), VOLTA_UNSUPPORTED,
                       "its setting 'volta.gpt.window' has no form");
        const auto bare = fixture.gpt();
        bare->metadata.clear();
        assert_failure(fixture.refusal(*bare), VOLTA_UNSUPPORTED, "a graph of the host's own");
        const auto wrong = fixture.gpt();
        wrong->mutable_parameter(4)[3] = INFINITY;
        for (const DType dtype : {DType::f16, DType::bf16, DType::int8, DType::int4})
            assert_failure(fixture.refusal(*wrong, dtype), VOLTA_UNSUPPORTED, "cannot be written as ");
        fixture.write(*wrong, DType::f32);

        const auto letters = fixture.gpt();
        letters->tokenizer.emplace(Tokenizer::make_character("abc", heap));
        assert_failure(fixture.refusal(*letters), VOLTA_UNSUPPORTED, "its tokenizer is of the kind 'char'");
        fixture.write(*letters, kKeep, true);
        Vocabulary whole = bpe(heap);
        whole.options.split = WordSplit::none;
        letters->tokenizer.emplace(Tokenizer::from_vocabulary(std::move(whole)));
        assert_failure(fixture.refusal(*letters), VOLTA_UNSUPPORTED,
                       "in a way that has no name in GGUF files");
        letters->tokenizer.emplace(read_bert_tokenizer("[UNK]\na\n", false, heap));
        assert_failure(fixture.refusal(*letters), VOLTA_UNSUPPORTED, "tells capital letters apart");
    }
    assert_int_equal(fixture.heap.held, held);
    assert_failure(
        failure_of([&] { export_gguf(*fixture.gpt(), fixture.folder.file("no/such").c_str(), {}, heap); }),
        VOLTA_IO_ERROR, "no/such");
}

void test_every_allocation_may_fail(void**) {
    Fixture fixture;
    const auto model = fixture.gpt();
    model->tokenizer.emplace(Tokenizer::from_vocabulary(bpe(fixture.heap.structures())));
    const std::string path = fixture.folder.file("m.gguf");
    for (long n = 1;; n += 1 + n / 16) {
        TestHeap heap;
        heap.refused_call = n;
        bool done = false;
        try {
            export_gguf(*model, path.c_str(), {DType::int8}, heap.structures());
            done = true;
        } catch (const std::bad_alloc&) {
        }
        assert_int_equal(heap.held, 0);
        if (done) break;
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_models_come_back),
        cmocka_unit_test(test_rotary_halves_become_pairs),
        cmocka_unit_test(test_rotary_frequencies_come_back),
        cmocka_unit_test(test_the_same_model_gives_the_same_bytes),
        cmocka_unit_test(test_stored_weights_come_back),
        cmocka_unit_test(test_which_tensors_have_the_type),
        cmocka_unit_test(test_values_are_rounded_as_the_package_does),
        cmocka_unit_test(test_tokenizers_come_back),
        cmocka_unit_test(test_the_chat_format_comes_back),
        cmocka_unit_test(test_wordpieces_are_marked),
        cmocka_unit_test(test_the_steps_of_bert_are_written_as_bert),
        cmocka_unit_test(test_steps_without_a_form_are_refused),
        cmocka_unit_test(test_ways_to_cut_words_have_names),
        cmocka_unit_test(test_a_way_without_a_name_is_refused),
        cmocka_unit_test(test_pairs_of_characters_are_written_as_scores),
        cmocka_unit_test(test_merges_that_are_no_scores_are_refused),
        cmocka_unit_test(test_real_tokenizers_come_back),
        cmocka_unit_test(test_what_has_no_form_is_refused),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("export_gguf", tests, nullptr, nullptr);
}
