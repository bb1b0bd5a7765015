// Files that are read in pieces, while they stay open, and gzip files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

#include "data/picture.h"

namespace volta::data {

// Errors: IO_ERROR with path and reason.
class InputFile final {
  public:
    InputFile(const char* path, std::pmr::memory_resource* heap);
    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&&) = delete;
    ~InputFile();
    const char* path() const noexcept { return path_.c_str(); }
    std::uint64_t bytes() const noexcept { return bytes_; }  // when it was opened
    // All `count` bytes, or IO_ERROR: the file has become shorter. Thread: any number at once.
    void read_at(std::uint64_t offset, void* data, std::size_t count) const;

  private:
    std::pmr::string path_;
    int descriptor_;
    std::uint64_t bytes_ = 0;
};

enum class PathKind { none, file, folder };
PathKind kind_of(
    const char* path) noexcept;  // what stands there, through symbolic links; other things are files

// The whole file into `bytes`; returns how many there are. More than `most`: CORRUPT_MODEL, before anything
// is allocated.
std::size_t read_whole(const char* path, std::uint64_t most, Bytes& bytes);

// What a gzip file expands to, member after member. Errors: CORRUPT_MODEL, OUT_OF_MEMORY.
class Gunzip final {
  public:
    // `data` stays the caller's and must outlive this.
    Gunzip(const char* path, const unsigned char* data, std::size_t bytes, std::pmr::memory_resource* heap);
    ~Gunzip();
    Gunzip(const Gunzip&) = delete;
    Gunzip& operator=(const Gunzip&) = delete;
    // Up to `count` further bytes; fewer only where it ends.
    std::size_t read(void* data, std::size_t count);

  private:
    struct State;
    State* state_;
    std::pmr::memory_resource* heap_;
};

inline bool is_gzip(const unsigned char* data, std::size_t bytes) {
    return bytes >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}
// No file of so many bytes expands to more: 258 bytes from two bits, the most that deflate can say.
inline std::uint64_t most_expanded(std::uint64_t bytes) {
    return bytes < UINT64_MAX / 1040 ? bytes * 1040 : UINT64_MAX;
}

// Memory of the host's heap for libraries of C, which free without a size and cannot be thrown at. A refusal
// is remembered.
class CHeap final {
  public:
    explicit CHeap(std::pmr::memory_resource* heap) noexcept : heap_(heap) {}
    void* allocate(std::size_t bytes) noexcept;
    void release(void* pointer) noexcept;
    std::size_t refused() const noexcept { return refused_; }  // bytes of the last that was; 0: none

  private:
    std::pmr::memory_resource* heap_;
    std::size_t refused_ = 0;
};

}  // namespace volta::data
