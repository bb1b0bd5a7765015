// Networks of pictures as PyTorch writes them become the models that create_network would have made of the
// same numbers, and go out by the same names.
#include "engine/import/export_config.h"
#include "engine/import/export_safetensors.h"
#include "engine/import/import_model.h"
#include "tests/import/gpt_files.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/errors.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

// Of every network, as small as it can be.
NetworkConfig small(const Network& network) {
    NetworkConfig config;
    config.network = &network;
    config.classes = 7;
    config.rows = 12;
    config.columns = 9;
    config.stem = Stem::small;
    if (network.has_width) config.width = 0.25;
    return config;
}

struct Fixture {
    explicit Fixture(const Network& network) : config(small(network)) {
        model = create_network(config, 5, heap.structures(), heap.tensors());
        scatter(*model);
        options.network = config;
    }
    // The state dict: each norm's count of batches is there as well.
    std::string write(const std::string& before = "", const std::string& left_out = "") {
        SafetensorsWriter writer;
        for (const NamedTensor& parameter : model->parameters) {
            const std::string name(parameter.name);
            if (name == left_out) continue;
            const Shape& shape = parameter.shape;
            const auto* const values = static_cast<const float*>(parameter.data);
            writer.add(before + name, {shape.extent, shape.extent + shape.rank},
                       {values, values + shape.elements()});
            const std::size_t at = name.find("running_mean");
            if (at != name.npos)
                writer.add(before + name.substr(0, at) + "num_batches_tracked", "I64", {},
                           bytes_of(std::vector<std::int64_t>{391}));
        }
        return folder.write("m.safetensors", writer.bytes());
    }
    HeapPtr<Model> import(const std::string& path) {
        return import_model(path.c_str(), options, heap.structures(), heap.tensors());
    }
    bool same(const Model& other) { return is_same_model(*model, other, heap.structures()); }

    TestHeap heap;
    TemporaryFolder folder;
    NetworkConfig config;
    ImportOptions options;
    HeapPtr<Model> model;
};

// One network for each way of naming: the last of an architecture, CIFAR's largest of the ResNets.
std::vector<const Network*> architectures() {
    std::vector<const Network*> found;
    for (const Network& network : all_networks()) {
        if (!found.empty() && std::strcmp(found.back()->architecture, network.architecture) == 0)
            found.pop_back();
        found.push_back(&network);
    }
    return found;
}

void test_a_bottleneck_is_known(void**) {
    Fixture fixture(find_network("resnet50"));  // a bottleneck's names
    assert_true(fixture.same(*fixture.import(fixture.write())));
}

void test_a_state_dict_is_the_model(void**) {
    for (const Network* network : architectures()) {
        Fixture fixture(*network);
        assert_true(fixture.same(*fixture.import(fixture.write())));
        assert_true(fixture.same(*fixture.import(fixture.write("module."))));  // of several devices
        fixture.options.network->classes = 0;                                  // as many as the file has
        assert_true(fixture.same(*fixture.import(fixture.write())));
    }
}

void test_what_goes_out_comes_in(void**) {
    for (const Network* network : architectures()) {
        Fixture fixture(*network);
        const std::string path = fixture.folder.file("own.safetensors");
        export_safetensors(*fixture.model, path.c_str(), fixture.heap.structures());
        fixture.options.network.reset();
        assert_true(fixture.same(*fixture.import(path)));
        fixture.options.network = fixture.config;
        const std::string text =
            "a " + std::string(network->name) + " is asked for, but the file says itself what it is";
        assert_failure(failure_of([&] { fixture.import(path); }), VOLTA_INVALID_ARGUMENT, text.c_str());
    }
}

void test_what_is_missing_is_named(void**) {
    for (const Network* network : architectures()) {
        Fixture fixture(*network);
        for (const std::string name : {network->classifier, fixture.model->parameters[0].name.c_str()})
            assert_failure(failure_of([&] { fixture.import(fixture.write("", name)); }), VOLTA_CORRUPT_MODEL,
                           ("'" + name + "'").c_str());
    }
}

void test_pictures_have_no_tokens(void**) {
    Fixture fixture(find_network("cnn"));
    const std::string vocabulary =
        fixture.folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
    fixture.options.tokenizer_path = vocabulary.c_str();
    assert_failure(failure_of([&] { fixture.import(fixture.write()); }), VOLTA_INVALID_ARGUMENT,
                   "a tokenizer is given, but the model reads no tokens");
}

// Hugging Face has no names for them, nor a config.
void test_networks_are_exported_by_their_own_names(void**) {
    Fixture fixture(find_network("cnn"));
    const std::string path = fixture.folder.file("m.safetensors");
    assert_failure(failure_of([&] {
                       export_hugging_face(*fixture.model, path.c_str(), nullptr, fixture.heap.structures());
                   }),
                   VOLTA_UNSUPPORTED,
                   "a cnn has no names of Hugging Face, but PyTorch's as its own: export it with them");
    assert_failure(failure_of([&] { config_json(fixture.config, fixture.heap.structures()); }),
                   VOLTA_UNSUPPORTED, "a network of pictures has no config of Hugging Face");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_state_dict_is_the_model),
        cmocka_unit_test(test_a_bottleneck_is_known),
        cmocka_unit_test(test_what_goes_out_comes_in),
        cmocka_unit_test(test_what_is_missing_is_named),
        cmocka_unit_test(test_pictures_have_no_tokens),
        cmocka_unit_test(test_networks_are_exported_by_their_own_names),
    };
    return cmocka_run_group_tests_name("import_network", tests, nullptr, nullptr);
}
