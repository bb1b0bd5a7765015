// Pillow's resize on 8 bits a channel, bit for bit (docs/data.md, "Resizing").
#pragma once

#include "data/picture.h"
#include "include/volta_data.h"

namespace volta::data {

// `half` is the picture between the two passes. Views may be parts of a picture, which then is all that is
// read. Errors: UNSUPPORTED where either picture would have more than max_pixels.
void resize(const View& from, std::uint64_t height, std::uint64_t width, volta_filter filter,
            std::uint64_t max_pixels, Bytes& weights, Picture& half, Picture& to);
bool is_filter(volta_filter filter) noexcept;  // one that this library knows

}  // namespace volta::data
