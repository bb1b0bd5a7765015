// How the ranks of a group find each other and connect, each with each: rank 0 is where the others come
// first, and what it answers when all are there says of which run they are and, where no name says it, where
// each of them listens.
#pragma once

#include <sys/socket.h>

#include "engine/group/socket_link.h"
#include "engine/group/transport.h"

namespace volta {

struct SocketAddress {
    sockaddr_storage storage;
    socklen_t bytes;
};

class Meeting {
  public:
    virtual ~Meeting() = default;
    virtual Socket listen() = 0;                      // this rank
    virtual std::uint32_t port() const noexcept = 0;  // where it listens, if its address is to be learnt
    // Of a lower rank, at the n-th try.
    virtual SocketAddress address_of(std::uint32_t rank, std::uint32_t attempt) = 0;
    virtual bool can_share() const noexcept = 0;                     // memory: all ranks are on one machine
    virtual std::pmr::vector<SocketAddress>* learnt() noexcept = 0;  // of all ranks; NULL: none are
};

// The links with all other ranks, into `mesh`. What was connected when it fails is there too, to be told.
// Returns the file of the memory that the ranks share; none where they cannot.
Socket join_mesh(const GroupOptions& options, Meeting& meeting, Mesh& mesh);

[[noreturn]] void fail_system(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));
Socket make_socket(int family);

}  // namespace volta
