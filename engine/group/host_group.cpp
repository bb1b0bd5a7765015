// A transport of the host's own.
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
        try {
            call(peer, send, send_bytes, receive, receive_bytes);
        } catch (const Error& error) {
            ended_.emplace(error);
            throw;
        }
    }
    // The host sees the call fail, and knows how to tell the others.
    void leave(const char* why) noexcept override {
        if (!ended_) ended_.emplace(VOLTA_IO_ERROR, why);
    }

  private:
    void call(std::uint32_t peer, const void* send, std::size_t send_bytes, void* receive,
              std::size_t receive_bytes) {
        char text[256] = "";
        volta_status status = VOLTA_OK;
        const HostException thrown = call_host([&] {
            status = function_(user_, peer, send, send_bytes, receive, receive_bytes, text, sizeof text);
        });
        if (thrown) fail_thrown(HostFunction::exchange, thrown);
        if (status == VOLTA_OK) return;
        text[sizeof text - 1] = '\0';
        if (text[0] == '\0') fail(VOLTA_IO_ERROR, "exchange with rank %u failed", peer);
        fail(VOLTA_IO_ERROR, "%s", text);
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
