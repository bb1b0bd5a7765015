// A choice of a product as people read it.
#pragma once

namespace volta {

// The fields that are not the default rule, "" for the default.
struct ChoiceText {
    char text[192];
};

}  // namespace volta
