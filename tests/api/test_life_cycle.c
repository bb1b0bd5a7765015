/* Define, train, save, resume, load, run and generate through the public header, and what each promises. */
#include <math.h>

#include "tests/api/api_test.h"

static const char* const kPath = "test_life_cycle.volta";

static void train_steps(volta_trainer* trainer, int steps, volta_step_report* report) {
    for (int i = 0; i < steps; ++i) {
        report->struct_size = sizeof *report;
        assert_ok(volta_trainer_step_tokens(trainer, report));
    }
}

static volta_trainer* make_trainer(volta_model* model, const volta_trainer_options* options) {
    volta_trainer* trainer;
    static int32_t tokens[4000];
    fill_tokens(tokens, 4000);
    assert_ok(volta_trainer_create(model, options, &trainer));
    assert_ok(volta_trainer_set_tokens(trainer, tokens, 4000));
    return trainer;
}

static void test_training_lowers_the_loss(void** state) {
    (void)state;
    volta_context* context;
    volta_model* model;
    const int64_t shape[] = {4, kContext};
    const volta_trainer_options options = small_trainer_options(shape);
    volta_step_report first = {0}, last = {0};
    assert_ok(context_on(NULL, 0, 0, 0, &context));
    assert_ok(small_gpt(context, 0, &model));
    volta_trainer* trainer = make_trainer(model, &options);
    train_steps(trainer, 1, &first);
    train_steps(trainer, 39, &last);
    assert_true(first.loss > 3.2f && first.loss < 3.6f); /* ln 29 = 3.37: nothing is known at the start */
    assert_true(last.loss < first.loss - 0.3f);
    assert_int_equal(last.step, 40);
    assert_true(last.gradient_norm > 0);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

/* The other architecture, through the same calls: it learns, it goes on where it stopped, it writes. */
static void test_a_llama_lives_as_well(void** state) {
    (void)state;
    const int64_t shape[] = {4, kContext};
    const volta_trainer_options options = small_trainer_options(shape);
    for (int32_t untied = 0; untied < 2; ++untied) {
        volta_context* context;
        volta_model *model, *opened;
        volta_generator* generator;
        volta_generator_options sampling = {0};
        volta_step_report first = {0}, last = {0};
        static int32_t tokens[4000];
        char whole[33], resumed[33];
        int32_t token = 1;
        assert_ok(context_on(NULL, 2, 0, 0, &context));
        assert_ok(small_llama(context, untied, &model));
        volta_trainer* trainer = make_trainer(model, &options);
        train_steps(trainer, 1, &first);
        train_steps(trainer, 16, &last);
        assert_ok(volta_trainer_save(trainer, kPath));
        train_steps(trainer, 23, &last);
        assert_true(first.loss > 3.2f && first.loss < 3.6f); /* ln 29 = 3.37 */
        assert_true(last.loss < first.loss - 0.3f);
        assert_ok(volta_trainer_hash(trainer, whole));
        volta_trainer_release(trainer);
        volta_model_release(model);

        assert_ok(volta_model_open(context, kPath, NULL, &opened));
        assert_ok(volta_trainer_resume(opened, NULL, &trainer));
        fill_tokens(tokens, 4000);
        assert_ok(volta_trainer_set_tokens(trainer, tokens, 4000));
        train_steps(trainer, 23, &last);
        assert_ok(volta_trainer_hash(trainer, resumed));
        assert_string_equal(resumed, whole);
        assert_ok(volta_trainer_update_model(trainer));
        volta_trainer_release(trainer);

        sampling.struct_size = sizeof sampling;
        assert_ok(volta_generator_create(opened, &sampling, &generator));
        assert_ok(volta_generator_start(generator, &token, 1));
        int known = 0;
        for (int i = 1; i < kContext; ++i) {
            int32_t next;
            assert_ok(volta_generator_next(generator, &next));
            known += next == (5 * token + 1) % kVocabulary || next == (5 * token + 2) % kVocabulary;
            token = next;
        }
        assert_true(known > 10); /* by chance 2 of 31 */
        volta_generator_release(generator);
        volta_model_release(opened);
        volta_context_release(context);
        remove(kPath);
    }
}

/* Stop at half, save, open in another context, go on: the hash of the run that never stopped. */
static void test_resume_goes_on_bit_for_bit(void** state) {
    (void)state;
    const int64_t shape[] = {4, kContext};
    volta_trainer_options options = small_trainer_options(shape);
    char whole[33], resumed[33];
    for (int dropout = 0; dropout < 2; ++dropout) {
        options.beta1 = dropout ? -1 : 0; /* none, or the default; the file says which */
        volta_context* context;
        volta_model* model;
        volta_step_report report = {0};
        assert_ok(context_on(NULL, 2, 0, 0, &context));
        assert_ok(small_gpt(context, dropout ? 0.1 : 0, &model));
        volta_trainer* trainer = make_trainer(model, &options);
        train_steps(trainer, 17, &report);
        assert_ok(volta_trainer_save(trainer, kPath));
        train_steps(trainer, 23, &report);
        assert_ok(volta_trainer_hash(trainer, whole));
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_context_release(context);

        static int32_t tokens[4000];
        fill_tokens(tokens, 4000);
        assert_ok(context_on(NULL, 1, 0, 0, &context));
        assert_ok(volta_model_open(context, kPath, NULL, &model));
        assert_ok(volta_trainer_resume(model, dropout ? NULL : &options, &trainer));
        volta_model_release(model);
        assert_int_equal(volta_trainer_current_step(trainer), 17);
        assert_ok(volta_trainer_set_tokens(trainer, tokens, 4000));
        train_steps(trainer, 23, &report);
        assert_ok(volta_trainer_hash(trainer, resumed));
        assert_string_equal(whole, resumed);
        volta_trainer_release(trainer);
        volta_context_release(context);
    }
    remove(kPath);
}

static void test_resume_refuses_what_contradicts(void** state) {
    (void)state;
    volta_context* context;
    volta_model *model, *opened;
    volta_trainer *trainer, *other;
    const int64_t shape[] = {4, kContext};
    volta_trainer_options options = small_trainer_options(shape);
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(small_gpt(context, 0, &model));
    assert_fails(volta_trainer_resume(model, NULL, &other), VOLTA_INVALID_STATE,
                 "the model is no checkpoint: it has no training state");
    trainer = make_trainer(model, &options);
    assert_ok(volta_trainer_save(trainer, kPath));
    assert_ok(volta_model_open(context, kPath, NULL, &opened));
    options.learning_rate = 0.5;
    assert_fails(volta_trainer_resume(opened, &options, &other), VOLTA_INVALID_ARGUMENT,
                 "learning_rate is 0.5, the checkpoint was trained with 0.0030000000000000001");
    assert_null(other);
    options = small_trainer_options(shape);
    options.beta1 = -1; /* none: a zero is the default */
    assert_fails(volta_trainer_resume(opened, &options, &other), VOLTA_INVALID_ARGUMENT,
                 "beta1 is -1, the checkpoint was trained with 0.90000000000000002");
    options = small_trainer_options(shape);
    options.steps = 41;
    assert_fails(volta_trainer_resume(opened, &options, &other), VOLTA_INVALID_ARGUMENT,
                 "steps is 41, the checkpoint was trained with 40");
    static int32_t tokens[4000] = {0}; /* another text */
    assert_ok(volta_trainer_resume(opened, NULL, &other));
    assert_int_equal(volta_trainer_set_tokens(other, tokens, 4000), VOLTA_INVALID_ARGUMENT);
    assert_non_null(strstr(volta_last_error(), "the text is not the one that the checkpoint was trained on"));
    volta_trainer_release(other);
    volta_trainer_release(trainer);
    volta_model_release(opened);
    volta_model_release(model);
    volta_context_release(context);
    remove(kPath);
}

/* The trainer's hash, the model's after update_model, the saved file's mapped and copied: all one. */
static void test_one_hash_before_and_after_the_file(void** state) {
    (void)state;
    volta_context* context;
    volta_model *model, *mapped, *copied;
    const int64_t shape[] = {4, kContext};
    const volta_trainer_options options = small_trainer_options(shape);
    volta_step_report report = {0};
    char hash[4][33];
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    assert_ok(small_gpt(context, 0, &model));
    volta_trainer* trainer = make_trainer(model, &options);
    train_steps(trainer, 3, &report);
    assert_ok(volta_trainer_hash(trainer, hash[0]));
    assert_ok(volta_trainer_update_model(trainer));
    assert_ok(volta_model_hash(model, hash[1]));
    assert_ok(volta_trainer_save(trainer, kPath));
    volta_open_options copy = {sizeof copy, VOLTA_LOAD_COPY, 0};
    assert_ok(volta_model_open(context, kPath, NULL, &mapped));
    assert_ok(volta_model_open(context, kPath, &copy, &copied));
    assert_ok(volta_model_hash(mapped, hash[2]));
    assert_ok(volta_model_hash(copied, hash[3]));
    for (int i = 1; i < 4; ++i) assert_string_equal(hash[0], hash[i]);
    volta_model_release(copied);
    volta_model_release(mapped);
    volta_model_release(model);
    assert_fails(volta_trainer_update_model(trainer), VOLTA_INVALID_STATE, "the model has been released");
    volta_trainer_release(trainer);
    volta_context_release(context);
    remove(kPath);
}

/* 2 micro-batches of 512 tokens are one batch of 1,024, tied head and dropout included. */
static void test_micro_batches(void** state) {
    (void)state;
    char hash[2][33];
    for (int cut = 0; cut < 2; ++cut) {
        volta_context* context;
        volta_model* model;
        const int64_t shape[] = {cut ? 16 : 32, kContext};
        volta_trainer_options options = small_trainer_options(shape);
        volta_step_report report = {0};
        options.micro_batches = cut ? 2 : 1;
        assert_ok(context_on(NULL, 2, 0, 0, &context));
        assert_ok(small_gpt(context, 0.1, &model));
        volta_trainer* trainer = make_trainer(model, &options);
        train_steps(trainer, 5, &report);
        assert_ok(volta_trainer_hash(trainer, hash[cut]));
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_context_release(context);
    }
    assert_string_equal(hash[0], hash[1]);
}

/* What holds for every architecture is tested with each: the test's state is one of these. */
struct architecture {
    volta_status (*make)(volta_context* context, int32_t variant, volta_model** out);
};
static volta_status plain_gpt(volta_context* context, int32_t variant, volta_model** out) {
    (void)variant;
    return small_gpt(context, 0, out);
}
static struct architecture gpt = {plain_gpt}, llama = {small_llama};

/* After the first step a step, a run and a generated token allocate nothing; the peak is the bill. */
static void test_nothing_is_allocated_after_warm_up(void** state) {
    const struct architecture* const architecture = *state;
    struct counting_heap heap = {0};
    volta_context* context;
    volta_model *model, *mapped;
    const int64_t shape[] = {4, kContext};
    const volta_trainer_options options = small_trainer_options(shape);
    volta_step_report report = {0};
    assert_ok(context_on(&heap, 2, 0, 0, &context));
    assert_ok(architecture->make(context, 0, &model));
    assert_ok(volta_model_save(model, kPath));
    volta_model_release(model);
    assert_int_equal(heap.tensor_bytes, 0);

    heap.tensor_peak = 0;
    assert_ok(volta_model_open(context, kPath, NULL, &mapped)); /* mapped: no tensor bytes of its own */
    volta_trainer* trainer = make_trainer(mapped, &options);
    volta_bill bill = {0};
    bill.struct_size = sizeof bill;
    assert_ok(volta_trainer_get_bill(trainer, &bill));
    train_steps(trainer, 1, &report);
    const uint64_t before = heap.count;
    train_steps(trainer, 5, &report);
    assert_int_equal(heap.count, before);
    assert_int_equal(heap.tensor_peak, bill.total);
    assert_int_equal(bill.total, bill.parameters + bill.gradients + bill.optimizer_state + bill.activations +
                                     bill.workspace + bill.staging);
    assert_true(bill.parameters > 0 && bill.gradients == bill.parameters &&
                bill.optimizer_state == 2 * bill.parameters);
    volta_trainer_release(trainer);

    heap.tensor_peak = heap.tensor_bytes;
    volta_generator* generator;
    volta_generator_options sampling = {0};
    sampling.struct_size = sizeof sampling;
    sampling.temperature = 1;
    sampling.top_k = 5;
    sampling.top_p = 0.9;
    assert_ok(volta_generator_create(mapped, &sampling, &generator));
    bill.struct_size = sizeof bill;
    assert_ok(volta_generator_get_bill(generator, &bill));
    const int32_t prompt[] = {1, 2, 3};
    int32_t token;
    assert_ok(volta_generator_start(generator, prompt, 3));
    assert_ok(volta_generator_next(generator, &token));
    const uint64_t generated_before = heap.count;
    for (int i = 4; i < kContext; ++i) assert_ok(volta_generator_next(generator, &token));
    assert_int_equal(heap.count, generated_before);
    assert_int_equal(heap.tensor_peak, bill.total);
    assert_int_equal(volta_generator_next(generator, &token), VOLTA_INVALID_STATE);
    volta_generator_release(generator);

    volta_session* session;
    volta_session_options session_options = {sizeof session_options, shape, 2, 0};
    heap.tensor_peak = heap.tensor_bytes;
    assert_ok(volta_session_create(mapped, &session_options, &session));
    bill.struct_size = sizeof bill;
    assert_ok(volta_session_get_bill(session, &bill));
    assert_int_equal(heap.tensor_peak, bill.total);
    volta_tensor *x, *y;
    const int64_t y_shape[] = {4, kContext, kVocabulary};
    assert_ok(volta_tensor_create(context, VOLTA_I32, shape, 2, &x));
    assert_ok(volta_tensor_create(context, VOLTA_F32, y_shape, 3, &y));
    const volta_tensor* inputs[] = {x};
    assert_ok(volta_session_run(session, inputs, 1, &y, 1));
    const uint64_t run_before = heap.count;
    assert_ok(volta_session_run(session, inputs, 1, &y, 1));
    assert_int_equal(heap.count, run_before);
    volta_tensor_release(x);
    volta_tensor_release(y);
    volta_session_release(session);
    volta_model_release(mapped);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
    remove(kPath);
}

/* x w as a model with w [k, n], or [n, k] where it is transposed, and a bias. */
/* y = x w + bias, then so many times x w is added: products that read the weight in the same way, through a
 * reshape. */
static volta_model* make_product(volta_context* context, const int64_t* x_shape, int64_t n, int transposed,
                                 int again) {
    volta_graph* graph;
    volta_model* model;
    volta_value values[2], bias, factors[2];
    const int64_t k = x_shape[1], w_shape[] = {1, transposed ? n : k, transposed ? k : n};
    const volta_init init = {VOLTA_INIT_NORMAL, 1, 0};
    const volta_attribute attribute = {"transpose_b", transposed, NULL, 0};
    const volta_attribute shape = {"shape", 0, w_shape + 1, 2};
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, x_shape, 2, &values[0]));
    assert_ok(volta_graph_parameter(graph, "w", w_shape, 3, &init, &values[1]));
    assert_ok(volta_graph_parameter(graph, "bias", &n, 1, &init, &bias));
    assert_ok(volta_graph_apply(graph, "reshape", &values[1], 1, &shape, 1, &values[1], 1));
    factors[0] = values[0];
    factors[1] = values[1];
    assert_ok(volta_graph_apply(graph, "matmul", values, 2, &attribute, 1, values, 1));
    assert_ok(volta_graph_binary(graph, "add", values[0], bias, values));
    for (int i = 0; i < again; ++i) {
        volta_value other;
        assert_ok(volta_graph_unary(graph, "tanh", factors[0], &factors[0]));
        assert_ok(volta_graph_apply(graph, "matmul", factors, 2, &attribute, 1, &other, 1));
        assert_ok(volta_graph_binary(graph, "add", values[0], other, values));
    }
    assert_ok(volta_graph_output(graph, "y", values[0]));
    assert_ok(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    return model;
}

/* Packed weights change no bit, follow the model's parameters, and are on the bill. */
static void check_packed(volta_isa isa, uint32_t threads, int64_t m, int64_t k, int64_t n, int transposed) {
    volta_context* context;
    volta_session *plain, *packed;
    volta_tensor *x, *y[2];
    volta_bill bill = {0};
    const int64_t x_shape[] = {m, k}, y_shape[] = {m, n};
    volta_session_options options = {0};
    if (context_on(NULL, threads, isa, 0, &context) == VOLTA_UNSUPPORTED) return;
    volta_model* const model = make_product(context, x_shape, n, transposed, 0);
    options.struct_size = sizeof options;
    assert_ok(volta_session_create(model, &options, &plain));
    options.flags = VOLTA_SESSION_PACK_WEIGHTS;
    assert_ok(volta_session_create(model, &options, &packed));
    bill.struct_size = sizeof bill;
    assert_ok(volta_session_get_bill(plain, &bill));
    assert_int_equal(bill.parameters, 0);
    assert_ok(volta_session_get_bill(packed, &bill));
    assert_true(bill.parameters >= (uint64_t)(k * n) * sizeof(float));
    assert_ok(volta_tensor_create(context, VOLTA_F32, x_shape, 2, &x));
    for (int i = 0; i < 2; ++i) assert_ok(volta_tensor_create(context, VOLTA_F32, y_shape, 2, &y[i]));
    float* const values = volta_tensor_data(x);
    for (int64_t i = 0; i < m * k; ++i) values[i] = (float)((i * 37 + 11) % 101) / 16 - 3;
    const volta_tensor* inputs[] = {x};
    for (int round = 0; round < 2; ++round) {
        assert_ok(volta_session_run(plain, inputs, 1, &y[0], 1));
        assert_ok(volta_session_run(packed, inputs, 1, &y[1], 1));
        assert_memory_equal(volta_tensor_data(y[0]), volta_tensor_data(y[1]),
                            (size_t)(m * n) * sizeof(float));
        float* const other = malloc((size_t)(k * n) * sizeof(float));
        assert_non_null(other);
        for (int64_t i = 0; i < k * n; ++i) other[i] = (float)((i * 53 + 7) % 89) / 32 - 1;
        assert_ok(volta_model_set_parameter(model, "w", other, (size_t)(k * n)));
        free(other);
    }
    volta_session_release(plain);
    volta_session_release(packed);
    volta_tensor_release(x);
    for (int i = 0; i < 2; ++i) volta_tensor_release(y[i]);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_packed_weights_change_nothing(void** state) {
    (void)state;
    static const int64_t kSizes[][3] = {
        {1, 300, 65}, {5, 1030, 100}, {70, 5000, 33}, {128, 64, 530}, {40, 513, 1}};
    for (volta_isa isa = VOLTA_ISA_SCALAR; isa <= VOLTA_ISA_AVX512; ++isa)
        for (size_t i = 0; i < sizeof kSizes / sizeof kSizes[0]; ++i)
            for (int transposed = 0; transposed < 2; ++transposed)
                for (uint32_t threads = 1; threads <= 3; threads += 2)
                    check_packed(isa, threads, kSizes[i][0], kSizes[i][1], kSizes[i][2], transposed);
}

/* Steps that read a weight in the same way keep one copy of it. */
static void test_packed_weights_are_shared(void** state) {
    (void)state;
    const int64_t x_shape[] = {1, 300};
    uint64_t bytes[2];
    for (int again = 0; again < 2; ++again) {
        volta_context* context;
        volta_session* session;
        volta_bill bill = VOLTA_BILL_INIT;
        volta_session_options options = {0};
        assert_ok(context_on(NULL, 2, 0, 0, &context));
        volta_model* const model = make_product(context, x_shape, 512, 1, again ? 1 : 3);
        options.struct_size = sizeof options;
        options.flags = VOLTA_SESSION_PACK_WEIGHTS;
        assert_ok(volta_session_create(model, &options, &session));
        assert_ok(volta_session_get_bill(session, &bill));
        bytes[again] = bill.parameters;
        assert_true(bill.parameters >= 300 * 512 * sizeof(float));
        volta_session_release(session);
        volta_model_release(model);
        volta_context_release(context);
    }
    /* The first has an epilogue, which may ask for another way. */
    assert_int_equal(bytes[0], bytes[1]);
    assert_true(bytes[0] <= 3 * 300 * 512 * sizeof(float));
}

/* The logits that a token is drawn of are those of a session over the exact sequence. */
static void test_generator_agrees_with_session(void** state) {
    const struct architecture* const architecture = *state;
    volta_context* context;
    volta_model* model;
    volta_generator* generator;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    assert_ok(architecture->make(context, 0, &model));
    volta_generator_options greedy = {0};
    greedy.struct_size = sizeof greedy;
    assert_ok(volta_generator_create(model, &greedy, &generator));
    int32_t sequence[kContext] = {5, 6, 7};
    assert_ok(volta_generator_start(generator, sequence, 3));
    for (int used = 3; used < kContext; ++used) {
        const float* drawn;
        size_t count;
        assert_ok(volta_generator_next(generator, &sequence[used]));
        assert_ok(volta_generator_logits(generator, &drawn, &count));
        assert_int_equal(count, kVocabulary);
        const int64_t shape[] = {1, used}, out_shape[] = {1, used, kVocabulary};
        volta_session_options options = {sizeof options, shape, 2, 0};
        volta_session* session;
        volta_tensor *x, *y;
        assert_ok(volta_session_create(model, &options, &session));
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, sequence, &x));
        assert_ok(volta_tensor_create(context, VOLTA_F32, out_shape, 3, &y));
        const volta_tensor* inputs[] = {x};
        assert_ok(volta_session_run(session, inputs, 1, &y, 1));
        const float* last = (const float*)volta_tensor_data(y) + (used - 1) * kVocabulary;
        assert_memory_equal(last, drawn, kVocabulary * sizeof(float));
        volta_tensor_release(x);
        volta_tensor_release(y);
        volta_session_release(session);
    }
    volta_generator_release(generator);
    volta_model_release(model);
    volta_context_release(context);
}

/* Extents that the host chooses show as -1, in outputs as in inputs. */
static void test_open_extents_are_told(void** state) {
    (void)state;
    volta_context* context;
    volta_model* model;
    volta_tensor_info info;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(small_gpt(context, 0, &model));
    assert_ok(volta_model_input_info(model, 0, &info));
    assert_int_equal(info.rank, 2);
    assert_true(info.shape[0] == -1 && info.shape[1] == -1);
    assert_ok(volta_model_output_info(model, 0, &info));
    assert_int_equal(info.rank, 3);
    assert_true(info.shape[0] == -1 && info.shape[1] == -1 && info.shape[2] == kVocabulary);
    volta_model_release(model);
    volta_context_release(context);
}

/* y = 3 a - 2 b + 1 is found from 64 points: MSE, each optimizer. */
/* The loss of a text is the mean over its predictions: of whole windows and of what is left. */
static void test_evaluated_texts(void** state) {
    (void)state;
    enum { kRest = 5, kCount = 2 * kContext + kRest + 1 };
    volta_context* context;
    volta_model* model;
    int32_t tokens[kCount];
    double whole, first, second, rest;
    fill_tokens(tokens, kCount);
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(small_gpt(context, 0, &model));
    assert_ok(volta_model_evaluate_tokens(model, tokens, kCount, &whole));
    assert_ok(volta_model_evaluate_tokens(model, tokens, kContext + 1, &first));
    assert_ok(volta_model_evaluate_tokens(model, tokens + kContext, kContext + 1, &second));
    assert_ok(volta_model_evaluate_tokens(model, tokens + 2 * kContext, kRest + 1, &rest));
    const double expected = (kContext * (first + second) + kRest * rest) / (kCount - 1);
    assert_true(whole > expected - 1e-9 && whole < expected + 1e-9);
    assert_true(first != second && second != rest && rest > 1); /* log(29) is 3.4 */
    volta_model_release(model);
    volta_context_release(context);
}

static void test_linear_regression(void** state) {
    (void)state;
    static const struct {
        volta_optimizer optimizer;
        double learning_rate, momentum;
        int nesterov;
    } kRuns[] = {{VOLTA_SGD, 0.1, 0, 0},   {VOLTA_SGD, 0.05, 0.9, 0}, {VOLTA_SGD, 0.05, 0.9, 1},
                 {VOLTA_ADAM, 0.05, 0, 0}, {VOLTA_ADAMW, 0.05, 0, 0}, {VOLTA_ADAGRAD, 0.5, 0, 0}};
    for (size_t run = 0; run < sizeof kRuns / sizeof kRuns[0]; ++run) {
        volta_context* context;
        volta_graph* graph;
        volta_model* model;
        volta_trainer* trainer;
        volta_value x, y;
        volta_tensor *points, *targets;
        const int64_t shape[] = {64, 2}, target_shape[] = {64, 1};
        float a[128], b[64];
        for (int i = 0; i < 64; ++i) {
            const int row = i / 8, column = i % 8;
            a[2 * i] = (float)column / 4 - 1;
            a[2 * i + 1] = (float)row / 4 - 1;
            b[i] = 3 * a[2 * i] - 2 * a[2 * i + 1] + 1;
        }
        assert_ok(context_on(NULL, 1, 0, 0, &context));
        assert_ok(volta_graph_create(context, &graph));
        assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
        assert_ok(volta_graph_linear(graph, "line", x, 1, &y));
        assert_ok(volta_graph_output(graph, "y", y));
        assert_ok(volta_model_create(graph, 1, &model));
        volta_graph_release(graph);
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, a, &points));
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, target_shape, 2, b, &targets));
        volta_trainer_options options = {0};
        options.struct_size = sizeof options;
        options.loss = VOLTA_LOSS_MSE;
        options.optimizer = kRuns[run].optimizer;
        options.learning_rate = kRuns[run].learning_rate;
        options.momentum = kRuns[run].momentum;
        options.nesterov = kRuns[run].nesterov;
        assert_ok(volta_trainer_create(model, &options, &trainer));
        volta_bill bill = {0};
        bill.struct_size = sizeof bill;
        assert_ok(volta_trainer_get_bill(trainer, &bill));
        assert_true((bill.optimizer_state == 0) == (options.optimizer == VOLTA_SGD && options.momentum == 0));
        volta_step_report report = {0};
        const volta_tensor* inputs[] = {points};
        const float *weight, *bias, *gradient;
        size_t elements;
        /* Of the mean of squares by the bias: twice the mean of differences. */
        double twice = 0;
        assert_ok(volta_trainer_parameter(trainer, "line.weight", &weight, &elements));
        assert_ok(volta_trainer_parameter(trainer, "line.bias", &bias, &elements));
        for (int i = 0; i < 64; ++i)
            twice += 2.0 / 64 * (weight[0] * a[2 * i] + weight[1] * a[2 * i + 1] + bias[0] - b[i]);
        for (int step = 0; step < 400; ++step) {
            report.struct_size = sizeof report;
            assert_ok(volta_trainer_step(trainer, inputs, 1, targets, &report));
            if (step > 0) continue;
            assert_ok(volta_trainer_gradient(trainer, "line.bias", &gradient, &elements));
            assert_true(gradient[0] > 1.001 * twice - 1e-4 && gradient[0] < 0.999 * twice + 1e-4);
        }
        assert_ok(volta_trainer_parameter(trainer, "line.weight", &weight, &elements));
        assert_int_equal(elements, 2);
        assert_ok(volta_trainer_parameter(trainer, "line.bias", &bias, &elements));
        assert_true(fabsf(weight[0] - 3) < 0.02f && fabsf(weight[1] + 2) < 0.02f &&
                    fabsf(bias[0] - 1) < 0.02f);
        assert_true(report.loss < 1e-3f);
        volta_trainer_release(trainer);
        volta_tensor_release(targets);
        volta_tensor_release(points);
        volta_model_release(model);
        volta_context_release(context);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_lowers_the_loss),
        cmocka_unit_test(test_a_llama_lives_as_well),
        cmocka_unit_test(test_resume_goes_on_bit_for_bit),
        cmocka_unit_test(test_resume_refuses_what_contradicts),
        cmocka_unit_test(test_one_hash_before_and_after_the_file),
        cmocka_unit_test(test_micro_batches),
        cmocka_unit_test_prestate(test_nothing_is_allocated_after_warm_up, &gpt),
        cmocka_unit_test_prestate(test_nothing_is_allocated_after_warm_up, &llama),
        cmocka_unit_test_prestate(test_generator_agrees_with_session, &gpt),
        cmocka_unit_test_prestate(test_generator_agrees_with_session, &llama),
        cmocka_unit_test(test_packed_weights_are_shared),
        cmocka_unit_test(test_packed_weights_change_nothing),
        cmocka_unit_test(test_open_extents_are_told),
        cmocka_unit_test(test_evaluated_texts),
        cmocka_unit_test(test_linear_regression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
