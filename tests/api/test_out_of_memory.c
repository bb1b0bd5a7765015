/* The host may refuse any allocation: for every n the n-th is refused once, over the whole life cycle. Each
 * call then reports OUT_OF_MEMORY, nothing crashes, and nothing is leaked. */
#include "tests/api/api_test.h"
#include "tests/support/sampled.h"

static const char* const kPath = "test_out_of_memory.volta";

/* How many allocations are refused, a sample of them less: the first ones, and of the rest. */
enum { kDense = 300, kSparse = 2000 };

static void count_step(void* user, const volta_plan_step* step) { *(int*)user += step->alive > 0; }

/* The life cycle until the first failure; every object is released. */
static volta_status life_cycle(struct counting_heap* heap) {
    volta_context* context = NULL;
    volta_model *model = NULL, *opened = NULL, *other = NULL;
    volta_trainer* trainer = NULL;
    volta_tokenizer* tokenizer = NULL;
    volta_generator* generator = NULL;
    volta_graph* graph = NULL;
    const int64_t shape[] = {2, 8};
    static int32_t tokens[100];
    int32_t token;
    int steps = 0;
    const char* text;
    volta_status status = context_on(heap, 1, 0, 0, &context);
    volta_gpt_options gpt = {0};
    volta_llama_options llama = {0};
    volta_bert_options bert = {0};
    volta_export_options naming = {0};
    volta_trainer_options options = small_trainer_options(shape), of_run = VOLTA_TRAINER_OPTIONS_INIT;
    volta_generator_options sampling = {0};
    volta_write_options writing = {0};
    const char* const stops[] = {"\n\n", "the end"};
    volta_value x, y;
    fill_tokens(tokens, 100);
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = kVocabulary;
    gpt.layers = 1;
    gpt.dim = 8;
    gpt.heads = 2;
    gpt.context = 8;
    sampling.struct_size = sizeof sampling;
    writing.struct_size = sizeof writing;
    writing.stop_texts = stops;
    writing.stop_text_count = 2;
#define then(call) \
    if (status == VOLTA_OK) status = (call)
    then(volta_graph_create(context, &graph));
    then(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    then(volta_graph_linear(graph, "a", x, 4, &y));
    then(volta_graph_output(graph, "y", y));
    then(volta_graph_print(graph, &text));
    then(volta_model_create_gpt(context, &gpt, 1, &model));
    then(volta_tokenizer_create_char(context, "abcdefghijklmnopqrstuvwxyz\n .", 29, &tokenizer));
    then(volta_model_set_tokenizer(model, tokenizer));
    then(volta_model_set_metadata(model, "title", "a small model"));
    then(volta_trainer_create(model, &options, &trainer));
    then(volta_trainer_set_tokens(trainer, tokens, 100));
    then(volta_trainer_step_tokens(trainer, NULL));
    then(volta_trainer_save(trainer, kPath));
    volta_trainer_release(trainer);
    trainer = NULL;
    then(volta_model_open(context, kPath, NULL, &opened));
    then(volta_trainer_estimate_steps(model, &options, count_step, &steps));
    of_run.update_in_backward = 1; /* with clip_norm: two passes */
    then(volta_trainer_resume(opened, &of_run, &trainer));
    then(volta_trainer_set_tokens(trainer, tokens, 100));
    then(volta_trainer_step_tokens(trainer, NULL));
    then(volta_trainer_print_plan(trainer, &text));
    then(volta_generator_create(opened, &sampling, &generator));
    then(volta_generator_start(generator, tokens, 2));
    then(volta_generator_next(generator, &token));
    then(volta_generator_write(generator, NULL, NULL, &writing, NULL));
    volta_generator_release(generator);
    generator = NULL;
    llama.struct_size = sizeof llama;
    llama.vocabulary = kVocabulary;
    llama.layers = 1;
    llama.dim = 8;
    llama.heads = 2;
    llama.context = 8;
    then(volta_model_create_llama(context, &llama, 1, &other));
    then(volta_generator_create(other, &sampling, &generator));
    volta_generator_release(generator);
    volta_model_release(other);
    other = NULL;
    bert.struct_size = sizeof bert;
    bert.vocabulary = kVocabulary;
    bert.layers = 1;
    bert.dim = 8;
    bert.heads = 2;
    bert.context = 8;
    bert.mask_input = 1;
    then(volta_model_create_bert(context, &bert, 1, &other));
    naming.struct_size = sizeof naming;
    naming.names = VOLTA_NAMES_HUGGING_FACE;
    then(volta_model_export_safetensors_with(other, &naming, kPath));
    then(volta_model_export_onnx(other, NULL, kPath));
    volta_model_release(other);
    other = NULL;
    then(volta_model_import(context, kPath, NULL, &other));
    volta_model_release(other);
    volta_trainer_release(trainer);
    volta_tokenizer_release(tokenizer);
    volta_model_release(opened);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
    return status;
}

static void test_every_allocation_may_be_refused(void** state) {
    (void)state;
    struct counting_heap whole = {0};
    assert_ok(life_cycle(&whole));
    assert_int_equal(whole.live_bytes, 0);
    /* Every n at the start, where the first objects are made, then evenly over the rest. */
    const uint64_t sample = (uint64_t)sample_stride(), stride = sample * (whole.count / kSparse + 1);
    for (uint64_t n = 1; n <= whole.count; n += n < kDense / sample ? 1 : stride) {
        struct counting_heap heap = {0};
        heap.fail_at = n;
        const volta_status status = life_cycle(&heap);
        if (status != VOLTA_OUT_OF_MEMORY || heap.live_bytes != 0)
            print_error("allocation %llu of %llu: %s (%s), %zu bytes leaked\n", (unsigned long long)n,
                        (unsigned long long)whole.count, volta_status_name(status), volta_last_error(),
                        heap.live_bytes);
        assert_int_equal(heap.live_bytes, 0);
        assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
    }
    remove(kPath);
}

/* Each refusal's sentence names the bytes that were asked for; one of them is the tensor's. */
static void test_a_refusal_names_the_bytes(void** state) {
    (void)state;
    static const char kSentence[] = "the host allocator returned NULL for ";
    const int64_t shape[] = {5, 1000};
    volta_status status = VOLTA_OUT_OF_MEMORY;
    int of_the_tensor = 0;
    for (uint64_t n = 1; status == VOLTA_OUT_OF_MEMORY; ++n) {
        struct counting_heap heap = {0};
        volta_context* context = NULL;
        volta_tensor* tensor = NULL;
        assert_ok(context_on(&heap, 1, 0, 0, &context));
        heap.fail_at = heap.count + n;
        status = volta_tensor_create(context, VOLTA_F32, shape, 2, &tensor);
        if (status != VOLTA_OK) {
            assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
            assert_memory_equal(volta_last_error(), kSentence, sizeof kSentence - 1);
            of_the_tensor += strcmp(volta_last_error() + sizeof kSentence - 1, "20000 bytes") == 0;
        }
        volta_tensor_release(tensor);
        volta_context_release(context);
        assert_int_equal(heap.live_bytes, 0);
    }
    assert_int_equal(of_the_tensor, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_may_be_refused),
                                       cmocka_unit_test(test_a_refusal_names_the_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
