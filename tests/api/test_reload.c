/* A program that loads the library and lets it go a thousand times, computing each time: threads, mappings,
 * file descriptors and memory are at the end what they were soon after the beginning. */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <volta.h>

enum { kTimes = 1000, kWarm = 500 };

/* The functions that it calls, by their names. */
#define FUNCTIONS(each)                                                                                  \
    each(context_create) each(context_release) each(graph_create) each(graph_release) each(graph_input)  \
        each(graph_apply) each(graph_output) each(model_create) each(model_release) each(session_create) \
            each(session_release) each(session_run) each(tensor_wrap) each(tensor_release) each(last_error)

struct library {
    void* handle;
#define DECLARE(name) __typeof__(volta_##name)* name;
    FUNCTIONS(DECLARE)
};

static int load(struct library* l) {
    memset(l, 0, sizeof *l);
    l->handle = dlopen(VOLTA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (l->handle == NULL) return 0;
#define FIND(name)                                          \
    *(void**)(&l->name) = dlsym(l->handle, "volta_" #name); \
    if (l->name == NULL) return 0;
    FUNCTIONS(FIND)
    return 1;
}

/* tanh(x x) of 64 x 64 on two threads: a value of the result, or NaN. */
static float compute(const struct library* l) {
    static float in[64 * 64], out[64 * 64];
    const int64_t shape[] = {64, 64};
    volta_context_options options = {0};
    volta_context* context = NULL;
    volta_graph* graph = NULL;
    volta_model* model = NULL;
    volta_session* session = NULL;
    volta_tensor *a = NULL, *c = NULL;
    volta_value x[2], y, z;
    const volta_tensor* inputs[1];
    volta_status status;
    int i;
    for (i = 0; i < 64 * 64; ++i) in[i] = (float)(i % 17) / 170;
    options.struct_size = sizeof options;
    options.thread_count = 2;
    status = l->context_create(&options, &context);
    if (status == VOLTA_OK) status = l->graph_create(context, &graph);
    if (status == VOLTA_OK) status = l->graph_input(graph, "x", VOLTA_F32, shape, 2, &x[0]);
    x[1] = x[0];
    if (status == VOLTA_OK) status = l->graph_apply(graph, "matmul", x, 2, NULL, 0, &y, 1);
    if (status == VOLTA_OK) status = l->graph_apply(graph, "tanh", &y, 1, NULL, 0, &z, 1);
    if (status == VOLTA_OK) status = l->graph_output(graph, "y", z);
    if (status == VOLTA_OK) status = l->model_create(graph, 1, &model);
    if (status == VOLTA_OK) status = l->session_create(model, NULL, &session);
    if (status == VOLTA_OK) status = l->tensor_wrap(context, VOLTA_F32, shape, 2, in, &a);
    if (status == VOLTA_OK) status = l->tensor_wrap(context, VOLTA_F32, shape, 2, out, &c);
    inputs[0] = a;
    if (status == VOLTA_OK) status = l->session_run(session, inputs, 1, &c, 1);
    if (status != VOLTA_OK) print_error("%s\n", l->last_error());
    l->tensor_release(c);
    l->tensor_release(a);
    l->session_release(session);
    l->model_release(model);
    l->graph_release(graph);
    l->context_release(context);
    return status == VOLTA_OK ? out[5] : -2;
}

struct footprint {
    int threads, descriptors, maps, library_maps;
    size_t heap, resident_pages;
};

static int entries(const char* path) {
    int count = 0;
    struct dirent* entry;
    DIR* folder = opendir(path);
    if (folder == NULL) return -1;
    while ((entry = readdir(folder)) != NULL) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static struct footprint measure(void) {
    struct footprint f;
    char line[4352];
    size_t pages = 0;
    FILE* file;
    memset(&f, 0, sizeof f);
    f.threads = entries("/proc/self/task");
    f.descriptors = entries("/proc/self/fd");
    malloc_trim(0);
    f.heap = mallinfo2().uordblks;
    file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        ++f.maps;
        f.library_maps += strstr(line, "libvolta") != NULL;
    }
    if (file != NULL) fclose(file);
    file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%*u %zu", &pages) != 1) pages = 0;
    if (file != NULL) fclose(file);
    f.resident_pages = pages;
    return f;
}

static void test_a_thousand_times(void** state) {
    struct footprint early, late;
    float first = 0;
    int i;
    (void)state;
    memset(&early, 0, sizeof early);
    for (i = 0; i < kTimes; ++i) {
        struct library l;
        float value;
        if (!load(&l)) print_error("%s\n", dlerror());
        assert_non_null(l.handle);
        value = compute(&l);
        if (i == 0) first = value;
        assert_true(value == first && value > 0);
        assert_int_equal(dlclose(l.handle), 0);
        if (i == kWarm) early = measure();
    }
    late = measure();
    print_message("%d -> %d maps, %zu -> %zu bytes of heap, %zu -> %zu pages\n", early.maps, late.maps,
                  early.heap, late.heap, early.resident_pages, late.resident_pages);
    assert_int_equal(early.library_maps, 0); /* it really goes */
    assert_int_equal(late.threads, 1);
    assert_int_equal(late.threads, early.threads);
    assert_int_equal(late.descriptors, early.descriptors);
    assert_true(late.maps <= early.maps);
    /* A block that each load leaves behind is 16,000 bytes by now; what the C library's cache keeps counts
     * too. */
    assert_true(late.heap <= early.heap + 8192);
    assert_true(late.resident_pages <= early.resident_pages + 64);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_thousand_times)};
    if (entries("/proc/self/task") < 0) {
        print_message("skipped: there is no /proc\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
