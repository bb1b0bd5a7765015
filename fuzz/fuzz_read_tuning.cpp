// Any bytes as a tuning file, through the public header: a context that is given the folder must start all
// the same, with one line of the log where the file is not used. "@CPU@" stands for this processor's
// signature, so that the corpus gets past the check of it.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "include/volta.h"

namespace {

void expect(bool condition, const char* what) {
    if (condition) return;
    fprintf(stderr, "%s: %s\n", what, volta_last_error());
    abort();
}

int lines = 0;

volta_context* open_context(const std::string& folder) {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.thread_count = 1;
    options.isa = VOLTA_ISA_SCALAR;
    options.tuning_folder = folder.c_str();
    options.log = [](void*, volta_log_level, const char* line) {
        ++lines;
        expect(strstr(line, "is ignored: ") != nullptr, line);
    };
    volta_context* context = nullptr;
    expect(volta_context_create(&options, &context) == VOLTA_OK,
           "a tuning file kept a context from starting");
    return context;
}

// The folder, with the file's path and the signature that its name is.
struct Place {
    std::string folder, path, signature;
};

// The library says where: it writes a file for one small product, and that file is then replaced.
Place make_place() {
    char name[] = "/tmp/fuzz_tuning_XXXXXX";
    Place place;
    place.folder = mkdtemp(name);
    volta_context* context = open_context(place.folder);
    const volta_tune_shape shape = {2, 2, 2, 0, 0, 0, 0, 0};
    volta_tune_options options = {};
    options.struct_size = sizeof options;
    options.shapes = &shape;
    options.shape_count = 1;
    options.runs = 1;
    options.seconds = 0.001;
    expect(volta_tune(context, &options) == VOLTA_OK, "volta_tune");
    volta_context_release(context);
    DIR* listing = opendir(place.folder.c_str());
    while (const dirent* entry = readdir(listing)) {
        const std::string file = entry->d_name;
        if (file.size() < 6 || file.substr(file.size() - 5) != ".json") continue;
        place.path = place.folder + "/" + file;
        place.signature = file.substr(0, file.size() - 5);
    }
    closedir(listing);
    expect(!place.path.empty(), "no tuning file");
    return place;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Place place = make_place();
    std::string text(reinterpret_cast<const char*>(data), size);
    const size_t at = text.find("@CPU@");
    if (at != std::string::npos) text.replace(at, 5, place.signature);
    FILE* file = fopen(place.path.c_str(), "wb");
    expect(file != nullptr && fwrite(text.data(), 1, text.size(), file) == text.size() && fclose(file) == 0,
           "the file could not be written");
    lines = 0;
    volta_context_release(open_context(place.folder));
    expect(lines <= 1, "more than one line for one file");
    return 0;
}
