#include "engine/base/crc32.h"

#include <cstring>

namespace volta {
namespace {

constexpr std::size_t kSlices = 8;

// entry[s][b]: what byte b does to the sum when s more bytes follow it, so that eight are taken at once.
struct Tables {
    std::uint32_t entry[kSlices][256];
};

constexpr Tables make_tables() {
    Tables tables = {};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t sum = byte;
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320u : 0);
        tables.entry[0][byte] = sum;
    }
    for (std::size_t slice = 1; slice < kSlices; ++slice)
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t sum = tables.entry[slice - 1][byte];
            tables.entry[slice][byte] = sum >> 8 ^ tables.entry[0][sum & 255];
        }
    return tables;
}
constexpr Tables kTables = make_tables();

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are loaded, not put together");

}  // namespace

std::uint32_t crc32(const void* data, std::size_t bytes, std::uint32_t before) noexcept {
    const auto* at = static_cast<const unsigned char*>(data);
    std::uint32_t sum = ~before;
    for (; bytes >= kSlices; bytes -= kSlices, at += kSlices) {
        std::uint32_t words[2];
        std::memcpy(words, at, sizeof words);
        words[0] ^= sum;
        sum = 0;
        for (std::size_t i = 0; i < kSlices; ++i)
            sum ^= kTables.entry[kSlices - 1 - i][words[i / 4] >> 8 * (i % 4) & 255];
    }
    for (; bytes > 0; --bytes, ++at) sum = sum >> 8 ^ kTables.entry[0][(sum ^ *at) & 255];
    return ~sum;
}

}  // namespace volta
