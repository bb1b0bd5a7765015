#include "engine/runtime/frozen.h"

#include "engine/base/error.h"

namespace volta {
namespace {

// Back to the last star, which takes one character more, where something does not fit.
bool matches(const char* pattern, const char* name) {
    const char *star = nullptr, *resumed = nullptr;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            resumed = name;
        } else if (*pattern == '?' || *pattern == *name) {
            ++pattern;
            ++name;
        } else if (star != nullptr) {
            pattern = star + 1;
            name = ++resumed;
        } else {
            return false;
        }
    }
    while (*pattern == '*') ++pattern;
    return *pattern == '\0';
}

}  // namespace

std::pmr::vector<std::int32_t> frozen_parameters(const Model& model, const char* const* patterns,
                                                 std::size_t count, std::pmr::memory_resource* heap) {
    require((patterns == nullptr) == (count == 0), "frozen is %s and frozen_count is %zu",
            patterns == nullptr ? "NULL" : "given", count);
    std::pmr::vector<char> frozen(model.parameters.size(), 0, heap);
    for (std::size_t i = 0; i < count; ++i) {
        const char* const pattern = patterns[i];
        require(pattern != nullptr, "frozen[%zu] is NULL", i);
        const bool is_name = model.find_parameter(pattern) != nullptr;
        bool any = false;
        for (std::size_t p = 0; p < frozen.size(); ++p) {
            const std::pmr::string& name = model.parameters[p].name;
            if (is_name ? name != pattern : !matches(pattern, name.c_str())) continue;
            frozen[p] = 1;
            any = true;
        }
        require(any, "nothing is frozen by '%.200s': the model has no such parameter", pattern);
    }
    std::pmr::vector<std::int32_t> places(heap);
    for (std::size_t p = 0; p < frozen.size(); ++p)
        if (frozen[p] != 0 || model.parameters[p].is_lent) places.push_back(static_cast<std::int32_t>(p));
    return places;
}

}  // namespace volta
