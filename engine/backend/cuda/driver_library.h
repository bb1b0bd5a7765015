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

// A library of the toolkit, in the order CUDA 13, CUDA 12, unversioned; the first is left out where the
// driver is older than it: its code would not load. `driver_version` as the driver counts (12040: 12.4), 0:
// any will do. Throws UNSUPPORTED "<what>: none of ... can be opened".
void* open_toolkit_library(const char* const (&names)[3], int driver_version, const char* what);
// For the unversioned name. Throws UNSUPPORTED "<what> 13.0 is too new for the driver, ...".
void require_not_newer(const char* what, int version, int driver_version);

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
