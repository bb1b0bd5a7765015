// A shared library that is opened at run time, and its functions. Nothing of CUDA is linked.
#pragma once

#include <cstddef>

#include "engine/base/error.h"

namespace volta::cuda {

// Address of `name` in an opened library. Throws UNSUPPORTED that names what is missing, and `product`.
void* library_symbol(void* library, const char* name, const char* product);

// Opens the first of `names` that is there; the library stays loaded until the process ends, because drivers
// keep threads and handlers of their own. NULL: none could be opened, and `why` says what was tried and what
// the loader said about the first.
void* open_library(const char* const* names, std::size_t count, char* why, std::size_t why_bytes) noexcept;

// One function of a library, with the name that errors tell. Every one returns 0 for success.
template <class... Parameters>
struct LibraryCall {
    using Function = int (*)(Parameters...);

    LibraryCall(void* library, const char* symbol, const char* product)
        : name(symbol), function(reinterpret_cast<Function>(library_symbol(library, symbol, product))) {}

    const char* name;
    Function function;
};

}  // namespace volta::cuda
