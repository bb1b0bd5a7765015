#include "engine/group/group.h"

#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/group/transport.h"

namespace volta {

namespace {

constexpr TransportRow kTransports[] = {
    {"local", Address::needed, false, open_local_group}, {"tcp", Address::needed, false, open_tcp_group},
    {"mpi", Address::optional, true, open_mpi_group},    {"nccl", Address::needed, false, open_nccl_group},
    {"host", Address::none, false, open_host_group},
};
constexpr std::uint32_t kMostRanks = 1024;
constexpr double kTimeout = 30, kLongestTimeout = 86400;

const TransportRow& transport_row(const char* name) {
    if (name == nullptr) return kTransports[0];
    for (const TransportRow& row : kTransports)
        if (std::strcmp(row.name, name) == 0) return row;
    fail(VOLTA_INVALID_ARGUMENT, "transport is \"%s\", there are local, tcp, mpi, nccl and host", name);
}

void require_rank(std::uint32_t rank, std::uint32_t size) {
    require(size <= kMostRanks && (size & (size - 1)) == 0, "size is %u, it must be a power of two up to %u",
            size, kMostRanks);
    require(rank < size, "rank is %u, the group has ranks 0 to %u", rank, size - 1);
}

}  // namespace

SharedMemory Group::share(std::uint64_t, std::uint64_t) { return SharedMemory(); }

void Group::exchange_on_device(std::uint32_t, const DevicePieces&, const DevicePieces&) {
    fail(VOLTA_INTERNAL, "the group's transport does not reach the memory of devices");
}

GroupRef open_group(const volta_group_options& c, std::pmr::memory_resource* heap, DeviceStream* device) {
    const TransportRow& transport = transport_row(c.transport);
    GroupOptions options = {};
    options.size = c.size == 0 && !transport.knows_size ? 1 : c.size;
    options.rank = c.rank;
    if (!transport.knows_size) require_rank(options.rank, options.size);
    options.timeout = c.timeout == 0 ? kTimeout : c.timeout;
    if (!(options.timeout > 0 && options.timeout <= kLongestTimeout))  // NaN fails too
        fail(VOLTA_INVALID_ARGUMENT, "timeout is %g, it must be above 0 and at most %g seconds", c.timeout,
             kLongestTimeout);
    const bool has_address = c.address != nullptr && *c.address != '\0';
    require(transport.address == Address::optional || has_address == (transport.address == Address::needed),
            "transport %s %s address, %s given", transport.name,
            transport.address == Address::needed ? "needs an" : "has no", has_address ? "one is" : "none is");
    options.address = c.address;
    require((c.exchange != nullptr) == (transport.open == open_host_group),
            "transport is %s and exchange is %s", transport.name, c.exchange == nullptr ? "NULL" : "given");
    options.exchange = c.exchange;
    options.user = c.user;
    require(c.library == nullptr || transport.open == open_nccl_group,
            "library is given, and transport is %s: it names that of nccl", transport.name);
    options.library = c.library;
    options.device = device;
    GroupRef group = transport.open(options, heap);
    if (transport.knows_size) require_rank(group->rank(), group->size());
    return group;
}

}  // namespace volta
