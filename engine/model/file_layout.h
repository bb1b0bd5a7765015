// The frame of a model file: what stands where, in bytes (docs/model_format.md).
//
//   0                 magic, format version, metadata length               16 bytes
//   16                metadata, a FlatBuffer (schemas/model_v1.fbs)        L bytes
//   16 + L            XXH3-128 of everything before it                     16 bytes
//   data_start(L)     data section: tensors, each at a multiple of 64; zeros between them
//
// All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/hash.h"
#include "engine/base/memory.h"

namespace volta {

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "model files are mapped, not converted: a big-endian machine needs a reader of its own"
#endif

// A text tool that drops zeros or rewrites line ends destroys the magic, and so is noticed.
inline constexpr char kMagic[8] = {'V', 'O', 'L', 'T', 'A', '\0', '\r', '\n'};
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint32_t kFormatMinor =
    5;  // what this library knows; a file says the least that it needs

struct Preamble {
    char magic[8];
    std::uint32_t format_version;
    std::uint32_t metadata_bytes;
};
static_assert(sizeof(Preamble) == 16);

inline constexpr std::size_t kPreambleBytes = sizeof(Preamble);
inline constexpr std::size_t kChecksumBytes = 16;  // the low half first
// Far above what a model needs; keeps what a hostile file can make the reader allocate within reason.
inline constexpr std::uint32_t kMaxMetadataBytes = 64u << 20;

constexpr std::uint64_t aligned(std::uint64_t offset) {
    return (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}
constexpr std::uint64_t data_start(std::uint32_t metadata_bytes) {
    return aligned(kPreambleBytes + std::uint64_t{metadata_bytes} + kChecksumBytes);
}

struct ChecksumBytes {
    std::uint64_t low, high;
};
static_assert(sizeof(ChecksumBytes) == kChecksumBytes);

}  // namespace volta
