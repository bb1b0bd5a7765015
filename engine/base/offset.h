// Offsets of operands that may be absent. NULL and an offset is undefined, even where nothing is read behind
// it.
#pragma once

#include <cstdint>

namespace volta {

// Of an operand that is absent: NULL.
template <class T>
constexpr T* offset(T* operand, std::int64_t elements) noexcept {
    return operand != nullptr ? operand + elements : nullptr;
}

}  // namespace volta
