#include "engine/base/hash.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

// Inlined here with internal linkage: no shared library to depend on, no symbol that could clash with the
// host's.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace volta {
namespace {

Hash128 from_xxh(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

std::uint32_t canonical_bits(const float* value) {
    std::uint32_t bits;
    std::memcpy(&bits, value, sizeof bits);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

}  // namespace

Hash128 hash_bytes(const void* data, std::size_t bytes) noexcept {
    return from_xxh(XXH3_128bits(data, bytes));
}

Hasher::Hasher() noexcept {
    static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= 64);
    XXH3_128bits_reset(new (state_) XXH3_state_t{});  // zeroed: reset reads the seed
}

void Hasher::add(const void* data, std::size_t bytes) noexcept {
    XXH3_128bits_update(reinterpret_cast<XXH3_state_t*>(state_), data, bytes);
}

void Hasher::add_floats(const float* data, std::size_t count) noexcept {
    std::uint32_t block[512];
    while (count > 0) {
        const std::size_t n = std::min(count, sizeof block / sizeof block[0]);
        for (std::size_t i = 0; i < n; ++i) block[i] = canonical_bits(data + i);
        add(block, n * sizeof block[0]);
        data += n;
        count -= n;
    }
}

Hash128 Hasher::result() const noexcept {
    return from_xxh(XXH3_128bits_digest(reinterpret_cast<const XXH3_state_t*>(state_)));
}

HashText to_text(Hash128 hash) noexcept {
    HashText out;
    std::snprintf(out.text, sizeof out.text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                  static_cast<unsigned long long>(hash.low));
    return out;
}

}  // namespace volta
