// Models in memory: how parameters start, private copies, metadata, the parameter hash.
#include "engine/model/model.h"

#include <cmath>
#include <string>

#include "engine/model/description.h"
#include "engine/model/network.h"
#include "engine/numerics/random.h"
#include "tests/model/expect_error.h"
#include "tests/model/sample_models.h"
#include "tests/model/test_heap.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

const float* floats(const NamedTensor& tensor) { return static_cast<const float*>(tensor.data); }

Graph three_parameters(std::pmr::memory_resource* heap) {
    Graph graph(heap);
    graph.parameter("constant", {2, 3}, {VOLTA_INIT_CONSTANT, 0.1, 0});
    graph.parameter("normal", {2, 3, 200}, {VOLTA_INIT_NORMAL, 0.02, 0});
    graph.parameter("uniform", {300}, {VOLTA_INIT_UNIFORM, -0.25, 0.75});
    return graph;
}

// docs/numerics.md, 8: purpose 0, stream = creation index, row and column of the tensor as [rows, last axis].
void test_parameters_start_as_the_contract_says(void**) {
    TestHeap heap;
    const std::uint64_t seed = 0x123456789abcdefu;
    const auto model =
        Model::create(three_parameters(heap.structures()), seed, heap.structures(), heap.tensors());
    assert_int_equal(model->parameters.size(), 3);
    assert_string_equal(model->parameters[1].name.c_str(), "normal");
    for (int i = 0; i < 6; ++i) assert_true(floats(model->parameters[0])[i] == 0.1f);

    RandomPlace place;
    place.seed = seed;
    place.stream = 1;
    ScalarMachine<float> m;
    for (std::uint32_t row = 0; row < 6; ++row)
        for (std::uint32_t column = 0; column < 200; ++column) {
            const auto block = random_block(place, column, row);
            const float expected = unit_normal(m, block.word[0], block.word[1]) * 0.02f;
            assert_true(floats(model->parameters[1])[row * 200 + column] == expected);
        }
    place.stream = 2;
    for (std::uint32_t column = 0; column < 300; ++column) {
        const auto block = random_block(place, (column >> 7) * 32 + (column & 31), 0);
        const float unit = static_cast<float>(block.word[(column >> 5) & 3] >> 8) * 0x1p-24f;
        assert_true(floats(model->parameters[2])[column] == fma32(unit, 1.0f, -0.25f));
    }
}

// The kernels draw what the definition draws, on every instruction set, with and without threads and machine
// code.
void test_parameters_start_the_same_everywhere(void**) {
    TestHeap heap;
    const std::uint64_t seed = 0xfedcba9876543210u;
    const Graph graph = three_parameters(heap.structures());
    const auto expected = Model::create(graph, seed, heap.structures(), heap.tensors());
    ThreadPool pool(3, heap.structures());
    for (const bool refused : {false, true}) {
        jit::CodeArena arena(heap.structures(), refused);
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!host_cpu().has(isa)) continue;
            for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
                const auto model =
                    Model::create(graph, seed, heap.structures(), heap.tensors(), {isa, &arena, threads});
                for (std::size_t i = 0; i < 3; ++i)
                    assert_memory_equal(model->parameters[i].data, expected->parameters[i].data,
                                        expected->parameters[i].bytes());
            }
        }
    }
}

void test_normal_parameters_look_normal(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    graph.parameter("w", {256, 256}, {VOLTA_INIT_NORMAL, 1, 0});
    const auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    double sum = 0, squares = 0;
    for (int i = 0; i < 65536; ++i) {
        const double x = floats(model->parameters[0])[i];
        sum += x, squares += x * x;
    }
    assert_true(std::fabs(sum / 65536) < 0.02);
    assert_true(std::fabs(squares / 65536 - 1) < 0.02);
}

void test_the_seed_decides_the_hash(void**) {
    TestHeap heap;
    const auto hash = [&](std::uint64_t seed) {
        const auto model = make_golden_graph(heap.structures(), heap.tensors());
        const auto made = Model::create(model->graph, seed, heap.structures(), heap.tensors());
        return hash_parameters(*made, heap.structures());
    };
    assert_true(hash(1) == hash(1));
    assert_true(hash(1) != hash(2));
    assert_true(hash(1) != hash(std::uint64_t{1} << 32));  // the high word counts
}

// By name, so that the order in which a graph declares its parameters does not matter; NaNs are one.
void test_the_hash_is_of_names_shapes_and_bits(void**) {
    TestHeap heap;
    const auto build = [&](bool swapped, Shape shape, float value) {
        Graph graph(heap.structures());
        if (swapped) graph.parameter("b", {2}, {});
        graph.parameter("a", shape, {VOLTA_INIT_CONSTANT, 1, 0});
        if (!swapped) graph.parameter("b", {2}, {});
        auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
        model->mutable_parameter(swapped ? 0 : 1)[1] = value;
        return hash_parameters(*model, heap.structures());
    };
    const Hash128 plain = build(false, {6}, 0.0f);
    std::uint32_t payload = 0xffc12345u;
    float nan;
    std::memcpy(&nan, &payload, sizeof nan);
    assert_true(plain == build(true, {6}, 0.0f));
    assert_true(plain != build(false, {2, 3}, 0.0f));
    assert_true(plain != build(false, {6}, -0.0f));
    assert_true(build(false, {6}, nan) == build(false, {6}, std::nanf("")));
}

// One behind the other, in memory that begins on a large page where it is large enough, although no parameter
// of its own is; and written in place.
void test_parameters_lie_in_one_block(void**) {
    HostHeap heap(nullptr);
    Graph graph(heap.structures());
    std::uint64_t bytes = 0;
    for (int i = 0; i < 6; ++i) {
        char name[8];
        std::snprintf(name, sizeof name, "w%d", i);
        const Shape shape{1000, 250 + i};
        graph.parameter(name, shape, {});
        bytes += (static_cast<std::uint64_t>(shape.elements()) * 4 + 63) / 64 * 64;
    }
    const auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    assert_int_equal(model->block.bytes(), bytes);
    assert_int_equal(reinterpret_cast<std::uintptr_t>(model->block.data()) % (2 << 20), 0);
    const auto* place = static_cast<const unsigned char*>(model->block.data());
    for (std::size_t i = 0; i < model->parameters.size(); ++i) {
        const NamedTensor& parameter = model->parameters[i];
        assert_ptr_equal(parameter.data, place);
        assert_ptr_equal(model->mutable_parameter(i), place);
        assert_null(parameter.owned.data());
        place += (parameter.bytes() + 63) / 64 * 64;
    }
}

void test_a_borrowed_parameter_is_copied_before_writing(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    graph.parameter("w", {4}, {});
    auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    alignas(64) const float borrowed[4] = {1, 2, 3, 4};
    model->parameters[0].data = borrowed;
    float* own = model->mutable_parameter(0);
    assert_ptr_not_equal(own, borrowed);
    assert_ptr_equal(own, model->parameters[0].data);
    assert_memory_equal(own, borrowed, sizeof borrowed);
    own[0] = 9;
    assert_ptr_equal(model->mutable_parameter(0), own);  // no second copy
    assert_true(borrowed[0] == 1);
}

void test_metadata_stays_in_order(void**) {
    TestHeap heap;
    Model model(heap.structures(), heap.tensors());
    for (const char* key : {"m", "z", "a", "k", "m"}) model.set_metadata(key, key);
    model.set_metadata("m", "changed");
    model.set_metadata("z", nullptr);
    model.set_metadata("absent", nullptr);
    assert_int_equal(model.metadata.size(), 3);
    assert_string_equal(model.metadata[0].key.c_str(), "a");
    assert_string_equal(model.metadata[1].key.c_str(), "k");
    assert_string_equal(model.find_metadata("m")->c_str(), "changed");
    assert_null(model.find_metadata("z"));
    const std::string long_key(256, 'k');
    assert_int_equal(failure_of([&] { model.set_metadata("", "x"); }).status, VOLTA_INVALID_ARGUMENT);
    assert_int_equal(failure_of([&] { model.set_metadata(long_key.c_str(), "x"); }).status,
                     VOLTA_INVALID_ARGUMENT);
    for (const char* key : {"a\n", "a\x1f", "a\x7f"})
        assert_true(failure_of([&] { model.set_metadata(key, "x"); }).mentions("a control character"));
    assert_int_equal(failure_of([&] { model.set_metadata("\xff", "x"); }).status, VOLTA_INVALID_ARGUMENT);
    const Failure value = failure_of([&] { model.set_metadata("key", "ab\xff"); });
    assert_true(value.mentions("'key' is not UTF-8: byte 0xff at offset 2"));
    assert_int_equal(model.metadata.size(), 3);
    model.set_metadata(long_key.c_str() + 1, "255 bytes");
    model.set_metadata("a ~", "x");
    assert_int_equal(model.metadata.size(), 5);
}

void test_everything_is_on_the_hosts_heap(void**) {
    TestHeap heap;
    {
        const auto model = make_golden_gpt(heap.structures(), heap.tensors());
        assert_non_null(model->find_parameter("norm_final.bias"));
        assert_null(model->find_parameter("norm_final"));
        assert_true(heap.held > 0);
    }
    assert_int_equal(heap.held, 0);
}

// Five parameters of 2^62 bytes: each can be counted, all together cannot.
void test_more_bytes_than_can_be_counted_are_no_memory(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    for (const char* name : {"a", "b", "c", "d", "e"})
        graph.parameter(name, {std::int64_t{1} << 30, std::int64_t{1} << 30}, {});
    const long held = heap.held;
    const Failure failure = failure_of([&] { Model::create(graph, 1, heap.structures(), heap.tensors()); });
    assert_int_equal(failure.status, VOLTA_OUT_OF_MEMORY);
    assert_int_equal(heap.held, held);
}

// Its texts come from files of other formats: constants that are cut off are missed.
void test_a_description_needs_its_constants(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    const float values[] = {1, 2, 3};
    const ValueId x = graph.input("x", DType::f32, {3});
    graph.output("y", graph.apply(Op::add, {x, graph.constant(DType::f32, {3}, values)}));
    const auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    const Description whole = describe(*model, heap.structures());
    const auto read = [&](std::string_view constants) {
        return failure_of(
            [&] { read_description(whole.model, constants, heap.structures(), heap.tensors()); });
    };
    assert_int_equal(read(whole.constants).status, VOLTA_OK);
    const Failure cut = read(std::string_view(whole.constants).substr(0, 8));
    assert_int_equal(cut.status, VOLTA_CORRUPT_MODEL);
    assert_true(cut.mentions("its description lacks constants"));
}

// Pictures are as large as those that the stem was made for, whichever network has it.
void test_a_networks_pictures_are_as_large_as_its_stem_asks(void**) {
    const struct {
        const char* name;
        Stem stem;
        std::int64_t side;
    } rows[] = {
        {"resnet18", Stem::usual, 224}, {"resnet18", Stem::small, 32},     {"resnet20", Stem::usual, 32},
        {"resnet20", Stem::large, 224}, {"mobilenet_v2", Stem::small, 32}, {"cnn", Stem::usual, 28},
    };
    for (const auto& row : rows) {
        NetworkConfig config;
        config.network = &find_network(row.name);
        config.stem = row.stem;
        const NetworkConfig whole = complete(config);
        assert_int_equal(whole.rows, row.side);
        assert_int_equal(whole.columns, row.side);
    }
}

void test_out_of_memory_leaks_nothing(void**) {
    for (long call = 1;; ++call) {
        TestHeap heap;
        heap.refused_call = call;
        const Failure failure = failure_of([&] { make_golden_gpt(heap.structures(), heap.tensors()); });
        assert_int_equal(heap.held, 0);
        if (failure.status == VOLTA_OK) break;
        assert_int_equal(failure.status, VOLTA_OUT_OF_MEMORY);
        assert_true(call < 100000);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_start_as_the_contract_says),
        cmocka_unit_test(test_parameters_start_the_same_everywhere),
        cmocka_unit_test(test_normal_parameters_look_normal),
        cmocka_unit_test(test_the_seed_decides_the_hash),
        cmocka_unit_test(test_the_hash_is_of_names_shapes_and_bits),
        cmocka_unit_test(test_parameters_lie_in_one_block),
        cmocka_unit_test(test_a_borrowed_parameter_is_copied_before_writing),
        cmocka_unit_test(test_metadata_stays_in_order),
        cmocka_unit_test(test_everything_is_on_the_hosts_heap),
        cmocka_unit_test(test_more_bytes_than_can_be_counted_are_no_memory),
        cmocka_unit_test(test_a_description_needs_its_constants),
        cmocka_unit_test(test_a_networks_pictures_are_as_large_as_its_stem_asks),
        cmocka_unit_test(test_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
