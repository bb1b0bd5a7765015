// Chat: how the messages of a conversation become tokens. A format is a row of a table; what names a format
// in a file of another program is engine/import/chat_template.h's.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/piece_index.h"
#include "engine/model/tokenizer.h"

namespace volta {

// Metadata of a model.
inline constexpr char kChatFormatKey[] = "volta.chat.format";    // the name of a row
inline constexpr char kChatSystemKey[] = "volta.chat.system";    // what the system says where no message does
inline constexpr char kChatRefusedKey[] = "volta.chat.refused";  // why the template that came has no format

// In the texts of a format: the tokenizer's pieces that begin and end a text.
#define VOLTA_CHAT_BOS "\1"
#define VOLTA_CHAT_EOS "\2"

// What stands around the content of a message.
struct ChatTurn {
    const char *before, *after;
};

enum class SystemPlace { turn, first_user, refused };
enum class ChatTrim {
    none,
    contents,  // white space around each content
    merged     // around what stands between a turn's texts, the system's part included
};

struct ChatFormat {
    const char* name;
    const char* begin;  // before everything
    ChatTurn system, user, assistant;
    const char* prompt;    // begins an answer
    const char* end;       // the piece that ends one
    const char* marks[3];  // pieces that the tokenizer must have, beside `end`; NULL: none
    SystemPlace system_place;
    ChatTrim trim;
    bool alternates;             // user, assistant, user ...
    const char* system_default;  // NULL: nothing is said
};

const ChatFormat* find_chat_format(std::string_view name);  // NULL: there is none of this name
const ChatFormat* chat_format(std::size_t index);           // in the table's order; NULL: past its end
std::pmr::string chat_format_names(std::pmr::memory_resource* heap);  // "chatml, llama2, ..."

struct ChatMessage {
    std::string_view role, content;
};

inline constexpr std::size_t kMostChatMessages = 4096;

struct ChatTokens {
    explicit ChatTokens(std::pmr::memory_resource* heap) : ids(heap), answers(heap) {}
    std::pmr::vector<std::int32_t> ids;
    std::pmr::vector<std::uint8_t> answers;  // 1: of an answer, the piece that ends it included
};

// A format with the tokenizer that it is for.
class Chat final {
  public:
    // `system`: instead of the format's own default; NULL: that one. Throws UNSUPPORTED naming a piece that
    // the tokenizer lacks.
    Chat(const ChatFormat& format, const Tokenizer& tokenizer, const char* system,
         std::pmr::memory_resource* heap);
    // With `prompt`, the beginning of an answer is last. Special pieces in a content are text. Throws
    // INVALID_ARGUMENT naming a role, an order of roles, or a content that cannot be told from the format.
    ChatTokens encode(const ChatMessage* messages, std::size_t count, bool prompt) const;
    std::int32_t end() const { return end_; }  // id

  private:
    struct Span {
        std::size_t begin, end;
    };
    struct Text {  // of a conversation, and where its contents are
        explicit Text(std::pmr::memory_resource* heap) : text(heap), contents(heap) {}
        std::pmr::string text;
        std::pmr::vector<Span> contents;
    };
    std::int32_t whole_piece(std::string_view text) const;  // -1: none
    void append(Text& out, const char* literal) const;
    void append_content(Text& out, std::string_view content) const;
    void append_message(Text& out, const ChatTurn& turn, std::string_view content, std::string_view system,
                        bool has_system) const;
    void check(const ChatMessage* messages, std::size_t count) const;
    Text render(const ChatMessage* messages, std::size_t count, bool prompt) const;
    bool is_forged(const Text& text) const;
    void refuse_user_pieces(const ChatMessage* messages, std::size_t count) const;
    void encode_text(std::string_view text, bool special, std::pmr::vector<std::int32_t>& ids) const;
    std::pmr::vector<std::int32_t> ids_of(const Text& text) const;

    const ChatFormat& format_;
    const Tokenizer& tokenizer_;
    std::string_view system_;
    bool has_system_;
    PieceIndex control_, user_;
    std::int32_t end_;
    std::pmr::memory_resource* heap_;
};

}  // namespace volta
