// Named tensors of the host in a file: safetensors, NumPy's .npy and .npz, told apart by the end of its name.
#pragma once

#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/base/stop.h"
#include "engine/import/stored_array.h"

namespace volta {

// A tensor to write; f32 or i32.
struct NamedArray {
    std::string_view name;
    DType dtype;
    Shape shape;
    const void* data;
};

// Crash-safe; the same tensors give the same bytes. Throws INVALID_ARGUMENT for another ending, names that no
// file has, and a .npy of more or fewer than one; IO_ERROR.
void write_tensor_file(const char* path, const std::pmr::vector<NamedArray>& arrays,
                       std::pmr::memory_resource* heap, const Stop& stop = kNeverStops);

// All tensors of a file, ascending by name. Throws INVALID_ARGUMENT for another ending; IO_ERROR;
// CORRUPT_MODEL or UNSUPPORTED with the reason and the path.
std::pmr::vector<HostArray> read_tensor_file(const char* path, std::pmr::memory_resource* structures,
                                             std::pmr::memory_resource* tensors,
                                             const Stop& stop = kNeverStops);

}  // namespace volta
