#include "engine/import/word_splits.h"

#include <algorithm>

#include "engine/import/tokenizer_json_steps.h"

namespace volta {

enum WordSplitFlag : unsigned {
    kNone = 0,
    kBegins = 1,   // with bos, where the file does not say
    kWhole = 2,    // words that are pieces are not merged
    kComposed = 4  // NFC before all
};

struct CutRow {
    const char* expression;  // kGpt2Words: the scan for GPT-2's; kByteLetters: none, the step of that name
    SplitBehaviour behaviour = SplitBehaviour::isolated;
};

struct WordSplitRow {
    template <std::size_t count>
    constexpr WordSplitRow(const char* given, unsigned of, const CutRow (&rows)[count])
        : name(given), flags(of), cuts(rows), cut_count(count) {}
    const char* name;
    unsigned flags;  // of WordSplitFlag
    const CutRow* cuts;
    std::size_t cut_count;
};

namespace {

constexpr char kGpt2Words[] = "", kByteLetters[] = "\xff";  // what no expression is
constexpr char kNumber[] = "\\p{N}", kThreeDigits[] = "[0-9][0-9][0-9]";
constexpr char kLlama3[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char kQwen2[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char kQwen35[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
    "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char kGpt4o[] =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char kTekken[] =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char kBailing[] =
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| "
    "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+";
constexpr char kSeedCoder[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| "
    "?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char kBloom[] =
    " ?[^(\\s|[.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3\x80\x81\xe0\xa5\xa4\xdb\x94\xd8\x8c])]+";
constexpr char kLineEnd[] = "[\\r\\n]", kSpacedLetters[] = "\\s?\\p{L}+", kSpacedSigns[] = "\\s?\\p{P}+";
// U+4E00-9FA5, U+0800-4E00, U+AC00-D7FF; U+4E00-9FA5, U+3040-309F, U+30A0-30FF.
constexpr char kEastern[] = "[\xe4\xb8\x80-\xe9\xbe\xa5\xe0\xa0\x80-\xe4\xb8\x80\xea\xb0\x80-\xed\x9f\xbf]+";
constexpr char kChineseOrKana[] =
    "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf]+";
constexpr char kDeepSeek3[] =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

constexpr CutRow kGpt2Cuts[] = {{kGpt2Words}}, kStarcoderCuts[] = {{kNumber}, {kGpt2Words}},
                 kLlama3Cuts[] = {{kLlama3}}, kQwen2Cuts[] = {{kQwen2}}, kQwen35Cuts[] = {{kQwen35}},
                 kGpt4oCuts[] = {{kGpt4o}}, kTekkenCuts[] = {{kTekken}}, kBailingCuts[] = {{kBailing}},
                 kSeedCoderCuts[] = {{kSeedCoder}}, kBloomCuts[] = {{kBloom}},
                 kVikingCuts[] = {{kBloom}, {kNumber}},
                 kDeepSeekCoderCuts[] = {{kLineEnd}, {kSpacedLetters}, {kSpacedSigns}, {kEastern}, {kNumber}},
                 kDeepSeek3Cuts[] = {{"\\p{N}{1,3}"}, {kChineseOrKana}, {kDeepSeek3}},
                 kFalconCuts[] = {{kSignExpression, SplitBehaviour::contiguous},
                                  {kGpt2Words},
                                  {kByteLetters},  // and the digits are sought among letters for bytes
                                  {kNumber, SplitBehaviour::contiguous},
                                  {kThreeDigits}},
                 kDefaultCuts[] = {{"[\\p{P}$+<=>^~|]+"}, {kGpt2Words}, {"\\p{N}+"}, {kThreeDigits}};

// Of several names of one way the first is written.
constexpr WordSplitRow kRows[] = {
    {"gpt-2", kNone, kGpt2Cuts},
    {"mpt", kNone, kGpt2Cuts},
    {"olmo", kNone, kGpt2Cuts},
    {"phi-2", kNone, kGpt2Cuts},
    {"jais", kNone, kGpt2Cuts},
    {"trillion", kNone, kGpt2Cuts},
    {"exaone4", kNone, kGpt2Cuts},
    {"gigachat", kNone, kGpt2Cuts},
    {"mellum", kNone, kGpt2Cuts},
    {"granite-docling", kNone, kGpt2Cuts},
    {"modern-bert", kNone, kGpt2Cuts},
    {"roberta-bpe", kNone, kGpt2Cuts},
    {"jina-v1-en", kNone, kGpt2Cuts},
    {"jina-v2-code", kNone, kGpt2Cuts},
    {"jina-v2-es", kNone, kGpt2Cuts},
    {"jina-v2-de", kNone, kGpt2Cuts},
    {"jina-es", kNone, kGpt2Cuts},
    {"jina-de", kNone, kGpt2Cuts},
    {"smollm", kNone, kStarcoderCuts},
    {"starcoder", kNone, kStarcoderCuts},
    {"refact", kNone, kStarcoderCuts},
    {"codeshell", kNone, kStarcoderCuts},
    {"command-r", kNone, kStarcoderCuts},
    {"exaone", kNone, kStarcoderCuts},
    {"minerva-7b", kNone, kStarcoderCuts},
    {"mellum2", kNone, kStarcoderCuts},
    {"llama-bpe", kBegins | kWhole, kLlama3Cuts},
    {"llama3", kBegins | kWhole, kLlama3Cuts},
    {"llama-v3", kBegins | kWhole, kLlama3Cuts},
    {"falcon3", kBegins | kWhole, kLlama3Cuts},
    {"falcon-h1", kBegins | kWhole, kLlama3Cuts},
    {"pixtral", kBegins | kWhole, kLlama3Cuts},
    {"midm-2.0", kBegins | kWhole, kLlama3Cuts},
    {"lfm2", kBegins | kWhole, kLlama3Cuts},
    {"smaug-bpe", kNone, kLlama3Cuts},
    {"dbrx", kNone, kLlama3Cuts},
    {"chatglm-bpe", kNone, kLlama3Cuts},
    {"glm4", kNone, kLlama3Cuts},
    {"qwen2", kComposed, kQwen2Cuts},
    {"deepseek-r1-qwen", kComposed, kQwen2Cuts},
    {"hunyuan", kNone, kQwen2Cuts},
    {"stablelm2", kNone, kQwen2Cuts},
    {"megrez", kNone, kQwen2Cuts},
    {"grok-2", kNone, kQwen2Cuts},
    {"solar-open", kNone, kQwen2Cuts},
    {"qwen35", kComposed, kQwen35Cuts},
    {"gpt-4o", kNone, kGpt4oCuts},
    {"llama4", kNone, kGpt4oCuts},
    {"kanana2", kNone, kGpt4oCuts},
    {"minimax-m2", kNone, kGpt4oCuts},
    {"tekken", kBegins | kWhole, kTekkenCuts},
    {"bailingmoe", kNone, kBailingCuts},
    {"bailingmoe2", kNone, kBailingCuts},
    {"llada-moe", kNone, kBailingCuts},
    {"seed-coder", kNone, kSeedCoderCuts},
    {"bloom", kNone, kBloomCuts},
    {"poro-chat", kNone, kBloomCuts},
    {"gpt3-finnish", kNone, kBloomCuts},
    {"viking", kNone, kVikingCuts},
    {"deepseek-coder", kNone, kDeepSeekCoderCuts},
    {"deepseek-v3", kNone, kDeepSeek3Cuts},
    {"hunyuan-dense", kNone, kDeepSeek3Cuts},
    {"joyai-llm", kNone, kDeepSeek3Cuts},
    {"falcon", kNone, kFalconCuts},
    {"default", kNone, kDefaultCuts},
};

CutterKind kind_of(const CutRow& cut) {
    if (cut.expression[0] == kGpt2Words[0]) return CutterKind::gpt2_words;
    return cut.expression[0] == kByteLetters[0] ? CutterKind::byte_letters : CutterKind::split;
}

void add_steps(const WordSplitRow& row, TextSteps* normalisers, TextSteps* cutters) {
    const auto add = [](TextSteps* steps, auto kind, std::uint32_t number = 0, const char* first = "") {
        steps->emplace_back(static_cast<std::uint8_t>(kind), number, first, "");
    };
    if ((row.flags & kComposed) != 0) add(normalisers, NormaliserKind::nfc);
    bool letters = false;
    for (std::size_t i = 0; i < row.cut_count; ++i) {
        const CutterKind kind = kind_of(row.cuts[i]);
        letters = letters || kind == CutterKind::byte_letters;
        if (kind == CutterKind::split)
            add(cutters, kind, static_cast<std::uint32_t>(row.cuts[i].behaviour), row.cuts[i].expression);
        else
            add(cutters, kind);
    }
    if (!letters) add(cutters, CutterKind::byte_letters);
}

bool is_gpt2(const WordSplitRow& row) {
    return row.flags == kNone && row.cut_count == 1 && kind_of(row.cuts[0]) == CutterKind::gpt2_words;
}

bool cuts_so(const Vocabulary& vocabulary, const WordSplitRow& row) {
    TextSteps normalisers(vocabulary.heap()), cutters(vocabulary.heap());
    add_steps(row, &normalisers, &cutters);
    return same_steps(vocabulary.normalisers, normalisers) && same_steps(vocabulary.cutters, cutters) &&
           vocabulary.options.has(kWholeWords) == ((row.flags & kWhole) != 0);
}

}  // namespace

const WordSplitRow* find_word_split(std::string_view name) {
    for (const WordSplitRow& row : kRows)
        if (name == row.name) return &row;
    return nullptr;
}

bool begins_with_bos(const WordSplitRow& row) { return (row.flags & kBegins) != 0; }

void set_word_split(const WordSplitRow& row, Vocabulary& vocabulary) {
    if (is_gpt2(row)) {
        vocabulary.options.split = WordSplit::gpt2;
        return;
    }
    vocabulary.kind = TokenizerKind::stepped_bpe;
    vocabulary.options.flags |= kBytePieces | ((row.flags & kWhole) != 0 ? kWholeWords : 0u);
    add_steps(row, &vocabulary.normalisers, &vocabulary.cutters);
    vocabulary.decoders.emplace_back(static_cast<std::uint8_t>(DecoderKind::bytes), 0u, "", "");
}

const char* word_split_name(const Vocabulary& vocabulary) {
    if (vocabulary.kind == TokenizerKind::bpe)
        return vocabulary.options.split == WordSplit::gpt2 ? kRows[0].name : nullptr;
    if (!vocabulary.options.has(kBytePieces)) return nullptr;
    for (const WordSplitRow& row : kRows)
        if (cuts_so(vocabulary, row)) return row.name;
    return nullptr;
}

bool same_steps(const TextSteps& a, const TextSteps& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TextStep& x, const TextStep& y) {
        return x.kind == y.kind && x.number == y.number && x.first == y.first && x.second == y.second;
    });
}

}  // namespace volta
