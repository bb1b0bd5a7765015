// PNG by libpng, without any of its conversions: rows come as they are stored, and become planes here. Errors
// leave by longjmp, as in decode_jpeg.cpp; its memory is the host's.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "data/decode.h"
#include "data/input_file.h"
#include "engine/base/error.h"

namespace volta::data {
namespace {

class PngReader final {
  public:
    PngReader(const unsigned char* data, std::size_t bytes, std::pmr::memory_resource* heap) noexcept
        : memory_(heap), at_(data), left_(bytes) {}
    ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;

    // Each is false after a failure, which text() describes.
    bool read_header() noexcept {
        if (setjmp(jump_) != 0) return false;
        png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, on_error, on_warning, &memory_, allocate,
                                        release);
        if (png_ != nullptr) info_ = png_create_info_struct(png_);
        if (info_ == nullptr) {
            std::snprintf(text_, sizeof text_, "there is no memory for its decoder");
            return false;
        }
        png_set_read_fn(png_, this, read);
        png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
        // Texts, profiles and the like: not looked at, so not decompressed either.
        png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
        png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // the caller has limits of its own
        png_read_info(png_, info_);
        return true;
    }
    bool begin_rows() noexcept {
        if (setjmp(jump_) != 0) return false;
        passes_ = png_set_interlace_handling(png_);
        png_start_read_image(png_);
        return true;
    }
    // Row after row, of the last pass; `rows` holds one of them, or all where there are several passes.
    bool read_row(unsigned char* row) noexcept {
        if (setjmp(jump_) != 0) return false;
        png_read_row(png_, row, nullptr);
        return true;
    }
    bool finish() noexcept {
        if (setjmp(jump_) != 0) return false;
        png_read_end(png_, nullptr);
        return true;
    }

    std::uint32_t width() const noexcept { return png_get_image_width(png_, info_); }
    std::uint32_t height() const noexcept { return png_get_image_height(png_, info_); }
    int bits() const noexcept { return png_get_bit_depth(png_, info_); }
    int colours() const noexcept { return png_get_color_type(png_, info_); }
    std::size_t row_bytes() const noexcept { return png_get_rowbytes(png_, info_); }
    int passes() const noexcept { return passes_; }
    int palette(png_colorp* colours) const noexcept {
        int count = 0;
        return png_get_PLTE(png_, info_, colours, &count) == 0 ? 0 : count;
    }
    const char* text() const noexcept { return text_; }
    std::size_t refused() const noexcept { return memory_.refused(); }

  private:
    static void* allocate(png_structp png, png_alloc_size_t bytes) {
        return static_cast<CHeap*>(png_get_mem_ptr(png))->allocate(bytes);
    }
    static void release(png_structp png, png_voidp pointer) {
        static_cast<CHeap*>(png_get_mem_ptr(png))->release(pointer);
    }
    [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
        auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
        std::snprintf(self.text_, sizeof self.text_, "%s", text);
        for (std::size_t end = std::strlen(self.text_); end > 0 && self.text_[end - 1] == '.';)
            self.text_[--end] = '\0';
        longjmp(self.jump_, 1);
    }
    static void on_warning(png_structp, png_const_charp) {}
    static void read(png_structp png, png_bytep data, std::size_t count) {
        auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
        if (count > self.left_) png_error(png, "it ends early");
        std::memcpy(data, self.at_, count);
        self.at_ += count;
        self.left_ -= count;
    }

    CHeap memory_;
    const unsigned char* at_;
    std::size_t left_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    int passes_ = 1;
    std::jmp_buf jump_;
    char text_[160] = "";
};

[[noreturn]] void fail_decoder(const char* name, const PngReader& reader) {
    if (reader.refused() != 0) throw HostRefusal(reader.refused());
    fail(VOLTA_CORRUPT_MODEL, "'%s' is a damaged PNG file: %s", name, reader.text());
}

// How stored rows become planes.
struct RowFormat {
    int colours, bits;
    std::uint32_t stride;         // bytes from pixel to pixel, where a channel has 8 bits
    unsigned char table[3][256];  // channel by channel, of what is stored of a pixel; RGB: not used
    int entries;                  // of the table
};

void make_tables(const PngReader& reader, RowFormat& format) {
    const int bits = format.bits;
    if (format.colours == PNG_COLOR_TYPE_PALETTE) {
        png_colorp palette = nullptr;
        format.entries = reader.palette(&palette);
        for (int i = 0; i < format.entries; ++i) {
            format.table[0][i] = palette[i].red;
            format.table[1][i] = palette[i].green;
            format.table[2][i] = palette[i].blue;
        }
        return;
    }
    format.entries = 1 << bits;
    const int scale = 255 / (format.entries - 1);  // 255, 85, 17, 1
    for (auto& channel : format.table)
        for (int i = 0; i < format.entries; ++i) channel[i] = static_cast<unsigned char>(i * scale);
}

RowFormat row_format(const PngReader& reader) {
    RowFormat format;
    std::memset(&format, 0, sizeof format);
    format.colours = reader.colours();
    format.bits = reader.bits();
    const bool is_rgb =
        (format.colours & PNG_COLOR_MASK_COLOR) != 0 && format.colours != PNG_COLOR_TYPE_PALETTE;
    format.stride = (is_rgb ? 3u : 1u) + ((format.colours & PNG_COLOR_MASK_ALPHA) != 0 ? 1u : 0u);
    if (!is_rgb) make_tables(reader, format);
    return format;
}

// Returns the largest number that is looked up, so that the caller can say which is beyond the palette.
int spread_row(const RowFormat& format, const unsigned char* row, std::size_t width, unsigned char* to,
               std::size_t plane) {
    if (format.stride >= 3) {
        for (std::size_t x = 0; x < width; ++x, row += format.stride) {
            to[x] = row[0];
            to[plane + x] = row[1];
            to[2 * plane + x] = row[2];
        }
        return 0;
    }
    int largest = 0;
    const auto per_byte = static_cast<std::size_t>(8 / format.bits);
    const int mask = (1 << format.bits) - 1;
    for (std::size_t x = 0; x < width; ++x) {
        int value;
        if (format.bits == 8)
            value = row[x * format.stride];
        else
            value =
                row[x / per_byte] >> (8 - format.bits - static_cast<int>(x % per_byte) * format.bits) & mask;
        largest = value > largest ? value : largest;
        to[x] = format.table[0][value];
        to[plane + x] = format.table[1][value];
        to[2 * plane + x] = format.table[2][value];
    }
    return largest;
}

}  // namespace

void decode_png(const char* name, const unsigned char* data, std::size_t bytes, const Limits& limits,
                std::pmr::memory_resource* heap, Scratch& scratch, Picture& picture) {
    PngReader reader(data, bytes, heap);
    if (!reader.read_header()) fail_decoder(name, reader);
    const std::size_t width = reader.width(), height = reader.height();
    check_extent(name, height, width, limits);
    if (reader.bits() == 16) fail(VOLTA_UNSUPPORTED, "'%s' has 16 bits a channel, not 8", name);
    const RowFormat format = row_format(reader);
    if (format.stride < 3 && format.entries == 0)
        fail(VOLTA_CORRUPT_MODEL, "'%s' is a damaged PNG file: it has no palette", name);
    if (!reader.begin_rows()) fail_decoder(name, reader);

    picture.reshape(3, static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width));
    const std::size_t row_bytes = reader.row_bytes();  // at most 4 a pixel
    const bool is_interlaced = reader.passes() > 1;
    unsigned char* const rows = scratch.rows.reserve(row_bytes * (is_interlaced ? height : 1));
    if (is_interlaced) std::memset(rows, 0, row_bytes * height);
    for (int pass = 0; pass < reader.passes(); ++pass) {
        const bool is_last = pass + 1 == reader.passes();
        for (std::size_t y = 0; y < height; ++y) {
            unsigned char* const row = is_interlaced ? rows + y * row_bytes : rows;
            if (!reader.read_row(row)) fail_decoder(name, reader);
            if (!is_last) continue;
            const int largest = spread_row(format, row, width, picture.row(0, y), picture.plane());
            if (format.stride < 3 && largest >= format.entries)
                fail(VOLTA_CORRUPT_MODEL, "'%s' is a damaged PNG file: entry %d of a palette of %d", name,
                     largest, format.entries);
        }
    }
    if (!reader.finish()) fail_decoder(name, reader);
}

}  // namespace volta::data
