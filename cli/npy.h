// NumPy's .npy files: arrays of numbers in C order, little-endian. Files are treated as hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "include/volta.h"

namespace voltac {

// One type of numbers: "<f4" is float32.
struct NpyType {
    const char* code;  // as the header has it, without its byte order
    const char* name;  // as NumPy calls it
    std::size_t bytes;
};

// An array that lies in somebody's memory.
struct NpyView {
    const NpyType* type = nullptr;
    std::vector<std::int64_t> shape;
    const unsigned char* data = nullptr;  // at no particular alignment
    std::int64_t elements = 0;
};

// Versions 1.0 and 2.0 of the format. Failure in one sentence that begins with `name`: it is no such file, is
// of Fortran's order, big-endian or of a type that holds no numbers; or its size is not the header's.
NpyView parse_npy(const std::string& name, const unsigned char* bytes, std::size_t size);

// The elements as `dtype`, VOLTA_F32 or VOLTA_I32, which must be the array's own, or hold its integers.
// Failure otherwise: `what` is for whom, "input 'tokens'".
std::vector<std::uint32_t> npy_elements(const std::string& name, const NpyView& array, volta_dtype dtype,
                                        const std::string& what);

// The file's bytes, version 1.0.
std::string npy_text(volta_dtype dtype, const std::vector<std::int64_t>& shape, const void* data);

std::string shape_text(const std::int64_t* shape, std::size_t rank);  // "[?, 3, 32, 32]", ? for -1

}  // namespace voltac
