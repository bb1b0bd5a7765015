#include "engine/import/tokenizer_json_steps.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr char kSpace[] = "\\s";
// As Rust's expressions have \w and \s.
constexpr char kWordOrSigns[] =
    "[[\\w&&[^\\p{No}]]\\x{24b6}-\\x{24e9}\\x{200c}\\x{200d}]+|[^[\\w&&[^\\p{No}]]\\x{24b6}-\\x{24e9}\\x{"
    "200c}\\x{200d}\\s]+";

template <class Kind>
void add(TextSteps* steps, Kind kind, std::uint32_t number = 0, std::string_view first = {},
         std::string_view second = {}) {
    steps->emplace_back(static_cast<std::uint8_t>(kind), number, first, second);
}
void add_split(TextSteps* steps, std::string_view expression, SplitBehaviour behaviour,
               bool inverted = false) {
    add(steps, CutterKind::split, static_cast<std::uint32_t>(behaviour) | (inverted ? kSplitInverted : 0u),
        expression);
}

// Of a member that is there for its text to be found as it is.
std::pmr::string escaped(std::string_view text, std::pmr::memory_resource* heap) {
    std::pmr::string out(heap);
    for (const char c : text) {
        const bool sign = static_cast<unsigned char>(c) < 0x80 && c > ' ' &&
                          !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9');
        if (sign) out += '\\';
        out += c;
    }
    return out;
}

struct BehaviourRow {
    const char* name;
    SplitBehaviour behaviour;
};
constexpr BehaviourRow kBehaviours[] = {{"Removed", SplitBehaviour::removed},
                                        {"Isolated", SplitBehaviour::isolated},
                                        {"MergedWithPrevious", SplitBehaviour::merged_with_previous},
                                        {"MergedWithNext", SplitBehaviour::merged_with_next},
                                        {"Contiguous", SplitBehaviour::contiguous}};
SplitBehaviour behaviour_of(const JsonStep& step) {
    const std::string_view name = step.text("behavior", "Isolated");
    for (const BehaviourRow& row : kBehaviours)
        if (name == row.name) return row.behaviour;
    step.refuse("behavior", name);
}

struct SchemeRow {
    const char* name;
    PrependScheme scheme;
};
constexpr SchemeRow kSchemes[] = {
    {"never", PrependScheme::never}, {"always", PrependScheme::always}, {"first", PrependScheme::first}};
std::uint32_t scheme_of(const JsonStep& step) {
    const std::string_view name =
        step.text("prepend_scheme", step.truth("add_prefix_space", true) ? "always" : "never");
    for (const SchemeRow& row : kSchemes)
        if (name == row.name) return static_cast<std::uint32_t>(row.scheme);
    step.refuse("prepend_scheme", name);
}

// "pattern": {"String": ..} or {"Regex": ..}.
struct Pattern {
    std::string_view text;
    bool expression;
};
Pattern pattern_of(const JsonStep& step) {
    const JsonValue* pattern = step.value().find("pattern");
    for (const char* kind : {"String", "Regex"}) {
        const JsonValue* text =
            pattern != nullptr && pattern->members.size() == 1 ? pattern->find(kind) : nullptr;
        if (text == nullptr || !text->is_text()) continue;
        if (text->text.empty()) step.refuse("pattern", "");
        return {text->text, kind[0] == 'R'};
    }
    fail(VOLTA_CORRUPT_MODEL, "the pattern of a '%s' in it is neither a String nor a Regex",
         step.value().find("type")->text.c_str());
}

template <class Read>  // Read: void(const JsonValue&)
void each_of(const JsonStep& step, const char* list, const Read& read) {
    step.only({list});
    for (const JsonValue& inner : step.list(list).members) read(inner);
}

struct NormalForm {
    const char* name;
    NormaliserKind kind;
};
constexpr NormalForm kPlainNormalisers[] = {{"NFC", NormaliserKind::nfc},
                                            {"NFD", NormaliserKind::nfd},
                                            {"NFKC", NormaliserKind::nfkc},
                                            {"NFKD", NormaliserKind::nfkd},
                                            {"Lowercase", NormaliserKind::small_letters},
                                            {"StripAccents", NormaliserKind::drop_marks},
                                            {"ByteLevel", NormaliserKind::byte_letters},
                                            {"Nmt", NormaliserKind::nmt}};

void add_bert_normaliser(bool clean, bool chinese, bool accents, bool small, TextSteps* steps) {
    if (clean) add(steps, NormaliserKind::clean);
    if (chinese) add(steps, NormaliserKind::space_chinese);
    if (accents) {
        add(steps, NormaliserKind::nfd);
        add(steps, NormaliserKind::drop_accents);
    }
    if (small) add(steps, NormaliserKind::small_letters);
}

void read_bert_normaliser(const JsonStep& step, TextSteps* steps) {
    step.only({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    const bool small = step.truth("lowercase", true);
    add_bert_normaliser(step.truth("clean_text", true), step.truth("handle_chinese_chars", true),
                        step.truth("strip_accents", small), small, steps);
}

void add_bert_cutter(TextSteps* steps) {
    add_split(steps, kSpace, SplitBehaviour::removed);
    add_split(steps, kSignExpression, SplitBehaviour::isolated);
}

void read_byte_level(const JsonStep& step, TextSteps* steps) {
    step.only({"add_prefix_space", "trim_offsets", "use_regex"});  // offsets are no ids
    if (step.truth("add_prefix_space", true)) add(steps, CutterKind::space_before);
    if (step.truth("use_regex", true)) add(steps, CutterKind::gpt2_words);
    add(steps, CutterKind::byte_letters);
}

void read_metaspace(const JsonStep& step, TextSteps* steps) {
    step.only({"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
    const std::string_view mark = step.text("replacement", "\xe2\x96\x81");
    add(steps, CutterKind::metaspace, scheme_of(step), mark);
    if (step.truth("split", true))
        add_split(steps, escaped(mark, steps->get_allocator().resource()), SplitBehaviour::merged_with_next);
}

// Four letters are three bytes; "=" fills the last four up.
std::pmr::string from_base64(std::string_view text, std::pmr::memory_resource* heap) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::pmr::string out(heap);
    const std::size_t end = std::min(text.find('='), text.size());
    const bool filled = text.size() - end <= 2 && text.find_first_not_of('=', end) == text.npos;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < end; ++i) {
        const std::size_t value = kLetters.find(text[i]);
        if (value == kLetters.npos || !filled || text.size() % 4 != 0)
            fail(VOLTA_CORRUPT_MODEL,
                 "the precompiled_charsmap of its normalizer 'Precompiled' is no base64");
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        if (i % 4 == 3) {
            out += static_cast<char>(bits >> 16 & 0xff);
            out += static_cast<char>(bits >> 8 & 0xff);
            out += static_cast<char>(bits & 0xff);
        }
    }
    if (end % 4 == 2) out += static_cast<char>(bits >> 4 & 0xff);
    if (end % 4 == 3) {
        out += static_cast<char>(bits >> 10 & 0xff);
        out += static_cast<char>(bits >> 2 & 0xff);
    }
    return out;
}

std::uint32_t count_of(const JsonStep& step, const char* name) {
    const std::uint64_t count = step.integer(name, 0);
    if (count > 0xffff) step.refuse(name, "more than 65535");
    return static_cast<std::uint32_t>(count);
}

}  // namespace

JsonStep::JsonStep(const JsonValue& value, const char* what) : value_(value), what_(what) {
    const JsonValue* type = value.is_object() ? value.find("type") : nullptr;
    if (type == nullptr || !type->is_text())
        fail(VOLTA_CORRUPT_MODEL, "its %s is no object with a type", what);
    type_ = type->text;
}

void JsonStep::refuse(const char* name, std::string_view value) const {
    const ShownName type = shown(type_), part = shown(value);
    fail(VOLTA_UNSUPPORTED, "its %s '%.*s' has the %s '%.*s', which this library does not know", what_,
         type.bytes, type.text, name, part.bytes, part.text);
}

void JsonStep::only(std::initializer_list<const char*> names) const {
    for (const JsonValue& member : value_.members) {
        const auto is_it = [&](const char* name) { return member.key == name; };
        if (member.key != "type" && std::none_of(names.begin(), names.end(), is_it))
            refuse("member", member.key);
    }
}

const JsonValue* JsonStep::find(const char* name, JsonKind kind, const char* kind_name) const {
    const JsonValue* member = value_.find(name);
    const ShownName type = shown(type_);
    if (member != nullptr && member->kind != kind)
        fail(VOLTA_CORRUPT_MODEL, "the %s of its %s '%.*s' is no %s", name, what_, type.bytes, type.text,
             kind_name);
    return member;
}

bool JsonStep::truth(const char* name, bool fallback) const {
    const JsonValue* member = find(name, JsonKind::truth, "truth value");
    return member != nullptr ? member->truth : fallback;
}
std::string_view JsonStep::text(const char* name, std::string_view fallback) const {
    const JsonValue* member = find(name, JsonKind::text, "text");
    return member != nullptr ? std::string_view(member->text) : fallback;
}
std::uint64_t JsonStep::integer(const char* name, std::uint64_t fallback) const {
    const JsonValue* member = find(name, JsonKind::integer, "whole number");
    return member != nullptr ? member->integer : fallback;
}
const JsonValue& JsonStep::list(const char* name) const {
    const JsonValue* member = find(name, JsonKind::begin_array, "list");
    if (member == nullptr) fail(VOLTA_CORRUPT_MODEL, "its %s has no %s", what_, name);
    return *member;
}

void read_normaliser(const JsonValue& tree, TextSteps* steps) {
    if (tree.kind == JsonKind::null) return;
    const JsonStep step(tree, "normalizer");
    const std::string_view type = step.type();
    if (type == "Sequence")
        return each_of(step, "normalizers", [&](const JsonValue& v) { read_normaliser(v, steps); });
    if (type == "BertNormalizer") return read_bert_normaliser(step, steps);
    for (const NormalForm& row : kPlainNormalisers) {
        if (type != row.name) continue;
        step.only({});
        return add(steps, row.kind);
    }
    if (type == "Replace") {
        step.only({"pattern", "content"});
        const Pattern pattern = pattern_of(step);
        const auto kind = pattern.expression ? NormaliserKind::replace_expression : NormaliserKind::replace;
        return add(steps, kind, 0, pattern.text, step.text("content", ""));
    }
    if (type == "Precompiled") {
        step.only({"precompiled_charsmap"});
        const std::pmr::string map =
            from_base64(step.text("precompiled_charsmap", ""), steps->get_allocator().resource());
        if (!map.empty()) add(steps, NormaliserKind::precompiled, 0, map);
        return;
    }
    if (type == "Prepend") {
        step.only({"prepend"});
        return add(steps, NormaliserKind::prepend, 0, step.text("prepend", ""));
    }
    if (type == "Strip") {
        step.only({"strip_left", "strip_right"});
        const std::uint32_t sides =
            (step.truth("strip_left", true) ? 1u : 0u) | (step.truth("strip_right", true) ? 2u : 0u);
        if (sides != 0) add(steps, NormaliserKind::strip, sides);
        return;
    }
    step.refuse("type", type);
}

void add_bert_steps(bool lowercase, TextSteps* normalisers, TextSteps* cutters) {
    add_bert_normaliser(true, true, lowercase, lowercase, normalisers);
    add_bert_cutter(cutters);
}

void read_cutter(const JsonValue& tree, TextSteps* steps) {
    if (tree.kind == JsonKind::null) return;
    const JsonStep step(tree, "pre_tokenizer");
    const std::string_view type = step.type();
    if (type == "Sequence")
        return each_of(step, "pretokenizers", [&](const JsonValue& v) { read_cutter(v, steps); });
    if (type == "ByteLevel") return read_byte_level(step, steps);
    if (type == "Metaspace") return read_metaspace(step, steps);
    if (type == "Split") {
        step.only({"pattern", "behavior", "invert"});
        const Pattern pattern = pattern_of(step);
        const std::pmr::string text = pattern.expression
                                          ? std::pmr::string(pattern.text, steps->get_allocator().resource())
                                          : escaped(pattern.text, steps->get_allocator().resource());
        return add_split(steps, text, behaviour_of(step), step.truth("invert", false));
    }
    if (type == "Digits") {
        step.only({"individual_digits"});
        return add_split(
            steps, "\\p{N}",
            step.truth("individual_digits", false) ? SplitBehaviour::isolated : SplitBehaviour::contiguous);
    }
    if (type == "Punctuation") {
        step.only({"behavior"});
        return add_split(steps, kSignExpression, behaviour_of(step));
    }
    if (type == "CharDelimiterSplit") {
        step.only({"delimiter"});
        return add_split(steps, escaped(step.text("delimiter", ""), steps->get_allocator().resource()),
                         SplitBehaviour::removed);
    }
    if (type == "Whitespace" || type == "WhitespaceSplit" || type == "BertPreTokenizer") {
        step.only({});
        if (type == "Whitespace") return add_split(steps, kWordOrSigns, SplitBehaviour::removed, true);
        if (type == "BertPreTokenizer") return add_bert_cutter(steps);
        return add_split(steps, kSpace, SplitBehaviour::removed);
    }
    step.refuse("type", type);
}

void read_decoder(const JsonValue& tree, TextSteps* steps) {
    if (tree.kind == JsonKind::null) return;
    const JsonStep step(tree, "decoder");
    const std::string_view type = step.type();
    if (type == "Sequence")
        return each_of(step, "decoders", [&](const JsonValue& v) { read_decoder(v, steps); });
    if (type == "ByteLevel") {
        step.only({"add_prefix_space", "trim_offsets", "use_regex"});  // of the pre_tokenizer alone
        return add(steps, DecoderKind::bytes);
    }
    if (type == "ByteFallback" || type == "Fuse") {
        step.only({});
        return add(steps, type == "Fuse" ? DecoderKind::fuse : DecoderKind::byte_pieces);
    }
    if (type == "Replace") {
        step.only({"pattern", "content"});
        const Pattern pattern = pattern_of(step);
        if (pattern.expression) step.refuse("pattern", pattern.text);
        return add(steps, DecoderKind::replace, 0, pattern.text, step.text("content", ""));
    }
    if (type == "Strip") {
        step.only({"content", "start", "stop"});
        return add(steps, DecoderKind::strip, count_of(step, "start") | count_of(step, "stop") << 16,
                   step.text("content", " "));
    }
    if (type == "Metaspace") {
        step.only({"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
        return add(steps, DecoderKind::metaspace, scheme_of(step), step.text("replacement", "\xe2\x96\x81"));
    }
    if (type == "WordPiece") {
        step.only({"prefix", "cleanup"});
        return add(steps, DecoderKind::wordpiece, step.truth("cleanup", true) ? 1 : 0,
                   step.text("prefix", "##"));
    }
    step.refuse("type", type);
}

}  // namespace volta
