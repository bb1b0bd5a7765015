// The transport nccl: ranks whose contexts have a device each. They meet, and exchange what the host has, as
// over tcp, which also says at once when one ends; what lies on the devices goes from device to device by
// NCCL. Of NCCL it takes messages from one rank to one, nothing collective: no sum is NCCL's, and so no bit.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/group/nccl_library.h"
#include "engine/group/socket_group.h"
#include "engine/group/transport.h"

namespace volta {

namespace {

// The communicator, whose calls do not wait: whoever waits looks meanwhile whether the other ranks are there.
class Communicator {
  public:
    Communicator(const NcclLibrary& library, DeviceStream& device) : nccl_(library), device_(device) {}

    // With the device current. Throws IO_ERROR with the function's name and what NCCL says.
    template <class Call>
    void call(const char* function, const Call& call_nccl) {
        struct Bound {
            const Call& call;
            NcclResult result;
        } bound = {call_nccl, kNcclSuccess};
        device_.call(
            [](void* user, void* stream) {
                auto& own = *static_cast<Bound*>(user);
                own.result = own.call(stream);
            },
            &bound);
        check(function, bound.result);
    }
    void check(const char* function, NcclResult result) const {
        if (result == kNcclSuccess || result == kNcclInProgress) return;
        const char* const detail = comm == nullptr ? nullptr : nccl_.last_error(comm);
        const bool has_detail = detail != nullptr && *detail != '\0';
        fail(VOLTA_IO_ERROR, "%s of NCCL %s: %s%s%.300s", function, NcclVersion(nccl_.version).text,
             nccl_.error_string(result), has_detail ? ": " : "", has_detail ? detail : "");
    }
    // Whether what was called is under way no more. Throws what became of it.
    bool is_ready(const char* function) {
        NcclResult state = kNcclSuccess;
        call("ncclCommGetAsyncError", [&](void*) { return nccl_.async_error(comm, &state); });
        check(function, state);
        return state == kNcclSuccess;
    }
    // Of what has failed already: how this ends says nothing more.
    template <class Call>
    void call_in_vain(const Call& call_nccl) noexcept {
        try {
            call("", call_nccl);
        } catch (const Error&) {
        }
    }
    void discard() noexcept {
        if (comm != nullptr) call_in_vain([&](void*) { return nccl_.comm_abort(comm); });
        comm = nullptr;
    }

    const NcclLibrary& library() const { return nccl_; }
    bool is_idle() { return device_.is_idle(); }
    const DeviceStream* device() const { return &device_; }
    NcclComm comm = nullptr;

  private:
    const NcclLibrary nccl_;
    DeviceStream& device_;
};

// A wait, as that of transport mpi: busy while a message is probably on its way, asleep later.
class Wait {
  public:
    double seconds() noexcept {
        constexpr std::uint64_t kMostAtOnce =
            125000000;  // as a time in which the process was suspended counts
        const std::uint64_t now = monotonic_ns();
        waited_ += std::min(now - seen_, kMostAtOnce);
        seen_ = now;
        return static_cast<double>(waited_) * 1e-9;
    }
    void pause() noexcept {
        const double waited = seconds();
        if (waited < 0.0005)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(waited < 0.1 ? 50 : 1000));
    }

  private:
    std::uint64_t seen_ = monotonic_ns(), waited_ = 0;
};

class NcclGroup final : public Group {
  public:
    NcclGroup(const NcclLibrary& library, const GroupOptions& options, std::shared_ptr<SocketGroup> sockets)
        : Group(options.rank, options.size),
          timeout_(options.timeout),
          sockets_(std::move(sockets)),
          nccl_(library, *options.device) {}
    ~NcclGroup() override {
        if (!ended_ && nccl_.comm != nullptr) end_in_peace();
        nccl_.discard();
    }

    // All ranks: the id is rank 0's.
    void join() {
        if (size() == 1) return;
        struct {
            NcclId id;
            int version;
        } first = {};
        first.version = nccl_.library().version;
        if (rank() == 0)
            nccl_.call("ncclGetUniqueId", [&](void*) { return nccl_.library().get_unique_id(&first.id); });
        for (std::uint32_t d = 1; d < size(); d *= 2) {
            const std::uint32_t peer = rank() ^ d;
            if (rank() < d)
                sockets_->exchange(peer, &first, sizeof first, nullptr, 0);
            else if (rank() < 2 * d)
                sockets_->exchange(peer, nullptr, 0, &first, sizeof first);
        }
        if (first.version != nccl_.library().version)
            fail(VOLTA_IO_ERROR, "rank %u has NCCL %s, and rank 0 has %s", rank(),
                 NcclVersion(nccl_.library().version).text, NcclVersion(first.version).text);
        NcclConfig config = {sizeof config, kNcclMagic, kLeastNcclVersion, 0};
        nccl_.call("ncclCommInitRankConfig", [&](void*) {
            return nccl_.library().comm_init(&nccl_.comm, static_cast<int>(size()), first.id,
                                             static_cast<int>(rank()), &config);
        });
        await(kNobody, [&] { return nccl_.is_ready("ncclCommInitRankConfig"); });
    }

    void exchange(std::uint32_t peer, const void* send, std::size_t send_bytes, void* receive,
                  std::size_t receive_bytes) override {
        if (ended_) throw Error(*ended_);
        sockets_->exchange(peer, send, send_bytes, receive, receive_bytes);
    }
    bool can_change_threads() const noexcept override { return true; }
    const DeviceStream* device() const noexcept override { return nccl_.device(); }

    void exchange_on_device(std::uint32_t peer, const DevicePieces& send,
                            const DevicePieces& receive) override {
        if (ended_) throw Error(*ended_);
        guarded([&] {
            agree(peer, send, receive);
            start(peer, send, receive);
            await(peer, [&] { return nccl_.is_ready("ncclGroupEnd"); });
            await(peer, [&] { return nccl_.is_ready("ncclSend, ncclRecv") && nccl_.is_idle(); });
        });
    }

    void leave(const char* why) noexcept override {
        if (ended_) return;
        sockets_->leave(why);
        ended_.emplace(VOLTA_IO_ERROR, why);
        nccl_.discard();
    }

    // What fails ends the group: the others are told, and what NCCL has begun is given up.
    template <class Body>
    void guarded(const Body& body) {
        try {
            body();
        } catch (const Error& error) {
            sockets_->leave(error.what());
            ended_.emplace(error);
            nccl_.discard();
            throw;
        }
    }

  private:
    static std::uint64_t bytes_of(const DevicePieces& pieces) {
        std::uint64_t bytes = 0;
        for (const DevicePiece& piece : pieces) bytes += piece.bytes;
        return bytes;
    }

    // Both are here, and want the same: what NCCL is given then ends unless one of them does.
    void agree(std::uint32_t peer, const DevicePieces& send, const DevicePieces& receive) {
        const std::uint64_t own = bytes_of(send), expected = bytes_of(receive);
        std::uint64_t other = 0;
        sockets_->exchange(peer, &own, sizeof own, &other, sizeof other);
        if (other != expected)
            fail(VOLTA_IO_ERROR, "rank %u sent %llu bytes where rank %u expected %llu", peer,
                 static_cast<unsigned long long>(other), rank(), static_cast<unsigned long long>(expected));
    }

    // As one: each alone would wait for the peer's other half. A group of calls that was opened is closed on
    // every way, or the thread's next one would never begin.
    void start(std::uint32_t peer, const DevicePieces& send, const DevicePieces& receive) {
        const auto end = [&](void*) { return nccl_.library().group_end(); };
        nccl_.call("ncclGroupStart", [&](void*) { return nccl_.library().group_start(); });
        try {
            add_messages(peer, send, receive);
        } catch (const Error&) {
            nccl_.call_in_vain(end);
            throw;
        }
        nccl_.call("ncclGroupEnd", end);
    }

    void add_messages(std::uint32_t peer, const DevicePieces& send, const DevicePieces& receive) {
        const NcclLibrary& nccl = nccl_.library();
        const int other = static_cast<int>(peer);
        for (const DevicePiece& piece : send)
            nccl_.call("ncclSend", [&](void* stream) {
                return nccl.send(piece.data, piece.bytes / sizeof(float), kNcclFloat32, other, nccl_.comm,
                                 stream);
            });
        for (const DevicePiece& piece : receive)
            nccl_.call("ncclRecv", [&](void* stream) {
                return nccl.receive(piece.data, piece.bytes / sizeof(float), kNcclFloat32, other, nccl_.comm,
                                    stream);
            });
    }

    // Until it is done, or a rank has ended, or the peer has not answered in time. kNobody: all are waited
    // for.
    template <class Done>
    void await(std::uint32_t peer, const Done& is_done) {
        Wait wait;
        while (!is_done()) {
            sockets_->look();
            if (wait.seconds() > timeout_) {
                if (peer == kNobody)
                    fail(VOLTA_IO_ERROR,
                         "not all of the %u ranks have joined NCCL's communicator within %g s", size(),
                         timeout_);
                char text[128];
                std::snprintf(text, sizeof text, "rank %u has not answered for %g s", peer, timeout_);
                sockets_->give_up(peer, text);
            }
            wait.pause();
        }
    }

    // What was sent is there: every exchange has waited for it.
    void end_in_peace() noexcept {
        try {
            nccl_.call("ncclCommFinalize", [&](void*) { return nccl_.library().comm_finalize(nccl_.comm); });
            await(kNobody, [&] { return nccl_.is_ready("ncclCommFinalize"); });
            nccl_.call("ncclCommDestroy", [&](void*) { return nccl_.library().comm_destroy(nccl_.comm); });
            nccl_.comm = nullptr;
        } catch (const Error&) {  // another has ended meanwhile: the rest is given up
        }
    }

    const double timeout_;
    const std::shared_ptr<SocketGroup> sockets_;
    Communicator nccl_;
    std::optional<Error> ended_;
};

}  // namespace

GroupRef open_nccl_group(const GroupOptions& options, std::pmr::memory_resource* heap) {
    if (options.device == nullptr)
        fail(VOLTA_UNSUPPORTED, "transport is nccl, and the context has no device: its device is \"cpu\"");
    const NcclLibrary library = open_nccl_library(options.library);
    const auto group = std::allocate_shared<NcclGroup>(std::pmr::polymorphic_allocator<NcclGroup>(heap),
                                                       library, options, open_tcp_sockets(options, heap));
    group->guarded([&] { group->join(); });
    return group;
}

}  // namespace volta
