#include "engine/import/config_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20;
constexpr std::size_t kMostMembers = 65536;  // label lists have thousands
constexpr std::uint64_t kLargestInteger = std::uint64_t{1} << 62;

bool is_number(JsonKind kind) { return kind == JsonKind::integer || kind == JsonKind::number; }

}  // namespace

bool ConfigFile::same(const Member& a, const Member& b) {
    if (a.kind == JsonKind::integer && b.kind == JsonKind::integer) return a.integer == b.integer;
    if (is_number(a.kind) && is_number(b.kind)) return a.number == b.number;
    return a.kind == b.kind && a.truth == b.truth && a.text == b.text;
}

class ConfigFile::Sink final : public JsonSink {
  public:
    Sink(std::pmr::vector<Member>& members, std::size_t depth, std::pmr::memory_resource* heap)
        : members_(members), depth_(depth), heap_(heap) {}

    void take(const JsonEvent& event) override {
        if (event.depth() == 0 && event.kind != JsonKind::begin_object && event.kind != JsonKind::end_object)
            fail(VOLTA_CORRUPT_MODEL, "the config is no object");
        const bool is_value = event.kind == JsonKind::text || event.kind == JsonKind::truth ||
                              event.kind == JsonKind::integer || event.kind == JsonKind::number;
        const bool in_list =
            event.depth() >= 2 && event.depth() <= depth_ && event.path.back().empty() && is_value;
        const bool member = event.depth() >= 1 && event.depth() <= depth_ && !event.path.back().empty();
        if ((!member && !in_list) || event.kind == JsonKind::end_object || event.kind == JsonKind::end_array)
            return;
        if (members_.size() == kMostMembers)
            fail(VOLTA_CORRUPT_MODEL, "the config has more than %zu members", kMostMembers);
        std::pmr::string name(event.path[0], heap_);
        for (std::size_t i = 1; i < event.depth(); ++i)
            event.path[i].empty() ? name += "[]" : (name += '.') += event.path[i];
        members_.push_back({std::move(name), std::pmr::string(event.text, heap_), event.kind, event.truth,
                            event.integer, event.number});
    }

  private:
    std::pmr::vector<Member>& members_;
    const std::size_t depth_;
    std::pmr::memory_resource* heap_;
};

ConfigFile::ConfigFile(const char* path, std::pmr::memory_resource* heap) : members_(heap) {
    const Buffer text = read_file(path, heap, kMostConfigBytes);
    read({static_cast<const char*>(text.data()), text.bytes()}, kMostDepth, heap);
}
ConfigFile::ConfigFile(std::string_view json, std::pmr::memory_resource* heap, std::size_t depth)
    : members_(heap) {
    read(json, depth, heap);
}
void ConfigFile::read(std::string_view json, std::size_t depth, std::pmr::memory_resource* heap) {
    Sink sink(members_, depth, heap);
    read_json(json, "the config", sink, heap);
}

// A member's value for a message.
struct ConfigFile::ValueText {
    explicit ValueText(const Member& member) {
        switch (member.kind) {
            case JsonKind::null:
                std::snprintf(text, sizeof text, "null");
                break;
            case JsonKind::truth:
                std::snprintf(text, sizeof text, "%s", member.truth ? "true" : "false");
                break;
            case JsonKind::integer:
            case JsonKind::number:
                *std::to_chars(text, text + sizeof text - 1, member.number).ptr = '\0';
                break;
            case JsonKind::text: {
                const ShownName part = shown(member.text);
                std::snprintf(text, sizeof text, "'%.*s'", part.bytes, part.text);
                break;
            }
            default:
                std::snprintf(text, sizeof text, "%s",
                              member.kind == JsonKind::begin_array ? "a list" : "an object");
        }
    }
    char text[160];
};

// The member, if it is not null. A second one of the name must be the same.
const ConfigFile::Member* ConfigFile::find(std::string_view name) const {
    const Member* found = nullptr;
    const std::string_view object = name.substr(0, std::min(name.find('.'), name.size()));
    int objects = 0;
    for (const Member& member : members_) {
        if (member.kind == JsonKind::begin_object && member.name == object && ++objects > 1)
            fail(VOLTA_UNSUPPORTED, "the config has '%.*s' twice", static_cast<int>(object.size()),
                 object.data());
        if (member.name != name) continue;
        member.read = true;
        if (found != nullptr && !same(*found, member))
            fail(VOLTA_UNSUPPORTED, "the config has '%.*s' twice, %s and %s", static_cast<int>(name.size()),
                 name.data(), ValueText(*found).text, ValueText(member).text);
        if (found == nullptr) found = &member;
    }
    return found != nullptr && found->kind != JsonKind::null ? found : nullptr;
}

bool ConfigFile::has(std::string_view name) const { return find(name) != nullptr; }

bool ConfigFile::is_list(std::string_view name) const {
    const Member* member = find(name);
    return member != nullptr && member->kind == JsonKind::begin_array;
}

std::string_view ConfigFile::first_of(std::initializer_list<std::string_view> names) const {
    const Member* first = nullptr;
    for (const std::string_view name : names) {
        const Member* member = find(name);
        if (member == nullptr) continue;
        if (first != nullptr && !same(*first, *member)) {
            const ShownName a = shown(first->name), b = shown(member->name);
            fail(VOLTA_UNSUPPORTED, "the config has '%.*s' %s and '%.*s' %s, which must be one value",
                 a.bytes, a.text, ValueText(*first).text, b.bytes, b.text, ValueText(*member).text);
        }
        if (first == nullptr) first = member;
    }
    return first != nullptr ? std::string_view(first->name) : *names.begin();
}

std::pmr::vector<std::string_view> ConfigFile::list(std::string_view name,
                                                    std::pmr::memory_resource* heap) const {
    std::pmr::vector<std::string_view> texts(heap);
    for (const Member& member : members_) {
        if (member.name == name) member.read = true;
        const bool is_text = member.kind == JsonKind::text;
        if (is_text && (is_element(member, name) || member.name == name)) texts.push_back(member.text);
    }
    return texts;
}

std::pmr::vector<double> ConfigFile::numbers(std::string_view name, std::pmr::memory_resource* heap) const {
    std::pmr::vector<double> numbers(heap);
    for (const Member& member : members_) {
        if (member.name == name) member.read = true;
        if (!is_element(member, name)) continue;
        if (member.kind == JsonKind::text)
            fail(VOLTA_CORRUPT_MODEL, "'%.*s' of the config has a text, where numbers are needed",
                 static_cast<int>(name.size()), name.data());
        numbers.push_back(member.kind == JsonKind::truth ? static_cast<double>(member.truth) : member.number);
    }
    return numbers;
}

bool ConfigFile::is_element(const Member& member, std::string_view list) {
    const std::string_view name = member.name;
    return name.size() == list.size() + 2 && name.substr(0, list.size()) == list &&
           name.substr(list.size()) == "[]";
}

bool ConfigFile::is_null(std::string_view name) const {
    return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
        return member.name == name && member.kind == JsonKind::null;
    });
}

const ConfigFile::Member* ConfigFile::find(std::string_view name, JsonKind kind,
                                           const char* kind_name) const {
    const Member* member = find(name);
    if (member == nullptr) return nullptr;
    const bool fits = member->kind == kind || (kind == JsonKind::number && member->kind == JsonKind::integer);
    if (!fits || (kind == JsonKind::integer && member->integer >= kLargestInteger))
        fail(VOLTA_CORRUPT_MODEL, "'%.*s' of the config is no %s", static_cast<int>(name.size()), name.data(),
             kind_name);
    return member;
}

std::int64_t ConfigFile::integer(std::string_view name) const {
    if (!has(name))
        fail(VOLTA_CORRUPT_MODEL, "the config has no '%.*s'", static_cast<int>(name.size()), name.data());
    return integer(name, 0);
}
std::int64_t ConfigFile::integer(std::string_view name, std::int64_t fallback) const {
    const Member* member = find(name, JsonKind::integer, "whole number");
    return member != nullptr ? static_cast<std::int64_t>(member->integer) : fallback;
}
double ConfigFile::number(std::string_view name, double fallback) const {
    const Member* member = find(name, JsonKind::number, "number");
    return member != nullptr ? member->number : fallback;
}
bool ConfigFile::truth(std::string_view name, bool fallback) const {
    const Member* member = find(name, JsonKind::truth, "true or false");
    return member != nullptr ? member->truth : fallback;
}
std::string_view ConfigFile::text(std::string_view name, std::string_view fallback) const {
    const Member* member = find(name, JsonKind::text, "text");
    return member != nullptr ? std::string_view(member->text) : fallback;
}

void ConfigFile::expect(std::string_view name, bool value) const {
    if (truth(name, value) != value)
        fail(VOLTA_UNSUPPORTED, "the config has '%.*s' %s, Volta's model is one where it is %s",
             static_cast<int>(name.size()), name.data(), value ? "false" : "true", value ? "true" : "false");
}
void ConfigFile::expect(std::string_view name, std::string_view value) const {
    const std::string_view given = text(name, value);
    if (given == value) return;
    const ShownName part = shown(given);
    fail(VOLTA_UNSUPPORTED, "the config has '%.*s' '%.*s', Volta's model is one where it is '%.*s'",
         static_cast<int>(name.size()), name.data(), part.bytes, part.text, static_cast<int>(value.size()),
         value.data());
}
void ConfigFile::expect_absent(std::string_view name) const {
    if (has(name))
        fail(VOLTA_UNSUPPORTED, "the config has '%.*s', which Volta's model has not",
             static_cast<int>(name.size()), name.data());
}
void ConfigFile::expect_only(std::string_view object, std::string_view name) const {
    for (const Member& member : members_) {
        const std::string_view whole = member.name;
        if (whole == object && member.kind != JsonKind::begin_object && member.kind != JsonKind::null)
            expect_absent(object);
        const bool inside = whole.size() > object.size() && whole.substr(0, object.size()) == object &&
                            whole[object.size()] == '.';
        if (inside && whole.substr(object.size() + 1) != name && member.kind != JsonKind::null)
            expect_absent(whole);
    }
}

void ConfigFile::set_read(std::string_view object) const {
    for (const Member& member : members_) {
        const std::string_view name = member.name;
        const bool inside = name.size() > object.size() && name[object.size()] == '.';
        if (name.substr(0, object.size()) == object && (name == object || inside)) member.read = true;
    }
}

void ConfigFile::expect_all_read(bool (*has_no_effect)(std::string_view name)) const {
    const auto top_of = [](const Member& member) {
        return std::string_view(member.name).substr(0, member.name.find_first_of(".["));
    };
    const auto any_read = [&](std::string_view top) {
        return std::any_of(members_.begin(), members_.end(),
                           [&](const Member& other) { return other.read && top_of(other) == top; });
    };
    for (const Member& member : members_) {
        const std::string_view name = member.name, top = top_of(member);
        const bool is_group = member.kind == JsonKind::begin_object || name.back() == ']';
        if (member.read || member.kind == JsonKind::null || has_no_effect(top) || has_no_effect(name))
            continue;
        if (is_group && (name.back() == ']' || any_read(top))) continue;  // lists are read whole
        const ShownName part = shown(name);
        fail(VOLTA_UNSUPPORTED, "the config has '%.*s' %s; what it does to the model is not known",
             part.bytes, part.text, ValueText(member).text);
    }
}

}  // namespace volta
