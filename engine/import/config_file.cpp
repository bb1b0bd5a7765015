#include "engine/import/config_file.h"

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20;
constexpr std::size_t kMostMembers = 65536;  // label lists have thousands
constexpr std::uint64_t kLargestInteger = std::uint64_t{1} << 62;

}  // namespace

class ConfigFile::Sink final : public JsonSink {
  public:
    Sink(std::pmr::vector<Member>& members, std::pmr::memory_resource* heap)
        : members_(members), heap_(heap) {}

    void take(const JsonEvent& event) override {
        if (event.depth() == 0 && event.kind != JsonKind::begin_object && event.kind != JsonKind::end_object)
            fail(VOLTA_CORRUPT_MODEL, "the config is no object");
        const bool member = event.depth() == 1 || (event.depth() == 2 && !event.path[1].empty());
        if (!member || event.kind == JsonKind::null || event.kind == JsonKind::end_object ||
            event.kind == JsonKind::end_array)
            return;
        if (members_.size() == kMostMembers)
            fail(VOLTA_CORRUPT_MODEL, "the config has more than %zu members", kMostMembers);
        std::pmr::string name(event.path[0], heap_);
        if (event.depth() == 2) (name += '.') += event.path[1];
        members_.push_back({std::move(name), std::pmr::string(event.text, heap_), event.kind, event.truth,
                            event.integer, event.number});
    }

  private:
    std::pmr::vector<Member>& members_;
    std::pmr::memory_resource* heap_;
};

ConfigFile::ConfigFile(const char* path, std::pmr::memory_resource* heap) : members_(heap) {
    const Buffer text = read_file(path, heap, kMostConfigBytes);
    read({static_cast<const char*>(text.data()), text.bytes()}, heap);
}
ConfigFile::ConfigFile(std::string_view json, std::pmr::memory_resource* heap) : members_(heap) {
    read(json, heap);
}
void ConfigFile::read(std::string_view json, std::pmr::memory_resource* heap) {
    Sink sink(members_, heap);
    read_json(json, "the config", sink, heap);
}

bool ConfigFile::has(std::string_view name) const {
    for (const Member& member : members_)
        if (member.name == name) return true;
    return false;
}

const ConfigFile::Member* ConfigFile::find(std::string_view name, JsonKind kind,
                                           const char* kind_name) const {
    for (const Member& member : members_) {
        if (member.name != name) continue;
        const bool fits =
            member.kind == kind || (kind == JsonKind::number && member.kind == JsonKind::integer);
        if (!fits || (kind == JsonKind::integer && member.integer >= kLargestInteger))
            fail(VOLTA_CORRUPT_MODEL, "'%.*s' of the config is no %s", static_cast<int>(name.size()),
                 name.data(), kind_name);
        return &member;
    }
    return nullptr;
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
void ConfigFile::expect(std::string_view name, double value) const {
    const double given = number(name, value);
    if (given != value)
        fail(VOLTA_UNSUPPORTED, "the config has '%.*s' %g, Volta's model is one where it is %g",
             static_cast<int>(name.size()), name.data(), given, value);
}
void ConfigFile::expect_absent(std::string_view name) const {
    if (has(name))
        fail(VOLTA_UNSUPPORTED, "the config has '%.*s', which Volta's model has not",
             static_cast<int>(name.size()), name.data());
}

}  // namespace volta
