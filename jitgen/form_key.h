// What a kernel is compiled for as one number, by which caches of generated code find it.
#pragma once

#include <cstdint>

namespace volta::jit {

// Up to eight fields of a form, each 0 .. 255.
template <class... Fields>
constexpr std::uint64_t form_key(Fields... fields) {
    static_assert(sizeof...(fields) <= 8, "a field has eight bits");
    std::uint64_t key = 0;
    ((key = key << 8 | static_cast<std::uint8_t>(fields)), ...);
    return key;
}

}  // namespace volta::jit
