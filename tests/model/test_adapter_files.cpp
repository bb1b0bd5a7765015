// Files of adapters that are not what they say, on a base: each is refused by a sentence that names what is
// wrong, and leaves nothing behind.
#include "engine/base/error.h"
#include "engine/model/adapters.h"
#include "engine/model/llama.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"

namespace {

using namespace volta;
using namespace volta::test;

std::shared_ptr<const Model> make_base(TestHeap& heap, std::uint64_t seed = 1) {
    LlamaConfig config;
    config.vocabulary = 20;
    config.layers = 2;
    config.dim = 8;
    config.heads = 2;
    config.kv_heads = 1;
    config.hidden = 12;
    config.context = 8;
    return create_llama(complete(config), seed, heap.structures(), heap.tensors());
}

HeapPtr<Model> make_file(TestHeap& heap, const std::shared_ptr<const Model>& base) {
    AdapterOptions options;
    options.rank = 2;
    options.targets = "q+down";
    const HeapPtr<Model> adapted = add_adapters(base, options, 3, heap.structures(), heap.tensors());
    HeapPtr<Model> file = adapters_alone(*adapted, heap.structures());
    for (NamedTensor& parameter : file->parameters) {  // values of its own
        parameter.owned = Buffer(heap.tensors(), parameter.bytes());
        std::memcpy(parameter.owned.data(), parameter.data, parameter.bytes());
        parameter.data = parameter.owned.data();
    }
    return file;
}

Failure failure_with(TestHeap& heap, const std::shared_ptr<const Model>& base, const Model& file) {
    return failure_of([&] { open_adapters(base, file, heap.structures(), heap.tensors()); });
}

void expect(const Failure& failure, volta_status status, const char* text) {
    if (!failure.mentions(text)) print_error("%s\nis not: %s\n", failure.text, text);
    assert_true(failure.mentions(text));
    assert_int_equal(failure.status, status);
}

void test_settings(void**) {
    static const struct {
        const char *key, *value, *text;
    } rows[] = {
        {"rank", "0", "rank is 0; it must be from 1 to 4096"},
        {"rank", "-3", "rank is -3; it must be from 1 to 4096"},
        {"rank", "999999999999", "rank is 999999999999; it must be from 1 to 4096"},
        {"rank", "nan", "'volta.adapter.rank' is 'nan', which is no number of its kind"},
        {"rank", "2.5", "'volta.adapter.rank' is '2.5', which is no number of its kind"},
        {"rank", "99999999999999999999", "which is no number of its kind"},
        {"rank", "", "'volta.adapter.rank' is '', which is no number of its kind"},
        {"rank", nullptr, "the file holds no adapters: it lacks the metadata 'volta.adapter.rank'"},
        {"rank", "3", "the adapter 'block.0.qkv.lora.q.a' is f32[8, 2], its base takes f32[8, 3]"},
        {"alpha", "nan", "alpha is nan; it must be above 0 and at most 1e+06"},
        {"alpha", "-1", "alpha is -1; it must be above 0"},
        {"alpha", "1e300", "alpha is 1e+300; it must be above 0"},
        {"alpha", "many", "'volta.adapter.alpha' is 'many', which is no number of its kind"},
        {"targets", "q+up", "the adapters lack 'block.0.gate_up.lora.up.a'"},
        {"targets", "q", "'block.0.down.lora.a' is no adapter of the targets 'q'"},
        {"targets", "q+nothing", "'nothing' is no target"},
        {"targets", "q++down", "'' is no target"},
        {"targets", "q+q", "targets name the same outputs of 'block.0.qkv.weight' twice"},
        {"base", "0123", "the adapters are of another base, whose parameters have the hash 0123, not "},
    };
    TestHeap heap;
    {
        const auto base = make_base(heap);
        for (const auto& row : rows) {
            const HeapPtr<Model> file = make_file(heap, base);
            file->set_metadata((std::string("volta.adapter.") + row.key).c_str(), row.value);
            const long held = heap.held;
            const bool is_of_base = std::strcmp(row.key, "base") == 0;
            expect(failure_with(heap, base, *file), is_of_base ? VOLTA_INVALID_ARGUMENT : VOLTA_CORRUPT_MODEL,
                   row.text);
            assert_int_equal(heap.held, held);
        }
        const HeapPtr<Model> file = make_file(heap, base);
        assert_int_equal(failure_with(heap, base, *file).status, VOLTA_OK);
        expect(failure_with(heap, make_base(heap, 2), *file), VOLTA_INVALID_ARGUMENT, "of another base");
    }
    assert_int_equal(heap.held, 0);
}

void test_tensors(void**) {
    TestHeap heap;
    const auto base = make_base(heap);
    HeapPtr<Model> file = make_file(heap, base);
    std::swap(file->parameters[0].shape[0], file->parameters[0].shape[1]);
    expect(failure_with(heap, base, *file), VOLTA_CORRUPT_MODEL,
           "the adapter 'block.0.qkv.lora.q.a' is f32[2, 8], its base takes f32[8, 2]");
    file = make_file(heap, base);
    file->parameters[0].dtype = DType::i32;
    expect(failure_with(heap, base, *file), VOLTA_CORRUPT_MODEL, "the adapter 'block.0.qkv.lora.q.a' is i32");
    file = make_file(heap, base);
    file->parameters[1].name = "block.0.qkv.weight";
    expect(failure_with(heap, base, *file), VOLTA_CORRUPT_MODEL, "the adapters lack 'block.0.qkv.lora.q.b'");
    file = make_file(heap, base);
    NamedTensor& more = file->parameters.emplace_back(NamedTensor{
        std::pmr::string("block.0.proj.weight", heap.structures()), DType::f32, {1}, nullptr, Buffer()});
    more.owned = Buffer(heap.tensors(), 4, true);
    more.data = more.owned.data();
    expect(failure_with(heap, base, *file), VOLTA_CORRUPT_MODEL,
           "'block.0.proj.weight' is no adapter of the targets 'q+down'");
}

// A part means the weights that products read; others of the same name are left as they are.
void test_a_part_means_weights_of_products(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    const ValueId x = graph.input("x", DType::f32, {2, 4});
    const ValueId scale = graph.parameter("a.down.weight", {4}, {});
    const ValueId weight = graph.parameter("b.down.weight", {4, 3}, {});
    graph.output("y", graph.apply(Op::matmul, {graph.apply(Op::mul, {x, scale}), weight}));
    const auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    const auto places = adapter_places(*model, "down", heap.structures());
    assert_int_equal(places.size(), 1);
    assert_int_equal(places[0].weight, weight);
    expect(failure_of([&] { adapter_places(*model, "a.down.weight", heap.structures()); }),
           VOLTA_INVALID_ARGUMENT, "'a.down.weight' cannot be a target: it is no matrix that products alone");
}

void test_a_name_must_have_room_for_that_of_its_adapters(void**) {
    TestHeap heap;
    const std::string name(250, 'n');  // of at most 255
    Graph graph(heap.structures());
    const ValueId x = graph.input("x", DType::f32, {2, 4});
    graph.output("y", graph.apply(Op::matmul, {x, graph.parameter(name.c_str(), {4, 3}, {})}));
    const auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    expect(failure_of([&] { adapter_places(*model, name, heap.structures()); }), VOLTA_INVALID_ARGUMENT,
           "nnn' is longer than 255 bytes");
}

// The memory that a base needs may be refused at every point.
void test_no_memory(void**) {
    TestHeap heap;
    {
        const auto base = make_base(heap);
        const HeapPtr<Model> file = make_file(heap, base);
        const long before = heap.calls, held = heap.held;
        open_adapters(base, *file, heap.structures(), heap.tensors());
        const long needed = heap.calls - before;
        assert_true(needed > 20);
        for (long n = 1; n <= needed; n += 7) {
            heap.refused_call = heap.calls + n;
            assert_int_equal(failure_with(heap, base, *file).status, VOLTA_OUT_OF_MEMORY);
            heap.refused_call = 0;
            assert_int_equal(heap.held, held);
        }
    }
    assert_int_equal(heap.held, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_a_part_means_weights_of_products),
        cmocka_unit_test(test_a_name_must_have_room_for_that_of_its_adapters),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
