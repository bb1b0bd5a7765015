// What is free about a product on a GPU, as one small value. Zero is the default rule of every field, so
// ProductChoice{} is what runs without tuning. No choice changes a bit of a result (docs/numerics.md, 2).
#pragma once

#include <cstdint>

#include "engine/backend/tuning/choice_text.h"

namespace volta::cuda {

enum class ProductForm : std::uint8_t {
    rule,
    rows,     // B is read once, as a stream, by warps that hold the rows of A: up to 16 of them
    tiles,    // tiles of C, each by one block
    segments  // and the segments of k shared by blocks as well, added in order by a second kernel
};

struct ProductChoice {
    ProductForm form = ProductForm::rule;
    std::int32_t tile = 0;  // rows and columns of a block's tile, of tiles and segments: 64 or 128
};
inline bool operator==(const ProductChoice& x, const ProductChoice& y) {
    return x.form == y.form && x.tile == y.tile;
}

// Throws INVALID_ARGUMENT naming field and value. What a shape cannot do is found by resolve().
void check(const ProductChoice& choice);

// "form=segments tile=64", only the fields that are not the rule.
ChoiceText to_text(const ProductChoice& choice);
// The other way round. Throws INVALID_ARGUMENT naming the word that is none.
ProductChoice parse_choice(const char* text);

}  // namespace volta::cuda
