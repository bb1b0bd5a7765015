#include "cli/npy.h"

#include <cmath>
#include <cstring>

#include "cli/support.h"

namespace voltac {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMagicBytes = 6, kVersionBytes = 2, kAlignment = 64;
constexpr std::size_t kMostDigits = 18;  // of an extent: below 2^63

constexpr NpyType kTypes[] = {
    {"f4", "float32", 4}, {"i4", "int32", 4}, {"i8", "int64", 8},   {"i2", "int16", 2},
    {"i1", "int8", 1},    {"u1", "uint8", 1}, {"u2", "uint16", 2},  {"u4", "uint32", 4},
    {"u8", "uint64", 8},  {"b1", "bool", 1},  {"f2", "float16", 2}, {"f8", "float64", 8},
};

// The header: the text of a Python dictionary.
class Header {
  public:
    Header(const std::string& name, const char* text, std::size_t size)
        : name_(name), at_(text), end_(text + size) {}

    NpyView read() {
        NpyView array;
        bool is_fortran = false, has_descr = false, has_order = false, has_shape = false;
        take('{');
        while (!skip('}')) {
            const std::string key = quoted();
            take(':');
            bool* const seen = key == "descr"           ? &has_descr
                               : key == "fortran_order" ? &has_order
                               : key == "shape"         ? &has_shape
                                                        : nullptr;
            if (seen == nullptr || *seen) refuse();
            *seen = true;
            if (seen == &has_descr)
                array.type = type();
            else if (seen == &has_order)
                is_fortran = truth();
            else
                array.shape = shape();
            if (!skip(',')) {
                take('}');
                break;
            }
        }
        if (at_ != end_ && *at_ == '\n') ++at_;
        while (at_ != end_ && *at_ == ' ') ++at_;
        if (at_ != end_ && *at_ == '\n') ++at_;
        if (at_ != end_ || !has_descr || !has_order || !has_shape) refuse();
        if (is_fortran && array.shape.size() > 1)
            failure(name_ + ": the array is in Fortran's order; numpy.ascontiguousarray makes it C's");
        return array;
    }

  private:
    [[noreturn]] void refuse() const { failure(name_ + ": the header is not one of a .npy file"); }

    void spaces() {
        while (at_ != end_ && *at_ == ' ') ++at_;
    }
    bool skip(char c) {
        spaces();
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }
    void take(char c) {
        if (!skip(c)) refuse();
    }
    std::string quoted() {
        spaces();
        if (at_ == end_ || (*at_ != '\'' && *at_ != '"')) refuse();
        const char quote = *at_++;
        const char* const begin = at_;
        while (at_ != end_ && *at_ != quote) ++at_;
        if (at_ == end_) refuse();
        return {begin, at_++};
    }
    bool truth() {
        spaces();
        for (const bool value : {true, false}) {
            const char* const word = value ? "True" : "False";
            const std::size_t bytes = std::strlen(word);
            if (static_cast<std::size_t>(end_ - at_) < bytes || std::memcmp(at_, word, bytes) != 0) continue;
            at_ += bytes;
            return value;
        }
        refuse();
    }
    const NpyType* type() {
        spaces();
        if (at_ != end_ && *at_ == '[') failure(name_ + ": the array holds records, not numbers");
        const std::string text = quoted();
        for (const NpyType& row : kTypes) {
            if (text.size() != 3 || text.compare(1, 2, row.code) != 0) continue;
            if (text[0] == '<' || (row.bytes == 1 && text[0] == '|')) return &row;
            if (text[0] == '>')
                failure(name_ + ": the array is big-endian (" + text + "); numpy's astype('<" + row.code +
                        "') makes it little-endian");
        }
        failure(name_ + ": the array is of the type '" + one_line(text).substr(0, 40) +
                "', which holds no numbers that are read");
    }
    std::vector<std::int64_t> shape() {
        std::vector<std::int64_t> extents;
        take('(');
        while (!skip(')')) {
            spaces();
            std::int64_t extent = 0;
            std::size_t digits = 0;
            for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_, ++digits) {
                if (digits == kMostDigits) refuse();
                extent = extent * 10 + (*at_ - '0');
            }
            if (digits == 0) refuse();
            if (extents.size() == VOLTA_MAX_RANK)
                failure(name_ + formatted(": the array has more than %d axes", VOLTA_MAX_RANK));
            extents.push_back(extent);
            if (!skip(',')) {
                take(')');
                break;
            }
        }
        return extents;
    }

    const std::string& name_;
    const char *at_, *end_;
};

std::uint64_t little_endian(const unsigned char* bytes, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

// False: the product, or its bytes, are too many to be a file's.
bool count_elements(NpyView& array) {
    constexpr std::int64_t kMost = INT64_MAX / 16;
    array.elements = 1;
    bool is_empty = false;
    for (const std::int64_t extent : array.shape) is_empty = is_empty || extent == 0;
    for (const std::int64_t extent : array.shape) {
        if (is_empty) break;
        if (array.elements > kMost / extent) return false;
        array.elements *= extent;
    }
    if (is_empty) array.elements = 0;
    return true;
}

}  // namespace

std::string shape_text(const std::int64_t* shape, std::size_t rank) {
    std::string text = "[";
    for (std::size_t i = 0; i < rank; ++i)
        text += (i > 0 ? ", " : "") + (shape[i] < 0 ? std::string("?") : std::to_string(shape[i]));
    return text + "]";
}

NpyView parse_npy(const std::string& name, const unsigned char* bytes, std::size_t size) {
    constexpr std::size_t kStart = kMagicBytes + kVersionBytes;
    if (size < kStart || std::memcmp(bytes, kMagic, kMagicBytes) != 0)
        failure(name + ": the file is no .npy file of NumPy");
    const unsigned version = bytes[kMagicBytes];
    if (bytes[kMagicBytes + 1] != 0 || version < 1 || version > 2)
        failure(name + formatted(": the file is of version %u.%u of NumPy's format; 1.0 and 2.0 are read",
                                 version, static_cast<unsigned>(bytes[kMagicBytes + 1])));
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    if (size < kStart + length_bytes) failure(name + ": the file ends within its header");
    const std::uint64_t length = little_endian(bytes + kStart, length_bytes);
    const std::size_t begin = kStart + length_bytes;
    if (length > size - begin) failure(name + ": the file ends within its header");
    NpyView array =
        Header(name, reinterpret_cast<const char*>(bytes) + begin, static_cast<std::size_t>(length)).read();
    array.data = bytes + begin + length;
    const std::uint64_t there = size - begin - length;
    if (!count_elements(array) || static_cast<std::uint64_t>(array.elements) * array.type->bytes != there)
        failure(name + formatted(": %s of %s do not fit the %llu bytes behind the header",
                                 shape_text(array.shape.data(), array.shape.size()).c_str(), array.type->name,
                                 static_cast<unsigned long long>(there)));
    return array;
}

namespace {
std::uint32_t bits_of(float number) {
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}
// Whether float32 holds the integer; those of 2^63 and more are not asked for.
bool is_exact(std::int64_t number) {
    const auto rounded = static_cast<float>(number);
    return rounded < 0x1p63f && static_cast<std::int64_t>(rounded) == number;
}
bool is_exact(double number) {
    return std::isnan(number) || static_cast<double>(static_cast<float>(number)) == number;
}
}  // namespace

std::vector<std::uint32_t> npy_elements(const std::string& name, const NpyView& array, volta_dtype dtype,
                                        const std::string& what) {
    const NpyType& type = *array.type;
    const auto count = static_cast<std::size_t>(array.elements);
    const bool is_float = type.code[0] == 'f', wants_float = dtype == VOLTA_F32;
    const bool is_half = is_float && type.bytes < sizeof(float);
    if ((is_float && !wants_float) || is_half)
        failure(name + formatted(": the array is of %s, but %s takes %s; numpy's astype makes it so",
                                 type.name, what.c_str(), wants_float ? "float32" : "int32"));
    std::vector<std::uint32_t> elements(count);
    const bool is_signed = type.code[0] == 'i';
    const auto no_float = [&](std::size_t i) {
        failure(name + formatted(": element %zu is no float32, which %s takes", i, what.c_str()));
    };
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t value = little_endian(array.data + i * type.bytes, type.bytes);
        if (is_float && type.bytes == sizeof(float)) {
            elements[i] = static_cast<std::uint32_t>(value);
            continue;
        }
        if (is_float) {
            double wide;
            std::memcpy(&wide, &value, sizeof wide);
            if (!is_exact(wide)) no_float(i);
            elements[i] = bits_of(static_cast<float>(wide));
            continue;
        }
        const unsigned unused = 64 - 8 * static_cast<unsigned>(type.bytes);
        const std::int64_t number = is_signed ? static_cast<std::int64_t>(value << unused) >> unused
                                              : static_cast<std::int64_t>(value);
        if (wants_float) {
            if (!is_exact(number) || (!is_signed && number < 0)) no_float(i);
            elements[i] = bits_of(static_cast<float>(number));
            continue;
        }
        if (number < INT32_MIN || number > INT32_MAX)
            failure(name + formatted(": element %zu does not fit the int32 of %s", i, what.c_str()));
        elements[i] = static_cast<std::uint32_t>(number);
    }
    return elements;
}

std::string npy_text(volta_dtype dtype, const std::vector<std::int64_t>& shape, const void* data) {
    std::string header = std::string("{'descr': '") + (dtype == VOLTA_F32 ? "<f4" : "<i4") +
                         "', 'fortran_order': False, 'shape': (";
    std::size_t bytes = sizeof(float);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        header += (i > 0 ? " " : "") + std::to_string(shape[i]) + (i + 1 < shape.size() || i == 0 ? "," : "");
        bytes *= static_cast<std::size_t>(shape[i]);
    }
    header += "), }";
    const std::size_t before = kMagicBytes + kVersionBytes + 2;
    header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
    header += '\n';
    std::string text(kMagic, kMagicBytes);
    text += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    text += header;
    if (bytes > 0) text.append(static_cast<const char*>(data), bytes);
    return text;
}

}  // namespace voltac
