// Writes docs/operators.md to standard output: print_operators > docs/operators.md
#include <cstdio>

#include "engine/graph/print.h"

int main() {
    const std::pmr::string text = volta::print_operator_table(std::pmr::new_delete_resource());
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
