#include "engine/backend/tuning/tuning_json.h"

#include <charconv>
#include <cstdio>

#define JSON_ASSERT(condition) static_cast<void>(0)  // the engine never ends the process
#include <nlohmann/json.hpp>

#include "engine/base/new_scope.h"

namespace volta {
namespace {

constexpr const char* kFormat = "volta matmul tuning";
constexpr int kVersion = 1;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
constexpr double kMostSeconds = 1e6;
constexpr std::size_t kMostDepth = 8;     // of lists and objects; what is written is three deep
constexpr std::size_t kMostMembers = 64;  // of an object; those that are read have less than 20

void check_extent(const char* name, std::int64_t extent) {
    require(extent >= 1 && extent <= kMostExtent, "%s is %lld, it must be in 1 .. 2^40", name,
            static_cast<long long>(extent));
}
void check_seconds(const char* name, double seconds) {
    require(seconds > 0 && seconds <= kMostSeconds, "%s is %g, it must be above 0 and at most 1e6", name,
            seconds);
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
namespace {

// The parser's handler, by the names it asks for: the file's object, and the list of its products. What lies
// deeper is skipped. Checks are made of what it has when all of it has been read: that it is JSON comes
// first.
class Handler final {
  public:
    explicit Handler(std::pmr::memory_resource* heap) : file(heap), products(heap), heap_(heap) {}

    Object file;
    std::pmr::vector<Object> products;
    std::size_t product_count = 0;

    bool null() {
        put(Member::Kind::other);
        return true;
    }
    bool boolean(bool value) {
        if (Member* const member = put(Member::Kind::truth)) member->truth = value;
        return true;
    }
    bool number_integer(std::int64_t value) {
        if (Member* const member = put(Member::Kind::integer)) {
            member->integer = value;
            member->number = static_cast<double>(value);
        }
        return true;
    }
    bool number_unsigned(std::uint64_t value) {
        if (Member* const member = put(Member::Kind::integer)) {
            member->integer = static_cast<std::int64_t>(value);
            member->number = static_cast<double>(value);
            member->is_too_large = value > std::uint64_t{1} << 62;
        }
        return true;
    }
    bool number_float(double value, const std::string&) {
        if (Member* const member = put(Member::Kind::real)) member->number = value;
        return true;
    }
    bool string(const std::string& value) {
        if (Member* const member = put(Member::Kind::text)) member->text = value;
        return true;
    }
    template <class Binary>
    bool binary(const Binary&) {
        return false;  // JSON text has none
    }
    bool start_object(std::size_t) {
        if (depth_ == 0) {
            file.is_object = true;
        } else {
            put(Member::Kind::other);
            if (depth_ == 2 && in_products_ && !products.empty() && product_count <= kMostTuningEntries)
                products.back().is_object = true;
        }
        return open();
    }
    bool start_array(std::size_t) {
        Member* const member = put(Member::Kind::list);
        if (member != nullptr && depth_ == 1 && member->name == "products") {
            in_products_ = true;
            products.clear();
            product_count = 0;
        }
        return open();
    }
    bool end_object() { return close(); }
    bool end_array() {
        if (depth_ == 2) in_products_ = false;
        return close();
    }
    bool key(const std::string& name) {
        Object* const object = here();
        if (object == nullptr) return true;
        if (object->members.size() == kMostMembers)
            fail(VOLTA_INVALID_ARGUMENT, "an object has more than %zu members", kMostMembers);
        object->members.emplace_back(heap_);
        object->members.back().name = name;
        return true;
    }
    template <class Exception>
    bool parse_error(std::size_t, const std::string&, const Exception&) {
        return false;
    }

  private:
    // The object whose members are being read: the file's or a product's; NULL: neither.
    Object* here() {
        if (depth_ == 1) return &file;
        const bool in_product = depth_ == 3 && in_products_ && product_count <= kMostTuningEntries &&
                                !products.empty() && products.back().is_object;
        return in_product ? &products.back() : nullptr;
    }
    // The member that has a value now; NULL: it is none that is kept. An element of the list is an entry of
    // its own.
    Member* put(Member::Kind kind) {
        if (depth_ > kMostDepth)
            fail(VOLTA_INVALID_ARGUMENT, "its lists and objects lie more than %zu deep", kMostDepth);
        if (depth_ == 2 && in_products_ && ++product_count <= kMostTuningEntries)
            products.emplace_back(heap_);
        Object* const object = here();
        if (object == nullptr || object->members.empty()) return nullptr;
        Member& member = object->members.back();
        member.kind = kind;
        return &member;
    }
    bool open() {
        ++depth_;
        return true;
    }
    bool close() {
        --depth_;
        return true;
    }

    std::pmr::memory_resource* heap_;
    std::size_t depth_ = 0;  // of lists and objects that are open
    bool in_products_ = false;
};

const Member& member(const Object& object, const char* name) {
    const Member* const found = object.find(name);
    require(found != nullptr, "'%s' is missing", name);
    return *found;
}

}  // namespace

const Member* Object::find(std::string_view name) const {
    for (std::size_t i = members.size(); i-- > 0;)
        if (members[i].name == name) return &members[i];
    return nullptr;
}

std::int64_t integer(const Object& object, const char* name) {
    const Member& value = member(object, name);
    require(value.kind == Member::Kind::integer, "'%s' is no whole number", name);
    require(!value.is_too_large, "'%s' is too large", name);
    return value.integer;
}

std::int64_t up_to(const Object& object, const char* name, std::int64_t most) {
    const std::int64_t value = integer(object, name);
    require(value >= 0 && value <= most, "'%s' is %lld", name, static_cast<long long>(value));
    return value;
}

bool truth(const Object& object, const char* name) {
    const Member& value = member(object, name);
    require(value.kind == Member::Kind::truth, "'%s' is neither true nor false", name);
    return value.truth;
}

double number(const Object& object, const char* name) {
    const Member& value = member(object, name);
    require(value.kind == Member::Kind::integer || value.kind == Member::Kind::real, "'%s' is no number",
            name);
    return value.number;
}

const std::pmr::string& text(const Object& object, const char* name) {
    const Member& value = member(object, name);
    require(value.kind == Member::Kind::text, "'%s' is no text", name);
    return value.text;
}

void Line::begin(const char* name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
}

void Line::integer(const char* name, std::int64_t value) {
    begin(name);
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void Line::number(const char* name, double value) {
    begin(name);
    char digits[40];  // the shortest that reads as the same
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void Line::truth(const char* name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
}

void Line::text(const char* name, const char* value) {
    begin(name);
    out_ += '"';
    out_ += value;
    out_ += '"';
}

void read(const Object& object, ProductKey& key) {
    require(object.is_object, "an entry is no object");
    key.batch = integer(object, "batch");
    key.m = integer(object, "m");
    key.n = integer(object, "n");
    key.k = integer(object, "k");
    key.a_transposed = truth(object, "a_transposed");
    key.b_transposed = truth(object, "b_transposed");
}

void write(const ProductKey& key, Line& line) {
    line.integer("m", key.m);
    line.integer("n", key.n);
    line.integer("k", key.k);
    line.integer("batch", key.batch);
    line.truth("a_transposed", key.a_transposed);
    line.truth("b_transposed", key.b_transposed);
}

std::pmr::vector<Object> read_products(const char* bytes, std::size_t count, const TuningPlace& place,
                                       std::pmr::memory_resource* heap) {
    Handler handler(heap);
    const NewScope parser(heap);
    const char* const damaged = "it is damaged: ";
    if (!nlohmann::json::sax_parse(bytes, bytes + count, &handler) || !handler.file.is_object)
        fail(VOLTA_INVALID_ARGUMENT, "%sit is no JSON object", damaged);
    const Object& file = handler.file;
    require(text(file, "format") == kFormat, "%s'format' is not \"%s\"", damaged, kFormat);
    const std::int64_t version = integer(file, "version"), contract = integer(file, "contract");
    require(version == kVersion, "it is of version %lld, this program reads version %d",
            static_cast<long long>(version), kVersion);
    require(contract == VOLTA_CONTRACT_VERSION,
            "it is stale: measured under numeric contract %lld, this is contract %d",
            static_cast<long long>(contract), VOLTA_CONTRACT_VERSION);
    require(text(file, place.member) == place.signature, "it is foreign: measured on the %s %.80s",
            place.kind, text(file, place.member).c_str());
    require(member(file, "products").kind == Member::Kind::list, "'products' is no list");
    require(handler.product_count <= kMostTuningEntries, "it has %zu products, at most %zu are read",
            handler.product_count, kMostTuningEntries);
    return std::move(handler.products);
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
