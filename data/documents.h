// Lines of JSON that a model is fine-tuned on: what each says, as texts. Tokens are the host's business.
#pragma once

#include <string_view>
#include <vector>

#include "data/data_set.h"

namespace volta::data {

struct Message {
    Text role, content;
};

// What a line has: a prompt with its completion, messages, or a text, perhaps with a pair and a label.
struct Document {
    explicit Document(std::pmr::memory_resource* heap)
        : prompt(heap),
          completion(heap),
          text(heap),
          pair(heap),
          label_name(heap),
          messages(heap),
          views(heap) {}
    enum class Kind { prompt, messages, text, label } kind = Kind::text;
    bool has_pair = false, has_label_name = false;
    Text prompt, completion, text, pair, label_name;
    std::int32_t label = -1;
    std::pmr::vector<Message> messages;
    std::pmr::vector<volta_chat_message> views;  // of messages
    std::uint64_t line = 0;
};

using Documents = std::pmr::vector<Document>;

// CORRUPT_MODEL "<name>:<line>: ..." for a line that is no document, or "<name>: ..." where there is none.
Documents parse_documents(const char* name, std::string_view text, std::pmr::memory_resource* heap);

}  // namespace volta::data
