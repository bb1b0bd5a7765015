// Conversations as the library takes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac {

struct Message {
    std::string role, content;
};

struct ConversationTokens {
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> answers;  // 1: of an answer
};

std::vector<std::string> chat_format_names();

// By the model's format; `whole`: without the beginning of an answer. Stop: the library's sentence.
ConversationTokens chat_tokens(const Model& model, const std::vector<Message>& messages, bool whole = false);

}  // namespace voltac
