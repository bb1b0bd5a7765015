#include "engine/import/json_tree.h"

#include "engine/base/error.h"

namespace volta {

const JsonValue* JsonValue::find(std::string_view name) const {
    const JsonValue* found = nullptr;
    for (const JsonValue& member : members)
        if (member.key == name) found = &member;
    return found != nullptr && found->kind != JsonKind::null ? found : nullptr;
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

void JsonTree::take(const JsonEvent& event) {
    if (event.kind == JsonKind::end_object || event.kind == JsonKind::end_array) {
        if (!open_.empty()) open_.pop_back();
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
