// volta.h: groups.
#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"

using namespace volta;
using namespace volta::api;

volta_status volta_group_create(volta_context* context, const volta_group_options* options,
                                volta_group** out_group) {
    if (out_group != nullptr) *out_group = nullptr;
    return guarded([&] {
        require(out_group != nullptr, "out_group is NULL");
        require(context != nullptr, "context is NULL");
        const ContextRef owner(unwrap(context));
        GroupRef group = open_group(read_options(options), owner->structures(), owner->device_stream());
        *out_group = make_handle<volta_group>(owner, std::move(group));
    });
}

void volta_group_release(volta_group* group) {
    unfailing([&] { end_handle(group); });
}

uint32_t volta_group_rank(const volta_group* group) { return group == nullptr ? 0 : group->group->rank(); }
uint32_t volta_group_size(const volta_group* group) { return group == nullptr ? 0 : group->group->size(); }
