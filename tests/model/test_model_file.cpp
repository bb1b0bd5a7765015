// Model files: what is saved loads as the same model, by every way of loading, and is saved again as the same
// bytes.
#include "engine/model/model_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/model/file_layout.h"
#include "engine/model/gpt.h"
#include "tests/model/expect_error.h"
#include "tests/model/fingerprint.h"
#include "tests/model/model_editor.h"
#include "tests/model/sample_models.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/elementwise_rows.h"

namespace {
using namespace volta;
using namespace volta::test;

using MakeModel = HeapPtr<Model> (*)(std::pmr::memory_resource*, std::pmr::memory_resource*);
const struct {
    const char* golden;
    MakeModel make;
} kSamples[] = {{"golden/models/gpt_v1.0.volta", make_golden_gpt},
                {"golden/models/graph_v1.0.volta", make_golden_graph},
                {"golden/models/bpe_v1.1.volta", make_golden_bpe},
                {"golden/models/spm_v1.1.volta", make_golden_spm},
                {"golden/models/wordpiece_v1.1.volta", make_golden_wordpiece},
                {"golden/models/bf16_v1.2.volta", make_golden_bf16},
                {"golden/models/f16_v1.2.volta", make_golden_f16},
                {"golden/models/int8_v1.2.volta", make_golden_int8},
                {"golden/models/int4_v1.2.volta", make_golden_int4},
                {"golden/models/repeatable_bf16_v1.3.volta", make_golden_repeatable_bf16},
                {"golden/models/fast_tf32_v1.3.volta", make_golden_fast_tf32},
                {"golden/models/stepped_bpe_v1.5.volta", make_golden_stepped_bpe},
                {"golden/models/unigram_v1.5.volta", make_golden_unigram},
                {"golden/models/sentencepiece_v1.5.volta", make_golden_sentencepiece},
                {"golden/models/f32_panels_v1.4.volta", make_golden_f32_panels}};

// A folder of this process's own, removed at the end.
class Folder {
  public:
    Folder() { made_ = mkdtemp(path_) != nullptr; }
    ~Folder() {
        for (const char* name : {"a", "b", "c", "link"}) unlink(file(name).c_str());
        if (made_) rmdir(path_);
    }
    std::string file(const char* name) const { return std::string(path_) + "/" + name; }

  private:
    char path_[32] = "/tmp/volta-model-XXXXXX";
    bool made_ = false;
};

void save(const Model& model, const std::string& path, TestHeap& heap) {
    SaveSource source;
    source.model = &model;
    write_model(source, path.c_str(), heap.structures());
}

HeapPtr<Model> open(const std::string& path, TestHeap& heap, LoadMode mode = LoadMode::map,
                    bool verify = false) {
    return read_model(path.c_str(), {mode, verify}, heap.structures(), heap.tensors());
}

std::string saved_bytes(const Model& model, TestHeap& heap) {
    const Folder folder;
    save(model, folder.file("a"), heap);
    return read_bytes(folder.file("a"));
}

void test_saved_loaded_saved_is_the_same(void**) {
    const Folder folder;
    for (const auto& sample : kSamples) {
        TestHeap heap;
        {
            const auto original = sample.make(heap.structures(), heap.tensors());
            const std::string expected = fingerprint(*original);
            save(*original, folder.file("a"), heap);
            const std::string bytes = read_bytes(folder.file("a"));
            for (const LoadMode mode : {LoadMode::map, LoadMode::copy})
                for (const bool verify : {false, true}) {
                    const auto loaded = open(folder.file("a"), heap, mode, verify);
                    assert_string_equal(fingerprint(*loaded).c_str(), expected.c_str());
                    save(*loaded, folder.file("b"), heap);
                    assert_true(read_bytes(folder.file("b")) == bytes);
                }
            Buffer aligned_copy(heap.tensors(), bytes.size());
            std::memcpy(aligned_copy.data(), bytes.data(), bytes.size());
            for (const LoadMode mode : {LoadMode::map, LoadMode::copy}) {
                const auto loaded = read_model(aligned_copy.data(), bytes.size(), {mode, false},
                                               heap.structures(), heap.tensors());
                assert_string_equal(fingerprint(*loaded).c_str(), expected.c_str());
                const auto* data = static_cast<const char*>(loaded->parameters[0].data);
                const auto* begin = static_cast<const char*>(aligned_copy.data());
                const bool is_inside = data >= begin && data < begin + bytes.size();
                assert_true(is_inside == (mode == LoadMode::map));
            }
        }
        assert_int_equal(heap.held, 0);
    }
}

// Names, inputs and attributes away from their defaults, which are not written.
void test_every_elementwise_operator_is_saved(void**) {
    const Folder folder;
    TestHeap heap;
    {
        Graph graph(heap.structures());
        const ValueId inputs[] = {graph.input("a", DType::f32, {-1, 3}),
                                  graph.input("b", DType::f32, {-1, 3})};
        graph.parameter("w", {1}, Init{});
        for (const Operands operands : {Operands::one, Operands::same_shape, Operands::broadcast})
            for (const OpRow* row : elementwise_rows(operands)) {
                std::vector<Attribute> attributes = example_attributes(*row);
                for (int i = 0; i < row->attribute_count; ++i)
                    if (!row->attributes[i].whole) attributes[static_cast<std::size_t>(i)].number *= 0.75;
                const ValueId y = graph.apply(row->op, inputs, row->min_inputs, attributes.data(),
                                              static_cast<int>(attributes.size()), Phase::each);
                graph.output(row->name, y);
            }
        const auto original = Model::create(graph, 7, heap.structures(), heap.tensors());
        save(*original, folder.file("a"), heap);
        const auto loaded = open(folder.file("a"), heap);
        assert_string_equal(fingerprint(*loaded).c_str(), fingerprint(*original).c_str());
    }
    assert_int_equal(heap.held, 0);
}

void test_every_tensor_is_aligned_and_borrowed(void**) {
    const Folder folder;
    TestHeap heap;
    save(*make_golden_gpt(heap.structures(), heap.tensors()), folder.file("a"), heap);
    const auto model = open(folder.file("a"), heap);
    for (const NamedTensor& parameter : model->parameters) {
        assert_int_equal(reinterpret_cast<std::uintptr_t>(parameter.data) % 64, 0);
        assert_null(parameter.owned.data());
    }
    for (const NamedTensor& tensor : model->training->tensors)
        assert_int_equal(reinterpret_cast<std::uintptr_t>(tensor.data) % 64, 0);
    float* own = model->mutable_parameter(0);  // the mapping is read-only: writing needs the copy
    own[0] = 5;
    const auto again = open(folder.file("a"), heap);
    assert_true(static_cast<const float*>(again->parameters[0].data)[0] != 5);
}

// What was copied is the model's own already: it is written where it lies, and its neighbours stay.
void test_a_copied_file_is_written_in_place(void**) {
    const Folder folder;
    TestHeap heap;
    save(*make_golden_gpt(heap.structures(), heap.tensors()), folder.file("a"), heap);
    const auto model = open(folder.file("a"), heap, LoadMode::copy), same = open(folder.file("a"), heap);
    const long calls = heap.calls;
    for (std::size_t i = 0; i < model->parameters.size(); ++i) {
        const void* const before = model->parameters[i].data;
        assert_ptr_equal(model->mutable_parameter(i), before);
    }
    assert_int_equal(heap.calls, calls);
    model->mutable_parameter(1)[0] = 5;
    for (std::size_t i = 0; i < model->parameters.size(); ++i)
        assert_true((std::memcmp(model->parameters[i].data, same->parameters[i].data,
                                 model->parameters[i].bytes()) != 0) == (i == 1));
}

// These files are never changed: a release that cannot read them has broken its promise.
void test_golden_files_load_forever(void**) {
    for (const auto& sample : kSamples) {
        TestHeap heap;
        const auto made = sample.make(heap.structures(), heap.tensors());
        for (const LoadMode mode : {LoadMode::map, LoadMode::copy}) {
            const auto loaded = open(sample.golden, heap, mode, true);
            assert_string_equal(fingerprint(*loaded).c_str(), fingerprint(*made).c_str());
        }
    }
}

// Byte for byte what this library writes, but for the name of the library that wrote it.
void test_golden_files_are_written_the_same(void**) {
    for (const auto& sample : kSamples) {
        TestHeap heap;
        ModelEditor golden, written;
        const std::string bytes = saved_bytes(*open(sample.golden, heap), heap);
        const std::string golden_bytes = read_bytes(sample.golden);
        assert_true(take_apart(golden_bytes, &golden) && take_apart(bytes, &written));
        if (golden.model.producer == written.model.producer) assert_true(bytes == golden_bytes);
        golden.model.producer = written.model.producer;
        assert_true(put_together(golden) == put_together(written));
    }
}

void test_the_frame_is_the_documented_one(void**) {
    TestHeap heap;
    const auto model = make_golden_graph(heap.structures(), heap.tensors());
    const std::string bytes = saved_bytes(*model, heap);
    assert_memory_equal(bytes.data(), "VOLTA\0\r\n\1\0\0\0", 12);
    std::uint32_t length;
    std::memcpy(&length, bytes.data() + 12, sizeof length);
    const Hash128 hash = hash_bytes(bytes.data(), 16 + length);
    assert_memory_equal(bytes.data() + 16 + length, &hash.low, 8);
    assert_memory_equal(bytes.data() + 24 + length, &hash.high, 8);
    assert_memory_equal(bytes.data() + 16 + 4, "VLT1", 4);
    const std::size_t data = (32 + length + 63) / 64 * 64;
    assert_memory_equal(bytes.data() + data, model->parameters[0].data, 48);
    for (std::size_t i = data + 48; i < data + 64; ++i) assert_int_equal(bytes[i], 0);
    assert_memory_equal(bytes.data() + data + 64, model->parameters[1].data, 4);
}

void test_every_nan_is_one_nan(void**) {
    TestHeap heap;
    auto a = make_golden_gpt(heap.structures(), heap.tensors());
    auto b = make_golden_gpt(heap.structures(), heap.tensors());
    const std::uint32_t payloads[] = {0x7fc00000u, 0x7f800001u, 0xffffffffu};
    for (std::size_t i = 0; i < 3; ++i) {
        std::memcpy(a->mutable_parameter(0) + i, &payloads[i], 4);
        std::memcpy(b->mutable_parameter(0) + i, &payloads[0], 4);
    }
    assert_true(saved_bytes(*a, heap) == saved_bytes(*b, heap));
    const Folder folder;
    save(*a, folder.file("a"), heap);
    const auto loaded = open(folder.file("a"), heap, LoadMode::copy);
    assert_true(hash_parameters(*loaded, heap.structures()) == hash_parameters(*a, heap.structures()));
}

// What a trainer does: parameters and state from its own memory, the description from the model.
void test_a_save_may_take_tensors_from_elsewhere(void**) {
    const Folder folder;
    TestHeap heap;
    const auto model = make_golden_gpt(heap.structures(), heap.tensors());
    auto changed = make_golden_gpt(heap.structures(), heap.tensors());
    std::vector<const float*> parameters;
    for (std::size_t i = 0; i < changed->parameters.size(); ++i) {
        changed->mutable_parameter(i)[0] = static_cast<float>(i);
        parameters.push_back(static_cast<const float*>(changed->parameters[i].data));
    }
    changed->training->integers[1].value = 4;
    changed->training->numbers[0].value = 0.5;

    SaveSource source;
    source.model = &*model;
    source.parameters = parameters.data();
    source.training = &*changed->training;
    write_model(source, folder.file("a").c_str(), heap.structures());
    assert_string_equal(fingerprint(*open(folder.file("a"), heap)).c_str(), fingerprint(*changed).c_str());

    source.drop_training = true;
    write_model(source, folder.file("a").c_str(), heap.structures());
    changed->training.reset();
    assert_string_equal(fingerprint(*open(folder.file("a"), heap)).c_str(), fingerprint(*changed).c_str());
}

void test_a_mapped_file_may_be_saved_over(void**) {
    const Folder folder;
    TestHeap heap;
    save(*make_golden_gpt(heap.structures(), heap.tensors()), folder.file("a"), heap);
    auto model = open(folder.file("a"), heap);
    model->mutable_parameter(3)[0] = 17;
    const std::string expected = fingerprint(*model);
    save(*model, folder.file("a"), heap);
    assert_string_equal(fingerprint(*model).c_str(), expected.c_str());
    assert_string_equal(fingerprint(*open(folder.file("a"), heap)).c_str(), expected.c_str());
}

void test_checksums_are_compared_when_asked(void**) {
    const Folder folder;
    TestHeap heap;
    std::string bytes = saved_bytes(*make_golden_gpt(heap.structures(), heap.tensors()), heap);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_bytes(folder.file("a"), bytes);
    const auto status = [&](LoadMode mode, bool verify) {
        return failure_of([&] { open(folder.file("a"), heap, mode, verify); }).status;
    };
    assert_int_equal(status(LoadMode::map, false), VOLTA_OK);
    assert_int_equal(status(LoadMode::map, true), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(LoadMode::copy, false), VOLTA_CORRUPT_MODEL);
    assert_int_equal(status(LoadMode::copy, true), VOLTA_CORRUPT_MODEL);
}

// Resident pages of a mapping, in percent.
double resident_share(const unsigned char* data, std::size_t bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((bytes + page - 1) / page);
    if (mincore(const_cast<unsigned char*>(data), bytes, pages.data()) != 0) return 100;
    std::size_t count = 0;
    for (const unsigned char resident : pages) count += resident & 1;
    return 100.0 * static_cast<double>(count) / static_cast<double>(pages.size());
}

// 500 MB of parameters as a hole in a file: after a mapped open they are not in memory, so nobody has read
// them.
void test_a_large_file_opens_unread(void**) {
    const Folder folder;
    TestHeap heap;
    ModelEditor editor;
    const std::string golden = read_bytes(kSamples[1].golden);
    assert_true(take_apart(golden, &editor));
    editor.model.graph->nodes.erase(editor.model.graph->nodes.begin() + 5, editor.model.graph->nodes.end());
    editor.model.graph->outputs.clear();
    editor.model.tensors.resize(3);
    constexpr std::int64_t kRows = 131072 * 1000 / 4;
    editor.tensor("empty").shape = {kRows, 4};
    editor.node("empty").shape = {kRows, 4};
    editor.tensor("empty").bytes = kRows * 16;
    editor.model.data_bytes = editor.tensor("empty").offset + kRows * 16;
    editor.data.clear();
    const std::string head = put_together(editor);
    write_bytes(folder.file("a"), head);
    assert_int_equal(
        truncate(folder.file("a").c_str(), static_cast<off_t>(head.size() + editor.model.data_bytes)), 0);

    const auto model = open(folder.file("a"), heap);
    const double resident = resident_share(model->mapping.data(), model->mapping.bytes());
    print_message("%zu MB opened, %.2f %% of its pages resident\n", model->mapping.bytes() >> 20, resident);
    assert_true(model->mapping.bytes() > 500u << 20);
    assert_true(resident < 2);
}

void test_files_that_cannot_be_read_or_written(void**) {
    const Folder folder;
    TestHeap heap;
    const auto model = make_golden_graph(heap.structures(), heap.tensors());
    for (const LoadMode mode : {LoadMode::map, LoadMode::copy}) {
        assert_int_equal(failure_of([&] { open(folder.file("missing"), heap, mode); }).status,
                         VOLTA_IO_ERROR);
        assert_int_equal(failure_of([&] { open("/tmp", heap, mode); }).status, VOLTA_IO_ERROR);
        assert_int_equal(failure_of([&] { open("/dev/zero", heap, mode); }).status, VOLTA_IO_ERROR);
        assert_int_equal(failure_of([&] { open("/dev/null", heap, mode); }).status, VOLTA_IO_ERROR);
        assert_true(failure_of([&] { open(folder.file("missing"), heap, mode); }).mentions("missing"));
    }
    assert_int_equal(failure_of([&] { save(*model, folder.file("no/such/folder"), heap); }).status,
                     VOLTA_IO_ERROR);
    assert_int_equal(failure_of([&] { save(*model, "/proc/volta-cannot-be-here", heap); }).status,
                     VOLTA_IO_ERROR);
    assert_int_equal(failure_of([&] { save(*model, "/tmp", heap); }).status, VOLTA_IO_ERROR);
    alignas(64) char bytes[128] = {};
    const auto from_memory = [&](const void* data, std::size_t size, LoadMode mode) {
        return failure_of([&] {
                   read_model(data, size, {mode, false}, heap.structures(), heap.tensors());
               })
            .status;
    };
    assert_int_equal(from_memory(bytes + 4, 100, LoadMode::map), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(from_memory(bytes + 4, 100, LoadMode::copy), VOLTA_CORRUPT_MODEL);
    assert_int_equal(from_memory(nullptr, 100, LoadMode::copy), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(from_memory(nullptr, 0, LoadMode::map), VOLTA_CORRUPT_MODEL);
}

// A save refuses what a load would refuse, and touches nothing.
void test_what_could_not_be_opened_is_not_written(void**) {
    const Folder folder;
    TestHeap heap;
    write_bytes(folder.file("a"), "the old file");
    const auto refuse = [&](Model& model, const char* reason) {
        const Failure failure = failure_of([&] { save(model, folder.file("a"), heap); });
        if (!failure.mentions(reason)) print_error("%s: %s\n", reason, failure.text);
        assert_int_equal(failure.status, VOLTA_INVALID_ARGUMENT);
        assert_true(failure.mentions(reason));
        assert_true(read_bytes(folder.file("a")) == "the old file");
    };
    const auto with = [&](auto build) {
        Graph graph(heap.structures());
        build(graph);
        return Model::create(graph, 1, heap.structures(), heap.tensors());
    };
    refuse(*with([](Graph& g) { g.parameter("two\nlines", {2}, {}); }), "contains a control character");
    refuse(*with([](Graph& g) { g.input("\xff", DType::f32, {2}); }), "is not UTF-8");
    refuse(*with([](Graph& g) { g.input("step/count", DType::f32, {2}); }), "kept for training");
    refuse(*with([](Graph& g) { g.state("moment", DType::f32, {2}); }), "no stored graph");
    refuse(*with([](Graph& g) { g.apply(Op::accumulate, {g.input("x", DType::f32, {2})}); }),
           "no stored graph");
    refuse(*with([](Graph& g) { g.apply(Op::neg, {g.input("x", DType::f32, {2})}, {}, Phase::reduce); }),
           "training");

    auto model = make_golden_gpt(heap.structures(), heap.tensors());
    std::swap(model->training->numbers[0].value, model->training->numbers[1].value);  // harmless
    model->training->numbers[0].name = "zzz";
    refuse(*model, "out of order");
    model = make_golden_gpt(heap.structures(), heap.tensors());
    model->training->tensors[0].name = "nobody/m";
    refuse(*model, "belongs to no parameter");
    model = make_golden_gpt(heap.structures(), heap.tensors());
    model->set_metadata("book", std::string(65u << 20, 'x').c_str());
    refuse(*model, "the model's metadata");
    model->set_metadata("book", std::string(200u << 20, 'x').c_str());
    refuse(*model, "the model's metadata is larger than the 64 MiB");
}

// A file says the least version that it needs, so that older readers open what they can.
void test_a_file_says_the_version_that_it_needs(void**) {
    TestHeap heap;
    for (const auto& sample : kSamples) {
        ModelEditor editor;
        assert_true(take_apart(saved_bytes(*sample.make(heap.structures(), heap.tensors()), heap), &editor));
        const char* const version = std::strstr(sample.golden, "_v1.") + 4;
        assert_int_equal(editor.model.minor_version, *version - '0');
    }
}

void test_later_minor_versions_load(void**) {
    TestHeap heap;
    ModelEditor editor;
    assert_true(take_apart(read_bytes(kSamples[0].golden), &editor));
    editor.model.minor_version = 7;
    editor.model.producer = "Volta 9.9.9";
    const std::string bytes = put_together(editor);
    const auto loaded =
        read_model(bytes.data(), bytes.size(), {LoadMode::copy, false}, heap.structures(), heap.tensors());
    const auto made = make_golden_gpt(heap.structures(), heap.tensors());
    assert_string_equal(fingerprint(*loaded).c_str(), fingerprint(*made).c_str());
}

void test_the_path_is_in_the_message(void**) {
    const Folder folder;
    TestHeap heap;
    write_bytes(folder.file("a"), "no model at all, but long enough");
    const Failure failure = failure_of([&] { open(folder.file("a"), heap); });
    assert_int_equal(failure.status, VOLTA_CORRUPT_MODEL);
    assert_true(failure.mentions(folder.file("a").c_str()));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_saved_loaded_saved_is_the_same),
        cmocka_unit_test(test_every_elementwise_operator_is_saved),
        cmocka_unit_test(test_every_tensor_is_aligned_and_borrowed),
        cmocka_unit_test(test_a_copied_file_is_written_in_place),
        cmocka_unit_test(test_golden_files_load_forever),
        cmocka_unit_test(test_golden_files_are_written_the_same),
        cmocka_unit_test(test_the_frame_is_the_documented_one),
        cmocka_unit_test(test_every_nan_is_one_nan),
        cmocka_unit_test(test_a_save_may_take_tensors_from_elsewhere),
        cmocka_unit_test(test_a_mapped_file_may_be_saved_over),
        cmocka_unit_test(test_checksums_are_compared_when_asked),
        cmocka_unit_test(test_a_large_file_opens_unread),
        cmocka_unit_test(test_files_that_cannot_be_read_or_written),
        cmocka_unit_test(test_what_could_not_be_opened_is_not_written),
        cmocka_unit_test(test_a_file_says_the_version_that_it_needs),
        cmocka_unit_test(test_later_minor_versions_load),
        cmocka_unit_test(test_the_path_is_in_the_message),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
