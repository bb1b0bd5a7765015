// Golden texts: tests/golden/<name> holds what a printer said when somebody last looked at it. A test
// compares; with VOLTA_UPDATE_GOLDEN=1 in its environment it writes the files instead, for a look at the
// difference in git.
#pragma once

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/cmocka_cpp.h"

namespace volta::test {

// The number of the first line that differs, from 1.
inline int differing_line(std::string_view a, std::string_view b) {
    int line = 1;
    for (std::size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i) line += a[i] == '\n';
    return line;
}

// Tests run in the folder tests/. Fails naming file and line.
inline bool matches_golden(const std::string& name, std::string_view text) {
    const std::string path = "golden/" + name;
    if (const char* update = std::getenv("VOLTA_UPDATE_GOLDEN"); update && *update == '1') {
        std::ofstream(path, std::ios::binary) << text;
        return true;
    }
    std::ifstream file(path, std::ios::binary);
    const std::string expected{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (file && expected == text) return true;
    print_error("%s differs at line %d\n", path.c_str(), differing_line(expected, text));
    return false;
}

}  // namespace volta::test
