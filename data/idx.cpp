// IDX: MNIST and data sets of its form. A file of images and one of labels, each perhaps compressed by gzip.
#include <cstring>

#include "data/data_set.h"
#include "data/input_file.h"
#include "engine/base/error.h"

namespace volta::data {
namespace {

constexpr std::size_t kMostHeader = 16;

std::uint32_t big_endian(const unsigned char* bytes) {
    return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
           static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

struct Header {
    std::uint32_t extents[3];
    std::size_t bytes;
    std::uint64_t elements;
};

// `count` bytes are there, of a file's first 16.
Header read_header(const char* path, const unsigned char* bytes, std::size_t count, int dimensions) {
    if (count < 4 || bytes[0] != 0 || bytes[1] != 0) fail(VOLTA_CORRUPT_MODEL, "'%s' is no IDX file", path);
    if (bytes[2] != 0x08)
        fail(VOLTA_UNSUPPORTED, "'%s' is an IDX file of type 0x%02x; unsigned bytes, 0x08, are read", path,
             bytes[2]);
    if (bytes[3] != dimensions)
        fail(VOLTA_UNSUPPORTED, "'%s' is an IDX file of %d dimensions; %s have %d", path, bytes[3],
             dimensions == 1 ? "labels" : "images", dimensions);
    Header header = {{1, 1, 1}, 4 + 4 * static_cast<std::size_t>(dimensions), 1};
    if (count < header.bytes) fail(VOLTA_CORRUPT_MODEL, "'%s' ends within its header", path);
    for (int i = 0; i < dimensions; ++i) {
        header.extents[i] = big_endian(bytes + 4 + 4 * i);
        if (header.extents[i] == 0) fail(VOLTA_CORRUPT_MODEL, "'%s' has an extent of 0", path);
        if (multiply_overflows(header.elements, header.extents[i], &header.elements))
            fail(VOLTA_CORRUPT_MODEL, "'%s' has more elements than can be counted", path);
    }
    return header;
}

[[noreturn]] void fail_size(const char* path, const Header& header, const char* than) {
    fail(VOLTA_CORRUPT_MODEL, "'%s' has %s bytes than the %llu elements its header says", path, than,
         static_cast<unsigned long long>(header.elements));
}

// A file's elements: in memory where it was compressed, else read when they are needed.
class Elements final {
  public:
    Elements(const char* path, int dimensions, const Limits& limits, std::pmr::memory_resource* heap)
        : file_(path, heap), memory_(heap) {
        unsigned char start[kMostHeader];
        const std::size_t count =
            file_.bytes() < kMostHeader ? static_cast<std::size_t>(file_.bytes()) : kMostHeader;
        file_.read_at(0, start, count);
        if (is_gzip(start, count)) {
            expand(dimensions, limits, heap);
            return;
        }
        header_ = read_header(path, start, count, dimensions);
        const std::uint64_t there = file_.bytes() - header_.bytes;
        if (there != header_.elements) fail_size(path, header_, there < header_.elements ? "fewer" : "more");
    }
    const Header& header() const noexcept { return header_; }
    const char* path() const noexcept { return file_.path(); }
    void read(std::uint64_t offset, unsigned char* to, std::size_t count) const {
        if (memory_.data() != nullptr)
            std::memcpy(to, memory_.data() + offset, count);
        else
            file_.read_at(header_.bytes + offset, to, count);
    }

  private:
    void expand(int dimensions, const Limits& limits, std::pmr::memory_resource* heap) {
        const char* const path = file_.path();
        Bytes packed(heap);
        const std::size_t bytes = read_whole(path, limits.file_bytes, packed);
        Gunzip gunzip(path, packed.data(), bytes, heap);
        unsigned char start[kMostHeader];
        const std::size_t wanted = 4 + 4 * static_cast<std::size_t>(dimensions);
        header_ = read_header(path, start, gunzip.read(start, wanted), dimensions);
        if (header_.elements > most_expanded(bytes)) fail_size(path, header_, "fewer");
        if (header_.elements > limits.file_bytes)
            fail(VOLTA_UNSUPPORTED, "'%s' expands to %llu bytes, at most %llu are read", path,
                 static_cast<unsigned long long>(header_.elements),
                 static_cast<unsigned long long>(limits.file_bytes));
        const auto elements = static_cast<std::size_t>(header_.elements);
        unsigned char beyond;
        if (gunzip.read(memory_.reserve(elements), elements) != elements) fail_size(path, header_, "fewer");
        if (gunzip.read(&beyond, 1) != 0) fail_size(path, header_, "more");
    }

    InputFile file_;
    Bytes memory_;
    Header header_ = {};
};

// Of a folder: the file, or its compressed form.
Text file_of(const char* folder, const char* name, std::pmr::memory_resource* heap) {
    Text path = join(folder, name, heap);
    if (kind_of(path.c_str()) != PathKind::file) path += ".gz";
    if (kind_of(path.c_str()) != PathKind::file)
        fail(VOLTA_IO_ERROR, "the folder '%s' has no file %s or %s.gz", folder, name, name);
    return path;
}

class Idx final : public DataSet {
  public:
    Idx(const HomeRef& home, const Paths& paths)
        : DataSet(home), images_(path_of(paths, 0).c_str(), 3, home->limits(), heap()), labels_(heap()) {
        const Elements labels(path_of(paths, 1).c_str(), 1, home->limits(), heap());
        const Header& shape = images_.header();
        if (shape.extents[0] != labels.header().extents[0])
            fail(VOLTA_CORRUPT_MODEL, "'%s' has %u images and '%s' has %u labels", images_.path(),
                 shape.extents[0], labels.path(), labels.header().extents[0]);
        std::uint64_t pixels;
        if (multiply_overflows(shape.extents[1], shape.extents[2], &pixels) || pixels > home->limits().pixels)
            fail(VOLTA_UNSUPPORTED, "'%s' has pictures of %u x %u pixels, more than the limit of %llu",
                 images_.path(), shape.extents[2], shape.extents[1],
                 static_cast<unsigned long long>(home->limits().pixels));
        channels_ = 1;
        height_ = shape.extents[1];
        width_ = shape.extents[2];
        set_count(shape.extents[0]);
        labels.read(0, labels_.reserve(count_), count_);
        unsigned largest = 0;
        for (std::uint64_t i = 0; i < count_; ++i)
            largest = labels_.data()[i] > largest ? labels_.data()[i] : largest;
        number_classes(largest + 1);
    }

    void read(std::uint64_t index, Scratch&, Picture& picture) const override {
        picture.reshape(1, height_, width_);
        images_.read(index * picture.plane(), picture.pixels(), picture.plane());
        picture.label = labels_.data()[index];
    }

    void name_sample(std::uint64_t index, char* text, std::size_t capacity) const noexcept override {
        std::snprintf(text, capacity, "%s, image %llu", images_.path(),
                      static_cast<unsigned long long>(index));
    }

  private:
    Text path_of(const Paths& paths, int which) const {
        static constexpr const char* kNames[][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                                    {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};
        if (paths.count == 1 && kind_of(paths[0]) == PathKind::folder)
            return file_of(paths[0], kNames[paths.split][which], heap());
        require(paths.count == 2,
                "IDX data is a folder, or two files, images and labels; %zu paths were given", paths.count);
        return Text(paths[static_cast<std::size_t>(which)], heap());
    }

    Elements images_;
    Bytes labels_;
};

}  // namespace

DataSetRef open_idx(const HomeRef& home, const Paths& paths) { return share<Idx>(home, paths); }

}  // namespace volta::data
