#include "cli/suggest.h"

#include <algorithm>

namespace voltac {
namespace {

char small(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string bare(const std::string& word) {
    return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

}  // namespace

std::size_t edit_distance(const std::string& a, const std::string& b) {
    // rows[i % 3][j]: from the first i bytes of a to the first j of b.
    std::vector<std::size_t> rows[3];
    for (std::vector<std::size_t>& row : rows) row.resize(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::vector<std::size_t>&row = rows[i % 3], &above = rows[(i + 2) % 3], &second = rows[(i + 1) % 3];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const char x = small(a[i - 1]), y = small(b[j - 1]);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)});
            if (i > 1 && j > 1 && x == small(b[j - 2]) && small(a[i - 2]) == y)
                row[j] = std::min(row[j], second[j - 2] + 1);
        }
    }
    return rows[a.size() % 3][b.size()];
}

std::string nearest(const std::string& word, const std::vector<std::string>& words) {
    constexpr std::size_t kMostBytes = 256;  // the distance takes time of their product
    const std::string asked = bare(word);
    if (asked.empty() || asked.size() > kMostBytes) return "";
    std::size_t least = std::max<std::size_t>(asked.size(), 3) / 3 + 1;
    std::string found;
    for (const std::string& candidate : words) {
        const std::size_t distance = edit_distance(asked, bare(candidate));
        if (distance >= least) continue;
        least = distance;
        found = candidate;
    }
    return found;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& words) {
    const std::string found = nearest(word, words);
    return found.empty() ? "" : "; did you mean " + found + "?";
}

}  // namespace voltac
