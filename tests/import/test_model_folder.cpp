// A folder is a model: weights, config and tokenizer are found in it, and what is not there is said.
#include "engine/import/model_folder.h"

#include <unistd.h>

#include <cstdio>

#include "engine/import/import_model.h"
#include "tests/import/gpt_files.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr const char* kConfig = R"({"model_type": "gpt2", "n_head": 4})";
constexpr const char* kVocabulary = "[UNK]\nword\n##s\n";

struct Fixture {
    Fixture() : model(create_gpt(small_gpt(), 7, heap.structures(), heap.tensors())) {
        folder.write("config.json", kConfig);
        weights = safetensors_of(gpt2_tensors(*model, 2, "transformer."));
    }
    HeapPtr<Model> import(const ImportOptions& options = {}) {
        return import_model(folder.file("").c_str(), options, heap.structures(), heap.tensors());
    }
    Failure refusal(const ImportOptions& options = {}) {
        return failure_of([&] { import(options); });
    }
    void remove(const char* name) { assert_int_equal(unlink(folder.file(name).c_str()), 0); }
    TestHeap heap;
    TemporaryFolder folder;
    HeapPtr<Model> model;
    std::string weights;
};

void test_weights_and_tokenizer_are_found(void**) {
    Fixture fixture;
    fixture.folder.write("model.safetensors", fixture.weights);
    assert_false(fixture.import()->tokenizer.has_value());
    fixture.folder.write("vocab.txt", kVocabulary);
    const HeapPtr<Model> model = fixture.import();
    assert_true(is_same_model(*fixture.model, *model, fixture.heap.structures()));
    assert_int_equal(model->tokenizer.value().size(), 3);
    ImportOptions options;
    options.no_tokenizer = true;
    assert_false(fixture.import(options)->tokenizer.has_value());
    // Another name, as long as it is the only one; and a slash at the end or none.
    assert_int_equal(rename(fixture.folder.file("model.safetensors").c_str(),
                            fixture.folder.file("weights.safetensors").c_str()),
                     0);
    assert_true(is_same_model(*model, *fixture.import(), fixture.heap.structures()));
    assert_string_equal(path_in("a", "b", fixture.heap.structures()).c_str(), "a/b");
    assert_string_equal(path_in("a/", "b", fixture.heap.structures()).c_str(), "a/b");
}

void test_shards_are_found_by_their_index(void**) {
    Fixture fixture;
    fixture.folder.write("part.safetensors", fixture.weights);
    std::string map;
    for (const PlainTensor& tensor : gpt2_tensors(*fixture.model, 2, "transformer."))
        map += (map.empty() ? "\"" : ",\"") + tensor.name + "\":\"part.safetensors\"";
    fixture.folder.write("model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
    fixture.folder.write("other.safetensors", "which the index does not name");
    assert_true(is_same_model(*fixture.model, *fixture.import(), fixture.heap.structures()));
}

void test_the_first_tokenizer_of_several_counts(void**) {
    Fixture fixture;
    fixture.folder.write("model.safetensors", fixture.weights);
    fixture.folder.write("vocab.txt", kVocabulary);
    fixture.folder.write("merges.txt", "#version: 0.2\n");  // without vocab.json it is no pair
    assert_int_equal(fixture.import()->tokenizer.value().size(), 3);
    fixture.folder.write("tokenizer.json", "{\"model\": 3}");
    const Failure failure = fixture.refusal();
    assert_non_null(strstr(failure.text, "tokenizer.json"));
    assert_int_not_equal(failure.status, VOLTA_OK);
    // One that is named is taken instead.
    ImportOptions options;
    const std::string named = fixture.folder.file("vocab.txt");
    options.tokenizer_path = named.c_str();
    assert_int_equal(fixture.import(options)->tokenizer.value().size(), 3);
}

void test_what_is_missing_is_said(void**) {
    Fixture fixture;
    assert_failure(fixture.refusal(), VOLTA_UNSUPPORTED, "it is a folder without weights");
    fixture.folder.write("pytorch_model.bin", "PK");
    assert_failure(fixture.refusal(), VOLTA_UNSUPPORTED, "its weights are pytorch_model.bin, a pickle");
    fixture.folder.write("a.safetensors", fixture.weights);
    fixture.remove("config.json");
    assert_failure(fixture.refusal(), VOLTA_INVALID_ARGUMENT, "give a config");
    fixture.folder.write("config.json", kConfig);
    fixture.folder.write("b.safetensors", fixture.weights);
    assert_failure(fixture.refusal(), VOLTA_UNSUPPORTED, "but several other *.safetensors");
    ImportOptions options;
    options.format = WeightFormat::gguf;  // which is a file
    assert_failure(fixture.refusal(options), VOLTA_IO_ERROR, "it is a directory");
    options = {};
    options.tokenizer_path = "";
    assert_failure(fixture.refusal(options), VOLTA_INVALID_ARGUMENT, "the path of the tokenizer is empty");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_and_tokenizer_are_found),
        cmocka_unit_test(test_shards_are_found_by_their_index),
        cmocka_unit_test(test_the_first_tokenizer_of_several_counts),
        cmocka_unit_test(test_what_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
