// Why a product is computed as it is: the machine, the rules that applied and those that did not, and the
// schedule.
#pragma once

#include <string>

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

// Lines of text about what compile_product() would do.
void explain_product(const ProductShape& shape, const CompileContext& context, std::pmr::string& text);

}  // namespace volta::cpu
