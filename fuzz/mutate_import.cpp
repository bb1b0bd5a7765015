// Changes files in many ways and hands each to the fuzz target it is linked with: what libFuzzer does,
// without clang and with a count instead of a time.  mutate_import COUNT SEED FILE-OR-FOLDER... A crash, or a
// file that takes two minutes, leaves its input in /tmp/mutate_import_<pid>. A target with a mutator of its
// own (tests/model/model_mutator.cpp) makes most of the changes itself.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "fuzz/random.h"

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                     unsigned seed);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);  // libFuzzer's own, for that one
}

namespace {

using Bytes = std::string;

Bytes current;  // what is being tried, for the signal handler

void keep_input(int number) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/mutate_import_%d", static_cast<int>(getpid()));
    FILE* file = fopen(path, "wb");
    if (file != nullptr && fwrite(current.data(), 1, current.size(), file) == current.size() &&
        fclose(file) == 0)
        fprintf(stderr, "the input is in %s\n", path);
    signal(number, SIG_DFL);
    raise(number);
}

constexpr uint64_t kNumbers[] = {0,
                                 1,
                                 2,
                                 3,
                                 4,
                                 8,
                                 31,
                                 32,
                                 33,
                                 127,
                                 128,
                                 255,
                                 256,
                                 512,
                                 65535,
                                 65536,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 uint64_t{1} << 32,
                                 uint64_t{1} << 61,
                                 uint64_t{1} << 62,
                                 uint64_t{1} << 63,
                                 UINT64_MAX};
constexpr const char* kWords[] = {"\"",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  ",",
                                  ":",
                                  "-1",
                                  "1e400",
                                  "null",
                                  "[[[[[[[[[[[[[[[[[[[[",
                                  "18446744073709551615",
                                  "18446744073709551616",
                                  "\"dtype\"",
                                  "\"shape\"",
                                  "\"data_offsets\"",
                                  "\"__metadata__\"",
                                  "\"F16\"",
                                  "\"F64\"",
                                  "\"a\":1,",
                                  "\xff",
                                  "\\u0000",
                                  "lm_head.weight",
                                  " = ",
                                  "%d",
                                  ":q",
                                  "\n",
                                  "\"model_type\": \"llama\",",
                                  "transformer."};

void mutate_once(Bytes& bytes, const std::vector<Bytes>& seeds, Random& random) {
    if (bytes.empty()) bytes = seeds[random.below(seeds.size())];
    // Headers are where decisions are: half of all changes are made in the first 256 bytes.
    const size_t reach = random.below(2) == 0 && bytes.size() > 256 ? 256 : bytes.size();
    const size_t at = random.below(reach);
    switch (random.below(9)) {
        case 0:
            bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
            break;
        case 1:
            bytes[at] = static_cast<char>(random.next());
            break;
        case 2:
            bytes.erase(at, 1 + random.below(16));
            break;
        case 3:
            bytes.insert(at, bytes.substr(random.below(bytes.size()), 1 + random.below(64)));
            break;
        case 4:
            bytes.resize(at);
            break;
        case 5: {
            const uint64_t number = kNumbers[random.below(sizeof kNumbers / sizeof *kNumbers)];
            const size_t width = random.below(2) == 0 ? 4 : 8;
            const size_t place = at / 4 * 4;
            if (place + width <= bytes.size()) memcpy(&bytes[place], &number, width);
            break;
        }
        case 6:
            bytes.insert(at, kWords[random.below(sizeof kWords / sizeof *kWords)]);
            break;
        case 7: {  // a digit of a text
            const size_t digit = bytes.find_first_of("0123456789", at);
            if (digit != Bytes::npos) bytes[digit] = static_cast<char>('0' + random.below(10));
            break;
        }
        default: {
            const Bytes& other = seeds[random.below(seeds.size())];
            bytes.replace(at, Bytes::npos, other, random.below(other.size()), Bytes::npos);
        }
    }
}

// After a change of its length a header would end at the wrong place, and nothing behind that be reached.
void mend_header(Bytes& bytes, const Bytes& seed) {
    if (seed.size() < 9 || seed[8] != '{' || bytes.size() < 9) return;
    uint64_t length;
    memcpy(&length, seed.data(), 8);
    const size_t data = seed.size() - 8 - static_cast<size_t>(length);
    if (bytes.size() < 8 + data) return;
    length = bytes.size() - 8 - data;
    memcpy(&bytes[0], &length, 8);
}

constexpr size_t kMostBytes = size_t{1} << 20;

void mutate(Bytes& bytes, const std::vector<Bytes>& seeds, Random& random) {
    for (size_t changes = 1 + random.below(4); changes > 0; --changes) {
        if (LLVMFuzzerCustomMutator == nullptr || random.below(8) == 0) {
            mutate_once(bytes, seeds, random);
            continue;
        }
        const size_t size = bytes.size();
        bytes.resize(kMostBytes);
        bytes.resize(LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t*>(&bytes[0]), size, kMostBytes,
                                             static_cast<unsigned>(random.next())));
        return;
    }
}

bool read_seeds(const std::string& path, std::vector<Bytes>& seeds) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return perror(path.c_str()), false;
    if (S_ISDIR(status.st_mode)) {
        DIR* folder = opendir(path.c_str());
        if (folder == nullptr) return perror(path.c_str()), false;
        bool fine = true;
        while (const dirent* entry = readdir(folder))
            if (entry->d_name[0] != '.') fine = read_seeds(path + "/" + entry->d_name, seeds) && fine;
        closedir(folder);
        return fine;
    }
    if (static_cast<size_t>(status.st_size) > kMostBytes / 2) return true;
    FILE* file = fopen(path.c_str(), "rb");
    if (file == nullptr) return perror(path.c_str()), false;
    Bytes bytes(static_cast<size_t>(status.st_size), '\0');
    const bool whole = fread(&bytes[0], 1, bytes.size(), file) == bytes.size();
    fclose(file);
    seeds.push_back(bytes);
    return whole;
}

size_t peak_bytes() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

// A sanitizer's own books grow with everything that was ever allocated.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCountsMemory = false;
#else
constexpr bool kCountsMemory = true;
#endif

// A file that never comes to an end is a finding too.
void try_current() {
    alarm(120);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current.data()), current.size());
}

}  // namespace

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
    static Random random(1);
    static const std::vector<Bytes> kOthers = {Bytes(64, '\0'), Bytes(64, '\xff')};
    Bytes bytes(reinterpret_cast<const char*>(data), size);
    mutate_once(bytes, kOthers, random);
    if (bytes.size() > max_size) bytes.resize(max_size);
    std::copy_n(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), data);
    return bytes.size();
}

int main(int count, char** arguments) {
    std::vector<Bytes> seeds;
    bool fine = count > 3;
    for (int i = 3; i < count; ++i) fine = read_seeds(arguments[i], seeds) && fine;
    if (!fine || seeds.empty())
        return fprintf(stderr, "usage: mutate_import COUNT SEED FILE-OR-FOLDER...\n"), 2;
    signal(SIGABRT, keep_input);
    signal(SIGSEGV, keep_input);
    signal(SIGBUS, keep_input);
    signal(SIGFPE, keep_input);
    signal(SIGILL, keep_input);
    signal(SIGALRM, keep_input);
    size_t largest = 0;
    for (const Bytes& seed : seeds) {
        current = seed;
        try_current();
        largest = seed.size() > largest ? seed.size() : largest;
    }
    const size_t before = peak_bytes();
    Random random(strtoull(arguments[2], nullptr, 10));
    const long runs = strtol(arguments[1], nullptr, 10);
    for (long run = 0; run < runs; ++run) {
        const Bytes& seed = seeds[random.below(seeds.size())];
        current = seed;
        mutate(current, seeds, random);
        if (random.below(4) != 0) mend_header(current, seed);
        try_current();
        largest = current.size() > largest ? current.size() : largest;
    }
    const size_t after = peak_bytes(), most = before + 2 * largest + (size_t{64} << 20);
    printf("%ld files of at most %zu bytes, peak memory %zu MiB\n", runs, largest, after >> 20);
    if (kCountsMemory && after > most)
        return fprintf(stderr, "memory grew from %zu to %zu bytes\n", before, after), 1;
    return 0;
}
