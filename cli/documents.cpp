#include "cli/documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/chat_format.h"
#include "cli/files.h"
#include "cli/pictures.h"

namespace voltac {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;
constexpr int kMostDepth = 8;

class Reader {
  public:
    Reader(const std::string& path, const Model& model, const Tokenizer& tokenizer)
        : name_(one_line(shown_name(path))),
          model_(model),
          tokenizer_(tokenizer),
          classes_(classes_of(model)) {
        special_ = VOLTA_SPECIAL_IDS_INIT;
        check(volta_tokenizer_special(tokenizer.get(), &special_));
    }

    std::vector<Document> read(const std::string& text) {
        std::vector<Document> documents;
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            ++line_;
            const std::string line = text.substr(begin, end - begin);
            if (line.find_first_not_of(" \t\r") != std::string::npos) documents.push_back(document(line));
            begin = end + 1;
        }
        if (documents.empty()) failure(name_ + ": there is no document in it");
        return documents;
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        failure(formatted("%s:%zu: ", name_.c_str(), line_) + one_line(why));
    }

    // What `body` does; its sentences begin with file and line.
    template <class Body>
    auto at_line(Body body) const {
        try {
            return body();
        } catch (const Stop& stop) {
            refuse(stop.what());
        }
    }

    Json parsed(const std::string& line) const {
        if (line.size() > kMostLineBytes)
            refuse(formatted("a line of %zu bytes, the most are %zu", line.size(), kMostLineBytes));
        bool deep = false;
        const auto watch = [&](int depth, Json::parse_event_t, Json&) {
            deep = deep || depth > kMostDepth;
            return !deep;
        };
        const Json json = Json::parse(line, watch, false);
        if (deep) refuse("it is nested too deep");
        if (json.is_discarded()) refuse("it is no valid JSON");
        if (!json.is_object()) refuse("it is no object of JSON, as {\"prompt\": ..., \"completion\": ...}");
        return json;
    }

    std::string text_of(const Json& object, const char* key, const char* where = "") const {
        const auto found = object.find(key);
        if (found == object.end()) refuse(formatted("%sthere is no \"%s\"", where, key));
        if (!found->is_string()) refuse(formatted("%s\"%s\" is no text", where, key));
        std::string text = found->get<std::string>();
        if (text.find('\0') != std::string::npos) refuse(formatted("%s\"%s\" has a zero byte", where, key));
        return text;
    }

    void expect_keys(const Json& object, const std::vector<std::string>& known) const {
        for (const auto& [key, value] : object.items())
            if (std::find(known.begin(), known.end(), key) == known.end())
                refuse("\"" + key + "\" does not go with \"" + known.front() + "\"");
    }

    Document document(const std::string& line) const {
        const Json json = parsed(line);
        Document document;
        if (json.contains("messages"))
            document = of_messages(json);
        else if (json.contains("prompt") || json.contains("completion"))
            document = of_prompt(json);
        else if (json.contains("label"))
            document = of_label(json);
        else if (json.contains("text"))
            document = of_text(json);
        else
            refuse("it has none of \"prompt\" with \"completion\", \"messages\", \"text\"");
        document.line = line_;
        return document;
    }

    Document of_messages(const Json& json) const {
        expect_keys(json, {"messages"});
        const Json& list = json["messages"];
        if (!list.is_array() || list.empty()) refuse("\"messages\" is no list of messages");
        std::vector<Message> messages;
        for (const Json& item : list) {
            const std::string where = formatted("message %zu: ", messages.size() + 1);
            if (!item.is_object()) refuse(where + "it is no object with \"role\" and \"content\"");
            messages.push_back(
                {text_of(item, "role", where.c_str()), text_of(item, "content", where.c_str())});
        }
        ConversationTokens tokens = at_line([&] { return chat_tokens(model_, messages, true); });
        Document document;
        document.tokens = std::move(tokens.ids);
        document.asked = std::move(tokens.answers);
        return document;
    }

    Document of_prompt(const Json& json) const {
        expect_keys(json, {"prompt", "completion"});
        const std::string prompt = text_of(json, "prompt"), completion = text_of(json, "completion");
        return at_line([&] {
            Document document;
            document.tokens = opened(prompt + completion);
            const std::vector<std::int32_t> before = opened(prompt);
            const std::size_t most = std::min(before.size(), document.tokens.size());
            const auto end = before.begin() + static_cast<std::ptrdiff_t>(most);
            const auto first =
                std::mismatch(before.begin(), end, document.tokens.begin()).first - before.begin();
            document.asked.assign(document.tokens.size(), 0);
            std::fill(document.asked.begin() + first, document.asked.end(), std::uint8_t{1});
            close(document);
            return document;
        });
    }

    Document of_text(const Json& json) const {
        expect_keys(json, {"text"});
        const std::string text = text_of(json, "text");
        return at_line([&] {
            Document document;
            document.tokens = opened(text);
            document.asked.assign(document.tokens.size(), 1);
            close(document);
            return document;
        });
    }

    Document of_label(const Json& json) const {
        expect_keys(json, {"label", "text", "text_pair"});
        const std::string text = text_of(json, "text");
        const std::string pair = json.contains("text_pair") ? text_of(json, "text_pair") : "";
        Document document = at_line([&] {
            Document made;
            made.tokens = encode(tokenizer_, text, true);
            made.segments.assign(made.tokens.size(), 0);
            if (pair.empty()) return made;
            // Behind the first text's end, without another beginning.
            std::vector<std::int32_t> second = encode(tokenizer_, pair, true);
            if (special_.adds_bos && !second.empty()) second.erase(second.begin());
            made.tokens.insert(made.tokens.end(), second.begin(), second.end());
            made.segments.resize(made.tokens.size(), 1);
            return made;
        });
        document.label = label_of(json["label"]);
        return document;
    }

    std::int32_t label_of(const Json& label) const {
        if (label.is_number_integer()) {
            const auto number = label.get<std::int64_t>();
            if (number < 0 || number >= 1 << 20)
                refuse(formatted("the label %lld is no class", static_cast<long long>(number)));
            return static_cast<std::int32_t>(number);
        }
        if (!label.is_string()) refuse("\"label\" is neither a number nor a name");
        const std::string name = label.get<std::string>();
        const auto found = std::find(classes_.begin(), classes_.end(), name);
        if (found == classes_.end()) refuse("the model has no class '" + name + "'");
        return static_cast<std::int32_t>(found - classes_.begin());
    }

    // A text that goes on: what begins one stands before it, and nothing behind.
    std::vector<std::int32_t> opened(const std::string& text) const {
        std::vector<std::int32_t> ids = encode(tokenizer_, text);
        if (special_.adds_bos) ids.insert(ids.begin(), special_.bos);
        return ids;
    }

    // What ends a text is asked for, where the vocabulary has it: the model learns to stop.
    void close(Document& document) const {
        if (special_.eos < 0) return;
        document.tokens.push_back(special_.eos);
        document.asked.push_back(1);
    }

    std::string name_;
    const Model& model_;
    const Tokenizer& tokenizer_;
    std::vector<std::string> classes_;
    volta_special_ids special_;
    std::size_t line_ = 0;
};

}  // namespace

std::vector<Document> read_documents(const std::string& path, const Model& model,
                                     const Tokenizer& tokenizer) {
    return Reader(path, model, tokenizer).read(read_text(path));
}

std::string documents_mark(const std::vector<Document>& documents) {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over all that is learnt
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
    for (const Document& document : documents) {
        add(document.tokens.size());
        for (std::size_t i = 0; i < document.tokens.size(); ++i)
            add(static_cast<std::uint32_t>(document.tokens[i]) * 2u +
                (i < document.asked.size() ? document.asked[i] : 0u));
        add(static_cast<std::uint32_t>(document.label));
    }
    return formatted("%zu documents %016llx", documents.size(), static_cast<unsigned long long>(hash));
}

}  // namespace voltac
