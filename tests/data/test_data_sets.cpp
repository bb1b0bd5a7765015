// Readers of data sets: which sample is which, and a sentence for each way in which files can be wrong.
#include <sys/stat.h>
#include <zlib.h>

#include "tests/data/data_test.h"

namespace {
using namespace volta::test;

std::string gzip(const std::string& bytes) {
    z_stream stream = {};
    if (deflateInit2(&stream, 9, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    std::string out(bytes.size() + 1024, '\0');
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<unsigned char*>(&out[0]);
    stream.avail_out = static_cast<uInt>(out.size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) abort();
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string repeated(char byte, size_t count) { return std::string(count, byte); }

// Sample `index`: its label, and whether its pixels are these.
int label_if(volta_dataset* dataset, uint64_t index, const std::string& pixels) {
    volta_picture* picture = nullptr;
    assert_ok(volta_dataset_read(dataset, index, &picture));
    const volta_picture_info info = info_of(picture);
    const bool same = size_t{info.channels} * info.height * info.width == pixels.size() &&
                      memcmp(info.pixels, pixels.data(), pixels.size()) == 0;
    const int label = info.label;
    volta_picture_release(picture);
    return same ? label : -2;
}

volta_dataset_info info_of_set(const volta_dataset* dataset) {
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT;
    assert_ok(volta_dataset_get_info(dataset, &info));
    return info;
}

std::string sample_name(const volta_dataset* dataset, uint64_t index) {
    char text[256];
    assert_ok(volta_dataset_sample_name(dataset, index, text, sizeof text));
    return text;
}

void test_cifar10_folders_and_files(void**) {
    const Folder folder;
    const std::string records = cifar_records(7);
    const auto pixels = [&](size_t i) { return records.substr(i * 3073 + 1, 3072); };
    write_file(folder / "data_batch_2.bin", records.substr(3073 * 3));
    write_file(folder / "data_batch_1.bin", records.substr(0, 3073 * 3));
    write_file(folder / "test_batch.bin", records.substr(3073 * 5));
    volta_dataset* dataset = open_data(VOLTA_DATA_CIFAR10, {folder.c_str()});
    volta_dataset_info info = info_of_set(dataset);
    assert_int_equal(info.sample_count, 7);
    assert_int_equal(info.class_count, 10);
    assert_int_equal(info.channels * 10000 + info.height * 100 + info.width, 33232);
    for (size_t i = 0; i < 7; ++i) assert_int_equal(label_if(dataset, i, pixels(i)), i * 7 % 10);
    assert_string_equal(volta_dataset_class_name(dataset, 9), "9");
    assert_null(volta_dataset_class_name(dataset, 10));
    assert_string_equal(sample_name(dataset, 4).c_str(), (folder / "data_batch_2.bin, record 1").c_str());
    volta_picture* none = nullptr;
    assert_fails(volta_dataset_read(dataset, 7, &none), VOLTA_INVALID_ARGUMENT,
                 "sample is 7, and there are 7");
    volta_dataset_release(dataset);

    write_file(folder / "batches.meta.txt", "a\nb\r\nc\nd\ne\nf\ng\nh\ni\nzw\xc3\xb6lf\n\n");
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.split = VOLTA_SPLIT_TEST;
    dataset = open_data(VOLTA_DATA_CIFAR10, {folder.c_str()}, &options);
    assert_int_equal(info_of_set(dataset).sample_count, 2);
    assert_string_equal(volta_dataset_class_name(dataset, 1), "b");
    assert_string_equal(volta_dataset_class_name(dataset, 9), "zw\xc3\xb6lf");
    volta_dataset_release(dataset);

    const std::string second = folder / "data_batch_2.bin", first = folder / "data_batch_1.bin";
    dataset = open_data(VOLTA_DATA_CIFAR10, {second.c_str(), first.c_str()});  // as they are given
    assert_int_equal(label_if(dataset, 0, pixels(3)), 1);
    assert_int_equal(label_if(dataset, 4, pixels(0)), 0);
    volta_dataset_release(dataset);
}

void test_cifar100_has_fine_labels(void**) {
    const Folder folder;
    const std::string pixels = noise(3072, 1);
    write_file(folder / "train.bin", std::string("\x05\x62") + pixels);
    volta_dataset* dataset = open_data(VOLTA_DATA_CIFAR100, {folder.c_str()});
    assert_int_equal(info_of_set(dataset).class_count, 100);
    assert_int_equal(label_if(dataset, 0, pixels), 0x62);
    volta_dataset_release(dataset);
}

void test_idx_plain_and_compressed(void**) {
    const Folder folder;
    const std::string pixels = noise(5 * 4 * 3, 2), labels = {0, 3, 1, 3, 2};
    write_file(folder / "train-images-idx3-ubyte", idx({5, 4, 3}, pixels));
    write_file(folder / "train-labels-idx1-ubyte.gz", gzip(idx({5}, labels)));
    // A gzip file of two members is the two behind each other.
    const std::string images = idx({5, 4, 3}, pixels);
    write_file(folder / "t10k-images-idx3-ubyte.gz", gzip(images.substr(0, 20)) + gzip(images.substr(20)));
    write_file(folder / "t10k-labels-idx1-ubyte", idx({5}, labels));
    for (const volta_data_split split : {VOLTA_SPLIT_TRAIN, VOLTA_SPLIT_TEST}) {
        volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
        options.split = split;
        volta_dataset* dataset = open_data(VOLTA_DATA_IDX, {folder.c_str()}, &options);
        const volta_dataset_info info = info_of_set(dataset);
        assert_int_equal(info.sample_count, 5);
        assert_int_equal(info.class_count, 4);
        assert_int_equal(info.channels * 10000 + info.height * 100 + info.width, 10403);
        for (size_t i = 0; i < 5; ++i)
            assert_int_equal(label_if(dataset, i, pixels.substr(i * 12, 12)), labels[i]);
        volta_dataset_release(dataset);
    }
}

// `count`: of files that are read; 0: as many as are named.
std::string text_of(const std::vector<std::string>& files, volta_data_split split = VOLTA_SPLIT_TRAIN,
                    size_t count = 0) {
    std::vector<const char*> paths;
    paths.reserve(files.size());
    for (const std::string& file : files) paths.push_back(file.c_str());
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.split = split;
    options.max_file_bytes = 1 << 22;
    volta_text* text = nullptr;
    if (volta_text_open(paths.data(), paths.size(), &options, &text) != VOLTA_OK) {
        assert_null(text);
        return std::string("! ") + volta_data_last_error();
    }
    volta_text_info info = VOLTA_TEXT_INFO_INIT;
    assert_ok(volta_text_get_info(text, &info));
    assert_int_equal(info.file_count, count > 0 ? count : files.size());
    assert_int_equal(info.bytes[info.byte_count], 0);
    std::string bytes(info.bytes, static_cast<size_t>(info.byte_count));
    assert_true(std::string(info.path).rfind(files[0], 0) == 0);
    volta_text_release(text);
    return bytes;
}

uint32_t parts_of(const std::string& folder) {
    uint32_t parts = 0;
    assert_ok(volta_text_parts(folder.c_str(), nullptr, &parts));
    return parts;
}

void test_texts_byte_for_byte(void**) {
    const Folder folder;
    const std::string odd("a\0\xff\r\n\xef\xbb\xbf", 8), many = noise((2 << 20) + 17, 7);
    write_file(folder / "one", odd);
    write_file(folder / "two", gzip("second") + gzip(" member"));
    write_file(folder / "many", gzip(many));
    write_file(folder / "empty", "");
    write_file(folder / "half", gzip(many).substr(0, 1000));
    write_file(folder / "large", gzip(repeated('x', (1 << 22) + 1)));
    write_file(folder / "huge", repeated('x', (1 << 22) + 1));
    assert_true(text_of({folder / "one"}) == odd);
    assert_true(text_of({folder / "one", folder / "two", folder / "empty", folder / "one"}) ==
                odd + "second member" + odd);
    assert_true(text_of({folder / "many"}) == many);
    assert_string_equal(text_of({folder / "empty"}).c_str(),
                        ("! '" + (folder / "empty") + "' has no text").c_str());
    assert_true(text_of({folder / "half"}).rfind("! '" + (folder / "half") + "'", 0) == 0);
    assert_string_equal(
        text_of({folder / "large"}).c_str(),
        ("! '" + (folder / "large") + "' expands to more than 4194304 bytes, the most that are read")
            .c_str());
    assert_string_equal(
        text_of({folder / "huge"}).c_str(),
        ("! '" + (folder / "huge") + "' has 4194305 bytes, at most 4194304 are read").c_str());
}

void test_text_folders_as_wikitext_is_laid_out(void**) {
    const Folder folder;
    write_file(folder / "valid.txt", "v");
    write_file(folder / "wiki.test.tokens", "t");
    write_file(folder / "test.txt", "other");
    write_file(folder / "wiki.train.raw.gz", gzip("r"));
    const std::string there = folder.c_str();
    assert_string_equal(text_of({there}).c_str(), "r");
    assert_string_equal(text_of({there}, VOLTA_SPLIT_VALIDATION).c_str(), "v");
    assert_string_equal(text_of({there}, VOLTA_SPLIT_TEST).c_str(), "t");
    remove((folder / "wiki.train.raw.gz").c_str());
    assert_string_equal(
        text_of({there}).c_str(),
        ("! the folder '" + there + "' has no file train.txt, wiki.train.tokens or wiki.train.raw").c_str());
    assert_string_equal(text_of({there}, 3).c_str(), "! split is 3, an unknown one");
    assert_int_equal(parts_of(there), 1u << VOLTA_SPLIT_TEST | 1u << VOLTA_SPLIT_VALIDATION);
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.split = VOLTA_SPLIT_VALIDATION;
    const char* const paths[] = {there.c_str()};
    volta_dataset* none = nullptr;
    assert_fails(volta_dataset_open(VOLTA_DATA_FOLDER, paths, 1, &options, &none), VOLTA_INVALID_ARGUMENT,
                 "split is 2, which only texts have");
    assert_fails(volta_text_get_info(nullptr, nullptr), VOLTA_INVALID_ARGUMENT, "text is NULL");
    volta_text_release(nullptr);
}

// Where no name says which part a file is, all are the train part.
void test_text_folders_without_parts(void**) {
    const Folder folder, none;
    write_file(folder / "b.txt", "b");
    write_file(folder / "B.txt.gz", gzip("first"));
    write_file(folder / "a.text", "no");
    write_file(folder / ".hidden.txt", "no");
    assert_int_equal(mkdir((folder / "c.txt").c_str(), 0700), 0);
    write_file(folder / "c.txt/d.txt", "no");
    write_file(folder / "e.txt", "last");
    const std::string there = folder.c_str();
    assert_int_equal(parts_of(there), 1u << VOLTA_SPLIT_TRAIN);
    assert_string_equal(text_of({there}, VOLTA_SPLIT_TRAIN, 3).c_str(), "firstblast");
    const std::string refused = "! the folder '" + there + "' has no file ";
    assert_string_equal(text_of({there}, VOLTA_SPLIT_TEST).c_str(),
                        (refused + "test.txt, wiki.test.tokens or wiki.test.raw").c_str());
    assert_string_equal(text_of({there}, VOLTA_SPLIT_VALIDATION).c_str(),
                        (refused + "valid.txt, wiki.valid.tokens or wiki.valid.raw").c_str());
    // A part's name takes that from the others.
    write_file(folder / "wiki.train.tokens", "t");
    assert_string_equal(text_of({there}).c_str(), "t");
    assert_int_equal(parts_of(there), 1u << VOLTA_SPLIT_TRAIN);
    remove((folder / "wiki.train.tokens").c_str());
    write_file(folder / "test.txt", "t");
    assert_string_equal(text_of({there}).c_str(),
                        (refused + "train.txt, wiki.train.tokens or wiki.train.raw").c_str());
    assert_int_equal(parts_of(there), 1u << VOLTA_SPLIT_TEST);
    assert_int_equal(parts_of(none.c_str()), 0);
    uint32_t parts = 7;
    assert_fails(volta_text_parts((folder / "b.txt").c_str(), nullptr, &parts), VOLTA_IO_ERROR,
                 ("there is no folder '" + (folder / "b.txt") + "'").c_str());
    assert_int_equal(parts, 0);
    assert_fails(volta_text_parts("", nullptr, &parts), VOLTA_INVALID_ARGUMENT, "path 0 is empty");
    assert_fails(volta_text_parts(there.c_str(), nullptr, nullptr), VOLTA_INVALID_ARGUMENT,
                 "out_parts is NULL");
}

void test_class_folders(void**) {
    const Folder folder;
    const std::string png = read_file(file("grey8.png")), jpeg = read_file(file("grey.jpg"));
    for (const char* name : {"train/b/2.PNG", "train/b/10.jpeg", "train/b/deep/er/1.png", "train/B/x.jpg",
                             "val/b/v.png", "train/b/1/2/3/4/5/6/7/8/deepest.png", "train/b/1.png"})
        write_file(folder / name, png);
    write_file(folder / "train/a/really.png", jpeg);  // what it is, its bytes say
    write_file(folder / "train/a/notes.txt", "no picture");
    write_file(folder / "train/a/.hidden.png", "no picture");
    write_file(folder / "train/readme.txt", "no class");
    volta_dataset* dataset = open_data(VOLTA_DATA_FOLDER, {folder.c_str()});
    const volta_dataset_info info = info_of_set(dataset);
    assert_int_equal(info.sample_count, 7);
    assert_int_equal(info.class_count, 3);
    assert_int_equal(info.height + info.width, 0);
    // By the bytes of whole paths, in which a folder's name ends with a slash.
    const char* const kNames[] = {"train/B/x.jpg",        "train/a/really.png",
                                  "train/b/1.png",        "train/b/1/2/3/4/5/6/7/8/deepest.png",
                                  "train/b/10.jpeg",      "train/b/2.PNG",
                                  "train/b/deep/er/1.png"};
    const int kLabels[] = {0, 1, 2, 2, 2, 2, 2};
    for (size_t i = 0; i < 7; ++i) {
        assert_string_equal(sample_name(dataset, i).c_str(), (folder / kNames[i]).c_str());
        volta_picture* picture = nullptr;
        assert_ok(volta_dataset_read(dataset, i, &picture));
        assert_int_equal(info_of(picture).label, kLabels[i]);
        assert_int_equal(info_of(picture).width, i == 1 ? 27 : 16);
        volta_picture_release(picture);
    }
    assert_string_equal(volta_dataset_class_name(dataset, 0), "B");
    volta_dataset_release(dataset);

    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.split = VOLTA_SPLIT_TEST;
    dataset = open_data(VOLTA_DATA_FOLDER, {folder.c_str()}, &options);
    assert_string_equal(sample_name(dataset, 0).c_str(), (folder / "val/b/v.png").c_str());
    volta_dataset_release(dataset);
    dataset = open_data(VOLTA_DATA_FOLDER, {(folder / "train").c_str()}, &options);  // a split by itself
    assert_int_equal(info_of_set(dataset).sample_count, 7);
    volta_dataset_release(dataset);
}

// clang-format off
const struct {
    const char* part;
    volta_status status;
    volta_data_format format;
    std::vector<std::pair<const char*, std::string>> files;  // the paths that are opened; others have a '!' before their names
    bool is_test = false;
} kRefused[] = {
    {"has 3072 bytes, which is no number of CIFAR-10 records of 3073 bytes", VOLTA_CORRUPT_MODEL, VOLTA_DATA_CIFAR10, {{"a.bin", noise(3072, 1)}}},
    {"has 0 bytes", VOLTA_CORRUPT_MODEL, VOLTA_DATA_CIFAR10, {{"a.bin", ""}}},
    {"CIFAR-100 records of 3074 bytes", VOLTA_CORRUPT_MODEL, VOLTA_DATA_CIFAR100, {{"a.bin", noise(3073, 1)}}},
    {"has no files data_batch_*.bin of CIFAR-10", VOLTA_IO_ERROR, VOLTA_DATA_CIFAR10, {{"", ""}}},
    {"cannot open", VOLTA_IO_ERROR, VOLTA_DATA_CIFAR10, {{"", ""}}, true},
    {"line 2 of", VOLTA_CORRUPT_MODEL, VOLTA_DATA_CIFAR10, {{"a.bin", noise(3073, 1)}, {"!batches.meta.txt", "one\n\xff\n"}}},
    {"line 3 of", VOLTA_CORRUPT_MODEL, VOLTA_DATA_CIFAR10, {{"a.bin", noise(3073, 1)}, {"!batches.meta.txt", "one\ntwo"}}},
    {"has more names than there are classes, 10", VOLTA_CORRUPT_MODEL, VOLTA_DATA_CIFAR10, {{"a.bin", noise(3073, 1)}, {"!batches.meta.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}}},
    {"at most 1048576 are read", VOLTA_CORRUPT_MODEL, VOLTA_DATA_CIFAR10, {{"a.bin", noise(3073, 1)}, {"!batches.meta.txt", std::string((1 << 20) + 1, 'n')}}},
    {"IDX data is a folder, or two files, images and labels; 1 paths were given", VOLTA_INVALID_ARGUMENT, VOLTA_DATA_IDX, {{"i", idx({1, 1, 1}, "x")}}},
    {"is no IDX file", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", ""}, {"l", idx({1}, "x")}}},
    {"is no IDX file", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", "text of some length"}, {"l", idx({1}, "x")}}},
    {"type 0x0d; unsigned bytes, 0x08, are read", VOLTA_UNSUPPORTED, VOLTA_DATA_IDX, {{"i", std::string("\0\0\x0d\3", 4) + big(1)}, {"l", idx({1}, "x")}}},
    {"of 4 dimensions; images have 3", VOLTA_UNSUPPORTED, VOLTA_DATA_IDX, {{"i", idx({1, 1, 1, 1}, "x")}, {"l", idx({1}, "x")}}},
    {"of 3 dimensions; labels have 1", VOLTA_UNSUPPORTED, VOLTA_DATA_IDX, {{"i", idx({1, 1, 1}, "x")}, {"l", idx({1, 1, 1}, "x")}}},
    {"ends within its header", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", idx({1, 1, 1}, "x").substr(0, 11)}, {"l", idx({1}, "x")}}},
    {"has an extent of 0", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", idx({1, 0, 1}, "x")}, {"l", idx({1}, "x")}}},
    {"has more elements than can be counted", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", idx({0xffffffff, 0xffffffff, 0xffffffff}, "x")}, {"l", idx({1}, "x")}}},
    {"has fewer bytes than the 18446744065119617025 elements its header says", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", idx({0xffffffff, 1, 0xffffffff}, "x")}, {"l", idx({1}, "x")}}},
    {"has fewer bytes than the 18446744065119617025 elements its header says", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", gzip(idx({0xffffffff, 1, 0xffffffff}, "x"))}, {"l", idx({1}, "x")}}},
    {"has fewer bytes than the 6 elements its header says", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", idx({1, 2, 3}, "12345")}, {"l", idx({1}, "x")}}},
    {"has more bytes than the 6 elements its header says", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", idx({1, 2, 3}, "1234567")}, {"l", idx({1}, "x")}}},
    {"has fewer bytes than the 6 elements its header says", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", gzip(idx({1, 2, 3}, "12345"))}, {"l", idx({1}, "x")}}},
    {"has more bytes than the 6 elements its header says", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", gzip(idx({1, 2, 3}, "1234567"))}, {"l", idx({1}, "x")}}},
    {"is no valid gzip file: it ends early", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", gzip(idx({1, 2, 3}, "123456")).substr(0, 30)}, {"l", idx({1}, "x")}}},
    {"is no valid gzip file", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", gzip(idx({1, 2, 3}, "123456")) + "beyond"}, {"l", idx({1}, "x")}}},
    {"has 2 images and", VOLTA_CORRUPT_MODEL, VOLTA_DATA_IDX, {{"i", idx({2, 1, 1}, "xy")}, {"l", idx({3}, "xyz")}}},
    {"has pictures of 100000 x 1000 pixels, more than the limit", VOLTA_UNSUPPORTED, VOLTA_DATA_IDX, {{"i", gzip(idx({1, 1000, 100000}, repeated('x', 100000000)))}, {"l", idx({1}, "x")}}},
    {"has no file train-images-idx3-ubyte or train-images-idx3-ubyte.gz", VOLTA_IO_ERROR, VOLTA_DATA_IDX, {{"", ""}}},
    {"there is no folder", VOLTA_IO_ERROR, VOLTA_DATA_FOLDER, {{"file", "x"}}},
    {"has no folders of classes", VOLTA_CORRUPT_MODEL, VOLTA_DATA_FOLDER, {{"", ""}, {"!a.png", "x"}}},
    {"a' has no JPEG or PNG files", VOLTA_CORRUPT_MODEL, VOLTA_DATA_FOLDER, {{"", ""}, {"!a/text", "x"}, {"!b/a.png", "x"}}},
    {"has no folder test or val", VOLTA_IO_ERROR, VOLTA_DATA_FOLDER, {{"", ""}, {"!train/a/a.png", "x"}}, true},
    {"has no folder train", VOLTA_IO_ERROR, VOLTA_DATA_FOLDER, {{"", ""}, {"!test/a/a.png", "x"}}},
    {"is no line of UTF-8", VOLTA_CORRUPT_MODEL, VOLTA_DATA_FOLDER, {{"", ""}, {"!a\xff/a.png", "x"}}},
    {"is no line of UTF-8", VOLTA_CORRUPT_MODEL, VOLTA_DATA_FOLDER, {{"", ""}, {"!a\nb/a.png", "x"}}},
    {"lies more than 8 levels below its class's", VOLTA_UNSUPPORTED, VOLTA_DATA_FOLDER, {{"", ""}, {"!a/1/2/3/4/5/6/7/8/9/a.png", "x"}}},
    {"a folder of classes is one path; 2 were given", VOLTA_INVALID_ARGUMENT, VOLTA_DATA_FOLDER, {{"", ""}, {"x", ""}}},
    {"format is 5, an unknown one", VOLTA_INVALID_ARGUMENT, 5, {{"x", ""}}},
    {"format is 0, an unknown one", VOLTA_INVALID_ARGUMENT, 0, {{"x", ""}}},
};
// clang-format on

void test_wrong_files_are_one_sentence(void**) {
    for (const auto& test : kRefused) {
        const Folder folder;
        std::vector<std::string> paths;
        for (const auto& [name, bytes] : test.files) {
            const std::string path =
                *name == '\0' ? std::string(folder.c_str()) : folder / (name + (*name == '!'));
            if (*name != '\0') write_file(path, bytes);
            if (*name != '!') paths.push_back(path);
        }
        std::vector<const char*> given;
        given.reserve(paths.size());
        for (const std::string& path : paths) given.push_back(path.c_str());
        CountingHeap heap;
        volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
        options.allocator = &heap.allocator;
        options.split = test.is_test ? VOLTA_SPLIT_TEST : VOLTA_SPLIT_TRAIN;
        assert_fails(try_open(test.format, given, &options), test.status, test.part);
        assert_null(strchr(volta_data_last_error(), '\n'));
        assert_int_equal(heap.live, 0);
    }
}

void test_a_wrong_label_is_named(void**) {
    const Folder folder;
    std::string records = cifar_records(3);
    records[2 * 3073] = 10;
    write_file(folder / "a.bin", records);
    volta_dataset* dataset = open_data(VOLTA_DATA_CIFAR10, {(folder / "a.bin").c_str()});
    volta_picture* picture = nullptr;
    assert_fails(volta_dataset_read(dataset, 2, &picture), VOLTA_CORRUPT_MODEL,
                 "a.bin' has label 10, and there are 10 classes");
    assert_null(picture);
    write_file(folder / "a.bin", records.substr(0, 4000));  // while it is open
    assert_fails(volta_dataset_read(dataset, 1, &picture), VOLTA_IO_ERROR,
                 "has become shorter since it was opened");
    volta_dataset_release(dataset);
}

void test_what_expands_beyond_the_limit_is_refused(void**) {
    const Folder folder;
    write_file(folder / "i", gzip(idx({1, 20, 20}, repeated('x', 400))));
    write_file(folder / "l", idx({1}, "x"));
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.max_file_bytes = 399;
    assert_fails(try_open(VOLTA_DATA_IDX, {(folder / "i").c_str(), (folder / "l").c_str()}, &options),
                 VOLTA_UNSUPPORTED, "i' expands to 400 bytes, at most 399 are read");
    options.max_file_bytes = 400;
    assert_ok(try_open(VOLTA_DATA_IDX, {(folder / "i").c_str(), (folder / "l").c_str()}, &options));
}

void test_calls_are_checked(void**) {
    volta_dataset* dataset = nullptr;
    const char* none[] = {nullptr};
    assert_fails(volta_dataset_open(1, nullptr, 0, nullptr, &dataset), VOLTA_INVALID_ARGUMENT,
                 "no path was given");
    assert_fails(volta_dataset_open(1, none, 1, nullptr, &dataset), VOLTA_INVALID_ARGUMENT,
                 "path 0 is empty");
    assert_fails(volta_dataset_open(1, none, 2000, nullptr, &dataset), VOLTA_INVALID_ARGUMENT,
                 "at most 1024 are possible");
    assert_fails(volta_dataset_open(1, none, 1, nullptr, nullptr), VOLTA_INVALID_ARGUMENT,
                 "out_dataset is NULL");
    volta_allocator half = {};
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.allocator = &half;
    const char* path[] = {"data/files/rgb.png"};
    assert_fails(volta_dataset_open(1, path, 1, &options, &dataset), VOLTA_INVALID_ARGUMENT,
                 "the allocator needs both functions");
    options.struct_size = 3;
    assert_fails(volta_dataset_open(1, path, 1, &options, &dataset), VOLTA_INVALID_ARGUMENT,
                 "struct_size is 3");
    assert_fails(volta_dataset_get_info(nullptr, nullptr), VOLTA_INVALID_ARGUMENT, "dataset is NULL");
    char text[8] = "unset";
    assert_fails(volta_dataset_sample_name(nullptr, 0, text, sizeof text), VOLTA_INVALID_ARGUMENT,
                 "dataset is NULL");
    assert_string_equal(text, "");
    assert_null(volta_dataset_class_name(nullptr, 0));
    volta_dataset_release(nullptr);
    assert_string_equal(volta_data_version(), "0.1.0");
}

// The files of CIFAR-10 and MNIST themselves, where they are.
void test_real_data(void**) {
    const char* given = getenv("VOLTA_TEST_DATA");
    const std::string data = given != nullptr ? given : "../../shared/data";
    const std::string train = data + "/cifar-10/train_exact_4000.bin", mnist = data + "/mnist";
    if (access(train.c_str(), R_OK) != 0 || access(mnist.c_str(), R_OK) != 0) {
        print_message("skipped: %s has no cifar-10 and mnist\n", data.c_str());
        skip();
    }
    volta_dataset* dataset = open_data(VOLTA_DATA_CIFAR10, {train.c_str()});
    assert_int_equal(info_of_set(dataset).sample_count, 4000);
    assert_string_equal(volta_dataset_class_name(dataset, 0), "airplane");
    assert_string_equal(volta_dataset_class_name(dataset, 9), "truck");
    const std::string records = read_file(train);
    assert_int_equal(label_if(dataset, 3999, records.substr(3999 * 3073 + 1, 3072)), records[3999 * 3073]);
    volta_dataset_release(dataset);
    if (access((data + "/text/wikitext-2").c_str(), R_OK) == 0) {
        assert_true(text_of({data + "/text/wikitext-2"}, VOLTA_SPLIT_VALIDATION) ==
                    read_file(data + "/text/wikitext-2/valid.txt"));
        assert_true(text_of({data + "/text/wikitext-2"})[0] == '!');  // its train part is not there
    }
    dataset = open_data(VOLTA_DATA_IDX, {mnist.c_str()});
    const volta_dataset_info info = info_of_set(dataset);
    assert_int_equal(info.sample_count, 60000);
    assert_int_equal(info.class_count, 10);
    volta_picture* picture = nullptr;
    const int kFirst[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
    for (uint64_t i = 0; i < 10; ++i) {
        assert_ok(volta_dataset_read(dataset, i, &picture));
        assert_int_equal(info_of(picture).label, kFirst[i]);
        volta_picture_release(picture);
    }
    volta_dataset_release(dataset);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_cifar10_folders_and_files),
        cmocka_unit_test(test_cifar100_has_fine_labels),
        cmocka_unit_test(test_idx_plain_and_compressed),
        cmocka_unit_test(test_texts_byte_for_byte),
        cmocka_unit_test(test_text_folders_as_wikitext_is_laid_out),
        cmocka_unit_test(test_text_folders_without_parts),
        cmocka_unit_test(test_class_folders),
        cmocka_unit_test(test_wrong_files_are_one_sentence),
        cmocka_unit_test(test_a_wrong_label_is_named),
        cmocka_unit_test(test_what_expands_beyond_the_limit_is_refused),
        cmocka_unit_test(test_calls_are_checked),
        cmocka_unit_test(test_real_data),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
