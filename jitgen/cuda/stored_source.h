// Packed weights (docs/numerics.md, 5) in CUDA C: what embedding look-ups and products read them with.
#pragma once

#include <memory_resource>
#include <string>

namespace volta::jit {

// Follows the prelude of row kernels, once per translation unit.
void append_stored_prelude(std::pmr::string& text);

}  // namespace volta::jit
