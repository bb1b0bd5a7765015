#pragma once

#include <cstdint>

namespace volta {

// Which of the orders that a graph allows: its own, or the one that needs less memory, where one is found
// that does.
enum class StepOrder : std::uint8_t { graph, memory };

}  // namespace volta
