/* host_executor.c - a program that lends Volta everything: memory, threads, and a way to stop.
 *
 *     host_executor [SECONDS]
 *
 * Its allocator counts and keeps a budget, its own pool of threads runs the parts of the work, Ctrl-C or
 * SECONDS end the training between two micro-batches, with nothing lost. At the end it trains the same on
 * Volta's own threads: the parameters have the same bits.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <volta.h>

enum { kThreads = 3, kSteps = 30, kTokens = 600 };

/* ---- Memory: counted, and at most so much. Volta calls it on the threads that call Volta. */

struct memory {
    size_t held, peak, budget;
};

static void* allocate(void* user, size_t size, size_t alignment, volta_memory_kind kind) {
    struct memory* m = user;
    void* pointer = NULL;
    (void)kind;
    if (size > m->budget - m->held) return NULL; /* the call reports VOLTA_OUT_OF_MEMORY and leaks nothing */
    if (posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment,
                       size > 0 ? size : 1) != 0)
        return NULL;
    m->held += size;
    if (m->held > m->peak) m->peak = m->held;
    return pointer;
}

static void release(void* user, void* pointer, size_t size, size_t alignment, volta_memory_kind kind) {
    struct memory* m = user;
    (void)alignment, (void)kind;
    m->held -= size;
    free(pointer);
}

/* ---- Threads: a pool that runs one job at a time. Parts wait for nothing, so any order will do. */

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    pthread_t threads[kThreads];
    volta_part part; /* of the job; NULL: there is none */
    void* part_user;
    uint32_t count, begun, ended;
    int stops;
};

/* Runs the next part. The mutex is held, but not while the part runs. */
static void run_part(struct pool* p) {
    const volta_part part = p->part;
    void* const part_user = p->part_user;
    const uint32_t index = p->begun++;
    pthread_mutex_unlock(&p->mutex);
    part(part_user, index);
    pthread_mutex_lock(&p->mutex);
    if (++p->ended == p->count) pthread_cond_signal(&p->done);
}

static void* work(void* user) {
    struct pool* p = user;
    pthread_mutex_lock(&p->mutex);
    while (!p->stops)
        if (p->begun < p->count)
            run_part(p);
        else
            pthread_cond_wait(&p->work, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* What Volta calls: returns when all parts have ended. */
static void parallel_for(void* user, uint32_t count, volta_part part, void* part_user) {
    struct pool* p = user;
    pthread_mutex_lock(&p->mutex);
    p->part = part;
    p->part_user = part_user;
    p->begun = p->ended = 0;
    p->count = count;
    pthread_cond_broadcast(&p->work);
    while (p->begun < p->count) run_part(p); /* this thread works too */
    while (p->ended < p->count) pthread_cond_wait(&p->done, &p->mutex);
    p->count = p->begun = 0;
    pthread_mutex_unlock(&p->mutex);
}

static int start_pool(struct pool* p) {
    int i;
    memset(p, 0, sizeof *p);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    for (i = 0; i < kThreads; ++i)
        if (pthread_create(&p->threads[i], NULL, work, p) != 0) return 0;
    return 1;
}

static void stop_pool(struct pool* p) {
    int i;
    pthread_mutex_lock(&p->mutex);
    p->stops = 1;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
    for (i = 0; i < kThreads; ++i) pthread_join(p->threads[i], NULL);
}

/* ---- Stopping: volta_cancel_request is one store, which a signal handler may make. */

static volta_cancel cancel = VOLTA_CANCEL_INIT;

static void on_interrupt(int number) {
    (void)number;
    volta_cancel_request(&cancel);
}

/* ---- What is computed: a small GPT that learns a sequence. */

static volta_status train(const volta_context_options* options, double seconds, char* hash, uint64_t* steps) {
    const int64_t shape[] = {4, 32};
    int32_t tokens[kTokens];
    volta_context* context = NULL;
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
    volta_status status;
    int i;
    for (i = 0; i < kTokens; ++i) tokens[i] = (i * i + i / 7) % 61;
    gpt.vocabulary = 64;
    gpt.layers = 2;
    gpt.dim = 128;
    gpt.heads = 4;
    gpt.context = 32;
    training.input_shapes = shape;
    training.input_extent_count = 2;
    training.micro_batches = 2;
    stop.cancel = &cancel;
    stop.max_seconds = seconds;
    status = volta_context_create(options, &context);
    if (status == VOLTA_OK) status = volta_model_create_gpt(context, &gpt, 1, &model);
    if (status == VOLTA_OK) status = volta_trainer_create(model, &training, &trainer);
    if (status == VOLTA_OK) status = volta_trainer_set_tokens(trainer, tokens, kTokens);
    if (status == VOLTA_OK) status = volta_context_set_stop(context, &stop);
    for (i = 0; i < kSteps && status == VOLTA_OK; ++i) status = volta_trainer_step_tokens(trainer, NULL);
    *steps = trainer != NULL ? volta_trainer_current_step(trainer) : 0;
    if (status ==
        VOLTA_CANCELLED) { /* the trainer is as after its last whole step: save it, or go on later */
        printf("%s\n", volta_last_error());
        status = VOLTA_OK;
    }
    if (status == VOLTA_OK) status = volta_trainer_hash(trainer, hash);
    if (status != VOLTA_OK) fprintf(stderr, "%s: %s\n", volta_status_name(status), volta_last_error());
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    return status;
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 0; /* 0: no end */
    struct memory memory = {0, 0, (size_t)256 << 20};
    const volta_allocator allocator = {allocate, release, &memory};
    static struct pool pool;
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT, plain = VOLTA_CONTEXT_OPTIONS_INIT;
    char lent[33] = "", own[33] = "";
    uint64_t steps = 0, own_steps = 0;
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, NULL);
    if (!start_pool(&pool)) return 1;
    options.allocator = &allocator;
    options.parallel_for = parallel_for;
    options.parallel_user = &pool;
    options.thread_count = kThreads + 1; /* parts, of which the calling thread takes some */
    if (train(&options, seconds, lent, &steps) != VOLTA_OK) return 1;
    stop_pool(&pool);
    printf("%llu steps on the host's threads, at most %zu bytes of its memory, %zu left\n",
           (unsigned long long)steps, memory.peak, memory.held);
    printf("hash %s\n", lent);
    if (steps < kSteps) return 0;
    if (train(&plain, 0, own, &own_steps) != VOLTA_OK) return 1;
    if (own_steps == steps && strcmp(own, lent) != 0) {
        fprintf(stderr, "Volta's own threads give %s\n", own);
        return 1;
    }
    return 0;
}
