#include "engine/backend/tuning/tuning_json.h"

#include <cmath>
#include <cstdio>

namespace volta {
namespace {

constexpr const char* kFormat = "volta matmul tuning";
constexpr int kVersion = 1;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
constexpr double kMostSeconds = 1e6;
constexpr int kMostDepth = 8;  // of lists and objects; what is written is three deep

void check_extent(const char* name, std::int64_t extent) {
    require(extent >= 1 && extent <= kMostExtent, "%s is %lld, it must be in 1 .. 2^40", name,
            static_cast<long long>(extent));
}
void check_seconds(const char* name, double seconds) {
    require(seconds > 0 && seconds <= kMostSeconds, "%s is %g, it must be above 0 and at most 1e6", name,
            seconds);
}

// Before anything is made of them: each further depth would cost a hundred times its byte.
bool is_shallow(int depth, tuning_json::Json::parse_event_t, const tuning_json::Json&) {
    if (depth > kMostDepth)
        fail(VOLTA_INVALID_ARGUMENT, "its lists and objects lie more than %d deep", kMostDepth);
    return true;
}

}  // namespace

void check_product(const ProductKey& key, double default_seconds, double tuned_seconds) {
    check_extent("batch", key.batch);
    check_extent("m", key.m);
    check_extent("n", key.n);
    check_extent("k", key.k);
    check_seconds("default_seconds", default_seconds);
    check_seconds("tuned_seconds", tuned_seconds);
}

namespace tuning_json {

const Json& member(const Json& object, const char* name) {
    const auto found = object.find(name);
    require(found != object.end(), "'%s' is missing", name);
    return *found;
}

std::int64_t integer(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_number_integer(), "'%s' is no whole number", name);
    if (value.is_number_unsigned())
        require(value.get<std::uint64_t>() <= std::uint64_t{1} << 62, "'%s' is too large", name);
    return value.get<std::int64_t>();
}

std::int64_t up_to(const Json& object, const char* name, std::int64_t most) {
    const std::int64_t value = integer(object, name);
    require(value >= 0 && value <= most, "'%s' is %lld", name, static_cast<long long>(value));
    return value;
}

bool truth(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_boolean(), "'%s' is neither true nor false", name);
    return value.get<bool>();
}

double number(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_number(), "'%s' is no number", name);
    return value.get<double>();
}

const std::string& text(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_string(), "'%s' is no text", name);
    return value.get_ref<const std::string&>();
}

void read(const Json& object, ProductKey& key) {
    require(object.is_object(), "an entry is no object");
    key.batch = integer(object, "batch");
    key.m = integer(object, "m");
    key.n = integer(object, "n");
    key.k = integer(object, "k");
    key.a_transposed = truth(object, "a_transposed");
    key.b_transposed = truth(object, "b_transposed");
}

void write(const ProductKey& key, Json& object) {
    object["m"] = key.m;
    object["n"] = key.n;
    object["k"] = key.k;
    object["batch"] = key.batch;
    object["a_transposed"] = key.a_transposed;
    object["b_transposed"] = key.b_transposed;
}

Json read_products(const char* bytes, std::size_t count, const TuningPlace& place) {
    Json file = Json::parse(bytes, bytes + count, is_shallow, false);
    const char* const damaged = "it is damaged: ";
    if (file.is_discarded() || !file.is_object())
        fail(VOLTA_INVALID_ARGUMENT, "%sit is no JSON object", damaged);
    require(text(file, "format") == kFormat, "%s'format' is not \"%s\"", damaged, kFormat);
    const std::int64_t version = integer(file, "version"), contract = integer(file, "contract");
    require(version == kVersion, "it is of version %lld, this program reads version %d",
            static_cast<long long>(version), kVersion);
    require(contract == VOLTA_CONTRACT_VERSION,
            "it is stale: measured under numeric contract %lld, this is contract %d",
            static_cast<long long>(contract), VOLTA_CONTRACT_VERSION);
    require(text(file, place.member) == place.signature, "it is foreign: measured on the %s %.80s",
            place.kind, text(file, place.member).c_str());
    const Json& list = member(file, "products");
    require(list.is_array(), "'products' is no list");
    require(list.size() <= kMostTuningEntries, "it has %zu products, at most %zu are read", list.size(),
            kMostTuningEntries);
    return list;
}

void print_head(const TuningPlace& place, std::pmr::string& out) {
    char head[512];
    std::snprintf(
        head, sizeof head,
        "{\"format\": \"%s\", \"version\": %d, \"contract\": %d,\n \"%s\": \"%s\",\n \"products\": [",
        kFormat, kVersion, VOLTA_CONTRACT_VERSION, place.member, place.signature);
    out += head;
}

}  // namespace tuning_json
}  // namespace volta
