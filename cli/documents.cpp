#include "cli/documents.h"

#include <algorithm>

#include "cli/chat_format.h"
#include "include/volta_data.h"

namespace voltac {
namespace {

using Lines = std::unique_ptr<volta_documents, Release<volta_documents, volta_documents_release>>;

Lines parsed(const std::string& name, const std::string& text) {
    volta_documents* made = nullptr;
    if (volta_documents_parse(one_line(name).c_str(), text.data(), text.size(), nullptr, &made) != VOLTA_OK)
        failure(one_line(volta_data_last_error()));
    return Lines(made);
}

class Reader {
  public:
    Reader(const std::string& name, const Model& model, const Tokenizer& tokenizer,
           const std::vector<std::string>& classes, std::size_t most)
        : name_(one_line(name)), model_(model), tokenizer_(tokenizer), classes_(classes), most_(most) {
        special_ = VOLTA_SPECIAL_IDS_INIT;
        check(volta_tokenizer_special(tokenizer.get(), &special_));
    }

    Document read(const volta_document& line) const {
        try {
            Document document = line.prompt != nullptr     ? of_prompt(line.prompt, line.completion)
                                : line.messages != nullptr ? of_messages(line)
                                : line.label >= 0 || line.label_name != nullptr ? of_label(line)
                                                                                : of_text(line.text);
            document.line = line.line;
            return document;
        } catch (const Stop& stop) {
            failure(formatted("%s:%llu: ", name_.c_str(), static_cast<unsigned long long>(line.line)) +
                    one_line(stop.what()));
        }
    }

  private:
    Document of_messages(const volta_document& line) const {
        std::vector<Message> messages;
        for (std::size_t i = 0; i < line.message_count; ++i)
            messages.push_back({line.messages[i].role, line.messages[i].content});
        ConversationTokens tokens = chat_tokens(model_, messages, true);
        Document document;
        document.tokens = std::move(tokens.ids);
        document.asked = std::move(tokens.answers);
        return document;
    }

    Document of_prompt(const std::string& prompt, const std::string& completion) const {
        Document document;
        document.tokens = opened(prompt + completion);
        const std::vector<std::int32_t> before = opened(prompt);
        const std::size_t most = std::min(before.size(), document.tokens.size());
        const auto end = before.begin() + static_cast<std::ptrdiff_t>(most);
        const auto first = std::mismatch(before.begin(), end, document.tokens.begin()).first - before.begin();
        document.asked.assign(document.tokens.size(), 0);
        std::fill(document.asked.begin() + first, document.asked.end(), std::uint8_t{1});
        close(document);
        return document;
    }

    Document of_text(const std::string& text) const {
        Document document;
        document.tokens = opened(text);
        document.asked.assign(document.tokens.size(), 1);
        close(document);
        return document;
    }

    Document of_label(const volta_document& line) const {
        Document document;
        PairTokens tokens = encode_pair(tokenizer_, line.text, line.text_pair, 0);
        document.is_cut = tokens.ids.size() > most_;
        if (document.is_cut) tokens = encode_pair(tokenizer_, line.text, line.text_pair, most_);
        document.tokens = std::move(tokens.ids);
        document.segments = std::move(tokens.segments);
        document.label = line.label;
        if (line.label_name == nullptr) return document;
        const auto found = std::find(classes_.begin(), classes_.end(), line.label_name);
        if (found == classes_.end()) failure("the model has no class '" + std::string(line.label_name) + "'");
        document.label = static_cast<std::int32_t>(found - classes_.begin());
        return document;
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
    const std::vector<std::string>& classes_;
    std::size_t most_;
    volta_special_ids special_;
};

}  // namespace

std::vector<Document> parse_documents(const std::string& name, const std::string& text, const Model& model,
                                      const Tokenizer& tokenizer, const std::vector<std::string>& classes,
                                      std::size_t most) {
    const Lines lines = parsed(name, text);
    const Reader reader(name, model, tokenizer, classes, most);
    std::vector<Document> documents;
    for (std::uint64_t i = 0; i < volta_documents_count(lines.get()); ++i) {
        volta_document line = VOLTA_DOCUMENT_INIT;
        if (volta_documents_get(lines.get(), i, &line) != VOLTA_OK) failure(volta_data_last_error());
        documents.push_back(reader.read(line));
    }
    return documents;
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
