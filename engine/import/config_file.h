// The config.json of a model: its members by name, "a.b" and "a.b.c" for members of members, "a[]" for the
// texts and numbers of a list. What lies deeper is left out. A member that is asked for must stand there
// once, or with one value: readers of JSON differ in which of two they take.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/import/json_events.h"

namespace volta {

class ConfigFile final {
  public:
    static constexpr std::size_t kMostDepth = 3;
    // Throws IO_ERROR, CORRUPT_MODEL. `depth`: what lies deeper is left out.
    ConfigFile(const char* path, std::pmr::memory_resource* heap);
    ConfigFile(std::string_view json, std::pmr::memory_resource* heap, std::size_t depth = kMostDepth);

    bool has(std::string_view name) const;  // and is not null
    bool is_list(std::string_view name) const;
    bool is_null(std::string_view name) const;  // it is there, as null
    // Of names that mean one thing, the first that is there, else the first. Throws UNSUPPORTED with both
    // values where two of them differ.
    std::string_view first_of(std::initializer_list<std::string_view> names) const;
    // The texts of a list; empty: it is not there.
    std::pmr::vector<std::string_view> list(std::string_view name, std::pmr::memory_resource* heap) const;
    // The numbers of a list, true as 1 and false as 0; empty: it is not there.
    std::pmr::vector<double> numbers(std::string_view name, std::pmr::memory_resource* heap) const;
    // Throw CORRUPT_MODEL when the member is of another type, or missing where there is no fallback, and
    // UNSUPPORTED when it is there twice with two values.
    std::int64_t integer(std::string_view name) const;
    std::int64_t integer(std::string_view name, std::int64_t fallback) const;
    double number(std::string_view name, double fallback) const;
    bool truth(std::string_view name, bool fallback) const;
    std::string_view text(std::string_view name, std::string_view fallback) const;
    // Throw UNSUPPORTED when the member is there and is something else.
    void expect(std::string_view name, bool value) const;
    void expect(std::string_view name, std::string_view value) const;
    void expect_absent(std::string_view name) const;
    // An object may be there, but of its members only `name`.
    void expect_only(std::string_view object, std::string_view name) const;
    // As if an object, and every member of it, had been asked for.
    void set_read(std::string_view object) const;
    // Throws UNSUPPORTED naming a member, and its value, that nobody has asked for, unless
    // has_no_effect(name) or it is null. Of an object all members count if one of them has been asked for.
    void expect_all_read(bool (*has_no_effect)(std::string_view name)) const;

  private:
    struct Member {
        std::pmr::string name, text;
        JsonKind kind;
        bool truth;
        std::uint64_t integer;
        double number;
        mutable bool read = false;  // somebody has asked for it
    };
    class Sink;
    struct ValueText;
    static bool same(const Member& a, const Member& b);
    static bool is_element(const Member& member, std::string_view list);
    void read(std::string_view json, std::size_t depth, std::pmr::memory_resource* heap);
    const Member* find(std::string_view name) const;
    const Member* find(std::string_view name, JsonKind kind, const char* kind_name) const;
    std::pmr::vector<Member> members_;
};

}  // namespace volta
