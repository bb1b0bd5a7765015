#include "engine/group/socket_link.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/base/hash.h"

namespace volta {

void Socket::close() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

Transfer send_message(const Socket& socket, const msghdr& message) noexcept {
    for (;;) {
        const ssize_t sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) return {static_cast<std::size_t>(sent), false};
        if (errno != EINTR) return {0, !would_block(errno)};
    }
}

Transfer send_message(const Socket& socket, iovec* parts, std::size_t count) noexcept {
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    return send_message(socket, message);
}

struct DescriptorMessage {  // room for one descriptor, as the system lays it out
    alignas(cmsghdr) unsigned char bytes[CMSG_SPACE(sizeof(int))] = {};
};

iovec part_of(const void* data, std::size_t bytes) { return {const_cast<void*>(data), bytes}; }

}  // namespace

Transfer send_some(const Socket& socket, const void* data, std::size_t bytes) noexcept {
    iovec parts[] = {part_of(data, bytes)};
    return send_message(socket, parts, 1);
}

Transfer send_some(const Socket& socket, const void* header, std::size_t header_bytes, const void* data,
                   std::size_t bytes) noexcept {
    iovec parts[] = {part_of(header, header_bytes), part_of(data, bytes)};
    return send_message(socket, parts, bytes == 0 ? 1 : 2);
}

Transfer receive_some(const Socket& socket, void* data, std::size_t bytes) noexcept {
    for (;;) {
        const ssize_t came = ::recv(socket.get(), data, bytes, MSG_DONTWAIT);
        if (came > 0) return {static_cast<std::size_t>(came), false};
        if (came == 0) return {0, true};
        if (errno != EINTR) return {0, !would_block(errno)};
    }
}

Transfer send_some(const Socket& socket, const void* data, std::size_t bytes, int descriptor) noexcept {
    if (descriptor < 0) return send_some(socket, data, bytes);
    iovec part = part_of(data, bytes);
    DescriptorMessage room;
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.bytes;
    message.msg_controllen = sizeof room.bytes;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return send_message(socket, message);
}

Transfer receive_some(const Socket& socket, void* data, std::size_t bytes, Socket& descriptor) noexcept {
    iovec part = part_of(data, bytes);
    DescriptorMessage room;
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.bytes;
    message.msg_controllen = sizeof room.bytes;
    ssize_t came = -1;
    do {
        came = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (came < 0 && errno == EINTR);
    if (came < 0) return {0, !would_block(errno)};
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        int value = -1;
        std::memcpy(&value, CMSG_DATA(header), sizeof value);
        descriptor = Socket(value);
    }
    return {static_cast<std::size_t>(came), came == 0};
}

void SharedSlots::Unmap::operator()(unsigned char* data) const noexcept { ::munmap(data, kBytes); }

// Sealed, so that nobody makes it shorter and a read of it a fault.
Socket SharedSlots::make() noexcept {
    Socket made(::memfd_create("volta group", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (made &&
        (::ftruncate(made.get(), kBytes) != 0 || ::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0))
        made.close();
    return made;
}

SharedSlots SharedSlots::map(const Socket& descriptor) noexcept {
    SharedSlots slots;
    struct stat status;
    if (!descriptor || ::fstat(descriptor.get(), &status) != 0 || status.st_size != kBytes ||
        (::fcntl(descriptor.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0)
        return slots;
    void* const address = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
    if (address != MAP_FAILED) slots.data_.reset(static_cast<unsigned char*>(address));
    return slots;
}

std::uint64_t check_of(const void* payload, std::size_t bytes) noexcept {
    return hash_bytes(payload, bytes).low;
}
std::uint64_t check_of(const FrameHeader& header) noexcept {
    return check_of(&header, offsetof(FrameHeader, header_check));
}

FrameHeader make_header(FrameKind kind, std::uint64_t sequence, std::uint64_t total, const void* payload,
                        std::size_t bytes) noexcept {
    FrameHeader header = {kFrameMagic, kProtocol, kind, sequence, total, bytes, check_of(payload, bytes), 0};
    header.header_check = check_of(header);
    return header;
}

Note make_note(FrameKind kind, std::uint32_t rank, const char* text) noexcept {
    Note note = {};
    note.header.kind = kind;
    note.rank = rank;
    format_text(note.text, sizeof note.text, "%s", text);
    return note;
}

void seal(Note& note) noexcept {
    note.header = make_header(note.header.kind, 0, kNoteBytes, &note.rank, kNoteBytes);
}

bool is_whole(const Note& note) noexcept {
    return note.header.magic == kFrameMagic && note.header.header_check == check_of(note.header) &&
           note.header.bytes == kNoteBytes && note.header.payload_check == check_of(&note.rank, kNoteBytes) &&
           note.text[sizeof note.text - 1] == '\0';
}

void tell_all(const Mesh& mesh, FrameKind kind, std::uint32_t rank, const char* text) noexcept {
    Note note = make_note(kind, rank, text);
    seal(note);
    for (const Link& link : mesh)
        if (link.notes) send_some(link.notes, &note, sizeof note);
}

namespace {

// Of Unix sockets always: what was sent is where the peer reads it. So where the connection has ended.
bool has_arrived(const Socket& socket) noexcept {
    int family = AF_UNIX, on_its_way = 0;
    socklen_t bytes = sizeof family;
    pollfd state = {socket.get(), 0, 0};  // tells of ends alone
    return !socket || ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &bytes) != 0 ||
           family == AF_UNIX || ::poll(&state, 1, 0) != 0 ||
           ::ioctl(socket.get(), SIOCOUTQ, &on_its_way) != 0 || on_its_way == 0;
}

}  // namespace

void await_arrival(const Mesh& mesh, std::uint64_t most) noexcept {
    const std::uint64_t end = monotonic_ns() + most;
    const auto is_done = [](const Link& link) { return has_arrived(link.pieces) && has_arrived(link.notes); };
    while (!std::all_of(mesh.begin(), mesh.end(), is_done) && monotonic_ns() < end) ::poll(nullptr, 0, 1);
}

}  // namespace volta
