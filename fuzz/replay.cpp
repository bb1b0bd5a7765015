// Runs files through a fuzz target without libFuzzer: any compiler, any sanitizer, a debugger.
//     replay_read_model FILE-OR-FOLDER...
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

int replayed = 0;

bool replay_file(const std::string& path) {
    FILE* file = fopen(path.c_str(), "rb");
    if (file == nullptr) return perror(path.c_str()), false;
    std::vector<uint8_t> bytes;
    uint8_t block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        bytes.insert(bytes.end(), block, block + n);
    fclose(file);
    fprintf(stderr, "%s\n", path.c_str());  // the last line before a crash names the file
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++replayed;
    return true;
}

bool replay(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return perror(path.c_str()), false;
    if (!S_ISDIR(status.st_mode)) return replay_file(path);
    DIR* folder = opendir(path.c_str());
    if (folder == nullptr) return perror(path.c_str()), false;
    bool fine = true;
    while (const dirent* entry = readdir(folder))
        if (entry->d_name[0] != '.') fine = replay(path + "/" + entry->d_name) && fine;
    closedir(folder);
    return fine;
}

}  // namespace

int main(int count, char** arguments) {
    bool fine = count > 1;
    for (int i = 1; i < count; ++i) fine = replay(arguments[i]) && fine;
    printf("%d files replayed\n", replayed);
    return fine && replayed > 0 ? 0 : 1;
}
