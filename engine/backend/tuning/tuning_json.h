// Members of JSON objects, each with what is wrong with it; everything here reports by INVALID_ARGUMENT.
#pragma once

#include <cstdint>
#include <string>

#define JSON_ASSERT(condition) static_cast<void>(0)  // the engine never ends the process
#include <nlohmann/json.hpp>

#include "engine/backend/tuning/tuning_file.h"
#include "engine/base/error.h"

namespace volta::tuning_json {

using Json = nlohmann::ordered_json;

const Json& member(const Json& object, const char* name);
std::int64_t integer(const Json& object, const char* name);
std::int64_t up_to(const Json& object, const char* name, std::int64_t most);  // 0 .. most
bool truth(const Json& object, const char* name);
double number(const Json& object, const char* name);
const std::string& text(const Json& object, const char* name);
template <std::size_t N>
int one_of(const Json& object, const char* name, const char* const (&names)[N]) {
    const std::string& value = text(object, name);
    for (std::size_t i = 0; i < N; ++i)
        if (value == names[i] && !value.empty()) return static_cast<int>(i);
    fail(VOLTA_INVALID_ARGUMENT, "'%s' is '%.32s'", name, value.c_str());
}

// What all entries have.
void read(const Json& object, ProductKey& key);
void write(const ProductKey& key, Json& object);

// The list of products of a file, for this place.
Json read_products(const char* bytes, std::size_t count, const TuningPlace& place);
// What stands before the products.
void print_head(const TuningPlace& place, std::pmr::string& out);

}  // namespace volta::tuning_json
