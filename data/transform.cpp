#include "data/transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/resize.h"
#include "engine/base/error.h"

namespace volta::data {
namespace {

constexpr std::uint32_t kMostExtent = 65536, kMostPadding = 4096;

// Pillow's, of 16 bits.
unsigned grey_of(unsigned red, unsigned green, unsigned blue) {
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
}

View to_grey(const View& from, Picture& to) {
    to.reshape(1, from.height, from.width);
    for (std::uint32_t y = 0; y < from.height; ++y) {
        const unsigned char *const red = from.row(0, y), *const green = from.row(1, y),
                                   *const blue = from.row(2, y);
        unsigned char* const out = to.row(0, y);
        for (std::uint32_t x = 0; x < from.width; ++x)
            out[x] = static_cast<unsigned char>(grey_of(red[x], green[x], blue[x]));
    }
    return to.view();
}

// Half of a difference, halves to the even one: where torchvision's CenterCrop begins.
std::uint32_t half_to_even(std::uint32_t difference) {
    const std::uint32_t half = difference / 2;
    return difference % 2 == 0 ? half : half + (half & 1);
}

void check_range(const char* name, double value, double least, double most) {
    require(value >= least && value <= most, "%s is %g, not between %g and %g", name, value, least, most);
}

void set_default(float& value, float otherwise) {
    if (value == 0) value = otherwise;
}

}  // namespace

Transform::Transform(const volta_transform_options& options, std::uint32_t channels, std::uint32_t height,
                     std::uint32_t width, std::uint64_t max_pixels)
    : options_(options), max_pixels_(max_pixels) {
    volta_transform_options& o = options_;
    if (o.channels == 0) o.channels = channels;
    require((o.height == 0) == (o.width == 0), "height is %u and width is %u: both are 0 or neither",
            o.height, o.width);
    if (o.height == 0) {
        require(height != 0, "the pictures differ in size: height and width are needed");
        require(o.resize == 0, "resize is %u, which needs height and width", o.resize);
        o.height = height;
        o.width = width;
    }
    set_default(o.area_min, 0.08f);
    set_default(o.area_max, 1);
    set_default(o.ratio_min, 0.75f);
    set_default(o.ratio_max, static_cast<float>(4.0 / 3.0));
    for (float& deviation : o.deviation) set_default(deviation, 1);
    check();
    for (int channel = 0; channel < 3; ++channel)
        for (int byte = 0; byte < 256; ++byte) {
            const float value = static_cast<float>(byte) / 255.0f, centred = value - o.mean[channel];
            values_[channel][byte] = centred / o.deviation[channel];
        }
}

void Transform::check() const {
    const volta_transform_options& o = options_;
    require(o.channels == 1 || o.channels == 3, "channels is %u, neither 1 nor 3", o.channels);
    require(o.height <= kMostExtent && o.width <= kMostExtent,
            "height is %u and width is %u, at most %u are possible", o.height, o.width, kMostExtent);
    require(std::uint64_t{o.height} * o.width <= max_pixels_,
            "%u x %u pixels are more than the limit of %llu", o.width, o.height,
            static_cast<unsigned long long>(max_pixels_));
    require(o.resize <= kMostExtent || o.resize == VOLTA_RESIZE_EXACT, "resize is %u, at most %u is possible",
            o.resize, kMostExtent);
    require(is_filter(o.filter), "filter is %d, an unknown one", o.filter);
    for (int i = 0; i < 3; ++i) {
        require(std::isfinite(o.mean[i]), "mean[%d] is not finite", i);
        require(std::isfinite(o.deviation[i]) && o.deviation[i] > 0, "deviation[%d] is %g, not above 0", i,
                static_cast<double>(o.deviation[i]));
    }
    require(o.random_crop == 0 || o.random_crop == 1, "random_crop is %d, neither 0 nor 1", o.random_crop);
    require(o.random_resized_crop == 0 || o.random_resized_crop == 1,
            "random_resized_crop is %d, neither 0 nor 1", o.random_resized_crop);
    require(o.random_crop == 0 || o.random_resized_crop == 0,
            "random_crop and random_resized_crop exclude each other");
    require(o.crop_padding <= kMostPadding, "crop_padding is %u, at most %u is possible", o.crop_padding,
            kMostPadding);
    require(o.crop_padding == 0 || o.random_crop == 1, "crop_padding is %u without random_crop",
            o.crop_padding);
    check_range("area_min", o.area_min, 1e-6, 1);
    check_range("area_max", o.area_max, o.area_min, 1);
    check_range("ratio_min", o.ratio_min, 1e-3, 1e3);
    check_range("ratio_max", o.ratio_max, o.ratio_min, 1e3);
    check_range("flip", o.flip, 0, 1);
    check_range("brightness", o.brightness, 0, 1);
    check_range("contrast", o.contrast, 0, 1);
    check_range("saturation", o.saturation, 0, 1);
    if (o.mixup != 0) check_range("mixup", o.mixup, 0.01f, 100);
    require(o.cutout <= kMostExtent, "cutout is %u, at most %u is possible", o.cutout, kMostExtent);
}

void Transform::apply(const Picture& picture, const Draws* draws, Scratch& scratch, float* values) const {
    View view = picture.view();
    if (options_.channels == 1 && view.channels == 3) view = to_grey(view, scratch.grey);
    view = resized(view, draws, scratch);
    cut(view, draws, scratch.cut);
    if (draws != nullptr) jitter(*draws, scratch.cut);
    write(scratch.cut, values);
    if (draws != nullptr && options_.cutout > 0) cut_out(*draws, values);
}

View Transform::resized(const View& from, const Draws* draws, Scratch& scratch) const {
    const volta_transform_options& o = options_;
    const auto to = [&](const View& part, std::uint64_t height, std::uint64_t width) {
        resize(part, height, width, o.filter, max_pixels_, scratch.weights, scratch.half, scratch.resized);
        return scratch.resized.view();
    };
    if (o.random_resized_crop == 1 && draws != nullptr)
        return to(random_part(from, *draws), o.height, o.width);
    if (o.resize == 0) return from;
    if (o.resize == VOLTA_RESIZE_EXACT) return to(from, o.height, o.width);
    const std::uint64_t shorter = std::min(from.height, from.width),
                        longer = std::max(from.height, from.width);
    const std::uint64_t other = o.resize * longer / shorter;
    return from.height <= from.width ? to(from, o.resize, other) : to(from, other, o.resize);
}

View Transform::random_part(const View& from, const Draws& draws) const {
    const volta_transform_options& o = options_;
    ScalarMachine<float> m;
    const double height = from.height, width = from.width;
    const float low = log(m, o.ratio_min), span = log(m, o.ratio_max) - low;
    for (std::uint32_t t = 0; t < 10; ++t) {
        const auto size = draws.block(Draw::resized_crop, 2 * t);
        const double least = o.area_min, range = static_cast<double>(o.area_max) - least;
        const double area = height * width * (least + range * unit(size.word[0]));
        const float scaled = span * unit(size.word[1]);
        const double ratio = exp(m, low + scaled);
        const double part_width = std::floor(std::sqrt(area * ratio) + 0.5),
                     part_height = std::floor(std::sqrt(area / ratio) + 0.5);
        if (part_width < 1 || part_width > width || part_height < 1 || part_height > height) continue;
        const auto w = static_cast<std::uint32_t>(part_width), h = static_cast<std::uint32_t>(part_height);
        const auto place = draws.block(Draw::resized_crop, 2 * t + 1);
        return from.part(below(place.word[0], place.word[1], from.height - h + 1),
                         below(place.word[2], place.word[3], from.width - w + 1), h, w);
    }
    double part_width = width, part_height = height;
    if (width < static_cast<double>(o.ratio_min) * height)
        part_height = std::min(height, std::floor(width / static_cast<double>(o.ratio_min) + 0.5));
    else if (width > static_cast<double>(o.ratio_max) * height)
        part_width = std::min(width, std::floor(height * static_cast<double>(o.ratio_max) + 0.5));
    const auto w = static_cast<std::uint32_t>(std::max(part_width, 1.0)),
               h = static_cast<std::uint32_t>(std::max(part_height, 1.0));
    return from.part((from.height - h) / 2, (from.width - w) / 2, h, w);
}

void Transform::cut(const View& from, const Draws* draws, Picture& to) const {
    const volta_transform_options& o = options_;
    const bool is_random = o.random_crop == 1 && draws != nullptr;
    const std::uint32_t padding = is_random ? o.crop_padding : 0;
    const std::uint64_t height = std::uint64_t{from.height} + 2 * padding,
                        width = std::uint64_t{from.width} + 2 * padding;
    if (height < o.height || width < o.width)
        fail(VOLTA_SHAPE_MISMATCH, "a picture of %u x %u pixels%s is smaller than the crop of %u x %u",
             from.width, from.height, padding > 0 ? ", with its padding," : "", o.width, o.height);
    const auto spare_rows = static_cast<std::uint32_t>(height - o.height),
               spare_columns = static_cast<std::uint32_t>(width - o.width);
    std::uint32_t top = half_to_even(spare_rows), left = half_to_even(spare_columns);
    if (is_random) {
        const auto block = draws->block(Draw::crop, 0);
        top = below(block.word[0], block.word[1], spare_rows + 1);
        left = below(block.word[2], block.word[3], spare_columns + 1);
    }
    bool is_flipped = false;
    if (draws != nullptr && o.flip > 0)
        is_flipped = draws->block(Draw::flip, 0).word[0] < std::floor(static_cast<double>(o.flip) * 0x1p32);

    to.reshape(from.channels, o.height, o.width);
    // Columns of the crop that lie in the picture: [begin, end) of it.
    const std::int64_t shift = std::int64_t{left} - padding;  // a picture's column of the crop's first
    const auto begin = static_cast<std::size_t>(std::clamp<std::int64_t>(-shift, 0, o.width));
    const auto end = static_cast<std::size_t>(std::clamp<std::int64_t>(from.width - shift, 0, o.width));
    for (std::uint32_t channel = 0; channel < from.channels; ++channel)
        for (std::uint32_t y = 0; y < o.height; ++y) {
            unsigned char* const out = to.row(channel, y);
            const std::int64_t row = std::int64_t{top} + y - padding;
            const bool is_inside = row >= 0 && row < from.height && begin < end;
            if (!is_inside || begin > 0 || end < o.width) std::memset(out, 0, o.width);
            if (is_inside)
                std::memcpy(out + begin,
                            from.row(channel, static_cast<std::size_t>(row)) +
                                (shift + static_cast<std::int64_t>(begin)),
                            end - begin);
            if (is_flipped) std::reverse(out, out + o.width);
        }
}

namespace {

// A factor of 16 binary digits between 1 - amount and 1 + amount.
std::int32_t factor(float amount, std::uint32_t word) {
    const double around = amount;
    const auto low = static_cast<std::uint64_t>(std::floor(std::max(0.0, 1 - around) * 65536 + 0.5));
    const auto high = static_cast<std::uint64_t>(std::floor((1 + around) * 65536 + 0.5));
    return static_cast<std::int32_t>(low + ((high - low + 1) * word >> 32));
}

unsigned char blend(int grey, int value, std::int32_t by) {
    const int mixed = (grey * 65536 + (value - grey) * by + 32768) >> 16;
    return static_cast<unsigned char>(std::clamp(mixed, 0, 255));
}

void blend_all(Picture& picture, int grey, std::int32_t by) {
    unsigned char table[256];
    for (int value = 0; value < 256; ++value) table[value] = blend(grey, value, by);
    unsigned char* const pixels = picture.pixels();
    for (std::size_t i = 0, count = picture.channels() * picture.plane(); i < count; ++i)
        pixels[i] = table[pixels[i]];
}

int grey_at(Picture& picture, std::size_t i) {
    const unsigned char* const pixels = picture.pixels();
    const std::size_t plane = picture.plane();
    if (picture.channels() == 1) return pixels[i];
    return static_cast<int>(grey_of(pixels[i], pixels[plane + i], pixels[2 * plane + i]));
}

int mean_grey(Picture& picture) {
    const std::size_t count = picture.plane();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(grey_at(picture, i));
    return static_cast<int>((2 * sum + count) / (2 * count));
}

}  // namespace

void Transform::jitter(const Draws& draws, Picture& picture) const {
    const volta_transform_options& o = options_;
    if (o.brightness == 0 && o.contrast == 0 && o.saturation == 0) return;
    const auto block = draws.block(Draw::jitter, 0);
    if (o.brightness != 0) blend_all(picture, 0, factor(o.brightness, block.word[0]));
    if (o.contrast != 0) blend_all(picture, mean_grey(picture), factor(o.contrast, block.word[1]));
    if (o.saturation == 0 || picture.channels() == 1) return;
    const std::int32_t by = factor(o.saturation, block.word[2]);
    const std::size_t plane = picture.plane();
    unsigned char* const pixels = picture.pixels();
    for (std::size_t i = 0; i < plane; ++i) {
        const int grey = grey_at(picture, i);
        for (std::size_t at = i; at < 3 * plane; at += plane) pixels[at] = blend(grey, pixels[at], by);
    }
}

// A grey picture stands for three equal channels.
void Transform::write(const Picture& picture, float* values) const {
    const std::size_t count = plane();
    for (std::uint32_t channel = 0; channel < options_.channels; ++channel) {
        const unsigned char* const pixels =
            picture.pixels() + (picture.channels() == 1 ? 0 : channel * count);
        const float* const table = values_[channel];
        float* const out = values + channel * count;
        for (std::size_t i = 0; i < count; ++i) out[i] = table[pixels[i]];
    }
}

void Transform::cut_out(const Draws& draws, float* values) const {
    const volta_transform_options& o = options_;
    const auto block = draws.block(Draw::cutout, 0);
    struct Range {
        std::uint32_t begin, end;
    };
    const auto range = [&](std::uint32_t low, std::uint32_t high, std::uint32_t extent) {
        const std::int64_t begin = std::int64_t{below(low, high, extent)} - o.cutout / 2;
        return Range{static_cast<std::uint32_t>(std::clamp<std::int64_t>(begin, 0, extent)),
                     static_cast<std::uint32_t>(std::clamp<std::int64_t>(begin + o.cutout, 0, extent))};
    };
    const Range rows = range(block.word[0], block.word[1], o.height),
                columns = range(block.word[2], block.word[3], o.width);
    for (std::uint32_t channel = 0; channel < o.channels; ++channel)
        for (std::uint32_t y = rows.begin; y < rows.end; ++y) {
            float* const row = values + channel * plane() + std::size_t{y} * o.width;
            std::fill(row + columns.begin, row + columns.end, 0.0f);
        }
}

}  // namespace volta::data
