// CRC-32 as zip archives have it (polynomial 0x04c11db7, reflected).
#pragma once

#include <cstddef>
#include <cstdint>

namespace volta {

// Of the bytes behind those that gave `before`; 0: there are none.
std::uint32_t crc32(const void* data, std::size_t bytes, std::uint32_t before = 0) noexcept;

}  // namespace volta
