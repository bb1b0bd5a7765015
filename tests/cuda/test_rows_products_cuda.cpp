// Products of few rows and of stored weights, executed in the emulation, against the definitions bit for bit:
// both orders of b, all stored types, one row to more than a block takes, odd widths, segments of 512 over
// several waves of warps, accumulation into c, and row programs as epilogues.
#include <algorithm>

#include "jitgen/cuda/rows_product_source.h"
#include "tests/cuda/entries.h"
#include "tests/cuda/product_problem.h"
#include "tests/cuda/programs.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr ProductExtents kShapes[] = {{1, 1, 1},     {1, 8, 64},  {1, 17, 129},   {3, 33, 512},
                                      {16, 40, 513}, {2, 9, 0},   {20, 19, 700},  {1, 24, 5200},
                                      {5, 7, 1029},  {7, 16, 31}, {2, 11, 96, 3}, {4, 4, 4, 0}};

std::string compare(const NamedRowsProduct& named, const ProductExtents& extents, std::uint64_t seed) {
    const jit::Program* const epilogue = named.has_epilogue ? &named.epilogue : nullptr;
    ProductProblem expected(extents, named.form.b, false, named.form.transposed_b, epilogue, seed);
    ProductProblem actual = expected;
    expected.expect(epilogue);
    const jit::RowsProductLaunch launch =
        jit::rows_product_launch(named.form, extents.m, extents.n, extents.k, extents.batch);
    const jit::CudaProductArgs args = actual.args();
    const auto most = static_cast<unsigned>(1 + seed % 4);
    simt::Launch grid;
    grid.order = static_cast<simt::Order>(seed / 2 % 3);
    grid.block.x = launch.threads;
    grid.grid = {std::min(launch.grid_x, most), 1, std::min(launch.grid_z, 2u)};
    std::string failure;
    if (launch.grid_x > 0) failure = run_entry(named.name + "_rows", grid, &args);
    if (failure.empty()) failure = expected.difference(actual);
    if (failure.empty()) return failure;
    return named.name + " of " + actual.text() + ", seed " + std::to_string(seed) + ": " + failure;
}

void test_rows_product(void** state) {
    const NamedRowsProduct& named = *static_cast<const NamedRowsProduct*>(*state);
    static std::string failure;
    failure.clear();
    std::uint64_t seed = 1;
    for (const ProductExtents& shape : kShapes)
        for (int turn = 0; turn < 4; ++turn, ++seed)
            if (failure.empty()) failure = compare(named, shape, seed);
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

void test_launches(void**) {
    const jit::RowsProductLaunch head = jit::rows_product_launch({DType::f32, true, 1}, 1, 50257, 768);
    assert_int_equal(head.grid_x, 6283);
    assert_int_equal(head.threads, 64);
    const jit::RowsProductLaunch stored =
        jit::rows_product_launch({DType::int4, false, 16}, 40, 4096, 11008, 2);
    assert_int_equal(stored.grid_x, 3 * 256);
    assert_int_equal(stored.grid_z, 2);
    assert_int_equal(stored.threads, 128);
    assert_int_equal(jit::rows_product_launch({DType::int4, false, 1}, 1, 4096, 11008).threads, 256);
    assert_int_equal(jit::rows_product_launch({DType::f32, false, 4}, 4, 5, 0).threads, 32);
    assert_int_equal(jit::rows_product_launch({DType::f32, false, 4}, 0, 5, 9).grid_x, 0);
}

}  // namespace

int main() {
    static const std::vector<NamedRowsProduct> list = rows_products();
    const CMUnitTest tests[] = {cmocka_unit_test(test_launches)};
    return run_rows("products of few rows", list, test_rows_product,
                    [](const NamedRowsProduct& row) { return row.name.c_str(); }) +
           cmocka_run_group_tests_name("launches", tests, nullptr, nullptr);
}
