// Options and reports that grow: structs that start with struct_size, in both directions. The only place that
// looks at a struct_size. Which fields a struct has is said by a specialisation of FieldsOf, in the library
// whose header declares it (VOLTA_FIELDS).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "engine/base/error.h"

namespace volta {

struct Field {
    const char* name;
    std::size_t offset, bytes, alignment;
};

template <class Struct>
struct FieldsOf;  // rows: all of them, in their order

#define VOLTA_FIELD(member) \
    { #member, offsetof(Struct, member), sizeof(Struct::member), alignof(decltype(Struct::member)) }
#define VOLTA_FIELDS(name, ...)                           \
    template <>                                           \
    struct FieldsOf<name> {                               \
        using Struct = name;                              \
        static constexpr Field rows[] = {__VA_ARGS__};    \
        static constexpr const char* struct_name = #name; \
    }

// Whether every byte of the struct is a listed field's, or the padding that alignment asks for.
template <class Struct>
constexpr bool lists_all_fields() {
    std::size_t end = 0;
    for (const Field& field : FieldsOf<Struct>::rows) {
        if (field.offset != (end + field.alignment - 1) / field.alignment * field.alignment) return false;
        end = field.offset + field.bytes;
    }
    return (end + alignof(Struct) - 1) / alignof(Struct) * alignof(Struct) == sizeof(Struct);
}

// The field that a struct of `size` bytes has a part of; NULL: it ends between two.
template <class Struct>
constexpr const Field* field_cut_at(std::size_t size) {
    for (const Field& field : FieldsOf<Struct>::rows)
        if (field.offset < size && size < field.offset + field.bytes) return &field;
    return nullptr;
}

// The struct_size of `given`: of an older header it ends behind a field that this one knows, of a newer one
// behind all of them. One that ends within a field is a caller's mistake: half of a pointer or number is not
// taken.
template <class Struct>
std::size_t checked_size(const Struct* given) {
    static_assert(lists_all_fields<Struct>(), "FieldsOf lacks a field of this struct");
    constexpr const char* name = FieldsOf<Struct>::struct_name;
    constexpr std::size_t most = 65536;
    const std::size_t size = given->struct_size;
    require(size >= sizeof size && size <= most, "%s.struct_size is %zu: set it to sizeof(%s)", name, size,
            name);
    if (const Field* const cut = field_cut_at<Struct>(size))
        fail(VOLTA_INVALID_ARGUMENT,
             "%s.struct_size is %zu, which ends within the field %s: set it to sizeof(%s)", name, size,
             cut->name, name);
    return size;
}

// The caller's options in today's struct: fields it does not know are zero. NULL: all defaults. A larger
// struct of a newer caller is accepted if what this library does not know is zero.
template <class Options>
Options read_options(const Options* given) {
    Options options = {};
    if (given != nullptr) {
        const std::size_t size = checked_size(given);
        std::memcpy(&options, given, std::min(size, sizeof options));
        const auto* bytes = reinterpret_cast<const unsigned char*>(given);
        for (std::size_t i = sizeof options; i < size; ++i)
            require(bytes[i] == 0, "%s has a field that this version does not know",
                    FieldsOf<Options>::struct_name);
    }
    options.struct_size = sizeof options;
    return options;
}

// Writes as many fields of `report` as the caller's struct holds; its struct_size stays.
template <class Report>
void write_report(const Report& report, Report* out) {
    require(out != nullptr, "%s is NULL", FieldsOf<Report>::struct_name);
    const std::size_t size = checked_size(out);
    Report whole = report;
    whole.struct_size = size;
    std::memcpy(out, &whole, std::min(size, sizeof whole));
}

}  // namespace volta
