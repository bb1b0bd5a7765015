#include "data/decode.h"

#include <cstring>

#include "engine/base/error.h"

namespace volta::data {

void check_extent(const char* name, std::uint64_t height, std::uint64_t width, const Limits& limits) {
    constexpr std::uint64_t kMostExtent = 0x7fffffff;
    std::uint64_t pixels;
    if (height == 0 || width == 0)
        fail(VOLTA_CORRUPT_MODEL, "'%s' is a picture of %llu x %llu pixels", name,
             static_cast<unsigned long long>(width), static_cast<unsigned long long>(height));
    if (height > kMostExtent || width > kMostExtent || multiply_overflows(height, width, &pixels) ||
        pixels > limits.pixels)
        fail(VOLTA_UNSUPPORTED, "'%s' is a picture of %llu x %llu pixels, more than the limit of %llu", name,
             static_cast<unsigned long long>(width), static_cast<unsigned long long>(height),
             static_cast<unsigned long long>(limits.pixels));
}

void decode_picture(const char* name, const unsigned char* data, std::size_t bytes, const Limits& limits,
                    std::pmr::memory_resource* heap, Scratch& scratch, Picture& picture) {
    constexpr unsigned char kJpeg[] = {0xff, 0xd8, 0xff}, kPng[] = {0x89, 'P', 'N', 'G'};
    if (bytes >= sizeof kJpeg && std::memcmp(data, kJpeg, sizeof kJpeg) == 0)
        return decode_jpeg(name, data, bytes, limits, scratch, picture);
    if (bytes >= sizeof kPng && std::memcmp(data, kPng, sizeof kPng) == 0)
        return decode_png(name, data, bytes, limits, heap, scratch, picture);
    if (bytes == 0) fail(VOLTA_CORRUPT_MODEL, "'%s' is empty", name);
    fail(VOLTA_CORRUPT_MODEL, "'%s' is neither a JPEG nor a PNG file", name);
}

}  // namespace volta::data
