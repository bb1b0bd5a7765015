// The kernel language as data: recording, printing, verifying, appending.
#include <memory_resource>
#include <new>
#include <string>

#include "engine/base/cpu_info.h"
#include "engine/base/error.h"
#include "jitgen/row_kernel.h"
#include "tests/jitgen/corpus.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::test;
using jit::Access;
using jit::Builder;
using jit::Code;
using jit::Program;
using jit::Real;
using jit::Type;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

void test_equal_pure_instructions_are_recorded_once(void**) {
    Builder b(heap());
    const int x = b.input(Access::full), y = b.output(Access::full);
    const Real first = b.load(x) + b.real(1), second = b.load(x) + b.real(1);
    assert_int_equal(first.id, second.id);
    assert_int_not_equal(first.id, (b.real(1) + b.load(x)).id);  // other operands, other instruction
    b.store(y, first);
    for (int i = 0; i < 1000; ++i) b.store(y, b.real(i));  // the table grows; stores are never merged
    assert_int_equal((b.load(x) + b.real(1)).id, first.id);
    assert_int_equal(b.finish().code.size(), 1000 + 1000 + 4 - 1);
}

void test_constants_differ_by_bits_and_type(void**) {
    Builder b(heap());
    assert_int_not_equal(b.real(0.0).id, b.real(-0.0).id);
    assert_int_not_equal(b.real(0.0).id, b.integer(0).id);
    assert_int_equal(b.real(0.1).id, b.real(static_cast<double>(0.1f)).id);  // rounded to float first
}

void test_dead_instructions_are_removed(void**) {
    Builder b(heap());
    const int x = b.input(Access::full), unused = b.input(Access::per_row), y = b.output(Access::full);
    b.row_sum(b.load(x) * b.load(unused));
    b.store(y, b.load(x));
    const Program program = b.finish();
    assert_int_equal(program.code.size(), 2);
    assert_int_equal(program.operands.size(), 3);  // operands stay: callers count on their numbers
}

void test_print_is_stable(void**) {
    Builder b(heap());
    const int x = b.input(Access::full), s = b.input(Access::single),
              n = b.input(Access::per_row, Type::integer);
    const int y = b.output(Access::full), z = b.output(Access::per_row);
    // One call a line: C++ leaves the order of arguments open, and the text shows it.
    const Real element = b.load(x), third = b.load(s, 2), constant = b.real(1.5);
    const Real v = b.fma(element, third, constant), zero = b.real(0);
    const jit::Mask negative = b.less(v, zero);
    const Real shifted = b.to_real(b.shl(b.load_int(n), 3));
    b.store(y, b.select(negative, v, shifted));
    b.store(z, b.row_sum(v));
    const char* expected =
        "@0 = input full real\n"
        "@1 = input single real\n"
        "@2 = input per_row integer\n"
        "@3 = output full real\n"
        "@4 = output per_row real\n"
        "%0 = load real @0\n"
        "%1 = load real @1[2]\n"
        "%2 = constant real 0x3fc00000\n"
        "%3 = fma %0 %1 %2\n"
        "%4 = constant real 0x00000000\n"
        "%5 = less %3 %4\n"
        "%6 = load integer @2\n"
        "%7 = shl %6 by 3\n"
        "%8 = to_real %7\n"
        "%9 = select real %5 %3 %8\n"
        "store @3 %9\n"
        "%11 = row_sum %3\n"
        "store @4 %11\n";
    const std::pmr::string text = jit::print(b.finish(), heap());
    if (text != expected) print_error("%s", text.c_str());
    assert_string_equal(text.c_str(), expected);
}

void test_equality_sees_everything(void**) {
    const Program softmax = build(find_program("softmax"), heap());
    assert_true(softmax == build(find_program("softmax"), heap()));
    Program changed = softmax;
    changed.code[3].immediate ^= 1;
    assert_false(softmax == changed);
    changed = softmax;
    changed.operands[0].access = Access::per_column;
    assert_false(softmax == changed);
    changed = softmax;
    changed.code.pop_back();
    assert_false(softmax == changed);
}

void test_copies_stay_on_their_heap(void**) {
    std::pmr::monotonic_buffer_resource own;
    Builder b(&own);
    b.store(b.output(Access::full), b.real(1));
    const Program program = b.finish();
    const Program copy = program;
    assert_ptr_equal(copy.code.get_allocator().resource(), &own);
    const Program other(program, heap());
    assert_ptr_equal(other.code.get_allocator().resource(), heap());
}

// ---- append

void test_append_replaces_loads_by_values(void**) {
    Builder scale(heap());
    {
        const int x = scale.input(Access::full), y = scale.output(Access::full);
        const Real element = scale.load(x), three = scale.real(3);
        scale.store(y, element * three);
    }
    const Program triple = scale.finish();

    Builder fused(heap());
    const int x = fused.input(Access::full), y = fused.output(Access::full);
    std::pmr::vector<Real> stored(heap());
    fused.append(triple, {x, -1}, {}, &stored);
    assert_int_equal(stored[0].id, -1);
    assert_true(stored[1].id >= 0);
    fused.append(triple, {-1, y}, {stored[1], Real{nullptr, -1}}, nullptr);

    const std::pmr::string text = jit::print(fused.finish(), heap());
    assert_string_equal(text.c_str(),
                        "@0 = input full real\n@1 = output full real\n%0 = load real @0\n"
                        "%1 = constant real 0x40400000\n%2 = mul %0 %1\n%3 = mul %2 %1\nstore @1 %3\n");
}

// Throws? The message, else "".
template <class Body>
std::string error_of(Body body) {
    try {
        body();
    } catch (const Error& error) {
        return error.status() == VOLTA_INTERNAL ? error.what() : "another status";
    }
    return "";
}

void test_append_names_an_operand_without_source(void**) {
    const Program add = build(find_program("add"), heap());
    Builder b(heap());
    const int x = b.input(Access::full);
    const std::string text = error_of([&] { b.append(add, {x, -1, -1}, {}, nullptr); });
    assert_string_equal(text.c_str(), "append: operand 1 has neither an operand nor a value");
}

void test_append_names_a_value_of_another_type(void**) {
    Builder counts(heap());
    {
        const int x = counts.input(Access::full, Type::integer),
                  y = counts.output(Access::full, Type::integer);
        counts.store(y, counts.load_int(x));
    }
    const Program copy = counts.finish();
    Builder b(heap());
    const Real value = b.load(b.input(Access::full));
    const std::string text = error_of([&] { b.append(copy, {-1, -1}, {value}, nullptr); });
    assert_string_equal(text.c_str(), "append: operand 0 is replaced by a value of another type");
}

// ---- verify

struct Malformed {
    const char* text;  // of the error
    void (*damage)(Program& program);
};

// Damages to: @0 input full, @1 input per_row, @2 input single, @3 output full, @4 output per_row, @5 output
// per_column; %0 = load @0, %1 = load @1, %2 = add %0 %1, %3 = less %0 %1, %4 = constant integer, %5 = shl %4
// by 1, %6 = row_sum %2, store @3 %2, store @4 %6
Program sound() {
    Program p(heap());
    const jit::Operand operands[] = {
        {Access::full, Type::real, false},   {Access::per_row, Type::real, false},
        {Access::single, Type::real, false}, {Access::full, Type::real, true},
        {Access::per_row, Type::real, true}, {Access::per_column, Type::real, true}};
    p.operands.assign(std::begin(operands), std::end(operands));
    const jit::Instruction code[] = {
        {Code::load, Type::real, 0, -1, -1, 0},         {Code::load, Type::real, 1, -1, -1, 0},
        {Code::add, Type::real, 0, 1, -1, 0},           {Code::less, Type::mask, 0, 1, -1, 0},
        {Code::constant, Type::integer, -1, -1, -1, 7}, {Code::shl, Type::integer, 4, -1, -1, 1},
        {Code::row_sum, Type::real, 2, -1, -1, 0},      {Code::store, Type::real, 3, 2, -1, 0},
        {Code::store, Type::real, 4, 6, -1, 0}};
    p.code.assign(std::begin(code), std::end(code));
    return p;
}

constexpr Malformed kMalformed[] = {
    {"program has more operands than a kernel takes",
     [](Program& p) { p.operands.resize(25, p.operands[0]); }},
    {"program has an operand of type mask", [](Program& p) { p.operands[1].type = Type::mask; }},
    {"program has a single output", [](Program& p) { p.operands[2].output = true; }},
    {"program streams what is no full output", [](Program& p) { p.streams = 1u << 0; }},
    {"program streams what is no full output", [](Program& p) { p.streams = 1u << 3 | 1u << 4; }},
    {"program streams what is no full output", [](Program& p) { p.streams = 1u << 6; }},
    {"program instruction %2 has the unknown code 99",
     [](Program& p) { p.code[2].code = static_cast<Code>(99); }},
    {"program instruction %2 (add) uses a value that is not defined before it",
     [](Program& p) { p.code[2].b = 2; }},
    {"program instruction %2 (add) uses a value that is not defined before it",
     [](Program& p) { p.code[2].a = -1; }},
    {"program instruction %2 (add) has an argument too many", [](Program& p) { p.code[2].c = 0; }},
    {"program instruction %2 (add) has a result type that does not fit",
     [](Program& p) { p.code[2].type = Type::integer; }},
    {"program instruction %2 (add) has an immediate it does not use",
     [](Program& p) { p.code[2].immediate = 1; }},
    {"program instruction %5 (shl) has an argument whose type does not fit",
     [](Program& p) { p.code[5].a = 0; }},
    {"program instruction %5 (shl) shifts by more than 31", [](Program& p) { p.code[5].immediate = 32; }},
    {"program instruction %6 (row_sum) has an argument whose type does not fit",
     [](Program& p) { p.code[6].a = 3; }},
    {"program instruction %0 (load) names an operand out of range", [](Program& p) { p.code[0].a = 6; }},
    {"program instruction %0 (load) gives an index for an operand that is not single",
     [](Program& p) { p.code[0].immediate = 1; }},
    {"program instruction %0 (load) has another type than its operand",
     [](Program& p) { p.operands[0].type = Type::integer; }},
    {"program instruction %1 (load) loads an output that is not full", [](Program& p) { p.code[1].a = 4; }},
    {"program instruction %8 (load) loads an operand after its store",
     [](Program& p) { p.code[8] = {Code::load, Type::real, 3, -1, -1, 0}; }},
    {"program instruction %7 (store) writes an operand that is no output",
     [](Program& p) { p.code[7].a = 0; }},
    {"program instruction %8 (store) writes an operand a second time", [](Program& p) { p.code[8].a = 3; }},
    {"program instruction %8 (store) stores a value per row that varies over columns",
     [](Program& p) { p.code[8].b = 2; }},
    {"program instruction %7 (store) stores per column, which only a column sum may",
     [](Program& p) { p.code[7].a = 5; }},
    {"program instruction %8 (store) uses an instruction without result",
     [](Program& p) { p.code[8].b = 7; }},
    {"program instruction %7 (column_sum) mixes row reductions and column sums in one program",
     [](Program& p) { p.code[7] = {Code::column_sum, Type::real, 5, 2, -1, 0}; }},
    {"program instruction %7 (column_sum) sums columns into an operand that is not per column",
     [](Program& p) { p.code[7] = {Code::column_sum, Type::real, 3, 2, -1, 0}; }},
};

void test_verify_names_what_is_malformed(void** state) {
    const auto& row = *static_cast<const Malformed*>(*state);
    assert_string_equal(error_of([] { jit::verify(sound()); }).c_str(), "");
    Program program = sound();
    row.damage(program);
    const std::string text = error_of([&] { jit::verify(program); });
    assert_string_equal(text.c_str(), row.text);
}

void test_corpus_is_sound(void**) {
    for (const auto* table : {&function_programs(), &row_programs()})
        for (const CorpusRow& row : *table) jit::verify(build(row, heap()));
    assert_true(build(find_program("softmax"), heap()).has_row_reduction());
    assert_true(build(find_program("softmax"), heap()).needs_whole_rows());
    assert_false(build(find_program("add"), heap()).needs_whole_rows());
    assert_true(build(find_program("column_sum"), heap()).has_column_sum());
}

// Refuses one allocation, and counts what is not given back.
class RefusingHeap final : public std::pmr::memory_resource {
  public:
    int refused = 0, asked = 0, held = 0;  // the number of the one that is refused, from 1

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (++asked == refused) throw std::bad_alloc();
        ++held;
        return heap()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        --held;
        heap()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

void test_kernels_that_find_no_memory_leave_none(void**) {
    const Program program = build(find_program("softmax"), heap());
    for (const Isa isa : {Isa::scalar, host_cpu().best_isa}) {
        jit::CodeArena arena(heap(), false);
        int refusals = 0;
        for (bool is_made = false; !is_made; ++refusals) {
            RefusingHeap memory;
            memory.refused = refusals + 1;
            try {
                jit::compile(program, isa, arena, &memory);
                is_made = true;
            } catch (const std::bad_alloc&) {
            }
            assert_int_equal(memory.held, 0);
        }
        assert_in_range(refusals, 5, 1000);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_pure_instructions_are_recorded_once),
        cmocka_unit_test(test_constants_differ_by_bits_and_type),
        cmocka_unit_test(test_dead_instructions_are_removed),
        cmocka_unit_test(test_print_is_stable),
        cmocka_unit_test(test_equality_sees_everything),
        cmocka_unit_test(test_copies_stay_on_their_heap),
        cmocka_unit_test(test_append_replaces_loads_by_values),
        cmocka_unit_test(test_append_names_an_operand_without_source),
        cmocka_unit_test(test_append_names_a_value_of_another_type),
        cmocka_unit_test(test_corpus_is_sound),
        cmocka_unit_test(test_kernels_that_find_no_memory_leave_none),
    };
    int failed = cmocka_run_group_tests_name("programs", tests, nullptr, nullptr);
    failed += run_rows("verify", kMalformed, test_verify_names_what_is_malformed,
                       [](const Malformed& row) { return row.text; });
    return failed;
}
