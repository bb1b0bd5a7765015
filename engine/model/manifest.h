// The manifest of a model's file that lies in several parts: which part has which bytes, and its checksum
// (docs/model_format.md). It is read as the model file is: nothing in it is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/hash.h"

namespace volta {

inline constexpr char kManifestName[] = "volta.manifest";
inline constexpr std::uint32_t kManifestVersion = 1;
inline constexpr std::uint32_t kMostParts = 4096;
// One for each tensor, at most.
inline constexpr std::size_t kMostRanges = std::size_t{1} << 16;
inline constexpr std::size_t kMostManifestBytes = std::size_t{8} << 20;

struct ByteRange {
    std::uint64_t begin, end;  // of the whole file
};

struct FilePart {
    explicit FilePart(std::pmr::memory_resource* heap) : name(heap), ranges(heap) {}
    std::pmr::string name;
    Hash128 checksum;                    // of its bytes
    std::pmr::vector<ByteRange> ranges;  // which are these, one behind the other, ascending
    std::uint64_t bytes() const noexcept;
};

struct Manifest {
    explicit Manifest(std::pmr::memory_resource* heap) : parts(heap) {}
    std::uint64_t bytes = 0;  // of the whole file
    std::pmr::vector<FilePart> parts;
};

// "volta-<32 hexadecimal digits>-<index>-of-<count>.part". The digits tell saves apart, so that no part of a
// valid checkpoint is written over by another.
struct PartName {
    char text[80];
};
PartName part_name(Hash128 save, std::uint32_t index, std::uint32_t count) noexcept;
bool is_part_name(std::string_view name) noexcept;

std::pmr::string print(const Manifest& manifest, std::pmr::memory_resource* heap);
// Throws CORRUPT_MODEL, or UNSUPPORTED of another version. What it gives covers the file: each byte is in one
// part.
Manifest parse_manifest(std::string_view text, std::pmr::memory_resource* heap);

}  // namespace volta
