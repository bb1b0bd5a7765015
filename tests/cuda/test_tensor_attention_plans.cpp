// Attention in plans on a device that needs no GPU: which kernels a plan has at which level and precision,
// that they give what the reference evaluator gives but for the rounding of operands, and the same bits run
// by run.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/runtime/backend_cases.h"
#include "tests/support/simt_emulation.h"

namespace {
using namespace volta;
using namespace volta::test;

struct Subject {
    std::int64_t batch, time, heads, kv_heads, head_dim;
    bool packed, causal;
    double dropout;
    int window = 0;
    double cap = 0;
};

// Attention and its gradient over two micro-batches. Results of the forward pass are outputs too.
void build(const Subject& s, CaseBuilder& b) {
    b.set_micro_batches(2);
    const std::int64_t query = s.heads * s.head_dim, key = s.kv_heads * s.head_dim;
    std::vector<ValueId> in;
    if (s.packed) {
        in.push_back(b.plain({s.batch, s.time, query + 2 * key}));
    } else {
        in.push_back(b.plain({s.batch, s.time, query}));
        in.push_back(b.plain({s.batch, s.time, key}));
        in.push_back(b.plain({s.batch, s.time, key}));
    }
    const ValueId d_o = b.plain({s.batch, s.time, query});
    const ValueId random = s.dropout > 0 ? b.random_state() : -1;
    const Attribute attributes[] = {number(Attr::heads, static_cast<double>(s.heads)),
                                    number(Attr::kv_heads, static_cast<double>(s.kv_heads)),
                                    number(Attr::causal, s.causal),
                                    number(Attr::probability, s.dropout),
                                    number(Attr::stream, 3),
                                    number(Attr::packed, s.packed),
                                    number(Attr::window, s.window),
                                    number(Attr::cap, s.cap)};
    const auto apply = [&](Op op, std::vector<ValueId> operands) {
        if (random >= 0) operands.push_back(random);
        const ValueId first = b.graph().apply(op, operands.data(), static_cast<int>(operands.size()),
                                              attributes, 8, Phase::each);
        b.filled.content.resize(b.graph().values.size());
        return first;
    };
    const ValueId o = apply(Op::attention, in);
    std::vector<ValueId> all = in;
    all.insert(all.end(), {o, o + 1, o + 2, d_o});
    const ValueId gradient = apply(Op::attention_grad, all);
    for (const ValueId value : {o, gradient, gradient + (s.packed ? 0 : 1), gradient + (s.packed ? 0 : 2)})
        b.apply(Op::accumulate, {value});
}

// The largest distance of an output from what it should be, as a part of its root mean square.
double distance(const std::vector<Bits>& expected, const std::vector<Bits>& actual) {
    double most = 0;
    for (std::size_t k = 0; k < expected.size(); ++k) {
        double squares = 0, error = 0;
        for (std::size_t i = 0; i < expected[k].size(); ++i) {
            const auto x = static_cast<double>(__uint_as_float(expected[k][i]));
            squares += x * x;
            error = std::fmax(error, std::fabs(x - static_cast<double>(__uint_as_float(actual[k][i]))));
        }
        const double scale = std::sqrt(squares / static_cast<double>(expected[k].size()));
        most = error / scale > most || error != error ? error / scale : most;
    }
    return most;
}

struct Row {
    const char* name;
    Arithmetic arithmetic;
    const char* kernels;  // what the names of the plan's kernels begin with
    double bound;         // 0: the reference's bits
};
constexpr Row kRows[] = {
    {"strict", {}, "cuda attention\ncuda attention backward\n", 0},
    {"repeatable fp32", {Level::repeatable, Precision::fp32}, "cuda attention\ncuda attention backward\n", 0},
    // Roundings of 2^-11 and 2^-8, of hundreds of terms: ten of them are far, and hundreds would be a
    // mistake.
    {"repeatable tf32",
     {Level::repeatable, Precision::tf32},
     "cuda attention tensor tf32\ncuda attention backward tensor tf32\n",
     16 * 0x1p-11},
    {"repeatable bf16",
     {Level::repeatable, Precision::bf16},
     "cuda attention tensor bf16\ncuda attention backward tensor bf16\n",
     16 * 0x1p-8},
    {"fast bf16",
     {Level::fast, Precision::bf16},
     "cuda attention tensor bf16\ncuda attention backward tensor bf16\n",
     16 * 0x1p-8},
};

std::string failure;  // no object with a destructor is alive where an assertion leaves

std::string check(const Row& row, const Subject& subject) {
    CaseBuilder builder(Data::plain, 7);
    build(subject, builder);
    Machine machine({row.name, Isa::scalar, 1, false, "cuda", row.arithmetic});
    CompiledGraph compiled(builder.filled, machine);
    const std::string names = compiled.kernel_names();
    if (names.compare(0, std::strlen(row.kernels), row.kernels) != 0) return "kernels are\n" + names;
    const std::vector<Bits> expected = run_reference(builder.filled), first = compiled.run();
    if (first.size() != expected.size()) return "the workspace was overrun";
    const std::string other = first_difference(builder.filled.graph, first, compiled.run());
    if (!other.empty()) return "a second run differs: " + other;
    if (row.bound == 0) return first_difference(builder.filled.graph, expected, first);
    const double far = distance(expected, first);
    if (far > 0x1p-16 && far <= row.bound) return "";
    char text[80];
    std::snprintf(text, sizeof text, "%g from the reference, and %g is the most", far, row.bound);
    return text;
}

void passed() {
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

void check_all(const Row& row, std::initializer_list<Subject> subjects) {
    failure.clear();
    try {
        for (const Subject& subject : subjects)
            if (failure.empty()) failure = check(row, subject);
    } catch (const std::exception& e) {
        failure = e.what();
    }
    if (!failure.empty()) failure = std::string(row.name) + ": " + failure;
    passed();
}

void test_levels(void** state) {
    check_all(*static_cast<const Row*>(*state), {{1, 70, 2, 2, 32, true, true, 0},
                                                 {2, 33, 4, 2, 16, false, true, 0.25},
                                                 {1, 40, 2, 1, 64, true, false, 0},
                                                 {1, 150, 2, 1, 32, true, true, 0, 40, 0.5},
                                                 {2, 33, 2, 2, 16, false, true, 0.25, 5}});
}

// Heads that have no kernel on tensor cores keep the strict ones, and their bits.
void test_other_heads(void**) {
    Row row = kRows[0];
    row.name = "a head of 40";
    row.arithmetic = {Level::repeatable, Precision::bf16};
    check_all(row, {{1, 20, 2, 2, 40, true, true, 0, 7, 0.5}, {1, 20, 1, 1, 144, true, true, 0}});
}

// So do devices whose tensor cores have neither bf16 nor tf32.
void test_older_devices(void**) {
    Row row = kRows[0];
    row.name = "sm_75";
    row.arithmetic = {Level::repeatable, Precision::bf16};
    setenv("VOLTA_FAKE_CUDA_CAPABILITY", "75", 1);
    check_all(row, {{1, 20, 1, 1, 32, true, true, 0}});
}
int restore_capability(void**) { return unsetenv("VOLTA_FAKE_CUDA_CAPABILITY"); }

// Long sequences need no memory of time x time.
void test_memory(void**) {
    failure.clear();
    CaseBuilder builder(Data::plain, 7);
    constexpr std::int64_t kTime = 4096;
    build({1, kTime, 1, 1, 16, true, true, 0}, builder);
    Machine machine({"bf16", Isa::scalar, 1, false, "cuda", {Level::repeatable, Precision::bf16}});
    const std::uint64_t before = machine.device().traffic().bytes_in_use;
    const CompiledGraph compiled(builder.filled, machine);
    const std::uint64_t held = machine.device().traffic().bytes_in_use - before;
    if (held >= kTime * kTime) failure = "the plan holds " + std::to_string(held) + " bytes";
    passed();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_other_heads), cmocka_unit_test(test_memory),
                                cmocka_unit_test_teardown(test_older_devices, restore_capability)};
    const std::vector<Row> rows(std::begin(kRows), std::end(kRows));
    return run_rows("levels", rows, test_levels, [](const Row& row) { return row.name; }) +
           cmocka_run_group_tests_name("other", tests, nullptr, nullptr);
}
