#include "engine/model/piece_texts.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/normaliser.h"
#include "engine/model/text.h"

namespace volta {
namespace {

struct Cleaning {
    std::string_view from, to;
};
// What is written without a space before it.
constexpr Cleaning kCleanings[] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                   {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                   {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

class Decoder final {
  public:
    explicit Decoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
        if (vocabulary.decoders.size() > kMostSteps)
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer has %zu decoders, more than %zu",
                 vocabulary.decoders.size(), kMostSteps);
        bool fused = false;
        for (std::size_t i = 0; i < vocabulary.decoders.size(); ++i) {
            check(vocabulary.decoders[i], i, fused);
            fused = fused || kind(vocabulary.decoders[i]) == DecoderKind::fuse;
        }
    }

    std::pmr::string decode(std::int32_t id, std::string_view piece, bool first) const {
        std::pmr::string text(piece, vocabulary_.heap());
        bool fused = false;
        for (const TextStep& step : vocabulary_.decoders) {
            fused = fused || kind(step) == DecoderKind::fuse;
            apply(step, id, first, fused, &text);
            if (text.size() > kLeastRoom + kMostGrowth * piece.size())
                fail(VOLTA_CORRUPT_MODEL, "the text of piece %d of its tokenizer has %zu bytes", id,
                     text.size());
        }
        return text;
    }

  private:
    static DecoderKind kind(const TextStep& step) { return static_cast<DecoderKind>(step.kind); }

    static void check(const TextStep& step, std::size_t place, bool fused) {
        const DecoderKind is = kind(step);
        if (step.kind == 0 || step.kind > kLastDecoder)
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer has a decoder of the unknown kind %d", step.kind);
        const bool one = read_one(step.first);
        const bool texts =
            is == DecoderKind::replace || is == DecoderKind::strip || is == DecoderKind::metaspace;
        if (texts && step.first.empty())
            fail(VOLTA_CORRUPT_MODEL, "a decoder of its tokenizer looks for nothing");
        if (step.second.size() > kMostPartBytes)
            fail(VOLTA_CORRUPT_MODEL, "a decoder of its tokenizer writes %zu bytes", step.second.size());
        const std::uint32_t before = step.number & 0xffff, behind = step.number >> 16;
        if (is == DecoderKind::bytes && place > 0)
            fail(VOLTA_CORRUPT_MODEL, "the decoder of bytes is not the first of its tokenizer");
        // A result that would depend on the pieces beside one.
        const bool lone = (is == DecoderKind::strip && before <= 1 && behind == 0 && one) ||
                          (is == DecoderKind::replace && one) || is == DecoderKind::fuse;
        if (fused && !lone)
            fail(VOLTA_CORRUPT_MODEL, "a decoder of its tokenizer, of kind %d, looks at more than one piece",
                 step.kind);
    }

    static bool read_one(std::string_view text) {
        return !text.empty() && read_character(text, 0).bytes == text.size();
    }

    void apply(const TextStep& step, std::int32_t id, bool first, bool fused, std::pmr::string* text) const {
        switch (kind(step)) {
            case DecoderKind::bytes:
                return decode_bytes(id, text);
            case DecoderKind::replace:
                return replace(step.first, step.second, text);
            case DecoderKind::byte_pieces: {
                const int byte = byte_of_piece(*text);
                if (byte >= 0) text->assign(1, static_cast<char>(byte));
                return;
            }
            case DecoderKind::fuse:
                return;
            case DecoderKind::strip:
                if (!fused || first) strip(step, text);
                return;
            case DecoderKind::metaspace: {
                const bool drop = first && step.number != static_cast<std::uint32_t>(PrependScheme::never);
                return replace(step.first, drop ? "" : " ", text);
            }
            case DecoderKind::wordpiece:
                return decode_wordpiece(step, first, text);
            case DecoderKind::spaces:
                if (!first) text->insert(0, " ");
                return;
        }
    }

    // Of pieces that are raw already, those that are found whole are written in letters, or as they are.
    void decode_bytes(std::int32_t id, std::pmr::string* text) const {
        if (vocabulary_.options.has(kBytePieces) && vocabulary_.type(id) == PieceType::normal) return;
        std::pmr::string raw(vocabulary_.heap());
        if (append_raw_bytes(*text, &raw)) *text = std::move(raw);
    }

    void replace(std::string_view from, std::string_view to, std::pmr::string* text) const {
        std::pmr::string out(vocabulary_.heap());
        append_replaced(*text, from, to, &out);
        *text = std::move(out);
    }

    static void strip(const TextStep& step, std::pmr::string* text) {
        const std::string_view part = step.first;
        for (std::uint32_t n = step.number & 0xffff; n > 0 && starts_with(*text, part); --n)
            text->erase(0, part.size());
        for (std::uint32_t n = step.number >> 16; n > 0 && text->size() >= part.size(); --n) {
            if (text->compare(text->size() - part.size(), part.size(), part) != 0) break;
            text->resize(text->size() - part.size());
        }
    }

    void decode_wordpiece(const TextStep& step, bool first, std::pmr::string* text) const {
        if (!first && !step.first.empty() && starts_with(*text, step.first))
            text->erase(0, step.first.size());
        else if (!first)
            text->insert(0, " ");
        if (step.number == 0) return;
        for (const Cleaning& row : kCleanings) replace(row.from, row.to, text);
    }

    static constexpr std::size_t kMostPartBytes = 256, kMostGrowth = 64, kLeastRoom = 1 << 12;
    const Vocabulary& vocabulary_;
};

}  // namespace

PieceTexts make_piece_texts(const Vocabulary& vocabulary,
                            const std::pmr::vector<std::pair<std::pmr::string, std::int32_t>>& other) {
    PieceTexts made(vocabulary.heap());
    const Decoder decoder(vocabulary);
    auto next = other.begin();
    made.texts.reserve(vocabulary.pieces.size());
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        if (vocabulary.type(id) == PieceType::control) {
            made.texts.emplace_back();
            continue;
        }
        while (next != other.end() && next->second < id) ++next;
        const bool is_other = next != other.end() && next->second == id;
        const std::string_view piece =
            is_other ? next->first : vocabulary.pieces[static_cast<std::size_t>(id)];
        std::pmr::string first = decoder.decode(id, piece, true);
        made.texts.push_back(decoder.decode(id, piece, false));
        if (first != made.texts.back()) made.firsts.emplace_back(id, std::move(first));
    }
    return made;
}

int byte_of_piece(std::string_view piece) {
    if (piece.size() != 6 || piece.substr(0, 3) != "<0x" || piece[5] != '>') return -1;
    int value = 0;
    for (const char c : piece.substr(3, 2)) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

}  // namespace volta
