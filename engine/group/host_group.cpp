// A transport of the host's own.
#include <cstdio>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/host_call.h"
#include "engine/group/transport.h"

namespace volta {

namespace {

class HostGroup final : public Group {
  public:
    explicit HostGroup(const GroupOptions& options)
        : Group(options.rank, options.size), function_(options.exchange), user_(options.user) {}

    void exchange(std::uint32_t peer, const void* send, std::size_t send_bytes, void* receive,
                  std::size_t receive_bytes) override {
        if (ended_) throw Error(*ended_);
        char text[256] = "";
        volta_status status = VOLTA_OK;
        const HostException thrown = call_host([&] {
            status = function_(user_, peer, send, send_bytes, receive, receive_bytes, text, sizeof text);
        });
        text[sizeof text - 1] = '\0';
        if (thrown) {
            end(thrown_status(HostFunction::exchange), thrown.what());
        } else if (status != VOLTA_OK) {
            char unnamed[64];
            std::snprintf(unnamed, sizeof unnamed, "exchange with rank %u failed", peer);
            end(VOLTA_IO_ERROR, text[0] != '\0' ? text : unnamed);
        }
    }
    // The host sees the call fail, and knows how to tell the others.
    void leave(const char* why) noexcept override {
        if (!ended_) ended_.emplace(VOLTA_IO_ERROR, why);
    }

  private:
    [[noreturn]] void end(volta_status status, const char* why) {
        ended_.emplace(status, why);
        throw Error(*ended_);
    }

    const volta_exchange function_;
    void* const user_;
    std::optional<Error> ended_;
};

}  // namespace

GroupRef open_host_group(const GroupOptions& options, std::pmr::memory_resource* heap) {
    return std::allocate_shared<HostGroup>(std::pmr::polymorphic_allocator<HostGroup>(heap), options);
}

}  // namespace volta
