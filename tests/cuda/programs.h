// The programs that the CUDA C emitter is proven on. Their kernels are written at build time
// (generate_kernels.cpp); the tests make the same list again and find each kernel by its name.
#pragma once

#include <string>
#include <vector>

#include "jitgen/cuda/rows_product_source.h"
#include "jitgen/program.h"

namespace volta::test {

struct NamedProgram {
    std::string name;  // a C identifier
    jit::Program program;
};

// Every row definition of the backend, with each access that its operands may have, and the small programs.
std::vector<NamedProgram> backend_programs();
// The programs of tests/jitgen.
std::vector<NamedProgram> corpus_programs();
// Seeded: 200 short ones and a few that are long.
std::vector<NamedProgram> seeded_programs();

std::vector<NamedProgram> all_programs();

// Product kernels: both tiles in all orders of operands, and some with what follows a product in a model.
struct NamedProduct {
    std::string name;
    jit::ProductForm form;
    bool has_epilogue;
    jit::Program epilogue;  // operand 0 is the product
};
std::vector<NamedProduct> products();

// The same of few rows: both orders of b, all stored types.
struct NamedRowsProduct {
    std::string name;
    jit::RowsProductForm form;
    bool has_epilogue;
    jit::Program epilogue;
};
std::vector<NamedRowsProduct> rows_products();

}  // namespace volta::test
