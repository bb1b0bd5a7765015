// Any bytes as a file of libvolta_data, through its public header: samples or a reason that names the file,
// within fuzz/limits.h. One target per reader: FUZZ_DATA is its number.
//     1  a picture, JPEG or PNG, which is then resized and transformed
//     2  records of CIFAR-10 and of CIFAR-100
//     3  IDX: as images beside sound labels, and as labels beside sound images
//     4  the names of classes beside records
//     5  a text, perhaps compressed
#include <stdint.h>

#include <string>
#include <vector>

#include "fuzz/files.h"
#include "fuzz/limits.h"
#include "include/volta_data.h"

namespace {
using fuzz::expect;

constexpr uint64_t kMostPixels = uint64_t{1} << 17, kMostFile = uint64_t{1} << 24;

volta_dataset_options options() {
    static const volta_allocator allocator = {fuzz::allocate, fuzz::release, nullptr};
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.allocator = &allocator;
    options.max_pixels = kMostPixels;
    options.max_file_bytes = kMostFile;
    return options;
}

// Given or refused, and then by a sentence that names the file.
bool gave(volta_status status, bool given, const std::string& path) {
    const char* const text = volta_data_last_error();
    expect((status == VOLTA_OK) == given, "what is given and the status disagree");
    if (given) return true;
    fuzz::expect_sentence(text);
    expect(strstr(text, path.c_str()) != nullptr, "a refusal does not name its file");
    expect(status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED, "another status");
    return false;
}

volta_picture_info info_of(const volta_picture* picture) {
    volta_picture_info info = VOLTA_PICTURE_INFO_INIT;
    expect(volta_picture_get_info(picture, &info) == VOLTA_OK, "info");
    expect(info.height > 0 && info.width > 0 && uint64_t{info.height} * info.width <= kMostPixels,
           "an extent");
    uint32_t sum = 0;  // every byte is there to be read
    for (size_t i = 0; i < size_t{info.channels} * info.height * info.width; ++i) sum += info.pixels[i];
    expect(sum <= 255u * 3 * kMostPixels, "a sum");
    return info;
}

void use_picture(volta_picture* picture) {
    info_of(picture);
    volta_picture* resized = nullptr;
    const volta_status status = volta_picture_resize(picture, 7, 5, VOLTA_FILTER_BICUBIC, &resized);
    expect(status == VOLTA_OK || status == VOLTA_UNSUPPORTED, "resize");
    if (resized != nullptr) info_of(resized);
    volta_picture_release(resized);
    volta_transform_options transform = VOLTA_TRANSFORM_OPTIONS_INIT;
    transform.channels = 1;
    transform.height = transform.width = 8;
    transform.resize = 9;
    float values[64];
    const volta_status transformed = volta_picture_transform(picture, &transform, values, 64);
    expect(transformed == VOLTA_OK || transformed == VOLTA_UNSUPPORTED, "transform");
    volta_picture_release(picture);
}

void read_samples(volta_dataset* dataset, const std::string& path) {
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT;
    expect(volta_dataset_get_info(dataset, &info) == VOLTA_OK, "info");
    expect(info.sample_count > 0 && info.class_count > 0, "an empty data set");
    const uint64_t step = info.sample_count / 64 + 1;
    for (uint64_t i = 0; i < info.sample_count; i += step) {
        volta_picture* picture = nullptr;
        const volta_status status = volta_dataset_read(dataset, i, &picture);
        if (!gave(status, picture != nullptr, path)) continue;
        const int32_t label = info_of(picture).label;
        expect(label >= 0 && static_cast<uint32_t>(label) < info.class_count, "a label");
        volta_picture_release(picture);
    }
    for (uint32_t i = 0; i < info.class_count; ++i)
        expect(*volta_dataset_class_name(dataset, i) != '\0', "a class has no name");
    volta_dataset_release(dataset);
}

void open_and_read(volta_data_format format, const std::vector<const char*>& paths,
                   const std::string& named) {
    const volta_dataset_options own = options();
    volta_dataset* dataset = nullptr;
    const volta_status status = volta_dataset_open(format, paths.data(), paths.size(), &own, &dataset);
    if (gave(status, dataset != nullptr, named)) read_samples(dataset, named);
}

const std::string& path_of(const char* name) {
    static std::string path;
    return path = fuzz::folder() + "/" + name;
}

void try_picture(const uint8_t* data, size_t size) {
    static const std::string path = path_of("picture");
    fuzz::write_file(path, data, size);
    const volta_dataset_options own = options();
    volta_picture* picture = nullptr;
    const volta_status status = volta_picture_open(path.c_str(), &own, &picture);
    if (gave(status, picture != nullptr, path)) use_picture(picture);
}

void try_records(const uint8_t* data, size_t size) {
    static const std::string path = path_of("records.bin");
    fuzz::write_file(path, data, size);
    open_and_read(VOLTA_DATA_CIFAR10, {path.c_str()}, path);
    open_and_read(VOLTA_DATA_CIFAR100, {path.c_str()}, path);
}

void try_idx(const uint8_t* data, size_t size) {
    static const std::string path = path_of("fuzzed"), images = path_of("images"), labels = path_of("labels");
    static const unsigned char sound_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 2, 0, 1};
    static const unsigned char sound_images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0,
                                                 1, 0, 0, 0, 2, 9, 8, 7, 6, 5, 4};
    fuzz::write_file(labels, sound_labels, sizeof sound_labels);
    fuzz::write_file(images, sound_images, sizeof sound_images);
    fuzz::write_file(path, data, size);
    open_and_read(VOLTA_DATA_IDX, {path.c_str(), labels.c_str()}, path);
    open_and_read(VOLTA_DATA_IDX, {images.c_str(), path.c_str()}, path);
}

void try_names(const uint8_t* data, size_t size) {
    static const std::string path = path_of("batches.meta.txt"), records = path_of("records.bin");
    static const std::string record(3073, '\5');
    fuzz::write_file(records, record.data(), record.size());
    fuzz::write_file(path, data, size);
    open_and_read(VOLTA_DATA_CIFAR10, {records.c_str()}, path);
}

void try_text(const uint8_t* data, size_t size) {
    static const std::string path = path_of("text");
    fuzz::write_file(path, data, size);
    volta_dataset_options own = options();
    own.max_file_bytes = uint64_t{1} << 21;  // a gzip file of the fuzzer's size may pass it
    const char* const paths[] = {path.c_str()};
    volta_text* text = nullptr;
    const volta_status status = volta_text_open(paths, 1, &own, &text);
    if (!gave(status, text != nullptr, path)) return;
    volta_text_info info = VOLTA_TEXT_INFO_INIT;
    expect(volta_text_get_info(text, &info) == VOLTA_OK, "info");
    expect(info.byte_count > 0 && info.byte_count <= own.max_file_bytes, "the text's length");
    expect(info.bytes[info.byte_count] == '\0' && path == info.path, "the text's end and name");
    volta_text_release(text);
}

constexpr void (*kTries[])(const uint8_t*, size_t) = {try_picture, try_records, try_idx, try_names, try_text};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const fuzz::Limits limits(size);
    kTries[FUZZ_DATA - 1](data, size);
    limits.check_time();
    return 0;
}
