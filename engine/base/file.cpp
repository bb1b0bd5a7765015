#include "engine/base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/error.h"

namespace volta {
namespace {

struct Reason {
    char text[128];
};

// strerror_r comes in two forms: POSIX fills the buffer, GNU may return a text of its own.
[[maybe_unused]] const char* reason_text(int, const char* buffer) { return buffer; }
[[maybe_unused]] const char* reason_text(const char* text, const char*) { return text; }

Reason reason_of(int error) {
    char buffer[128] = "";
    Reason reason;
    std::snprintf(reason.text, sizeof reason.text, "%s",
                  reason_text(strerror_r(error, buffer, sizeof buffer), buffer));
    return reason;
}

[[noreturn]] void fail_io(const char* action, std::string_view path, int error) {
    fail(VOLTA_IO_ERROR, "cannot %s '%.*s': %s", action, static_cast<int>(path.size()), path.data(),
         reason_of(error).text);
}

template <class Call>  // Call: a system call that a signal may interrupt
auto uninterrupted(Call call) {
    for (;;) {
        const auto result = call();
        if (result != -1 || errno != EINTR) return result;
    }
}

class Descriptor final {
  public:
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    int get() const { return value_; }

  private:
    int value_;
};

const char* kind_name(mode_t mode) {
    return S_ISDIR(mode) ? "it is a directory" : "it is not a regular file";
}

struct OpenFile {
    Descriptor descriptor;
    std::size_t bytes;
};

// O_NONBLOCK keeps a FIFO without a writer from blocking the open; it has no effect on regular files.
OpenFile open_to_read(const char* path) {
    require(path != nullptr && *path != '\0', "the path of the file to read is empty");
    const int descriptor =
        uninterrupted([&] { return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
    if (descriptor < 0) fail_io("open", path, errno);
    OpenFile file{Descriptor(descriptor), 0};
    struct stat status;
    if (::fstat(descriptor, &status) != 0) fail_io("open", path, errno);
    if (!S_ISREG(status.st_mode))
        fail(VOLTA_IO_ERROR, "cannot open '%s': %s", path, kind_name(status.st_mode));
    file.bytes = static_cast<std::size_t>(status.st_size);
    return file;
}

// Reads until `bytes` are there or the file ends; returns how many there were.
std::size_t read_fully(int descriptor, unsigned char* data, std::size_t bytes, const char* path) {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // Linux cuts a read at 2 GiB
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t n = uninterrupted(
            [&] { return ::read(descriptor, data + done, std::min(bytes - done, kMostAtOnce)); });
        if (n < 0) fail_io("read", path, errno);
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    return done;
}

}  // namespace

MappedFile::MappedFile(const char* path) {
    const OpenFile file = open_to_read(path);
    if (file.bytes == 0) return;  // mmap refuses an empty mapping
    void* address = ::mmap(nullptr, file.bytes, PROT_READ, MAP_SHARED, file.descriptor.get(), 0);
    if (address == MAP_FAILED) fail_io("map", path, errno);
    data_ = static_cast<const unsigned char*>(address);
    bytes_ = file.bytes;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    MappedFile taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(bytes_, taken.bytes_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<unsigned char*>(data_), bytes_);
}

Buffer read_file(const char* path, std::pmr::memory_resource* heap, std::size_t most) {
    const OpenFile file = open_to_read(path);
    if (file.bytes > most)
        fail(VOLTA_IO_ERROR, "cannot read '%s': it has %zu bytes, at most %zu are read", path, file.bytes,
             most);
    Buffer buffer(heap, file.bytes);
    auto* const data = static_cast<unsigned char*>(buffer.data());
    unsigned char beyond;
    if (read_fully(file.descriptor.get(), data, file.bytes, path) != file.bytes ||
        read_fully(file.descriptor.get(), &beyond, 1, path) != 0)
        fail(VOLTA_IO_ERROR, "cannot read '%s': its size changed while it was being read", path);
    return buffer;
}

namespace {

// The file that a save replaces: the end of the chain when `path` is a symbolic link, which itself stays. A
// link to nothing is replaced like a file.
std::pmr::string resolved(const char* path, std::pmr::memory_resource* heap) {
    char target[PATH_MAX];
    struct stat status;
    const bool is_link = ::lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    return std::pmr::string(is_link && ::realpath(path, target) != nullptr ? target : path, heap);
}

// Permission bits of the file that is there, or -1. Renaming over it would get past its write protection and
// would take the place of a device, so both are checked here.
int mode_to_keep(const char* path) {
    struct stat status;
    if (::stat(path, &status) != 0) return -1;
    if (!S_ISREG(status.st_mode))
        fail(VOLTA_IO_ERROR, "cannot write '%s': %s", path, kind_name(status.st_mode));
    if (::faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) fail_io("write", path, errno);
    return static_cast<int>(status.st_mode & 0777);
}

void sync_folder_of(std::string_view path, std::pmr::memory_resource* heap) {
    const std::size_t slash = path.rfind('/');
    const std::string_view folder =
        slash == std::string_view::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    const std::pmr::string name(folder, heap);
    const Descriptor descriptor(
        uninterrupted([&] { return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (descriptor.get() < 0 && errno == EACCES)
        return;  // a folder one may write but not list cannot be synced
    if (descriptor.get() < 0) fail_io("open the folder", name, errno);
    const int result = uninterrupted([&] { return ::fsync(descriptor.get()); });
    if (result != 0 && errno != EINVAL)
        fail_io("sync the folder", name, errno);  // EINVAL: nothing to sync there
}

}  // namespace

bool file_exists(const char* path) noexcept {
    struct stat status;
    return ::stat(path, &status) == 0;
}

void make_folders(const char* path, std::pmr::memory_resource* heap) {
    require(path != nullptr && *path != '\0', "the path of the folder is empty");
    std::pmr::string part(heap);
    for (const char* at = path;; ++at) {
        if ((*at == '/' || *at == '\0') && !part.empty() && part.back() != '/' &&
            ::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
            fail_io("make the folder", part, errno);
        if (*at == '\0') break;
        part += *at;
    }
    struct stat status;
    if (::stat(path, &status) != 0) fail_io("make the folder", path, errno);
    if (!S_ISDIR(status.st_mode)) fail_io("make the folder", path, ENOTDIR);
}

namespace {

// Whether somebody else still holds the lock of this open file after half a second.
bool is_held_long(int descriptor) {
    constexpr int kTries = 50;
    constexpr timespec kBetween = {0, 10'000'000};
    for (int i = 0; i < kTries; ++i) {
        if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
        ::nanosleep(&kBetween, nullptr);
    }
    return true;
}

}  // namespace

FileLock::FileLock(const char* path, void (*waits)(void* user), void* user)
    : descriptor_(uninterrupted([&] { return ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666); })) {
    if (descriptor_ < 0) fail_io("lock", path, errno);
    if (waits != nullptr && is_held_long(descriptor_)) waits(user);
    // Where the lock is held already, by this open file, it is held still.
    if (uninterrupted([&] { return ::flock(descriptor_, LOCK_EX); }) != 0) {
        const int error = errno;
        ::close(descriptor_);
        fail_io("lock", path, error);
    }
}

FileLock::~FileLock() { ::close(descriptor_); }

AtomicFile::AtomicFile(const char* path, std::pmr::memory_resource* heap) : path_(heap), temporary_(heap) {
    require(path != nullptr && *path != '\0', "the path of the file to write is empty");
    path_ = resolved(path, heap);
    const int mode = mode_to_keep(path_.c_str());
    open_temporary(mode < 0 ? 0666 : 0600);
    if (mode >= 0 && ::fchmod(descriptor_, static_cast<mode_t>(mode)) != 0) {
        const int error = errno;
        discard();
        fail_io("set the permissions of", path_, error);
    }
}

// O_EXCL never takes a file that is there, be it of another save in progress or left by a killed process.
void AtomicFile::open_temporary(unsigned mode) {
    constexpr int kTries = 10000;
    for (int counter = 0; counter < kTries; ++counter) {
        char suffix[48];
        std::snprintf(suffix, sizeof suffix, ".tmp-%ld-%d", static_cast<long>(::getpid()), counter);
        temporary_ = path_;
        temporary_ += suffix;
        descriptor_ = uninterrupted(
            [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
        if (descriptor_ >= 0) return;
        if (errno != EEXIST) break;
    }
    const int error = errno;
    temporary_.clear();
    fail_io("write", path_, error);
}

void AtomicFile::discard() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(const void* data, std::size_t bytes) {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
    if (descriptor_ < 0) fail(VOLTA_INVALID_STATE, "'%s' was committed already", path_.c_str());
    const auto* at = static_cast<const unsigned char*>(data);
    while (bytes > 0) {
        const ssize_t n =
            uninterrupted([&] { return ::write(descriptor_, at, std::min(bytes, kMostAtOnce)); });
        if (n <= 0) fail_io("write", path_, n < 0 ? errno : ENOSPC);
        at += n;
        bytes -= static_cast<std::size_t>(n);
        written_ += static_cast<std::uint64_t>(n);
    }
}

void AtomicFile::commit() {
    if (descriptor_ < 0) fail(VOLTA_INVALID_STATE, "'%s' was committed already", path_.c_str());
    if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) fail_io("write", path_, errno);
    // Some file systems report a late write error at close. EINTR: Linux has closed it all the same.
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail_io("write", path_, errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("replace", path_, errno);
    temporary_.clear();
    sync_folder_of(path_, path_.get_allocator().resource());
}

}  // namespace volta
