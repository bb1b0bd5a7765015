#include "engine/base/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace volta {

FolderReader::FolderReader(const char* path) noexcept {
    do {
        descriptor_ = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) error_ = errno;
}

FolderReader::~FolderReader() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

FolderReader::Entry FolderReader::next() noexcept {
    if (error_ == 0 && at_ == held_) {
        ssize_t bytes;
        do {
            bytes = ::getdents64(descriptor_, entries_, sizeof entries_);
        } while (bytes < 0 && errno == EINTR);
        if (bytes < 0) error_ = errno;
        held_ = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
        at_ = 0;
    }
    if (error_ != 0 || held_ == 0) return {nullptr, Kind::other};
    const auto& entry = *reinterpret_cast<const dirent64*>(entries_ + at_);
    at_ += entry.d_reclen;
    return {entry.d_name, entry.d_type == DT_DIR   ? Kind::folder
                          : entry.d_type == DT_REG ? Kind::file
                                                   : Kind::other};
}

}  // namespace volta
