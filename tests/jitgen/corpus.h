// Programs as the engine makes them: every function of the contract over one operand, and whole rows
// (softmax, norms, losses, optimizer, dropout, column sums). Tests and the benchmark walk these tables.
#pragma once

#include <memory_resource>
#include <vector>

#include "jitgen/program.h"

namespace volta::test {

struct CorpusRow {
    const char* name;
    void (*build)(jit::Builder& b);
};

// y = f(x) or f(x, 1): operand 0 in, operand 1 out.
const std::vector<CorpusRow>& function_programs();
const std::vector<CorpusRow>& row_programs();
const CorpusRow& find_program(const char* name);  // of either table

jit::Program build(const CorpusRow& row, std::pmr::memory_resource* heap);

}  // namespace volta::test
