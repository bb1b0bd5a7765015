// Conformance: every operator of the table, on every machine this processor can be, against the reference
// evaluator, bit for bit. A backend passes this suite or it is not one.
//     test_backend [DEVICE [OPERATOR]]    default, or "": the processor in all its ways, all operators;
//                                         "cuda": as volta_context_options.device
// Exit status 77: there is no such device here; the text says why.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.h"
#include "tests/runtime/backend_cases.h"
#include "tests/support/cmocka_cpp.h"

namespace volta::test {
namespace {

const char* device = nullptr;

std::vector<std::unique_ptr<Machine>>& machines() {
    static std::vector<std::unique_ptr<Machine>> all = [] {
        std::vector<std::unique_ptr<Machine>> made;
        for (const MachineRow& row : machine_rows(device)) made.push_back(std::make_unique<Machine>(row));
        return made;
    }();
    return all;
}

// Why the device cannot be opened here; empty: it can.
std::string why_missing() {
    try {
        machines();
    } catch (const Error& error) {
        if (error.status() != VOLTA_UNSUPPORTED) throw;
        return error.what();
    }
    return "";
}

bool needs_a_case(const OpRow& row) { return row.lowering != Lowering::source; }

// Runs one case with one kind of data on every machine, or on every third beginning with `turn`: their rows
// are threes of one instruction set. Returns the number of machines that failed.
int failures_of(const BackendCase& test, Data data, const char* data_name, std::uint64_t seed, int turn) {
    CaseBuilder builder(data, seed);
    test.build(builder);
    const std::vector<Bits> expected = run_reference(builder.filled);
    int failures = 0;
    int index = 0;
    for (const auto& machine : machines()) {
        if (turn >= 0 && index++ % 3 != turn) continue;
        const std::string difference =
            first_difference(builder.filled.graph, expected, run_backend(builder.filled, *machine));
        if (difference.empty()) continue;
        ++failures;
        print_error("%s %s, %s data, %s: %s\n", op_row(test.op).name, test.name.c_str(), data_name,
                    machine->row.name, difference.c_str());
    }
    return failures;
}

constexpr std::pair<Data, const char*> kKinds[] = {
    {Data::plain, "plain"}, {Data::binades, "wide"}, {Data::special, "special"}};

// VOLTA_TEST_KINDS=turns: each case has one kind of data, the next one another, and one number of threads on
// every instruction set, three cases on another; all of them without it.
int failures_of(const OpRow& row, int* cases) {
    const char* const kinds = std::getenv("VOLTA_TEST_KINDS");
    const bool by_turns = kinds != nullptr && std::strcmp(kinds, "turns") == 0;
    int failures = 0;
    std::uint64_t seed = 1;
    std::vector<const BackendCase*> all;
    for (const BackendCase& test : backend_cases()) all.push_back(&test);
    if (device == nullptr)
        for (const BackendCase& test : processor_cases()) all.push_back(&test);
    for (const BackendCase* const each : all) {
        const BackendCase& test = *each;
        if (test.op != row.op) continue;
        const int turn = *cases % 3, of_machines = by_turns && device == nullptr ? *cases / 3 % 3 : -1;
        ++*cases;
        for (const auto& kind : kKinds) {
            const std::uint64_t own = seed++;
            if (!by_turns || &kind == &kKinds[turn])
                failures += failures_of(test, kind.first, kind.second, own, of_machines);
        }
    }
    return failures;
}

void test_operator_equals_reference(void** state) {
    const OpRow& row = *static_cast<const OpRow*>(*state);
    int failures = 0, cases = 0;
    std::string error;
    try {
        failures = failures_of(row, &cases);
    } catch (const std::exception& e) {
        error = e.what();
    }
    if (!error.empty()) print_error("%s: %s\n", row.name, error.c_str());
    const bool threw = !error.empty();
    error = std::string();
    assert_false(threw);
    if (needs_a_case(row) && cases == 0)
        print_error("%s: no case covers this row of the operator table\n", row.name);
    assert_true(!needs_a_case(row) || cases > 0);
    assert_int_equal(failures, 0);
}

}  // namespace
}  // namespace volta::test

int main(int argc, char** argv) {
    using namespace volta;
    if (argc > 1 && argv[1][0] != '\0') test::device = argv[1];
    const std::string why = test::why_missing();
    if (!why.empty()) {
        std::printf("test_backend: not run: %s\n", why.c_str());
        return 77;
    }
    std::vector<OpRow> rows;
    for (int i = 0; i < kOpCount; ++i)
        if (argc < 3 || std::strcmp(argv[2], op_row(static_cast<Op>(i)).name) == 0)
            rows.push_back(op_row(static_cast<Op>(i)));
    const int failures = test::run_rows("backend", rows, test::test_operator_equals_reference,
                                        [](const OpRow& row) { return row.name; });
    test::machines().clear();  // before drivers take leave of this thread
    return failures;
}
