// The transports there are: a row each.
#pragma once

#include "engine/group/group.h"

namespace volta {

struct GroupOptions {          // volta_group_options, checked, with every default decided
    std::uint32_t rank, size;  // 0: not said, of a transport that knows them
    const char* address;
    double timeout;  // seconds
    volta_exchange exchange;
    void* user;
    const char* library;   // NULL: the transport's own
    DeviceStream* device;  // of the context; NULL: it has none
};

enum class Address { none, optional, needed };

struct TransportRow {
    const char* name;
    Address address;
    bool knows_size;  // and rank: it was started with them
    GroupRef (*open)(const GroupOptions& options, std::pmr::memory_resource* heap);
};

GroupRef open_host_group(const GroupOptions& options, std::pmr::memory_resource* heap);
GroupRef open_local_group(const GroupOptions& options, std::pmr::memory_resource* heap);  // Unix sockets
GroupRef open_tcp_group(const GroupOptions& options, std::pmr::memory_resource* heap);
GroupRef open_mpi_group(const GroupOptions& options, std::pmr::memory_resource* heap);
GroupRef open_nccl_group(const GroupOptions& options, std::pmr::memory_resource* heap);

}  // namespace volta
