#include "cli/checkpoint_folder.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "cli/files.h"
#include "cli/support.h"
#include "cli/text.h"

namespace voltac {
namespace {

constexpr char kFirstWords[] = "volta parts ";

}  // namespace

std::string manifest_of(const std::string& path) { return path + "/volta.manifest"; }

bool is_checkpoint_folder(const std::string& path) {
    std::FILE* const file = std::fopen(manifest_of(path).c_str(), "rb");
    if (file == nullptr) return false;
    char bytes[sizeof kFirstWords - 1];
    const bool is_one = std::fread(bytes, 1, sizeof bytes, file) == sizeof bytes &&
                        std::memcmp(bytes, kFirstWords, sizeof bytes) == 0;
    std::fclose(file);
    return is_one;
}

PartsSummary read_parts_summary(const std::string& path) {
    const std::string text = read_text(manifest_of(path));
    unsigned long long bytes = 0, parts = 0;
    if (std::sscanf(text.c_str(), "volta parts 1\nbytes %llu\nparts %llu\n", &bytes, &parts) != 2)
        failure(manifest_of(path) + ": has changed while it was being read");
    return {bytes, parts};
}

std::uint64_t model_bytes(const std::string& path) {
    if (is_folder(path)) return read_parts_summary(path).bytes;
    struct stat file = {};
    stat(path.c_str(), &file);
    return static_cast<std::uint64_t>(file.st_size);
}

void check_folder_writable(const char* option, const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return check_writable(option, path);
    if (!S_ISDIR(info.st_mode)) failure(std::string(option) + ": '" + path + "' is a file, not a folder");
    check_writable(option, manifest_of(path));
}

std::string without_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

}  // namespace voltac
