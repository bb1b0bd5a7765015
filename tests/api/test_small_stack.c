/* The calling thread may have a stack of 64 KiB: everything runs on one, and how deep it went is seen. */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/api/executors.h"
#include "tests/api/small_world.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_OF_SANITIZERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STACK_OF_SANITIZERS 1
#endif
#endif

enum { kStack = 64 * 1024, kPaint = 0x5a };

struct task {
    const char* what;
    volta_status (*run)(const char* folder);
    const char* folder;
    volta_status status;
    char text[512];
};

static void* run_job(void* data) {
    struct task* job = data;
    job->status = job->run(job->folder);
    snprintf(job->text, sizeof job->text, "%s", volta_last_error());
    return NULL;
}

/* Runs it on a stack of 64 KiB between pages that cannot be touched; gives the bytes that it used. */
static long run_on_small_stack(struct task* job) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char* map =
        mmap(NULL, kStack + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    long untouched = 0;
    assert_true(map != MAP_FAILED);
    memset(map + page, kPaint, kStack);
    assert_int_equal(mprotect(map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(map + page + kStack, page, PROT_NONE), 0);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, map + page, kStack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_job, job), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (untouched < kStack && map[page + (size_t)untouched] == kPaint) ++untouched;
    munmap(map, kStack + 2 * page);
    return kStack - untouched;
}

static char* in(const char* folder, const char* name, char* path) {
    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

static volta_status computes_on(uint32_t threads, void (*function)(void*, uint32_t, volta_part, void*)) {
    static struct world w;
    static struct answers a;
    static struct executor counts;
    volta_context_options options = {0};
    volta_status status;
    options.struct_size = sizeof options;
    options.thread_count = threads;
    options.parallel_for = function;
    options.parallel_user = &counts;
    status = try_world(&w, &options, 128, 2);
    if (status == VOLTA_OK) compute(&w, &a);
    if (status == VOLTA_OK) status = a.status;
    release(&w, 0);
    return status;
}

static volta_status computes(const char* folder) {
    (void)folder;
    return computes_on(2, NULL);
}

static volta_status computes_on_an_executor(const char* folder) {
    (void)folder;
    return computes_on(4, run_forwards);
}

static volta_status interprets(const char* folder) {
    static struct world w;
    static struct answers a;
    volta_context_options options = {0};
    volta_status status;
    (void)folder;
    options.struct_size = sizeof options;
    options.thread_count = 1;
    options.isa = VOLTA_ISA_SCALAR;
    status = try_world(&w, &options, 64, 1);
    if (status == VOLTA_OK) compute(&w, &a);
    if (status == VOLTA_OK) status = a.status;
    release(&w, 0);
    return status;
}

static volta_status writes_and_reads_files(const char* folder) {
    static struct world w;
    char path[512];
    volta_context_options options = {0};
    volta_open_options copy = {0};
    volta_onnx_export_options beside = {0};
    volta_import_options exact = {0};
    volta_model *opened = NULL, *imported = NULL, *small = NULL, *graph = NULL, *nodes = NULL;
    volta_trainer* resumed = NULL;
    volta_tokenizer* tokenizer = NULL;
    volta_status status;
    options.struct_size = sizeof options;
    options.thread_count = 1;
    copy.struct_size = sizeof copy;
    copy.mode = VOLTA_LOAD_COPY;
    beside.struct_size = sizeof beside;
    exact.struct_size = sizeof exact;
    exact.exact_graph = 1;
    status = try_world(&w, &options, 64, 1);
    if (status == VOLTA_OK)
        status = volta_tokenizer_train_bpe(w.context, "banana koba nana ba ba ba", 25, 260, &tokenizer);
    if (status == VOLTA_OK) status = volta_trainer_step_tokens(w.trainer, NULL);
    if (status == VOLTA_OK) status = volta_trainer_save(w.trainer, in(folder, "trainer.volta", path));
    if (status == VOLTA_OK)
        status = volta_model_open(w.context, in(folder, "trainer.volta", path), &copy, &opened);
    if (status == VOLTA_OK) status = volta_trainer_resume(opened, NULL, &resumed);
    if (status == VOLTA_OK) status = volta_model_quantize(w.model, VOLTA_INT8, &small);
    if (status == VOLTA_OK)
        status = volta_model_export_safetensors(w.model, in(folder, "model.safetensors", path));
    if (status == VOLTA_OK)
        status = volta_model_import(w.context, in(folder, "model.safetensors", path), NULL, &imported);
    if (status == VOLTA_OK)
        status = volta_model_export_onnx(w.model, &beside, in(folder, "model.onnx", path));
    if (status == VOLTA_OK) status = volta_model_import(w.context, path, NULL, &graph);
    if (status == VOLTA_OK) status = volta_model_import(w.context, path, &exact, &nodes);
    volta_tokenizer_release(tokenizer);
    volta_trainer_release(resumed);
    volta_model_release(nodes);
    volta_model_release(graph);
    volta_model_release(imported);
    volta_model_release(small);
    volta_model_release(opened);
    release(&w, 0);
    return status;
}

static volta_status makes_networks(const char* folder) {
    const int64_t pictures[] = {2, 3, 32, 32};
    volta_context* context = NULL;
    volta_model *resnet = NULL, *mobile = NULL;
    volta_trainer* trainer = NULL;
    volta_resnet_options options = {0};
    volta_network_options network = {0};
    volta_trainer_options training = {0};
    volta_status status;
    (void)folder;
    options.struct_size = sizeof options;
    options.depth = 20;
    network.struct_size = sizeof network;
    network.name = "mobilenet_v2";
    training.struct_size = sizeof training;
    training.input_shapes = pictures;
    training.input_extent_count = 4;
    status = volta_context_create(NULL, &context);
    if (status == VOLTA_OK) status = volta_model_create_resnet(context, &options, 1, &resnet);
    if (status == VOLTA_OK) status = volta_model_create_network(context, &network, 1, &mobile);
    if (status == VOLTA_OK) status = volta_trainer_create(resnet, &training, &trainer);
    volta_trainer_release(trainer);
    volta_model_release(mobile);
    volta_model_release(resnet);
    volta_context_release(context);
    return status;
}

static void test_64_kib_are_enough(void** state) {
    static struct task jobs[] = {
        {"defines, trains, runs and generates", computes, NULL, 0, ""},
        {"the same on an executor of the host", computes_on_an_executor, NULL, 0, ""},
        {"the same in scalar code", interprets, NULL, 0, ""},
        {"saves, opens, resumes, quantizes, exports, imports", writes_and_reads_files, NULL, 0, ""},
        {"makes networks of pictures", makes_networks, NULL, 0, ""},
    };
    char folder[] = "/tmp/volta-stack-XXXXXX", command[64];
    size_t i;
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (i = 0; i < sizeof jobs / sizeof *jobs; ++i) {
        long used;
        jobs[i].folder = folder;
        used = run_on_small_stack(&jobs[i]);
        print_message("%ld bytes of stack: %s\n", used, jobs[i].what);
        if (jobs[i].status != VOLTA_OK) print_error("%s: %s\n", jobs[i].what, jobs[i].text);
        assert_int_equal(jobs[i].status, VOLTA_OK);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
#ifdef STACK_OF_SANITIZERS
    print_message("skipped: sanitizers make frames larger\n");
    return (void)test_64_kib_are_enough, 0;
#else
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_64_kib_are_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
