// The transports local and tcp: where the ranks listen.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/group/socket_group.h"
#include "engine/group/socket_join.h"

namespace volta {

namespace {

void listen_at(const Socket& socket, const SocketAddress& address, const char* name) {
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.bytes) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0)
        fail_system(errno, "cannot listen at '%s'", name);
}

// ---- local: a Unix socket for each rank, in one folder ----------------------------------------------

class LocalMeeting final : public Meeting {
  public:
    LocalMeeting(const GroupOptions& options, std::pmr::memory_resource* heap)
        : folder_(options.address), rank_(options.rank) {
        make_folders(folder_, heap);
    }
    ~LocalMeeting() override {  // all have come, or this rank gives up: nobody is to find it any more
        struct stat now;
        if (is_there_ && ::lstat(path_, &now) == 0 && now.st_ino == inode_) ::unlink(path_);
    }

    Socket listen() override {
        const SocketAddress address = address_of(rank_, 0);
        std::memcpy(path_, path_of(address), sizeof path_);
        struct stat before;  // a file of a run that was killed; what is no socket is somebody's
        if (::lstat(path_, &before) == 0 && S_ISSOCK(before.st_mode)) ::unlink(path_);
        Socket socket = make_socket(AF_UNIX);
        listen_at(socket, address, path_);
        struct stat now;
        is_there_ = ::lstat(path_, &now) == 0;
        inode_ = is_there_ ? now.st_ino : 0;
        return socket;
    }
    std::uint32_t port() const noexcept override { return 0; }
    SocketAddress address_of(std::uint32_t rank, std::uint32_t) override {
        sockaddr_un name = {};
        name.sun_family = AF_UNIX;
        const int length = format_text(name.sun_path, sizeof name.sun_path, "%s/rank%u", folder_, rank);
        if (length < 0 || static_cast<std::size_t>(length) >= sizeof name.sun_path)
            fail(VOLTA_INVALID_ARGUMENT,
                 "address is a folder whose path has %zu bytes, with a rank's socket in it there may be %zu",
                 std::strlen(folder_), sizeof name.sun_path - 1);
        SocketAddress address = {};
        std::memcpy(&address.storage, &name, sizeof name);
        address.bytes = sizeof name;
        return address;
    }
    bool can_share() const noexcept override { return true; }
    std::pmr::vector<SocketAddress>* learnt() noexcept override { return nullptr; }

  private:
    static const char* path_of(const SocketAddress& address) {
        return reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path;
    }

    const char* const folder_;
    const std::uint32_t rank_;
    char path_[sizeof(sockaddr_un::sun_path)] = "";
    bool is_there_ = false;
    ino_t inode_ = 0;
};

// ---- tcp: rank 0 has an address, and tells the others where the rest is -----------------------------

class TcpMeeting final : public Meeting {
  public:
    TcpMeeting(const GroupOptions& options, std::pmr::memory_resource* heap)
        : rank_(options.rank), name_(options.address), host_(heap), port_text_(heap), learnt_(heap) {
        split();
    }
    ~TcpMeeting() override {
        if (found_ != nullptr) ::freeaddrinfo(found_);
    }

    Socket listen() override { return rank_ == 0 ? listen_as_root() : listen_anywhere(); }
    std::uint32_t port() const noexcept override { return port_; }
    SocketAddress address_of(std::uint32_t rank, std::uint32_t attempt) override {
        return rank == 0 ? address_of_root(attempt) : learnt_[rank];
    }
    bool can_share() const noexcept override { return false; }
    std::pmr::vector<SocketAddress>* learnt() noexcept override { return &learnt_; }

  private:
    void split() {  // HOST:PORT, [HOST]:PORT
        const char* const colon = std::strrchr(name_, ':');
        require(colon != nullptr && colon != name_ && colon[1] != '\0',
                "address is '%s', it must be HOST:PORT", name_);
        host_.assign(name_, colon);
        if (host_.size() > 2 && host_.front() == '[' && host_.back() == ']')
            host_.assign(name_ + 1, colon - 1);
        port_text_ = colon + 1;
        std::uint32_t port = 0;
        for (const char digit : port_text_)
            port = digit < '0' || digit > '9' || port > 65535 ? 65536 : port * 10 + (digit - '0');
        require(port >= 1 && port <= 65535, "address is '%s', its port must be a number from 1 to 65535",
                name_);
    }
    // Names that are not known yet, as where machines of a run come up together, are tried again as ranks
    // are.
    bool look_up(int flags) {
        addrinfo hints = {};
        hints.ai_family = AF_UNSPEC;
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = flags | AI_NUMERICSERV;
        const int error = ::getaddrinfo(host_.c_str(), port_text_.c_str(), &hints, &found_);
        if (error == 0) return true;
        found_ = nullptr;
        if (error == EAI_AGAIN && flags == 0) return false;
        fail(VOLTA_IO_ERROR, "cannot find the host of '%s': %s", name_, ::gai_strerror(error));
    }
    static SocketAddress address_in(const addrinfo& one) {
        SocketAddress address = {};
        address.bytes = one.ai_addrlen;
        std::memcpy(&address.storage, one.ai_addr, one.ai_addrlen);
        return address;
    }
    // The next of those that the name has, since rank 0 listens at the first that its machine has.
    SocketAddress address_of_root(std::uint32_t attempt) {
        if (found_ == nullptr && !look_up(0)) return SocketAddress{};
        std::uint32_t count = 0;
        for (const addrinfo* one = found_; one != nullptr; one = one->ai_next) ++count;
        const addrinfo* one = found_;
        for (std::uint32_t i = attempt % count; i > 0; --i) one = one->ai_next;
        return address_in(*one);
    }
    Socket listen_as_root() {
        look_up(AI_PASSIVE);
        for (const addrinfo* one = found_;; one = one->ai_next) try {
                Socket socket = make_socket(one->ai_family);
                const int on = 1;  // else the port of a run that has just ended is kept
                ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
                listen_at(socket, address_in(*one), name_);
                return socket;
            } catch (const Error&) {
                if (one->ai_next == nullptr) throw;
            }
    }
    // At any address of this machine: rank 0 sees which of them the others reach.
    Socket listen_anywhere() {
        SocketAddress address = {};
        auto* const six = reinterpret_cast<sockaddr_in6*>(&address.storage);
        six->sin6_family = AF_INET6;  // "any" is zeros
        address.bytes = sizeof *six;
        try {
            Socket socket = make_socket(AF_INET6);
            const int off = 0;
            ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
            listen_at(socket, address, "::");
            remember_port(socket);
            return socket;
        } catch (const Error&) {  // a machine without IPv6
        }
        address = {};
        address.storage.ss_family = AF_INET;
        address.bytes = sizeof(sockaddr_in);
        Socket socket = make_socket(AF_INET);
        listen_at(socket, address, "0.0.0.0");
        remember_port(socket);
        return socket;
    }
    void remember_port(const Socket& socket) {
        sockaddr_storage own = {};
        socklen_t bytes = sizeof own;
        if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &bytes) != 0)
            fail_system(errno, "cannot listen");
        port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                                : reinterpret_cast<sockaddr_in*>(&own)->sin_port);
    }

    const std::uint32_t rank_;
    const char* const name_;
    std::pmr::string host_, port_text_;
    std::pmr::vector<SocketAddress> learnt_;
    addrinfo* found_ = nullptr;
    std::uint32_t port_ = 0;
};

template <class Place>
std::shared_ptr<SocketGroup> open_socket_group(const GroupOptions& options, std::pmr::memory_resource* heap) {
    Mesh mesh(heap);
    try {
        Place place(options, heap);
        Socket shared = join_mesh(options, place, mesh);
        auto group = std::allocate_shared<SocketGroup>(std::pmr::polymorphic_allocator<SocketGroup>(heap),
                                                       options.rank, options.timeout, std::move(mesh),
                                                       place.can_share(), std::move(shared));
        group->meet();
        return group;
    } catch (const Error& error) {
        tell_all(mesh, FrameKind::ended, options.rank, error.what());
        throw;
    }
}

}  // namespace

GroupRef open_local_group(const GroupOptions& options, std::pmr::memory_resource* heap) {
    return open_socket_group<LocalMeeting>(options, heap);
}

std::shared_ptr<SocketGroup> open_tcp_sockets(const GroupOptions& options, std::pmr::memory_resource* heap) {
    return open_socket_group<TcpMeeting>(options, heap);
}

GroupRef open_tcp_group(const GroupOptions& options, std::pmr::memory_resource* heap) {
    return open_tcp_sockets(options, heap);
}

}  // namespace volta
