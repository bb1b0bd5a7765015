#include "engine/import/stored_array.h"

#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/format.h"
#include "engine/model/text.h"
#include "engine/numerics/block_types.h"
#include "engine/numerics/storage_types.h"

namespace volta {
namespace {

double real_of_f16(std::uint64_t bits) { return f32_from_f16(static_cast<std::uint16_t>(bits)); }
double real_of_bf16(std::uint64_t bits) { return f32_from_bf16(static_cast<std::uint16_t>(bits)); }
double real_of_f32(std::uint64_t bits) { return float_of_bits(static_cast<std::uint32_t>(bits)); }
double real_of_e4m3(std::uint64_t bits) { return f32_from_f8_e4m3(static_cast<unsigned char>(bits)); }
double real_of_e5m2(std::uint64_t bits) { return f32_from_f8_e5m2(static_cast<unsigned char>(bits)); }
double real_of_f64(std::uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// clang-format off
constexpr ElementType kElementTypes[] = {
    // name          npy   safetensors  kind                   bytes real
    {"float32",      "f4", "F32",       ElementKind::real,     4,    real_of_f32},
    {"int32",        "i4", "I32",       ElementKind::integer,  4,    nullptr},
    {"float64",      "f8", "F64",       ElementKind::real,     8,    real_of_f64},
    {"float16",      "f2", "F16",       ElementKind::real,     2,    real_of_f16},
    {"bfloat16",     "",   "BF16",      ElementKind::real,     2,    real_of_bf16},
    {"float8_e4m3",  "",   "F8_E4M3",   ElementKind::real,     1,    real_of_e4m3},
    {"float8_e5m2",  "",   "F8_E5M2",   ElementKind::real,     1,    real_of_e5m2},
    {"int64",        "i8", "I64",       ElementKind::integer,  8,    nullptr},
    {"int16",        "i2", "I16",       ElementKind::integer,  2,    nullptr},
    {"int8",         "i1", "I8",        ElementKind::integer,  1,    nullptr},
    {"uint64",       "u8", "U64",       ElementKind::natural,  8,    nullptr},
    {"uint32",       "u4", "U32",       ElementKind::natural,  4,    nullptr},
    {"uint16",       "u2", "U16",       ElementKind::natural,  2,    nullptr},
    {"uint8",        "u1", "U8",        ElementKind::natural,  1,    nullptr},
    {"bool",         "b1", "BOOL",      ElementKind::truth,    1,    nullptr},
};
// clang-format on

std::uint64_t load_bits(const unsigned char* at, std::uint32_t bytes, bool is_big_endian) {
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < bytes; ++i) bits = bits << 8 | at[is_big_endian ? i : bytes - 1 - i];
    return bits;
}

// The places of an array's elements in its file, in row-major order.
class Places final {
  public:
    explicit Places(const StoredArray& array) : shape_(array.shape) {
        std::uint64_t stride = array.type->bytes;
        for (int i = 0; i < shape_.rank; ++i) {
            const int axis = array.is_fortran ? i : shape_.rank - 1 - i;
            stride_[axis] = stride;
            stride *= static_cast<std::uint64_t>(shape_[axis]);
        }
    }
    std::uint64_t take() {
        const std::uint64_t place = place_;
        for (int axis = shape_.rank - 1; axis >= 0; --axis) {
            place_ += stride_[axis];
            if (++index_[axis] < shape_[axis]) break;
            place_ -= stride_[axis] * static_cast<std::uint64_t>(shape_[axis]);
            index_[axis] = 0;
        }
        return place;
    }

  private:
    const Shape& shape_;
    std::uint64_t stride_[kMaxRank] = {}, place_ = 0;
    std::int64_t index_[kMaxRank] = {};
};

// An element that is no f32 or i32, as a message shows it.
struct Shown {
    char text[40];
};

[[noreturn]] void refuse(const StoredArray& array, std::int64_t index, const char* value,
                         const char* wanted) {
    const ShownName name = shown(array.name);
    fail(VOLTA_UNSUPPORTED, "element %lld of tensor '%.*s' (%s) is %s, which %s does not hold",
         static_cast<long long>(index), name.bytes, name.text, array.type->name, value, wanted);
}

std::uint32_t real_element(const StoredArray& array, std::int64_t index, std::uint64_t bits) {
    const double value = array.type->real(bits);
    const float rounded = static_cast<float>(value);
    if (std::isnan(value)) return kQuietNan;
    if (static_cast<double>(rounded) != value) {
        Shown number;
        format_text(number.text, sizeof number.text, "%.17g", value);
        refuse(array, index, number.text, "f32");
    }
    std::uint32_t element;
    std::memcpy(&element, &rounded, sizeof element);
    return element;
}

std::uint32_t integer_element(const StoredArray& array, std::int64_t index, std::uint64_t bits) {
    const unsigned unused = 64 - 8 * array.type->bytes;
    const bool is_signed = array.type->kind == ElementKind::integer;
    const std::int64_t value =
        is_signed ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
    const bool fits = is_signed ? value >= INT32_MIN && value <= INT32_MAX : bits <= INT32_MAX;
    if (!fits) {
        Shown number;
        if (is_signed)
            format_text(number.text, sizeof number.text, "%lld", static_cast<long long>(value));
        else
            format_text(number.text, sizeof number.text, "%llu", static_cast<unsigned long long>(bits));
        refuse(array, index, number.text, "i32");
    }
    if (array.type->kind == ElementKind::truth && bits > 1) {
        const ShownName name = shown(array.name);
        fail(VOLTA_CORRUPT_MODEL,
             "element %lld of tensor '%.*s' is the truth value %llu, which is neither 0 nor 1",
             static_cast<long long>(index), name.bytes, name.text, static_cast<unsigned long long>(bits));
    }
    return static_cast<std::uint32_t>(value);
}

// An element of four bytes is its own bits.
void copy_elements(const StoredArray& array, std::uint32_t* to) {
    const std::int64_t count = array.shape.elements();
    const ElementType& type = *array.type;
    const bool is_real = type.kind == ElementKind::real;
    const bool is_kept = type.bytes == sizeof *to && type.kind != ElementKind::natural;
    if (is_kept && !array.is_big_endian && !array.is_fortran) {
        if (count > 0) std::memcpy(to, array.data, static_cast<std::size_t>(count) * sizeof *to);
        return;
    }
    Places places(array);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = load_bits(array.data + places.take(), type.bytes, array.is_big_endian);
        to[i] = is_kept   ? static_cast<std::uint32_t>(bits)
                : is_real ? real_element(array, i, bits)
                          : integer_element(array, i, bits);
    }
}

}  // namespace

const ElementType* find_npy_type(std::string_view code) {
    for (const ElementType& type : kElementTypes)
        if (*type.npy != '\0' && code == type.npy) return &type;
    return nullptr;
}

const ElementType* find_safetensors_type(std::string_view name) {
    for (const ElementType& type : kElementTypes)
        if (name == type.safetensors) return &type;
    return nullptr;
}

bool stored_array_overflows(const ElementType& type, const Shape& shape, std::uint64_t* bytes) {
    // Tensors become four bytes an element, whatever they were.
    constexpr std::uint64_t kMostElements = std::uint64_t{1} << 58;
    std::uint64_t elements = 1;
    for (int axis = 0; axis < shape.rank; ++axis)
        if (multiply_overflows(elements, static_cast<std::uint64_t>(shape[axis]), &elements) ||
            elements > kMostElements)
            return true;
    *bytes = elements * type.bytes;
    return false;
}

HostArray make_host_array(StoredArray&& array, std::pmr::memory_resource* tensors) {
    Buffer data(tensors, static_cast<std::size_t>(array.shape.elements()) * sizeof(std::uint32_t));
    copy_elements(array, static_cast<std::uint32_t*>(data.data()));
    const DType dtype = array.type->kind == ElementKind::real ? DType::f32 : DType::i32;
    return {std::move(array.name), dtype, array.shape, std::move(data)};
}

}  // namespace volta
