// "did you mean": the nearest of the words that would have been right.
#pragma once

#include <string>
#include <vector>

namespace voltac {

// The restricted Damerau-Levenshtein distance: inserted, dropped and changed bytes, and neighbours that
// changed places, of which none is touched twice. Capital letters count as small ones.
std::size_t edit_distance(const std::string& a, const std::string& b);

// The nearest of `words` within a third of the word's length (at least 1), the first of several; "" when none
// is. Dashes before a word do not count.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

// "; did you mean train?", or "".
std::string did_you_mean(const std::string& word, const std::vector<std::string>& words);

}  // namespace voltac
