// Is a function of a header, to the machine, what the code declares for itself?
#pragma once

#include <cstddef>
#include <type_traits>

#include "engine/backend/cuda/driver_library.h"

namespace volta::test {

// What a parameter is to the machine: handles and pointers are one kind, enumerations are integers.
template <class T>
using Machine = std::conditional_t<std::is_pointer_v<T>, void*,
                                   std::conditional_t<std::is_enum_v<T> || std::is_integral_v<T>,
                                                      std::integral_constant<std::size_t, sizeof(T)>, T>>;

template <class... Ours, class Result, class... Theirs>
constexpr bool same_interface(cuda::LibraryCall<Ours...>*, Result (*)(Theirs...)) {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs))
        return sizeof(Result) == sizeof(int) && (std::is_same_v<Machine<Ours>, Machine<Theirs>> && ...);
    else
        return false;
}

}  // namespace volta::test
