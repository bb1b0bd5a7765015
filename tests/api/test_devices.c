/* Devices from C: what there is, what a context names, and budgets that refuse a plan before anything is
 * allocated. Passes with and without a CUDA module, driver and device. */
#include "tests/api/api_test.h"

static volta_device_info describe(const char* backend, uint32_t index) {
    volta_device_info info = {0};
    info.struct_size = sizeof info;
    assert_ok(volta_device_describe(backend, index, &info));
    return info;
}

static volta_status create(const char* device, uint64_t host_budget, const volta_allocator* allocator,
                           volta_context** out) {
    volta_context_options options = {0};
    options.struct_size = sizeof options;
    options.device = device;
    options.host_budget = host_budget;
    options.allocator = allocator;
    options.thread_count = 1;
    return volta_context_create(&options, out);
}

static void test_the_processor_is_a_device(void** state) {
    volta_device_info info = {0};
    uint32_t count = 99;
    volta_context* context = NULL;
    (void)state;
    assert_ok(volta_device_count("cpu", &count));
    assert_int_equal(count, 1);
    info = describe("cpu", 0);
    assert_string_equal(info.name, "cpu");
    assert_true(info.description[0] != '\0' && info.multiprocessors >= 1);
    assert_int_equal(info.memory_bytes, 0);
    assert_int_equal(info.capability_major, 0);
    assert_ok(create("cpu", 0, NULL, &context));
    info.name[0] = '\0';
    assert_ok(volta_context_get_device(context, &info));
    assert_string_equal(info.name, "cpu");
    assert_true(info.bytes_to_device == 0 && info.bytes_to_host == 0 && info.launches == 0);
    volta_context_release(context);
}

static void test_names_that_are_none(void** state) {
    volta_context* context = (volta_context*)1;
    volta_device_info info = {0};
    uint32_t count = 99;
    (void)state;
    assert_fails(create("gpu", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is 'gpu', it must be cpu, cuda, cuda:N or auto");
    assert_null(context);
    assert_fails(create("", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is '', it must be cpu, cuda, cuda:N or auto");
    assert_fails(create("cpu:1", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is cpu:1, there is one processor: cpu");
    assert_fails(create("cpu12", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is 'cpu12', it must be cpu, cuda, cuda:N or auto");
    assert_fails(create("cuda12", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is 'cuda12', it must be cpu, cuda, cuda:N or auto");
    assert_fails(create("cuda:", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is 'cuda:', what follows 'cuda:' must be a number");
    assert_fails(create("cuda:0x", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is 'cuda:0x', what follows 'cuda:' must be a number");
    assert_fails(create("cuda:99999999999", 0, NULL, &context), VOLTA_INVALID_ARGUMENT,
                 "device is 'cuda:99999999999', what follows 'cuda:' must be a number");
    assert_fails(volta_device_count("vulkan", &count), VOLTA_INVALID_ARGUMENT,
                 "backend is 'vulkan', it must be cpu or cuda");
    assert_int_equal(count, 0);
    info.struct_size = sizeof info;
    assert_fails(volta_device_describe("cpu", 1, &info), VOLTA_INVALID_ARGUMENT,
                 "index is 1, cpu has 1 device");
}

/* Without a module, driver or device the reason is said; with them the context computes there. Nothing is
 * used in its place, unless "auto" asks for that. */
static void test_cuda_is_there_or_says_why(void** state) {
    volta_context* context = NULL;
    volta_device_info info = {0};
    uint32_t count = 0;
    const volta_status counted = volta_device_count("cuda", &count);
    const volta_status created = create("cuda", 0, NULL, &context);
    (void)state;
    info.struct_size = sizeof info;
    if (counted == VOLTA_OK) {
        assert_true(count >= 1);
        assert_int_equal(created, VOLTA_OK);
        assert_ok(volta_context_get_device(context, &info));
        assert_string_equal(info.name, "cuda:0");
        assert_true(info.memory_bytes > 0 && info.capability_major >= 7);
    } else {
        assert_int_equal(counted, VOLTA_UNSUPPORTED);
        assert_int_equal(created, VOLTA_UNSUPPORTED);
        assert_null(context);
        assert_true(strlen(volta_last_error()) > 20);
        print_message("cuda: %s\n", volta_last_error());
    }
    volta_context_release(context);
    assert_ok(create("auto", 0, NULL, &context));
    assert_ok(volta_context_get_device(context, &info));
    assert_string_equal(info.name, counted == VOLTA_OK ? "cuda:0" : "cpu");
    volta_context_release(context);
}

static void test_a_budget_refuses_plans(void** state) {
    struct counting_heap heap = {0};
    const volta_allocator allocator = {counting_allocate, counting_release, &heap};
    const int64_t shape[] = {2, 8};
    const volta_trainer_options options = small_trainer_options(shape);
    volta_context* context = NULL;
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_bill bill = VOLTA_BILL_INIT, less = VOLTA_BILL_INIT;
    size_t before;
    (void)state;
    assert_ok(create(NULL, 0, NULL, &context));
    assert_ok(small_gpt(context, 0, &model));
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_trainer_get_bill(trainer, &bill));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);

    /* The bill is the least budget in which all activations are kept. */
    assert_ok(create(NULL, bill.total, &allocator, &context));
    assert_ok(small_gpt(context, 0, &model));
    assert_ok(volta_trainer_create(model, &options, &trainer));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);

    assert_ok(create(NULL, bill.total - 1, &allocator, &context));
    assert_ok(small_gpt(context, 0, &model));
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_trainer_get_bill(trainer, &less));
    assert_true(less.total < bill.total && less.activations < bill.activations);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);

    assert_ok(create(NULL, bill.total - bill.activations, &allocator, &context));
    assert_ok(small_gpt(context, 0, &model));
    before = heap.tensor_peak = heap.tensor_bytes;
    trainer = (volta_trainer*)1;
    assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_OUT_OF_MEMORY);
    assert_null(trainer);
    assert_non_null(strstr(volta_last_error(), "the trainer needs "));
    assert_non_null(strstr(volta_last_error(), " with all computed again that can be: "));
    assert_int_equal(heap.tensor_peak, before); /* nothing was asked for */
    volta_model_release(model);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_processor_is_a_device),
        cmocka_unit_test(test_names_that_are_none),
        cmocka_unit_test(test_cuda_is_there_or_says_why),
        cmocka_unit_test(test_a_budget_refuses_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
