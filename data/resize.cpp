#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"

namespace volta::data {
namespace {

constexpr std::uint64_t kMostExtent = 0x7fffffff;
constexpr int kBits = 32 - 8 - 2;  // of a weight's fraction

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear(double x) {
    x = std::fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

double bicubic(double x) {
    x = std::fabs(x);
    if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0.0;
}

struct FilterRow {
    double (*weight)(double x);
    double radius;
};
constexpr FilterRow kFilters[] = {{bilinear, 1.0}, {bicubic, 2.0}, {box, 0.5}};

// Which inputs an output is made of.
struct Span {
    std::uint32_t first, count;
    std::uint64_t weights;  // where they begin
};

// One axis from n to m pixels. Its tables lie in one piece of memory: spans, weights, and the weights in
// double of one output.
class Axis final {
  public:
    Axis(std::uint32_t n, std::uint32_t m, const FilterRow& filter, Bytes& memory) {
        const double scale = static_cast<double>(n) / m, stretch = scale < 1.0 ? 1.0 : scale;
        const double support = filter.radius * stretch;
        // As in Pillow; no more than n of them are used.
        const auto most =
            static_cast<std::uint64_t>(std::min(std::ceil(support) * 2 + 1, static_cast<double>(n)));
        const std::uint64_t span_bytes = sizeof(Span) * std::uint64_t{m},
                            weight_bytes = sizeof(std::int32_t) * most;
        std::uint64_t all, total;
        if (multiply_overflows(weight_bytes, m, &all) ||
            add_overflows(all, span_bytes + sizeof(double) * most, &total) || total > SIZE_MAX)
            fail(VOLTA_UNSUPPORTED, "a resize from %u to %u pixels needs too many weights", n, m);
        unsigned char* const place = memory.reserve(static_cast<std::size_t>(total));
        auto* const exact = reinterpret_cast<double*>(place);
        spans_ = reinterpret_cast<Span*>(place + sizeof(double) * most);
        weights_ = reinterpret_cast<std::int32_t*>(place + sizeof(double) * most + span_bytes);
        std::uint64_t used = 0;
        for (std::uint32_t i = 0; i < m; ++i) {
            const double center = (i + 0.5) * scale;
            const auto first = static_cast<std::int64_t>(std::max(0.0, std::trunc(center - support + 0.5)));
            const auto last =
                static_cast<std::int64_t>(std::min<double>(n, std::trunc(center + support + 0.5)));
            const auto count = static_cast<std::uint32_t>(std::max<std::int64_t>(last - first, 0));
            spans_[i] = {static_cast<std::uint32_t>(first), count, used};
            make_weights(exact, spans_[i], center, 1.0 / stretch, filter);
            used += count;
        }
    }
    const Span& span(std::uint32_t i) const noexcept { return spans_[i]; }
    const std::int32_t* weights(const Span& span) const noexcept { return weights_ + span.weights; }

  private:
    void make_weights(double* exact, const Span& span, double center, double shrink,
                      const FilterRow& filter) {
        double sum = 0;
        for (std::uint32_t x = 0; x < span.count; ++x) {
            const auto at = static_cast<double>(std::uint64_t{x} + span.first);
            exact[x] = filter.weight((at - center + 0.5) * shrink);
            sum += exact[x];
        }
        std::int32_t* const to = weights_ + span.weights;
        for (std::uint32_t x = 0; x < span.count; ++x) {
            const double weight = (sum != 0.0 ? exact[x] / sum : exact[x]) * (1 << kBits);
            to[x] = static_cast<std::int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5);
        }
    }
    Span* spans_;
    std::int32_t* weights_;
};

constexpr std::uint32_t kHalf = std::uint32_t{1} << (kBits - 1);

// Sums wrap around in 32 bits, where a picture is some million pixels wide.
unsigned char to_byte(std::uint32_t sum) {
    const std::int32_t value = static_cast<std::int32_t>(sum) >> kBits;
    return static_cast<unsigned char>(std::clamp(value, 0, 255));
}

void horizontal(const View& from, const Axis& axis, Picture& to) {
    for (std::uint32_t channel = 0; channel < from.channels; ++channel)
        for (std::uint32_t y = 0; y < from.height; ++y) {
            const unsigned char* const row = from.row(channel, y);
            unsigned char* const out = to.row(channel, y);
            for (std::uint32_t x = 0; x < to.width(); ++x) {
                const Span& span = axis.span(x);
                const std::int32_t* const weights = axis.weights(span);
                const unsigned char* const in = row + span.first;
                std::uint32_t sum = kHalf;
                for (std::uint32_t j = 0; j < span.count; ++j)
                    sum += static_cast<std::uint32_t>(in[j]) * static_cast<std::uint32_t>(weights[j]);
                out[x] = to_byte(sum);
            }
        }
}

// Columns in blocks whose sums stay in registers and L1: rows are read along.
void vertical(const View& from, const Axis& axis, Picture& to) {
    constexpr std::uint32_t kBlock = 256;
    std::uint32_t sums[kBlock];
    for (std::uint32_t channel = 0; channel < from.channels; ++channel)
        for (std::uint32_t y = 0; y < to.height(); ++y) {
            const Span& span = axis.span(y);
            const std::int32_t* const weights = axis.weights(span);
            unsigned char* const out = to.row(channel, y);
            for (std::uint32_t begin = 0; begin < from.width; begin += kBlock) {
                const std::uint32_t count = std::min(kBlock, from.width - begin);
                std::fill_n(sums, count, kHalf);
                for (std::uint32_t j = 0; j < span.count; ++j) {
                    const unsigned char* const in = from.row(channel, std::size_t{span.first} + j) + begin;
                    const auto weight = static_cast<std::uint32_t>(weights[j]);
                    for (std::uint32_t x = 0; x < count; ++x) sums[x] += in[x] * weight;
                }
                for (std::uint32_t x = 0; x < count; ++x) out[begin + x] = to_byte(sums[x]);
            }
        }
}

void copy(const View& from, Picture& to) {
    for (std::uint32_t channel = 0; channel < from.channels; ++channel)
        for (std::uint32_t y = 0; y < from.height; ++y)
            std::memcpy(to.row(channel, y), from.row(channel, y), from.width);
}

void check_size(const View& from, std::uint64_t height, std::uint64_t width, std::uint64_t max_pixels) {
    const std::uint64_t rows = std::max<std::uint64_t>(from.height, height),
                        columns = std::max<std::uint64_t>(from.width, width);
    std::uint64_t one_way, other_way;  // of the picture between the passes, or the last
    if (height > kMostExtent || width > kMostExtent || multiply_overflows(rows, width, &one_way) ||
        multiply_overflows(height, columns, &other_way) || std::max(one_way, other_way) > max_pixels)
        fail(VOLTA_UNSUPPORTED,
             "a picture of %u x %u pixels cannot be resized to %llu x %llu: that takes more pixels than the "
             "limit of "
             "%llu",
             from.width, from.height, static_cast<unsigned long long>(width),
             static_cast<unsigned long long>(height), static_cast<unsigned long long>(max_pixels));
}

// Where the height shrinks by more than twice the pixels that the width does, Pillow 13 begins with it.
bool begins_with_rows(const View& from, std::uint32_t height, std::uint32_t width) {
    const std::int64_t fewer_rows = std::int64_t{from.height} - height,
                       fewer_columns = std::int64_t{from.width} - width;
    return fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
}

}  // namespace

void resize(const View& from, std::uint64_t wanted_height, std::uint64_t wanted_width, volta_filter filter,
            std::uint64_t max_pixels, Bytes& weights, Picture& half, Picture& to) {
    check_size(from, wanted_height, wanted_width, max_pixels);
    const auto height = static_cast<std::uint32_t>(wanted_height),
               width = static_cast<std::uint32_t>(wanted_width);
    const FilterRow& row = kFilters[filter & ~VOLTA_FILTER_PILLOW_12];
    const auto change_width = [&](const View& view, Picture& out) {
        out.reshape(view.channels, view.height, width);
        horizontal(view, Axis(view.width, width, row, weights), out);
    };
    const auto change_height = [&](const View& view, Picture& out) {
        out.reshape(view.channels, height, view.width);
        vertical(view, Axis(view.height, height, row, weights), out);
    };
    if (width == from.width && height == from.height) {
        to.reshape(from.channels, height, width);
        copy(from, to);
    } else if (width == from.width) {
        change_height(from, to);
    } else if (height == from.height) {
        change_width(from, to);
    } else if ((filter & VOLTA_FILTER_PILLOW_12) == 0 && begins_with_rows(from, height, width)) {
        change_height(from, half);
        change_width(half.view(), to);
    } else {
        change_width(from, half);
        change_height(half.view(), to);
    }
}

bool is_filter(volta_filter filter) noexcept {
    const volta_filter kind = filter & ~VOLTA_FILTER_PILLOW_12;
    return kind >= VOLTA_FILTER_BILINEAR && kind <= VOLTA_FILTER_BOX;
}

}  // namespace volta::data
