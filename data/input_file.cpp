#include "data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace volta::data {
namespace {

// strerror_r comes in two forms: POSIX fills the buffer, GNU may return a text of its own.
[[maybe_unused]] const char* reason_text(int, const char* buffer) { return buffer; }
[[maybe_unused]] const char* reason_text(const char* text, const char*) { return text; }

[[noreturn]] void fail_io(const char* action, const char* path, int error) {
    char buffer[128] = "";
    fail(VOLTA_IO_ERROR, "cannot %s '%s': %s", action, path,
         reason_text(strerror_r(error, buffer, sizeof buffer), buffer));
}

template <class Call>  // Call: a system call that a signal may interrupt
auto uninterrupted(Call call) {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

}  // namespace

// O_NONBLOCK keeps a FIFO without a writer from blocking the open; it has no effect on regular files.
InputFile::InputFile(const char* path, std::pmr::memory_resource* heap) : path_(path, heap), descriptor_(-1) {
    require(*path != '\0', "the path of the file to read is empty");
    descriptor_ = uninterrupted([&] { return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
    if (descriptor_ < 0) fail_io("open", path, errno);
    struct stat status;
    int error = ::fstat(descriptor_, &status) != 0 ? errno : 0;
    if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
    const bool is_file = error == 0 && S_ISREG(status.st_mode);
    if (is_file) {
        bytes_ = static_cast<std::uint64_t>(status.st_size);
        return;
    }
    ::close(descriptor_);
    if (error != 0) fail_io("open", path, error);
    fail(VOLTA_IO_ERROR, "cannot open '%s': it is not a regular file", path);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_) {}

InputFile::~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read_at(std::uint64_t offset, void* data, std::size_t count) const {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
    auto* const to = static_cast<unsigned char*>(data);
    for (std::size_t done = 0; done < count;) {
        const std::size_t most = std::min(count - done, kMostAtOnce);
        const ssize_t n = uninterrupted(
            [&] { return ::pread(descriptor_, to + done, most, static_cast<off_t>(offset + done)); });
        if (n < 0) fail_io("read", path(), errno);
        if (n == 0)
            fail(VOLTA_IO_ERROR, "cannot read '%s': it has become shorter since it was opened", path());
        done += static_cast<std::size_t>(n);
    }
}

PathKind kind_of(const char* path) noexcept {
    struct stat status;
    if (::stat(path, &status) != 0) return PathKind::none;
    return S_ISDIR(status.st_mode) ? PathKind::folder : PathKind::file;
}

std::size_t read_whole(const char* path, std::uint64_t most, Bytes& bytes) {
    // The path's copy lies on the stack, but for a long one: this runs once for every picture.
    unsigned char room[512];
    std::pmr::monotonic_buffer_resource place(room, sizeof room, bytes.heap());
    const InputFile file(path, &place);
    if (file.bytes() > most)
        fail(VOLTA_CORRUPT_MODEL, "'%s' has %llu bytes, at most %llu are read", path,
             static_cast<unsigned long long>(file.bytes()), static_cast<unsigned long long>(most));
    const auto count = static_cast<std::size_t>(file.bytes());
    file.read_at(0, bytes.reserve(count), count);
    return count;
}

// ---- Memory for C ----

namespace {
constexpr std::size_t kHeader = alignof(std::max_align_t);  // holds the size
static_assert(kHeader >= sizeof(std::size_t), "a size fits");
}  // namespace

void* CHeap::allocate(std::size_t bytes) noexcept {
    if (bytes > SIZE_MAX - kHeader) return refused_ = bytes, nullptr;
    try {
        auto* const place = static_cast<unsigned char*>(heap_->allocate(bytes + kHeader, kHeader));
        std::memcpy(place, &bytes, sizeof bytes);
        return place + kHeader;
    } catch (...) {
        refused_ = bytes + kHeader;
        return nullptr;
    }
}

void CHeap::release(void* pointer) noexcept {
    if (pointer == nullptr) return;
    unsigned char* const place = static_cast<unsigned char*>(pointer) - kHeader;
    std::size_t bytes;
    std::memcpy(&bytes, place, sizeof bytes);
    heap_->deallocate(place, bytes + kHeader, kHeader);
}

// ---- gzip ----

struct Gunzip::State {
    const char* path;
    CHeap memory;
    z_stream stream = {};
    std::size_t left;  // bytes that the stream has not been given yet
    bool at_end = false;

    State(const char* file, std::size_t bytes, std::pmr::memory_resource* heap)
        : path(file), memory(heap), left(bytes) {}
    static void* allocate(void* self, uInt items, uInt size) {
        return static_cast<State*>(self)->memory.allocate(std::size_t{items} * size);
    }
    static void release(void* self, void* pointer) { static_cast<State*>(self)->memory.release(pointer); }
    [[noreturn]] void fail_at(int error) const {
        if (error == Z_MEM_ERROR) throw HostRefusal(memory.refused());
        fail(VOLTA_CORRUPT_MODEL, "'%s' is no valid gzip file: %s", path,
             error == Z_BUF_ERROR    ? "it ends early"
             : stream.msg == nullptr ? "its compressed data is damaged"
                                     : stream.msg);
    }
};

Gunzip::Gunzip(const char* path, const unsigned char* data, std::size_t bytes,
               std::pmr::memory_resource* heap)
    : state_(nullptr), heap_(heap) {
    state_ = new (heap->allocate(sizeof(State), alignof(State))) State(path, bytes, heap);
    z_stream& stream = state_->stream;
    stream.zalloc = State::allocate;
    stream.zfree = State::release;
    stream.opaque = state_;
    stream.next_in = const_cast<unsigned char*>(data);
    const int error = inflateInit2(&stream, 16 + MAX_WBITS);  // 16: gzip, with its checksum
    if (error == Z_OK) return;
    const std::size_t refused = state_->memory.refused();
    state_->~State();
    heap->deallocate(state_, sizeof(State), alignof(State));
    throw HostRefusal(refused);
}

Gunzip::~Gunzip() {
    inflateEnd(&state_->stream);
    state_->~State();
    heap_->deallocate(state_, sizeof(State), alignof(State));
}

std::size_t Gunzip::read(void* data, std::size_t count) {
    z_stream& stream = state_->stream;
    std::size_t done = 0;
    while (done < count && !state_->at_end) {
        if (stream.avail_in == 0) {
            stream.avail_in = static_cast<uInt>(std::min<std::size_t>(state_->left, UINT_MAX));
            state_->left -= stream.avail_in;
        }
        const auto room = static_cast<uInt>(std::min<std::size_t>(count - done, UINT_MAX));
        stream.next_out = static_cast<unsigned char*>(data) + done;
        stream.avail_out = room;
        const int result = inflate(&stream, Z_NO_FLUSH);
        done += room - stream.avail_out;
        if (result == Z_STREAM_END) {
            state_->at_end = stream.avail_in == 0 && state_->left == 0;
            if (!state_->at_end) inflateReset(&stream);
        } else if (result != Z_OK) {
            state_->fail_at(result);
        }
    }
    return done;
}

}  // namespace volta::data
