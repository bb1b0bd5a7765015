// Any bytes as adapters, through the public header: a model on a small base or a reason, within
// fuzz/limits.h; a model is saved, merged, and handed to PEFT. FUZZ_ADAPTER says what the bytes
// are: 1 a file of Volta's, 2 PEFT's adapter_model.safetensors beside a sound config, 3 its
// adapter_config.json beside sound tensors.
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <string>

#include "fuzz/files.h"
#include "fuzz/limits.h"

namespace {
using fuzz::expect;

// The corpus has adapters on this one.
volta_model* make_base() {
    volta_llama_options llama = {};
    llama.struct_size = sizeof llama;
    llama.vocabulary = 5;
    llama.layers = llama.heads = 2;
    llama.kv_heads = 1;
    llama.dim = 4;
    llama.hidden = 6;
    llama.context = 3;
    volta_model* model = nullptr;
    expect(volta_model_create_llama(fuzz::context(), &llama, 2, &model) == VOLTA_OK, "llama");
    return model;
}

std::string make_folder(const char* name) {
    std::string path = fuzz::folder() + "/" + name;
    expect(mkdir(path.c_str(), 0777) == 0, "mkdir");
    return path;
}

struct World {
    volta_model* base = make_base();
    std::string given = make_folder("given"), exported = make_folder("exported");
    World() {
        volta_lora_options lora = {};
        lora.struct_size = sizeof lora;
        lora.rank = 2;
        lora.targets = "q+o";
        volta_model* model = nullptr;
        expect(volta_model_add_lora(base, &lora, &model) == VOLTA_OK, "add_lora");
        expect(volta_model_export_peft(model, given.c_str()) == VOLTA_OK, "export_peft");
        volta_model_release(model);
    }
};

void use(const volta_model* model, const World& world) {
    char hash[33];
    const std::string file = fuzz::folder() + "/saved";
    expect(volta_model_hash(model, hash) == VOLTA_OK, "hash");
    expect(volta_model_save(model, file.c_str()) == VOLTA_OK, "save");
    volta_model* again = nullptr;
    expect(volta_model_open_adapter(world.base, file.c_str(), nullptr, &again) == VOLTA_OK, "open again");
    char other[33];
    expect(volta_model_hash(again, other) == VOLTA_OK && strcmp(hash, other) == 0, "another hash");
    volta_model_release(again);
    double difference = 0;
    volta_model* merged = nullptr;
    expect(volta_model_merge_adapter(model, &difference, &merged) == VOLTA_OK, "merge");
    volta_model_release(merged);
    const volta_status status = volta_model_export_peft(model, world.exported.c_str());
    expect(status == VOLTA_OK || status == VOLTA_UNSUPPORTED, "export_peft");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const World world;
    static const std::string own = fuzz::folder() + "/adapter";
    constexpr bool is_own = FUZZ_ADAPTER == 1;
    const std::string path = is_own              ? own
                             : FUZZ_ADAPTER == 2 ? world.given + "/adapter_model.safetensors"
                                                 : world.given + "/adapter_config.json";
    fuzz::write_file(path, data, size);
    const fuzz::Limits limits(size + 4096);
    volta_model* model = nullptr;
    const volta_status status = is_own ? volta_model_open_adapter(world.base, path.c_str(), nullptr, &model)
                                       : volta_model_import_peft(world.base, world.given.c_str(), &model);
    limits.check_time();
    fuzz::expect_status(status, model != nullptr);
    expect(status == VOLTA_OK || status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED ||
               status == VOLTA_IO_ERROR || (status == VOLTA_INVALID_ARGUMENT && is_own),
           "another status");
    fuzz::limit += size_t{64} << 20;  // what is done with a model has memory of its own
    if (model != nullptr) use(model, world);
    volta_model_release(model);
    return 0;
}
