/* Tensors that exceed every cache are written past them (on processors whose last cache is below 100 MB),
 * which needs aligned rows: results at any address of the host, and of rows of any length, are the same. */
#include "tests/api/api_test.h"

enum { kSlack = 16 };

static float* floats(size_t count) {
    void* memory = NULL;
    if (posix_memalign(&memory, 64, (count + kSlack) * sizeof(float)) != 0) return NULL;
    return memory;
}

static void check_sum(int64_t rows, int64_t columns, uint32_t threads) {
    const int64_t shape[] = {rows, columns}, row[] = {columns};
    const size_t count = (size_t)(rows * columns);
    float *const a = floats(count), *const b = floats((size_t)columns), *const c = floats(count);
    assert_true(a != NULL && b != NULL && c != NULL);
    for (size_t i = 0; i < count; ++i) a[i] = (float)(i % 8191);
    for (int64_t j = 0; j < columns; ++j) b[j] = (float)(j % 127);

    volta_context* context = NULL;
    volta_graph* graph = NULL;
    volta_model* model = NULL;
    volta_session* session = NULL;
    volta_value x, y, z;
    assert_ok(context_on(NULL, threads, VOLTA_ISA_AUTO, 0, &context));
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_input(graph, "y", VOLTA_F32, row, 1, &y));
    const volta_value operands[] = {x, y};
    assert_ok(volta_graph_apply(graph, "add", operands, 2, NULL, 0, &z, 1));
    assert_ok(volta_graph_output(graph, "z", z));
    assert_ok(volta_model_create(graph, 1, &model));
    assert_ok(volta_session_create(model, NULL, &session));

    for (size_t offset = 0; offset <= 1; ++offset) { /* floats behind a multiple of 64 bytes */
        volta_tensor *inputs[2], *output;
        memset(c, 0xff, (count + kSlack) * sizeof(float));
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, a, &inputs[0]));
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, row, 1, b, &inputs[1]));
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, c + offset, &output));
        assert_ok(volta_session_run(session, (const volta_tensor* const*)inputs, 2, &output, 1));
        size_t wrong = 0;
        for (size_t i = 0; i < count; ++i) wrong += c[offset + i] != a[i] + b[i % (size_t)columns];
        assert_int_equal(wrong, 0);
        for (size_t i = 0; i < kSlack - offset; ++i) {
            uint32_t behind;
            memcpy(&behind, &c[offset + count + i], sizeof behind);
            assert_int_equal(behind, 0xffffffffu);
        }
        volta_tensor_release(inputs[0]);
        volta_tensor_release(inputs[1]);
        volta_tensor_release(output);
    }
    volta_session_release(session);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
    free(a);
    free(b);
    free(c);
}

static void test_rows_of_whole_lines(void** state) {
    (void)state;
    check_sum(6500, 2000, 1);
    check_sum(6500, 2000, 2);
}

static void test_odd_rows(void** state) {
    (void)state;
    check_sum(6500, 2001, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_whole_lines),
        cmocka_unit_test(test_odd_rows),
    };
    return cmocka_run_group_tests_name("large tensors", tests, NULL, NULL);
}
