// Host tensors through the public header: what they are filled with, how they print and compare, and their
// files, of this library, of NumPy, and damaged. tests/parity/parity_tensors.py has NumPy itself beside it.
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"
#include "volta.h"

namespace {
using namespace volta::test;

using Extents = std::vector<int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

// The context of the tests, and what they made in it.
class World {
  public:
    explicit World(volta_isa isa = VOLTA_ISA_AUTO, uint32_t threads = 1) {
        volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
        options.isa = isa;
        options.thread_count = threads;
        if (volta_context_create(&options, &context) != VOLTA_OK) print_error("%s\n", volta_last_error());
    }
    ~World() {
        for (volta_tensor* tensor : made_) volta_tensor_release(tensor);
        volta_tensors_release(opened_);
        volta_context_release(context);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    volta_tensor* empty(volta_dtype dtype, const Extents& shape) {
        volta_tensor* tensor = nullptr;
        if (volta_tensor_create(context, dtype, shape.data(), static_cast<int32_t>(shape.size()), &tensor) !=
            VOLTA_OK)
            print_error("%s\n", volta_last_error());
        made_.push_back(tensor);
        return tensor;
    }
    volta_tensor* reals(const Extents& shape, const std::vector<float>& values) {
        return copied(VOLTA_F32, shape, values);
    }
    volta_tensor* integers(const Extents& shape, const std::vector<int32_t>& values) {
        return copied(VOLTA_I32, shape, values);
    }
    volta_tensors* open(const std::string& path) {
        volta_tensors_release(opened_);
        opened_ = nullptr;
        if (volta_tensors_open(context, path.c_str(), &opened_) != VOLTA_OK)
            print_error("%s\n", volta_last_error());
        return opened_;
    }

    volta_context* context = nullptr;

  private:
    template <class T>
    volta_tensor* copied(volta_dtype dtype, const Extents& shape, const std::vector<T>& values) {
        volta_tensor* const tensor = empty(dtype, shape);
        if (!values.empty()) memcpy(volta_tensor_data(tensor), values.data(), values.size() * sizeof(T));
        return tensor;
    }
    std::vector<volta_tensor*> made_;
    volta_tensors* opened_ = nullptr;
};

template <class T>
std::vector<T> values_of(volta_tensor* tensor) {
    const T* const data = static_cast<const T*>(volta_tensor_data(tensor));
    return {data, data + volta_tensor_elements(tensor)};
}

std::string bits_of(volta_tensor* tensor) { return bytes_of(values_of<uint32_t>(tensor)); }

std::string shape_of(const volta_tensor* tensor) {
    std::string text = volta_tensor_dtype(tensor) == VOLTA_F32 ? "f32" : "i32";
    for (int32_t axis = 0; axis < volta_tensor_rank(tensor); ++axis)
        text += " " + std::to_string(volta_tensor_extent(tensor, axis));
    return text;
}

// The sentence of a call that fails, behind its status; "" of one that does not.
std::string refusal(volta_status status) {
    return status == VOLTA_OK ? "" : std::string(volta_status_name(status)) + ": " + volta_last_error();
}

void assert_text(const std::string& text, const char* expected) {
    assert_string_equal(text.c_str(), expected);
}

// ---- Values

void test_fill(void**) {
    World world;
    volta_tensor *real = world.empty(VOLTA_F32, {2, 3}), *whole = world.empty(VOLTA_I32, {3}),
                 *nothing = world.empty(VOLTA_I32, {0, 4});
    assert_int_equal(volta_tensor_fill(real, 0.1), VOLTA_OK);
    assert_true(values_of<float>(real) == std::vector<float>(6, 0.1f));
    assert_int_equal(volta_tensor_fill(real, 1e39), VOLTA_OK);
    assert_true(values_of<float>(real) == std::vector<float>(6, kInfinity));
    assert_int_equal(volta_tensor_fill(whole, INT32_MIN), VOLTA_OK);
    assert_true(values_of<int32_t>(whole) == std::vector<int32_t>(3, INT32_MIN));
    assert_text(refusal(volta_tensor_fill(whole, 0.5)),
                "VOLTA_INVALID_ARGUMENT: an i32 tensor does not hold 0.5");
    assert_text(refusal(volta_tensor_fill(whole, 2147483648.0)),
                "VOLTA_INVALID_ARGUMENT: an i32 tensor does not hold 2147483648");
    assert_true(volta_tensor_fill(whole, static_cast<double>(kNan)) == VOLTA_INVALID_ARGUMENT);
    assert_true(values_of<int32_t>(whole) == std::vector<int32_t>(3, INT32_MIN));
    assert_int_equal(volta_tensor_fill(nothing, 7), VOLTA_OK);
    assert_text(refusal(volta_tensor_fill(nullptr, 7)), "VOLTA_INVALID_ARGUMENT: tensor is NULL");
}

void test_arange(void**) {
    World world;
    volta_tensor *real = world.empty(VOLTA_F32, {2, 2}), *whole = world.empty(VOLTA_I32, {3}),
                 *alone = world.empty(VOLTA_I32, {}), *nothing = world.empty(VOLTA_I32, {0});
    assert_int_equal(volta_tensor_arange(real, 1, 0.1), VOLTA_OK);
    const std::vector<float> expected = {1.0f, static_cast<float>(1 + 0.1), static_cast<float>(1 + 2 * 0.1),
                                         static_cast<float>(1 + 3 * 0.1)};
    assert_true(values_of<float>(real) == expected);
    // 2^24 + 1 is no f32: the sum is rounded, not its parts.
    assert_int_equal(volta_tensor_arange(real, 16777217, 1), VOLTA_OK);
    assert_true((values_of<float>(real) == std::vector<float>{16777216, 16777218, 16777220, 16777220}));
    assert_int_equal(volta_tensor_arange(whole, 5, -4), VOLTA_OK);
    assert_true((values_of<int32_t>(whole) == std::vector<int32_t>{5, 1, -3}));
    assert_int_equal(volta_tensor_arange(whole, INT32_MAX - 2, 1), VOLTA_OK);
    assert_text(refusal(volta_tensor_arange(whole, INT32_MAX - 1, 1)),
                "VOLTA_INVALID_ARGUMENT: element 2 would be 2147483648, which i32 does not hold");
    assert_int_equal(values_of<int32_t>(whole)[2], INT32_MAX);
    assert_text(
        refusal(volta_tensor_arange(whole, 0, 0.5)),
        "VOLTA_INVALID_ARGUMENT: an i32 tensor holds whole numbers: start 0 and step 0.5 are not both");
    assert_text(refusal(volta_tensor_arange(real, static_cast<double>(kInfinity), 1)),
                "VOLTA_INVALID_ARGUMENT: start inf and step 1 are not both finite");
    assert_int_equal(volta_tensor_arange(alone, 9, 1e9), VOLTA_OK);
    assert_int_equal(values_of<int32_t>(alone)[0], 9);
    assert_int_equal(volta_tensor_arange(nothing, 1e300, 1e300), VOLTA_OK);
}

// A model whose parameters are these, each of its own stream.
struct Start {
    Extents shape;
    volta_init init;
};
const Start kStarts[] = {
    {{5, 300}, {VOLTA_INIT_NORMAL, 0.02, 0}}, {{1000}, {VOLTA_INIT_UNIFORM, -0.3, 0.7}},
    {{}, {VOLTA_INIT_NORMAL, 1, 0}},          {{2, 3, 5, 130}, {VOLTA_INIT_UNIFORM, 0, 1}},
    {{7}, {VOLTA_INIT_CONSTANT, 0.1, 0}},     {{3, 33}, {VOLTA_INIT_NORMAL, 1e-3, 0}}};

void test_random_is_a_parameter(void**) {
    for (const volta_isa isa : {VOLTA_ISA_AUTO, VOLTA_ISA_SCALAR}) {
        World world(isa, isa == VOLTA_ISA_AUTO ? 2 : 1);
        volta_graph* graph = nullptr;
        volta_model* model = nullptr;
        volta_value value = {-1}, sum = {-1};
        assert_int_equal(volta_graph_create(world.context, &graph), VOLTA_OK);
        int number = 0;
        for (const Start& start : kStarts) {
            const std::string name = "p" + std::to_string(number++);
            assert_int_equal(
                volta_graph_parameter(graph, name.c_str(), start.shape.data(),
                                      static_cast<int32_t>(start.shape.size()), &start.init, &value),
                VOLTA_OK);
            if (number == 1) sum = value;
        }
        assert_int_equal(volta_graph_output(graph, "y", sum), VOLTA_OK);
        constexpr uint64_t kSeed = 0x123456789abcdef1u;
        assert_int_equal(volta_model_create(graph, kSeed, &model), VOLTA_OK);
        uint32_t stream = 0;
        for (const Start& start : kStarts) {
            const std::string name = "p" + std::to_string(stream);
            const float* data = nullptr;
            size_t elements = 0;
            assert_int_equal(volta_model_parameter(model, name.c_str(), &data, &elements), VOLTA_OK);
            volta_tensor* const tensor = world.empty(VOLTA_F32, start.shape);
            assert_int_equal(volta_tensor_elements(tensor), elements);
            assert_int_equal(volta_tensor_random(tensor, &start.init, kSeed, stream), VOLTA_OK);
            assert_memory_equal(volta_tensor_data(tensor), data, elements * sizeof *data);
            // At an address that is no multiple of a vector.
            std::vector<float> around(elements + 2, 77);
            volta_tensor* wrapped = nullptr;
            assert_int_equal(
                volta_tensor_wrap(world.context, VOLTA_F32, start.shape.data(),
                                  static_cast<int32_t>(start.shape.size()), around.data() + 1, &wrapped),
                VOLTA_OK);
            assert_int_equal(volta_tensor_random(wrapped, &start.init, kSeed, stream), VOLTA_OK);
            volta_tensor_release(wrapped);
            assert_memory_equal(around.data() + 1, data, elements * sizeof *data);
            assert_true(around.front() == 77 && around.back() == 77);
            if (start.init.kind != VOLTA_INIT_CONSTANT) {  // another seed, another stream: other numbers
                assert_int_equal(volta_tensor_random(tensor, &start.init, kSeed, stream + 1), VOLTA_OK);
                assert_memory_not_equal(volta_tensor_data(tensor), data, elements * sizeof *data);
                assert_int_equal(volta_tensor_random(tensor, &start.init, kSeed + 1, stream), VOLTA_OK);
                assert_memory_not_equal(volta_tensor_data(tensor), data, elements * sizeof *data);
            }
            ++stream;
        }
        volta_model_release(model);
        volta_graph_release(graph);
    }
}

void test_random_refusals(void**) {
    World world;
    volta_tensor *real = world.reals({2}, {1, 2}), *whole = world.empty(VOLTA_I32, {2}),
                 *nothing = world.empty(VOLTA_F32, {3, 0});
    const volta_init normal = {VOLTA_INIT_NORMAL, 1, 0}, unknown = {3, 1, 0},
                     endless = {VOLTA_INIT_UNIFORM, 0, static_cast<double>(kInfinity)};
    assert_text(refusal(volta_tensor_random(whole, &normal, 1, 0)),
                "VOLTA_INVALID_ARGUMENT: the tensor is of i32: f32 alone is drawn");
    assert_text(refusal(volta_tensor_random(real, &unknown, 1, 0)),
                "VOLTA_INVALID_ARGUMENT: init kind is 3, it must be in 0 .. 2");
    assert_text(refusal(volta_tensor_random(real, &endless, 1, 0)),
                "VOLTA_INVALID_ARGUMENT: init 0, inf is not finite");
    assert_text(refusal(volta_tensor_random(real, &normal, 1, 1u << 24)),
                "VOLTA_INVALID_ARGUMENT: stream is 16777216, it must be below 2^24");
    assert_true((values_of<float>(real) == std::vector<float>{1, 2}));
    assert_int_equal(volta_tensor_random(nothing, &normal, 1, (1u << 24) - 1), VOLTA_OK);
    assert_int_equal(volta_tensor_random(real, nullptr, 1, 0), VOLTA_OK);
    assert_true((values_of<float>(real) == std::vector<float>{0, 0}));
}

// ---- Text

struct Printed {
    const char* text;
    Extents shape;
    std::vector<float> reals;
};
const Printed kReals[] = {
    {"[]", {0}, {}},
    {"[]", {3, 0, 2}, {}},
    {"1.5", {}, {1.5f}},
    {"-0.0", {}, {-0.0f}},
    {"nan", {}, {kNan}},
    {"-inf", {}, {-kInfinity}},
    {"0.1", {}, {0.1f}},
    {"1e-05", {}, {1e-5f}},
    {"1.5e-05", {}, {1.5e-5f}},
    {"1e-04", {}, {1e-4f}},
    {"0.0001001", {}, {1.001e-4f}},
    {"123456.79", {}, {123456.789f}},
    {"1.6777216e+07", {}, {16777216}},
    {"[0.0001]", {1}, {1e-4f}},
    {"[1. 2. 3.]", {3}, {1, 2, 3}},
    {"[ 1.   -2.25  0.5 ]", {3}, {1, -2.25f, 0.5f}},
    {"[0.1        0.33333334]", {2}, {0.1f, 1 / 3.0f}},
    {"[0.00012346]", {1}, {0.000123456789f}},
    {"[-0.  0.]", {2}, {-0.0f, 0}},
    {"[ 1. nan inf]", {3}, {1, kNan, kInfinity}},
    {"[  1. -inf  nan]", {3}, {1, -kInfinity, kNan}},
    {"[nan nan]", {2}, {kNan, kNan}},
    {"[-inf  nan]", {2}, {-kInfinity, kNan}},
    {"[1.e-05 1.e+00]", {2}, {1e-5f, 1}},
    {"[ 1.e+06 -1.e+00  0.e+00     nan     inf]", {5}, {1e6f, -1, 0, kNan, kInfinity}},
    {"[999999.]", {1}, {999999}},
    {"[1.0000e+06 1.2345e+10]", {2}, {1e6f, 1.2345e10f}},
    {"[9.9999997e-06 1.2345678e-05]", {2}, {1e-5f, 1.2345678e-5f}},
    {"[1.e-45 1.e+00]", {2}, {1e-45f, 1}},
    {"[1.2379401e+27 1.0000000e+00]", {2}, {0x1p90f, 1}},  // ...400e+27 is nearer, and another f32
    {"[[1. 2.]\n [3. 4.]]", {2, 2}, {1, 2, 3, 4}},
    {"[[[1.]\n  [2.]]\n\n [[3.]\n  [4.]]]", {2, 2, 1}, {1, 2, 3, 4}},
};

const char* text_of(volta_tensor* tensor) {
    const char* text = nullptr;
    return volta_tensor_print(tensor, &text) == VOLTA_OK ? text : volta_last_error();
}

void test_print_reals(void**) {
    World world;
    for (const Printed& one : kReals)
        assert_string_equal(text_of(world.reals(one.shape, one.reals)), one.text);
}

void test_print_integers(void**) {
    World world;
    assert_string_equal(text_of(world.integers({}, {-7})), "-7");
    assert_string_equal(text_of(world.integers({3}, {1, -20, 300})), "[  1 -20 300]");
    assert_string_equal(text_of(world.integers({1}, {INT32_MIN})), "[-2147483648]");
    volta_tensor* const many = world.empty(VOLTA_I32, {30});
    volta_tensor_arange(many, 0, 1);
    assert_string_equal(text_of(many),
                        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
                        " 24 25 26 27 28 29]");
    std::vector<int32_t> digits(40);
    for (int i = 0; i < 40; ++i) digits[static_cast<size_t>(i)] = i % 10;
    assert_string_equal(text_of(world.integers({40}, digits)),  // a line that the bracket would still fit
                        "[0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6\n"
                        " 7 8 9]");
}

// More than a thousand elements: the ends alone, and what is between them has no say in the format.
void test_print_corners(void**) {
    World world;
    volta_tensor* const row = world.empty(VOLTA_I32, {1001});
    volta_tensor_arange(row, 0, 1);
    assert_string_equal(text_of(row), "[   0    1    2 ...  998  999 1000]");
    volta_tensor* const whole = world.empty(VOLTA_I32, {1000});
    volta_tensor_arange(whole, 0, 1);
    assert_true(strstr(text_of(whole), "...") == nullptr);
    volta_tensor* const matrix = world.empty(VOLTA_F32, {1000, 7});
    volta_tensor_fill(matrix, 0.5);
    static_cast<float*>(volta_tensor_data(matrix))[3] = 1e30f;
    assert_string_equal(text_of(matrix),
                        "[[0.5 0.5 0.5 ... 0.5 0.5 0.5]\n [0.5 0.5 0.5 ... 0.5 0.5 0.5]\n"
                        " [0.5 0.5 0.5 ... 0.5 0.5 0.5]\n ...\n [0.5 0.5 0.5 ... 0.5 0.5 0.5]\n"
                        " [0.5 0.5 0.5 ... 0.5 0.5 0.5]\n [0.5 0.5 0.5 ... 0.5 0.5 0.5]]");
}

void test_print_lends(void**) {
    World world;
    volta_tensor *a = world.reals({1}, {1}), *b = world.reals({1}, {2});
    const char *first = nullptr, *second = nullptr;
    assert_int_equal(volta_tensor_print(a, &first), VOLTA_OK);
    assert_int_equal(volta_tensor_print(b, &second), VOLTA_OK);
    assert_string_equal(first, "[1.]");
    assert_string_equal(second, "[2.]");
    assert_text(refusal(volta_tensor_print(nullptr, &first)), "VOLTA_INVALID_ARGUMENT: tensor is NULL");
    assert_string_equal(first, "");
    assert_text(refusal(volta_tensor_print(a, nullptr)), "VOLTA_INVALID_ARGUMENT: out_text is NULL");
}

// ---- Comparison

volta_comparison compared(volta_tensor* a, volta_tensor* b, double rtol, double atol) {
    volta_comparison report = VOLTA_COMPARISON_INIT;
    if (volta_tensor_compare(a, b, rtol, atol, &report) != VOLTA_OK) print_error("%s\n", volta_last_error());
    return report;
}

void test_compare_exactly(void**) {
    World world;
    volta_tensor *a = world.reals({5}, {1, 0.0f, kNan, kInfinity, 2}),
                 *b = world.reals({5}, {1, -0.0f, -kNan, kInfinity, 2});
    volta_comparison report = compared(a, a, 0, 0);
    assert_true(report.is_equal == 1 && report.differing == 0 && report.first == -1);
    report = compared(a, b, 0, 0);  // -0 and +0 have other bits; every NaN is like every other
    assert_true(report.is_equal == 0 && report.differing == 1 && report.first == 1);
    assert_true(report.largest_absolute == 0 && report.largest_relative == 0 && report.largest_ulps == 0);
    assert_int_equal(compared(a, b, 0, 1e-300).is_equal, 1);
    assert_int_equal(compared(a, b, 1e-300, 0).is_equal, 1);
}

void test_compare_within(void**) {
    World world;
    const float next = std::nextafter(1.0f, 2.0f);
    volta_tensor *a = world.reals({2, 2}, {next, -3, 10, 0.5f}), *b = world.reals({2, 2}, {1, -3, 8, 0});
    volta_comparison report = compared(a, b, 0, 0);
    assert_true(report.is_equal == 0 && report.differing == 3 && report.first == 0);
    assert_true(report.largest_absolute == 2 && std::isinf(report.largest_relative));
    assert_int_equal(report.largest_ulps, 0x3f000000);  // of 0.5 beside 0
    report = compared(a, b, 0.25, 0);                   // 2 <= 0.25 * 8 is the same
    assert_true(report.differing == 1 && report.first == 3);
    report = compared(b, a, 0.125, 0);
    assert_true(report.differing == 2 && report.first == 2);  // 2 > 0.125 * 10: b is what is expected
    assert_int_equal(compared(a, b, 0, 2).is_equal, 1);
    assert_int_equal(compared(a, b, 0, std::nextafter(2.0, 0.0)).differing, 1);
    volta_tensor *c = world.reals({2}, {next, -1}), *d = world.reals({2}, {1, -next});
    report = compared(c, d, 0, 0);
    assert_int_equal(report.largest_ulps, 1);
    assert_true(report.largest_absolute == 0x1p-23 && report.largest_relative == 0x1p-23);
    volta_tensor *least = world.reals({1}, {-1e-45f}), *other = world.reals({1}, {1e-45f});
    assert_int_equal(compared(least, other, 0, 0).largest_ulps, 2);  // across both zeros, which are one
}

void test_compare_special(void**) {
    World world;
    volta_tensor *a = world.reals({3}, {kNan, kInfinity, -kInfinity}),
                 *b = world.reals({3}, {1, 1, kInfinity});
    const volta_comparison report = compared(a, b, 1e300, 1e300);
    assert_true(report.differing == 3 && report.first == 0);
    assert_true(std::isinf(report.largest_absolute) && std::isinf(report.largest_relative));
    assert_true(report.largest_ulps == UINT64_MAX);
    assert_int_equal(compared(b, a, 1e300, 0).differing, 3);
    volta_tensor *c = world.reals({1}, {kInfinity}),
                 *d = world.reals({1}, {std::numeric_limits<float>::max()});
    assert_int_equal(compared(c, d, 0, 0).largest_ulps, 1);
}

void test_compare_integers(void**) {
    World world;
    volta_tensor *a = world.integers({2}, {INT32_MIN, 4}), *b = world.integers({2}, {INT32_MAX, 4});
    const volta_comparison report = compared(a, b, 0, 0);
    assert_true(report.differing == 1 && report.first == 0 && report.largest_absolute == 4294967295.0);
    assert_true(report.largest_ulps == 4294967295u);
    assert_int_equal(compared(a, b, 0, 4294967295.0).is_equal, 1);
    assert_int_equal(compared(world.empty(VOLTA_I32, {0}), world.empty(VOLTA_I32, {0}), 0, 0).is_equal, 1);
}

void test_compare_refusals(void**) {
    World world;
    volta_tensor *a = world.empty(VOLTA_F32, {2, 3}), *b = world.empty(VOLTA_F32, {3, 2}),
                 *c = world.empty(VOLTA_I32, {2, 3});
    volta_comparison report = VOLTA_COMPARISON_INIT;
    assert_text(refusal(volta_tensor_compare(a, b, 0, 0, &report)),
                "VOLTA_SHAPE_MISMATCH: the tensors are of other shapes: [2, 3] and [3, 2]");
    assert_text(refusal(volta_tensor_compare(a, c, 0, 0, &report)),
                "VOLTA_INVALID_ARGUMENT: the tensors are of other types: f32 and i32");
    assert_text(refusal(volta_tensor_compare(a, a, -1, 0, &report)),
                "VOLTA_INVALID_ARGUMENT: rtol is -1, it must be a finite number of at least 0");
    assert_text(refusal(volta_tensor_compare(a, a, 0, static_cast<double>(kNan), &report)),
                "VOLTA_INVALID_ARGUMENT: atol is nan, it must be a finite number of at least 0");
    assert_int_equal(report.is_equal, 0);
    assert_text(refusal(volta_tensor_compare(a, nullptr, 0, 0, &report)),
                "VOLTA_INVALID_ARGUMENT: b is NULL");
    assert_int_equal(volta_tensor_compare(a, a, 0, 0, nullptr), VOLTA_INVALID_ARGUMENT);
}

// ---- Files

std::string contents(const std::string& path) {
    std::string bytes;
    FILE* const file = fopen(path.c_str(), "rb");
    if (file == nullptr) return "none";
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, n);
    fclose(file);
    return bytes;
}

void test_files_come_back(void**) {
    World world;
    TemporaryFolder folder;
    volta_tensor* const scalar = world.reals({}, {-0.0f});
    volta_tensor* const deep = world.integers({1, 2, 1, 2, 1, 1, 1, 2}, {1, 2, 3, 4, 5, 6, 7, INT32_MIN});
    volta_tensor* const empty = world.empty(VOLTA_F32, {3, 0});
    volta_tensor* const special = world.reals({4}, {kNan, -kInfinity, 1e-45f, 0.1f});
    const uint32_t signalling = 0x7f800001;  // a NaN that arithmetic would change
    memcpy(volta_tensor_data(special), &signalling, sizeof signalling);
    const char* const names[] = {"weights/z", "b.bias", "a", "\xc3\xa9t\xc3\xa9"};
    const volta_tensor* const tensors[] = {special, scalar, deep, empty};
    volta_tensor* const by_name[] = {deep, scalar, special, empty};
    const char* const sorted[] = {"a", "b.bias", "weights/z", "\xc3\xa9t\xc3\xa9"};
    for (const char* ending : {".safetensors", ".npz"}) {
        const std::string path = folder.file(std::string("t") + ending);
        assert_int_equal(volta_tensors_save(world.context, path.c_str(), names, tensors, 4), VOLTA_OK);
        const std::string first = contents(path);
        assert_int_equal(volta_tensors_save(world.context, path.c_str(), names, tensors, 4), VOLTA_OK);
        assert_true(contents(path) == first);
        volta_tensors* const read = world.open(path);
        assert_int_equal(volta_tensors_count(read), 4);
        for (size_t i = 0; i < 4; ++i) {
            assert_string_equal(volta_tensors_name(read, i), sorted[i]);
            volta_tensor* const tensor = volta_tensors_tensor(read, i);
            assert_string_equal(shape_of(tensor).c_str(), shape_of(by_name[i]).c_str());
            assert_true(bits_of(tensor) == bits_of(by_name[i]));
        }
        assert_null(volta_tensors_name(read, 4));
        assert_null(volta_tensors_tensor(read, 4));
        assert_int_equal(volta_tensors_save(world.context, path.c_str(), nullptr, nullptr, 0), VOLTA_OK);
        assert_int_equal(volta_tensors_count(world.open(path)), 0);
    }
    for (volta_tensor* const one : by_name) {
        const std::string path = folder.file("t.npy");
        const volta_tensor* const only[] = {one};
        assert_int_equal(volta_tensors_save(world.context, path.c_str(), nullptr, only, 1), VOLTA_OK);
        volta_tensors* const read = world.open(path);
        assert_int_equal(volta_tensors_count(read), 1);
        assert_string_equal(volta_tensors_name(read, 0), "arr_0");
        assert_string_equal(shape_of(volta_tensors_tensor(read, 0)).c_str(), shape_of(one).c_str());
        assert_true(bits_of(volta_tensors_tensor(read, 0)) == bits_of(one));
    }
    assert_int_equal(volta_tensors_count(nullptr), 0);
    assert_null(volta_tensors_name(nullptr, 0));
    assert_null(volta_tensors_tensor(nullptr, 0));
    volta_tensors_release(nullptr);
}

// What a tensor that was read does is what any other does, and it outlives nothing that it needs.
void test_read_tensors_are_tensors(void**) {
    World world;
    TemporaryFolder folder;
    const std::string path = folder.file("t.npz");
    const char* const names[] = {"x"};
    const volta_tensor* const tensors[] = {world.reals({2}, {1, 2})};
    assert_int_equal(volta_tensors_save(world.context, path.c_str(), names, tensors, 1), VOLTA_OK);
    volta_tensor* const read = volta_tensors_tensor(world.open(path), 0);
    assert_string_equal(text_of(read), "[1. 2.]");
    assert_int_equal(volta_tensor_fill(read, 3), VOLTA_OK);
    assert_int_equal(compared(read, world.reals({2}, {3, 3}), 0, 0).is_equal, 1);
    assert_int_equal(reinterpret_cast<uintptr_t>(volta_tensor_data(read)) % 64, 0);
}

void test_save_refusals(void**) {
    World world;
    TemporaryFolder folder;
    volta_tensor* const tensor = world.reals({1}, {1});
    const volta_tensor* const two[] = {tensor, tensor};
    const volta_tensor* const hole[] = {tensor, nullptr};
    const char *good[] = {"a", "b"}, *same[] = {"a", "a"}, *empty[] = {"a", ""}, *line[] = {"a", "b\n"},
               *latin[] = {"a", "\xe9"}, *texts[] = {"a", "__metadata__"}, *none[] = {"a", nullptr};
    const std::string kept = "what was there";
    const auto save = [&](const char* file, const char* const* names, const volta_tensor* const* tensors,
                          size_t count) {
        const std::string path = folder.write(file, kept);
        const std::string said =
            refusal(volta_tensors_save(world.context, path.c_str(), names, tensors, count));
        return contents(path) == kept ? said : "the old file is gone";
    };
    assert_text(save("t.npz", same, two, 2), "VOLTA_INVALID_ARGUMENT: two tensors are named 'a'");
    assert_text(save("t.npz", empty, two, 2), "VOLTA_INVALID_ARGUMENT: the name of tensor 1 ('') is empty");
    assert_text(save("t.safetensors", line, two, 2),
                "VOLTA_INVALID_ARGUMENT: the name of tensor 1 ('b?') contains a control character");
    assert_text(save("t.npz", latin, two, 2),
                "VOLTA_INVALID_ARGUMENT: the name of tensor 1 ('?') is not UTF-8");
    assert_text(
        save("t.safetensors", texts, two, 2),
        "VOLTA_INVALID_ARGUMENT: tensor 1 is named '__metadata__', which in a safetensors file is no tensor");
    assert_text(save("t.npz", none, two, 2), "VOLTA_INVALID_ARGUMENT: the name of tensor 1 is NULL");
    assert_text(save("t.npz", nullptr, two, 2), "VOLTA_INVALID_ARGUMENT: the name of tensor 0 ('') is empty");
    assert_text(save("t.npz", good, hole, 2), "VOLTA_INVALID_ARGUMENT: tensor 1 is NULL");
    assert_text(save("t.npz", good, nullptr, 2), "VOLTA_INVALID_ARGUMENT: tensors is NULL");
    assert_text(save("t.npy", good, two, 2), "VOLTA_INVALID_ARGUMENT: a .npy file holds one tensor, not 2");
    assert_text(save("t.npy", good, two, 0), "VOLTA_INVALID_ARGUMENT: a .npy file holds one tensor, not 0");
    volta_tensors* read = nullptr;
    assert_text(refusal(volta_tensors_save(world.context, "t.txt", good, two, 2)),
                "VOLTA_INVALID_ARGUMENT: 't.txt' ends with none of .safetensors, .npy and .npz");
    assert_text(refusal(volta_tensors_open(world.context, "t.NPY", &read)),
                "VOLTA_INVALID_ARGUMENT: 't.NPY' ends with none of .safetensors, .npy and .npz");
    assert_text(refusal(volta_tensors_open(world.context, "", &read)),
                "VOLTA_INVALID_ARGUMENT: path is NULL or empty");
    assert_true(volta_tensors_open(world.context, "/nonexistent/t.npz", &read) == VOLTA_IO_ERROR);
    assert_true(volta_tensors_save(world.context, "/nonexistent/t.npz", good, two, 2) == VOLTA_IO_ERROR);
    assert_null(read);
}

// ---- NumPy's files

std::string number(uint64_t value, size_t bytes) { return {reinterpret_cast<const char*>(&value), bytes}; }

std::string npy(const std::string& header, const std::string& data, int version = 1) {
    std::string text = header;
    text.append(63 - (12 + text.size()) % 64, ' ');
    text += '\n';
    return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
           number(text.size(), version == 1 ? 2 : 4) + text + data;
}
std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data,
                   bool fortran = false) {
    return npy("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                   ", 'shape': " + shape + ", }",
               data);
}

template <class T>
std::string raw(std::initializer_list<T> values) {
    return bytes_of(std::vector<T>(values));
}

std::string reversed(std::string text) { return {text.rbegin(), text.rend()}; }

struct Foreign {
    const char* shape;
    const char* text;  // as it prints, in one line
    std::string bytes;
};

void test_foreign_npy(void**) {
    World world;
    TemporaryFolder folder;
    const std::string f4 = raw<float>({1, 2, 3, 4, 5, 6});
    const Foreign cases[] = {
        {"f32 2 3", "[[1. 2. 3.]\n [4. 5. 6.]]", npy_of("<f4", "(2, 3)", f4)},
        {"f32 2 3", "[[1. 3. 5.]\n [2. 4. 6.]]", npy_of("<f4", "(2, 3)", f4, true)},
        {"f32 1 2 3", "[[[1. 3. 5.]\n  [2. 4. 6.]]]", npy_of("<f4", "(1, 2, 3)", f4, true)},
        {"f32 3 2", "[[6. 5.]\n [4. 3.]\n [2. 1.]]", npy_of(">f4", "(3, 2)", reversed(f4))},
        {"f32 3 2", "[[6. 3.]\n [5. 2.]\n [4. 1.]]", npy_of(">f4", "(3, 2)", reversed(f4), true)},
        {"f32 2", "[0.5 inf]", npy_of("<f8", "(2,)", raw<double>({0.5, HUGE_VAL}))},
        {"f32 2", "[1.5 nan]", npy_of("<f2", "(2,)", raw<uint16_t>({0x3e00, 0x7e01}))},
        {"f32 2", "[1.5 1. ]", npy_of(">f2", "(2,)", reversed(raw<uint16_t>({0x3c00, 0x3e00})))},
        {"i32 2", "[-2147483648  2147483647]", npy_of("<i8", "(2,)", raw<int64_t>({INT32_MIN, INT32_MAX}))},
        {"i32 2", "[    -1 -32768]", npy_of("<i2", "(2,)", raw<int16_t>({-1, INT16_MIN}))},
        {"i32 2", "[-128  127]", npy_of("|i1", "(2,)", raw<int8_t>({-128, 127}))},
        {"i32 2", "[255   0]", npy_of("|u1", "(2,)", raw<uint8_t>({255, 0}))},
        {"i32 1", "[65535]", npy_of("<u2", "(1,)", raw<uint16_t>({65535}))},
        {"i32 1", "[2147483647]", npy_of("<u4", "(1,)", raw<uint32_t>({INT32_MAX}))},
        {"i32 1", "[7]", npy_of(">u8", "(1,)", reversed(raw<uint64_t>({7})))},
        {"i32 3", "[1 0 1]", npy_of("|b1", "(3,)", raw<uint8_t>({1, 0, 1}))},
        {"i32", "5", npy_of("<i4", "()", raw<int32_t>({5}))},
        {"f32 0 4", "[]", npy_of("<f8", "(0, 4)", "", true)},
        {"f32 1", "[1.]",
         npy("{\"shape\":(1),\"fortran_order\":False,\"descr\":\"<f4\"}", raw<float>({1}), 2)},
        {"f32 1", "[1.]",
         npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", raw<float>({1}), 3)},
    };
    for (const Foreign& one : cases) {
        volta_tensors* const read = world.open(folder.write("t.npy", one.bytes));
        assert_int_equal(volta_tensors_count(read), 1);
        assert_string_equal(shape_of(volta_tensors_tensor(read, 0)).c_str(), one.shape);
        assert_string_equal(text_of(volta_tensors_tensor(read, 0)), one.text);
    }
}

struct Damaged {
    const char* said;  // without the path
    std::string bytes;
};

void expect_refused(World& world, const std::string& path, const Damaged& one) {
    volta_tensors* read = nullptr;
    const std::string said = refusal(volta_tensors_open(world.context, path.c_str(), &read));
    const std::string expected = std::string(one.said) + " ('" + path + "')";
    const size_t colon = expected.find(": ") + 2;
    assert_string_equal(
        said.c_str(),
        (expected.substr(0, colon) + "cannot read the tensors: " + expected.substr(colon)).c_str());
    assert_null(read);
}

void test_damaged_npy(void**) {
    World world;
    TemporaryFolder folder;
    const std::string f4 = raw<float>({1, 2}), good = npy_of("<f4", "(2,)", f4);
    const Damaged cases[] = {
        {"VOLTA_CORRUPT_MODEL: it is empty", ""},
        {"VOLTA_CORRUPT_MODEL: it is no .npy file of NumPy", "some text, and no array"},
        {"VOLTA_UNSUPPORTED: it is a zip archive: one of NumPy ends with .npz", "PK\3\4 and so on"},
        {"VOLTA_CORRUPT_MODEL: it ends within its header", good.substr(0, 4)},
        {"VOLTA_CORRUPT_MODEL: it ends within its header", good.substr(0, 9)},
        {"VOLTA_CORRUPT_MODEL: it ends within its header", good.substr(0, 100)},
        {"VOLTA_CORRUPT_MODEL: an array of float32 and shape [2] has 8 bytes, behind the header are 7",
         good.substr(0, good.size() - 1)},
        {"VOLTA_CORRUPT_MODEL: an array of float32 and shape [2] has 8 bytes, behind the header are 9",
         good + "x"},
        {"VOLTA_UNSUPPORTED: it is of version 4.0 of NumPy's format: 1.0, 2.0 and 3.0 are read",
         npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", f4, 4)},
        {"VOLTA_CORRUPT_MODEL: its header is not one of a .npy file",
         npy("{'descr': '<f4', 'shape': (2,), }", f4)},
        {"VOLTA_CORRUPT_MODEL: its header is not one of a .npy file",
         npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", f4)},
        {"VOLTA_CORRUPT_MODEL: its header is not one of a .npy file", npy_of("<f4", "(-2,)", f4)},
        {"VOLTA_CORRUPT_MODEL: its header is not one of a .npy file", npy_of("<f4", "(2,", f4)},
        {"VOLTA_CORRUPT_MODEL: its header is not one of a .npy file",
         npy_of("<f4", "(1000000000000000000,)", f4)},
        {"VOLTA_CORRUPT_MODEL: the shape [4294967296, 4294967296] is too large",
         npy_of("<f4", "(4294967296, 4294967296)", f4)},
        {"VOLTA_CORRUPT_MODEL: the shape [999999999999999999, 8, 8] is too large",
         npy_of("|u1", "(999999999999999999, 8, 8)", f4)},
        {"VOLTA_UNSUPPORTED: it has more than 8 axes", npy_of("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 2)", f4)},
        {"VOLTA_UNSUPPORTED: it holds records, not numbers",
         npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", f4)},
        {"VOLTA_UNSUPPORTED: its elements are of the type '<c8', which is not read",
         npy_of("<c8", "(1,)", f4)},
        {"VOLTA_UNSUPPORTED: its elements are of the type '|O', which is not read", npy_of("|O", "(1,)", f4)},
        {"VOLTA_UNSUPPORTED: its elements are of the type '|f4', which is not read",
         npy_of("|f4", "(2,)", f4)},
        {"VOLTA_UNSUPPORTED: element 1 of tensor 'arr_0' (float64) is 0.10000000000000001, which f32 does "
         "not hold",
         npy_of("<f8", "(2,)", raw<double>({0.5, 0.1}))},
        {"VOLTA_UNSUPPORTED: element 0 of tensor 'arr_0' (float64) is 1.0000000000000001e+300, which f32 "
         "does not hold",
         npy_of("<f8", "(1,)", raw<double>({1e300}))},
        {"VOLTA_UNSUPPORTED: element 0 of tensor 'arr_0' (int64) is -2147483649, which i32 does not hold",
         npy_of("<i8", "(1,)", raw<int64_t>({-2147483649}))},
        {"VOLTA_UNSUPPORTED: element 0 of tensor 'arr_0' (uint64) is 18446744073709551615, which i32 does "
         "not hold",
         npy_of("<u8", "(1,)", raw<uint64_t>({UINT64_MAX}))},
        {"VOLTA_UNSUPPORTED: element 0 of tensor 'arr_0' (uint32) is 2147483648, which i32 does not hold",
         npy_of("<u4", "(1,)", raw<uint32_t>({2147483648u}))},
        {"VOLTA_CORRUPT_MODEL: element 1 of tensor 'arr_0' is the truth value 2, which is neither 0 nor 1",
         npy_of("|b1", "(2,)", raw<uint8_t>({1, 2}))},
    };
    for (const Damaged& one : cases) expect_refused(world, folder.write("t.npy", one.bytes), one);
}

// ---- Archives

uint32_t checksum(const std::string& text) {
    uint32_t sum = ~0u;
    for (const char c : text) {
        sum ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320u : 0);
    }
    return ~sum;
}

// An archive of one member as others write it, with whatever is to be wrong.
struct Zip {
    std::string name = "x.npy", data = npy_of("<f4", "(2,)", raw<float>({1, 2})), local_name = name;
    uint32_t sum = checksum(data);
    uint64_t size = data.size(), stored = data.size(), place = 0, begin_shift = 0;
    uint16_t flags = 0, method = 0, copies = 1, count_shift = 0, disk = 0;
    bool is_64 = false;
    std::string comment;

    std::string central() const {
        std::string text = "PK\1\2" + number(45, 2) + number(45, 2) + number(flags, 2) + number(method, 2) +
                           number(0, 4) + number(sum, 4) + number(is_64 ? 0xffffffff : stored, 4) +
                           number(is_64 ? 0xffffffff : size, 4) + number(name.size(), 2) +
                           number(is_64 ? 32 : 0, 2) + number(0, 2) + number(0, 2) + number(0, 2) +
                           number(0, 4) + number(is_64 ? 0xffffffff : place, 4) + name;
        if (is_64)  // behind a field of something else
            text += number(0x5455, 2) + number(0, 2) + number(1, 2) + number(24, 2) + number(size, 8) +
                    number(stored, 8) + number(place, 8);
        return text;
    }
    std::string bytes() const {
        std::string text = "PK\3\4" + number(45, 2) + number(flags, 2) + number(method, 2) + number(0, 4) +
                           number(sum, 4) + number(stored, 4) + number(size, 4) +
                           number(local_name.size(), 2) + number(3, 2) + local_name + "abc" + data;
        const uint64_t begin = text.size() + begin_shift;
        std::string directory;
        for (int i = 0; i < copies; ++i) directory += central();
        text += directory;
        const uint64_t count = copies + count_shift;
        if (is_64) {
            const uint64_t end = text.size();
            text += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(disk, 4) +
                    number(0, 4) + number(count, 8) + number(count, 8) + number(directory.size(), 8) +
                    number(begin, 8);
            text += "PK\6\7" + number(0, 4) + number(end, 8) + number(1, 4);
        }
        return text + "PK\5\6" + number(disk, 2) + number(0, 2) + number(is_64 ? 0xffff : count, 2) +
               number(is_64 ? 0xffff : count, 2) + number(is_64 ? 0xffffffff : directory.size(), 4) +
               number(is_64 ? 0xffffffff : begin, 4) + number(comment.size(), 2) + comment;
    }
};

template <class Change>
std::string zip_with(Change change) {
    Zip zip;
    change(zip);
    return zip.bytes();
}

void test_foreign_npz(void**) {
    World world;
    TemporaryFolder folder;
    for (const std::string& bytes : {zip_with([](Zip&) {}), zip_with([](Zip& z) { z.is_64 = true; }),
                                     zip_with([](Zip& z) { z.comment = "PK\5\6 made by hand"; })}) {
        volta_tensors* const read = world.open(folder.write("t.npz", bytes));
        assert_int_equal(volta_tensors_count(read), 1);
        assert_string_equal(volta_tensors_name(read, 0), "x");
        assert_string_equal(text_of(volta_tensors_tensor(read, 0)), "[1. 2.]");
    }
}

void test_damaged_npz(void**) {
    World world;
    TemporaryFolder folder;
    const std::string good = zip_with([](Zip&) {});
    const Damaged cases[] = {
        {"VOLTA_CORRUPT_MODEL: it is empty", ""},
        {"VOLTA_CORRUPT_MODEL: it is no zip archive", "some text, and no archive of arrays"},
        {"VOLTA_UNSUPPORTED: it is one array of NumPy: such a file ends with .npy",
         npy_of("<f4", "(0,)", "")},
        {"VOLTA_CORRUPT_MODEL: it is cut: the archive has no directory at its end",
         good.substr(0, good.size() - 1)},
        {"VOLTA_UNSUPPORTED: member 'x.npy' of the archive is compressed, which is not read: write it by "
         "numpy.savez, not "
         "numpy.savez_compressed",
         zip_with([](Zip& z) { z.method = 8; })},
        {"VOLTA_UNSUPPORTED: member 'x.npy' of the archive is encrypted",
         zip_with([](Zip& z) { z.flags = 1; })},
        {"VOLTA_UNSUPPORTED: it is one part of an archive of several", zip_with([](Zip& z) { z.disk = 1; })},
        {"VOLTA_UNSUPPORTED: it is one part of an archive of several",
         zip_with([](Zip& z) { z.disk = 1, z.is_64 = true; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive has not the checksum that the archive says: it "
         "is damaged",
         zip_with([](Zip& z) { z.sum ^= 1; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive has two sizes",
         zip_with([](Zip& z) { ++z.stored; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive reaches beyond the end of the archive's data",
         zip_with([](Zip& z) { ++z.size, ++z.stored; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive reaches beyond the end of the archive's data",
         zip_with([](Zip& z) { z.is_64 = true, z.size = z.stored = UINT64_MAX; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive is not where the directory says",
         zip_with([](Zip& z) { z.place = 1; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive is not where the directory says",
         zip_with([](Zip& z) { z.is_64 = true, z.place = UINT64_MAX; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive has another name in front of its data",
         zip_with([](Zip& z) { z.local_name = "y.npy"; })},
        {"VOLTA_CORRUPT_MODEL: members of the archive overlap", zip_with([](Zip& z) { z.copies = 2; })},
        {"VOLTA_CORRUPT_MODEL: the directory of the archive is damaged",
         zip_with([](Zip& z) { z.count_shift = 1; })},
        {"VOLTA_CORRUPT_MODEL: the directory of the archive is damaged",
         zip_with([](Zip& z) { z.count_shift = static_cast<uint16_t>(-1); })},
        {"VOLTA_CORRUPT_MODEL: the directory of the archive is damaged",
         zip_with([](Zip& z) { z.begin_shift = 1; })},
        {"VOLTA_CORRUPT_MODEL: the directory of the archive is damaged",
         zip_with([](Zip& z) { z.is_64 = true, z.begin_shift = UINT64_MAX - 1000; })},
        {"VOLTA_CORRUPT_MODEL: it has 20001 members, at most 16384 are read",
         zip_with([](Zip& z) { z.is_64 = true, z.count_shift = 20000; })},
        {"VOLTA_UNSUPPORTED: member 'x.txt' of the archive is no .npy file",
         zip_with([](Zip& z) { z.name = z.local_name = "x.txt"; })},
        {"VOLTA_CORRUPT_MODEL: member '.npy' of the archive: the name of tensor '' is empty",
         zip_with([](Zip& z) { z.name = z.local_name = ".npy"; })},
        {"VOLTA_CORRUPT_MODEL: member 'x.npy' of the archive: it is no .npy file of NumPy",
         zip_with([](Zip& z) { z.data = "no array", z.size = z.stored = 8, z.sum = checksum(z.data); })},
    };
    for (const Damaged& one : cases) expect_refused(world, folder.write("t.npz", one.bytes), one);
    // Two whole members of one name.
    Zip first, second;
    second.place = good.find("PK\1\2");
    const std::string local = good.substr(0, second.place), directory = first.central() + second.central();
    const std::string end = "PK\5\6" + number(0, 4) + number(2, 2) + number(2, 2) +
                            number(directory.size(), 4) + number(2 * local.size(), 4) + number(0, 2);
    const Damaged twice = {"VOLTA_CORRUPT_MODEL: tensor 'x' is there twice", local + local + directory + end};
    expect_refused(world, folder.write("t.npz", twice.bytes), twice);
}

// ---- Safetensors of others

void test_foreign_safetensors(void**) {
    World world;
    TemporaryFolder folder;
    SafetensorsWriter writer;
    writer.add("half", "F16", {2}, raw<uint16_t>({0x3e00, 0xbc00}));
    writer.add("brain", "BF16", {1}, raw<uint16_t>({0x3fc0}));
    writer.add("bytes", "U8", {3}, raw<uint8_t>({0, 1, 255}));
    writer.add("long", "I64", {1}, raw<int64_t>({-5}));
    writer.add("double", "F64", {1}, raw<double>({0.25}));
    writer.add("mask", "BOOL", {2}, raw<uint8_t>({1, 0}));
    writer.add("eight", "F8_E4M3", {1}, raw<uint8_t>({0x38}));
    writer.add("small", "F8_E4M3", {2}, raw<uint8_t>({0x04, 0x84}));  // 4 times 2^-9
    volta_tensors* const read = world.open(folder.write("t.safetensors", writer.bytes()));
    const char* const expected[][3] = {
        {"brain", "f32 1", "[1.5]"},      {"bytes", "i32 3", "[  0   1 255]"},
        {"double", "f32 1", "[0.25]"},    {"eight", "f32 1", "[1.]"},
        {"half", "f32 2", "[ 1.5 -1. ]"}, {"long", "i32 1", "[-5]"},
        {"mask", "i32 2", "[1 0]"},       {"small", "f32 2", "[ 0.0078125 -0.0078125]"}};
    assert_int_equal(volta_tensors_count(read), 8);
    for (size_t i = 0; i < 8; ++i) {
        assert_string_equal(volta_tensors_name(read, i), expected[i][0]);
        assert_string_equal(shape_of(volta_tensors_tensor(read, i)).c_str(), expected[i][1]);
        assert_string_equal(text_of(volta_tensors_tensor(read, i)), expected[i][2]);
    }
    SafetensorsWriter large, packed;
    large.add("x", "I64", {1}, raw<int64_t>({int64_t{1} << 40}));
    packed.add("x", "Q8_0", {32}, std::string(34, '\0'));
    const Damaged cases[] = {
        {"VOLTA_UNSUPPORTED: element 0 of tensor 'x' (int64) is 1099511627776, which i32 does not hold",
         large.bytes()},
        {"VOLTA_UNSUPPORTED: tensor 'x' is of the type Q8_0, which is not read", packed.bytes()},
        {"VOLTA_CORRUPT_MODEL: it is empty", ""},
    };
    for (const Damaged& one : cases) expect_refused(world, folder.write("t.safetensors", one.bytes), one);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_arange),
        cmocka_unit_test(test_random_is_a_parameter),
        cmocka_unit_test(test_random_refusals),
        cmocka_unit_test(test_print_reals),
        cmocka_unit_test(test_print_integers),
        cmocka_unit_test(test_print_corners),
        cmocka_unit_test(test_print_lends),
        cmocka_unit_test(test_compare_exactly),
        cmocka_unit_test(test_compare_within),
        cmocka_unit_test(test_compare_special),
        cmocka_unit_test(test_compare_integers),
        cmocka_unit_test(test_compare_refusals),
        cmocka_unit_test(test_files_come_back),
        cmocka_unit_test(test_read_tensors_are_tensors),
        cmocka_unit_test(test_save_refusals),
        cmocka_unit_test(test_foreign_npy),
        cmocka_unit_test(test_damaged_npy),
        cmocka_unit_test(test_foreign_npz),
        cmocka_unit_test(test_damaged_npz),
        cmocka_unit_test(test_foreign_safetensors),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
