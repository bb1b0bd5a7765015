// The chat template of another program, a text of jinja, as one of the formats of engine/model/chat.h. A
// template is not run: it is recognised by the texts that it is made of.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>

#include "engine/model/chat.h"
#include "engine/model/model.h"

namespace volta {

inline constexpr std::size_t kMostTemplateBytes = std::size_t{1} << 20;

struct ChatTemplate {
    explicit ChatTemplate(std::pmr::memory_resource* heap) : said(heap), refused(heap) {}
    const ChatFormat* format = nullptr;  // NULL: none is recognised
    bool has_system = false;             // the template says itself what the system says
    std::pmr::string said, refused;      // said: that; refused: why, where there is no format
};

// Never throws for what the text says.
ChatTemplate read_chat_template(std::string_view jinja, std::pmr::memory_resource* heap);

// The template in the folder of `path`: chat_template.jinja, else "chat_template" of tokenizer_config.json.
// "" where there is none, or several. Throws IO_ERROR, CORRUPT_MODEL.
std::pmr::string find_chat_template(std::string_view path, std::pmr::memory_resource* heap);

// A template that writes the format, and is recognised as it. `system`: as Chat takes it.
std::pmr::string write_chat_template(const ChatFormat& format, const char* system,
                                     std::pmr::memory_resource* heap);

// Its format, or why there is none, in the model's metadata.
void describe_chat(std::string_view jinja, Model& model);

}  // namespace volta
