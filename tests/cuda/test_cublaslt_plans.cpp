// Plans of level repeatable and fast on a device: products are the library's, with operands rounded as the
// precision says and no more, and the same bits run by run; strict plans know nothing of it.
//     test_cublaslt_plans [none]    default: on the fakes; "none": where there is no cuBLASLt
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "tests/cuda/rounded_reference.h"
#include "tests/runtime/backend_cases.h"
#include "tests/support/errors.h"
#include "tests/support/fake_cuda/fake_access.h"

namespace {
using namespace volta;
using namespace volta::test;

struct ArithmeticRow {
    const char* name;
    Arithmetic arithmetic;
};
constexpr ArithmeticRow kRows[] = {{"repeatable fp32", {Level::repeatable, Precision::fp32}},
                                   {"repeatable tf32", {Level::repeatable, Precision::tf32}},
                                   {"repeatable bf16", {Level::repeatable, Precision::bf16}},
                                   {"fast bf16", {Level::fast, Precision::bf16}}};
constexpr Arithmetic kStrict = {};

std::string failure;  // of the test at hand: no object with a destructor is alive where an assertion leaves

// Runs the body; what it throws, or writes into `failure`, is told.
template <class Body>
void passes(Body body) {
    failure.clear();
    try {
        body();
    } catch (const std::exception& error) {
        failure += error.what();
    }
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

char kernels[] = "/tmp/volta_cublaslt_XXXXXX";  // a folder: compiled once for all tests

MachineRow row_of(const Arithmetic& arithmetic) {
    return {"cuda", Isa::scalar, 1, false, "cuda", arithmetic, kernels};
}

// Products of every order and of odd sizes, alone and in batches, and with a repeated operand.
std::vector<BackendCase> more_products() {
    std::vector<BackendCase> cases;
    for (const bool ta : {false, true})
        for (const bool tb : {false, true})
            for (const auto& [m, n, k] :
                 {std::array<std::int64_t, 3>{33, 45, 70}, {40, 24, 64}, {17, 1, 1300}}) {
                const Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
                cases.push_back({Op::matmul, "order", [=](CaseBuilder& builder) {
                                     const ValueId p = builder.real(a), q = builder.real(b);
                                     builder.apply(
                                         Op::matmul, {p, q},
                                         {number(Attr::transpose_a, ta), number(Attr::transpose_b, tb)});
                                 }});
            }
    for (const bool tb : {false, true})
        for (const std::int64_t n : {8, 13})
            cases.push_back({Op::matmul, "batch", [=](CaseBuilder& builder) {
                                 const ValueId p = builder.real({3, 21, 37});
                                 const ValueId q = builder.real(tb ? Shape{3, n, 37} : Shape{3, 37, n});
                                 builder.apply(Op::matmul, {p, q}, {number(Attr::transpose_b, tb)});
                             }});
    return cases;
}

// Whose products are all of numbers: those of the operator table's own, and more.
const std::vector<BackendCase>& product_cases() {
    static const std::vector<BackendCase> cases = [] {
        std::vector<BackendCase> chosen = more_products();
        for (const BackendCase& test : backend_cases())
            if (test.op == Op::matmul || test.op == Op::weight_gradient) chosen.push_back(test);
        return chosen;
    }();
    return cases;
}

CaseBuilder built(const BackendCase& test, std::uint64_t seed) {
    CaseBuilder builder(Data::plain, seed);
    test.build(builder);
    return builder;
}

int library_products(const Graph& graph) {
    return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
        return RoundedReference::is_by_library(graph, node);
    }));
}

int count_of(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

// "" or what is wrong with one case: three runs (launched, recorded, as a graph) have the same bits, within
// the bound, from the kernels that are expected.
std::string check(const FilledGraph& filled, Machine& machine, std::size_t* compared) {
    const Precision precision = machine.row.arithmetic.precision;
    CompiledGraph compiled(filled, machine);
    const std::vector<Bits> results = compiled.run();
    for (int again = 0; again < 2; ++again)
        if (!first_difference(filled.graph, results, compiled.run()).empty())
            return "another run, other bits";
    const std::string part = std::string("cublaslt ") + precision_name(precision) + " algo ";
    if (count_of(compiled.kernel_names(), part) != library_products(filled.graph))
        return "kernels are " + compiled.kernel_names();
    RoundedReference reference(filled, precision);
    reference.run();
    return reference.compare(results, compared);
}

void test_within_bounds(void** state) {
    const ArithmeticRow& row = *static_cast<const ArithmeticRow*>(*state);
    passes([&] {
        Machine machine(row_of(row.arithmetic));
        std::size_t compared = 0;
        std::uint64_t seed = 1;
        for (const BackendCase& test : product_cases()) {
            const CaseBuilder builder = built(test, ++seed);
            std::string what = "threw nothing";
            try {
                what = check(builder.filled, machine, &compared);
            } catch (const Error& error) {
                what = error.what();
            }
            if (!what.empty()) failure += test.name + ": " + what + "\n";
        }
        if (compared < 30000) failure += std::to_string(compared) + " elements were compared, hardly any\n";
    });
}

// Of every case, seeded by its number.
const std::vector<std::vector<Bits>>& strict_results() {
    static const std::vector<std::vector<Bits>> results = [] {
        std::vector<std::vector<Bits>> all;
        Machine strict(row_of(kStrict));
        std::uint64_t seed = 1;
        for (const BackendCase& test : product_cases())
            all.push_back(run_backend(built(test, ++seed).filled, strict));
        return all;
    }();
    return results;
}

// Operands are rounded where that was asked for, and only there; fp32 adds in another order than strict does.
// What streams a weight has strict's bits.
void test_only_what_was_asked_for(void** state) {
    const ArithmeticRow& row = *static_cast<const ArithmeticRow*>(*state);
    passes([&] {
        Machine machine(row_of(row.arithmetic));
        int rounded = 0, other_bits = 0;
        for (std::size_t i = 0; i < product_cases().size(); ++i) {
            const BackendCase& test = product_cases()[i];
            const CaseBuilder builder = built(test, i + 2);
            const FilledGraph& filled = builder.filled;
            const std::vector<Bits> results = run_backend(filled, machine);
            const bool differs = !first_difference(filled.graph, strict_results()[i], results).empty();
            if (differs && library_products(filled.graph) == 0)
                failure += test.name + ": not strict's bits\n";
            other_bits += differs;
            RoundedReference reference(filled, Precision::fp32);
            reference.run();
            std::size_t compared = 0;
            rounded += !reference.compare(results, &compared).empty();
        }
        if (other_bits < 20) failure += "products have strict's bits";
        const bool rounds = row.arithmetic.precision != Precision::fp32;
        if (rounds ? rounded < 20 : rounded > 0)
            failure += "operands were rounded in " + std::to_string(rounded) + " cases";
    });
}

// A plan keeps its algorithms, and says which; equal plans have equal bits, on another context of the device
// too.
void test_pinned(void**) {
    passes([&] {
        const CaseBuilder builder = built(product_cases()[1], 3);  // all of it is aligned to 16 bytes
        const FilledGraph& filled = builder.filled;
        const MachineRow row = row_of(kRows[2].arithmetic);
        Machine machine(row), another(row);
        CompiledGraph first(filled, machine), second(filled, machine), third(filled, another);
        const std::vector<Bits> bits = first.run();
        const auto same = [&](CompiledGraph& other) {
            return first_difference(filled.graph, bits, other.run()).empty();
        };
        if (!same(second) || !same(third)) failure += "equal plans, other bits\n";
        const std::string name = first.kernel_names();
        if (name.find("cublaslt bf16 algo 21 tile 18 stages 12 splits 1") == std::string::npos)
            failure += "kernels are " + name;
        for (const char* order : {"1", "2"}) {
            const Setting shuffled("VOLTA_FAKE_CUBLASLT_ORDER", order);
            CompiledGraph other(filled, machine);
            if (same(other) || other.kernel_names() == name)
                failure += "the algorithm is not the library's choice\n";
            if (!same(first) || first.kernel_names() != name) failure += "the algorithm was chosen again\n";
        }
    });
    assert_true(nothing_is_left());
}

void test_strict_never_opens_it(void**) {
    passes([&] {
        Machine strict(row_of(kStrict));
        const CaseBuilder builder = built(product_cases().front(), 3);
        CompiledGraph compiled(builder.filled, strict);
        failure = first_difference(builder.filled.graph, run_reference(builder.filled), compiled.run());
        if (compiled.kernel_names().find("cublaslt") != std::string::npos)
            failure += "kernels of the library\n";
        if (fake_calls("cublasLtCreate") != 0) failure += "the library was asked\n";
    });
}

// A status of the library in the middle of a run is the run's; the next one has the right bits.
void test_failure_in_a_run(void**) {
    static Failure told;
    passes([&] {
        const Setting fails("VOLTA_FAKE_CUDA_FAIL", "cublasLtMatmul:2:13");
        const CaseBuilder builder = built(product_cases().front(), 3);
        Machine machine(row_of(kRows[2].arithmetic));
        CompiledGraph compiled(builder.filled, machine);
        const std::vector<Bits> bits = compiled.run();
        told = failure_of([&] { compiled.run(); });
        for (int i = 0; i < 3; ++i) failure += first_difference(builder.filled.graph, bits, compiled.run());
    });
    assert_failure(told, VOLTA_DEVICE_ERROR, "cuBLASLt: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED 13");
    assert_true(nothing_is_left());
}

// Where there is none, only strict works.
void test_without_library(void**) {
    if (dlopen("libcublasLt.so.13", RTLD_NOW) != nullptr || dlopen("libcublasLt.so.12", RTLD_NOW) != nullptr)
        skip();  // this machine has one of its own
    assert_failure(
        failure_of([] { Machine machine(row_of(kRows[2].arithmetic)); }), VOLTA_UNSUPPORTED,
        "level repeatable: no cuBLASLt: none of libcublasLt.so.13, libcublasLt.so.12 and libcublasLt.so");
    test_strict_never_opens_it(nullptr);
    assert_true(nothing_is_left());
}

int remove_kernels(void**) {
    std::filesystem::remove_all(kernels);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (mkdtemp(kernels) == nullptr) return 1;
    if (argc > 1 && std::strcmp(argv[1], "none") == 0) {
        const CMUnitTest none[] = {cmocka_unit_test(test_without_library)};
        return cmocka_run_group_tests(none, nullptr, remove_kernels);
    }
    const CMUnitTest tests[] = {cmocka_unit_test(test_pinned), cmocka_unit_test(test_strict_never_opens_it),
                                cmocka_unit_test(test_failure_in_a_run)};
    const std::vector<ArithmeticRow> rows(std::begin(kRows), std::end(kRows));
    const auto name = [](const ArithmeticRow& row) { return row.name; };
    return run_rows("within bounds", rows, test_within_bounds, name) +
           run_rows("only what was asked for", rows, test_only_what_was_asked_for, name) +
           cmocka_run_group_tests(tests, nullptr, remove_kernels);
}
