#include "engine/base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/folder.h"

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
    int release() { return std::exchange(value_, -1); }

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

namespace {

Descriptor open_nameless(const char* folder, std::pmr::memory_resource* heap) {
#ifdef O_TMPFILE
    const int nameless =
        uninterrupted([&] { return ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR); });
    if (nameless >= 0) return Descriptor(nameless);
#endif
    std::pmr::string path(folder, heap);  // file systems without such files
    path += "/volta-XXXXXX";
    const int named = uninterrupted([&] { return ::mkostemp(path.data(), O_CLOEXEC); });
    if (named < 0) fail_io("make a file in", folder, errno);
    ::unlink(path.c_str());
    return Descriptor(named);
}

}  // namespace

ScratchFile::ScratchFile(const char* folder, std::size_t bytes, std::pmr::memory_resource* heap) {
    require(folder != nullptr && *folder != '\0', "the folder of a file for memory is empty");
    const Descriptor file = open_nameless(folder, heap);
    if (bytes == 0) return;
    std::uint64_t most = 0;  // what off_t cannot say would be cut
    if (add_overflows(bytes, std::uint64_t{1} << 63, &most)) fail_io("reserve room in", folder, EFBIG);
    // Without room on the disk a store to the mapping would end the process.
    int error = EINTR;
    while (error == EINTR) error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
    if (error != 0)
        fail(VOLTA_IO_ERROR, "cannot reserve %zu bytes in '%s': %s", bytes, folder, reason_of(error).text);
    void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (address == MAP_FAILED) fail_io("map a file in", folder, errno);
    data_ = static_cast<unsigned char*>(address);
    bytes_ = bytes;
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ScratchFile& ScratchFile::operator=(ScratchFile&& other) noexcept {
    ScratchFile taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(bytes_, taken.bytes_);
    return *this;
}

ScratchFile::~ScratchFile() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
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

FileReader::FileReader(const char* path, std::pmr::memory_resource* heap) : path_(path, heap) {
    OpenFile file = open_to_read(path);
    descriptor_ = file.descriptor.release();
    bytes_ = file.bytes;
}

FileReader::~FileReader() { ::close(descriptor_); }

void FileReader::read(void* data, std::size_t bytes) {
    if (read_fully(descriptor_, static_cast<unsigned char*>(data), bytes, path_.c_str()) != bytes)
        fail(VOLTA_IO_ERROR, "cannot read '%s': it has become shorter while it was being read",
             path_.c_str());
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

std::pmr::string folder_of(std::string_view path, std::pmr::memory_resource* heap) {
    const std::size_t slash = path.rfind('/');
    return std::pmr::string(
        slash == std::string_view::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1)), heap);
}

std::string_view name_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// A folder that is to be synced; none where it cannot be: one that may be written but not listed.
Descriptor open_folder_of(std::string_view path, std::pmr::memory_resource* heap) {
    const std::pmr::string name = folder_of(path, heap);
    Descriptor folder(
        uninterrupted([&] { return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (folder.get() < 0 && errno != EACCES) fail_io("open the folder", name, errno);
    return folder;
}

// What has been made or renamed in it is there after a power cut. EINVAL: nothing to sync there.
int sync(const Descriptor& folder) {
    if (folder.get() < 0) return 0;
    const int result = uninterrupted([&] { return ::fsync(folder.get()); });
    return result == 0 || errno == EINVAL ? 0 : errno;
}

// ---- Temporary files of a save: "<path>.tmp-<pid>-<n>" ----
//
// Whoever writes one holds its lock, so one whose lock is free, and whose process is gone, was left behind.

constexpr std::string_view kTemporary = ".tmp-";

// Digits up to the end or to `stop`, which are taken from the text; -1: none.
long take_number(std::string_view* text, char stop) {
    constexpr long kMost = 1L << 40;
    long number = 0;
    std::size_t digits = 0;
    for (; digits < text->size() && (*text)[digits] != stop; ++digits) {
        const char digit = (*text)[digits];
        if (digit < '0' || digit > '9' || number > kMost) return -1;
        number = 10 * number + (digit - '0');
    }
    text->remove_prefix(digits);
    return digits > 0 ? number : -1;
}

// The process that made `entry`, a temporary file of `name`; -1: it is none.
long maker_of(std::string_view entry, std::string_view name) {
    if (entry.substr(0, name.size()) != name) return -1;
    entry.remove_prefix(name.size());
    if (entry.substr(0, kTemporary.size()) != kTemporary) return -1;
    entry.remove_prefix(kTemporary.size());
    const long process = take_number(&entry, '-');
    if (process < 0 || entry.empty()) return -1;
    entry.remove_prefix(1);
    return take_number(&entry, '\0') >= 0 && entry.empty() ? process : -1;
}

// EPERM: it is another user's, and alive.
bool is_alive(long process) { return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH; }

bool is_same_file(int descriptor, int folder, const char* name) {
    struct stat opened, named;
    return ::fstat(descriptor, &opened) == 0 && ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(named.st_mode) && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Removes `name` if nobody writes it. The lock is held until it is gone, and so that a process of another
// machine or container, whose number says nothing here, is seen where the file system has locks.
void remove_if_left(int folder, const char* name) {
    const Descriptor file(uninterrupted(
        [&] { return ::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY); }));
    if (file.get() < 0 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
    if (is_same_file(file.get(), folder, name)) ::unlinkat(folder, name, 0);
}

// Removes what saves of `path` left in its folder when their process was killed. Nothing that fails here is
// an error: the save does not depend on it.
void remove_left_files(std::string_view path, std::pmr::memory_resource* heap) {
    FolderReader folder(folder_of(path, heap).c_str());
    const long self = static_cast<long>(::getpid());
    while (const char* const name = folder.next().name) {
        const long process = maker_of(name, name_of(path));
        // This process's own number says nothing: it may be that of one that is gone.
        if (process > 0 && (process == self || !is_alive(process))) remove_if_left(folder.descriptor(), name);
    }
}

}  // namespace

namespace {

// Lines of a file of /proc, which has no size, without memory of the heap. One that is too long is cut.
class Lines final {
  public:
    explicit Lines(int descriptor) : descriptor_(descriptor) {}
    bool next(std::string_view* line) {
        std::memmove(text_, text_ + end_, held_ -= end_);
        for (;;) {
            const char* const newline = static_cast<const char*>(std::memchr(text_, '\n', held_));
            const bool is_full = held_ == sizeof text_;
            if (newline != nullptr || is_full) {
                const std::size_t bytes =
                    newline != nullptr ? static_cast<std::size_t>(newline - text_) : held_;
                end_ = std::min(bytes + 1, held_);
                *line = std::string_view(text_, bytes);
                return true;
            }
            const ssize_t n =
                uninterrupted([&] { return ::read(descriptor_, text_ + held_, sizeof text_ - held_); });
            if (n <= 0) return false;
            held_ += static_cast<std::size_t>(n);
        }
    }

  private:
    int descriptor_;
    char text_[8192];
    std::size_t held_ = 0, end_ = 0;  // bytes in text_, of these the line that was given
};

}  // namespace

// A line: "5581a4c5e000-5581a4c60000 r-xp 00002000 08:01 131 <spaces> /usr/bin/x".
bool path_of_code(const void* address, CodePath* path) noexcept {
    const Descriptor maps(
        uninterrupted([&] { return ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC | O_NOCTTY); }));
    if (maps.get() < 0) return false;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    Lines lines(maps.get());
    for (std::string_view line; lines.next(&line);) {
        char* end = nullptr;
        const std::uintptr_t first = std::strtoull(line.data(), &end, 16);
        const std::uintptr_t last = *end == '-' ? std::strtoull(end + 1, &end, 16) : 0;
        if (at < first || at >= last) continue;
        const std::size_t slash = line.find('/');
        if (slash == std::string_view::npos) return false;
        const std::string_view found = line.substr(slash);
        // The system writes a removed file's name with " (deleted)", and a line break in one as "\012".
        constexpr std::string_view kDeleted = " (deleted)";
        const bool is_removed =
            found.size() > kDeleted.size() && found.substr(found.size() - kDeleted.size()) == kDeleted;
        if (is_removed || found.find('\\') != std::string_view::npos || found.size() >= sizeof path->text)
            return false;
        std::memcpy(path->text, found.data(), found.size());
        path->text[found.size()] = '\0';
        return true;
    }
    return false;
}

bool file_exists(const char* path) noexcept {
    struct stat status;
    return ::stat(path, &status) == 0;
}

bool is_folder(const char* path) noexcept {
    struct stat status;
    return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

void make_folders(const char* path, std::pmr::memory_resource* heap) {
    require(path != nullptr && *path != '\0', "the path of the folder is empty");
    std::pmr::string part(heap);
    for (const char* at = path;; ++at) {
        if ((*at == '/' || *at == '\0') && !part.empty() && part.back() != '/') {
            const bool is_made = ::mkdir(part.c_str(), 0777) == 0;
            if (!is_made && errno != EEXIST) fail_io("make the folder", part, errno);
            if (const int error = is_made ? sync(open_folder_of(part, heap)) : 0; error != 0)
                fail_io("make the folder", part, error);
        }
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

FolderLock::FolderLock(const char* path)
    : descriptor_(uninterrupted([&] { return ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); })) {
    if (descriptor_ < 0) fail_io("open the folder", path, errno);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(descriptor_);
    fail(VOLTA_IO_ERROR, "cannot write to '%s': another process or thread is saving there", path);
}

FolderLock::~FolderLock() { ::close(descriptor_); }

void remove_files(const char* folder, bool (*is_removed)(const void* user, const char* name),
                  const void* user) noexcept {
    FolderReader reader(folder);
    while (const char* const name = reader.next().name)
        if (is_removed(user, name)) remove_if_left(reader.descriptor(), name);
}

AtomicFile::AtomicFile(const char* path, std::pmr::memory_resource* heap, const Stop& stop)
    : path_(heap), temporary_(heap), stop_(stop) {
    require(path != nullptr && *path != '\0', "the path of the file to write is empty");
    path_ = resolved(path, heap);
    const int mode = mode_to_keep(path_.c_str());
    remove_left_files(path_, heap);
    open_temporary(mode < 0 ? 0666 : 0600);
    if (mode >= 0 && ::fchmod(descriptor_, static_cast<mode_t>(mode)) != 0) {
        const int error = errno;
        discard();
        fail_io("set the permissions of", path_, error);
    }
}

// O_EXCL never takes a file that is there, be it of another save in progress or one that nobody could remove.
// A file that is not locked yet may be taken for one that was left behind; then its name is gone, and the
// next one is tried. A file system without locks leaves it unlocked.
void AtomicFile::open_temporary(unsigned mode) {
    constexpr int kTries = 10000;
    for (int counter = 0; counter < kTries; ++counter) {
        char suffix[48];
        std::snprintf(suffix, sizeof suffix, "%s%ld-%d", kTemporary.data(), static_cast<long>(::getpid()),
                      counter);
        temporary_ = path_;
        temporary_ += suffix;
        descriptor_ = uninterrupted(
            [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
        if (descriptor_ >= 0) {
            uninterrupted([&] { return ::flock(descriptor_, LOCK_EX); });
            if (is_same_file(descriptor_, AT_FDCWD, temporary_.c_str())) return;
            ::close(std::exchange(descriptor_, -1));
            continue;
        }
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
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30, kBetweenQuestions = std::size_t{1} << 20;
    if (descriptor_ < 0) fail(VOLTA_INVALID_STATE, "'%s' was committed already", path_.c_str());
    const auto* at = static_cast<const unsigned char*>(data);
    const std::size_t most = stop_.is_set() ? kBetweenQuestions : kMostAtOnce;
    while (bytes > 0) {
        if (written_ >= asked_) {
            stop_.ask("the rest of the file");
            asked_ = written_ + kBetweenQuestions;
        }
        const ssize_t n = uninterrupted([&] { return ::write(descriptor_, at, std::min(bytes, most)); });
        if (n <= 0) fail_io("write", path_, n < 0 ? errno : ENOSPC);
        at += n;
        bytes -= static_cast<std::size_t>(n);
        written_ += static_cast<std::uint64_t>(n);
    }
}

void AtomicFile::commit() {
    if (descriptor_ < 0) fail(VOLTA_INVALID_STATE, "'%s' was committed already", path_.c_str());
    stop_.ask("the end of the file");
    if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) fail_io("write", path_, errno);
    const Descriptor folder = open_folder_of(path_, path_.get_allocator().resource());
    // Some file systems report a late write error at close, and closing gives up the lock: so the rename
    // comes between a copy's close and the file's own.
    const Descriptor copy(::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
    // EINTR: Linux has closed it all the same.
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail_io("write", path_, errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("replace", path_, errno);
    temporary_.clear();
    if (const int error = sync(folder); error != 0)
        fail(VOLTA_IO_ERROR,
             "'%s' is written and in its place, but it may not survive a power cut: cannot sync its folder: "
             "%s",
             path_.c_str(), reason_of(error).text);
}

}  // namespace volta
