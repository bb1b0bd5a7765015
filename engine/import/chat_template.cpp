#include "engine/import/chat_template.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/import/config_file.h"
#include "engine/model/text.h"

namespace volta {
namespace {

using Texts = std::pmr::vector<std::pmr::string>;

// ---- What names a format: every text of the template is put together from the row's marks and the words
// that all templates have, and each mark that is needed is there.

enum Uses : unsigned { kBos = 1, kEos = 2, kTrims = 4 };

struct TemplateRow {
    const char* format;
    unsigned uses;     // exactly these
    unsigned may_use;  // and perhaps these
    const char* needed[4];
    const char* allowed[6];
};
constexpr TemplateRow kRows[] = {
    {"chatml", 0, 0, {"<|im_start|>", "<|im_end|>"}, {}},
    {"llama2", kBos | kEos | kTrims, 0, {"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"}, {}},
    {"llama3.1",
     kBos | kTrims,
     0,
     {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "Cutting Knowledge Date: December 2023"},
     {"Today Date: ", "26 Jul 2024", "%d %b %Y"}},
    {"llama3", kBos | kTrims, 0, {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}, {}},
    // Of the two, the one with a place for the system.
    {"gemma3",
     kBos | kTrims,
     0,
     {"<start_of_turn>", "<end_of_turn>", "\n\n"},
     {"<start_of_image>", "image", "text", "type"}},
    {"gemma", kBos | kTrims, 0, {"<start_of_turn>", "<end_of_turn>"}, {}},
    {"phi3", 0, kEos, {"<|user|>", "<|assistant|>", "<|end|>"}, {"<|system|>"}},
    {"mistral", kBos | kEos, 0, {"[INST]", "[/INST]"}, {}},
    {"deepseek", kBos | kEos, 0, {"User:", "Assistant:"}, {}},
    {"zephyr", kEos, 0, {"<|user|>", "<|system|>", "<|assistant|>"}, {}},
};

constexpr const char* kCommonWords[] = {"role",     "content", "system", "user", "assistant", "model",
                                        "messages", "false",   "true",   " ",    "\n",        "\t"};
// Their presence changes what a text becomes, in ways that no format has.
constexpr const char* kForeignWords[] = {
    "split",           "replace", "upper",  "lower",   "title",
    "capitalize",      "range",   "tojson", "join",    "reverse",
    "rstrip",          "lstrip",  "macro",  "include", "reasoning_content",
    "enable_thinking", "map",     "select", "reject",  "format",
    "truncate",        "indent",  "default"};
// A branch for the calls of tools is not for a conversation of texts.
constexpr const char* kToolWords[] = {"tools",         "tool_calls",   "tool_call",
                                      "builtin_tools", "custom_tools", "tool",
                                      "ipython",       "documents",    "tools_in_user_message"};

template <std::size_t count>
bool is_one_of(std::string_view word, const char* const (&words)[count]) {
    return std::any_of(words, words + count, [&](const char* other) { return word == other; });
}

// ---- A template as a sequence of tags

struct Token {
    enum class Kind { word, text, sign } kind;
    std::string_view source;  // as it stands in the template; of a text, between its quotes
};

bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_white(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Of a string of jinja.
std::pmr::string unescaped(std::string_view source, std::pmr::memory_resource* heap) {
    std::pmr::string text(heap);
    for (std::size_t i = 0; i < source.size(); ++i) {
        const char c = source[i];
        if (c != '\\' || i + 1 == source.size()) {
            text += c;
            continue;
        }
        const char next = source[++i];
        text += next == 'n' ? '\n' : next == 't' ? '\t' : next == 'r' ? '\r' : next;
    }
    return text;
}

class Reader {
  public:
    Reader(std::string_view jinja, std::pmr::memory_resource* heap)
        : rest_(jinja), tokens_(heap), levels_(heap), texts_(heap), heap_(heap) {}

    // false: it is no template that could be followed.
    bool read() {
        while (!rest_.empty()) {
            const std::size_t at = find_tag();
            take_plain(rest_.substr(0, at));
            rest_.remove_prefix(at);
            if (!rest_.empty() && !take_tag()) return false;
        }
        return levels_.empty();
    }

    const Texts& texts() const { return texts_; }
    unsigned uses() const { return uses_; }
    bool is_foreign() const { return is_foreign_; }

  private:
    // A block that is open; `skips`: what stands in it now is for tools.
    struct Level {
        bool skips, is_loop;
    };
    static constexpr std::size_t kMostLevels = 64;

    std::size_t find_tag() const {
        for (std::size_t at = 0; at + 1 < rest_.size(); ++at)
            if (rest_[at] == '{' && (rest_[at + 1] == '{' || rest_[at + 1] == '%' || rest_[at + 1] == '#'))
                return at;
        return rest_.size();
    }

    bool is_skipped() const {
        return std::any_of(levels_.begin(), levels_.end(), [](const Level& level) { return level.skips; });
    }

    void take_plain(std::string_view plain) {
        if (is_skipped() || std::all_of(plain.begin(), plain.end(), is_white)) return;
        texts_.emplace_back(plain);
    }

    bool take_tag() {
        const char kind = rest_[1];
        rest_.remove_prefix(2);
        if (kind == '#') {
            const std::size_t end = rest_.find("#}");
            if (end == rest_.npos) return false;
            rest_.remove_prefix(end + 2);
            return true;
        }
        if (!read_tokens(kind == '%' ? "%}" : "}}")) return false;
        return kind == '%' ? take_statement() : (take_expression(0), true);
    }

    bool read_tokens(std::string_view close) {
        tokens_.clear();
        for (;;) {
            std::size_t at = 0;
            while (at < rest_.size() && is_white(rest_[at])) ++at;
            rest_.remove_prefix(at);
            if (rest_.empty()) return false;
            if (rest_.substr(0, 2) == close) {
                rest_.remove_prefix(2);
                return true;
            }
            if (!read_token()) return false;
        }
    }

    bool read_token() {
        const char first = rest_[0];
        std::size_t bytes = 1;
        Token::Kind kind = Token::Kind::sign;
        if (first == '\'' || first == '"') {
            while (bytes < rest_.size() && rest_[bytes] != first) bytes += rest_[bytes] == '\\' ? 2 : 1;
            if (bytes >= rest_.size()) return false;
            tokens_.push_back({Token::Kind::text, rest_.substr(1, bytes - 1)});
            rest_.remove_prefix(bytes + 1);
            return true;
        }
        if (is_word_byte(first)) {
            kind = Token::Kind::word;
            while (bytes < rest_.size() && is_word_byte(rest_[bytes])) ++bytes;
        }
        tokens_.push_back({kind, rest_.substr(0, bytes)});
        rest_.remove_prefix(bytes);
        return true;
    }

    std::string_view word(std::size_t i) const {
        return i < tokens_.size() && tokens_[i].kind == Token::Kind::word ? tokens_[i].source
                                                                          : std::string_view();
    }
    bool is_sign(std::size_t i, char sign) const {
        return i < tokens_.size() && tokens_[i].kind == Token::Kind::sign && tokens_[i].source[0] == sign;
    }

    // "{%- if": the sign belongs to the tag.
    std::size_t first_token() const { return is_sign(0, '-') || is_sign(0, '+') ? 1 : 0; }

    bool take_statement() {
        const std::size_t at = first_token();
        const std::string_view name = word(at);
        if (name == "if" || name == "for") {
            if (levels_.size() == kMostLevels) return false;
            const bool skips = is_about_tools(at + 1);
            if (!skips) take_expression(at + 1);
            levels_.push_back({skips, name == "for"});
        } else if (name == "elif" || name == "else") {
            if (levels_.empty()) return false;
            levels_.back().skips = false;
            const bool skips = name == "elif" && is_about_tools(at + 1);
            if (!skips) take_expression(at + 1);
            levels_.back().skips = skips;
        } else if (name == "endif" || name == "endfor") {
            if (levels_.empty() || levels_.back().is_loop != (name == "endfor")) return false;
            levels_.pop_back();
        } else if (name == "set" || name == "generation" || name == "endgeneration") {
            take_expression(at + 1);
        } else {
            is_foreign_ = true;
        }
        return true;
    }

    // A condition, or a list, that is there for tools alone: it names them, and not behind a "not".
    bool is_about_tools(std::size_t begin) const {
        if (word(begin) == "not") return false;
        for (std::size_t i = begin; i < tokens_.size(); ++i) {
            if (tokens_[i].kind == Token::Kind::sign || !is_one_of(tokens_[i].source, kToolWords)) continue;
            std::size_t start = i;  // of "message.tool_calls"
            while (start >= begin + 2 && is_sign(start - 1, '.')) start -= 2;
            if (start == begin || word(start - 1) != "not") return true;
        }
        return false;
    }

    void take_expression(std::size_t begin) {
        if (is_skipped()) return;
        for (std::size_t i = begin; i < tokens_.size(); ++i)
            if (word(i) == "raise_exception") return;  // what it says is said to nobody here
        for (std::size_t i = begin; i < tokens_.size(); ++i) {
            const Token& token = tokens_[i];
            if (token.kind == Token::Kind::text) {
                if (!is_one_of(token.source, kToolWords)) texts_.push_back(unescaped(token.source, heap_));
            } else if (token.kind == Token::Kind::word) {
                if (token.source == "bos_token") uses_ |= kBos;
                if (token.source == "eos_token") uses_ |= kEos;
                if (token.source == "trim" || token.source == "strip") uses_ |= kTrims;
                is_foreign_ = is_foreign_ || is_one_of(token.source, kForeignWords);
            }
        }
    }

    std::string_view rest_;
    std::pmr::vector<Token> tokens_;  // of the tag
    std::pmr::vector<Level> levels_;
    Texts texts_;  // of the template that stand in what is not skipped
    unsigned uses_ = 0;
    bool is_foreign_ = false;
    std::pmr::memory_resource* heap_;
};

// ---- Recognising

// What of `text` no mark and no common word accounts for.
std::string_view unknown_part(const TemplateRow& row, std::string_view text) {
    while (!text.empty()) {
        std::size_t most = 0;
        const auto consider = [&](const char* mark) {
            if (mark == nullptr) return;
            const std::size_t bytes = std::strlen(mark);
            if (text.substr(0, bytes) == mark) most = std::max(most, bytes);
        };
        for (const char* mark : row.needed) consider(mark);
        for (const char* mark : row.allowed) consider(mark);
        for (const char* mark : kCommonWords) consider(mark);
        if (most == 0) return text;
        text.remove_prefix(most);
    }
    return text;
}

// What a ChatML template says where no message is the system's: "<|im_start|>system\nTEXT<|im_end|>...". "":
// nothing.
std::string_view said_by_system(const ChatFormat& format, std::string_view text) {
    const std::string_view before = format.system.before, end = format.end;
    if (before.empty() || text.substr(0, before.size()) != before) return {};
    const std::size_t close = text.find(end, before.size());
    return close == text.npos ? std::string_view() : text.substr(before.size(), close - before.size());
}

bool has_all(const TemplateRow& row, const Texts& texts) {
    return std::all_of(std::begin(row.needed), std::end(row.needed), [&](const char* mark) {
        return mark == nullptr || std::any_of(texts.begin(), texts.end(), [&](const std::pmr::string& text) {
                   return text.find(mark) != text.npos;
               });
    });
}

// Whether the texts are the row's; then `out` has its format and what the system says.
bool fits(const TemplateRow& row, const Reader& reader, ChatTemplate& out) {
    if ((reader.uses() & ~row.may_use) != row.uses || !has_all(row, reader.texts())) return false;
    const ChatFormat& format = *find_chat_format(row.format);
    bool has_system = false;
    std::string_view system;
    for (const std::pmr::string& text : reader.texts()) {
        if (unknown_part(row, text).empty()) continue;
        const std::string_view said = said_by_system(format, text);
        if (said.empty() || (has_system && said != system)) return false;
        const std::string_view rest =
            std::string_view(text).substr(std::strlen(format.system.before) + said.size());
        if (!unknown_part(row, rest).empty()) return false;
        has_system = true;
        system = said;
    }
    out.format = &format;
    out.has_system = has_system;
    out.said = system;
    return true;
}

}  // namespace

ChatTemplate read_chat_template(std::string_view jinja, std::pmr::memory_resource* heap) {
    ChatTemplate found(heap);
    Reader reader(jinja, heap);
    if (jinja.size() > kMostTemplateBytes || find_invalid_utf8(jinja) != jinja.size() || !reader.read()) {
        found.refused = "it is no template of jinja that could be read";
        return found;
    }
    for (const TemplateRow& row : kRows)
        if (!reader.is_foreign() && fits(row, reader, found)) return found;
    found.refused = "it is none of ";
    found.refused += chat_format_names(heap);
    return found;
}

std::pmr::string find_chat_template(std::string_view path, std::pmr::memory_resource* heap) {
    const auto beside = [&](const char* name) {
        std::pmr::string file(path.substr(0, path.rfind('/') + 1), heap);
        return file += name;
    };
    const std::pmr::string own = beside("chat_template.jinja");
    if (file_exists(own.c_str())) {
        const Buffer bytes = read_file(own.c_str(), heap, kMostTemplateBytes);
        return std::pmr::string(static_cast<const char*>(bytes.data()), bytes.bytes(), heap);
    }
    const std::pmr::string config = beside("tokenizer_config.json");
    std::pmr::string text(heap);
    if (!file_exists(config.c_str())) return text;
    try {
        const ConfigFile file(config.c_str(), heap);
        if (file.has("chat_template") && !file.is_list("chat_template"))
            text = file.text("chat_template", "");
    } catch (const Error& error) {
        fail(error.status(), "in tokenizer_config.json: %s", error.what());
    }
    return text;
}

void describe_chat(std::string_view jinja, Model& model) {
    if (jinja.empty()) return;
    const ChatTemplate found = read_chat_template(jinja, model.structures());
    if (found.format == nullptr) {
        model.set_metadata(kChatRefusedKey, found.refused.c_str());
        return;
    }
    model.set_metadata(kChatFormatKey, found.format->name);
    if (found.has_system) model.set_metadata(kChatSystemKey, found.said.c_str());
}

}  // namespace volta
