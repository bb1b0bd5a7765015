// The generated CUDA C of every row program, executed in the emulation, against the oracle of the kernel
// language, bit for bit: widths around warps and chunks, strides, operands in place, special values, and all
// orders in which threads may run.
#include <cstdio>

#include "jitgen/interpreter.h"
#include "tests/cuda/emulated_kernel.h"
#include "tests/cuda/programs.h"
#include "tests/jitgen/compare.h"
#include "tests/jitgen/corpus.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

std::string failure;  // of the test at hand: no object with a destructor is alive where an assertion leaves

constexpr std::int64_t kWidths[] = {0, 1, 2, 31, 32, 33, 100, 4095, 4096, 4097, 10000};

void run(EmulatedKernel& kernel, const std::string& name, const Layout& layout) {
    if (!failure.empty()) return;
    static const char* const forms[] = {"warps", "blocks", "segments"};
    kernel.error.clear();
    const Difference difference = compare(kernel, layout);
    if (!kernel.error.empty()) failure = kernel.error;
    if (failure.empty() && difference.found) failure = difference.text;
    if (failure.empty()) return;
    failure = name + "_" + forms[static_cast<int>(kernel.form)] + " of [" + std::to_string(layout.rows) +
              ", " + std::to_string(layout.columns) + "]: " + failure;
}

Layout layout_of(std::uint64_t seed, std::int64_t rows, std::int64_t columns) {
    Layout layout{};
    layout.rows = rows;
    layout.columns = columns;
    layout.seed = seed;
    layout.offset = static_cast<std::int64_t>(seed % 5);
    layout.row_gap = static_cast<std::int64_t>(seed % 3) * 3;
    layout.in_place = seed % 2 == 0;
    layout.continue_columns = seed % 4 < 2;
    layout.first_row = static_cast<std::uint32_t>(seed * 0x9e3779b1u);
    layout.first_column = static_cast<std::uint32_t>(seed * 0x85ebca77u);
    layout.data = static_cast<Data>(seed % 7 % 4);
    return layout;
}

// Every form of one program on every width.
void run_widths(const NamedProgram& named, bool long_rows) {
    const EmulatedKernels* kernels = find_emulated(named.name);
    if (kernels == nullptr) {
        failure = named.name + ": no kernel was generated";
        return;
    }
    EmulatedKernel kernel(named.program, *kernels, heap());
    std::uint64_t seed = 1;
    for (const auto form : {jit::RowForm::warps, jit::RowForm::blocks, jit::RowForm::segments}) {
        if (!kernel.takes(form)) continue;
        kernel.form = form;
        for (const std::int64_t columns : kWidths) {
            if (!long_rows && columns > 4000 && columns != 4097) continue;
            const bool sums = form == jit::RowForm::segments;
            for (int turn = 0; turn < (columns > 4000 ? 1 : 4); ++turn) {
                ++seed;
                kernel.size = seed % 4 == 0 ? EmulatedKernel::Size::as_planned : EmulatedKernel::Size::small;
                kernel.order = static_cast<simt::Order>(seed / 2 % 3);
                const std::int64_t rows = columns > 4000 ? 2 : sums && columns < 33 ? 513 + turn : 5;
                Layout layout = layout_of(seed, rows, columns);
                if (columns <= 4000) layout.data = static_cast<Data>(turn);
                run(kernel, named.name, layout);
            }
        }
    }
}

// `named`: what a sample takes beside every n-th is among these.
void check(std::vector<NamedProgram> (*programs)(), bool long_rows, bool named = false) {
    failure.clear();
    {
        const std::vector<NamedProgram> list = programs();
        Sample sample;
        for (const NamedProgram& program : list)
            if (sample.takes_next(program.name.c_str()) && failure.empty()) run_widths(program, long_rows);
        if (named && sample.missing() != 0) failure = "not all rows of VOLTA_TEST_ALSO exist";
    }
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

void test_backend_programs(void**) { check(backend_programs, true); }
void test_corpus_programs(void**) { check(corpus_programs, true, true); }
void test_seeded_programs(void**) { check(seeded_programs, false); }

// Two rows of many chunks: chunk results that fill a chunk themselves, and one more level.
void test_row_sum_recursion(void**) {
    failure.clear();
    Sample sample;
    for (const NamedProgram& named : backend_programs()) {
        if (named.name != "reduce_sum") continue;
        EmulatedKernel kernel(named.program, *find_emulated(named.name), heap());
        for (const auto form : {jit::RowForm::warps, jit::RowForm::blocks})
            for (const std::int64_t columns :
                 {std::int64_t{4096} * 33 + 5, std::int64_t{4096} * 4096, std::int64_t{4096} * 4096 + 1,
                  std::int64_t{4096} * 4129 + 7}) {
                if (!sample.takes_next()) continue;
                kernel.form = form;
                kernel.size = EmulatedKernel::Size::as_planned;
                Layout layout{};
                layout.rows = 1;
                layout.columns = columns;
                run(kernel, named.name, layout);
            }
    }
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

// Segments of 512 rows, continued or not.
void test_column_sums(void**) {
    failure.clear();
    Sample sample;
    for (const NamedProgram& named : corpus_programs()) {
        if (!named.program.has_column_sum() || !sample.takes_next()) continue;
        EmulatedKernel kernel(named.program, *find_emulated(named.name), heap());
        kernel.form = jit::RowForm::segments;
        std::uint64_t seed = 100;
        for (const std::int64_t rows : {0, 1, 3, 511, 512, 513, 1024, 1025, 2600})
            for (const std::int64_t columns : {0, 1, 7, 65, 150}) {
                kernel.order = static_cast<simt::Order>(seed % 3);
                run(kernel, named.name, layout_of(++seed, rows, columns));
            }
    }
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

// A code that no program uses would be a code that nothing proves.
void test_every_code_occurs(void**) {
    bool seen[jit::kCodeCount] = {};
    for (const NamedProgram& named : all_programs())
        for (const jit::Instruction& x : named.program.code) seen[static_cast<int>(x.code)] = true;
    for (int code = 0; code < jit::kCodeCount; ++code) {
        if (!seen[code])
            print_error("%s occurs in no program\n", jit::info(static_cast<jit::Code>(code)).name);
        assert_true(seen[code]);
    }
}

// Every unary function on every 4093rd of the 2^32 inputs, against the interpreter.
void sweep(const NamedProgram& named) {
    constexpr std::uint32_t kStride = 4093;
    constexpr std::int64_t kRows = 8, kColumns = 4096, kEach = kRows * kColumns;
    EmulatedKernel kernel(named.program, *find_emulated(named.name), heap());
    kernel.size = EmulatedKernel::Size::as_planned;
    const jit::RowKernelPtr interpreter = jit::interpret(named.program, heap());
    std::vector<std::uint32_t> in(kEach), expected(kEach), actual(kEach);
    std::vector<char> scratch(interpreter->scratch_bytes(kColumns) + 64);
    void* operands[] = {in.data(), expected.data()};
    const std::int64_t strides[] = {kColumns, kColumns};
    jit::RowArgs args{operands, strides, kRows, kColumns, 0, 0, nullptr, 0};
    args.scratch = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32) && failure.empty();) {
        for (std::uint32_t& x : in) x = static_cast<std::uint32_t>(bits), bits += kStride;
        operands[1] = expected.data();
        interpreter->run(args);
        operands[1] = actual.data();
        kernel.form = kernel.form == jit::RowForm::warps ? jit::RowForm::blocks : jit::RowForm::warps;
        kernel.run(args);
        failure = kernel.error;
        const std::int64_t at = first_difference(reinterpret_cast<const float*>(expected.data()),
                                                 reinterpret_cast<const float*>(actual.data()), kEach);
        if (at < 0) continue;
        char text[96];
        std::snprintf(text, sizeof text, " of %08x: expected %08x, got %08x",
                      in[static_cast<std::size_t>(at)], expected[static_cast<std::size_t>(at)],
                      actual[static_cast<std::size_t>(at)]);
        failure = named.name + text;
    }
}
void test_sweep_of_functions(void**) {
    failure.clear();
    Sample sample;
    for (const NamedProgram& named : corpus_programs())
        if (named.name.compare(0, 9, "function_") == 0 && sample.takes_next() && failure.empty())
            sweep(named);
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_backend_programs),   cmocka_unit_test(test_corpus_programs),
        cmocka_unit_test(test_seeded_programs),    cmocka_unit_test(test_row_sum_recursion),
        cmocka_unit_test(test_column_sums),        cmocka_unit_test(test_every_code_occurs),
        cmocka_unit_test(test_sweep_of_functions),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
