// NumPy's .npy files: a header that is the text of a Python dictionary, then the elements of one array.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <string>

#include "engine/import/stored_array.h"

namespace volta {

// Versions 1.0, 2.0 and 3.0 of the format; the array has no name and lies in `bytes`. Throws CORRUPT_MODEL
// with what is wrong; UNSUPPORTED: another version, records, a type that is not known, more than 8 axes.
StoredArray parse_npy(const unsigned char* bytes, std::size_t size, std::pmr::memory_resource* heap);

// All that stands before the elements, version 1.0; they follow at a multiple of 64 bytes.
std::pmr::string npy_header(DType dtype, const Shape& shape, std::pmr::memory_resource* heap);

}  // namespace volta
