// The one file of this folder that knows the JSON parser.
#include "data/documents.h"

#include <algorithm>
#include <cmath>
#include <string>

#define JSON_ASSERT(condition) static_cast<void>(0)  // a library never ends the process
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/new_scope.h"

namespace volta::data {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLineBytes = std::size_t{16} << 20, kMostMessages = 4096;
constexpr int kMostDepth = 4;
constexpr std::int64_t kMostLabel = 1 << 20;
constexpr int kShownBytes = 40;  // of a name that the file says

class Line {
  public:
    Line(const char* name, std::uint64_t number, std::pmr::memory_resource* heap)
        : name_(name), number_(number), heap_(heap) {}

    Document read(std::string_view line) const {
        if (line.size() > kMostLineBytes)
            refuse("it has %zu bytes, the most are %zu", line.size(), kMostLineBytes);
        const NewScope parser(heap_);
        const Json json = parsed(line);
        Document document(heap_);
        document.line = number_;
        if (json.contains("messages"))
            read_messages(json, document);
        else if (json.contains("prompt") || json.contains("completion"))
            read_prompt(json, document);
        else if (json.contains("text"))
            read_text(json, document);
        else
            refuse("it has none of \"prompt\" with \"completion\", \"messages\", \"text\"");
        return document;
    }

  private:
    template <class... Args>
    [[noreturn]] void refuse(const char* format, Args... args) const {
        char text[256];
        std::snprintf(text, sizeof text, format, args...);
        fail(VOLTA_CORRUPT_MODEL, "%s:%llu: %s", name_, static_cast<unsigned long long>(number_), text);
    }
    [[noreturn]] void refuse(const char* text) const {
        fail(VOLTA_CORRUPT_MODEL, "%s:%llu: %s", name_, static_cast<unsigned long long>(number_), text);
    }

    Json parsed(std::string_view line) const {
        bool deep = false;
        const auto watch = [&](int depth, Json::parse_event_t, Json&) {
            deep = deep || depth > kMostDepth;
            return !deep;
        };
        Json json = Json::parse(line.begin(), line.end(), watch, false);
        if (deep) refuse("it is nested too deep");
        if (json.is_discarded()) refuse("it is no valid JSON");
        if (!json.is_object()) refuse("it is no object of JSON, as {\"prompt\": ..., \"completion\": ...}");
        return json;
    }

    // For a message that is shown: one line, cut.
    static std::string shown(const std::string& text) {
        std::string out = text.substr(0, kShownBytes);
        for (char& c : out)
            if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
        return out;
    }

    void take_text(const Json& object, const char* key, const char* where, Text& out) const {
        const auto found = object.find(key);
        if (found == object.end()) refuse("%sthere is no \"%s\"", where, key);
        if (!found->is_string()) refuse("%s\"%s\" is no text", where, key);
        const auto& text = found->get_ref<const std::string&>();
        if (text.find('\0') != text.npos) refuse("%s\"%s\" has a zero byte", where, key);
        out.assign(text.data(), text.size());
    }

    void expect_keys(const Json& object, std::initializer_list<const char*> known) const {
        for (auto at = object.begin(); at != object.end(); ++at)
            if (std::none_of(known.begin(), known.end(), [&](const char* key) { return at.key() == key; }))
                refuse("\"%s\" does not go with \"%s\"", shown(at.key()).c_str(), *known.begin());
    }

    void read_prompt(const Json& json, Document& document) const {
        document.kind = Document::Kind::prompt;
        expect_keys(json, {"prompt", "completion"});
        take_text(json, "prompt", "", document.prompt);
        take_text(json, "completion", "", document.completion);
    }

    void read_messages(const Json& json, Document& document) const {
        document.kind = Document::Kind::messages;
        expect_keys(json, {"messages"});
        const Json& list = *json.find("messages");
        if (!list.is_array() || list.empty()) refuse("\"messages\" is no list of messages");
        if (list.size() > kMostMessages)
            refuse("it has %zu messages, the most are %zu", list.size(), kMostMessages);
        document.messages.reserve(list.size());
        for (const Json& item : list) {
            char where[32];
            std::snprintf(where, sizeof where, "message %zu: ", document.messages.size() + 1);
            if (!item.is_object()) refuse("%sit is no object with \"role\" and \"content\"", where);
            Message message{Text(heap_), Text(heap_)};
            take_text(item, "role", where, message.role);
            take_text(item, "content", where, message.content);
            document.messages.push_back(std::move(message));
        }
    }

    void read_text(const Json& json, Document& document) const {
        take_text(json, "text", "", document.text);
        const auto label = json.find("label");
        if (label == json.end()) return expect_keys(json, {"text"});
        document.kind = Document::Kind::label;
        expect_keys(json, {"label", "text", "text_pair"});
        document.has_pair = json.contains("text_pair");
        if (document.has_pair) take_text(json, "text_pair", "", document.pair);
        document.has_label_name = label->is_string();
        if (document.has_label_name) return take_text(json, "label", "", document.label_name);
        if (!label->is_number_integer()) refuse("\"label\" is neither a whole number nor a name");
        const bool large =
            label->is_number_unsigned() && label->get<std::uint64_t>() > std::uint64_t{kMostLabel};
        const std::int64_t number = large ? kMostLabel : label->get<std::int64_t>();
        if (number < 0 || number >= kMostLabel) refuse("\"label\" is no number of a class");
        document.label = static_cast<std::int32_t>(number);
    }

    const char* name_;
    std::uint64_t number_;
    std::pmr::memory_resource* heap_;
};

}  // namespace

Documents parse_documents(const char* name, std::string_view text, std::pmr::memory_resource* heap) {
    Documents documents(heap);
    std::uint64_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        ++number;
        if (line.find_first_not_of(" \t\r") != line.npos)
            documents.push_back(Line(name, number, heap).read(line));
        begin = end + 1;
    }
    if (documents.empty()) fail(VOLTA_CORRUPT_MODEL, "%s: there is no document in it", name);
    for (Document& document : documents)  // where they stay
        for (const Message& message : document.messages)
            document.views.push_back({message.role.c_str(), message.content.c_str()});
    return documents;
}

}  // namespace volta::data
