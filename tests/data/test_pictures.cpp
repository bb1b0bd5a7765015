// Pictures: what Pillow gives for the same files, to the byte; its resize likewise; and one sentence for each
// file that is damaged or refused, before memory is allocated for it.
#include "tests/data/data_test.h"

namespace {
using namespace volta::test;

volta_picture* open_picture(const std::string& path) {
    volta_picture* picture = nullptr;
    assert_ok(volta_picture_open(path.c_str(), nullptr, &picture));
    return picture;
}

void test_pictures_are_pillows(void**) {
    const auto lines = golden("picture");
    assert_int_equal(lines.size(), 17);
    for (const auto& line : lines) {
        volta_picture* picture = open_picture(file(line[1]));
        const volta_picture_info info = info_of(picture);
        assert_int_equal(info.channels, 3);
        assert_int_equal(info.label, -1);
        const std::string is =
            std::to_string(info.height) + " " + std::to_string(info.width) + " " + hex(hash_of(picture));
        volta_picture_release(picture);
        const std::string should = line[2] + " " + line[3] + " " + line[4];
        if (is != should) print_error("%s: %s, not %s\n", line[1].c_str(), is.c_str(), should.c_str());
        assert_true(is == should);
    }
}

void assert_resize(const volta_picture* picture, const std::vector<std::string>& line, size_t at,
                   volta_filter bits = 0) {
    volta_picture* resized = nullptr;
    assert_ok(volta_picture_resize(picture, static_cast<uint32_t>(std::stoi(line[at])),
                                   static_cast<uint32_t>(std::stoi(line[at + 1])),
                                   filter_of(line[at + 2]) | bits, &resized));
    const bool same = hex(hash_of(resized)) == line[at + 3];
    volta_picture_release(resized);
    if (!same)
        print_error("%s %s to %s x %s, %s: another hash\n", line[1].c_str(), line[2].c_str(),
                    line[at].c_str(), line[at + 1].c_str(), line[at + 2].c_str());
    assert_true(same);
}

void test_resizes_are_pillows(void**) {
    const auto lines = golden("resize");
    assert_int_equal(lines.size(), 30);
    for (const auto& line : lines) {
        volta_picture* picture = open_picture(file(line[1]));
        assert_resize(picture, line, 2);
        volta_picture_release(picture);
    }
}

void assert_resizes(const char* kind, volta_filter bits) {
    const Folder folder;
    const auto lines = golden(kind);
    assert_int_equal(lines.size(), 48);
    const std::string images = folder / "images", labels = folder / "labels";
    write_file(labels, idx({1}, std::string(1, 0)));
    for (const auto& line : lines) {
        const auto height = static_cast<uint32_t>(std::stoi(line[1])),
                   width = static_cast<uint32_t>(std::stoi(line[2]));
        write_file(images, idx({1, height, width}, noise(size_t{height} * width, height * 1000 + width)));
        volta_dataset* dataset = open_data(VOLTA_DATA_IDX, {images.c_str(), labels.c_str()});
        volta_picture* picture = nullptr;
        assert_ok(volta_dataset_read(dataset, 0, &picture));
        volta_dataset_release(dataset);  // the picture stays
        assert_resize(picture, line, 3, bits);
        volta_picture_release(picture);
    }
}

void test_resizes_of_all_shapes_are_pillows(void**) {
    assert_resizes("noise", 0);
    assert_resizes("old", VOLTA_FILTER_PILLOW_12);
}

void refused(const std::string& path, volta_status status, const char* part, uint64_t max_pixels = 0) {
    CountingHeap heap;
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.allocator = &heap.allocator;
    options.max_pixels = max_pixels;
    volta_picture* picture = reinterpret_cast<volta_picture*>(&heap);
    assert_fails(volta_picture_open(path.c_str(), &options, &picture), status, part);
    assert_null(picture);
    assert_non_null(strstr(volta_data_last_error(), path.c_str()));
    assert_int_equal(heap.live, 0);
}

void test_what_is_not_read_is_refused_by_name(void**) {
    refused(file("cmyk.jpg"), VOLTA_UNSUPPORTED, "is a CMYK picture");
    refused(file("grey16.png"), VOLTA_UNSUPPORTED, "has 16 bits a channel, not 8");
    refused(file("rgb16.png"), VOLTA_UNSUPPORTED, "has 16 bits a channel, not 8");
    refused(file("beyond_palette.png"), VOLTA_CORRUPT_MODEL, "entry 15 of a palette of 15");
    refused(file("nothing.png"), VOLTA_IO_ERROR, "cannot open");
    refused("data/files", VOLTA_IO_ERROR, "Is a directory");
    refused("data/golden.txt", VOLTA_CORRUPT_MODEL, "is neither a JPEG nor a PNG file");
    refused(file("rgb.png"), VOLTA_UNSUPPORTED, "is a picture of 30 x 21 pixels, more than the limit of 629",
            629);
    refused(file("grey.jpg"), VOLTA_UNSUPPORTED, "is a picture of 27 x 19 pixels, more than the limit of 512",
            512);
}

// Of these a reader that trusted them would ask for 30 GB.
void test_huge_pictures_cost_nothing(void**) {
    struct SmallHeap {
        size_t most = 0;
    } small;
    const volta_allocator allocator = {
        [](void* user, size_t size, size_t alignment, volta_memory_kind) -> void* {
            auto& most = static_cast<SmallHeap*>(user)->most;
            most = size > most ? size : most;
            void* memory = nullptr;
            return posix_memalign(&memory, alignment < 8 ? 8 : alignment, size) == 0 ? memory : nullptr;
        },
        [](void*, void* pointer, size_t, size_t, volta_memory_kind) { free(pointer); }, &small};
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.allocator = &allocator;
    volta_picture* picture = nullptr;
    assert_fails(volta_picture_open(file("huge.png").c_str(), &options, &picture), VOLTA_UNSUPPORTED,
                 "is a picture of 100000 x 100000 pixels, more than the limit of 67108864");
    assert_fails(volta_picture_open(file("huge_grey1.png").c_str(), &options, &picture), VOLTA_UNSUPPORTED,
                 "is a picture of 2147483647 x 2147483647 pixels");
    assert_in_range(small.most, 1, 1 << 20);
}

// Every file cut at every byte, and with every byte changed: an answer, never more than a sentence. What is
// cut is always damaged; so is a PNG of which one bit is another, since all of it is in checksums.
void test_damaged_files_are_named(void**) {
    const Folder folder;
    for (const char* name :
         {"rgb_420.jpg", "progressive.jpg", "grey.jpg", "palette4.png", "interlaced.png", "grey1.png"}) {
        const std::string whole = read_file(file(name)), path = folder / name;
        const bool is_png = whole[0] != '\xff';
        for (size_t at = 0; at < whole.size(); ++at) {
            volta_picture* picture = nullptr;
            write_file(path, whole.substr(0, at));
            if (volta_picture_open(path.c_str(), nullptr, &picture) == VOLTA_OK) {
                print_error("%s, cut at %zu of %zu, is read\n", name, at, whole.size());
                assert_true(false);
            }
            assert_non_null(strstr(volta_data_last_error(), path.c_str()));
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
            write_file(path, changed);
            const volta_status status = volta_picture_open(path.c_str(), nullptr, &picture);
            volta_picture_release(picture);
            if (is_png) assert_int_not_equal(status, VOLTA_OK);
        }
    }
}

// Coarse first, fine later: every scan costs the whole picture.
void test_endless_scans_are_refused(void**) {
    const Folder folder;
    const std::string whole = read_file(file("progressive.jpg"));
    const size_t first = whole.find("\xff\xda"), second = whole.find("\xff\xc4", first);
    assert_true(first != std::string::npos && second != std::string::npos);
    const size_t last = whole.rfind("\xff\xda");
    std::string bytes = whole.substr(0, whole.size() - 2);
    // The last scan again and again. It refines what is refined, which the decoder warns of first; so the
    // sentence may be either.
    for (int i = 0; i < 200; ++i) bytes += whole.substr(last, whole.size() - 2 - last);
    write_file(folder / "scans.jpg", bytes + "\xff\xd9");
    refused(folder / "scans.jpg", VOLTA_CORRUPT_MODEL, "is a damaged JPEG file");
}

void test_options_are_checked(void**) {
    volta_picture *picture = open_picture(file("rgb.png")), *none = nullptr;
    assert_fails(volta_picture_resize(picture, 0, 5, 0, &none), VOLTA_INVALID_ARGUMENT, "neither may be 0");
    assert_fails(volta_picture_resize(picture, 5, 5, 3, &none), VOLTA_INVALID_ARGUMENT, "filter is 3");
    assert_fails(volta_picture_resize(picture, 5, 5, 19, &none), VOLTA_INVALID_ARGUMENT, "filter is 19");
    assert_fails(volta_picture_resize(picture, 100000, 100000, 0, &none), VOLTA_UNSUPPORTED,
                 "more pixels than the limit");
    // Between the passes, whichever comes first.
    assert_fails(volta_picture_resize(picture, 3000000, 1, 0, &none), VOLTA_UNSUPPORTED,
                 "30 x 21 pixels cannot be resized to 1 x 3000000: that takes more pixels than the limit");
    assert_fails(volta_picture_resize(picture, 1, 4000000, 0, &none), VOLTA_UNSUPPORTED,
                 "30 x 21 pixels cannot be resized to 4000000 x 1: that takes more pixels than the limit");
    assert_fails(volta_picture_resize(nullptr, 5, 5, 0, &none), VOLTA_INVALID_ARGUMENT, "picture is NULL");
    assert_fails(volta_picture_open("", nullptr, &none), VOLTA_INVALID_ARGUMENT, "path is empty");
    assert_fails(volta_picture_open(file("rgb.png").c_str(), nullptr, nullptr), VOLTA_INVALID_ARGUMENT,
                 "out_picture is NULL");
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.split = 2;
    assert_fails(volta_picture_open(file("rgb.png").c_str(), &options, &none), VOLTA_INVALID_ARGUMENT,
                 "split is 2");
    volta_picture_info info = VOLTA_PICTURE_INFO_INIT;
    info.struct_size = 12;
    assert_fails(volta_picture_get_info(picture, &info), VOLTA_INVALID_ARGUMENT,
                 "ends within the field pixels");
    info.struct_size = 16;
    info.height = 77;
    assert_ok(volta_picture_get_info(picture, &info));
    assert_int_equal(info.height, 77);  // an older header's struct ends before it
    volta_picture_release(picture);
    volta_picture_release(nullptr);
}

// Resize to 10 by the shorter side, a crop in the middle, grey, and the arithmetic of torchvision's
// Normalize.
void test_transform_for_evaluation(void**) {
    volta_picture *picture = open_picture(file("rgb.png")), *resized = nullptr;
    volta_transform_options options = VOLTA_TRANSFORM_OPTIONS_INIT;
    options.height = 8, options.width = 9, options.resize = 10;
    options.mean[0] = 0.25f, options.mean[1] = 0.5f, options.deviation[0] = 0.3f;
    float values[3 * 8 * 9];
    assert_ok(volta_picture_transform(picture, &options, values, 3 * 8 * 9));
    assert_ok(volta_picture_resize(picture, 10, 14, VOLTA_FILTER_BILINEAR, &resized));  // 30 * 10 / 21
    const volta_picture_info info = info_of(resized);
    for (size_t c = 0; c < 3; ++c)
        for (size_t y = 0; y < 8; ++y)
            for (size_t x = 0; x < 9; ++x) {
                // Spare are 2 rows and 5 columns: 1, and 2.5, which goes to the even 2.
                const auto byte = static_cast<float>(info.pixels[c * 140 + (y + 1) * 14 + x + 2]);
                const float deviation = c == 0 ? 0.3f : 1, centred = byte / 255.0f - options.mean[c];
                const float should = centred / deviation;
                assert_memory_equal(&should, &values[c * 72 + y * 9 + x], sizeof should);
            }
    // Halves of a pixel go to the even one, as Python rounds them: 0.5, 1.5, 2.5 and 3.5.
    constexpr struct { uint32_t width, left; } kCrops[] = {{13, 0}, {11, 2}, {9, 2}, {7, 4}};
    for (const auto& crop : kCrops) {
        std::vector<float> row(3 * 8 * crop.width);
        options.width = crop.width;
        assert_ok(volta_picture_transform(picture, &options, row.data(), row.size()));
        const float should = (static_cast<float>(info.pixels[14 + crop.left]) / 255.0f - 0.25f) / 0.3f;
        assert_memory_equal(&should, row.data(), sizeof should);
    }
    options.width = 9;
    options.channels = 1;
    assert_ok(volta_picture_transform(picture, &options, values, 72));
    assert_fails(volta_picture_transform(picture, &options, values, 71), VOLTA_INVALID_ARGUMENT,
                 "becomes 1 x 8 x 9 values");
    options.resize = 0, options.height = 22;
    assert_fails(volta_picture_transform(picture, &options, values, 22 * 9), VOLTA_SHAPE_MISMATCH,
                 "a picture of 30 x 21 pixels is smaller than the crop of 9 x 22");
    options.height = 2, options.width = 31;
    assert_fails(volta_picture_transform(picture, &options, values, 2 * 31), VOLTA_SHAPE_MISMATCH,
                 "a picture of 30 x 21 pixels is smaller than the crop of 31 x 2");
    volta_picture_release(resized);
    volta_picture_release(picture);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_are_pillows),
        cmocka_unit_test(test_resizes_are_pillows),
        cmocka_unit_test(test_resizes_of_all_shapes_are_pillows),
        cmocka_unit_test(test_what_is_not_read_is_refused_by_name),
        cmocka_unit_test(test_huge_pictures_cost_nothing),
        cmocka_unit_test(test_damaged_files_are_named),
        cmocka_unit_test(test_endless_scans_are_refused),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_transform_for_evaluation),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
