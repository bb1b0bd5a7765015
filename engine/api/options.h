// Options and reports that grow: structs that start with struct_size, in both directions.
#pragma once

#include <cstring>

#include "engine/base/error.h"

namespace volta::api {

// The caller's options in today's struct: fields it does not know are zero. NULL: all defaults. A larger
// struct of a newer caller is accepted if what this library does not know is zero.
template <class Options>
Options read_options(const Options* given, const char* name) {
    Options options = {};
    options.struct_size = sizeof options;
    if (given == nullptr) return options;
    const std::size_t size = given->struct_size;
    require(size >= sizeof size, "%s.struct_size is %zu: set it to sizeof(%s)", name, size, name);
    require(size <= 65536, "%s.struct_size is %zu, which is no size of %s", name, size, name);
    std::memcpy(&options, given, size < sizeof options ? size : sizeof options);
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t i = sizeof options; i < size; ++i)
        require(bytes[i] == 0, "%s has a field that this version does not know", name);
    options.struct_size = sizeof options;
    return options;
}

// Writes as much of `report` as the caller's struct holds; its struct_size stays.
template <class Report>
void write_report(const Report& report, Report* out, const char* name) {
    require(out != nullptr, "%s is NULL", name);
    const std::size_t size = out->struct_size;
    require(size >= sizeof size && size <= 65536, "%s.struct_size is %zu: set it to sizeof(%s)", name, size,
            name);
    Report whole = report;
    whole.struct_size = size;
    std::memcpy(out, &whole, size < sizeof whole ? size : sizeof whole);
}

}  // namespace volta::api
