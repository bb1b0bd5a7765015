// Files: read-only mappings, whole reads, and the crash-safe replacement of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

#include "engine/base/memory.h"
#include "engine/base/stop.h"

namespace volta {

// A whole file, mapped read-only and shared. Errors: IO_ERROR with path and reason (a directory, missing,
// ...).
class MappedFile final {
  public:
    MappedFile() = default;
    explicit MappedFile(const char* path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();
    const unsigned char* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    const unsigned char* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// Memory that lies in a file of `folder` rather than in the machine's memory: zeroed, all of it reserved on
// the disk when the constructor returns, shared with nobody. The file has no name, so that nothing is left of
// it whatever becomes of the process. Errors: IO_ERROR with folder and reason (no such folder, disk full,
// ...).
class ScratchFile final {
  public:
    ScratchFile() = default;
    ScratchFile(const char* folder, std::size_t bytes, std::pmr::memory_resource* heap);
    ScratchFile(ScratchFile&& other) noexcept;
    ScratchFile& operator=(ScratchFile&& other) noexcept;
    ~ScratchFile();
    unsigned char* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    unsigned char* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// The copying read, 64-byte aligned. IO_ERROR if the file is larger than `most` bytes.
Buffer read_file(const char* path, std::pmr::memory_resource* heap,
                 std::size_t most = static_cast<std::size_t>(-1));

// A file that is read from its beginning on. Errors: IO_ERROR with path and reason; a read beyond the end.
class FileReader final {
  public:
    FileReader(const char* path, std::pmr::memory_resource* heap);
    ~FileReader();
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    std::uint64_t bytes() const noexcept { return bytes_; }  // of the file, when it was opened
    void read(void* data, std::size_t bytes);

  private:
    std::pmr::string path_;
    int descriptor_;
    std::uint64_t bytes_;
};

// The file that the code at `address` was mapped from, absolute and resolved; false: the system does not say,
// or it is no file, or has been removed. Linux: from /proc/self/maps.
struct CodePath {
    char text[4096];
};
bool path_of_code(const void* address, CodePath* path) noexcept;

bool file_exists(const char* path) noexcept;  // anything of this name, as far as this process may see
bool is_folder(const char* path) noexcept;    // or a link to one

// Makes the folder `path` and those above it, where they are missing, to last: each is synced where it
// stands.
void make_folders(const char* path, std::pmr::memory_resource* heap);

// Holds a lock between processes for its lifetime: waits until no one else holds it, and calls `waits` once
// when that has taken half a second. The file `path`, empty, is made where it is missing, and stays. Errors:
// IO_ERROR.
class FileLock final {
  public:
    explicit FileLock(const char* path, void (*waits)(void* user) = nullptr, void* user = nullptr);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

  private:
    int descriptor_;
};

// Holds the lock of a folder for its lifetime, without a file in it. Throws IO_ERROR where another has it, or
// there is no such folder; a file system without locks has none.
class FolderLock final {
  public:
    explicit FolderLock(const char* path);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int descriptor_;
};

// Removes the files of a folder for which `is_removed` says so, but those that somebody is writing
// (AtomicFile). What cannot be removed stays.
void remove_files(const char* folder, bool (*is_removed)(const void* user, const char* name),
                  const void* user) noexcept;

// Writes a file that is either the old one or the complete new one at every instant: a temporary file in the
// same folder ("<path>.tmp-<pid>-<n>"), fsync, rename, fsync of the folder. Without commit() the temporary
// file is removed; one that a killed process left is removed by the next save of the same path. A symbolic
// link stays and the file it leads to is replaced; permission bits stay; a file that is write-protected, a
// folder or a device is refused. Errors of every member: IO_ERROR with path and reason (disk full, ...);
// until the rename the old file is untouched. After it only the last step can fail, the sync of the folder:
// the text then says that the new file is in its place. `stop` is asked before every megabyte and before
// commit(); it outlives the file.
class AtomicFile final {
  public:
    AtomicFile(const char* path, std::pmr::memory_resource* heap, const Stop& stop = kNeverStops);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    void write(const void* data, std::size_t bytes);
    void commit();  // once, at the end
    std::uint64_t written() const noexcept { return written_; }

  private:
    void open_temporary(unsigned mode);
    void discard() noexcept;
    std::pmr::string path_, temporary_;  // temporary_ is empty when there is none
    int descriptor_ = -1;
    std::uint64_t written_ = 0, asked_ = 0;  // asked_: written when the next question is due
    const Stop& stop_;
};

}  // namespace volta
