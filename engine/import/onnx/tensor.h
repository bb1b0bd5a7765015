// The elements of an ONNX tensor, in any of the ways in which a TensorProto may hold them, or in a file
// beside the model.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "engine/import/onnx/file.h"

namespace volta::onnx {

// A tensor whose elements an import knows: whole numbers exactly, real ones as the floats they are.
struct Known {
    using allocator_type = std::pmr::polymorphic_allocator<char>;
    explicit Known(allocator_type heap) : whole(heap), real(heap) {}
    Known(Known&& other, allocator_type heap)
        : type(other.type),
          shape(other.shape),
          whole(std::move(other.whole), heap),
          real(std::move(other.real), heap) {}
    Known(const Known& other, allocator_type heap)
        : type(other.type), shape(other.shape), whole(other.whole, heap), real(other.real, heap) {}
    Known(Known&&) = default;
    Known& operator=(Known&&) = default;
    Type type = Type::none;
    Shape shape;
    std::pmr::vector<std::int64_t> whole;  // of types that are is_whole
    std::pmr::vector<double> real;         // of the others
    std::size_t count() const { return static_cast<std::size_t>(shape.elements()); }
};

// Data of tensors that lie outside of the model's file: below its folder and nowhere else.
class ExternalFiles {
  public:
    ExternalFiles(const char* model_path, std::pmr::memory_resource* heap)
        : model_(model_path), files_(heap) {}
    // The bytes that the tensor names. Throws UNSUPPORTED: a path out of the folder; CORRUPT_MODEL: bytes
    // that the file does not have; IO_ERROR.
    std::string_view bytes(const TensorView& tensor);

  private:
    struct Entry {
        std::pmr::string location;
        MappedFile file;
    };
    const MappedFile& open(std::string_view location, const TensorView& tensor);
    const char* model_;
    std::pmr::vector<Entry> files_;
};

inline constexpr std::int64_t kMostKnownElements = std::int64_t{1} << 20;

// Throws CORRUPT_MODEL when there are not as many elements as the shape says, UNSUPPORTED for other types.
Known read_known(const TensorView& tensor, ExternalFiles& files, std::pmr::memory_resource* heap);
// That there are as many elements as the shape says, before anybody has memory for them.
void check_elements(const TensorView& tensor, ExternalFiles& files);
// A tensor as f32: f16, bf16, f32 and narrow integers exactly; others are rounded, and a double is refused
// where it is too large.
void fill_reals(const TensorView& tensor, ExternalFiles& files, float* to);
// What a quantised tensor stands for: (x - zero) * scale. Of these there is one for all, one for each place
// of the axis, or one for each block of it.
struct Affine {
    const Known* scale = nullptr;  // NULL: 1
    const Known* zero = nullptr;   // NULL: 0
    int axis = 0;
    std::int64_t block = 0;
};
void fill_affine(const TensorView& tensor, ExternalFiles& files, const Affine& affine, float* to);
// A whole one as i32. Throws UNSUPPORTED naming an element that is too large.
void fill_integers(const TensorView& tensor, ExternalFiles& files, std::int32_t* to);
std::int32_t checked_i32(std::int64_t value, std::string_view name);
float checked_f32(double value, std::string_view name);

}  // namespace volta::onnx
