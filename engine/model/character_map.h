// SentencePiece's precompiled character map: texts of a few characters and what each becomes, as a double
// array of 32-bit units and the texts behind it. It comes from a file, so nothing in it is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace volta {

class CharacterMap final {
  public:
    CharacterMap() = default;  // an empty one
    // Of the bytes as they stand in a file, which the caller keeps: the size of the units, units, texts that
    // end with a zero. Throws CORRUPT_MODEL.
    explicit CharacterMap(std::string_view blob);

    struct Rule {
        std::size_t bytes = 0;  // of the text that it is for; 0: there is none
        std::string_view text;
    };
    Rule longest(std::string_view text) const { return find(text, false); }  // that `text` begins with
    Rule shortest(std::string_view text) const { return find(text, true); }

  private:
    Rule find(std::string_view text, bool first) const;
    bool read(std::size_t place, std::uint32_t* unit) const;

    std::string_view units_, texts_;
};

// As Hugging Face's normalizer Precompiled applies it, which differs from SentencePiece: to clusters of
// characters of up to five bytes, else to each character, by the shortest rule. Stops when `out` has more
// than `most` bytes.
void append_precompiled(const CharacterMap& map, std::string_view text, std::size_t most,
                        std::pmr::string* out);

}  // namespace volta
