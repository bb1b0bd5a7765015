// Memory of the ranks of one machine: each writes its own part, and the others read it where it lies. All
// parts are in one file without a name, which rank 0 makes and every rank maps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/group/socket_link.h"

namespace volta {

class SharedMemory final {
  public:
    SharedMemory() = default;  // none
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    ~SharedMemory();  // what this rank wrote is gone, also for others

    // The file; none where the system has no such memory. It can become longer, never shorter.
    static Socket make_file() noexcept;
    // Parts of `stride` bytes from `begin` on, one per rank; of its own this rank has so many bytes there,
    // zeros. None where memory is lacking or the file is not one of make_file().
    struct Parts {
        std::uint64_t begin, stride;
        std::uint32_t rank, ranks;
        std::uint64_t own_bytes;
    };
    static SharedMemory map(const Socket& file, const Parts& parts) noexcept;
    // What a part may begin at, and how far apart two must be.
    static std::uint64_t padded(std::uint64_t bytes) noexcept;

    explicit operator bool() const noexcept { return data_ != nullptr; }
    unsigned char* own() const noexcept { return data_ + parts_.rank * parts_.stride; }
    const unsigned char* of(std::uint32_t rank) const noexcept { return data_ + rank * parts_.stride; }

  private:
    std::size_t bytes() const noexcept { return static_cast<std::size_t>(parts_.ranks * parts_.stride); }
    void release() noexcept;

    unsigned char* data_ = nullptr;
    Parts parts_ = {};
    Socket file_;  // a descriptor of its own
};

}  // namespace volta
