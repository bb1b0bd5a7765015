// Objects of a tuning file's JSON, and members of them, each with what is wrong with it; everything here
// reports by INVALID_ARGUMENT. They are made of the parser's events: its own objects allocate when they end,
// which a host may refuse.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/tuning/tuning_file.h"
#include "engine/base/error.h"

namespace volta::tuning_json {

struct Member {
    enum class Kind : std::uint8_t { other, list, integer, real, truth, text };
    explicit Member(std::pmr::memory_resource* heap) : name(heap), text(heap) {}
    std::pmr::string name, text;
    Kind kind = Kind::other;
    bool truth = false, is_too_large = false;  // is_too_large: an integer beyond 2^62
    std::int64_t integer = 0;
    double number = 0;  // of integers too
};

struct Object {
    explicit Object(std::pmr::memory_resource* heap) : members(heap) {}
    bool contains(std::string_view name) const { return find(name) != nullptr; }
    const Member* find(std::string_view name) const;  // the last of its name

    std::pmr::vector<Member> members;
    bool is_object = false;  // else it is another value in the place of one
};

std::int64_t integer(const Object& object, const char* name);
std::int64_t up_to(const Object& object, const char* name, std::int64_t most);  // 0 .. most
bool truth(const Object& object, const char* name);
double number(const Object& object, const char* name);
const std::pmr::string& text(const Object& object, const char* name);
template <std::size_t N>
int one_of(const Object& object, const char* name, const char* const (&names)[N]) {
    const std::pmr::string& value = text(object, name);
    for (std::size_t i = 0; i < N; ++i)
        if (value == names[i] && !value.empty()) return static_cast<int>(i);
    fail(VOLTA_INVALID_ARGUMENT, "'%s' is '%.32s'", name, value.c_str());
}

// An object on one line. Texts are printed as they are: they have nothing to escape.
class Line final {
  public:
    explicit Line(std::pmr::string& out) : out_(out) { out_ += '{'; }
    void end() { out_ += "}"; }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    void integer(const char* name, std::int64_t value);
    void number(const char* name, double value);
    void truth(const char* name, bool value);
    void text(const char* name, const char* value);

  private:
    void begin(const char* name);
    std::pmr::string& out_;
    bool is_first_ = true;
};

// What all entries have.
void read(const Object& object, ProductKey& key);
void write(const ProductKey& key, Line& line);

// The list of products of a file, for this place.
std::pmr::vector<Object> read_products(const char* bytes, std::size_t count, const TuningPlace& place,
                                       std::pmr::memory_resource* heap);
// What stands before the products.
void print_head(const TuningPlace& place, std::pmr::string& out);

}  // namespace volta::tuning_json
