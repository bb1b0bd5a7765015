// The config.json of a model: its members by name, "a.b" for a member of a member. Lists and what lies deeper
// are left out.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/import/json_events.h"

namespace volta {

class ConfigFile final {
  public:
    // Throws IO_ERROR, CORRUPT_MODEL.
    ConfigFile(const char* path, std::pmr::memory_resource* heap);
    ConfigFile(std::string_view json, std::pmr::memory_resource* heap);

    bool has(std::string_view name) const;  // and is not null
    // Throw CORRUPT_MODEL when the member is of another type, or missing where there is no fallback.
    std::int64_t integer(std::string_view name) const;
    std::int64_t integer(std::string_view name, std::int64_t fallback) const;
    double number(std::string_view name, double fallback) const;
    bool truth(std::string_view name, bool fallback) const;
    std::string_view text(std::string_view name, std::string_view fallback) const;
    // Throw UNSUPPORTED when the member is there and is something else.
    void expect(std::string_view name, bool value) const;
    void expect(std::string_view name, double value) const;
    void expect_absent(std::string_view name) const;

  private:
    struct Member {
        std::pmr::string name, text;
        JsonKind kind;
        bool truth;
        std::uint64_t integer;
        double number;
    };
    class Sink;
    void read(std::string_view json, std::pmr::memory_resource* heap);
    const Member* find(std::string_view name, JsonKind kind, const char* kind_name) const;
    std::pmr::vector<Member> members_;  // null ones are left out
};

}  // namespace volta
