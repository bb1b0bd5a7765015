// An array as a file of tensors holds it, and the f32 or i32 tensor that it becomes: exactly, or not at all.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>

#include "engine/base/memory.h"
#include "engine/base/shape.h"

namespace volta {

enum class ElementKind : std::uint8_t { real, integer, natural, truth };

struct ElementType {
    const char* name;         // as NumPy calls it: "float32"
    const char* npy;          // in a .npy file, without the byte order: "f4"; "": NumPy has no such type
    const char* safetensors;  // "F32"
    ElementKind kind;
    std::uint32_t bytes;
    double (*real)(std::uint64_t bits);  // of a real one; else NULL
};
// NULL: not known.
const ElementType* find_npy_type(std::string_view code);
const ElementType* find_safetensors_type(std::string_view name);

struct StoredArray {
    std::pmr::string name;
    const ElementType* type = nullptr;
    Shape shape = {};
    const unsigned char* data = nullptr;  // all of them are there, at any address
    bool is_big_endian = false;
    bool is_fortran = false;  // the first axis is the one whose elements are neighbours
};

// The bytes of such an array, or true when they are more than 2^62.
bool stored_array_overflows(const ElementType& type, const Shape& shape, std::uint64_t* bytes);

// A tensor of the host.
struct HostArray {
    std::pmr::string name;
    DType dtype = DType::f32;
    Shape shape;
    Buffer data;
};

// Reals become f32, all else i32. Throws UNSUPPORTED, naming the array and the first element that is not
// exactly so much; CORRUPT_MODEL for a truth value that is none.
HostArray make_host_array(StoredArray&& array, std::pmr::memory_resource* tensors);

}  // namespace volta
