// Pictures of files, as Pillow's convert("RGB") makes them: three planes. JPEG by libjpeg-turbo, PNG by
// libpng, both behind a limit on pixels that is asked before memory is.
#pragma once

#include <cstddef>

#include "data/home.h"
#include "data/picture.h"

namespace volta::data {

// A file in memory. `name` is what a sentence calls it. Errors: CORRUPT_MODEL, UNSUPPORTED, OUT_OF_MEMORY.
void decode_picture(const char* name, const unsigned char* data, std::size_t bytes, const Limits& limits,
                    std::pmr::memory_resource* heap, Scratch& scratch, Picture& picture);

void decode_jpeg(const char* name, const unsigned char* data, std::size_t bytes, const Limits& limits,
                 Scratch& scratch, Picture& picture);
void decode_png(const char* name, const unsigned char* data, std::size_t bytes, const Limits& limits,
                std::pmr::memory_resource* heap, Scratch& scratch, Picture& picture);

// Fails where the picture has no pixels or more than the limit.
void check_extent(const char* name, std::uint64_t height, std::uint64_t width, const Limits& limits);

}  // namespace volta::data
