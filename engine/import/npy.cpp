#include "engine/import/npy.h"

#include <algorithm>
#include <string_view>

#include "engine/base/error.h"
#include "engine/import/file_kind.h"
#include "engine/import/json_writer.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kStart = 8;       // magic and version
constexpr std::size_t kAlignment = 64;  // of the elements in the file
constexpr int kMostDigits = 18;         // of an extent: below 2^63

[[noreturn]] void fail_header() { fail(VOLTA_CORRUPT_MODEL, "its header is not one of a .npy file"); }

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, in any order.
class Header final {
  public:
    explicit Header(std::string_view text) : rest_(text) {}

    void read(StoredArray& array) {
        bool has_descr = false, has_order = false, has_shape = false;
        take('{');
        while (!skip('}')) {
            const std::string_view key = quoted();
            take(':');
            if (key == "descr")
                read_once(has_descr, [&] { read_type(array); });
            else if (key == "fortran_order")
                read_once(has_order, [&] { array.is_fortran = truth(); });
            else if (key == "shape")
                read_once(has_shape, [&] { array.shape = shape(); });
            else
                fail_header();
            if (skip(',')) continue;
            take('}');
            break;
        }
        const bool is_all = rest_.find_first_not_of(" \n") == rest_.npos;
        if (!is_all || !has_descr || !has_order || !has_shape) fail_header();
    }

  private:
    template <class Read>
    static void read_once(bool& has, Read read) {
        if (has) fail_header();
        has = true;
        read();
    }

    void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
    bool skip(char c) {
        skip_spaces();
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void take(char c) {
        if (!skip(c)) fail_header();
    }
    std::string_view quoted() {
        skip_spaces();
        if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) fail_header();
        const std::size_t end = rest_.find(rest_[0], 1);
        if (end == rest_.npos) fail_header();
        const std::string_view text = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return text;
    }
    bool truth() {
        skip_spaces();
        for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
            if (rest_.substr(0, word.size()) != word) continue;
            rest_.remove_prefix(word.size());
            return word == "True";
        }
        fail_header();
    }

    void read_type(StoredArray& array) {
        skip_spaces();
        if (!rest_.empty() && rest_[0] == '[') fail(VOLTA_UNSUPPORTED, "it holds records, not numbers");
        const std::string_view text = quoted();
        const char order = text.empty() ? '\0' : text[0];
        array.type = text.size() == 3 ? find_npy_type(text.substr(1)) : nullptr;
        array.is_big_endian = order == '>';
        if (array.type != nullptr &&
            (order == '<' || order == '>' || (order == '|' && array.type->bytes == 1)))
            return;
        const bool is_text = name_problem(text) == nullptr;
        const ShownName part = shown(is_text ? text : std::string_view("?"));
        fail(VOLTA_UNSUPPORTED, "its elements are of the type '%.*s', which is not read", part.bytes,
             part.text);
    }

    Shape shape() {
        Shape extents;
        take('(');
        while (!skip(')')) {
            if (extents.rank == kMaxRank) fail(VOLTA_UNSUPPORTED, "it has more than %d axes", kMaxRank);
            extents[extents.rank++] = extent();
            if (skip(',')) continue;
            take(')');
            break;
        }
        return extents;
    }
    std::int64_t extent() {
        skip_spaces();
        std::int64_t number = 0;
        int digits = 0;
        for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1), ++digits) {
            if (digits == kMostDigits) fail_header();
            number = number * 10 + (rest_[0] - '0');
        }
        if (digits == 0) fail_header();
        return number;
    }

    std::string_view rest_;
};

std::size_t load_length(const unsigned char* at, std::size_t bytes) {
    std::size_t length = 0;
    for (std::size_t i = bytes; i-- > 0;) length = length << 8 | at[i];
    return length;
}

// Bytes in front of the header's text. Throws when it is no such file.
std::size_t check_start(const unsigned char* bytes, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(bytes), size);
    if (size == 0) fail(VOLTA_CORRUPT_MODEL, "it is empty");
    if (all.substr(0, kMagic.size()) != kMagic.substr(0, size)) {
        if (all.substr(0, 2) == "PK")
            fail(VOLTA_UNSUPPORTED, "it is a zip archive: one of NumPy ends with .npz");
        if (const char* kind = other_file_kind(all)) fail(VOLTA_UNSUPPORTED, "it is %s", kind);
        fail(VOLTA_CORRUPT_MODEL, "it is no .npy file of NumPy");
    }
    if (size < kStart) fail(VOLTA_CORRUPT_MODEL, "it ends within its header");
    const unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0)
        fail(VOLTA_UNSUPPORTED, "it is of version %u.%u of NumPy's format: 1.0, 2.0 and 3.0 are read", major,
             minor);
    return kStart + (major == 1 ? 2 : 4);
}

}  // namespace

StoredArray parse_npy(const unsigned char* bytes, std::size_t size, std::pmr::memory_resource* heap) {
    const std::size_t begin = check_start(bytes, size);
    if (size < begin || load_length(bytes + kStart, begin - kStart) > size - begin)
        fail(VOLTA_CORRUPT_MODEL, "it ends within its header");
    const std::size_t length = load_length(bytes + kStart, begin - kStart);
    StoredArray array{std::pmr::string(heap)};
    Header({reinterpret_cast<const char*>(bytes) + begin, length}).read(array);
    array.data = bytes + begin + length;
    const std::size_t there = size - begin - length;
    std::uint64_t needed = 0;
    if (stored_array_overflows(*array.type, array.shape, &needed))
        fail(VOLTA_CORRUPT_MODEL, "the shape %s is too large", to_text(array.shape).text);
    if (needed != there)
        fail(VOLTA_CORRUPT_MODEL, "an array of %s and shape %s has %llu bytes, behind the header are %zu",
             array.type->name, to_text(array.shape).text, static_cast<unsigned long long>(needed), there);
    return array;
}

std::pmr::string npy_header(DType dtype, const Shape& shape, std::pmr::memory_resource* heap) {
    std::pmr::string text(kMagic, heap);
    text.append("\1\0\0\0", 4);  // the version, and the length, which comes last
    text += dtype == DType::f32 ? "{'descr': '<f4', 'fortran_order': False, 'shape': ("
                                : "{'descr': '<i4', 'fortran_order': False, 'shape': (";
    for (int axis = 0; axis < shape.rank; ++axis) {
        if (axis > 0) text += ' ';
        add_json_number(text, shape[axis]);
        if (axis == 0 || axis + 1 < shape.rank) text += ',';
    }
    text += "), }";
    text.append(kAlignment - 1 - text.size() % kAlignment, ' ');
    text += '\n';
    const std::size_t length = text.size() - kStart - 2;
    text[kStart] = static_cast<char>(length & 0xff);
    text[kStart + 1] = static_cast<char>(length >> 8);
    return text;
}

}  // namespace volta
