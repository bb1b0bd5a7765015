// Pieces that are found whole in a text: at each place the longest, from left to right, and with the white
// space around them that they take.
#pragma once

#include <bitset>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/piece_index.h"
#include "engine/model/vocabulary.h"

namespace volta {

class AddedPieces final {
  public:
    explicit AddedPieces(const Vocabulary& vocabulary)
        : vocabulary_(vocabulary), texts_(vocabulary.heap()), index_(vocabulary.heap()) {}
    void add(std::pmr::string&& text, std::int32_t id);
    void finish();
    const std::pmr::vector<std::pair<std::pmr::string, std::int32_t>>& texts() const {
        return texts_;
    }  // ascending by id

    // Visit: void(std::string_view stretch, std::int32_t id): all of the text, in its order; id -1: no piece.
    // With `special` false, control pieces are no pieces.
    template <class Visit>
    void each_stretch(std::string_view text, bool special, const Visit& visit) const {
        std::size_t done = 0;
        Found found{-1, 0, 0};
        for (std::size_t at = 0; find(text, special, done, &at, &found);) {
            if (done < found.begin) visit(text.substr(done, found.begin - done), -1);
            visit(text.substr(found.begin, found.end - found.begin), found.id);
            done = found.end;
        }
        if (done < text.size()) visit(text.substr(done), -1);
    }

  private:
    struct Found {
        std::int32_t id;
        std::size_t begin, end;
    };
    bool find(std::string_view text, bool special, std::size_t done, std::size_t* at, Found* found) const;
    bool is_wanted(std::string_view text, bool special, const Found& found) const;

    const Vocabulary& vocabulary_;
    std::pmr::vector<std::pair<std::pmr::string, std::int32_t>> texts_;
    PieceIndex index_;
    std::bitset<256> starts_;  // the bytes that they begin with
};

}  // namespace volta
