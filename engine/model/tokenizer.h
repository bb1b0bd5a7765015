// Text to ids and back. A tokenizer is a vocabulary and an integer algorithm: no floats, no locale.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace volta {

enum class TokenizerKind : std::uint8_t { byte = 1, character = 2 };  // written to files: never renumbered
const char* tokenizer_kind_name(TokenizerKind kind);                  // "byte", "char"

class Tokenizer final {
  public:
    explicit Tokenizer(std::pmr::memory_resource* heap) : pieces_(heap) {}
    static Tokenizer make_byte(std::pmr::memory_resource* heap);
    // The sorted distinct code points of a UTF-8 text. Throws INVALID_ARGUMENT: empty, or not UTF-8 (with
    // offset).
    static Tokenizer make_character(std::string_view text, std::pmr::memory_resource* heap);
    // From a file's pieces, in id order. Throws CORRUPT_MODEL unless they are what make_* could have made.
    static Tokenizer from_pieces(TokenizerKind kind, const std::pmr::vector<std::pmr::string>& pieces,
                                 std::pmr::memory_resource* heap);
    Tokenizer(const Tokenizer& other, std::pmr::memory_resource* heap);
    Tokenizer(Tokenizer&&) = default;
    Tokenizer& operator=(Tokenizer&&) = default;
    Tokenizer(const Tokenizer&) = delete;  // a copy says on which heap
    Tokenizer& operator=(const Tokenizer&) = delete;

    TokenizerKind kind() const { return kind_; }
    std::int32_t size() const { return static_cast<std::int32_t>(pieces_.size()); }
    const std::pmr::vector<std::pmr::string>& pieces() const { return pieces_; }
    std::string_view piece(std::int32_t id) const;  // throws INVALID_ARGUMENT for an id outside [0, size)

    // Writes at most `capacity` ids and returns how many there are in all. Throws INVALID_ARGUMENT naming the
    // character ('é' U+00E9) and its byte offset when the vocabulary lacks it.
    std::size_t encode(std::string_view text, std::int32_t* ids, std::size_t capacity) const;

  private:
    // The id of the piece that is the character `text`; -1: none.
    std::int32_t find_character(std::string_view text) const;
    void index_ascii();

    TokenizerKind kind_ = TokenizerKind::byte;
    std::pmr::vector<std::pmr::string> pieces_;  // of characters: ascending by code point, which is by bytes
    std::array<std::int32_t, 128> ascii_{};      // of characters: id of each ASCII one, -1: none
};

}  // namespace volta
