// What moves between the host and a device that needs no GPU, and what is held: the numbers of "What moves"
// in docs/cuda.md, counted where the driver is called; and what a host meets when a call of the driver fails
// in the middle of a run.
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/fake_access.h"
#include "volta.h"

namespace {
using namespace volta::test;

char kernels[] = "/tmp/volta_traffic_XXXXXX";  // a folder: compiled once for all tests
constexpr std::uint64_t kBudget = std::uint64_t{1} << 30;
constexpr std::int32_t kVocabulary = 4096, kContext = 32;
constexpr std::int64_t kBatch = 2;
constexpr std::uint64_t kMicroBatches = 2;
constexpr int kStepGraphs = 2;  // gradients, update

bool ok(volta_status status) {
    if (status != VOLTA_OK) print_error("%s: %s\n", volta_status_name(status), volta_last_error());
    return status == VOLTA_OK;
}

// Releases by C++'s rules, so that a failed assertion is the only thing that a test leaves behind.
template <class T, void (*release)(T*)>
struct Owned {
    T* object = nullptr;
    Owned() = default;
    ~Owned() { release(object); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    void reset() {
        release(object);
        object = nullptr;
    }
};
using OwnedContext = Owned<volta_context, volta_context_release>;
using OwnedModel = Owned<volta_model, volta_model_release>;
using OwnedTrainer = Owned<volta_trainer, volta_trainer_release>;
using OwnedGenerator = Owned<volta_generator, volta_generator_release>;

volta_status make_context(OwnedContext& context, std::uint64_t budget = kBudget,
                          const char* device = "cuda") {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.device = device;
    options.device_budget = budget;
    options.kernel_folder = kernels;
    options.thread_count = 1;
    return volta_context_create(&options, &context.object);
}

volta_status make_model(const OwnedContext& context, OwnedModel& model) {
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = kVocabulary;
    gpt.layers = 1;
    gpt.dim = 32;
    gpt.heads = 2;
    gpt.context = kContext;
    gpt.dropout = 0.1;
    return volta_model_create_gpt(context.object, &gpt, 7, &model.object);
}

volta_status make_trainer(const OwnedModel& model, OwnedTrainer& trainer,
                          std::uint32_t micro_batches = kMicroBatches) {
    const std::int64_t shape[] = {kBatch, kContext};
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.micro_batches = micro_batches;
    options.clip_norm = 1;
    options.learning_rate = 1e-2;
    return volta_trainer_create(model.object, &options, &trainer.object);
}

volta_status give_tokens(const OwnedTrainer& trainer) {
    std::vector<std::int32_t> tokens(2000);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<std::int32_t>(i * i % static_cast<std::size_t>(kVocabulary));
    return volta_trainer_set_tokens(trainer.object, tokens.data(), tokens.size());
}

// What has been counted so far.
struct Counters {
    volta_device_info device = {};
    volta_context_info host = {};
    int graphs, kernels, waits, allocations, pinned;
    explicit Counters(const OwnedContext& context) {
        device.struct_size = sizeof device;
        host.struct_size = sizeof host;
        assert_true(ok(volta_context_get_device(context.object, &device)));
        assert_true(ok(volta_context_get_info(context.object, &host)));
        graphs = fake_calls("cuGraphLaunch");
        kernels = fake_calls("cuLaunchKernel");
        waits = fake_calls("cuStreamSynchronize");
        allocations = fake_calls("cuMemAlloc_v2");
        pinned = fake_calls("cuMemHostAlloc");
    }
};

// What one turn of `body` does: copies and bytes each way, launches of graphs, waits. Nothing may be
// allocated, and no kernel started by itself.
struct Turn {
    std::uint64_t uploads, upload_bytes, downloads, download_bytes;
    int graphs, waits;
};
template <class Body>
Turn turn_of(const OwnedContext& context, Body&& body) {
    const Counters before(context);
    body();
    const Counters after(context);
    assert_int_equal(after.kernels - before.kernels, 0);
    assert_int_equal(after.allocations - before.allocations, 0);
    assert_int_equal(after.pinned - before.pinned, 0);
    assert_int_equal(after.host.allocation_count - before.host.allocation_count, 0);
    return {after.device.copies_to_device - before.device.copies_to_device,
            after.device.bytes_to_device - before.device.bytes_to_device,
            after.device.copies_to_host - before.device.copies_to_host,
            after.device.bytes_to_host - before.device.bytes_to_host,
            after.graphs - before.graphs,
            after.waits - before.waits};
}

// One upload: tokens, targets and some words; one graph for the gradients of all micro-batches and one for
// the update; between them one download of loss, norm and sums, and one wait.
void test_training_step(void**) {
    {
        OwnedContext context;
        OwnedModel model;
        OwnedTrainer trainer;
        assert_true(ok(make_context(context)) && ok(make_model(context, model)) &&
                    ok(make_trainer(model, trainer)) && ok(give_tokens(trainer)));
        const auto step = [&] { assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr))); };
        step(), step();  // the second one is recorded
        for (int i = 0; i < 3; ++i) {
            const Turn turn = turn_of(context, step);
            assert_int_equal(turn.uploads, 1);
            assert_int_equal(turn.downloads, 1);
            assert_int_equal(turn.graphs, kStepGraphs);
            assert_int_equal(turn.waits, 1);
            const std::uint64_t tokens = 2 * kMicroBatches * kBatch * kContext * 4;
            assert_in_range(turn.upload_bytes, tokens + 64, tokens + 64 * 8);
            assert_in_range(turn.download_bytes, 8, 64 * 8);
        }
        // The update goes on while the host prepares the next step.
        const int ran = fake_kernels();
        char hash[33];
        assert_true(ok(volta_trainer_hash(trainer.object, hash)));
        assert_true(fake_kernels() > ran);
    }
    assert_true(nothing_is_left());
}

// Of more micro-batches than a graph takes, each is a graph or launched by itself: the bits are the
// processor's.
void test_many_micro_batches(void**) {
    constexpr std::uint32_t kMany = 9;
    char hashes[2][33] = {};
    int graphs = 0;
    {
        for (const char* device : {"cpu", "cuda"}) {
            OwnedContext context;
            OwnedModel model;
            OwnedTrainer trainer;
            assert_true(ok(make_context(context, kBudget, device)) && ok(make_model(context, model)) &&
                        ok(make_trainer(model, trainer, kMany)) && ok(give_tokens(trainer)));
            for (int i = 0; i < 3; ++i) {
                const int before = fake_calls("cuGraphLaunch");
                assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
                graphs = fake_calls("cuGraphLaunch") - before;
            }
            assert_true(ok(volta_trainer_hash(trainer.object, hashes[device[1] == 'u'])));
        }
    }
    assert_string_equal(hashes[0], hashes[1]);
    assert_int_equal(graphs, 8 + 2);  // the first eight micro-batches, reducing and updating
}

// One upload of the rows, one graph, one download of the logits of the rows that ran, one wait.
void test_decode_step(void**) {
    {
        OwnedContext context;
        OwnedModel model;
        OwnedGenerator generator;
        volta_generator_options options = {};
        options.struct_size = sizeof options;
        assert_true(ok(make_context(context)) && ok(make_model(context, model)) &&
                    ok(volta_generator_create(model.object, &options, &generator.object)));
        const std::int32_t prompt[] = {1, 2, 3, 4, 5};
        assert_true(ok(volta_generator_start(generator.object, prompt, 5)));
        const auto step = [&] {
            std::int32_t token;
            assert_true(ok(volta_generator_next(generator.object, &token)));
        };
        step(), step(), step();  // the prompt, and one token twice
        for (int i = 0; i < 3; ++i) {
            const Turn turn = turn_of(context, step);
            assert_int_equal(turn.uploads, 1);
            assert_int_equal(turn.downloads, 1);
            assert_int_equal(turn.graphs, 1);
            assert_int_equal(turn.waits, 1);
            assert_in_range(turn.upload_bytes, 16, 4 * 4 * 256);
            assert_int_equal(turn.download_bytes, kVocabulary * 4);
        }
    }
    assert_true(nothing_is_left());
}

// Tensors of the host up to 1 MiB go through memory of the session's own, larger ones as they are.
void test_session_run(void**) {
    {
        OwnedContext context;
        OwnedModel model;
        assert_true(ok(make_context(context)) && ok(make_model(context, model)));
        for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{3}}) {
            const std::int64_t in_shape[] = {rows, kContext}, out_shape[] = {rows, kContext, kVocabulary};
            volta_session_options options = {};
            options.struct_size = sizeof options;
            options.input_shapes = in_shape;
            options.input_extent_count = 2;
            Owned<volta_session, volta_session_release> session;
            Owned<volta_tensor, volta_tensor_release> in, out;
            assert_true(ok(volta_session_create(model.object, &options, &session.object)) &&
                        ok(volta_tensor_create(context.object, VOLTA_I32, in_shape, 2, &in.object)) &&
                        ok(volta_tensor_create(context.object, VOLTA_F32, out_shape, 3, &out.object)));
            const volta_tensor* const inputs[] = {in.object};
            volta_tensor* const outputs[] = {out.object};
            const auto run = [&] {
                assert_true(ok(volta_session_run(session.object, inputs, 1, outputs, 1)));
            };
            run(), run();
            const Turn turn = turn_of(context, run);
            assert_int_equal(turn.uploads, 1);
            assert_int_equal(turn.downloads, 1);
            assert_int_equal(turn.graphs, 1);
            assert_int_equal(turn.waits, 1);
            assert_int_equal(turn.upload_bytes, rows * kContext * 4);
            assert_int_equal(turn.download_bytes, rows * kContext * kVocabulary * 4);
        }
    }
    assert_true(nothing_is_left());
}

// Bytes that are in use: the device's, from what is left of the budget; pinned; and the host's tensors.
struct Held {
    std::uint64_t device, pinned, tensors;
    explicit Held(const OwnedContext& context) {
        const Counters now(context);
        device = kBudget - now.device.free_bytes;
        pinned = fake_counts().pinned_bytes;
        tensors = now.host.tensor_bytes;
    }
};

// A bill is what is held, to the byte, and its classes but staging are the device's alone.
void check_bill(const volta_bill& bill, const Held& before, const Held& after) {
    const std::uint64_t device = after.device - before.device, pinned = after.pinned - before.pinned;
    const std::uint64_t on_device = bill.parameters + bill.gradients + bill.optimizer_state +
                                    bill.activations + bill.workspace + bill.cache;
    assert_int_equal(bill.total, on_device + bill.staging);
    assert_int_equal(bill.total, device + pinned + after.tensors - before.tensors);
    assert_true(device >= on_device);
    assert_int_equal(bill.staging, device - on_device + pinned + after.tensors - before.tensors);
}

void test_bill_of_a_trainer(void**) {
    OwnedContext context;
    OwnedModel model;
    OwnedTrainer trainer;
    assert_true(ok(make_context(context)) && ok(make_model(context, model)));
    const Held before(context);
    assert_true(ok(make_trainer(model, trainer)));
    volta_bill bill = {};
    bill.struct_size = sizeof bill;
    assert_true(ok(volta_trainer_get_bill(trainer.object, &bill)));
    check_bill(bill, before, Held(context));
    assert_int_equal(bill.cache, 0);
    assert_true(bill.activations > 0 && bill.workspace > 0);
    assert_int_equal(bill.optimizer_state, 2 * bill.parameters);  // AdamW
    assert_int_equal(bill.gradients, bill.parameters);
    const Held made(context);
    assert_true(ok(give_tokens(trainer)) && ok(volta_trainer_step_tokens(trainer.object, nullptr)));
    assert_int_equal(Held(context).device, made.device);
    assert_int_equal(Held(context).pinned, made.pinned);
    // Copies that the host asked for are there until the next step, and no longer.
    char hash[33];
    assert_true(ok(volta_trainer_hash(trainer.object, hash)));
    assert_true(Held(context).pinned > made.pinned);
    assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
    assert_int_equal(Held(context).pinned, made.pinned);
}

// The programs of a generator, for 1, 2, 3, 4 rows and for pieces of prompts, have one place for logits.
void test_bill_of_a_generator(void**) {
    for (const std::uint32_t flags : {0u, unsigned{VOLTA_GENERATOR_NO_CACHE}}) {
        OwnedContext context;
        OwnedModel model;
        OwnedGenerator generator;
        assert_true(ok(make_context(context)) && ok(make_model(context, model)));
        const Held before(context);
        volta_generator_options options = {};
        options.struct_size = sizeof options;
        options.sequences = 4;
        options.flags = flags;
        assert_true(ok(volta_generator_create(model.object, &options, &generator.object)));
        volta_bill bill = {};
        bill.struct_size = sizeof bill;
        assert_true(ok(volta_generator_get_bill(generator.object, &bill)));
        const Held after(context);
        check_bill(bill, before, after);
        const std::uint64_t row = kVocabulary * sizeof(float), rows = flags == 0 ? 4 : 1;
        const std::uint64_t staging =
            after.device - before.device - bill.parameters - bill.activations - bill.workspace - bill.cache;
        assert_in_range(staging, rows * row, (rows + 1) * row - 1);
    }
}

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

struct Faulty {
    const char* call;
    int calls_before = 0;  // the last step
};

// Trains kSteps steps, the last of which meets the failure, and saves before it. `after` is told the status
// and sentence of that step.
using After = std::function<void(volta_status, const std::string&, OwnedTrainer&)>;
void train(const char* path, Faulty* counted, const char* call, const After& after) {
    OwnedContext context;
    OwnedModel model;
    OwnedTrainer trainer;
    assert_true(ok(make_context(context)) && ok(make_model(context, model)) &&
                ok(make_trainer(model, trainer)) && ok(give_tokens(trainer)));
    for (int i = 0; i + 1 < kSteps; ++i) assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
    assert_true(ok(volta_trainer_save(trainer.object, path)));
    if (counted != nullptr) counted->calls_before = fake_calls(call);
    const volta_status status = volta_trainer_step_tokens(trainer.object, nullptr);
    after(status, volta_last_error(), trainer);
}

// A failure that the device survives: the step has not been made, has read nothing, and is made by the next
// call. One that it does not survive: every later call says so, and what was saved before is whole.
void test_failures_in_a_step(void**) {
    const std::string file = std::string(kernels) + "/checkpoint.volta";
    const char* const path = file.c_str();
    std::string whole;
    for (const char* call :
         {"cuMemcpyHtoDAsync_v2", "cuGraphLaunch", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}) {
        Faulty faulty{call};
        train(path, &faulty, call, [&](volta_status status, const std::string&, OwnedTrainer& trainer) {
            assert_true(ok(status));
            whole = hash_of(trainer);
        });
        const std::string saved = hash_of_file(path);
        assert_true(!saved.empty() && saved != whole);
        for (int i = 1; i <= (strcmp(call, "cuGraphLaunch") == 0 ? kStepGraphs : 1); ++i) {
            const std::string nth = std::string(call) + ":" + std::to_string(faulty.calls_before + i);
            {
                const Setting fault("VOLTA_FAKE_CUDA_FAIL", nth + ":1");
                train(path, nullptr, call,
                      [&](volta_status status, const std::string& text, OwnedTrainer& trainer) {
                          assert_int_equal(status, VOLTA_DEVICE_ERROR);
                          assert_non_null(strstr(text.c_str(), call));
                          assert_true(ok(volta_trainer_step_tokens(trainer.object, nullptr)));
                          assert_string_equal(hash_of(trainer).c_str(), whole.c_str());
                      });
            }
            assert_true(nothing_is_left());
            assert_string_equal(hash_of_file(path).c_str(), saved.c_str());
            if (i == 1) {  // the device is gone whichever it was
                const Setting fault("VOLTA_FAKE_CUDA_FAIL", nth + ":719");
                train(path, nullptr, call,
                      [&](volta_status status, const std::string& text, OwnedTrainer& trainer) {
                          assert_int_equal(status, VOLTA_DEVICE_ERROR);
                          for (int again = 0; again < 2; ++again) {
                              assert_int_equal(volta_trainer_step_tokens(trainer.object, nullptr),
                                               VOLTA_DEVICE_ERROR);
                              assert_string_equal(volta_last_error(), text.c_str());
                          }
                          assert_int_equal(volta_trainer_save(trainer.object, path), VOLTA_DEVICE_ERROR);
                      });
            }
            assert_true(nothing_is_left());
            assert_string_equal(hash_of_file(path).c_str(), saved.c_str());
        }
    }
}

// A trainer that does not fit says so, leaves nothing behind, and a generator fits in the same context.
void test_out_of_memory(void**) {
    {
        OwnedContext context;
        OwnedModel model;
        OwnedTrainer trainer;
        OwnedGenerator generator;
        assert_true(ok(make_context(context, std::uint64_t{2} << 20)) && ok(make_model(context, model)));
        const volta::fake::Counts before = fake_counts();
        assert_int_equal(make_trainer(model, trainer), VOLTA_OUT_OF_MEMORY);
        assert_non_null(strstr(volta_last_error(), "the device has 2097152; largest: "));
        assert_null(trainer.object);
        assert_int_equal(fake_counts().bytes, before.bytes);
        assert_int_equal(fake_counts().pinned_bytes, before.pinned_bytes);
        volta_generator_options options = {};
        options.struct_size = sizeof options;
        assert_true(ok(volta_generator_create(model.object, &options, &generator.object)));
        const std::int32_t prompt[] = {1, 2, 3};
        std::int32_t token;
        assert_true(ok(volta_generator_start(generator.object, prompt, 3)));
        assert_true(ok(volta_generator_next(generator.object, &token)));
    }
    assert_true(nothing_is_left());
}

// Another clock than the device's would measure how long the host waits for its turn.
void test_peaks(void**) {
    {
        OwnedContext context;
        assert_true(ok(make_context(context)));
        volta_machine_speed speed = {};
        speed.struct_size = sizeof speed;
        assert_true(ok(volta_measure_machine(context.object, &speed)));
        assert_true(speed.fma_gflops > 0 && speed.read_gb_s > 0 && speed.fma_spread >= 0);
        assert_true(speed.read_gb_s == speed.stream_gb_s && speed.read_spread == speed.stream_spread);
        assert_int_equal(speed.thread_count, 0);
        assert_int_equal(speed.isa, VOLTA_ISA_AUTO);
        assert_int_equal(speed.buffer_bytes, std::uint64_t{512} << 20);
        assert_int_equal(Held(context).device, 0);
    }
    assert_true(nothing_is_left());
}

}  // namespace

int main() {
    if (mkdtemp(kernels) == nullptr) return 1;
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_training_step),      cmocka_unit_test(test_many_micro_batches),
        cmocka_unit_test(test_decode_step),        cmocka_unit_test(test_session_run),
        cmocka_unit_test(test_bill_of_a_trainer),  cmocka_unit_test(test_bill_of_a_generator),
        cmocka_unit_test(test_out_of_memory),      cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_failures_in_a_step),
    };
    const int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
    std::filesystem::remove_all(kernels);
    return failed;
}
