#include "engine/backend/cuda/product_choice.h"

#include <cstdio>
#include <cstring>
#include <iterator>

#include "engine/base/error.h"

namespace volta::cuda {
namespace {

constexpr const char* kForms[] = {"rule", "rows", "tiles", "segments"};

ProductForm form_of(const char* name) {
    for (std::size_t i = 0; i < std::size(kForms); ++i)
        if (std::strcmp(name, kForms[i]) == 0) return static_cast<ProductForm>(i);
    fail(VOLTA_INVALID_ARGUMENT, "form is '%s', which is none of rows, tiles and segments", name);
}

void read_word(ProductChoice& choice, const char* word) {
    if (std::strncmp(word, "form=", 5) == 0)
        choice.form = form_of(word + 5);
    else if (std::strcmp(word, "tile=64") == 0)
        choice.tile = 64;
    else if (std::strcmp(word, "tile=128") == 0)
        choice.tile = 128;
    else
        fail(VOLTA_INVALID_ARGUMENT, "a product's choice has no word '%s'", word);
}

}  // namespace

void check(const ProductChoice& choice) {
    require(choice.form <= ProductForm::segments, "form is %d, it must be in 0 .. 3",
            static_cast<int>(choice.form));
    require(choice.tile == 0 || choice.tile == 64 || choice.tile == 128, "tile is %d, it must be 64 or 128",
            choice.tile);
}

ChoiceText to_text(const ProductChoice& choice) {
    ChoiceText text = {};
    char tile[16] = "";
    if (choice.tile != 0) std::snprintf(tile, sizeof tile, "tile=%d", choice.tile);
    const bool has_form = choice.form != ProductForm::rule && choice.form <= ProductForm::segments;
    std::snprintf(text.text, sizeof text.text, "%s%s%s%s", has_form ? "form=" : "",
                  has_form ? kForms[static_cast<int>(choice.form)] : "",
                  has_form && choice.tile != 0 ? " " : "", tile);
    return text;
}

ProductChoice parse_choice(const char* text) {
    ProductChoice choice;
    each_word(text, [&](char* word) { read_word(choice, word); });
    return choice;
}

}  // namespace volta::cuda
