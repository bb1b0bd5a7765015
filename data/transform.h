// From a picture to floats, step by step as docs/data.md has them.
#pragma once

#include <cstdint>

#include "data/draws.h"
#include "data/picture.h"
#include "include/volta_data.h"

namespace volta::data {

class Transform final {
  public:
    // Of pictures that have `channels` and, if they all have one size, that; 0: each has its own. Errors:
    // INVALID_ARGUMENT with the option's name.
    Transform(const volta_transform_options& options, std::uint32_t channels, std::uint32_t height,
              std::uint32_t width, std::uint64_t max_pixels);

    std::uint32_t channels() const noexcept { return options_.channels; }
    std::uint32_t height() const noexcept { return options_.height; }
    std::uint32_t width() const noexcept { return options_.width; }
    std::size_t plane() const noexcept { return std::size_t{height()} * width(); }
    std::size_t elements() const noexcept { return channels() * plane(); }
    float mixup() const noexcept { return options_.mixup; }

    // [channels, height, width] to `values`. `draws` NULL: nothing random. Errors: SHAPE_MISMATCH,
    // UNSUPPORTED (a resize beyond the limit), without a name.
    void apply(const Picture& picture, const Draws* draws, Scratch& scratch, float* values) const;

  private:
    void check() const;
    View resized(const View& from, const Draws* draws, Scratch& scratch) const;
    View random_part(const View& from, const Draws& draws) const;
    void cut(const View& from, const Draws* draws, Picture& to) const;
    void jitter(const Draws& draws, Picture& picture) const;
    void write(const Picture& picture, float* values) const;
    void cut_out(const Draws& draws, float* values) const;

    volta_transform_options options_;
    std::uint64_t max_pixels_;
    float values_[3][256];  // what each byte becomes, by channel
};

}  // namespace volta::data
