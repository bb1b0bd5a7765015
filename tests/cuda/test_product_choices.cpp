// Every choice that tuning has for products of a device: the bits are the definition's, and the kernels are
// those that were chosen.
#include <array>
#include <cstring>
#include <filesystem>

#include "tests/runtime/backend_cases.h"
#include "tests/support/errors.h"
#include "tests/support/fake_cuda/fake_access.h"

namespace {
using namespace volta;
using namespace volta::test;

char kernels[] = "/tmp/volta_choices_XXXXXX";  // a folder: compiled once for all tests

// What is chosen, and the kernel of a product that can be computed in every way.
struct ChoiceRow {
    const char *choice, *kernel;
};
constexpr ChoiceRow kRows[] = {{"", "cuda product rows"},
                               {"form=rows", "cuda product rows"},
                               {"form=tiles tile=64", "cuda product tiles 64"},
                               {"form=tiles tile=128", "cuda product tiles 128"},
                               {"form=segments tile=64", "cuda product segments 64"},
                               {"form=segments tile=128", "cuda product segments 128"}};

MachineRow machine_of(const ChoiceRow& row) {
    return {"cuda", Isa::scalar, 1, false, "cuda", {}, kernels, row.choice};
}

BackendCase product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
    const auto shape = [=](std::int64_t rows, std::int64_t columns) {
        return batch > 0 ? Shape{batch, rows, columns} : Shape{rows, columns};
    };
    return {
        Op::matmul, "product", [=](CaseBuilder& builder) {
            const ValueId a = builder.real(ta ? shape(k, m) : shape(m, k)),
                          b = builder.real(tb ? shape(n, k) : shape(k, n));
            builder.apply(Op::matmul, {a, b}, {number(Attr::transpose_a, ta), number(Attr::transpose_b, tb)});
        }};
}

// Around tiles, segments of 512 and few rows, of all orders; what the table of operators has, with everything
// that follows products; and no elements at all.
std::vector<BackendCase> cases() {
    std::vector<BackendCase> all;
    for (const bool ta : {false, true})
        for (const bool tb : {false, true})
            for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{66, 70, 1100}, {16, 24, 1030}})
                all.push_back(product(0, m, n, k, ta, tb));
    all.push_back(product(3, 17, 9, 600, false, true));
    all.push_back(product(2, 5, 33, 512, false, false));
    for (const BackendCase& test : backend_cases())
        if (test.op == Op::matmul || test.op == Op::weight_gradient) all.push_back(test);
    return all;
}

void test_bits(void** state) {
    const ChoiceRow& row = *static_cast<const ChoiceRow*>(*state);
    std::string failure;
    {
        Machine machine(machine_of(row));
        std::uint64_t seed = 1;
        for (const BackendCase& test : cases()) {
            CaseBuilder builder(Data::plain, ++seed);
            test.build(builder);
            const std::string difference = first_difference(builder.graph(), run_reference(builder.filled),
                                                            run_backend(builder.filled, machine));
            if (!difference.empty()) failure += test.name + ": " + difference + "\n";
        }
    }
    if (!failure.empty()) print_error("%s", failure.c_str());
    assert_true(failure.empty());
}

void test_kernel(void** state) {
    const ChoiceRow& row = *static_cast<const ChoiceRow*>(*state);
    std::string names;
    {
        Machine machine(machine_of(row));
        CaseBuilder builder(Data::plain, 1);
        product(0, 16, 24, 1030, false, false).build(builder);
        names = CompiledGraph(builder.filled, machine).kernel_names();
    }
    if (names.find(row.kernel) == std::string::npos) print_error("%s: %s\n", row.choice, names.c_str());
    assert_true(names.find(row.kernel) != std::string::npos);
}

void test_what_is_no_choice(void**) {
    const ChoiceRow none = {"k_block=64", ""};
    std::string sentence;
    {
        Machine machine(machine_of(none));
        CaseBuilder builder(Data::plain, 1);
        product(0, 2, 3, 4, false, false).build(builder);
        try {
            run_backend(builder.filled, machine);
        } catch (const Error& error) {
            sentence = error.what();
        }
    }
    assert_string_equal(sentence.c_str(), "a product's choice has no word 'k_block=64'");
}

}  // namespace

int main() {
    if (mkdtemp(kernels) == nullptr) return 1;
    std::vector<CMUnitTest> tests = {cmocka_unit_test(test_what_is_no_choice)};
    for (const ChoiceRow& row : kRows) {
        for (const CMUnitTestFunction test : {test_kernel, test_bits}) {
            CMUnitTest one = cmocka_unit_test(test);
            one.name = row.choice;
            one.initial_state = const_cast<ChoiceRow*>(&row);
            tests.push_back(one);
        }
    }
    const int failed =
        _cmocka_run_group_tests("products of every choice", tests.data(), tests.size(), nullptr, nullptr);
    std::filesystem::remove_all(kernels);
    return failed;
}
