// A group over stream sockets, once all of its ranks are connected (socket_join.h).
//
// Fail-stop. A rank that ends is seen by all at once, since all are connected with it; whoever fails tells
// all who was at fault before it throws, so that all name the same rank. A rank that computes answers
// nothing: the timeout must be longer than what any rank computes between two exchanges, or a slow one is
// taken for one that hangs. It counts while this rank waits, not while the process is suspended. A rank that
// has waited for a quarter of it says for whom, so that who waits for a rank that waits too blames the one at
// the end of that chain.
#pragma once

#include <optional>

#include "engine/base/error.h"
#include "engine/group/group.h"
#include "engine/group/socket_link.h"
#include "engine/group/transport.h"

struct pollfd;

namespace volta {

class SocketGroup final : public Group {
  public:
    // `shared`: the file of share(); can_share: on every rank, whether or not its file is there.
    SocketGroup(std::uint32_t rank, double timeout, Mesh mesh, bool can_share = false,
                Socket shared = Socket());
    // Tells the others that this rank needs them no more, unless it has failed, and waits until they have it.
    ~SocketGroup() override;

    void exchange(std::uint32_t peer, const void* send, std::size_t send_bytes, void* receive,
                  std::size_t receive_bytes) override;
    bool can_change_threads() const noexcept override { return true; }
    bool can_share() const noexcept override { return can_share_; }
    SharedMemory share(std::uint64_t most, std::uint64_t own_bytes) override;
    void leave(const char* why) noexcept override;
    // Where this rank waits for something else than an exchange: throws where another has ended.
    void look();
    [[noreturn]] void give_up(std::uint32_t culprit, const char* why);
    // Returns when all ranks have come here.
    void meet();

  private:
    struct Peer {
        std::uint64_t sent = 0, received = 0;  // pieces
        FrameHeader header;                    // of what comes, of which so many bytes are there:
        std::size_t header_bytes = 0;
        std::uint64_t slots_filled = 0, slots_freed = 0;  // of what goes
        std::uint64_t slots_read = 0, slots_said = 0;     // of what comes; said: that they are free again
        Note note;                                        // of which so many bytes are there:
        std::size_t note_bytes = 0;
        bool has_finished = false;
        std::uint32_t waits_for = kNobody;
        std::uint64_t waits_since = 0;  // on waited_'s clock
    };
    struct Outgoing;
    struct Incoming;
    struct Blame {
        std::uint32_t rank;
        std::uint64_t since;
    };

    bool all(bool is_so);  // whether it is on every rank
    std::size_t piece_limit(std::uint32_t peer) const noexcept;
    bool waits_for_slot(const Outgoing& out, std::uint32_t peer) const noexcept;
    bool begin_frame(Outgoing& out, std::uint32_t peer);
    bool advance(Outgoing& out, std::uint32_t peer);
    bool advance(Incoming& in, std::uint32_t peer);
    void take_header(Incoming& in, std::uint32_t peer);
    void check_header(const Incoming& in, std::uint32_t peer);
    void end_piece(Incoming& in, std::uint32_t peer);
    void wait(std::uint32_t peer, short events);
    void read_notes();
    bool read_note(std::uint32_t rank);
    void take_note(std::uint32_t rank);
    Blame blame(std::uint32_t peer) const;
    void say_waiting(std::uint32_t peer);
    [[noreturn]] void lose(std::uint32_t rank);
    [[noreturn]] void end(std::uint32_t culprit, const char* format, ...)
        __attribute__((format(printf, 3, 4)));

    const double timeout_s_;
    const std::uint64_t timeout_;  // ns
    Mesh mesh_;
    const bool can_share_;
    Socket shared_;
    std::uint64_t shared_end_ = 0;  // of what was shared of it
    std::pmr::vector<Peer> peers_;
    std::pmr::vector<pollfd> polled_;  // the notes of every rank, then the pieces of the peer
    std::uint64_t waited_ = 0;         // ns, in all exchanges: the clock of the timeout
    std::uint64_t moved_at_ = 0;       // on it: when something last came or went
    bool said_waiting_ = false;
    std::optional<Error> ended_;
};

// The ranks of transport tcp, for transports that need its links besides.
std::shared_ptr<SocketGroup> open_tcp_sockets(const GroupOptions& options, std::pmr::memory_resource* heap);

}  // namespace volta
