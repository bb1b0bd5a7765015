/* The host's memory: an allocator that counts what the library holds and refuses what is beyond a limit.
 *   host_allocator
 */
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
#include <volta.h>

#define CHECK(call)                                                                 \
    do {                                                                            \
        if ((call) != VOLTA_OK) {                                                   \
            fprintf(stderr, "host_allocator: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

/* What is held of each kind of memory: structures (graphs, plans, names), and tensors, which a bill
 * foretells. */
typedef struct account {
    size_t limit, held[2];
} account;

static void* take(void* user, size_t bytes, size_t alignment, volta_memory_kind kind) {
    account* own = user;
    void* memory = NULL;
    if (bytes > own->limit - own->held[0] - own->held[1])
        return NULL; /* no: the call reports OUT_OF_MEMORY */
    if (alignment < sizeof(void*)) alignment = sizeof(void*);
    if (posix_memalign(&memory, alignment, bytes) != 0) return NULL;
    own->held[kind] += bytes;
    return memory;
}

static void give_back(void* user, void* memory, size_t bytes, size_t alignment, volta_memory_kind kind) {
    account* own = user;
    (void)alignment;
    own->held[kind] -= bytes;
    free(memory);
}

int main(void) {
    account own = {64u << 20, {0, 0}}; /* 64 MiB for everything that the library does */
    const volta_allocator allocator = {take, give_back, &own};
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    volta_context* context;
    options.allocator = &allocator;
    CHECK(volta_context_create(&options, &context));

    volta_model* model;
    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    gpt.vocabulary = 256, gpt.layers = 2, gpt.dim = 64, gpt.heads = 4, gpt.context = 32;
    CHECK(volta_model_create_gpt(context, &gpt, 1, &model));

    volta_trainer *trainer, *second = NULL;
    const int64_t batch[] = {8, 32};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    training.input_shapes = batch;
    training.input_extent_count = 2;
    const size_t before = own.held[VOLTA_MEMORY_TENSOR];
    CHECK(volta_trainer_create(model, &training, &trainer));
    volta_bill bill = VOLTA_BILL_INIT;
    CHECK(volta_trainer_get_bill(trainer, &bill));
    const size_t taken = own.held[VOLTA_MEMORY_TENSOR] - before;
    printf("the bill says %llu bytes, the allocator gave %zu\n", (unsigned long long)bill.total, taken);

    /* Nothing is left for a second one: it is refused with a sentence, and the first goes on. */
    const size_t held = own.held[0] + own.held[1];
    own.limit = held + 4096;
    const volta_status status = volta_trainer_create(model, &training, &second);
    printf("a second trainer: %s: %s\n", volta_status_name(status), volta_last_error());
    const int nothing_lost = second == NULL && own.held[0] + own.held[1] == held;
    own.limit = 64u << 20;

    int32_t tokens[1024];
    for (int i = 0; i < 1024; ++i) tokens[i] = i % 61;
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    CHECK(volta_trainer_set_tokens(trainer, tokens, 1024));
    CHECK(volta_trainer_step_tokens(trainer, &report));
    printf("step %llu loss %.4f\n", (unsigned long long)report.step, (double)report.loss);

    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    printf("%zu bytes held at the end\n", own.held[0] + own.held[1]);
    return taken == bill.total && status == VOLTA_OUT_OF_MEMORY && nothing_lost &&
                   own.held[0] + own.held[1] == 0
               ? 0
               : 1;
}
