#include "engine/model/chat.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

#define BOS VOLTA_CHAT_BOS
#define EOS VOLTA_CHAT_EOS
#define LLAMA3_TURN(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"

// Add a format: add its row here, what names it to engine/import/chat_template.cpp, and a template to
// tests/parity/parity_chat.py.
constexpr ChatFormat kFormats[] = {
    {"chatml",
     "",
     {"<|im_start|>system\n", "<|im_end|>\n"},
     {"<|im_start|>user\n", "<|im_end|>\n"},
     {"<|im_start|>assistant\n", "<|im_end|>\n"},
     "<|im_start|>assistant\n",
     "<|im_end|>",
     {"<|im_start|>"},
     SystemPlace::turn,
     ChatTrim::none,
     false,
     nullptr},
    {"llama2",
     "",
     {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     {BOS "[INST] ", " [/INST]"},
     {" ", " " EOS},
     "",
     EOS,
     {BOS},
     SystemPlace::first_user,
     ChatTrim::merged,
     true,
     nullptr},
    {"llama3",
     BOS,
     {LLAMA3_TURN("system"), "<|eot_id|>"},
     {LLAMA3_TURN("user"), "<|eot_id|>"},
     {LLAMA3_TURN("assistant"), "<|eot_id|>"},
     LLAMA3_TURN("assistant"),
     "<|eot_id|>",
     {"<|start_header_id|>", "<|end_header_id|>", BOS},
     SystemPlace::turn,
     ChatTrim::contents,
     false,
     nullptr},
    {"llama3.1",
     BOS,
     {LLAMA3_TURN("system") "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n",
      "<|eot_id|>"},
     {LLAMA3_TURN("user"), "<|eot_id|>"},
     {LLAMA3_TURN("assistant"), "<|eot_id|>"},
     LLAMA3_TURN("assistant"),
     "<|eot_id|>",
     {"<|start_header_id|>", "<|end_header_id|>", BOS},
     SystemPlace::turn,
     ChatTrim::contents,
     false,
     ""},
    {"gemma",
     BOS,
     {"", ""},
     {"<start_of_turn>user\n", "<end_of_turn>\n"},
     {"<start_of_turn>model\n", "<end_of_turn>\n"},
     "<start_of_turn>model\n",
     "<end_of_turn>",
     {"<start_of_turn>", BOS},
     SystemPlace::refused,
     ChatTrim::contents,
     true,
     nullptr},
    {"gemma3",
     BOS,
     {"", "\n\n"},
     {"<start_of_turn>user\n", "<end_of_turn>\n"},
     {"<start_of_turn>model\n", "<end_of_turn>\n"},
     "<start_of_turn>model\n",
     "<end_of_turn>",
     {"<start_of_turn>", BOS},
     SystemPlace::first_user,
     ChatTrim::contents,
     true,
     nullptr},
    {"phi3",
     "",
     {"<|system|>\n", "<|end|>\n"},
     {"<|user|>\n", "<|end|>\n"},
     {"<|assistant|>\n", "<|end|>\n"},
     "<|assistant|>\n",
     "<|end|>",
     {"<|user|>", "<|assistant|>"},
     SystemPlace::turn,
     ChatTrim::none,
     false,
     nullptr},
    {"mistral",
     BOS,
     {"", ""},
     {"[INST] ", " [/INST]"},
     {"", EOS},
     "",
     EOS,
     {BOS},
     SystemPlace::refused,
     ChatTrim::none,
     true,
     nullptr},
    {"deepseek",
     BOS,
     {"", "\n\n"},
     {"User: ", "\n\n"},
     {"Assistant: ", EOS},
     "Assistant:",
     EOS,
     {BOS},
     SystemPlace::turn,
     ChatTrim::none,
     false,
     nullptr},
    {"zephyr",
     "",
     {"<|system|>\n", EOS "\n"},
     {"<|user|>\n", EOS "\n"},
     {"<|assistant|>\n", EOS "\n"},
     "<|assistant|>\n",
     EOS,
     {},
     SystemPlace::turn,
     ChatTrim::none,
     false,
     nullptr},
};

#undef BOS
#undef EOS
#undef LLAMA3_TURN

// As Python's str.strip and jinja's trim take it.
bool is_white(std::uint32_t c) {
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

std::string_view without_white(std::string_view text) {
    std::size_t begin = text.size(), end = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Character character = read_character(text, at);
        const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);  // what is no UTF-8 is not white
        if (character.bytes == 0 || !is_white(character.code_point)) {
            begin = std::min(begin, at);
            end = at + bytes;
        }
        at += bytes;
    }
    return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

bool is_role(const ChatMessage& message, const char* role) { return message.role == role; }

}  // namespace

const ChatFormat* find_chat_format(std::string_view name) {
    for (const ChatFormat& format : kFormats)
        if (name == format.name) return &format;
    return nullptr;
}

const ChatFormat* chat_format(std::size_t index) {
    return index < std::size(kFormats) ? &kFormats[index] : nullptr;
}

std::pmr::string chat_format_names(std::pmr::memory_resource* heap) {
    std::pmr::string names(heap);
    for (const ChatFormat& format : kFormats) {
        if (!names.empty()) names += ", ";
        names += format.name;
    }
    return names;
}

Chat::Chat(const ChatFormat& format, const Tokenizer& tokenizer, const char* system,
           std::pmr::memory_resource* heap)
    : format_(format),
      tokenizer_(tokenizer),
      system_(system != nullptr                  ? system
              : format.system_default != nullptr ? format.system_default
                                                 : ""),
      has_system_(system != nullptr || format.system_default != nullptr),
      control_(heap),
      user_(heap),
      end_(-1),
      heap_(heap) {
    const Vocabulary& vocabulary = tokenizer.vocabulary();
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        if (piece.empty()) continue;
        if (vocabulary.type(id) == PieceType::control) control_.add(piece, id);
        if (vocabulary.type(id) == PieceType::user) user_.add(piece, id);
    }
    control_.sort();
    user_.sort();
    const auto required = [&](const char* mark) {
        const std::int32_t id = mark[0] == VOLTA_CHAT_BOS[0]   ? vocabulary.options.bos
                                : mark[0] == VOLTA_CHAT_EOS[0] ? vocabulary.options.eos
                                                               : whole_piece(mark);
        if (id < 0)
            fail(VOLTA_UNSUPPORTED, "the chat format %s needs %s, which the tokenizer does not have",
                 format.name,
                 mark[0] == VOLTA_CHAT_BOS[0]   ? "an id that begins a text"
                 : mark[0] == VOLTA_CHAT_EOS[0] ? "an id that ends a text"
                                                : mark);
        return id;
    };
    for (const char* mark : format.marks)
        if (mark != nullptr) required(mark);
    end_ = required(format.end);
}

std::int32_t Chat::whole_piece(std::string_view text) const {
    const std::int32_t id = control_.find(text);
    return id >= 0 ? id : user_.find(text);
}

void Chat::append(Text& out, const char* literal) const {
    const Vocabulary& vocabulary = tokenizer_.vocabulary();
    for (; *literal != '\0'; ++literal) {
        const bool begins = *literal == VOLTA_CHAT_BOS[0], ends = *literal == VOLTA_CHAT_EOS[0];
        if (begins || ends)
            out.text += vocabulary.pieces[static_cast<std::size_t>(begins ? vocabulary.options.bos
                                                                          : vocabulary.options.eos)];
        else
            out.text += *literal;
    }
}

void Chat::append_content(Text& out, std::string_view content) const {
    out.contents.push_back({out.text.size(), out.text.size() + content.size()});
    out.text += content;
}

void Chat::append_message(Text& out, const ChatTurn& turn, std::string_view content, std::string_view system,
                          bool has_system) const {
    append(out, turn.before);
    if (has_system && format_.trim == ChatTrim::merged) {
        std::pmr::string merged(format_.system.before, heap_);  // no pieces of the format are in it
        merged += system;
        merged += format_.system.after;
        merged += content;
        append_content(out, without_white(merged));
    } else {
        if (has_system) {
            append(out, format_.system.before);
            append_content(out, system);
            append(out, format_.system.after);
        }
        append_content(out, format_.trim != ChatTrim::none ? without_white(content) : content);
    }
    append(out, turn.after);
}

void Chat::check(const ChatMessage* messages, std::size_t count) const {
    require(count > 0, "a conversation has no messages");
    require(count <= kMostChatMessages, "a conversation has %zu messages, the most are %zu", count,
            kMostChatMessages);
    const std::size_t first = is_role(messages[0], "system") ? 1 : 0;
    for (std::size_t i = 0; i < count; ++i) {
        const ChatMessage& message = messages[i];
        const bool system = is_role(message, "system"), user = is_role(message, "user");
        const int bytes = static_cast<int>(std::min<std::size_t>(message.role.size(), 64));
        require(system || user || is_role(message, "assistant"),
                "message %zu has the role '%.*s'; system, user and assistant are known", i + 1, bytes,
                message.role.data());
        require(!system || format_.system_place != SystemPlace::refused,
                "message %zu is the system's, for which the chat format %s has no place", i + 1,
                format_.name);
        require(!system || i == 0 || format_.system_place == SystemPlace::turn,
                "message %zu is the system's, which the chat format %s has at the beginning alone", i + 1,
                format_.name);
        require(!format_.alternates || i < first || user == ((i - first) % 2 == 0),
                "message %zu is the %s's; in the chat format %s the user and the assistant take turns", i + 1,
                user ? "user" : "assistant", format_.name);
    }
    require(!format_.alternates || count > first, "a conversation has a message of the system alone");
}

Chat::Text Chat::render(const ChatMessage* messages, std::size_t count, bool prompt) const {
    Text out(heap_);
    append(out, format_.begin);
    const bool merges = format_.system_place == SystemPlace::first_user;
    const bool given = is_role(messages[0], "system"), has_system = given || has_system_;
    const std::string_view system = given ? messages[0].content : system_;
    if (!given && has_system && !merges) append_message(out, format_.system, system, {}, false);
    for (std::size_t i = merges && given ? 1 : 0, first = i; i < count; ++i) {
        const ChatTurn& turn = is_role(messages[i], "system") ? format_.system
                               : is_role(messages[i], "user") ? format_.user
                                                              : format_.assistant;
        append_message(out, turn, messages[i].content, system, merges && has_system && i == first);
    }
    if (prompt) append(out, format_.prompt);
    return out;
}

// Whether a control piece, as the tokenizer finds them, would begin or end in a content.
bool Chat::is_forged(const Text& text) const {
    const std::string_view all = text.text;
    auto content = text.contents.begin();
    for (std::size_t at = 0; at < all.size();) {
        const PieceIndex::Match match = control_.longest_prefix(all.substr(at));
        const std::size_t end = at + match.bytes;
        while (content != text.contents.end() && content->end <= at) ++content;
        if (match.id >= 0 && content != text.contents.end() && content->begin < end &&
            content->begin < content->end)
            return true;
        at = match.id >= 0 ? end : at + 1;
    }
    return false;
}

// Pieces of type user are found in every text, so a content that has one of the format's cannot be told from
// it.
void Chat::refuse_user_pieces(const ChatMessage* messages, std::size_t count) const {
    if (user_.empty()) return;
    const auto refuse = [&](const char* mark) {
        if (mark == nullptr || mark[0] <= VOLTA_CHAT_EOS[0] || user_.find(mark) < 0) return;
        for (std::size_t i = 0; i < count; ++i)
            require(messages[i].content.find(mark) == std::string_view::npos,
                    "message %zu contains %s, which the tokenizer does not take as text", i + 1, mark);
    };
    for (const char* mark : format_.marks) refuse(mark);
    refuse(format_.end);
}

void Chat::encode_text(std::string_view text, bool special, std::pmr::vector<std::int32_t>& ids) const {
    if (text.empty()) return;
    EncodeOptions options;
    options.special = special;
    const std::size_t before = ids.size();
    ids.resize(before + text.size() + 5);
    std::size_t count = tokenizer_.encode(text, ids.data() + before, ids.size() - before, options);
    if (count > ids.size() - before) {
        ids.resize(before + count);
        count = tokenizer_.encode(text, ids.data() + before, count, options);
    }
    ids.resize(before + count);
}

std::pmr::vector<std::int32_t> Chat::ids_of(const Text& text) const {
    std::pmr::vector<std::int32_t> ids(heap_);
    if (!is_forged(text)) {
        encode_text(text.text, true, ids);
        return ids;
    }
    // Control pieces of the format alone: what stands between two of them is text, contents included.
    const std::string_view all = text.text;
    std::size_t start = 0;
    auto content = text.contents.begin();
    for (std::size_t at = 0; at < all.size();) {
        while (content != text.contents.end() && content->end <= at) ++content;
        const std::size_t next = content == text.contents.end() ? all.size() : content->begin;
        if (at >= next && content != text.contents.end()) {
            at = content->end;
            continue;
        }
        const PieceIndex::Match match = control_.longest_prefix(all.substr(at, next - at));
        if (match.id >= 0) {
            encode_text(all.substr(start, at - start), false, ids);
            ids.push_back(match.id);
            start = at + match.bytes;
        }
        at += match.id >= 0 ? match.bytes : 1;
    }
    encode_text(all.substr(start), false, ids);
    return ids;
}

ChatTokens Chat::encode(const ChatMessage* messages, std::size_t count, bool prompt) const {
    check(messages, count);
    refuse_user_pieces(messages, count);
    ChatTokens tokens(heap_);
    tokens.ids = ids_of(render(messages, count, prompt));
    tokens.answers.assign(tokens.ids.size(), 0);
    // An answer begins where the tokens with it leave those of its prompt, and ends with the piece that ends
    // it.
    for (std::size_t i = 0; i < count; ++i) {
        if (!is_role(messages[i], "assistant")) continue;
        const std::pmr::vector<std::int32_t> before = ids_of(render(messages, i, true));
        const auto end =
            before.begin() + static_cast<std::ptrdiff_t>(std::min(before.size(), tokens.ids.size()));
        std::size_t at = static_cast<std::size_t>(
            std::mismatch(before.begin(), end, tokens.ids.begin()).first - before.begin());
        for (; at < tokens.ids.size(); ++at) {
            tokens.answers[at] = 1;
            if (tokens.ids[at] == end_) break;
        }
    }
    return tokens;
}

}  // namespace volta
