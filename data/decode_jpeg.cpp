// JPEG by libjpeg-turbo. It reports errors through a function that must not return: these leave by longjmp,
// out of functions that have no object with a destructor; memory is taken between them.
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "data/decode.h"
#include "engine/base/error.h"
// Needs stdio.h before it.
#include <jerror.h>
#include <jpeglib.h>

namespace volta::data {
namespace {

constexpr int kMostScans = 100;  // a picture that is sent coarse first has 10; each costs its whole area

// Warnings that change no pixel. All others mean damage.
constexpr int kHarmless[] = {JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR, JWRN_ADOBE_XFORM};
// Errors of files that are valid; all others mean damage.
constexpr int kUnsupported[] = {JERR_ARITH_NOTIMPL,      JERR_BAD_PRECISION,   JERR_SOF_UNSUPPORTED,
                                JERR_CONVERSION_NOTIMPL, JERR_CCIR601_NOTIMPL, JERR_FRACT_SAMPLE_NOTIMPL,
                                JERR_IMAGE_TOO_BIG};

template <std::size_t count>
bool contains(const int (&list)[count], int value) {
    for (const int entry : list)
        if (entry == value) return true;
    return false;
}

class JpegReader final {
  public:
    JpegReader() noexcept {
        info_.err = jpeg_std_error(&errors_);
        errors_.error_exit = on_error;
        errors_.emit_message = on_message;
        errors_.output_message = [](j_common_ptr) {};
        info_.client_data = this;
        progress_.progress_monitor = on_progress;
    }
    ~JpegReader() {
        if (created_) jpeg_destroy_decompress(&info_);
    }
    JpegReader(const JpegReader&) = delete;
    JpegReader& operator=(const JpegReader&) = delete;

    // Each is false after a failure, which text() and status() describe.
    bool read_header(const unsigned char* data, std::size_t bytes) noexcept {
        if (setjmp(jump_) != 0) return false;
        jpeg_create_decompress(&info_);
        created_ = true;
        info_.progress = &progress_;
        jpeg_mem_src(&info_, data, static_cast<unsigned long>(bytes));
        jpeg_read_header(&info_, TRUE);
        return true;
    }
    // `row`: width * channels() bytes. Planes go to `pixels`, three of them, `plane` bytes apart.
    bool read_pixels(unsigned char* row, unsigned char* pixels, std::size_t plane) noexcept {
        if (setjmp(jump_) != 0) return false;
        info_.dct_method = JDCT_ISLOW;
        info_.do_fancy_upsampling = TRUE;
        info_.do_block_smoothing = TRUE;
        info_.out_color_space = info_.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_start_decompress(&info_);
        while (info_.output_scanline < info_.output_height) {
            unsigned char* const to = pixels + std::size_t{info_.output_scanline} * info_.output_width;
            JSAMPROW rows[1] = {row};
            if (jpeg_read_scanlines(&info_, rows, 1) != 1) continue;
            spread(row, to, plane);
        }
        jpeg_finish_decompress(&info_);
        return true;
    }

    std::uint32_t width() const noexcept { return info_.image_width; }
    std::uint32_t height() const noexcept { return info_.image_height; }
    int components() const noexcept { return info_.num_components; }
    int precision() const noexcept { return info_.data_precision; }
    bool is_cmyk() const noexcept {
        return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    }
    const char* text() const noexcept { return text_; }
    volta_status status() const noexcept { return status_; }

  private:
    static JpegReader& of(j_common_ptr info) { return *static_cast<JpegReader*>(info->client_data); }

    [[noreturn]] static void on_error(j_common_ptr info) {
        JpegReader& self = of(info);
        const int code = info->err->msg_code;
        self.status_ = code == JERR_OUT_OF_MEMORY     ? VOLTA_OUT_OF_MEMORY
                       : contains(kUnsupported, code) ? VOLTA_UNSUPPORTED
                                                      : VOLTA_CORRUPT_MODEL;
        info->err->format_message(info, self.text_);
        for (std::size_t end = std::strlen(self.text_); end > 0 && self.text_[end - 1] == '.';)
            self.text_[--end] = '\0';
        longjmp(self.jump_, 1);
    }
    static void on_message(j_common_ptr info, int level) {
        if (level < 0 && !contains(kHarmless, info->err->msg_code)) on_error(info);
    }
    static void on_progress(j_common_ptr info) {
        JpegReader& self = of(info);
        if (self.info_.input_scan_number <= kMostScans) return;
        self.status_ = VOLTA_CORRUPT_MODEL;
        std::snprintf(self.text_, sizeof self.text_, "it has more than %d scans", kMostScans);
        longjmp(self.jump_, 1);
    }
    void spread(const unsigned char* row, unsigned char* to, std::size_t plane) const noexcept {
        const std::size_t count = info_.output_width;
        if (info_.output_components == 1) {
            for (int channel = 0; channel < 3; ++channel) std::memcpy(to + channel * plane, row, count);
            return;
        }
        for (std::size_t x = 0; x < count; ++x, row += 3) {
            to[x] = row[0];
            to[plane + x] = row[1];
            to[2 * plane + x] = row[2];
        }
    }

    jpeg_decompress_struct info_ = {};
    jpeg_error_mgr errors_ = {};
    jpeg_progress_mgr progress_ = {};
    std::jmp_buf jump_;
    bool created_ = false;
    volta_status status_ = VOLTA_OK;
    char text_[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void fail_decoder(const char* name, const JpegReader& reader) {
    if (reader.status() == VOLTA_OUT_OF_MEMORY)
        fail(VOLTA_OUT_OF_MEMORY, "'%s': the C heap has no memory for its decoder", name);
    fail(reader.status(), "'%s' is %s JPEG file: %s", name,
         reader.status() == VOLTA_UNSUPPORTED ? "an unsupported" : "a damaged", reader.text());
}

}  // namespace

void decode_jpeg(const char* name, const unsigned char* data, std::size_t bytes, const Limits& limits,
                 Scratch& scratch, Picture& picture) {
    JpegReader reader;
    if (!reader.read_header(data, bytes)) fail_decoder(name, reader);
    if (reader.is_cmyk()) fail(VOLTA_UNSUPPORTED, "'%s' is a CMYK picture", name);
    if (reader.precision() != 8)
        fail(VOLTA_UNSUPPORTED, "'%s' has %d bits a channel, not 8", name, reader.precision());
    if (reader.components() != 1 && reader.components() != 3)
        fail(VOLTA_UNSUPPORTED, "'%s' has %d channels, neither 1 nor 3", name, reader.components());
    check_extent(name, reader.height(), reader.width(), limits);
    picture.reshape(3, reader.height(), reader.width());
    unsigned char* const row = scratch.rows.reserve(std::size_t{reader.width()} * 3);
    if (!reader.read_pixels(row, picture.pixels(), picture.plane())) fail_decoder(name, reader);
}

}  // namespace volta::data
