// What every file of weights gives: named tensors whose bytes lie in a mapping, and free texts by key.
// Readers fill one and check all of it; whoever takes a tensor from it need not trust anything again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/file.h"
#include "engine/base/shape.h"
#include "engine/model/model.h"
#include "engine/numerics/block_types.h"

namespace volta {

// A type that tensors are stored in. Values lie in blocks of `block_bytes`; most types have blocks of one.
struct StoredType {
    const char* name;  // as the containers write it: "F16", "Q8_0"
    std::uint32_t block_values, block_bytes;
    // Makes f32 of `blocks` blocks at any address (docs/numerics.md, 5). NULL: Volta reads no such values.
    void (*widen)(const unsigned char* from, std::int64_t blocks, float* to);
    DType kept_as = DType::f32;          // the smallest of Volta's types that has all of its values
    ScaledBlocks scaled = {0, nullptr};  // where int8 has the integers of its blocks; else NULL
    bool rounds = false;                 // f32 has not all of its values
};
inline constexpr std::uint32_t kMostBlockValues = 256;      // of any type
const StoredType* find_stored_type(std::string_view name);  // NULL: unknown

struct WeightTensor {
    std::pmr::string name;
    const StoredType* type = nullptr;
    Shape shape;                          // outermost extent first; whole blocks along the last
    const unsigned char* data = nullptr;  // bytes() of them inside one of the source's files
    std::uint64_t bytes = 0;
};

// Far above any model; bounds what a hostile file can make a reader keep.
inline constexpr std::size_t kMostWeightTensors = 16384;

// The value of a key; NULL: it is not there.
const std::pmr::string* find_text(const std::pmr::vector<Metadata>& texts, std::string_view key);

struct WeightSource {
    explicit WeightSource(std::pmr::memory_resource* heap) : files(heap), tensors(heap), texts(heap) {}
    std::pmr::vector<MappedFile> files;
    std::pmr::vector<WeightTensor> tensors;                 // ascending by name, each once
    std::pmr::vector<Metadata> texts;                       // in the file's order
    const WeightTensor* find(std::string_view name) const;  // NULL: none
    const std::pmr::string* find_text(std::string_view key) const { return volta::find_text(texts, key); }
};

// Throws CORRUPT_MODEL naming the tensor when its name or shape cannot be, or too many are there.
void check_weight_name(std::string_view name);
// The bytes of a tensor of this type and shape; throws CORRUPT_MODEL when they do not fit in 63 bits or a row
// is no whole number of blocks.
std::uint64_t stored_bytes(std::string_view name, const StoredType& type, const Shape& shape);
void add_tensor(WeightSource& source, WeightTensor&& tensor);
// Sorts by name; throws CORRUPT_MODEL when two tensors have one name. Every reader ends with it.
void finish_tensors(WeightSource& source);

// Where the values of a tensor go: columns [first, first + width) of a row-major f32 matrix.
struct ColumnRange {
    float* matrix;
    std::int64_t rows, columns;  // of the matrix
    std::int64_t first, width;
};

// Copies a tensor that is seen as [rows, width], or [width, rows] when `transposed`. The caller has checked
// the shape and that the type can be widened. Needs no memory but a tile on the stack.
void copy_weights(const WeightTensor& tensor, const ColumnRange& to, bool transposed);

}  // namespace volta
