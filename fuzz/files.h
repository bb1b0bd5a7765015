// Where a fuzz target puts the bytes that it is given, for functions that take a path.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "fuzz/limits.h"

namespace fuzz {

// A folder of this process's own, which goes with it. In memory where there is such a place: some files are
// flushed to their disk.
inline const std::string& folder() {
    static const struct Folder {
        Folder() {
            char shared[] = "/dev/shm/volta_fuzz_XXXXXX", plain[] = "/tmp/volta_fuzz_XXXXXX";
            char* const name = access("/dev/shm", W_OK) == 0 ? shared : plain;
            expect(mkdtemp(name) != nullptr, "mkdtemp");
            path = name;
        }
        ~Folder() {
            std::error_code ignored;
            std::filesystem::remove_all(path, ignored);
        }
        std::string path;
    } kFolder;
    return kFolder.path;
}

inline void write_file(const std::string& path, const void* data, size_t size) {
    FILE* file = fopen(path.c_str(), "wb");
    expect(file != nullptr && fwrite(data, 1, size, file) == size && fclose(file) == 0,
           "the file was not written");
}

}  // namespace fuzz
