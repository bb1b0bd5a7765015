// The container GGUF, versions 2 and 3, little-endian: keys with values, and tensors by name. Nothing is
// copied: strings, arrays and tensors are views into the bytes, which the caller keeps (a MappedFile). The
// bytes are hostile: every count, length, offset and type is checked before it is used, and what is allocated
// is bounded by the size of the file. What keys mean is the business of those who read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace volta {

// The numbers of the format.
enum class GgufType : std::uint32_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12
};
const char* gguf_type_name(GgufType type);  // "u8", ..., "f64"

// A value. Of an array: `count` elements of type `element`; of anything else, `element` is its type and
// `count` 1.
struct GgufEntry {
    std::string_view key;
    GgufType type, element;
    std::uint64_t count;
    std::string_view
        bytes;  // of the elements as they stand in the file: not aligned, strings with their lengths
};

// A type of tensor elements: blocks of `block_elements` along the first extent, `block_bytes` each.
struct GgufTensorType {
    std::uint32_t id;
    const char* name;
    std::uint32_t block_elements, block_bytes;
};
const GgufTensorType* find_gguf_tensor_type(std::uint32_t id);  // NULL: not known

inline constexpr std::size_t kGgufMaxRank = 4;

struct GgufTensor {
    std::string_view name;
    std::uint32_t type_id;
    const GgufTensorType* type;          // NULL: not known; the tensor is listed, and refused when it is read
    std::uint32_t rank;                  // 0: a scalar
    std::uint64_t extent[kGgufMaxRank];  // GGUF's order: the innermost, contiguous one first
    std::uint64_t elements;
    std::uint64_t offset;  // of the first byte, from the start of the file; a multiple of the alignment
    std::uint64_t bytes;   // 0 where the type is not known
};

class GgufFile final {
  public:
    // Throws CORRUPT_MODEL with what is wrong, or UNSUPPORTED: another version, big-endian, nested arrays.
    GgufFile(const void* data, std::size_t bytes, std::pmr::memory_resource* heap);

    std::uint32_t version() const { return version_; }
    std::uint64_t alignment() const { return alignment_; }  // a power of two
    const std::pmr::vector<GgufEntry>& entries() const {
        return entries_;
    }  // ascending by key, keys distinct
    const std::pmr::vector<GgufTensor>& tensors() const { return tensors_; }  // in the file's order
    const GgufEntry* find(std::string_view key) const;                        // NULL: none
    const GgufTensor* find_tensor(std::string_view name) const;               // NULL: none

    // The value of a key. Throws CORRUPT_MODEL when it is missing or of another type: integers are any of the
    // integer types that fits, numbers f32 and f64. With a fallback, a missing key is no mistake.
    std::int64_t integer(std::string_view key) const;
    std::int64_t integer(std::string_view key, std::int64_t fallback) const;
    double number(std::string_view key) const;
    double number(std::string_view key, double fallback) const;
    bool boolean(std::string_view key, bool fallback) const;
    std::string_view string(std::string_view key) const;
    std::string_view string(std::string_view key, std::string_view fallback) const;

    // The elements of an array. Throws as above.
    std::pmr::vector<std::string_view> strings(std::string_view key, std::pmr::memory_resource* heap) const;
    std::pmr::vector<float> floats(std::string_view key, std::pmr::memory_resource* heap) const;
    std::pmr::vector<std::int32_t> integers(std::string_view key, std::pmr::memory_resource* heap) const;

    // A tensor's bytes. Throws UNSUPPORTED for one of an unknown type.
    const unsigned char* data(const GgufTensor& tensor) const;

  private:
    friend class GgufParser;
    const GgufEntry& required(std::string_view key) const;
    const GgufEntry& array(std::string_view key, GgufType element) const;

    const unsigned char* data_;
    std::uint32_t version_ = 0;
    std::uint64_t alignment_ = 32;
    std::pmr::vector<GgufEntry> entries_;
    std::pmr::vector<GgufTensor> tensors_;
    std::pmr::vector<std::uint32_t> by_name_;  // indices of tensors_, ascending by name
};

}  // namespace volta
