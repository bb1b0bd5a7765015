// Graphs whose extents and attributes are right by the rules and of no use, or of none that a machine could
// compute: every call gives a status and a sentence, in time. What fuzz/fuzz_run_model.cpp finds becomes a
// case here.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "volta.h"

namespace {

volta_context* context_of(volta_isa isa) {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.thread_count = 2;
    options.isa = isa;
    options.host_budget = uint64_t{64} << 20;
    volta_context* context = nullptr;
    assert_int_equal(volta_context_create(&options, &context), VOLTA_OK);
    return context;
}

// A graph under construction.
struct Maker {
    volta_graph* graph = nullptr;
    explicit Maker(volta_context* context) {
        assert_int_equal(volta_graph_create(context, &graph), VOLTA_OK);
    }
    ~Maker() { volta_graph_release(graph); }

    volta_value input(const char* name, volta_dtype dtype, std::vector<int64_t> shape) {
        volta_value value = {-1};
        assert_int_equal(
            volta_graph_input(graph, name, dtype, shape.data(), static_cast<int32_t>(shape.size()), &value),
            VOLTA_OK);
        return value;
    }
    volta_value parameter(const char* name, std::vector<int64_t> shape) {
        volta_value value = {-1};
        const volta_init init = {VOLTA_INIT_NORMAL, 0.1, 0};
        assert_int_equal(volta_graph_parameter(graph, name, shape.data(), static_cast<int32_t>(shape.size()),
                                               &init, &value),
                         VOLTA_OK);
        return value;
    }
    volta_value apply(const char* op, std::vector<volta_value> inputs, const char* attribute = nullptr,
                      double number = 0, std::vector<int64_t> integers = {}) {
        const volta_attribute given = {attribute, number, integers.data(), integers.size()};
        volta_value out = {-1};
        const volta_status status =
            volta_graph_apply(graph, op, inputs.data(), inputs.size(), &given, attribute != nullptr, &out, 1);
        if (status != VOLTA_OK) print_error("%s: %s\n", op, volta_last_error());
        assert_int_equal(status, VOLTA_OK);
        return out;
    }
    volta_value with_list(const char* op, volta_value x, const char* attribute,
                          std::vector<int64_t> integers) {
        return apply(op, {x}, attribute, 0, std::move(integers));
    }
    void output(volta_value value) { assert_int_equal(volta_graph_output(graph, "out", value), VOLTA_OK); }
};

// [batch, time] ids of a table [rows, width], whose rows are the logits too.
void language_model(Maker& make, int64_t batch, int64_t time, int64_t rows) {
    const volta_value tokens = make.input("tokens", VOLTA_I32, {batch, time});
    const volta_value table = make.parameter("table", {rows, 4});
    const volta_value x = make.apply("gather", {table, tokens});
    make.output(make.apply("matmul", {x, table}, "transpose_b", 1));
}

struct Case {
    const char* name;
    void (*make)(Maker&);
    const char* evaluated;       // what evaluating says; "": it may work
    const char* generator = "";  // what making a generator says
    const char* stream = "";     // what a token stream for its training says
};

const Case kCases[] = {
    {"time 0", [](Maker& make) { language_model(make, -1, 0, 5); },
     "input tokens has no room for a token: its shape is [1, 0]"},
    {"batch and time 0", [](Maker& make) { language_model(make, 0, 0, 5); },
     "input tokens has no room for a token: its shape is [0, 0]"},
    {"batch 0", [](Maker& make) { language_model(make, 0, 8, 5); }, ""},
    {"no token ids",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, 8});
         const volta_value x = make.apply("gather", {make.parameter("table", {5, 4}), tokens});
         make.output(make.apply("slice", {x}, "end", 0));  // of axis 0: nothing is left of the batch
     },
     ""},
    {"an empty last axis",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, 8});
         const volta_value x = make.apply("gather", {make.parameter("table", {5, 4}), tokens});
         const volta_value y = make.with_list("transpose", x, "permutation", {2, 1, 0});
         const volta_value none = make.apply("slice", {y}, "end", 0);
         make.output(make.with_list("transpose", none, "permutation", {2, 1, 0}));
     },
     "output out has 0 token ids, a language model has 1 to 2147483647"},
    {"more token ids than i32 has",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, 8});
         const volta_value x = make.apply("gather", {make.parameter("table", {5, 1}), tokens});
         make.output(make.with_list("broadcast_to", x, "shape", {-1, -1, int64_t{1} << 32}));
     },
     "output out has 4294967296 token ids, a language model has 1 to 2147483647"},
    {"a table of angles of 256 GiB",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, 8});
         const volta_attribute sizes[] = {{"limit", 1048576, nullptr, 0}, {"width", 65536, nullptr, 0}};
         volta_value angles = {-1};
         assert_int_equal(volta_graph_apply(make.graph, "rotary_table", nullptr, 0, sizes, 2, &angles, 1),
                          VOLTA_OK);
         make.output(make.apply("gather", {angles, tokens}));
     },
     ""},
    {"logits as wide as the sequence is long",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, -1});
         const volta_value positions = make.apply("position_ids", {tokens}, "limit", 100);
         const volta_value x = make.apply("gather", {make.parameter("table", {100, 4}), positions});
         const volta_value turned = make.with_list("transpose", x, "permutation", {0, 2, 1});
         make.output(make.apply("matmul", {x, turned}));
     },
     "", "the model gives logits [1, 16] for 1 tokens, and 1 for one token"},
    {"more logits than rows of the table",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, -1});
         const volta_value positions = make.apply("position_ids", {tokens}, "limit", 32);
         const volta_value x = make.apply("gather", {make.parameter("table", {5, 4}), tokens});
         const volta_value y = make.apply("gather", {make.parameter("positions", {32, 4}), positions});
         make.output(make.apply("matmul", {make.apply("add", {x, y}), make.parameter("head", {4, 9})}));
     },
     "", "the model looks a token up among 0 .. 4, it must know 0 .. 8"},
    {"fewer positions than the context",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, -1});
         const volta_value positions = make.apply("position_ids", {tokens}, "limit", 32);
         const volta_value table = make.parameter("table", {5, 4});
         const volta_value x = make.apply("gather", {table, tokens});
         const volta_value y = make.apply("gather", {make.parameter("positions", {20, 4}), positions});
         make.output(make.apply("matmul", {make.apply("add", {x, y}), table}, "transpose_b", 1));
     },
     "", "the model looks a position up among 0 .. 19, it must know 0 .. 31"},
    {"an output of half the batch",
     [](Maker& make) {
         const volta_value tokens = make.input("tokens", VOLTA_I32, {-1, 8});
         const volta_value table = make.parameter("table", {5, 4});
         const volta_value x = make.apply("gather", {table, tokens});
         make.output(make.apply("matmul", {make.apply("slice", {x}, "begin", 1), table}, "transpose_b", 1));
     },
     "", "", "a token stream needs a target for each token: those are [0, 8], of [1, 8] tokens"},
    {"2^60 rows of nothing",
     [](Maker& make) {
         const volta_value x = make.input("x", VOLTA_F32, {-1, 3});
         const volta_value none = make.apply("slice", {x}, "end", 0);
         const volta_value rows = make.with_list("reshape", none, "shape", {int64_t{1} << 60, 0});
         const volta_value y = make.apply("exp", {rows});
         const volta_value z = make.apply("gelu_erf", {make.apply("add", {y, rows})});
         make.output(make.with_list("reshape", z, "shape", {0, 3}));
     },
     ""},
};

bool is_sentence(const char* text) { return std::strlen(text) > 8 && std::strchr(text, ' ') != nullptr; }

// A status of its own, and a sentence where it is a refusal.
bool answers(const char* name, const char* call, volta_status status) {
    const bool fine = status == VOLTA_OK || (status != VOLTA_INTERNAL && is_sentence(volta_last_error()));
    if (!fine) print_error("%s, %s: %s: %s\n", name, call, volta_status_name(status), volta_last_error());
    return fine;
}

bool trains(const Case& one, volta_model* model) {
    const int32_t tokens[40] = {0};
    const int64_t shape[] = {1, 8};
    bool fine = true;
    for (const int32_t loss : {VOLTA_LOSS_CROSS_ENTROPY, VOLTA_LOSS_MSE, VOLTA_LOSS_BINARY_CROSS_ENTROPY,
                               VOLTA_LOSS_L1, VOLTA_LOSS_HUBER}) {
        volta_trainer_options options = {};
        options.struct_size = sizeof options;
        options.input_shapes = shape;
        options.input_extent_count = 2;
        options.loss = loss;
        volta_trainer* trainer = nullptr;
        double value = 0;
        fine = fine && answers(one.name, "trainer_create", volta_trainer_create(model, &options, &trainer));
        if (trainer != nullptr) {
            const volta_status streams = volta_trainer_set_tokens(trainer, tokens, 40);
            fine = fine && answers(one.name, "set_tokens", streams);
            if (*one.stream != '\0' && loss == VOLTA_LOSS_CROSS_ENTROPY) {
                assert_int_equal(streams, VOLTA_INVALID_ARGUMENT);
                assert_string_equal(volta_last_error(), one.stream);
            }
            fine = fine && answers(one.name, "step_tokens", volta_trainer_step_tokens(trainer, nullptr)) &&
                   answers(one.name, "evaluate", volta_trainer_evaluate_tokens(trainer, tokens, 40, &value));
        }
        volta_trainer_release(trainer);
    }
    return fine;
}

bool generates(const Case& one, volta_model* model) {
    volta_generator* generator = nullptr;
    const int32_t prompt[] = {0, 0};
    int32_t token = 0;
    const volta_status status = volta_generator_create(model, nullptr, &generator);
    bool fine = answers(one.name, "generator_create", status);
    if (*one.generator != '\0') {
        assert_int_equal(status, VOLTA_INVALID_ARGUMENT);
        assert_string_equal(volta_last_error(), one.generator);
    }
    if (generator != nullptr)
        fine = fine && answers(one.name, "start", volta_generator_start(generator, prompt, 2)) &&
               answers(one.name, "next", volta_generator_next(generator, &token));
    volta_generator_release(generator);
    return fine;
}

bool runs(const Case& one, volta_model* model) {
    bool fine = true;
    for (const int64_t first : {int64_t{1}, int64_t{2}}) {
        volta_tensor_info info = {};
        assert_int_equal(volta_model_input_info(model, 0, &info), VOLTA_OK);
        std::vector<int64_t> extents(info.shape, info.shape + info.rank);
        std::replace_if(
            extents.begin(), extents.end(), [](int64_t extent) { return extent < 0; }, first);
        volta_session_options options = {};
        options.struct_size = sizeof options;
        options.input_shapes = extents.data();
        options.input_extent_count = extents.size();
        options.flags = first == 1 ? 0u : unsigned{VOLTA_SESSION_PACK_WEIGHTS};
        volta_session* session = nullptr;
        fine = fine && answers(one.name, "session_create", volta_session_create(model, &options, &session));
        volta_session_release(session);
    }
    return fine;
}

void test_every_call_answers(void**) {
    const int32_t tokens[40] = {0};
    for (const volta_isa isa : {VOLTA_ISA_SCALAR, VOLTA_ISA_AUTO}) {
        volta_context* const context = context_of(isa);
        for (const Case& one : kCases) {
            Maker make(context);
            one.make(make);
            volta_model* model = nullptr;
            assert_int_equal(volta_model_create(make.graph, 1, &model), VOLTA_OK);
            double loss = 0;
            const volta_status status = volta_model_evaluate_tokens(model, tokens, 40, &loss);
            assert_true(answers(one.name, "evaluate_tokens", status));
            if (*one.evaluated != '\0') {
                assert_int_equal(status, VOLTA_INVALID_ARGUMENT);
                assert_string_equal(volta_last_error(), one.evaluated);
            }
            assert_true(runs(one, model) && trains(one, model) && generates(one, model));
            for (const volta_dtype dtype : {VOLTA_BF16, VOLTA_INT8, VOLTA_F32_PANELS}) {
                volta_model* small = nullptr;
                assert_true(answers(one.name, "quantize", volta_model_quantize(model, dtype, &small)));
                volta_model_release(small);
            }
            volta_model_release(model);
        }
        volta_context_release(context);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_every_call_answers)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
