// BERT's vocab.txt: a piece a line, its number the id.
#include "engine/base/error.h"
#include "engine/import/tokenizer_files.h"
#include "engine/model/text.h"

namespace volta {

void name_bert_pieces(Vocabulary& vocabulary, std::string_view unknown, bool lower_case) {
    TokenizerOptions& options = vocabulary.options;
    vocabulary.kind = TokenizerKind::wordpiece;
    const struct {
        std::string_view name;
        PieceType type;
        std::int32_t* id;
    } special[] = {{unknown, PieceType::unknown, &options.unk},
                   {"[CLS]", PieceType::control, &options.bos},
                   {"[SEP]", PieceType::control, &options.eos},
                   {"[PAD]", PieceType::control, &options.pad},
                   {"[MASK]", PieceType::control, nullptr}};
    vocabulary.types.resize(vocabulary.pieces.size(), PieceType::normal);
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id)
        for (const auto& row : special) {
            if (vocabulary.pieces[id] != row.name) continue;
            vocabulary.types[id] = row.type;
            if (row.id != nullptr) *row.id = static_cast<std::int32_t>(id);
            break;
        }
    options.flags = 0;
    if (lower_case) options.flags |= kLowerCase;
    if (options.bos >= 0) options.flags |= kAddBos;
    if (options.eos >= 0) options.flags |= kAddEos;
    options.most_word_characters = kMostBertWordCharacters;
}

Tokenizer read_bert_tokenizer(std::string_view lines, bool lower_case, std::pmr::memory_resource* heap) {
    Vocabulary vocabulary(heap);
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty()) fail(VOLTA_CORRUPT_MODEL, "line %zu of it is empty", vocabulary.pieces.size() + 1);
        vocabulary.pieces.emplace_back(line);
    }
    name_bert_pieces(vocabulary, "[UNK]", lower_case);
    return Tokenizer::from_vocabulary(std::move(vocabulary));
}

}  // namespace volta
