#include "engine/group/socket_join.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/format.h"
#include "engine/group/shared_memory.h"

namespace volta {

namespace {

// strerror_r comes in two forms: POSIX fills the buffer, GNU may return a text of its own.
[[maybe_unused]] const char* reason_text(int, const char* buffer) { return buffer; }
[[maybe_unused]] const char* reason_text(const char* text, const char*) { return text; }

}  // namespace

void fail_system(int error, const char* format, ...) {
    char action[256], reason[128] = "";
    va_list arguments;
    va_start(arguments, format);
    vformat(action, sizeof action, format, arguments);
    va_end(arguments);
    fail(VOLTA_IO_ERROR, "%s: %s", action, reason_text(strerror_r(error, reason, sizeof reason), reason));
}

Socket make_socket(int family) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) fail_system(errno, "cannot make a socket");
    return socket;
}

namespace {

constexpr std::uint32_t kPieces = 0, kNotes = 1,
                        kSharing = 2;            // of a hello; sharing: pieces, and memory comes too
constexpr std::uint32_t kChannels = 2;           // pieces, notes
constexpr std::uint64_t kMillisecond = 1000000;  // ns
constexpr std::uint64_t kHelloTime = 3000 * kMillisecond;  // for one who connects to say who it is
constexpr int kRetryTime = 20;                             // ms

std::uint64_t timeout_ns(const GroupOptions& options) {
    return static_cast<std::uint64_t>(options.timeout * 1e9);
}

class Joining {
  public:
    Joining(const GroupOptions& options, Meeting& meeting, Mesh& mesh)
        : options_(options), meeting_(meeting), mesh_(mesh), end_(monotonic_ns() + timeout_ns(options)) {}

    Socket join() {
        mesh_.resize(options_.size);
        if (options_.size == 1) return Socket();
        listener_ = meeting_.listen();
        if (options_.rank == 0) {
            if (::getrandom(run_, sizeof run_, 0) != sizeof run_) fail_system(errno, "no random numbers");
            accept_all();
            if (meeting_.can_share()) file_ = SharedMemory::make_file();
            welcome_all();
            return std::move(file_);
        }
        connect_to(0);
        receive_welcome();
        for (std::uint32_t r = 1; r < options_.rank; ++r) connect_to(r);
        accept_all();
        return std::move(file_);
    }

  private:
    enum class Come { yes, no, ended };

    // Until the socket is ready. Rank 0, once it is connected with, may say meanwhile that the group has
    // ended.
    bool wait_until(const Socket& socket, short events, std::uint64_t until) {
        for (;;) {
            const std::uint64_t now = monotonic_ns();
            if (now >= until) return false;
            pollfd polled[] = {{socket.get(), events, 0}, {root_notes(socket), POLLIN, 0}};
            const std::uint64_t ms = std::min<std::uint64_t>((until - now) / kMillisecond + 1, 1000);
            const int ready = ::poll(polled, 2, static_cast<int>(ms));
            if (ready < 0 && errno != EINTR) fail_system(errno, "cannot wait for a connection");
            if (ready > 0 && polled[1].revents != 0) hear_root();
            if (ready > 0 && polled[0].revents != 0) return true;
        }
    }
    int root_notes(const Socket& but) const {
        const bool is_watched = options_.rank != 0 && mesh_[0].notes.get() != but.get();
        return is_watched ? mesh_[0].notes.get() : -1;
    }
    void hear_root() {
        Note note;
        if (receive(mesh_[0].notes, &note, sizeof note, end_) != Come::yes || !is_whole(note))
            fail(VOLTA_IO_ERROR, "rank 0 has ended before all were there");
        fail_if_ended(note);
    }
    // Others say that they wait, which is no matter yet.
    static void fail_if_ended(const Note& note) {
        if (note.header.kind == FrameKind::ended || note.header.kind == FrameKind::refused)
            fail(VOLTA_IO_ERROR, "%s", note.text);
    }

    // A descriptor may come with the first byte, where there is a place for one.
    Come receive(const Socket& socket, void* data, std::size_t bytes, std::uint64_t until,
                 Socket* descriptor = nullptr) {
        for (std::size_t done = 0; done < bytes;) {
            unsigned char* const to = static_cast<unsigned char*>(data) + done;
            const Transfer transfer = descriptor != nullptr && done == 0
                                          ? receive_some(socket, to, bytes, *descriptor)
                                          : receive_some(socket, to, bytes - done);
            if (transfer.has_ended) return Come::ended;
            done += transfer.bytes;
            if (transfer.bytes == 0 && !wait_until(socket, POLLIN, until)) return Come::no;
        }
        return Come::yes;
    }
    // The descriptor goes with the first byte; -1: none does.
    Come send(const Socket& socket, const void* data, std::size_t bytes, std::uint64_t until,
              int descriptor = -1) {
        for (std::size_t done = 0; done < bytes;) {
            const Transfer transfer = send_some(socket, static_cast<const unsigned char*>(data) + done,
                                                bytes - done, done == 0 ? descriptor : -1);
            if (transfer.has_ended) return Come::ended;
            done += transfer.bytes;
            if (transfer.bytes == 0 && !wait_until(socket, POLLOUT, until)) return Come::no;
        }
        return Come::yes;
    }

    // ---- Who comes: the higher ranks

    void accept_all() {
        std::uint32_t missing = kChannels * (options_.size - 1 - options_.rank);
        while (missing > 0) {
            if (!wait_for_one()) fail_missing();
            sockaddr_storage from;
            socklen_t from_bytes = sizeof from;
            Socket socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &from_bytes,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (!socket) {
                const int error = errno;
                if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS)
                    fail_system(error, "cannot take a connection of another rank");
                continue;  // it has gone already
            }
            missing -= admit(std::move(socket), SocketAddress{from, from_bytes});
        }
    }
    // Rank 0 sees those who are there already end; the others have it to tell them.
    bool wait_for_one() {
        for (;;) {
            if (options_.rank == 0) look_for_ended();
            const std::uint64_t now = monotonic_ns();
            if (now >= end_) return false;
            if (wait_until(listener_, POLLIN, std::min(end_, now + 100 * kMillisecond))) return true;
        }
    }
    void look_for_ended() {
        for (std::uint32_t r = 1; r < options_.size; ++r) {
            if (!mesh_[r].notes) continue;
            Note note;
            const Come come = receive(mesh_[r].notes, &note, sizeof note, monotonic_ns());
            if (come == Come::yes && is_whole(note)) fail_if_ended(note);
            if (come == Come::ended) fail(VOLTA_IO_ERROR, "rank %u has ended before all were there", r);
        }
    }
    [[noreturn]] void fail_missing() {
        for (std::uint32_t r = options_.rank + 1; r < options_.size; ++r)
            if (!mesh_[r].notes || !mesh_[r].pieces)
                fail(VOLTA_IO_ERROR, "rank %u has not come within %g s", r, options_.timeout);
        fail(VOLTA_INTERNAL, "no rank is missing");
    }
    // 1: the connection is one of those that are waited for.
    std::uint32_t admit(Socket socket, const SocketAddress& from) {
        Note hello;
        Socket memory;
        const std::uint64_t until = std::min(end_, monotonic_ns() + kHelloTime);
        if (!wait_until(socket, POLLIN, until)) return 0;
        const Transfer first = receive_some(socket, &hello.header, sizeof hello.header, memory);
        auto* const rest = reinterpret_cast<unsigned char*>(&hello.header) + first.bytes;
        if (first.bytes == 0 || receive(socket, rest, sizeof hello.header - first.bytes, until) != Come::yes)
            return 0;
        if (hello.header.magic != kFrameMagic) return 0;  // no rank of any group
        if (hello.header.version != kProtocol)
            refuse(socket, "a rank with version %u of the protocol has come, rank %u has version %u",
                   hello.header.version, options_.rank, kProtocol);
        if (receive(socket, &hello.rank, kNoteBytes, until) != Come::yes || !is_whole(hello)) return 0;
        if (hello.header.kind != FrameKind::hello || hello.channel > kSharing) return 0;
        if (hello.size != options_.size)
            refuse(socket, "rank %u is of a group of %u, rank %u of one of %u", hello.rank, hello.size,
                   options_.rank, options_.size);
        if (hello.rank <= options_.rank || hello.rank >= options_.size)
            refuse(socket, "a process says it is rank %u, rank %u has waited for ranks %u to %u", hello.rank,
                   options_.rank, options_.rank + 1, options_.size - 1);
        if (options_.rank != 0 && std::memcmp(hello.run, run_, sizeof run_) != 0) return 0;  // of another run
        Socket& place = hello.channel == kNotes ? mesh_[hello.rank].notes : mesh_[hello.rank].pieces;
        if (place) refuse(socket, "there are two of rank %u", hello.rank);
        prepare(socket);
        place = std::move(socket);
        if (hello.channel == kSharing) {
            mesh_[hello.rank].shared = SharedSlots::map(memory);
            if (!mesh_[hello.rank].shared)
                fail(VOLTA_IO_ERROR, "cannot map the memory that rank %u shares with rank %u", hello.rank,
                     options_.rank);
        }
        if (std::pmr::vector<SocketAddress>* const learnt = meeting_.learnt()) {
            learnt->resize(options_.size);
            (*learnt)[hello.rank] = with_port(from, hello.port);
        }
        return 1;
    }
    template <class... Values>
    [[noreturn]] void refuse(const Socket& socket, const char* format, Values... values) {
        char text[sizeof Note::text];
        format_text(text, sizeof text, format, values...);
        Note note = make_note(FrameKind::refused, options_.rank, text);
        seal(note);
        send_some(socket, &note, sizeof note);
        fail(VOLTA_IO_ERROR, "%s", text);
    }
    static SocketAddress with_port(SocketAddress address, std::uint32_t port) {
        const std::uint16_t in_order = htons(static_cast<std::uint16_t>(port));
        if (address.storage.ss_family == AF_INET)
            reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = in_order;
        else if (address.storage.ss_family == AF_INET6)
            reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = in_order;
        return address;
    }
    static void prepare(const Socket& socket) {  // for speed alone; Unix sockets do not know it
        const int on = 1;
        ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }

    // ---- Who is there: the lower ranks

    void connect_to(std::uint32_t rank) {
        mesh_[rank].notes = introduce(rank, kNotes);
        mesh_[rank].pieces = introduce(rank, kPieces);
    }
    // Others start later, and what listened there may be of a run that was killed.
    Socket introduce(std::uint32_t rank, std::uint32_t channel) {
        for (std::uint32_t attempt = 0; monotonic_ns() < end_; ++attempt) {
            Socket socket = try_connect(meeting_.address_of(rank, attempt));
            if (socket) {
                prepare(socket);
                const Socket memory =
                    channel == kPieces && shares_with(rank) ? SharedSlots::make() : Socket();
                SharedSlots shared = SharedSlots::map(memory);
                Note hello = make_note(FrameKind::hello, options_.rank, "");
                hello.size = options_.size;
                hello.channel = shared ? kSharing : channel;
                hello.port = meeting_.port();
                std::memcpy(hello.run, run_, sizeof run_);
                seal(hello);
                if (send(socket, &hello, sizeof hello, end_, shared ? memory.get() : -1) == Come::yes) {
                    if (shared) mesh_[rank].shared = std::move(shared);
                    return socket;
                }
            }
            wait_until(Socket(), 0, std::min(end_, monotonic_ns() + kRetryTime * kMillisecond));
        }
        if (refusal_ != 0) fail_system(refusal_, "rank %u has not come within %g s", rank, options_.timeout);
        fail(VOLTA_IO_ERROR, "rank %u has not come within %g s", rank, options_.timeout);
    }
    // With those with whom trees of exchanges go: every one would be a map per rank. Without memory it goes
    // as well.
    bool shares_with(std::uint32_t rank) const {
        const std::uint32_t between = rank ^ options_.rank;
        return meeting_.can_share() && (between & (between - 1)) == 0;
    }
    Socket try_connect(const SocketAddress& address) {
        if (address.bytes == 0) return Socket();
        Socket socket = make_socket(address.storage.ss_family);
        const auto* const to = reinterpret_cast<const sockaddr*>(&address.storage);
        if (::connect(socket.get(), to, address.bytes) != 0) {
            if (errno != EINPROGRESS && errno != EINTR) {
                refusal_ = errno;
                return Socket();
            }
            if (!wait_until(socket, POLLOUT, end_)) return Socket();
            int error = 0;
            socklen_t bytes = sizeof error;
            ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
            refusal_ = error;
            if (error != 0) return Socket();
        }
        return is_own(socket) ? Socket() : std::move(socket);
    }
    // TCP connects a socket with itself where nobody listens and it was given that very port.
    static bool is_own(const Socket& socket) {
        SocketAddress own = {}, peer = {};
        own.bytes = peer.bytes = sizeof own.storage;
        if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.bytes) != 0 ||
            ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.bytes) != 0)
            return true;
        return own.storage.ss_family != AF_UNIX && own.bytes == peer.bytes &&
               std::memcmp(&own.storage, &peer.storage, own.bytes) == 0;
    }

    // ---- What rank 0 says when all are there

    void welcome_all() {
        Note note = make_note(FrameKind::welcome, 0, "");
        std::memcpy(note.run, run_, sizeof run_);
        seal(note);
        for (std::uint32_t r = 1; r < options_.size; ++r) {
            const std::pmr::vector<SocketAddress>* const learnt = meeting_.learnt();
            if (send(mesh_[r].notes, &note, sizeof note, end_, file_.get()) != Come::yes ||
                (learnt != nullptr && send(mesh_[r].notes, learnt->data(),
                                           learnt->size() * sizeof learnt->front(), end_) != Come::yes))
                fail(VOLTA_IO_ERROR, "rank %u has ended before all were there", r);
        }
    }
    void receive_welcome() {
        Note note;
        // Rank 0 waits its own timeout for the others, and then says who has not come.
        const std::uint64_t until = monotonic_ns() + timeout_ns(options_) + kHelloTime;
        switch (receive(mesh_[0].notes, &note, sizeof note, until, &file_)) {
            case Come::ended:
                fail_refused();
            case Come::no:
                fail(VOLTA_IO_ERROR, "rank 0 has not answered for %g s: not all ranks are there",
                     options_.timeout);
            case Come::yes:
                break;
        }
        if (!is_whole(note)) fail(VOLTA_IO_ERROR, "what rank 0 sent is not of this protocol");
        fail_if_ended(note);
        if (note.header.kind != FrameKind::welcome)
            fail(VOLTA_IO_ERROR, "what rank 0 sent is no answer to who comes");
        std::memcpy(run_, note.run, sizeof run_);
        end_ = monotonic_ns() + timeout_ns(options_);
        if (std::pmr::vector<SocketAddress>* const learnt = meeting_.learnt()) {
            learnt->resize(options_.size);
            if (receive(mesh_[0].notes, learnt->data(), learnt->size() * sizeof learnt->front(), end_) !=
                Come::yes)
                fail(VOLTA_IO_ERROR, "rank 0 has ended before all were there");
        }
    }
    // The reason is on the connection that was refused, which need not be the one of the notes.
    [[noreturn]] void fail_refused() {
        Note note;
        if (receive(mesh_[0].pieces, &note, sizeof note, end_) == Come::yes && is_whole(note))
            fail(VOLTA_IO_ERROR, "%s", note.text);
        fail(VOLTA_IO_ERROR, "rank 0 has ended before all were there");
    }

    const GroupOptions& options_;
    Meeting& meeting_;
    Mesh& mesh_;
    std::uint64_t end_;       // ns: when this rank gives up
    Socket listener_, file_;  // file_: of the memory that all share
    std::uint64_t run_[2] = {};
    int refusal_ = 0;  // errno of the latest connection that failed; 0: none did
};

}  // namespace

Socket join_mesh(const GroupOptions& options, Meeting& meeting, Mesh& mesh) {
    return Joining(options, meeting, mesh).join();
}

}  // namespace volta
