#include "engine/group/group.h"

#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/group/transport.h"

namespace volta {

namespace {

constexpr TransportRow kTransports[] = {
    {"local", true, open_local_group},
    {"tcp", true, open_tcp_group},
    {"host", false, open_host_group},
};
constexpr std::uint32_t kMostRanks = 1024;
constexpr double kTimeout = 30, kLongestTimeout = 86400;

const TransportRow& transport_row(const char* name) {
    if (name == nullptr) return kTransports[0];
    for (const TransportRow& row : kTransports)
        if (std::strcmp(row.name, name) == 0) return row;
    fail(VOLTA_INVALID_ARGUMENT, "transport is \"%s\", there are local, tcp and host", name);
}

}  // namespace

GroupRef open_group(const volta_group_options& c, std::pmr::memory_resource* heap) {
    const TransportRow& transport = transport_row(c.transport);
    GroupOptions options = {};
    options.size = c.size == 0 ? 1 : c.size;
    options.rank = c.rank;
    require(options.size <= kMostRanks && (options.size & (options.size - 1)) == 0,
            "size is %u, it must be a power of two up to %u", options.size, kMostRanks);
    require(options.rank < options.size, "rank is %u, the group has ranks 0 to %u", options.rank,
            options.size - 1);
    options.timeout = c.timeout == 0 ? kTimeout : c.timeout;
    if (!(options.timeout > 0 && options.timeout <= kLongestTimeout))  // NaN fails too
        fail(VOLTA_INVALID_ARGUMENT, "timeout is %g, it must be above 0 and at most %g seconds", c.timeout,
             kLongestTimeout);
    const bool has_address = c.address != nullptr && *c.address != '\0';
    require(has_address == transport.has_address, "transport %s %s address, %s given", transport.name,
            transport.has_address ? "needs an" : "has no", has_address ? "one is" : "none is");
    options.address = c.address;
    require((c.exchange != nullptr) == (transport.open == open_host_group),
            "transport is %s and exchange is %s", transport.name, c.exchange == nullptr ? "NULL" : "given");
    options.exchange = c.exchange;
    options.user = c.user;
    return transport.open(options, heap);
}

}  // namespace volta
