// Pictures in memory, and the memory that reading one needs again and again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/memory.h"

namespace volta::data {

// Bytes that grow when they must and then stay.
class Bytes final {
  public:
    explicit Bytes(std::pmr::memory_resource* heap) : heap_(heap) {}
    // At least `count` bytes; what was in them is lost.
    unsigned char* reserve(std::size_t count) {
        if (count > buffer_.bytes()) {
            buffer_ = Buffer();  // first: two at once are not needed
            buffer_ = Buffer(heap_, count);
        }
        return data();
    }
    std::pmr::memory_resource* heap() const noexcept { return heap_; }
    unsigned char* data() noexcept { return static_cast<unsigned char*>(buffer_.data()); }
    const unsigned char* data() const noexcept { return static_cast<const unsigned char*>(buffer_.data()); }

  private:
    std::pmr::memory_resource* heap_;
    Buffer buffer_;
};

// Planes of bytes, [channels, height, width], of somebody's memory.
struct View {
    const unsigned char* pixels = nullptr;
    std::uint32_t channels = 0, height = 0, width = 0;
    std::size_t row_stride = 0, plane_stride = 0;  // bytes

    const unsigned char* row(std::uint32_t channel, std::size_t y) const noexcept {
        return pixels + channel * plane_stride + y * row_stride;
    }
    View part(std::uint32_t top, std::uint32_t left, std::uint32_t rows,
              std::uint32_t columns) const noexcept {
        return {pixels + top * row_stride + left, channels, rows, columns, row_stride, plane_stride};
    }
};

class Picture final {
  public:
    explicit Picture(std::pmr::memory_resource* heap) : bytes_(heap) {}
    // Another shape; pixels are lost. The caller has kept height * width to a limit.
    void reshape(std::uint32_t channels, std::uint32_t height, std::uint32_t width) {
        bytes_.reserve(std::size_t{channels} * height * width);
        channels_ = channels;
        height_ = height;
        width_ = width;
    }
    std::uint32_t channels() const noexcept { return channels_; }
    std::uint32_t height() const noexcept { return height_; }
    std::uint32_t width() const noexcept { return width_; }
    std::size_t plane() const noexcept { return std::size_t{height_} * width_; }
    unsigned char* pixels() noexcept { return bytes_.data(); }
    const unsigned char* pixels() const noexcept { return bytes_.data(); }
    unsigned char* row(std::uint32_t channel, std::size_t y) noexcept {
        return pixels() + channel * plane() + y * width_;
    }
    View view() const noexcept { return {pixels(), channels_, height_, width_, width_, plane()}; }

    std::int32_t label = -1;

  private:
    Bytes bytes_;
    std::uint32_t channels_ = 0, height_ = 0, width_ = 0;
};

// What reading and transforming one sample needs: one a thread.
struct Scratch {
    explicit Scratch(std::pmr::memory_resource* heap)
        : file(heap),
          rows(heap),
          weights(heap),
          picture(heap),
          grey(heap),
          half(heap),
          resized(heap),
          cut(heap) {}
    Bytes file;                                 // a compressed picture
    Bytes rows;                                 // what a decoder gives, before it becomes planes
    Bytes weights;                              // of a resize
    Picture picture, grey, half, resized, cut;  // in the order in which a sample passes through them
};

}  // namespace volta::data
