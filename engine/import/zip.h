// Zip archives whose members are stored, not compressed. What comes from a file is hostile: every length and
// offset is checked before it is used, all members together fit the file, and their checksums are verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/base/file.h"

namespace volta {

struct ZipMember {
    std::string_view name;
    const unsigned char* data;
    std::size_t bytes;
};

inline constexpr std::size_t kMostZipMembers = 16384;

// Views into `file`, in its order. Throws CORRUPT_MODEL with what is wrong; UNSUPPORTED, naming a member that
// is compressed or encrypted, or for an archive of several parts.
std::pmr::vector<ZipMember> read_zip(const unsigned char* file, std::size_t bytes,
                                     std::pmr::memory_resource* heap);

// Writes members one behind the other. Numbers of 32 bits up to `most`, which is the format's own limit but
// for tests; above it those of 64 (zip64). No clock: the same members give the same bytes.
class ZipWriter final {
  public:
    static constexpr std::uint64_t kMostPlain = 0xfffffffe;
    ZipWriter(AtomicFile& file, std::pmr::memory_resource* heap, std::uint64_t most = kMostPlain);
    // A member of two pieces: a header, and what lies somewhere already.
    void add(std::string_view name, std::string_view head, const void* data, std::size_t bytes);
    void finish();  // the directory; once, at the end

  private:
    AtomicFile& file_;
    std::pmr::string directory_, part_;
    std::size_t count_ = 0;
    std::uint64_t most_;
};

}  // namespace volta
