// Stream sockets between ranks, and what is written on them. A pair of ranks has two: one carries what is
// exchanged, the other notes, which must be read while what is exchanged waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

namespace volta {

class Socket final {  // owns its descriptor, which does not block and is closed on exec
  public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Socket() { close(); }
    void close() noexcept;
    int get() const noexcept { return descriptor_; }  // -1: none
    explicit operator bool() const noexcept { return descriptor_ >= 0; }

  private:
    int descriptor_ = -1;
};

struct Transfer {
    std::size_t bytes = 0;  // 0: it would have blocked, or has ended
    bool has_ended = false;
};
// As much as goes without blocking; no signal comes of a connection that has ended.
Transfer send_some(const Socket& socket, const void* data, std::size_t bytes) noexcept;
// A frame's header and what follows it.
Transfer send_some(const Socket& socket, const void* header, std::size_t header_bytes, const void* data,
                   std::size_t bytes) noexcept;
Transfer receive_some(const Socket& socket, void* data, std::size_t bytes) noexcept;
// With a descriptor besides, over a Unix socket; without one where it is -1. `descriptor` is set where one
// comes.
Transfer send_some(const Socket& socket, const void* data, std::size_t bytes, int descriptor) noexcept;
Transfer receive_some(const Socket& socket, void* data, std::size_t bytes, Socket& descriptor) noexcept;

// Memory that two ranks of one machine share: its slots carry pieces, so many either way, instead of the
// kernel. It has no name in any file system; who makes it sends its descriptor.
class SharedSlots final {
  public:
    static constexpr std::size_t kSlotBytes = std::size_t{256} << 10;
    static constexpr std::uint32_t kSlots = 4;

    static Socket make() noexcept;  // its descriptor; none where the system has no such memory
    static SharedSlots map(
        const Socket& descriptor) noexcept;  // none where it is no such memory, or cannot be mapped

    explicit operator bool() const noexcept { return data_ != nullptr; }
    // The n-th that is used on that way; the lower rank's way is 0.
    unsigned char* slot(std::uint32_t way, std::uint64_t n) const noexcept {
        return data_.get() + (way * kSlots + n % kSlots) * kSlotBytes;
    }

  private:
    static constexpr std::size_t kBytes = 2 * kSlots * kSlotBytes;
    struct Unmap {
        void operator()(unsigned char* data) const noexcept;
    };
    std::unique_ptr<unsigned char, Unmap> data_;  // NULL: none
};

// ---- Frames -----------------------------------------------------------------------------------------

enum class FrameKind : std::uint16_t {
    piece = 1,
    slot,   // a piece that is in the next slot of the shared memory
    taken,  // one such has been read
    hello,
    welcome,
    refused,
    waiting,
    finished,
    ended
};

inline constexpr std::uint32_t kFrameMagic = 0x50524756;  // VGRP
inline constexpr std::uint16_t kProtocol = 1;
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // at most, of a piece
inline constexpr std::size_t kSlotFrom =
    16384;  // bytes: a shorter piece goes through the socket all the same

struct FrameHeader {  // magic and version stay where they are in every version
    std::uint32_t magic;
    std::uint16_t version;
    FrameKind kind;
    std::uint64_t sequence;       // of a piece: how many went before it, this way between these two
    std::uint64_t total;          // of a piece: bytes of the exchange it belongs to
    std::uint64_t bytes;          // that follow the header
    std::uint64_t payload_check;  // XXH3 of them
    std::uint64_t header_check;   // XXH3 of all before
};
static_assert(sizeof(FrameHeader) == 48, "no padding: it is hashed and sent as it is");

FrameHeader make_header(FrameKind kind, std::uint64_t sequence, std::uint64_t total, const void* payload,
                        std::size_t bytes) noexcept;
std::uint64_t check_of(const FrameHeader& header) noexcept;
std::uint64_t check_of(const void* payload, std::size_t bytes) noexcept;

// What ranks tell each other besides: all of one size.
struct Note {
    FrameHeader header;
    std::uint32_t rank;     // hello: who; waiting: for whom, kNobody: no longer; ended: who is at fault
    std::uint32_t size;     // hello: of the group
    std::uint32_t channel;  // hello: which of the two connections this is
    std::uint32_t port;     // hello: where the rank listens
    std::uint64_t run[2];   // hello, welcome: of the run, at random; 0: not known yet
    char text[256];         // refused, ended: why
};
static_assert(sizeof(Note) == 48 + 32 + 256, "no padding");
inline constexpr std::uint32_t kNobody = UINT32_MAX;
inline constexpr std::size_t kNoteBytes = sizeof(Note) - sizeof(FrameHeader);

Note make_note(FrameKind kind, std::uint32_t rank, const char* text) noexcept;
void seal(Note& note) noexcept;  // its checks, once it is complete
bool is_whole(const Note& note) noexcept;

// ---- Links ------------------------------------------------------------------------------------------

struct Link {  // of this rank with another
    Socket pieces, notes;
    SharedSlots shared;  // where there is such
};
using Mesh = std::pmr::vector<Link>;  // one per rank; this rank's own is empty

// Best effort: what finds no room is lost, and the other waits until its timeout.
void tell_all(const Mesh& mesh, FrameKind kind, std::uint32_t rank, const char* text) noexcept;
// Until the others' systems have what was sent, at most `most` ns: when a connection is closed while
// something comes over it, what is still on its way is lost.
void await_arrival(const Mesh& mesh, std::uint64_t most) noexcept;

}  // namespace volta
