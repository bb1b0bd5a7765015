// Which parameters of a model keep their values in training.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/model/model.h"

namespace volta {

// The places of the parameters that these names and patterns mean, ascending: `*` stands for any characters,
// `?` for one; what is a parameter's name means that one alone. Those that a base lends are among them
// always. Throws INVALID_ARGUMENT: one means none.
std::pmr::vector<std::int32_t> frozen_parameters(const Model& model, const char* const* patterns,
                                                 std::size_t count, std::pmr::memory_resource* heap);

}  // namespace volta
