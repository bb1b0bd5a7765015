// A part of a JSON text as a tree: for parts that are small and nest, such as the steps of a tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/import/json_events.h"

namespace volta {

struct JsonValue {
    explicit JsonValue(std::pmr::memory_resource* heap) : key(heap), text(heap), members(heap) {}
    JsonKind kind = JsonKind::null;  // begin_object, begin_array: of what has members
    std::pmr::string key, text;
    bool truth = false;
    double number = 0;
    std::uint64_t integer = 0;
    std::pmr::vector<JsonValue> members;

    const JsonValue* find(std::string_view name) const;  // NULL: not there, or null
    bool is_text() const { return kind == JsonKind::text; }
    bool is_list() const { return kind == JsonKind::begin_array; }
    bool is_object() const { return kind == JsonKind::begin_object; }
};

// Takes the events below one place of a text.
class JsonTree final {
  public:
    JsonTree(std::size_t depth, std::pmr::memory_resource* heap) : depth_(depth), root_(heap), open_(heap) {}
    // An event at this depth or deeper. Throws UNSUPPORTED for a tree of more than 16384 values, and for an
    // object with two members of one name.
    void take(const JsonEvent& event);
    const JsonValue& root() const { return root_; }

  private:
    JsonValue& place(const JsonEvent& event);
    void close(std::string_view name);
    static constexpr std::size_t kMostValues = 1 << 14;
    std::size_t depth_, count_ = 0;
    JsonValue root_;
    std::pmr::vector<JsonValue*> open_;  // the path to what is read; members of the last only are added
};

}  // namespace volta
