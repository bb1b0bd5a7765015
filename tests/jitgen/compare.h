// Runs one program by one lowering and by the oracle, on memory with guards around every operand, and
// compares every word: results, gaps between rows and guards.
#pragma once

#include <string>

#include "jitgen/row_kernel.h"
#include "tests/support/tensors.h"

namespace volta::test {

// How the operands lie in memory.
struct Layout {
    std::int64_t rows, columns;
    std::int64_t row_gap = 0;  // elements between the rows of full operands
    std::int64_t offset = 0;   // elements after a 64-byte boundary where every operand starts
    bool in_place = false;     // full outputs take the memory of full inputs of their type
    bool continue_columns = false;
    std::uint32_t first_row = 0, first_column = 0;
    Data data = Data::binades;
    std::uint64_t seed = 1;
};

struct Difference {
    bool found;
    std::string text;  // operand, element, both words in hex
};

Difference compare(const jit::RowKernel& kernel, const Layout& layout);

}  // namespace volta::test
