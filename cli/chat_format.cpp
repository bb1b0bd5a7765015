#include "cli/chat_format.h"

namespace voltac {

std::vector<std::string> chat_format_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; const char* name = volta_chat_format_name(i); ++i) names.emplace_back(name);
    return names;
}

ConversationTokens chat_tokens(const Model& model, const std::vector<Message>& messages, bool whole) {
    std::vector<volta_chat_message> given;
    std::size_t bytes = 0;
    for (const Message& message : messages) {
        given.push_back({message.role.c_str(), message.content.c_str()});
        bytes += message.content.size() + 64;
    }
    const std::uint32_t flags = whole ? VOLTA_CHAT_WHOLE : 0;
    ConversationTokens tokens;
    for (std::size_t capacity = bytes;;) {  // enough for most, which are encoded once
        tokens.ids.resize(capacity);
        tokens.answers.resize(capacity);
        std::size_t count = 0;
        check(volta_model_encode_chat(model.get(), given.data(), given.size(), flags, tokens.ids.data(),
                                      tokens.answers.data(), capacity, &count));
        const bool fits = count <= capacity;
        capacity = count;
        if (!fits) continue;
        tokens.ids.resize(count);
        tokens.answers.resize(count);
        return tokens;
    }
}

}  // namespace voltac
