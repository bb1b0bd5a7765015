// What moves between the host and a device that needs no GPU, and what is held: the numbers of "What moves"
// in docs/cuda.md, counted where the driver is called.

#include "tests/cuda/device_in_use.h"

namespace {
using namespace volta::test;

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
        waits = fake_calls("cuStreamSynchronize") + fake_calls("cuEventSynchronize");
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

// One upload: tokens, targets and some words; one graph for the gradients of all micro-batches, a download of
// loss, norm and sums, and the update; one wait, for the download.
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
            assert_int_equal(turn.graphs, 1);
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

// An input above 1 MiB goes from where the host has it to where the device wants it.
void test_a_large_input(void**) {
    constexpr std::int64_t kMany = (1 << 18) + 5;
    {
        OwnedContext context;
        OwnedModel model;
        Owned<volta_graph, volta_graph_release> graph;
        Owned<volta_session, volta_session_release> session;
        Owned<volta_tensor, volta_tensor_release> in, out;
        volta_value x, y;
        const std::int64_t many[] = {kMany};
        assert_true(ok(make_context(context)) && ok(volta_graph_create(context.object, &graph.object)) &&
                    ok(volta_graph_input(graph.object, "x", VOLTA_F32, many, 1, &x)) &&
                    ok(volta_graph_unary(graph.object, "neg", x, &y)) &&
                    ok(volta_graph_output(graph.object, "y", y)) &&
                    ok(volta_model_create(graph.object, 1, &model.object)) &&
                    ok(volta_tensor_create(context.object, VOLTA_F32, many, 1, &in.object)) &&
                    ok(volta_tensor_create(context.object, VOLTA_F32, many, 1, &out.object)));
        const Held before(context);
        assert_true(ok(volta_session_create(model.object, nullptr, &session.object)));
        volta_bill bill = {};
        bill.struct_size = sizeof bill;
        assert_true(ok(volta_session_get_bill(session.object, &bill)));
        check_bill(bill, before, Held(context));
        assert_true(bill.staging >= 2 * kMany * sizeof(float));
        auto* const given = static_cast<float*>(volta_tensor_data(in.object));
        const volta_tensor* const inputs[] = {in.object};
        volta_tensor* const outputs[] = {out.object};
        const auto run = [&] {
            for (std::int64_t i = 0; i < kMany; ++i) given[i] = static_cast<float>(i % 1000);
            assert_true(ok(volta_session_run(session.object, inputs, 1, outputs, 1)));
        };
        run(), run();
        const Turn turn = turn_of(context, run);
        assert_int_equal(turn.uploads, 1);
        assert_int_equal(turn.upload_bytes, kMany * sizeof(float));
        assert_int_equal(turn.download_bytes, kMany * sizeof(float));
        const auto* const got = static_cast<const float*>(volta_tensor_data(out.object));
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < kMany; ++i) wrong += got[i] != -static_cast<float>(i % 1000);
        assert_int_equal(wrong, 0);
    }
    assert_true(nothing_is_left());
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

// What the device has no room for, and what only the processor does, is refused by a sentence of its own.
void test_what_is_not_for_a_device(void**) {
    {
        OwnedContext context;
        OwnedModel model;
        OwnedTrainer trainer;
        Owned<volta_session, volta_session_release> session;
        Owned<volta_tape, volta_tape_release> tape;
        assert_true(ok(make_context(context, std::uint64_t{256} << 10)) && ok(make_model(context, model)));
        const std::int64_t shape[] = {1, kContext};
        volta_session_options wanted = {};
        wanted.struct_size = sizeof wanted;
        wanted.input_shapes = shape;
        wanted.input_extent_count = 2;
        assert_int_equal(volta_session_create(model.object, &wanted, &session.object), VOLTA_OUT_OF_MEMORY);
        assert_non_null(strstr(volta_last_error(), "the model's parameters need "));
        assert_non_null(strstr(volta_last_error(), " bytes, the device has 262144"));
        assert_null(session.object);
        assert_int_equal(volta_tape_create(context.object, nullptr, &tape.object), VOLTA_UNSUPPORTED);
        assert_string_equal(volta_last_error(),
                            "a tape computes on the processor, the context's device is another");
    }
    {
        OwnedContext context;
        OwnedModel model;
        OwnedTrainer trainer;
        assert_true(ok(make_context(context)) && ok(make_model(context, model)));
        const std::int64_t shape[] = {kBatch, kContext};
        volta_trainer_options options = {};
        options.struct_size = sizeof options;
        options.input_shapes = shape;
        options.input_extent_count = 2;
        options.state_folder = kernels;
        assert_int_equal(volta_trainer_create(model.object, &options, &trainer.object), VOLTA_UNSUPPORTED);
        assert_string_equal(volta_last_error(),
                            "state_folder is given, and optimizer state lies on the device");
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
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_training_step),     cmocka_unit_test(test_many_micro_batches),
        cmocka_unit_test(test_decode_step),       cmocka_unit_test(test_session_run),
        cmocka_unit_test(test_bill_of_a_trainer), cmocka_unit_test(test_bill_of_a_generator),
        cmocka_unit_test(test_out_of_memory),     cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_a_large_input),     cmocka_unit_test(test_what_is_not_for_a_device),
    };
    return cmocka_run_group_tests(tests, make_kernels, remove_kernels);
}
