// The names in a folder, read into memory of the reader's own: the C library's opendir takes it from the C
// heap.
#pragma once

#include <cstddef>

namespace volta {

class FolderReader final {
  public:
    explicit FolderReader(const char* path) noexcept;
    ~FolderReader();
    FolderReader(const FolderReader&) = delete;
    FolderReader& operator=(const FolderReader&) = delete;

    enum class Kind { folder, file, other };  // other: a link, a device, or the file system does not say
    struct Entry {
        const char* name;  // NULL: there is no further one, or error() says why. Valid until the next
        Kind kind;
    };
    Entry next() noexcept;
    int error() const noexcept { return error_; }            // errno of what failed; 0: nothing did
    int descriptor() const noexcept { return descriptor_; }  // of the folder

  private:
    int descriptor_, error_ = 0;
    std::size_t at_ = 0, held_ = 0;
    alignas(8) char entries_[4096];
};

}  // namespace volta
