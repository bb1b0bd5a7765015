// Loaders: the bits that docs/data.md promises, for every number of threads, queue, environment and place to
// resume at; what damaged samples, refused memory, threads and forks do to them.
#include <sys/wait.h>

#include <cfenv>
#include <cmath>

#include "tests/data/data_test.h"

namespace {
using namespace volta::test;

constexpr uint64_t kSeed = 0x123456789abcdefu;

// The options of make_golden.py.
volta_transform_options transform_named(const std::string& name) {
    volta_transform_options t = VOLTA_TRANSFORM_OPTIONS_INIT;
    const auto triple = [](float(&to)[3], float a, float b, float c) { to[0] = a, to[1] = b, to[2] = c; };
    if (name == "crop") {
        t.height = t.width = 32;
        t.random_crop = 1, t.crop_padding = 4, t.flip = 0.5f;
        t.brightness = 0.4f, t.contrast = 0.3f, t.saturation = 0.5f, t.cutout = 9;
        triple(t.mean, 0.4914f, 0.4822f, 0.4465f);
        triple(t.deviation, 0.2470f, 0.2435f, 0.2616f);
    } else if (name == "mixup") {
        t.height = 28, t.width = 30;
        t.random_crop = 1, t.crop_padding = 2, t.flip = 0.25f, t.mixup = 1;
        triple(t.mean, 0, 0.5f, 1);
        triple(t.deviation, 1, 2, 3);
    } else {  // "resized"; "everything" adds what needs the contract's functions
        t.height = 20, t.width = 24;
        t.random_resized_crop = 1, t.area_min = 0.2f, t.ratio_min = t.ratio_max = 1, t.flip = 0.5f;
        t.brightness = t.contrast = t.saturation = 1, t.cutout = 6;
        if (name == "everything")
            t.ratio_min = 0.5f, t.ratio_max = 2, t.mixup = 0.3f, t.filter = VOLTA_FILTER_BICUBIC;
    }
    return t;
}

// A data set on files of its own.
class Set {
  public:
    explicit Set(const std::string& records, const volta_dataset_options* options = nullptr) {
        write_file(folder_ / "a.bin", records);
        dataset = open_data(VOLTA_DATA_CIFAR10, {(folder_ / "a.bin").c_str()}, options);
    }
    ~Set() { volta_dataset_release(dataset); }
    volta_dataset* dataset;

  private:
    Folder folder_;
};

volta_loader_options loader_options(const volta_transform_options* transform) {
    volta_loader_options o = VOLTA_LOADER_OPTIONS_INIT;
    o.transform = transform;
    o.seed = kSeed;
    o.batch = 16;
    o.order = VOLTA_ORDER_SHUFFLED;
    o.batches = VOLTA_BATCHES_ALL;
    return o;
}

volta_loader* make_loader(volta_dataset* dataset, const volta_loader_options& options) {
    volta_loader* loader = nullptr;
    assert_ok(volta_loader_create(dataset, &options, &loader));
    return loader;
}

volta_batch next(volta_loader* loader) {
    volta_batch batch = VOLTA_BATCH_INIT;
    assert_ok(volta_loader_next(loader, &batch));
    return batch;
}

size_t floats_of(const volta_batch& b) { return size_t{b.count} * b.channels * b.height * b.width; }

struct Hashes {
    uint64_t samples, pixels, weights;
    bool operator==(const Hashes& o) const {
        return samples == o.samples && pixels == o.pixels && weights == o.weights;
    }
    bool operator!=(const Hashes& o) const { return !(*this == o); }
};
Hashes hashes(const volta_batch& b, size_t classes = 10) {
    return {fnv(b.samples, 8 * size_t{b.count}), fnv(b.pixels, 4 * floats_of(b)),
            fnv(b.weights, b.weights == nullptr ? 0 : 4 * classes * b.count)};
}

void test_batches_are_what_the_page_says(void**) {
    const Set set(cifar_records(50));
    const auto lines = golden("batch");
    assert_int_equal(lines.size(), 9);
    for (const auto& line : lines) {
        const volta_transform_options transform = transform_named(line[1]);
        volta_loader* loader = make_loader(set.dataset, loader_options(&transform));
        assert_ok(volta_loader_seek(loader, std::stoull(line[2]), std::stoull(line[3])));
        const Hashes is = hashes(next(loader));
        volta_loader_release(loader);
        const std::string text = hex(is.samples) + " " + hex(is.pixels) + " " + hex(is.weights);
        const std::string should = line[4] + " " + line[5] + " " + line[6];
        if (text != should)
            print_error("%s %s %s: %s, not %s\n", line[1].c_str(), line[2].c_str(), line[3].c_str(),
                        text.c_str(), should.c_str());
        assert_true(text == should);
    }
}

// Two and a half epochs of 4 batches.
constexpr int kBatches = 10;
std::vector<Hashes> run(volta_loader* loader, int from = 0) {
    std::vector<Hashes> all;
    for (int i = from; i < kBatches; ++i) {
        const volta_batch batch = next(loader);
        assert_int_equal(batch.epoch, i / 4);
        assert_int_equal(batch.batch, i % 4);
        assert_int_equal(batch.batches_of_epoch, 4);
        assert_int_equal(batch.count, i % 4 == 3 ? 2 : 16);
        assert_int_equal(reinterpret_cast<uintptr_t>(batch.pixels) % 64, 0);
        all.push_back(hashes(batch));
    }
    return all;
}

void test_one_result_for_threads_queues_and_places(void**) {
    const Set set(cifar_records(50));
    const volta_transform_options transform = transform_named("everything");
    volta_loader_options options = loader_options(&transform);
    options.flags = VOLTA_LOADER_NO_THREADS;
    volta_loader* loader = make_loader(set.dataset, options);
    const std::vector<Hashes> expected = run(loader);
    volta_loader_release(loader);
    for (int i = 1; i < kBatches; ++i) assert_true(expected[i] != expected[0]);
    // The bits of this version hold for later ones. The other options are held by make_golden.py.
    assert_string_equal(hex(expected[9].pixels).c_str(), "645be0143ac7b9b6");
    options.flags = 0;
    for (const uint32_t threads : {1u, 2u, 3u, 8u})
        for (const uint32_t queue : {1u, 2u, 7u}) {
            options.thread_count = threads;
            options.queue = queue;
            loader = make_loader(set.dataset, options);
            const bool same = run(loader) == expected;
            volta_loader_release(loader);
            assert_true(same);
        }
    options.thread_count = 2;
    for (int from = 0; from < kBatches; ++from) {
        loader = make_loader(set.dataset, options);
        if (from % 2 == 1) next(loader);  // also out of the middle
        assert_ok(
            volta_loader_seek(loader, static_cast<uint64_t>(from / 4), static_cast<uint64_t>(from % 4)));
        uint64_t epoch, batch;
        assert_ok(volta_loader_get_position(loader, &epoch, &batch));
        assert_int_equal(epoch * 4 + batch, from);
        const std::vector<Hashes> rest = run(loader, from);
        const bool same = std::equal(rest.begin(), rest.end(), expected.begin() + from);
        volta_loader_release(loader);
        assert_true(same);
    }
}

void test_the_hosts_rounding_changes_nothing(void**) {
    const Set set(cifar_records(50));
    const volta_transform_options transform = transform_named("everything");
    volta_loader_options options = loader_options(&transform);
    volta_loader* loader = make_loader(set.dataset, options);
    const std::vector<Hashes> expected = run(loader);
    volta_loader_release(loader);
    for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
        for (const uint32_t flags : {0u, uint32_t{VOLTA_LOADER_NO_THREADS}}) {
            options.flags = flags;
            fesetround(rounding);
            loader = make_loader(set.dataset, options);
            const std::vector<Hashes> is = run(loader);
            volta_loader_release(loader);
            const int after = fegetround();
            fesetround(FE_TONEAREST);
            assert_int_equal(after, rounding);
            assert_true(is == expected);
        }
}

void test_every_sample_once_an_epoch(void**) {
    const Set set(cifar_records(50));
    volta_loader_options options = loader_options(nullptr);
    volta_loader* loader = make_loader(set.dataset, options);
    std::vector<int> seen(50, 0);
    for (int i = 0; i < 8; ++i) {
        const volta_batch batch = next(loader);
        for (uint32_t row = 0; row < batch.count; ++row) {
            ++seen[batch.samples[row]];
            assert_int_equal(batch.labels[row], batch.samples[row] * 7 % 10);
        }
    }
    volta_loader_release(loader);
    for (const int times : seen) assert_int_equal(times, 2);

    options.batches = VOLTA_BATCHES_FULL, options.order = VOLTA_ORDER_SEQUENTIAL, options.sample_limit = 40;
    loader = make_loader(set.dataset, options);
    for (uint64_t i = 0; i < 4; ++i) {
        const volta_batch batch = next(loader);
        assert_int_equal(batch.batches_of_epoch, 2);  // 8 samples are left out
        assert_int_equal(batch.count, 16);
        assert_int_equal(batch.samples[15], i % 2 * 16 + 15);
    }
    volta_loader_release(loader);
}

// Nothing random, and bytes become floats: without options, v / 255.
void test_evaluation_leaves_out_what_is_random(void**) {
    const std::string records = cifar_records(50);
    const Set set(records);
    volta_transform_options transform = transform_named("mixup");
    volta_loader_options options = loader_options(&transform);
    options.order = VOLTA_ORDER_SEQUENTIAL, options.flags = VOLTA_LOADER_EVALUATE;
    volta_loader* loader = make_loader(set.dataset, options);
    const volta_batch batch = next(loader);
    assert_null(batch.weights);
    const auto byte = static_cast<float>(static_cast<unsigned char>(records[3073 + 1 + 1024 + 2 * 32 + 1]));
    const float centred = byte / 255.0f - 0.5f, should = centred / 2;
    assert_memory_equal(&should, batch.pixels + 3 * 840 + 840,
                        sizeof should);  // sample 1, green, from row 2, column 1
    volta_loader_release(loader);
    options.transform = nullptr;
    loader = make_loader(set.dataset, options);
    const volta_batch plain = next(loader);
    for (size_t i = 0; i < 3072; ++i)
        assert_true(plain.pixels[i] ==
                    static_cast<float>(static_cast<unsigned char>(records[1 + i])) / 255.0f);
    volta_loader_release(loader);
}

// Beta(a, a) has the mean 1/2 and the variance 1 / (8 a + 4).
void test_mixup_is_of_its_distribution(void**) {
    const Set set(cifar_records(50));
    for (const float a : {0.2f, 0.5f, 1.0f, 2.0f, 8.0f}) {
        volta_transform_options transform = VOLTA_TRANSFORM_OPTIONS_INIT;
        transform.mixup = a;
        volta_loader_options options = loader_options(&transform);
        options.batch = 50;
        volta_loader* loader = make_loader(set.dataset, options);
        double sum = 0, squares = 0, count = 0;
        for (int i = 0; i < 40; ++i) {
            const volta_batch batch = next(loader);
            for (uint32_t row = 0; row < batch.count; ++row) {
                const uint32_t partner = row + 1 == batch.count ? 0 : row + 1;
                const float* const weights = batch.weights + size_t{row} * 10;
                double total = 0;
                for (int k = 0; k < 10; ++k) total += static_cast<double>(weights[k]);
                assert_true(std::fabs(total - 1) < 1e-6);
                if (batch.labels[row] == batch.labels[partner]) continue;
                const double share = static_cast<double>(weights[batch.labels[row]]);
                sum += share, squares += share * share, ++count;
            }
        }
        volta_loader_release(loader);
        const double mean = sum / count, variance = squares / count - mean * mean, should = 1 / (8 * a + 4);
        if (std::fabs(mean - 0.5) > 0.04 || std::fabs(variance / should - 1) > 0.1)
            print_error("a %g: mean %g, variance %g of %g\n", static_cast<double>(a), mean, variance, should);
        assert_true(std::fabs(mean - 0.5) < 0.04 && std::fabs(variance / should - 1) < 0.1);
    }
}

struct Lines {
    std::vector<std::string> lines;
    static void add(void* user, volta_log_level, const char* line) {
        static_cast<Lines*>(user)->lines.push_back(line);
    }
};

void test_damaged_samples_stop_or_are_skipped(void**) {
    std::string records = cifar_records(10);
    for (const size_t bad : {3, 4, 9}) records[bad * 3073] = 77;
    Lines log;
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.log = Lines::add;
    options.log_user = &log;
    const Set set(records, &options);
    volta_loader_options o = VOLTA_LOADER_OPTIONS_INIT;
    o.batch = 5;
    for (const uint32_t threads : {0u, 3u}) {
        o.flags = threads == 0 ? uint32_t{VOLTA_LOADER_NO_THREADS} : 0;
        o.thread_count = threads;
        o.damaged = VOLTA_DAMAGED_STOP, o.batches = VOLTA_BATCHES_FULL;
        volta_loader* loader = make_loader(set.dataset, o);
        volta_batch batch = VOLTA_BATCH_INIT;
        for (int again = 0; again < 2; ++again) {
            assert_fails(volta_loader_next(loader, &batch), VOLTA_CORRUPT_MODEL, "record 3 of");
            assert_null(batch.pixels);
        }
        assert_ok(volta_loader_seek(loader, 0, 1));
        assert_fails(volta_loader_next(loader, &batch), VOLTA_CORRUPT_MODEL, "record 9 of");
        volta_loader_release(loader);
        assert_int_equal(log.lines.size(), 0);

        o.damaged = VOLTA_DAMAGED_SKIP;
        loader = make_loader(set.dataset, o);
        batch = next(loader);
        const uint64_t kFirst[] = {0, 1, 2, 5, 5},
                       kSecond[] = {5, 6, 7, 8, 0};  // the next good one stands in
        assert_memory_equal(batch.samples, kFirst, sizeof kFirst);
        assert_int_equal(batch.labels[3], 5);
        assert_int_equal(batch.skipped, 2);
        batch = next(loader);
        assert_memory_equal(batch.samples, kSecond, sizeof kSecond);
        assert_int_equal(batch.skipped, 1);
        volta_loader_release(loader);
        assert_int_equal(log.lines.size(), 3);
        assert_non_null(strstr(log.lines[0].c_str(), "skipped: record 3 of"));
        assert_non_null(strstr(log.lines[2].c_str(), "record 9 of"));

        o.batches = VOLTA_BATCHES_ALL;
        loader = make_loader(set.dataset, o);
        batch = next(loader);
        assert_int_equal(batch.count, 3);
        assert_int_equal(batch.skipped, 2);
        batch = next(loader);
        assert_int_equal(batch.count, 4);
        assert_memory_equal(batch.samples, kSecond, 4 * sizeof *kSecond);
        const float last = batch.pixels[3 * 3072 + 5],
                    should =
                        static_cast<float>(static_cast<unsigned char>(records[8 * 3073 + 1 + 5])) / 255.0f;
        assert_true(last == should);
        volta_loader_release(loader);

        // Rows move up over those that are left out.
        o.batch = 10;
        loader = make_loader(set.dataset, o);
        batch = next(loader);
        const uint64_t kGood[] = {0, 1, 2, 5, 6, 7, 8};
        assert_int_equal(batch.count, 7);
        assert_memory_equal(batch.samples, kGood, sizeof kGood);
        for (size_t row = 0; row < 7; ++row) {
            const char* const record = &records[kGood[row] * 3073];
            assert_int_equal(batch.labels[row], *record);
            const float pixel = static_cast<float>(static_cast<unsigned char>(record[1 + 5])) / 255.0f;
            assert_true(batch.pixels[row * 3072 + 5] == pixel);
        }
        volta_loader_release(loader);
        o.batch = 5;
        log.lines.clear();
    }
    for (size_t i = 0; i < 10; ++i) records[i * 3073] = 77;
    const Set bad(records);
    for (const volta_data_batches batches : {VOLTA_BATCHES_FULL, VOLTA_BATCHES_ALL}) {
        o.batches = batches;
        volta_loader* loader = make_loader(bad.dataset, o);
        volta_batch batch = VOLTA_BATCH_INIT;
        assert_fails(volta_loader_next(loader, &batch), VOLTA_CORRUPT_MODEL, "has label 77");
        volta_loader_release(loader);
    }
}

// Files of pictures of all sizes, some damaged.
void test_folders_of_pictures_load(void**) {
    const Folder folder;
    for (const char* name :
         {"rgb_420.jpg", "progressive.jpg", "grey.jpg", "rgb.png", "palette4.png", "interlaced.png"})
        write_file(folder / ("a/" + std::string(name)), read_file(file(name)));
    write_file(folder / "b/1.jpg", read_file(file("rgb_422.jpg")));
    write_file(folder / "b/2.jpg", read_file(file("cmyk.jpg")));
    volta_dataset* dataset = open_data(VOLTA_DATA_FOLDER, {folder.c_str()});
    volta_transform_options transform = transform_named("everything");
    volta_loader_options options = loader_options(&transform);
    options.batch = 4, options.damaged = VOLTA_DAMAGED_SKIP, options.batches = VOLTA_BATCHES_FULL;
    std::vector<Hashes> expected;
    for (const uint32_t threads : {1u, 4u}) {
        options.thread_count = threads;
        volta_loader* loader = make_loader(dataset, options);
        std::vector<Hashes> is;
        uint64_t skipped = 0;
        for (int i = 0; i < 6; ++i) {
            const volta_batch batch = next(loader);
            skipped += batch.skipped;
            is.push_back(hashes(batch, 2));
        }
        volta_loader_release(loader);
        assert_int_equal(skipped, 3);  // once an epoch
        if (threads == 1) expected = is;
        assert_true(is == expected);
    }
    options.damaged = VOLTA_DAMAGED_STOP, options.order = VOLTA_ORDER_SEQUENTIAL;
    volta_loader* loader = make_loader(dataset, options);
    next(loader);
    volta_batch batch = VOLTA_BATCH_INIT;
    assert_fails(volta_loader_next(loader, &batch), VOLTA_UNSUPPORTED, "b/2.jpg' is a CMYK picture");
    volta_loader_release(loader);
    transform = VOLTA_TRANSFORM_OPTIONS_INIT;
    volta_loader* none = nullptr;
    assert_fails(volta_loader_create(dataset, &options, &none), VOLTA_INVALID_ARGUMENT,
                 "the pictures differ in size");
    transform.height = transform.width = 15;
    loader = make_loader(dataset, options);
    assert_fails(volta_loader_next(loader, &batch), VOLTA_SHAPE_MISMATCH,
                 "a/interlaced.png': a picture of 13 x 11 pixels is smaller");
    volta_loader_release(loader);
    volta_dataset_release(dataset);
}

// The n-th allocation is refused, for every n: each call reports it or succeeds, a batch that failed comes
// with the next call, with its bits, and nothing is left behind.
void test_every_allocation_may_be_refused(void**) {
    const Folder folder;
    write_file(folder / "images/a/1.png", read_file(file("palette4.png")));
    write_file(folder / "images/a/2.jpg", read_file(file("rgb_420.jpg")));
    write_file(folder / "images/b/3.png", read_file(file("interlaced.png")));
    const std::string images = folder / "images";
    const volta_transform_options transform = transform_named("everything");
    volta_loader_options options = loader_options(&transform);
    options.batch = 3;
    uint64_t refusals = 0, most = 1;
    Hashes expected{};
    for (uint64_t n = 0; n <= most; ++n) {
        CountingHeap heap;
        heap.fail_at = n;
        volta_dataset_options own = VOLTA_DATASET_OPTIONS_INIT;
        own.allocator = &heap.allocator;
        volta_dataset* dataset = nullptr;
        volta_loader* loader = nullptr;
        const char* paths[] = {images.c_str()};
        volta_status status = volta_dataset_open(VOLTA_DATA_FOLDER, paths, 1, &own, &dataset);
        if (status == VOLTA_OK) status = volta_loader_create(dataset, &options, &loader);
        volta_batch batch = VOLTA_BATCH_INIT;
        for (int i = 0; i < 2 && loader != nullptr; ++i) {
            status = volta_loader_next(loader, &batch);
            if (status == VOLTA_OUT_OF_MEMORY) {
                ++refusals;
                assert_non_null(strstr(volta_data_last_error(), "the host allocator returned NULL for "));
                assert_ok(volta_loader_next(loader, &batch));  // the heap has room again
            } else {
                assert_int_equal(status, VOLTA_OK);
            }
            if (i == 0 && n == 0) expected = hashes(batch, 2);
            if (i == 0) assert_true(hashes(batch, 2) == expected);
        }
        const bool gave_up = status == VOLTA_OUT_OF_MEMORY;
        if (loader == nullptr) assert_true(gave_up && ++refusals > 0);
        volta_loader_release(loader);
        volta_dataset_release(dataset);
        if (n == 0) most = heap.count;
        assert_int_equal(heap.live, 0);
    }
    assert_in_range(refusals, most / 2, most);  // what a thread allocates may not be there yet at the end
}

// After the largest picture has been seen nothing is allocated.
void test_steady_loading_allocates_nothing(void**) {
    CountingHeap heap;
    volta_dataset_options own = VOLTA_DATASET_OPTIONS_INIT;
    own.allocator = &heap.allocator;
    const Set set(cifar_records(50), &own);
    const volta_transform_options transform = transform_named("everything");
    volta_loader_options options = loader_options(&transform);
    options.flags = VOLTA_LOADER_NO_THREADS;
    volta_loader* loader = make_loader(set.dataset, options);
    for (int i = 0; i < 40; ++i) next(loader);  // crops have many sizes
    const uint64_t before = heap.count;
    for (int i = 0; i < 40; ++i) next(loader);
    assert_int_equal(heap.count, before);
    volta_loader_release(loader);
}

void test_a_forked_child_goes_on_alone(void**) {
    const Set set(cifar_records(50));
    const volta_transform_options transform = transform_named("everything");
    volta_loader_options options = loader_options(&transform);
    options.thread_count = 3;
    volta_loader* loader = make_loader(set.dataset, options);
    const std::vector<Hashes> expected = run(loader);
    for (int i = 0; i < 5; ++i) {
        assert_ok(volta_loader_seek(loader, 0, 0));
        next(loader);  // threads are in the middle of others
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            bool same = true;
            volta_batch batch = VOLTA_BATCH_INIT;
            for (size_t at = 1; at < 6; ++at)
                same = same && volta_loader_next(loader, &batch) == VOLTA_OK && hashes(batch) == expected[at];
            volta_loader_release(loader);
            _exit(same ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    volta_loader_release(loader);
}

// Released while threads load, and while a batch is lent; the data set first.
void test_ends_at_any_moment(void**) {
    const std::string records = cifar_records(50);
    for (int i = 0; i < 30; ++i) {
        Folder folder;
        write_file(folder / "a.bin", records);
        volta_dataset* dataset = open_data(VOLTA_DATA_CIFAR10, {(folder / "a.bin").c_str()});
        volta_loader_options options = loader_options(nullptr);
        options.thread_count = 4, options.batch = 1 + static_cast<uint32_t>(i), options.queue = 3;
        volta_loader* loader = make_loader(dataset, options);
        volta_dataset_release(dataset);
        for (int k = 0; k < i % 5; ++k) next(loader);
        if (i % 3 == 0) assert_ok(volta_loader_seek(loader, static_cast<uint64_t>(i), 0));
        volta_loader_release(loader);
    }
    volta_loader_release(nullptr);
}

// What threads were at when the loader was told to go on elsewhere is in no batch.
void test_seeks_while_threads_load(void**) {
    const Set set(cifar_records(60));
    volta_transform_options transform = transform_named("everything");
    volta_loader_options options = loader_options(&transform);
    options.batch = 6, options.flags = VOLTA_LOADER_NO_THREADS;
    volta_loader* loader = make_loader(set.dataset, options);
    std::vector<Hashes> expected(10);
    for (Hashes& batch : expected) batch = hashes(next(loader));
    volta_loader_release(loader);
    options.flags = 0, options.thread_count = 4, options.queue = 4;
    loader = make_loader(set.dataset, options);
    for (uint64_t i = 0; i < 400; ++i) {
        const uint64_t at = i * 7 % 10;
        assert_ok(volta_loader_seek(loader, 0, at));
        for (uint64_t k = at; k < std::min<uint64_t>(10, at + i % 3); ++k)
            assert_true(hashes(next(loader)) == expected[k]);
    }
    volta_loader_release(loader);
}

void test_options_are_checked(void**) {
    const Set set(cifar_records(5));
    const auto refused = [&](const char* part,
                             void (*change)(volta_loader_options&, volta_transform_options&)) {
        volta_transform_options transform = VOLTA_TRANSFORM_OPTIONS_INIT;
        volta_loader_options options = VOLTA_LOADER_OPTIONS_INIT;
        options.transform = &transform, options.batch = 5;
        change(options, transform);
        volta_loader* loader = nullptr;
        assert_fails(volta_loader_create(set.dataset, &options, &loader), VOLTA_INVALID_ARGUMENT, part);
        assert_null(loader);
    };
    using L = volta_loader_options;
    using T = volta_transform_options;
    refused("batch is 70000, at most 65536 is possible", [](L& l, T&) { l.batch = 70000; });
    refused("a batch of 6 samples is never full: there are 5", [](L& l, T&) { l.batch = 6; });
    refused("a batch of 5 samples is never full: there are 4", [](L& l, T&) { l.sample_limit = 4; });
    refused("thread_count is 257", [](L& l, T&) { l.thread_count = 257; });
    refused("queue is 257", [](L& l, T&) { l.queue = 257; });
    refused("order is 2", [](L& l, T&) { l.order = 2; });
    refused("batches is -1", [](L& l, T&) { l.batches = -1; });
    refused("damaged is 2", [](L& l, T&) { l.damaged = 2; });
    refused("flags is 4", [](L& l, T&) { l.flags = 4; });
    refused("reserved is 1", [](L& l, T&) { l.reserved = 1; });
    refused("volta_loader_options.struct_size is 20, which ends within the field seed",
            [](L& l, T&) { l.struct_size = 20; });
    refused("channels is 2, neither 1 nor 3", [](L&, T& t) { t.channels = 2; });
    refused("height is 3 and width is 0: both are 0 or neither", [](L&, T& t) { t.height = 3; });
    refused("resize is 8, which needs height and width", [](L&, T& t) { t.resize = 8; });
    refused("at most 65536 are possible", [](L&, T& t) { t.height = t.width = 65537; });
    refused("are more than the limit of 67108864", [](L&, T& t) { t.height = t.width = 60000; });
    refused("filter is 3", [](L&, T& t) { t.filter = 3; });
    refused("mean[1] is not finite", [](L&, T& t) { t.mean[1] = NAN; });
    refused("deviation[2] is -1, not above 0", [](L&, T& t) { t.deviation[2] = -1; });
    refused("random_crop is 2", [](L&, T& t) { t.random_crop = 2; });
    refused("random_resized_crop is -1", [](L&, T& t) { t.random_resized_crop = -1; });
    refused("exclude each other", [](L&, T& t) { t.random_crop = t.random_resized_crop = 1; });
    refused("crop_padding is 4 without random_crop", [](L&, T& t) { t.crop_padding = 4; });
    refused("crop_padding is 5000", [](L&, T& t) { t.random_crop = 1, t.crop_padding = 5000; });
    refused("area_min is 2, not between", [](L&, T& t) { t.area_min = 2; });
    refused("area_max is 0.01, not between 0.08 and 1", [](L&, T& t) { t.area_max = 0.01f; });
    refused("ratio_max is 0.5, not between 0.75 and 1000", [](L&, T& t) { t.ratio_max = 0.5f; });
    refused("flip is 1.5, not between 0 and 1", [](L&, T& t) { t.flip = 1.5f; });
    refused("flip is nan, not between 0 and 1", [](L&, T& t) { t.flip = NAN; });
    refused("brightness is -0.5", [](L&, T& t) { t.brightness = -0.5f; });
    refused("contrast is 2", [](L&, T& t) { t.contrast = 2; });
    refused("saturation is inf", [](L&, T& t) { t.saturation = INFINITY; });
    refused("mixup is 0.001", [](L&, T& t) { t.mixup = 0.001f; });
    refused("cutout is 70000", [](L&, T& t) { t.cutout = 70000; });
    volta_loader_options options = VOLTA_LOADER_OPTIONS_INIT;
    options.batch = 2;
    volta_loader* loader = make_loader(set.dataset, options);
    assert_fails(volta_loader_seek(loader, 0, 2), VOLTA_INVALID_ARGUMENT, "batch is 2, and an epoch has 2");
    assert_fails(volta_loader_seek(loader, uint64_t{1} << 32, 0), VOLTA_INVALID_ARGUMENT,
                 "at most 4294967295 is possible");
    assert_ok(volta_loader_seek(loader, UINT32_MAX, 1));
    next(loader);
    volta_batch batch = VOLTA_BATCH_INIT;
    assert_fails(volta_loader_next(loader, &batch), VOLTA_INVALID_STATE, "the last epoch");
    uint64_t epoch, number;
    assert_fails(volta_loader_get_position(nullptr, &epoch, &number), VOLTA_INVALID_ARGUMENT,
                 "loader is NULL");
    assert_fails(volta_loader_next(nullptr, &batch), VOLTA_INVALID_ARGUMENT, "loader is NULL");
    volta_loader_release(loader);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_are_what_the_page_says),
        cmocka_unit_test(test_one_result_for_threads_queues_and_places),
        cmocka_unit_test(test_the_hosts_rounding_changes_nothing),
        cmocka_unit_test(test_every_sample_once_an_epoch),
        cmocka_unit_test(test_evaluation_leaves_out_what_is_random),
        cmocka_unit_test(test_mixup_is_of_its_distribution),
        cmocka_unit_test(test_damaged_samples_stop_or_are_skipped),
        cmocka_unit_test(test_folders_of_pictures_load),
        cmocka_unit_test(test_every_allocation_may_be_refused),
        cmocka_unit_test(test_steady_loading_allocates_nothing),
        cmocka_unit_test(test_a_forked_child_goes_on_alone),
        cmocka_unit_test(test_ends_at_any_moment),
        cmocka_unit_test(test_seeks_while_threads_load),
        cmocka_unit_test(test_options_are_checked),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
