#include "engine/import/json_tree.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {

const JsonValue* JsonValue::find(std::string_view name) const {
    for (const JsonValue& member : members)
        if (member.key == name) return member.kind != JsonKind::null ? &member : nullptr;
    return nullptr;
}

JsonValue& JsonTree::place(const JsonEvent& event) {
    if (++count_ > kMostValues)
        fail(VOLTA_UNSUPPORTED, "its member '%s' has more than %zu values", event.path[0].c_str(),
             kMostValues);
    if (open_.empty()) {
        if (count_ > 1) fail(VOLTA_UNSUPPORTED, "its member '%s' is there twice", event.path[0].c_str());
        return root_;
    }
    open_.back()->members.emplace_back(root_.key.get_allocator().resource());
    return open_.back()->members.back();
}

// Which of two members of one name counts, programs do not agree on.
void JsonTree::close(std::string_view name) {
    const JsonValue& value = *open_.back();
    open_.pop_back();
    if (!value.is_object()) return;
    std::pmr::vector<std::string_view> keys(root_.key.get_allocator().resource());
    for (const JsonValue& member : value.members) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return;
    const ShownName whole = shown(name), part = shown(*twice);
    fail(VOLTA_UNSUPPORTED, "its %.*s has '%.*s' twice", whole.bytes, whole.text, part.bytes, part.text);
}

void JsonTree::take(const JsonEvent& event) {
    if (event.kind == JsonKind::end_object || event.kind == JsonKind::end_array) {
        if (!open_.empty()) close(event.path[0]);
        return;
    }
    JsonValue& value = place(event);
    value.kind = event.kind;
    if (event.depth() >= depth_ && event.depth() > 0) value.key = event.path.back();
    value.text = event.text;
    value.truth = event.truth;
    value.number = event.number;
    value.integer = event.integer;
    if (event.kind == JsonKind::begin_object || event.kind == JsonKind::begin_array) open_.push_back(&value);
}

}  // namespace volta
