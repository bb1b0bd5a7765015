// A choice of a product as people read it.
#pragma once

#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {

// The fields that are not the default rule, between spaces; "" for the default.
struct ChoiceText {
    char text[192];
};

// Calls read(char* word) for every word, which it may change. Throws INVALID_ARGUMENT where the text is too
// long for a choice.
template <class Read>
void each_word(const char* choice, Read read) {
    ChoiceText copy;
    require(std::strlen(choice) < sizeof copy.text, "a product's choice of %zu bytes is too long",
            std::strlen(choice));
    std::snprintf(copy.text, sizeof copy.text, "%s", choice);
    for (char *word = copy.text, *end; *word != '\0'; word = end) {
        end = word + std::strcspn(word, " ");
        if (*end != '\0') *end++ = '\0';
        if (*word != '\0') read(word);
    }
}

}  // namespace volta
