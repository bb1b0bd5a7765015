// What the tests of volta_data.h share: its sentences in failures, an allocator that counts and refuses,
// files of their own, and the bytes and hashes of make_golden.py. They see the public headers and
// libvolta_data.so only.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "include/volta_data.h"
#include "tests/support/cmocka_cpp.h"

namespace volta::test {

// Fails the test with the library's sentence.
#define assert_ok(call)                                                                                \
    do {                                                                                               \
        const volta_status status_ = (call);                                                           \
        if (status_ != VOLTA_OK) print_error("%s: %d: %s\n", #call, status_, volta_data_last_error()); \
        assert_int_equal(status_, VOLTA_OK);                                                           \
    } while (0)

// The call must fail with this status and a sentence that has this part.
#define assert_fails(call, expected, part)                                                             \
    do {                                                                                               \
        const volta_status status_ = (call);                                                           \
        const bool right_ = status_ == (expected) && strstr(volta_data_last_error(), part) != nullptr; \
        if (!right_)                                                                                   \
            print_error("expected %d '%s', got %d '%s'\n", expected, part, status_,                    \
                        volta_data_last_error());                                                      \
        assert_true(right_);                                                                           \
    } while (0)

inline uint64_t fnv(const void* data, size_t bytes) {
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; ++i)
        value = (value ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
    return value;
}

inline std::string noise(size_t count, uint64_t seed) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<char>(seed >> 56);
    }
    return bytes;
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}
inline void write_file(const std::string& path, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// tests/data/files/NAME; tests run in the folder tests.
inline std::string file(const std::string& name) { return "data/files/" + name; }

// An empty folder of this test, which is removed at the end.
class Folder {
  public:
    Folder() {
        // In memory where there is such a place: some tests write thousands of files.
        char shared[] = "/dev/shm/volta_data_XXXXXX", plain[] = "/tmp/volta_data_XXXXXX";
        char* const name = access("/dev/shm", W_OK) == 0 ? shared : plain;
        if (mkdtemp(name) == nullptr) abort();
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const char* c_str() const { return path_.c_str(); }

  private:
    std::string path_;
};

// Counts what is held, and refuses allocation number fail_at (1 is the first; 0: never). Any thread.
struct CountingHeap {
    std::atomic<size_t> live{0};
    std::atomic<uint64_t> count{0};
    uint64_t fail_at = 0;
    volta_allocator allocator{
        [](void* user, size_t size, size_t alignment, volta_memory_kind) -> void* {
            auto& self = *static_cast<CountingHeap*>(user);
            void* memory = nullptr;
            if (++self.count == self.fail_at) return nullptr;
            if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0)
                return nullptr;
            self.live += size;
            return memory;
        },
        [](void* user, void* pointer, size_t size, size_t, volta_memory_kind) {
            static_cast<CountingHeap*>(user)->live -= size;
            free(pointer);
        },
        this};
};

inline volta_dataset* open_data(volta_data_format format, std::vector<const char*> paths,
                                const volta_dataset_options* options = nullptr) {
    volta_dataset* dataset = nullptr;
    assert_ok(volta_dataset_open(format, paths.data(), paths.size(), options, &dataset));
    return dataset;
}

inline volta_status try_open(volta_data_format format, std::vector<const char*> paths,
                             const volta_dataset_options* options = nullptr) {
    volta_dataset* dataset = nullptr;
    const volta_status status = volta_dataset_open(format, paths.data(), paths.size(), options, &dataset);
    if ((status == VOLTA_OK) != (dataset != nullptr)) abort();
    volta_dataset_release(dataset);
    return status;
}

inline volta_picture_info info_of(const volta_picture* picture) {
    volta_picture_info info = VOLTA_PICTURE_INFO_INIT;
    assert_ok(volta_picture_get_info(picture, &info));
    return info;
}

inline uint64_t hash_of(const volta_picture* picture) {
    const volta_picture_info info = info_of(picture);
    return fnv(info.pixels, size_t{info.channels} * info.height * info.width);
}

// The lines of golden.txt that begin with `kind`, word by word.
inline std::vector<std::vector<std::string>> golden(const std::string& kind) {
    std::vector<std::vector<std::string>> lines;
    std::ifstream text("data/golden.txt");
    for (std::string line; std::getline(text, line);) {
        std::vector<std::string> words(1);
        for (const char c : line)
            if (c == ' ')
                words.emplace_back();
            else
                words.back() += c;
        if (words[0] == kind) lines.push_back(words);
    }
    return lines;
}

inline std::string hex(uint64_t value) {
    char text[20];
    snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
}

inline volta_filter filter_of(const std::string& name) {
    return name == "bilinear"  ? VOLTA_FILTER_BILINEAR
           : name == "bicubic" ? VOLTA_FILTER_BICUBIC
                               : VOLTA_FILTER_BOX;
}

// Big-endian numbers and an IDX file of bytes.
inline std::string big(uint32_t value) {
    return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
            static_cast<char>(value)};
}
inline std::string idx(const std::vector<uint32_t>& extents, const std::string& elements) {
    std::string bytes = {0, 0, 8, static_cast<char>(extents.size())};
    for (const uint32_t extent : extents) bytes += big(extent);
    return bytes + elements;
}

// `count` records of CIFAR-10, labels i * 7 % 10, as make_golden.py has them.
inline std::string cifar_records(int count) {
    const std::string pixels = noise(static_cast<size_t>(count) * 3072, 5);
    std::string bytes;
    for (int i = 0; i < count; ++i) {
        bytes += static_cast<char>(i * 7 % 10);
        bytes += pixels.substr(static_cast<size_t>(i) * 3072, 3072);
    }
    return bytes;
}

}  // namespace volta::test
