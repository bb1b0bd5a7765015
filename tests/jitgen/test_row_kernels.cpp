// Every lowering against the oracle, bit for bit: all functions, whole-row programs and random programs, on
// tails, strides, unaligned and shared memory, with special values, guards around every operand.
#include <cstring>
#include <memory_resource>
#include <string>
#include <vector>

#include "engine/base/cpu_info.h"
#include "jitgen/row_kernel.h"
#include "tests/jitgen/compare.h"
#include "tests/jitgen/corpus.h"
#include "tests/jitgen/random_program.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// A lowering under test; rows of the table become tests.
struct Lowering {
    const char* name;
    Isa isa;
};
constexpr Lowering kLowerings[] = {
    {"interpreter", Isa::scalar}, {"avx2", Isa::avx2}, {"avx512", Isa::avx512}};

struct Outcome {
    bool differs = false;
    std::string text;
};

void run(const jit::RowKernel& kernel, const char* name, const Layout& layout, Outcome& outcome) {
    if (outcome.differs) return;
    const Difference difference = compare(kernel, layout);
    if (!difference.found) return;
    outcome.differs = true;
    outcome.text = std::string(name) + ": " + difference.text;
}

// No object with a destructor is alive where an assertion leaves by longjmp.
void check(const Lowering& lowering, void (*body)(const Lowering&, Outcome&)) {
    if (!host_cpu().has(lowering.isa)) skip();
    static Outcome outcome;
    outcome = Outcome();
    body(lowering, outcome);
    if (outcome.differs) print_error("%s: %s\n", lowering.name, outcome.text.c_str());
    assert_false(outcome.differs);
}

// 0 .. 70 and around the group, the chunk and two chunks; slow lowerings see fewer of them.
const std::vector<std::int64_t>& column_counts() {
    static const std::vector<std::int64_t> counts = [] {
        std::vector<std::int64_t> list;
        for (std::int64_t n = 0; n <= 70; ++n) list.push_back(n);
        for (const std::int64_t n : {127, 128, 129, 130, 384, 513, 4095, 4096, 4097, 8193}) list.push_back(n);
        return list;
    }();
    return counts;
}

std::uint32_t full_outputs(const jit::Program& program) {
    std::uint32_t mask = 0;
    for (std::size_t k = 0; k < program.operands.size(); ++k)
        if (program.operands[k].output && program.operands[k].access == jit::Access::full) mask |= 1u << k;
    return mask;
}

// Of a sample every program has some of the numbers of columns, the next one others.
void corpus(const std::vector<CorpusRow>& rows, const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    Sample sample;
    for (const CorpusRow& row : rows) {
        const jit::Program program = build(row, heap());
        const auto kernel = jit::compile(program, lowering.isa, arena, heap());
        if (kernel->is_native() != (lowering.isa != Isa::scalar))
            outcome = {true, "compiled to another lowering"};
        jit::Program past_caches = program;
        past_caches.streams = full_outputs(program);
        const auto streaming = jit::compile(past_caches, lowering.isa, arena, heap());
        std::uint64_t seed = 1;
        for (const std::int64_t columns : column_counts()) {
            ++seed;
            if (!sample.takes_next()) continue;
            Layout layout{};
            layout.columns = columns;
            layout.rows = columns > 600 ? 1 : 3;
            layout.seed = seed;
            layout.offset = static_cast<std::int64_t>(seed % 5);
            layout.row_gap = static_cast<std::int64_t>(seed % 3) * 3;
            layout.in_place = seed % 2 == 0;
            layout.first_row = static_cast<std::uint32_t>(seed * 1000);
            layout.data = static_cast<Data>(seed % 3);
            run(*kernel, row.name, layout, outcome);
            layout.offset = 0;
            layout.row_gap = (16 - columns % 16) % 16;
            run(*streaming, row.name, layout, outcome);
        }
    }
}

std::string code_of(const jit::Program& program, Isa isa) {
    jit::CodeArena arena(heap(), false);
    const auto kernel = jit::compile(program, isa, arena, heap());
    std::string code;
    arena.visit(
        [](void* data, const void* bytes, std::size_t count, const char*) {
            static_cast<std::string*>(data)->assign(static_cast<const char*>(bytes), count);
        },
        &code);
    return code;
}

// Stores past the caches are weakly ordered: a fence comes before whatever tells other threads of them.
void fences(const Lowering& lowering, Outcome& outcome) {
    if (lowering.isa == Isa::scalar) return;
    for (const bool streams : {false, true}) {
        jit::Program program = build(find_program("add"), heap());
        if (streams) program.streams = full_outputs(program);
        const std::string code = code_of(program, lowering.isa);
        if ((code.find("\x0f\xae\xf8") != code.npos) != streams)
            outcome = {true, streams ? "streams without SFENCE" : "fenced for nothing"};
    }
}
void test_streamed_stores_are_fenced(void** state) { check(*static_cast<const Lowering*>(*state), fences); }

// Kernels of several stages ask for the next row: to read it by PREFETCHT0, to write it by PREFETCHW, unless
// its stores pass the caches. One stage is what the processor's own prefetching follows.
void asks_for_rows(const Lowering& lowering, Outcome& outcome) {
    if (lowering.isa == Isa::scalar) return;
    const auto asks = [&](const jit::Program& program, const char* bytes) {
        return code_of(program, lowering.isa).find(bytes) != std::string::npos;
    };
    const jit::Program one = build(find_program("add"), heap());
    jit::Program several = build(find_program("softmax"), heap());
    if (asks(one, "\x0f\x18") || asks(one, "\x0f\x0d")) outcome = {true, "one stage prefetches"};
    if (!asks(several, "\x0f\x18")) outcome = {true, "the next row is not read ahead"};
    if (!asks(several, "\x0f\x0d")) outcome = {true, "the next row is not prepared for its stores"};
    several.streams = full_outputs(several);
    if (asks(several, "\x0f\x0d")) outcome = {true, "what passes the caches is brought into them"};
}
void test_the_next_row_is_asked_for(void** state) {
    check(*static_cast<const Lowering*>(*state), asks_for_rows);
}

void test_functions(void** state) {
    check(*static_cast<const Lowering*>(*state),
          [](const Lowering& lowering, Outcome& outcome) { corpus(function_programs(), lowering, outcome); });
}

void test_row_programs(void** state) {
    check(*static_cast<const Lowering*>(*state),
          [](const Lowering& lowering, Outcome& outcome) { corpus(row_programs(), lowering, outcome); });
}

// Segments of 512 rows, continued or not, in every width of a block of columns.
void column_sums(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    for (const char* name : {"column_sum", "layer_norm_scale_grad", "gelu_grad_bias_grad"}) {
        const auto kernel = jit::compile(build(find_program(name), heap()), lowering.isa, arena, heap());
        std::uint64_t seed = 100;
        for (const std::int64_t rows : {0, 1, 3, 511, 512, 513, 1024, 1025})
            for (const std::int64_t columns : {0, 1, 7, 8, 17, 64, 129, 150}) {
                Layout layout{};
                layout.rows = rows;
                layout.columns = columns;
                layout.seed = ++seed;
                layout.row_gap = static_cast<std::int64_t>(seed % 2) * 5;
                layout.offset = static_cast<std::int64_t>(seed % 3);
                layout.continue_columns = seed % 4 < 2;
                layout.data = static_cast<Data>(seed % 3);
                run(*kernel, name, layout, outcome);
            }
    }
}
void test_column_sums(void** state) { check(*static_cast<const Lowering*>(*state), column_sums); }

// Row sums of more than one chunk of chunk results recurse: 4096 * 4096 columns and some.
void recursion(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    jit::Builder b(heap());
    const jit::Real x = b.load(b.input(jit::Access::full));
    b.store(b.output(jit::Access::per_row), b.row_sum(x));
    const auto kernel = jit::compile(b.finish(), lowering.isa, arena, heap());
    for (const std::int64_t columns :
         {std::int64_t{4096} * 33 + 5, std::int64_t{4096} * 4096, std::int64_t{4096} * 4097 + 1}) {
        Layout layout{};
        layout.rows = 1;
        layout.columns = columns;
        run(*kernel, "row_sum", layout, outcome);
    }
}
void test_row_sum_recursion(void** state) { check(*static_cast<const Lowering*>(*state), recursion); }

void random_programs(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    const auto& counts = column_counts();
    Sample sample;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        if (!sample.takes_next()) continue;
        const auto shape = static_cast<Shape>(seed % 3);
        const jit::Program program = random_program(seed, shape, 3 + static_cast<int>(seed % 60), heap());
        const auto kernel = jit::compile(program, lowering.isa, arena, heap());
        Random random(seed);
        for (int i = 0; i < 3; ++i) {
            Layout layout{};
            const std::int64_t short_counts = 76;  // up to 384
            layout.columns =
                counts[static_cast<std::size_t>(random.below(i == 2 && seed % 20 == 0 ? 81 : short_counts))];
            layout.rows = 1 + random.below(3);
            if (shape == Shape::columns && layout.columns < 40 && seed % 8 == 0) layout.rows = 513;
            layout.row_gap = random.below(3) * random.below(5);
            layout.offset = random.below(4);
            layout.in_place = random.below(2) != 0;
            layout.continue_columns = random.below(2) != 0;
            layout.first_row = static_cast<std::uint32_t>(random.next());
            layout.first_column = static_cast<std::uint32_t>(random.next());
            layout.data = static_cast<Data>(random.below(3));
            layout.seed = seed * 10 + static_cast<std::uint64_t>(i);
            run(*kernel, ("random program " + std::to_string(seed)).c_str(), layout, outcome);
        }
    }
}
void test_random_programs(void** state) { check(*static_cast<const Lowering*>(*state), random_programs); }

// A value that the first stage computes for an instruction into which it is merged, and for nothing else, but
// which is dear enough to be kept for the last stage. As softmax(silu(x)) beside tanh(x), both of whose
// arguments are |x|.
void merged_and_kept(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    for (const bool is_sum : {false, true}) {
        jit::Builder b(heap());
        const jit::Real x = b.load(b.input(jit::Access::full));
        const jit::Real dear = b.real(1) / (x / b.real(3));
        const jit::Real magnitude = b.abs(dear), negative = b.neg(magnitude);
        const jit::Real reduced = is_sum ? b.row_sum(negative) : b.row_max(negative);
        b.store(b.output(jit::Access::full), magnitude * reduced);
        b.store(b.output(jit::Access::full), dear);
        const auto kernel = jit::compile(b.finish(), lowering.isa, arena, heap());
        for (const std::int64_t columns : {1, 4, 16, 75, 4100}) {
            Layout layout{};
            layout.rows = 3;
            layout.columns = columns;
            run(*kernel, "a value that is merged and kept", layout, outcome);
        }
    }
}
void test_merged_and_kept(void** state) { check(*static_cast<const Lowering*>(*state), merged_and_kept); }

// Programs with far more values alive than registers.
void long_programs(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    Sample sample;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        if (!sample.takes_next()) continue;
        const auto program = random_program(seed + 5000, static_cast<Shape>(seed % 3),
                                            250 + static_cast<int>(seed % 200), heap());
        const auto kernel = jit::compile(program, lowering.isa, arena, heap());
        Layout layout{};
        layout.rows = 2;
        layout.columns = static_cast<std::int64_t>(seed % 79);
        layout.in_place = seed % 2 != 0;
        layout.seed = seed;
        layout.data = static_cast<Data>(seed % 4 % 3);
        run(*kernel, ("long program " + std::to_string(seed)).c_str(), layout, outcome);
    }
}
void test_long_programs(void** state) { check(*static_cast<const Lowering*>(*state), long_programs); }

// More sums in one loop over the columns than registers for their lanes, and than registers for their
// results.
void many_sums(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    jit::Builder b(heap());
    const jit::Real x = b.load(b.input(jit::Access::full));
    std::vector<jit::Real> sums;
    for (int k = 1; k <= 24; ++k) sums.push_back(b.row_sum(x * b.real(k)));
    jit::Real all = sums[0];
    for (const jit::Real sum : sums) all = all * b.real(0.5) + sum;
    b.store(b.output(jit::Access::full), all - x);
    const auto kernel = jit::compile(b.finish(), lowering.isa, arena, heap());
    for (const std::int64_t columns : {1, 16, 75, 4100}) {
        Layout layout{};
        layout.rows = 3;
        layout.columns = columns;
        run(*kernel, "24 sums", layout, outcome);
    }
}
void test_many_sums(void** state) { check(*static_cast<const Lowering*>(*state), many_sums); }

// A program of more code than a kernel's first buffer holds.
void much_code(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    jit::Builder b(heap());
    const jit::Real x = b.load(b.input(jit::Access::full));
    jit::Real y = x;
    for (int k = 0; k < 4000; ++k) y = y * b.real(0.5) - x;
    b.store(b.output(jit::Access::full), y);
    const auto kernel = jit::compile(b.finish(), lowering.isa, arena, heap());
    Layout layout{};
    layout.rows = 2;
    layout.columns = 19;
    run(*kernel, "a program of 8,000 instructions", layout, outcome);
}
void test_much_code(void** state) { check(*static_cast<const Lowering*>(*state), much_code); }

// A kernel of the most operands: pointers no longer fit the registers.
void many_operands(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    for (const jit::Access access : {jit::Access::full, jit::Access::per_row, jit::Access::per_column}) {
        jit::Builder b(heap());
        jit::Real sum = b.real(0);
        for (int k = 0; k < 16; ++k) sum = sum + b.load(b.input(access));
        const jit::Real e = b.load(b.input(jit::Access::full)) / (sum + b.real(1));
        for (int k = 0; k < 7; ++k) b.store(b.output(jit::Access::full), e + b.row_sum(e * b.real(k)));
        const auto kernel = jit::compile(b.finish(), lowering.isa, arena, heap());
        Layout layout{};
        layout.rows = 3;
        layout.columns = 75;
        run(*kernel, "24 operands", layout, outcome);
    }
    jit::Builder b(heap());
    const jit::Real x = b.load(b.input(jit::Access::full));
    for (int k = 0; k < 23; ++k) b.column_sum(b.output(jit::Access::per_column), x * b.real(k));
    const auto kernel = jit::compile(b.finish(), lowering.isa, arena, heap());
    Layout layout{};
    layout.rows = 600;
    layout.columns = 75;
    run(*kernel, "23 column sums", layout, outcome);
}
void test_many_operands(void** state) { check(*static_cast<const Lowering*>(*state), many_operands); }

// run_block moves every operand by its access and the indices with it: blocks compute what the whole
// computes.
void blocks(const Lowering& lowering, Outcome& outcome) {
    jit::CodeArena arena(heap(), false);
    jit::Builder b(heap());
    const jit::Real x = b.load(b.input(jit::Access::full)), r = b.load(b.input(jit::Access::per_row));
    const jit::Real c = b.load(b.input(jit::Access::per_column)), s = b.load(b.input(jit::Access::single), 2);
    const jit::Real index = b.to_real(b.iadd(b.shl(b.row_index(), 8), b.column_index()));
    b.store(b.output(jit::Access::full), b.fma(x, r, c) + s * index);
    const auto kernel = jit::compile(b.finish(), lowering.isa, arena, heap());

    constexpr std::int64_t kRows = 11, kColumns = 53, kStride = 60;
    auto x_data = random_floats(kRows * kStride, 1), r_data = random_floats(kRows * 2, 2);
    auto c_data = random_floats(kColumns, 3), s_data = random_floats(4, 4);
    std::vector<float> whole(kRows * kStride, 7.0f), parts = whole;
    void* operands[] = {x_data.data(), r_data.data(), c_data.data(), s_data.data(), whole.data()};
    const std::int64_t strides[] = {kStride, 2, 0, 0, kStride};
    alignas(64) static char scratch[1 << 16];
    jit::RowArgs args{operands, strides, kRows, kColumns, 100, 1000, scratch, 0};
    kernel->run(args);
    operands[4] = parts.data();
    for (std::int64_t i = 0; i < kRows; i += 4)
        for (std::int64_t j = 0; j < kColumns; j += 19)
            jit::run_block(*kernel, args, i, std::min(kRows, i + 4), j, std::min(kColumns, j + 19), scratch);
    if (first_difference(whole.data(), parts.data(), kRows * kStride) >= 0)
        outcome = {true, "blocks differ from the whole"};
}
void test_blocks_compute_the_whole(void** state) { check(*static_cast<const Lowering*>(*state), blocks); }

constexpr struct {
    const char* name;
    CMUnitTestFunction run;
} kTests[] = {
    {"functions", test_functions},
    {"row programs", test_row_programs},
    {"column sums", test_column_sums},
    {"row sum recursion", test_row_sum_recursion},
    {"random programs", test_random_programs},
    {"merged and kept", test_merged_and_kept},
    {"long programs", test_long_programs},
    {"many sums", test_many_sums},
    {"much code", test_much_code},
    {"many operands", test_many_operands},
    {"blocks compute the whole", test_blocks_compute_the_whole},
    {"streamed stores are fenced", test_streamed_stores_are_fenced},
    {"the next row is asked for", test_the_next_row_is_asked_for},
};

}  // namespace

int main() {
    int failed = 0;
    for (const auto& test : kTests)
        failed += run_rows(test.name, kLowerings, test.run, [](const Lowering& row) { return row.name; });
    return failed;
}
