// volta.h: chat.
#include <algorithm>
#include <vector>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/model/chat.h"

using namespace volta;
using namespace volta::api;

namespace {

const Tokenizer& tokenizer_of(const Model& model) {
    if (!model.tokenizer) fail(VOLTA_INVALID_STATE, "the model carries no tokenizer, so it cannot chat");
    return *model.tokenizer;
}

const ChatFormat& format_of(const Model& model) {
    if (const std::pmr::string* const name = model.find_metadata(kChatFormatKey)) {
        const ChatFormat* const format = find_chat_format(*name);
        if (format == nullptr)
            fail(VOLTA_UNSUPPORTED, "the model's chat format, '%.64s', is not known; there are %s",
                 name->c_str(), chat_format_names(model.structures()).c_str());
        return *format;
    }
    if (const std::pmr::string* const refused = model.find_metadata(kChatRefusedKey))
        fail(VOLTA_UNSUPPORTED, "the chat template that came with the model is not known: %s",
             refused->c_str());
    fail(VOLTA_UNSUPPORTED, "the model has no chat format; there are %s",
         chat_format_names(model.structures()).c_str());
}

Chat chat_of(const Model& model) {
    const std::pmr::string* const system = model.find_metadata(kChatSystemKey);
    return Chat(format_of(model), tokenizer_of(model), system != nullptr ? system->c_str() : nullptr,
                model.structures());
}

}  // namespace

const char* volta_chat_format_name(size_t index) {
    const ChatFormat* const format = chat_format(index);
    return format != nullptr ? format->name : nullptr;
}

volta_status volta_model_set_chat_format(volta_model* model, const char* name, const char* system) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(name != nullptr || system == nullptr, "system is given, but no name");
        Model& of = *model->model;
        if (name != nullptr) {
            const ChatFormat* const format = find_chat_format(name);
            require(format != nullptr, "there is no chat format '%.64s'; there are %s", name,
                    chat_format_names(of.structures()).c_str());
            Chat(*format, tokenizer_of(of), system, of.structures());  // or it says what is missing
        }
        of.set_metadata(kChatSystemKey, system);  // the one that may fail
        of.set_metadata(kChatFormatKey, name);
        of.set_metadata(kChatRefusedKey, nullptr);
    });
}

volta_status volta_model_get_chat_end(const volta_model* model, int32_t* out_id) {
    if (out_id != nullptr) *out_id = -1;
    return guarded([&] {
        require(model != nullptr && out_id != nullptr, "%s is NULL", model == nullptr ? "model" : "out_id");
        *out_id = chat_of(*model->model).end();
    });
}

volta_status volta_model_encode_chat(const volta_model* model, const volta_chat_message* messages,
                                     size_t count, uint32_t flags, int32_t* ids, uint8_t* answers,
                                     size_t capacity, size_t* out_count) {
    if (out_count != nullptr) *out_count = 0;
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(messages != nullptr && count > 0, "messages is NULL, or there are none");
        require(count <= kMostChatMessages, "a conversation has %zu messages, the most are %zu", count,
                kMostChatMessages);
        require(out_count != nullptr, "out_count is NULL");
        require(ids != nullptr || capacity == 0, "ids is NULL and capacity is %zu", capacity);
        require((flags & ~static_cast<std::uint32_t>(VOLTA_CHAT_WHOLE)) == 0,
                "flags are 0x%x, which has unknown bits", static_cast<unsigned>(flags));
        std::pmr::vector<ChatMessage> given(model->model->structures());
        given.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            require(messages[i].role != nullptr && messages[i].content != nullptr,
                    "message %zu has a NULL %s", i + 1, messages[i].role == nullptr ? "role" : "content");
            given.push_back({messages[i].role, messages[i].content});
        }
        const ChatTokens tokens =
            chat_of(*model->model).encode(given.data(), count, (flags & VOLTA_CHAT_WHOLE) == 0);
        const std::size_t written = std::min(capacity, tokens.ids.size());
        std::copy_n(tokens.ids.begin(), written, ids);
        if (answers != nullptr) std::copy_n(tokens.answers.begin(), written, answers);
        *out_count = tokens.ids.size();
    });
}
