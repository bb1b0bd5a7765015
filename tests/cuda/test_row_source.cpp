// The text itself, and how it is launched.

#include "jitgen/cuda/attention_source.h"
#include "jitgen/cuda/row_launch.h"
#include "jitgen/cuda/rows_product_source.h"
#include "tests/jitgen/corpus.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// One instruction each, and the line it becomes.
struct Line {
    const char* name;
    void (*build)(jit::Builder& b, jit::Real x, int y);
    const char* line;
};
constexpr Line kLines[] = {
    {"add", [](jit::Builder& b, jit::Real x, int y) { b.store(y, x + b.real(1)); },
     "= __fadd_rn(v0, 0x1p+0f);"},
    {"zero", [](jit::Builder& b, jit::Real x, int y) { b.store(y, x + b.real(-0.0)); },
     "= __fadd_rn(v0, -0.0f);"},
    {"tenth", [](jit::Builder& b, jit::Real x, int y) { b.store(y, x * b.real(-0.1)); },
     "= __fmul_rn(v0, -0x1.99999ap-4f);"},
    {"subnormal", [](jit::Builder& b, jit::Real x, int y) { b.store(y, x * b.real(0x1.8p-147)); },
     "= __fmul_rn(v0, 0x0.00000cp-126f);"},
    {"infinity", [](jit::Builder& b, jit::Real x, int y) { b.store(y, x / b.real(1e39)); },
     "= __fdiv_rn(v0, __uint_as_float(0x7f800000u));"},
    {"fma", [](jit::Builder& b, jit::Real x, int y) { b.store(y, b.fma(x, x, x)); },
     "= __fmaf_rn(v0, v0, v0);"},
    {"bits", [](jit::Builder& b, jit::Real x, int y) { b.store(y, b.from_bits(b.shl(b.bits(x), 3))); },
     "= __float_as_uint(v0) << 3;"},
    {"select",
     [](jit::Builder& b, jit::Real x, int y) { b.store(y, b.select(b.less(x, b.real(2)), x, b.neg(x))); },
     "? v0 : "},
};

void test_line(void** state) {
    const Line& line = *static_cast<const Line*>(*state);
    bool found;
    {
        jit::Builder b(heap());
        const int x = b.input(jit::Access::full), y = b.output(jit::Access::full);
        line.build(b, b.load(x), y);
        const auto text = jit::row_source(b.finish(), "kernel", heap());
        found = text.find(line.line) != std::pmr::string::npos;
        if (!found) print_error("\"%s\" is not in:\n%s\n", line.line, text.c_str());
    }
    assert_true(found);
}

// The same program has the same text: a cache of compiled kernels is keyed by it.
void test_text_is_stable(void**) {
    bool same = true;
    for (const CorpusRow& row : row_programs()) {
        const auto text = jit::row_source(build(row, heap()), "kernel", heap());
        same = same && text == jit::row_source(build(row, heap()), "kernel", heap());
        same = same && text.find("#include") == std::pmr::string::npos;
    }
    assert_true(same);
}

struct Choice {
    const char* program;
    std::int64_t rows, columns;
    int multiprocessors;
    jit::RowForm form;
};
constexpr Choice kChoices[] = {
    {"softmax", 8192, 1024, 132, jit::RowForm::warps},
    {"softmax", 4, 50257, 132, jit::RowForm::blocks},
    {"softmax", 4, 100, 132, jit::RowForm::warps},
    {"adamw", 1, 1 << 24, 132, jit::RowForm::blocks},
    {"column_sum", 8192, 768, 132, jit::RowForm::segments},
    {"softmax", 0, 0, 1, jit::RowForm::warps},
    {"column_sum", 0, 5, 1, jit::RowForm::segments},
    {"swap", std::int64_t{1} << 40, 3, 1, jit::RowForm::warps},
};

void test_launches(void**) {
    for (const Choice& choice : kChoices) {
        const auto plan = jit::cuda_plan(build(find_program(choice.program), heap()), heap());
        const jit::RowLaunch launch =
            jit::row_launch(plan, choice.rows, choice.columns, choice.multiprocessors);
        assert_int_equal(static_cast<int>(launch.form), static_cast<int>(choice.form));
        assert_in_range(launch.grid_x, 1, 0x7fffffff);
        assert_in_range(launch.grid_y, 1, 65535);
        assert_in_range(launch.threads, 32, 1024);
        assert_int_equal(launch.threads % 32, 0);
    }
}

// 4 rows of 50,257 columns in 13 chunks: a row of chunk results is rounded up to 32 floats.
void test_scratch(void**) {
    const auto softmax = jit::cuda_plan(build(find_program("softmax"), heap()), heap());
    const jit::RowLaunch launch = jit::row_launch(softmax, 4, 50257, 132);
    assert_int_equal(launch.grid_x, 4);
    assert_int_equal(launch.chunk_stride, 32);
    assert_int_equal(launch.scratch_bytes, 4 * 32 * sizeof(float));
    const auto sums = jit::cuda_plan(build(find_program("layer_norm_scale_grad"), heap()), heap());
    assert_int_equal(jit::row_launch(sums, 1025, 10, 132).scratch_bytes, 2 * 3 * 10 * sizeof(float));
    assert_int_equal(jit::row_launch(sums, 0, 10, 132).scratch_bytes, 0);
}

std::pmr::string function_text(void (*define)(jit::Builder&)) {
    jit::Builder b(heap());
    define(b);
    std::pmr::string text(heap());
    jit::append_row_function(b.finish(), "shifted", text);
    return text;
}

// One element of a program, for kernels that are written by hand.
void test_function(void**) {
    const auto shift = [](jit::Builder& b) {
        const jit::Real x = b.load(b.input(jit::Access::full));
        const jit::Int n = b.load_int(b.input(jit::Access::full, jit::Type::integer));
        b.store(b.output(jit::Access::full), x + b.to_real(n));
    };
    const std::pmr::string text = function_text(shift);
    const bool takes = text.find("void shifted(float a0, unsigned a1, float& a2)") != text.npos;
    const bool stores = text.find("a2 = v") != text.npos && text.find("__fadd_rn(") != text.npos;
    const Failure sum = failure_of([] {
        function_text([](jit::Builder& b) {
            b.store(b.output(jit::Access::per_row), b.row_sum(b.load(b.input(jit::Access::full))));
        });
    });
    const Failure column = failure_of([] {
        function_text([](jit::Builder& b) {
            b.store(b.output(jit::Access::full), b.load(b.input(jit::Access::single), 3));
        });
    });
    assert_true(takes);
    assert_true(stores);
    assert_failure(sum, VOLTA_INTERNAL, "function shifted is no program over full operands alone");
    assert_failure(column, VOLTA_INTERNAL, "function shifted");
}

// Forms that no kernel has are refused by name.
void test_refusals(void**) {
    const auto attention = [](int head_dim) {
        return failure_of([&] {
            std::pmr::string text(heap());
            jit::append_attention_kernels({head_dim, true, false}, "wide", text);
        });
    };
    const auto rows = [](DType b, bool transposed, int count) {
        return failure_of([&] {
            std::pmr::string text(heap());
            jit::append_rows_product_kernel({b, transposed, count}, nullptr, "few", text);
        });
    };
    const Failure long_time = failure_of([] {
        jit::CudaAttentionArgs args{};
        args.time = 4096 * 4096 + 1;
        jit::attention_launch(64, args, 1);
    });
    assert_failure(attention(0), VOLTA_INTERNAL, "attention kernel wide: heads of 0 elements");
    assert_failure(attention(257), VOLTA_INTERNAL, "heads of 257 elements");
    assert_int_equal(attention(256).status, VOLTA_OK);
    assert_failure(long_time, VOLTA_UNSUPPORTED, "attention over 16777217 tokens");
    assert_failure(rows(DType::f32, true, 17), VOLTA_INTERNAL,
                   "product kernel few: 17 rows of f32, transposed");
    assert_failure(rows(DType::f32, false, 0), VOLTA_INTERNAL, "0 rows");
    assert_failure(rows(DType::i32, false, 1), VOLTA_INTERNAL, "i32");
    assert_failure(rows(DType::int8, true, 1), VOLTA_INTERNAL, "int8, transposed");
    assert_int_equal(rows(DType::int4, false, 16).status, VOLTA_OK);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_stable), cmocka_unit_test(test_launches),
        cmocka_unit_test(test_scratch),        cmocka_unit_test(test_function),
        cmocka_unit_test(test_refusals),
    };
    return run_rows("lines", kLines, test_line, [](const Line& row) { return row.name; }) +
           cmocka_run_group_tests(tests, nullptr, nullptr);
}
