// Which weights of a model are stored, how its graph reads them then, and what is refused.
#include "engine/model/quantize.h"

#include <cmath>
#include <cstring>

#include "engine/graph/verify.h"
#include "engine/model/gpt.h"
#include "engine/model/llama.h"
#include "engine/numerics/stored_weights.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

template <class Body>
void expect_error(Body body, volta_status status, const char* text) {
    const Failure failure = failure_of(body);
    if (failure.status != status || !failure.mentions(text)) print_error("got: %s\n", failure.text);
    assert_int_equal(failure.status, status);
    assert_true(failure.mentions(text));
}

// Each parameter's elements before and after: stored ones as [outputs, inputs], the rest untouched.
void check_values(const Model& from, const Model& to, DType dtype) {
    for (const NamedTensor& before : from.parameters) {
        const NamedTensor& after = *to.find_parameter(before.name.c_str());
        const auto* const w = static_cast<const float*>(before.data);
        if (!is_stored(after.dtype)) {
            assert_true(after.shape == before.shape);
            assert_memory_equal(after.data, before.data, before.bytes());
            continue;
        }
        assert_true(after.dtype == dtype);
        const bool turned = after.shape != before.shape || before.shape[0] == before.shape[1];
        const StoredWeights stored = {dtype, static_cast<const unsigned char*>(after.data), after.shape[0],
                                      after.shape[1]};
        for (std::int64_t j = 0; j < stored.n; ++j)
            for (std::int64_t p = 0; p < stored.k; ++p) {
                const double wanted = turned ? w[p * stored.n + j] : w[j * stored.k + p];
                assert_true(std::fabs(static_cast<double>(stored.element(j, p)) - wanted) <
                            0.08);  // weights of 0.02
            }
    }
}

std::string stored_names(const Model& model) {
    std::string names;
    for (const NamedTensor& parameter : model.parameters)
        if (is_stored(parameter.dtype))
            names += std::string(parameter.name) + to_text(parameter.shape).text + " ";
    return names;
}

void test_gpt(void**) {
    TestHeap heap;
    GptConfig config;
    config.vocabulary = 50;
    config.layers = 1;
    config.dim = 32;
    config.heads = 2;
    config.context = 8;
    const auto model = create_gpt(config, 1, heap.structures(), heap.tensors());
    for (const DType dtype : {DType::bf16, DType::f16, DType::int8, DType::int4, DType::f32_panels}) {
        const auto stored = quantize(*model, dtype, heap.structures(), heap.tensors());
        verify(stored->graph);
        assert_string_equal(stored_names(*stored).c_str(),
                            "token_embedding[50, 32] block.0.qkv.weight[96, 32] block.0.proj.weight[32, 32] "
                            "block.0.fc.weight[128, 32] block.0.fc_proj.weight[32, 128] ");
        check_values(*model, *stored, dtype);
        assert_true(stored->parameters.size() == model->parameters.size());
        assert_string_equal(stored->find_metadata("volta.architecture")->c_str(), "gpt");
        assert_true(hash_parameters(*stored, heap.structures()) !=
                    hash_parameters(*model, heap.structures()));
        expect_error([&] { quantize(*stored, DType::int8, heap.structures(), heap.tensors()); },
                     VOLTA_INVALID_ARGUMENT, "parameter 'token_embedding' is stored as");
    }
}

// Bytes count: two models that differ in one stored byte have two hashes; the type counts too.
void test_hash(void**) {
    TestHeap heap;
    GptConfig config;
    config.vocabulary = 40;
    config.layers = 1;
    config.dim = 32;
    config.heads = 1;
    config.context = 4;
    const auto model = create_gpt(config, 1, heap.structures(), heap.tensors());
    const auto bf16 = quantize(*model, DType::bf16, heap.structures(), heap.tensors());
    const auto f16 = quantize(*model, DType::f16, heap.structures(), heap.tensors());
    const Hash128 before = hash_parameters(*bf16, heap.structures());
    assert_true(before != hash_parameters(*f16, heap.structures()));
    static_cast<unsigned char*>(bf16->place_of(0))[bf16->parameters[0].bytes() - 1] ^= 1;
    assert_true(before != hash_parameters(*bf16, heap.structures()));
}

// A weight that two products read either way round, one that is an output, one that is added, positions, and
// one of few inputs stay as they are.
void test_what_stays(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    const Init init = {VOLTA_INIT_NORMAL, 0.02, 0};
    const ValueId x = graph.input("x", DType::f32, {-1, 32});
    const auto weight = [&](const char* name, const Shape& shape) {
        return graph.parameter(name, shape, init);
    };
    const ValueId both = weight("both", {32, 32}), shown = weight("shown", {32, 32}),
                  added = weight("added", {32, 32}), few = weight("few", {31, 40}),
                  stored = weight("stored", {32, 40}), batched = weight("batched", {2, 32, 32});
    ValueId y = graph.apply(Op::matmul, {x, both});
    y = graph.apply(Op::matmul, {y, both}, {number(Attr::transpose_b, 1)});
    y = graph.apply(Op::matmul, {y, shown});
    y = graph.apply(Op::matmul, {y, graph.apply(Op::add, {added, shown})});
    y = graph.apply(Op::matmul, {y, added});
    const ValueId narrow = graph.apply(Op::slice, {y}, {number(Attr::axis, 1), number(Attr::end, 31)});
    graph.output("few", graph.apply(Op::matmul, {narrow, few}));
    graph.output("stored", graph.apply(Op::matmul, {y, stored}));
    graph.output("shown", shown);
    (void)batched;
    const auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    const auto made = quantize(*model, DType::int8, heap.structures(), heap.tensors());
    verify(made->graph);
    assert_string_equal(stored_names(*made).c_str(), "stored[40, 32] ");
    check_values(*model, *made, DType::int8);
}

void test_what_is_refused(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    const ValueId x = graph.input("x", DType::f32, {-1, 32});
    const ValueId w = graph.parameter("w", {32, 16}, {VOLTA_INIT_NORMAL, 1, 0});
    graph.output("y", graph.apply(Op::matmul, {x, w}));
    const auto model = Model::create(graph, 1, heap.structures(), heap.tensors());
    model->mutable_parameter(0)[100] = HUGE_VALF;
    for (const DType dtype : {DType::bf16, DType::f16, DType::int8, DType::int4})
        expect_error([&] { quantize(*model, dtype, heap.structures(), heap.tensors()); },
                     VOLTA_INVALID_ARGUMENT, "parameter 'w' cannot be stored as");
    Graph none(heap.structures());
    const ValueId z = none.input("x", DType::f32, {-1, 8});
    none.output("y", none.apply(Op::matmul, {z, none.parameter("w", {8, 16}, {VOLTA_INIT_NORMAL, 1, 0})}));
    const auto small = Model::create(none, 1, heap.structures(), heap.tensors());
    expect_error([&] { quantize(*small, DType::int8, heap.structures(), heap.tensors()); },
                 VOLTA_INVALID_ARGUMENT, "the model has no weight to store as int8");

    // A graph reads stored weights in two places only, and in one way.
    Graph stored(heap.structures());
    const ValueId a = stored.input("a", DType::f32, {4, 32}), ids = stored.input("ids", DType::i32, {4});
    const ValueId s = stored.parameter("s", {16, 32}, {}, DType::int4);
    stored.apply(Op::matmul, {a, s}, {number(Attr::transpose_b, 1)});
    stored.apply(Op::gather, {s, ids});
    expect_error([&] { stored.apply(Op::matmul, {a, s}); }, VOLTA_SHAPE_MISMATCH, "");
    expect_error([&] { stored.apply(Op::neg, {s}); }, VOLTA_SHAPE_MISMATCH,
                 "neg: input 0 is a weight stored as int4, which is read by matmul (b) and "
                 "gather alone");
    expect_error(
        [&] {
            stored.apply(Op::transpose, {s}, {list(Attr::permutation, {1, 0})});
        },
        VOLTA_SHAPE_MISMATCH, "is a weight stored as int4");
    expect_error(
        [&] {
            stored.apply(Op::matmul, {s, a});
        },
        VOLTA_SHAPE_MISMATCH, "is a weight stored as int4");
    expect_error([&] { stored.output("s", s); }, VOLTA_INVALID_ARGUMENT,
                 "output \"s\" is a weight stored as int4");
    expect_error([&] { stored.parameter("t", {16}, {}, DType::int8); }, VOLTA_INVALID_ARGUMENT,
                 "parameter \"t\": int8[16] is no packed weight");
    expect_error(
        [&] {
            stored.parameter("t", {INT64_C(1) << 55, INT64_C(1) << 20}, {}, DType::int8);
        },
        VOLTA_INVALID_ARGUMENT, "is no packed weight");
}

// Every refused allocation is a clean failure.
void test_out_of_memory(void**) {
    for (long n = 1;; ++n) {
        TestHeap heap;
        GptConfig config;
        config.vocabulary = 40;
        config.layers = 1;
        config.dim = 32;
        config.heads = 1;
        config.context = 4;
        bool done = false;
        {
            const auto model = create_gpt(config, 1, heap.structures(), heap.tensors());
            const long before = heap.held;
            heap.refused_call = heap.calls + n;
            try {
                quantize(*model, DType::int8, heap.structures(), heap.tensors());
                done = true;
            } catch (const std::exception&) {
                assert_int_equal(heap.held, before);
            }
            heap.refused_call = 0;
        }
        assert_int_equal(heap.held, 0);
        if (done) return;
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt),           cmocka_unit_test(test_hash),
        cmocka_unit_test(test_what_stays),    cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
