// Text for people and for programs: any bytes become UTF-8, lines fit a width, numbers have no odd signs.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace voltac {

std::string formatted(const char* format, ...) __attribute__((format(printf, 1, 2)));

std::vector<std::string> cut(const std::string& text,
                             char at);  // at each, which is left out; one part at least

// Names of files and tensors are bytes. U+FFFD stands where they are no UTF-8.
std::string as_utf8(const std::string& text);
// The same on one line: '?' stands for control characters, which would also speak to a terminal.
std::string one_line(const std::string& text);

// One line of JSON, whatever bytes its strings have: the only way out for JSON (tests/cli/test_manners.sh).
std::string json_text(const nlohmann::ordered_json& value);

// For printf: a NaN without its sign, which says nothing.
double unsigned_nan(double value);

// Columns of the terminal that the descriptor is; 80 when it is none.
int columns_of(int descriptor);

// `text` cut at spaces, and lists that are longer at '|', into lines of at most `columns`, each after the
// first behind `indent` spaces; the first begins at column `at`. Line ends within the text stay.
std::string wrapped(const std::string& text, int columns, int indent, int at = 0);

// A list of names and what they mean, as --help shows it: the meanings in a column of their own, below a name
// that is too long for its column.
struct Entry {
    std::string name, meaning;
};
std::string listed(const std::vector<Entry>& entries, int columns);

}  // namespace voltac
