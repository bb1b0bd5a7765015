#include "engine/group/socket_group.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "engine/base/clock.h"
#include "engine/base/format.h"

namespace volta {

// A row of pieces, each a header and what follows it or is in a slot; one that is empty where there is
// nothing, so that the two ranks find out at once if they expect different things.
struct SocketGroup::Outgoing {
    Outgoing(const void* from, std::size_t count)
        : data(static_cast<const unsigned char*>(from)), bytes(count) {}

    const unsigned char* data;
    std::size_t bytes, begun = 0;  // begun: bytes of the pieces before
    bool is_done = false;
    FrameHeader header = {};                  // of the frame that is on its way, if one is
    std::size_t payload_bytes = 0, done = 0;  // that go through the socket; done: its header counts
    bool has_frame = false;
};

struct SocketGroup::Incoming {
    Incoming(void* to, std::size_t count, std::size_t most)
        : data(static_cast<unsigned char*>(to)), bytes(count), limit(most) {}
    std::size_t piece_bytes() const { return std::min(bytes - begun, limit); }

    unsigned char* data;
    std::size_t bytes, limit, begun = 0;
    std::size_t done = 0;  // of the piece
    bool is_done = false;
};

namespace {

constexpr std::size_t kHeaderBytes = sizeof(FrameHeader);
constexpr std::uint64_t kSecond = 1000000000, kMillisecond = 1000000;
constexpr int kNoteTime = 20;  // ms

}  // namespace

SocketGroup::SocketGroup(std::uint32_t rank, double timeout, Mesh mesh, bool can_share, Socket shared)
    : Group(rank, static_cast<std::uint32_t>(mesh.size())),
      timeout_s_(timeout),
      timeout_(std::max<std::uint64_t>(static_cast<std::uint64_t>(timeout * kSecond), kMillisecond)),
      mesh_(std::move(mesh)),
      can_share_(can_share),
      shared_(std::move(shared)),
      peers_(mesh_.size(), mesh_.get_allocator()),
      polled_(mesh_.size() + 1, pollfd{-1, POLLIN, 0}, mesh_.get_allocator()) {
    for (std::uint32_t r = 0; r < size(); ++r) polled_[r].fd = mesh_[r].notes.get();
}

SocketGroup::~SocketGroup() {
    if (!ended_) tell_all(mesh_, FrameKind::finished, this->rank(), "");
    await_arrival(mesh_, ended_ ? std::min(timeout_, kSecond) : timeout_);
}

void SocketGroup::leave(const char* why) noexcept {
    if (ended_) return;
    char text[sizeof Note::text];
    format_text(text, sizeof text, "rank %u has ended: %s", rank(), why);
    tell_all(mesh_, FrameKind::ended, rank(), text);
    ended_.emplace(VOLTA_IO_ERROR, why);
}

void SocketGroup::end(std::uint32_t culprit, const char* format, ...) {
    char text[sizeof Note::text];
    va_list arguments;
    va_start(arguments, format);
    vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    tell_all(mesh_, FrameKind::ended, culprit, text);
    ended_.emplace(VOLTA_IO_ERROR, text);
    throw Error(*ended_);
}

void SocketGroup::look() {
    if (ended_) throw Error(*ended_);
    read_notes();
}

void SocketGroup::give_up(std::uint32_t culprit, const char* why) { end(culprit, "%s", why); }

void SocketGroup::meet() {
    for (std::uint32_t bit = 1; bit < size(); bit *= 2) exchange(rank() ^ bit, nullptr, 0, nullptr, 0);
}

bool SocketGroup::all(bool is_so) {
    for (std::uint32_t bit = 1; bit < size(); bit *= 2) {
        const unsigned char own = is_so ? 1 : 0;
        unsigned char other = 0;
        exchange(rank() ^ bit, &own, 1, &other, 1);
        is_so = is_so && other == 1;
    }
    return is_so;
}

// Behind the earlier ones: every rank knows the places of all without being told.
SharedMemory SocketGroup::share(std::uint64_t most, std::uint64_t own_bytes) {
    if (!can_share_ || most == 0) return SharedMemory();
    const std::uint64_t stride = SharedMemory::padded(most);
    SharedMemory memory = SharedMemory::map(shared_, {shared_end_, stride, rank(), size(), own_bytes});
    shared_end_ += stride * size();
    if (!all(static_cast<bool>(memory))) return SharedMemory();
    return memory;
}

void SocketGroup::exchange(std::uint32_t peer, const void* send, std::size_t send_bytes, void* receive,
                           std::size_t receive_bytes) {
    if (ended_) throw Error(*ended_);
    require(peer < size() && peer != rank(), "rank %u of %u exchanges with rank %u", rank(), size(), peer);
    Outgoing out(send, send_bytes);
    Incoming in(receive, receive_bytes, piece_limit(peer));
    moved_at_ = waited_;
    for (;;) {
        const bool sent = advance(out, peer);
        const bool reads = !in.is_done || waits_for_slot(out, peer);
        const bool received = reads && advance(in, peer);
        if (out.is_done && in.is_done && !out.has_frame && peers_[peer].slots_said == peers_[peer].slots_read)
            return;
        if (sent || received) {
            moved_at_ = waited_;
            if (said_waiting_) say_waiting(kNobody);
        } else {
            wait(peer, static_cast<short>((out.has_frame ? POLLOUT : 0) | (reads ? POLLIN : 0)));
        }
    }
}

// ---- Pieces -----------------------------------------------------------------------------------------

std::size_t SocketGroup::piece_limit(std::uint32_t peer) const noexcept {
    return mesh_[peer].shared ? SharedSlots::kSlotBytes : kPieceBytes;
}

bool SocketGroup::waits_for_slot(const Outgoing& out, std::uint32_t peer) const noexcept {
    const Peer& one = peers_[peer];
    return !out.is_done && !out.has_frame && one.slots_filled - one.slots_freed == SharedSlots::kSlots;
}

// Whether there is something to send. That a slot is free goes first: the peer may wait for it.
bool SocketGroup::begin_frame(Outgoing& out, std::uint32_t peer) {
    Peer& one = peers_[peer];
    if (one.slots_said < one.slots_read) {
        out.header = make_header(FrameKind::taken, one.slots_said++, 0, nullptr, 0);
        out.payload_bytes = 0;
        return out.has_frame = true;
    }
    if (out.is_done) return false;
    const std::size_t bytes = std::min(out.bytes - out.begun, piece_limit(peer));
    const bool in_slot = mesh_[peer].shared && bytes >= kSlotFrom;
    if (in_slot && waits_for_slot(out, peer)) return false;
    const unsigned char* const from = out.data + out.begun;
    out.header =
        make_header(in_slot ? FrameKind::slot : FrameKind::piece, one.sent++, out.bytes, from, bytes);
    if (in_slot) std::memcpy(mesh_[peer].shared.slot(rank() > peer, one.slots_filled++), from, bytes);
    out.payload_bytes = in_slot ? 0 : bytes;
    return out.has_frame = true;
}

// Whether anything went.
bool SocketGroup::advance(Outgoing& out, std::uint32_t peer) {
    if (!out.has_frame && !begin_frame(out, peer)) return false;
    const std::size_t header_done = std::min(out.done, kHeaderBytes), done = out.done - header_done;
    const Transfer transfer =
        send_some(mesh_[peer].pieces, reinterpret_cast<const unsigned char*>(&out.header) + header_done,
                  kHeaderBytes - header_done, out.data + out.begun + done, out.payload_bytes - done);
    // Who has all it wanted, and has gone, fills no slot any more.
    const bool is_unwanted = transfer.has_ended && out.header.kind == FrameKind::taken;
    if (transfer.has_ended && !is_unwanted) lose(peer);
    out.done += transfer.bytes;
    if (is_unwanted || out.done == kHeaderBytes + out.payload_bytes) {
        out.done = 0;
        out.has_frame = false;
        if (out.header.kind != FrameKind::taken) {
            out.begun += out.header.bytes;
            out.is_done = out.begun == out.bytes;
        }
    }
    return is_unwanted || transfer.bytes > 0;
}

// Whether anything came.
bool SocketGroup::advance(Incoming& in, std::uint32_t peer) {
    Peer& one = peers_[peer];
    const bool is_header = one.header_bytes < kHeaderBytes;
    const Transfer transfer =
        is_header
            ? receive_some(mesh_[peer].pieces,
                           reinterpret_cast<unsigned char*>(&one.header) + one.header_bytes,
                           kHeaderBytes - one.header_bytes)
            : receive_some(mesh_[peer].pieces, in.data + in.begun + in.done, in.piece_bytes() - in.done);
    if (transfer.has_ended) lose(peer);
    if (is_header) {
        one.header_bytes += transfer.bytes;
        if (one.header_bytes == kHeaderBytes) take_header(in, peer);
    } else {
        in.done += transfer.bytes;
        if (in.done == in.piece_bytes()) end_piece(in, peer);
    }
    return transfer.bytes > 0;
}

void SocketGroup::take_header(Incoming& in, std::uint32_t peer) {
    Peer& one = peers_[peer];
    check_header(in, peer);
    if (one.header.kind == FrameKind::taken) {
        ++one.slots_freed;
        one.header_bytes = 0;
    } else if (one.header.kind == FrameKind::slot) {
        std::memcpy(in.data + in.begun, mesh_[peer].shared.slot(peer > rank(), one.slots_read++),
                    in.piece_bytes());
        end_piece(in, peer);
    } else if (in.piece_bytes() == 0) {
        end_piece(in, peer);
    }
}

void SocketGroup::end_piece(Incoming& in, std::uint32_t peer) {
    Peer& one = peers_[peer];
    if (check_of(in.data + in.begun, in.piece_bytes()) != one.header.payload_check)
        end(peer, "what rank %u sent was damaged on its way: piece %llu of %zu bytes", peer,
            static_cast<unsigned long long>(one.header.sequence), in.piece_bytes());
    ++one.received;
    one.header_bytes = 0;
    in.begun += in.piece_bytes();
    in.done = 0;
    in.is_done = in.begun == in.bytes;
}

void SocketGroup::check_header(const Incoming& in, std::uint32_t peer) {
    const Peer& one = peers_[peer];
    const FrameHeader& header = one.header;
    const bool is_taken = header.kind == FrameKind::taken, is_slot = header.kind == FrameKind::slot;
    const auto number = static_cast<unsigned long long>(is_taken ? one.slots_freed : one.received);
    if (header.header_check != check_of(header) || header.magic != kFrameMagic ||
        !(is_taken || is_slot || header.kind == FrameKind::piece))
        end(peer, "what rank %u sent was damaged on its way: the header of piece %llu", peer, number);
    if (header.sequence != number)
        end(peer, "rank %u sent piece %llu where piece %llu was expected", peer,
            static_cast<unsigned long long>(header.sequence), number);
    if (is_taken) return;
    const bool is_other = header.total != in.bytes || header.bytes != in.piece_bytes();
    if (in.is_done || is_other || (is_slot && !mesh_[peer].shared))
        end(peer, "rank %u sent %llu bytes where rank %u expected %zu", peer,
            static_cast<unsigned long long>(header.total), rank(), in.bytes);
}

// ---- Waiting ----------------------------------------------------------------------------------------

void SocketGroup::wait(std::uint32_t peer, short events) {
    polled_[size()].fd = mesh_[peer].pieces.get();
    polled_[size()].events = events;
    const std::uint64_t most = std::clamp(timeout_ / 8, kMillisecond, kSecond);
    const std::uint64_t before = monotonic_ns();
    const int ready = ::poll(polled_.data(), polled_.size(), static_cast<int>(most / kMillisecond));
    // No more than was asked for: while the process is suspended, nobody else is late.
    waited_ += std::min(monotonic_ns() - before, most);
    if (ready < 0 && errno != EINTR) end(rank(), "rank %u cannot wait for the others", rank());
    read_notes();
    const bool moves = ready > 0 && polled_[size()].revents != 0;
    if (moves) return;
    const Blame culprit = blame(peer);
    if (waited_ - culprit.since >= timeout_) {
        if (culprit.rank == rank())
            end(peer, "rank %u has not answered for %g s: it waits for rank %u, which waits for it", peer,
                timeout_s_, rank());
        end(culprit.rank, "rank %u has not answered for %g s", culprit.rank, timeout_s_);
    }
    if (!said_waiting_ && waited_ - moved_at_ >= timeout_ / 4) say_waiting(peer);
}

// Who is at the end of the chain of waits, and since when the last but one waits for it.
SocketGroup::Blame SocketGroup::blame(std::uint32_t peer) const {
    Blame found = {peer, moved_at_};
    for (std::uint32_t i = 0; i < size() && found.rank != rank(); ++i) {
        const Peer& one = peers_[found.rank];
        if (one.waits_for == kNobody) break;
        found = {one.waits_for, std::max(found.since, one.waits_since)};
    }
    return found;
}

void SocketGroup::say_waiting(std::uint32_t peer) {
    tell_all(mesh_, FrameKind::waiting, peer, "");
    said_waiting_ = peer != kNobody;
}

// ---- Notes ------------------------------------------------------------------------------------------

// Of all ranks, before one of them is blamed: who ended need not be who is at fault.
void SocketGroup::read_notes() {
    std::uint32_t lost = kNobody;
    for (std::uint32_t r = 0; r < size(); ++r)
        if (mesh_[r].notes && !read_note(r) && !peers_[r].has_finished) lost = r;
    if (lost != kNobody) end(lost, "rank %u has ended: its connection is closed", lost);
}

// False: the connection has ended.
bool SocketGroup::read_note(std::uint32_t from) {
    Peer& peer = peers_[from];
    for (;;) {
        const Transfer transfer =
            receive_some(mesh_[from].notes, reinterpret_cast<unsigned char*>(&peer.note) + peer.note_bytes,
                         sizeof(Note) - peer.note_bytes);
        if (transfer.has_ended) {
            mesh_[from].notes.close();
            polled_[from].fd = -1;
            return false;
        }
        if (transfer.bytes == 0) return true;
        peer.note_bytes += transfer.bytes;
        if (peer.note_bytes < sizeof(Note)) continue;
        peer.note_bytes = 0;
        take_note(from);
    }
}

void SocketGroup::take_note(std::uint32_t from) {
    Peer& peer = peers_[from];
    const Note& note = peer.note;
    if (!is_whole(note)) end(from, "what rank %u sent was damaged on its way: a note", from);
    switch (note.header.kind) {
        case FrameKind::ended:
            end(note.rank, "%s", note.text);
        case FrameKind::finished:
            peer.has_finished = true;
            break;
        case FrameKind::waiting:
            peer.waits_for = note.rank < size() ? note.rank : kNobody;
            peer.waits_since = waited_ - std::min(waited_, timeout_ / 4);
            break;
        default:
            end(from, "rank %u sent a note of an unknown kind", from);
    }
}

// The pieces of `rank` have ended. Its notes say why, or end as well: each connection takes a time of its
// own.
void SocketGroup::lose(std::uint32_t rank) {
    polled_[size()].fd = -1;
    const std::uint64_t last = monotonic_ns() + std::min(timeout_, kSecond);
    while (!peers_[rank].has_finished && monotonic_ns() < last) {
        read_notes();
        ::poll(polled_.data(), polled_.size(), kNoteTime);
    }
    end(rank, "rank %u has ended: its connection is closed", rank);
}

}  // namespace volta
