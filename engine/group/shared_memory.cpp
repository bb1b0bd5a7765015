#include "engine/group/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

namespace volta {

namespace {

constexpr std::uint64_t kLargePage = std::uint64_t{2} << 20;

bool is_ours(const Socket& file) noexcept {
    struct stat status;
    return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           (::fcntl(file.get(), F_GET_SEALS) & F_SEAL_SHRINK) != 0;
}

// With its pages: what the system does not have is refused here, not by a signal when it is written.
bool reserve(const Socket& file, std::uint64_t begin, std::uint64_t bytes) noexcept {
    int result = 0;
    do {
        result = ::fallocate(file.get(), 0, static_cast<off_t>(begin), static_cast<off_t>(bytes));
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

}  // namespace

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), parts_(other.parts_), file_(std::move(other.file_)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(parts_, other.parts_);
    std::swap(file_, other.file_);
    return *this;
}

SharedMemory::~SharedMemory() { release(); }

void SharedMemory::release() noexcept {
    if (data_ == nullptr) return;
    ::munmap(std::exchange(data_, nullptr), bytes());
    // The group, which has the file, may live on.
    ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(parts_.begin + parts_.rank * parts_.stride),
                static_cast<off_t>(padded(parts_.own_bytes)));
}

// Sealed, so that nobody makes it shorter and a read of it a fault.
Socket SharedMemory::make_file() noexcept {
    Socket made(::memfd_create("volta group", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (made && ::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) made.close();
    return made;
}

std::uint64_t SharedMemory::padded(std::uint64_t bytes) noexcept {
    return (bytes + kLargePage - 1) / kLargePage * kLargePage;
}

SharedMemory SharedMemory::map(const Socket& file, const Parts& parts) noexcept {
    SharedMemory memory;
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
    if (!is_ours(file) || parts.stride == 0 || parts.begin > most ||
        parts.stride > (most - parts.begin) / parts.ranks)
        return memory;
    Socket own(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
    const std::uint64_t first = parts.rank * parts.stride;
    if (!own || !reserve(file, parts.begin + first, padded(parts.own_bytes))) return memory;
    void* const all = ::mmap(nullptr, static_cast<std::size_t>(parts.ranks * parts.stride), PROT_READ,
                             MAP_SHARED, file.get(), static_cast<off_t>(parts.begin));
    if (all == MAP_FAILED) return memory;
    memory.parts_ = parts;
    memory.file_ = std::move(own);
    memory.data_ = static_cast<unsigned char*>(all);  // from here on released by it
    unsigned char* const part = memory.own();
    if (::mprotect(part, static_cast<std::size_t>(parts.stride), PROT_READ | PROT_WRITE) != 0)
        return SharedMemory();
    ::madvise(part, static_cast<std::size_t>(parts.stride), MADV_HUGEPAGE);  // where the system grants it
    return memory;
}

}  // namespace volta
