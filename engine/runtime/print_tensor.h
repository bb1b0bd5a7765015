// A host tensor as NumPy prints an array.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/runtime/session.h"

namespace volta {

// What str(array) gives in NumPy 2.3 and newer, with its default options.
std::pmr::string print_tensor(const TensorView& tensor, std::pmr::memory_resource* heap);

}  // namespace volta
