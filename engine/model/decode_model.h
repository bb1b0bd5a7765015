// The metadata of a file as a model: FlatBuffer to model. Everything is checked here, for files that are read
// and, before a byte is written, for files that are saved: what a save wrote, a load accepts.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/model/model.h"
#include "flatbuffers/flatbuffers.h"
#include "model_v1_generated.h"

namespace volta {

namespace fb = model_v1;

// Verifies the FlatBuffer itself, with limits that grow with its size: no string or vector may be shared so
// often that reading costs more than the file's length. NULL bytes never follow. Throws CORRUPT_MODEL.
const fb::Model& verified_metadata(const void* metadata, std::size_t bytes);

// Checks names, types, shapes, roles, order and places of all tensors against the size of the data section.
void check_tensors(const fb::Model& file, std::uint64_t data_bytes, std::pmr::memory_resource* heap);

// Where the bytes of each tensor are, in the file's order. Only those of constants are read.
using TensorBytes = std::pmr::vector<const void*>;

// Makes the model; its tensors borrow `bytes`. Needs check_tensors. Throws CORRUPT_MODEL or UNSUPPORTED.
HeapPtr<Model> decode_model(const fb::Model& file, const TensorBytes& bytes,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// ---- between decode_model.cpp and read_graph.cpp ----

inline std::string_view view(const flatbuffers::String* text) { return {text->c_str(), text->size()}; }

template <class Vector>
std::size_t count_of(const Vector* vector) {
    return vector == nullptr ? 0 : vector->size();
}

// Throws: `name` is of a later format version if the file is (UNSUPPORTED), else it is damaged
// (CORRUPT_MODEL).
[[noreturn]] void fail_unknown(const fb::Model& file, const char* what, std::string_view name);

DType decode_dtype(const fb::Model& file, fb::DType dtype, const char* what, std::string_view name);
// The same where a stored type may stand too: parameters.
DType decode_weight_dtype(const fb::Model& file, fb::DType dtype, const char* what, std::string_view name);

void check_name(const char* what, std::size_t index, std::string_view name);

// Throws CORRUPT_MODEL unless there are at most 8 extents, none is negative (-1 is allowed where the host
// chooses, `open`), and 4 bytes for each element are countable. An absent list is an empty one, as everywhere
// in FlatBuffers: a scalar.
Shape decode_shape(const flatbuffers::Vector<std::int64_t>* extents, bool open, const char* what,
                   std::string_view name);

// A constant's place among the tensors: read_graph takes them in order.
struct StoredConstant {
    const fb::Tensor* tensor;
    const void* data;
};
Graph read_graph(const fb::Model& file, const std::pmr::vector<StoredConstant>& constants,
                 std::pmr::memory_resource* heap);

}  // namespace volta
