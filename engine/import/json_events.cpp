// The one file of this folder that knows the JSON parser.
#include "engine/import/json_events.h"

#include <algorithm>
#include <string>

#define JSON_ASSERT(condition) static_cast<void>(0)  // the engine never ends the process
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/new_scope.h"
#include "engine/import/file_kind.h"

namespace volta {
namespace {

constexpr std::size_t kMostDepth = 16;

// The parser's handler, by the names it asks for. It reports by the sink's or its own Error.
class Handler {
  public:
    Handler(const char* what, JsonSink& sink, std::pmr::memory_resource* heap)
        : what_(what), sink_(sink), path_(heap) {}

    bool null() {
        return give(JsonKind::null, [](JsonEvent&) {});
    }
    bool boolean(bool value) {
        return give(JsonKind::truth, [&](JsonEvent& event) { event.truth = value; });
    }
    bool number_integer(std::int64_t value) {
        return give(JsonKind::number, [&](JsonEvent& event) { event.number = static_cast<double>(value); });
    }
    bool number_unsigned(std::uint64_t value) {
        return give(JsonKind::integer, [&](JsonEvent& event) {
            event.integer = value;
            event.number = static_cast<double>(value);
        });
    }
    bool number_float(double value, const std::string&) {
        return give(JsonKind::number, [&](JsonEvent& event) { event.number = value; });
    }
    bool string(const std::string& value) {
        return give(JsonKind::text, [&](JsonEvent& event) { event.text = value; });
    }
    template <class Binary>
    bool binary(const Binary&) {
        return false;  // JSON text has none
    }
    bool start_object(std::size_t) { return begin(JsonKind::begin_object); }
    bool end_object() { return end(JsonKind::end_object); }
    bool start_array(std::size_t) { return begin(JsonKind::begin_array); }
    bool end_array() { return end(JsonKind::end_array); }
    bool key(const std::string& value) {
        path_.back().assign(value);
        return true;
    }
    template <class Exception>
    bool parse_error(std::size_t position, const std::string&, const Exception&) {
        fail(VOLTA_CORRUPT_MODEL, "%s is no valid JSON at byte %zu", what_, position);
    }

  private:
    template <class Fill>
    bool give(JsonKind kind, Fill fill) {
        JsonEvent event(kind, path_);
        fill(event);
        sink_.take(event);
        return true;
    }
    bool begin(JsonKind kind) {
        if (path_.size() == kMostDepth)
            fail(VOLTA_CORRUPT_MODEL, "%s is nested more than %zu deep", what_, kMostDepth);
        give(kind, [](JsonEvent&) {});
        path_.emplace_back();
        return true;
    }
    bool end(JsonKind kind) {
        path_.pop_back();
        return give(kind, [](JsonEvent&) {});
    }

    const char* what_;
    JsonSink& sink_;
    std::pmr::vector<std::pmr::string> path_;
};

constexpr std::string_view kNoNumbers[] = {"-Infinity", "Infinity", "NaN"};

// The text with a list of spaces for each of them outside of strings; empty: it has none.
std::pmr::string without_no_numbers(std::string_view text, std::pmr::memory_resource* heap) {
    std::pmr::string copy(heap);
    if (text.find(kNoNumbers[1]) == text.npos && text.find(kNoNumbers[2]) == text.npos) return copy;
    copy = text;
    bool in_string = false;
    for (std::size_t at = 0; at < copy.size(); ++at) {
        if (copy[at] == '"') in_string = !in_string;
        if (in_string) {
            at += copy[at] == '\\';
            continue;
        }
        for (const std::string_view word : kNoNumbers) {
            if (copy.compare(at, word.size(), word) != 0) continue;
            std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(at), word.size(), ' ');
            copy[at] = '[';
            copy[at += word.size() - 1] = ']';
            break;
        }
    }
    return copy;
}

}  // namespace

void read_json(std::string_view text, const char* what, JsonSink& sink, std::pmr::memory_resource* heap) {
    if (const char* kind = other_file_kind(text)) fail(VOLTA_UNSUPPORTED, "%s is %s", what, kind);
    const std::pmr::string copy = without_no_numbers(text, heap);
    if (!copy.empty()) text = copy;
    Handler handler(what, sink, heap);
    const NewScope parser(heap);
    nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
}

}  // namespace volta
