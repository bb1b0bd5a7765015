// Any bytes as a file of named tensors, through the public header: volta_tensors_open must give all of them
// or a reason, within fuzz/limits.h; what it gives is printed, saved in every format and opened again with
// the same bits. One target per format: FUZZ_ENDING is what names of its files end with.
#include <stdint.h>
#include <string.h>

#include <string>
#include <vector>

#include "fuzz/files.h"
#include "fuzz/limits.h"

namespace {
using fuzz::expect;

volta_tensors* open_tensors(const std::string& path) {
    volta_tensors* tensors = nullptr;
    const volta_status status = volta_tensors_open(fuzz::context(), path.c_str(), &tensors);
    fuzz::expect_status(status, tensors != nullptr);
    expect(status == VOLTA_OK || status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED,
           "another status");
    return tensors;
}

void expect_same(volta_tensors* tensors, volta_tensors* again, bool has_names) {
    expect(again != nullptr && volta_tensors_count(tensors) == volta_tensors_count(again),
           "another number comes back");
    for (size_t i = 0; i < volta_tensors_count(tensors); ++i) {
        volta_comparison report = VOLTA_COMPARISON_INIT;
        const volta_status status = volta_tensor_compare(volta_tensors_tensor(tensors, i),
                                                         volta_tensors_tensor(again, i), 0, 0, &report);
        expect(status == VOLTA_OK && report.is_equal == 1, "other tensors come back");
        expect(!has_names || strcmp(volta_tensors_name(tensors, i), volta_tensors_name(again, i)) == 0,
               "other names come back");
    }
}

void check_saved(volta_tensors* tensors) {
    std::vector<const char*> names;
    std::vector<const volta_tensor*> handles;
    for (size_t i = 0; i < volta_tensors_count(tensors); ++i) {
        volta_tensor* const tensor = volta_tensors_tensor(tensors, i);
        const char* text = nullptr;
        // Text of many axes is long: what is drawn here is whether it can be printed at all.
        if (i < 4)
            expect(volta_tensor_print(tensor, &text) == VOLTA_OK && *text != '\0', "it is not printed");
        names.push_back(volta_tensors_name(tensors, i));
        handles.push_back(tensor);
    }
    for (const char* ending : {".safetensors", ".npz", ".npy"}) {
        const bool is_one = strcmp(ending, ".npy") == 0;
        if (is_one && handles.size() != 1) continue;
        const std::string path = fuzz::folder() + "/saved" + ending;
        const volta_status status =
            volta_tensors_save(fuzz::context(), path.c_str(), names.data(), handles.data(), handles.size());
        // A name of a .npz that a safetensors file has for its texts.
        if (status == VOLTA_INVALID_ARGUMENT && strstr(volta_last_error(), "__metadata__") != nullptr)
            continue;
        expect(status == VOLTA_OK, "what was read is not saved");
        volta_tensors* const again = open_tensors(path);
        expect_same(tensors, again, !is_one);
        volta_tensors_release(again);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::string path = fuzz::folder() + "/file" FUZZ_ENDING;
    fuzz::write_file(path, data, size);
    const fuzz::Limits limits(size);
    volta_tensors* const tensors = open_tensors(path);
    limits.check_time();
    fuzz::limit += size_t{64} << 20;  // what is done with tensors has memory of its own
    if (tensors != nullptr) check_saved(tensors);
    volta_tensors_release(tensors);
    return 0;
}
