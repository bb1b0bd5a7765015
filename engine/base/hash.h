// 128-bit hashes (XXH3): checksums of tensor bytes, keys of plans, fingerprints of parameters. Not
// cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace volta {

struct Hash128 {
    std::uint64_t high = 0, low = 0;
};
inline bool operator==(Hash128 a, Hash128 b) { return a.high == b.high && a.low == b.low; }
inline bool operator!=(Hash128 a, Hash128 b) { return !(a == b); }

Hash128 hash_bytes(const void* data, std::size_t bytes) noexcept;

// The same hash over a sequence of pieces. The state lives inside: no allocation.
class Hasher final {
  public:
    Hasher() noexcept;
    void add(const void* data, std::size_t bytes) noexcept;
    // float data as the contract sees it: every NaN counts as 0x7fc00000.
    void add_floats(const float* data, std::size_t count) noexcept;
    Hash128 result() const noexcept;

  private:
    alignas(64) unsigned char state_[576 + 64];
};

struct HashText {
    char text[33];  // 32 lower-case hex digits, high half first
};
HashText to_text(Hash128 hash) noexcept;

}  // namespace volta
