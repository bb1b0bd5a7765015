// What a host meets when a step of training on a device cannot be made: a call of the driver fails in its
// middle, or the numbers are not finite. On the fakes.
#include <cmath>
#include <functional>

#include "tests/cuda/device_in_use.h"

namespace {
using namespace volta::test;

constexpr int kSteps = 4;

std::string hash_of(const OwnedTrainer& trainer) {
    char hash[33] = "";
    return volta_trainer_hash(trainer.object, hash) == VOLTA_OK ? hash : "";
}

std::string hash_of_file(const char* path) {
    OwnedContext context;
    OwnedModel model;
    char hash[33] = "";
    const bool opened = ok(make_context(context, 0, "cpu")) &&
                        ok(volta_model_open(context.object, path, nullptr, &model.object)) &&
                        ok(volta_model_hash(model.object, hash));
    return opened ? hash : "";
}

// A call of the driver in the last of `steps` steps of training: the first one, or the last.
struct Faulty {
    const char* call;
    int steps = kSteps;
    bool last = false;      // of that step's calls
    bool changing = false;  // the step may have changed parameters by then
    int at = 0;             // counted from 1, over the whole run
};

// Trains, and saves before the last step, which may meet the failure. `after` is told its status and
// sentence.
using After = std::function<void(volta_status, const std::string&, OwnedTrainer&)>;
void train(const char* path, Faulty& faulty, const After& after) {
    OwnedContext context;
    OwnedModel model;
    OwnedTrainer trainer;
    assert_true(ok(make_context(context)) && ok(make_model(context, model)) &&
                ok(make_trainer(model, trainer)) && ok(give_tokens(trainer)));
    for (int i = 1; i < faulty.steps; ++i)
        assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
    assert_true(ok(volta_trainer_save(trainer.object, path)));
    const int before = fake_calls(faulty.call);
    const volta_status status = volta_trainer_step_tokens(trainer.object, nullptr);
    if (faulty.at == 0) faulty.at = faulty.last ? fake_calls(faulty.call) : before + 1;
    after(status, volta_last_error(), trainer);
}

// A failure that the device survives, before anything is changed: the step has not been made, has read
// nothing, and is made by the next call. Later, or one that the device does not survive: every later call
// says so, and what was saved before is whole.
void test_failures_in_a_step(void**) {
    const std::string file = std::string(kernels) + "/checkpoint.volta";
    const char* const path = file.c_str();
    // The first step starts its kernels, the second one is recorded, all others are one graph each.
    Faulty table[] = {{"cuMemcpyHtoDAsync_v2"},
                      {"cuGraphLaunch"},
                      {"cuEventSynchronize", kSteps, false, true},
                      {"cuLaunchKernel", 1},
                      {"cuMemcpyDtoHAsync_v2", 1},
                      {"cuLaunchKernel", 1, true, true},
                      {"cuLaunchKernel", 2, true},
                      {"cuMemcpyDtoHAsync_v2", 2},
                      {"cuEventRecordWithFlags", 2},
                      {"cuGraphInstantiateWithFlags", 2},
                      {"cuGraphLaunch", 2}};
    for (Faulty& faulty : table) {
        std::string whole;
        train(path, faulty, [&](volta_status status, const std::string&, OwnedTrainer& trainer) {
            assert_true(ok(status));
            whole = hash_of(trainer);
        });
        const std::string saved = hash_of_file(path);
        assert_true(!saved.empty() && saved != whole);
        const std::string nth = std::string(faulty.call) + ":" + std::to_string(faulty.at);
        for (const char* code : {":1", ":719"}) {  // the device is gone by the second one
            if (strcmp(code, ":719") == 0 && faulty.steps != kSteps) continue;
            {
                const Setting fault("VOLTA_FAKE_CUDA_FAIL", nth + code);
                train(path, faulty, [&](volta_status status, const std::string& text, OwnedTrainer& trainer) {
                    assert_int_equal(status, VOLTA_DEVICE_ERROR);
                    assert_non_null(strstr(text.c_str(), faulty.call));
                    assert_true((strstr(text.c_str(), "go on from a checkpoint") != nullptr) ==
                                faulty.changing);
                    if (!faulty.changing && strcmp(code, ":1") == 0) {
                        assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
                        assert_string_equal(hash_of(trainer).c_str(), whole.c_str());
                        return;
                    }
                    char hash[33];
                    const float* data;
                    std::size_t elements;
                    volta_trainer* const self = trainer.object;
                    const std::function<volta_status()> calls[] = {
                        [&] { return volta_trainer_step_tokens(self, nullptr); },
                        [&] { return volta_trainer_step_tokens(self, nullptr); },
                        [&] { return volta_trainer_save(self, path); },
                        [&] { return volta_trainer_hash(self, hash); },
                        [&] { return volta_trainer_update_model(self); },
                        [&] { return volta_trainer_parameter(self, "token_embedding", &data, &elements); }};
                    for (const auto& call : calls) {
                        assert_int_equal(call(), VOLTA_DEVICE_ERROR);
                        assert_string_equal(volta_last_error(), text.c_str());
                    }
                });
            }
            assert_true(nothing_is_left());
            assert_string_equal(hash_of_file(path).c_str(), saved.c_str());
        }
    }
}

// With updates in the backward pass a step that clips has two passes, of which the second one changes
// parameters; in shards all is computed before. A launch that fails in the first step: the first one, or the
// last.
void test_failures_in_passes_and_shards(void**) {
    const struct {
        std::int32_t in_backward;
        std::uint32_t shards;
        bool last, changing;
    } rows[] = {{1, 1, false, false}, {1, 1, true, true}, {0, 2, false, false}};
    for (const auto& row : rows) {
        std::string whole;
        int calls = 0;
        const auto step = [&](volta_status expected) {
            OwnedContext context;
            OwnedModel model;
            OwnedTrainer trainer;
            const std::int64_t shape[] = {kBatch, kContext};
            volta_trainer_options options = {};
            options.struct_size = sizeof options;
            options.input_shapes = shape;
            options.input_extent_count = 2;
            options.clip_norm = 1e-3;
            options.learning_rate = 1e-2;
            options.update_in_backward = row.in_backward;
            options.shards = options.micro_batches = row.shards;
            assert_true(ok(make_context(context)) && ok(make_model(context, model)) &&
                        ok(volta_trainer_create(model.object, &options, &trainer.object)) &&
                        ok(give_tokens(trainer)));
            const int before = fake_calls("cuLaunchKernel");
            assert_int_equal(volta_trainer_step_tokens(trainer.object, nullptr), expected);
            calls = row.last ? fake_calls("cuLaunchKernel") : before + 1;
            const std::string text = volta_last_error();
            if (expected == VOLTA_OK) return void(whole = hash_of(trainer));
            assert_non_null(strstr(text.c_str(), "cuLaunchKernel"));
            assert_true((strstr(text.c_str(), "go on from a checkpoint") != nullptr) == row.changing);
            if (row.changing) {
                assert_int_equal(volta_trainer_step_tokens(trainer.object, nullptr), VOLTA_DEVICE_ERROR);
                assert_string_equal(volta_last_error(), text.c_str());
            } else {
                assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
                assert_string_equal(hash_of(trainer).c_str(), whole.c_str());
            }
        };
        step(VOLTA_OK);
        assert_true(!whole.empty());
        const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuLaunchKernel:" + std::to_string(calls) + ":1");
        step(VOLTA_DEVICE_ERROR);
    }
    assert_true(nothing_is_left());
}

// y = w x + b on four points, one of which may be bad.
struct Line {
    OwnedContext context;
    OwnedModel model;
    OwnedTrainer trainer;
    Owned<volta_tensor, volta_tensor_release> points, targets;
    float x[4] = {1, 2, 3, 4}, y[4] = {2, 3, 5, 7};
    explicit Line(const char* device, volta_nonfinite_policy policy) {
        Owned<volta_graph, volta_graph_release> graph;
        const std::int64_t shape[] = {4, 1};
        volta_value in, out;
        assert_true(ok(make_context(context, 0, device)) &&
                    ok(volta_graph_create(context.object, &graph.object)) &&
                    ok(volta_graph_input(graph.object, "x", VOLTA_F32, shape, 2, &in)) &&
                    ok(volta_graph_linear(graph.object, "line", in, 1, &out)) &&
                    ok(volta_graph_output(graph.object, "y", out)) &&
                    ok(volta_model_create(graph.object, 1, &model.object)) &&
                    ok(volta_tensor_wrap(context.object, VOLTA_F32, shape, 2, x, &points.object)) &&
                    ok(volta_tensor_wrap(context.object, VOLTA_F32, shape, 2, y, &targets.object)));
        volta_trainer_options options = {};
        options.struct_size = sizeof options;
        options.loss = VOLTA_LOSS_MSE;
        options.nonfinite = policy;
        assert_true(ok(volta_trainer_create(model.object, &options, &trainer.object)));
    }
    // A point of this x: 3e18 has a finite loss of about 1e36 and a gradient whose square is none.
    volta_status step(float third = 3) {
        x[2] = third;
        const volta_tensor* const inputs[] = {points.object};
        return volta_trainer_step(trainer.object, inputs, 1, targets.object, nullptr);
    }
};

// The device itself looks at loss and norm, whether a step is one graph or not: a step that stops changes
// nothing. Where the host wants to go on, it changes the parameters.
void test_not_finite(void**) {
    {
        Line expected("cpu", VOLTA_NONFINITE_STOP), line("cuda", VOLTA_NONFINITE_STOP),
            careless("cuda", VOLTA_NONFINITE_LOG);
        for (int round = 0; round < 4; ++round) {
            for (const float bad : {1e30f, 3e18f}) {
                const std::string before = hash_of(line.trainer);
                assert_int_equal(expected.step(bad), VOLTA_NOT_FINITE);
                const std::string sentence = volta_last_error();
                assert_int_equal(line.step(bad), VOLTA_NOT_FINITE);
                assert_string_equal(volta_last_error(), sentence.c_str());
                assert_string_equal(hash_of(line.trainer).c_str(), before.c_str());
                assert_int_equal(volta_trainer_current_step(line.trainer.object), round);
            }
            assert_true(ok(expected.step()) && ok(line.step()) && ok(careless.step()));
            assert_string_equal(hash_of(line.trainer).c_str(), hash_of(expected.trainer).c_str());
            assert_string_equal(hash_of(careless.trainer).c_str(), hash_of(expected.trainer).c_str());
        }
        const float* weight = nullptr;
        std::size_t elements = 0;
        assert_true(ok(careless.step(1e30f)));
        assert_true(ok(volta_trainer_parameter(careless.trainer.object, "line.weight", &weight, &elements)));
        assert_false(std::isfinite(*weight));
    }
    assert_true(nothing_is_left());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_failures_in_a_step),
        cmocka_unit_test(test_failures_in_passes_and_shards),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, make_kernels, remove_kernels);
}
