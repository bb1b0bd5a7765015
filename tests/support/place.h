// Where the ranks of a test meet.
#pragma once

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "include/volta.h"
#include "tests/support/cmocka_cpp.h"

namespace volta::test {

inline constexpr std::uint32_t kMostProcesses = 8;

// A new folder for sockets, and a port for the same.
class Place final {
  public:
    explicit Place(const char* transport) : transport_(transport) {
        char name[] = "/tmp/volta-group-XXXXXX";
        folder_ = mkdtemp(name) == nullptr ? "" : name;
        address_ = std::strcmp(transport, "local") == 0 ? folder_ + "/run"
                                                        : "127.0.0.1:" + std::to_string(free_port());
    }
    ~Place() {
        for (std::uint32_t rank = 0; rank < kMostProcesses; ++rank)
            unlink((folder_ + "/run/rank" + std::to_string(rank)).c_str());
        rmdir((folder_ + "/run").c_str());
        rmdir(folder_.c_str());
    }
    const std::string& address() const { return address_; }
    const char* transport() const { return transport_; }

  private:
    static int free_port() {
        const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        const bool is_bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                              getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
        close(descriptor);
        assert_true(is_bound);
        return ntohs(address.sin_port);
    }

    const char* const transport_;
    std::string folder_, address_;
};

inline volta_group_options options_of(const Place& place, std::uint32_t rank, std::uint32_t size,
                                      double timeout) {
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = place.transport();
    options.address = place.address().c_str();
    options.rank = rank;
    options.size = size;
    options.timeout = timeout;
    return options;
}

}  // namespace volta::test
