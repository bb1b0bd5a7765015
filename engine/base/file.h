// Files: read-only mappings, whole reads, and the crash-safe replacement of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

#include "engine/base/memory.h"

namespace volta {

// A whole file, mapped read-only and shared. Errors: IO_ERROR with path and reason (a directory, missing, ...).
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

Buffer read_file(const char* path, std::pmr::memory_resource* heap);  // the copying read, 64-byte aligned

// Writes a file that is either the old one or the complete new one at every instant: a temporary file in the
// same folder, fsync, rename, fsync of the folder. Without commit() the temporary file is removed.
class AtomicFile final {
  public:
    AtomicFile(const char* path, std::pmr::memory_resource* heap);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    void write(const void* data, std::size_t bytes);  // Errors: IO_ERROR (disk full, ...)
    void commit();
    std::uint64_t written() const noexcept { return written_; }

  private:
    std::pmr::string path_, temporary_;
    int descriptor_ = -1;
    std::uint64_t written_ = 0;
};

}  // namespace volta
