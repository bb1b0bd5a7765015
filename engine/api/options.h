// Options and reports that grow: structs that start with struct_size, in both directions. The only place that
// looks at a struct_size.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/api/struct_fields.h"
#include "engine/base/error.h"

namespace volta::api {

// The struct_size of `given`: of an older header it ends behind a field that this one knows, of a newer one
// behind all of them. One that ends within a field is a caller's mistake: half of a pointer or number is not
// taken.
template <class Struct>
std::size_t checked_size(const Struct* given) {
    static_assert(lists_all_fields<Struct>(), "engine/api/struct_fields.h lacks a field of this struct");
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

}  // namespace volta::api
