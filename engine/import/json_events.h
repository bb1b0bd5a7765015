// A JSON text as a sequence of events: nothing of it is kept, so a hostile text costs no more memory than its
// longest string, however deep or long it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace volta {

enum class JsonKind { null, truth, integer, number, text, begin_object, end_object, begin_array, end_array };

struct JsonEvent {
    JsonEvent(JsonKind event_kind, const std::pmr::vector<std::pmr::string>& place)
        : kind(event_kind), path(place) {}
    std::size_t depth() const { return path.size(); }

    JsonKind kind;
    // Where: one key for each object and array around it, outermost first; "" inside an array. An object that
    // begins or ends is at its own place, not inside itself.
    const std::pmr::vector<std::pmr::string>& path;
    bool truth = false;
    std::uint64_t integer = 0;  // of a whole number that is not negative
    double number = 0;          // of any number, whole ones too
    std::string_view text;      // UTF-8
};

class JsonSink {
  public:
    virtual void take(const JsonEvent& event) = 0;  // may throw Error

  protected:
    ~JsonSink() = default;
};

// Throws CORRUPT_MODEL "<what> is no valid JSON at byte n", or "<what> is nested more than 16 deep"; of a
// file that is of another kind (file_kind.h), UNSUPPORTED with that. Python writes NaN and Infinity, which
// JSON has not: each arrives as an empty list, which is no value of any setting, so that only who asks for it
// minds.
void read_json(std::string_view text, const char* what, JsonSink& sink, std::pmr::memory_resource* heap);

}  // namespace volta
