// The generated products, executed in the emulation, against the definition
// (engine/numerics/define_products.h) bit for bit: all orders of operands, odd shapes, segments of 512 split
// over blocks or not, accumulation into c, special values, and row programs as epilogues.
#include <algorithm>

#include "jitgen/cuda/product_launch.h"
#include "tests/cuda/emulated_kernels.h"
#include "tests/cuda/product_problem.h"
#include "tests/cuda/programs.h"
#include "tests/support/simt_emulation.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr ProductExtents kShapes[] = {
    {1, 1, 1},        {3, 5, 7},     {65, 70, 9},   {64, 64, 512},  {33, 130, 513},   {5, 9, 0},
    {17, 66, 1300},   {130, 3, 520}, {1, 200, 511}, {200, 1, 1025}, {129, 129, 8},    {3, 5, 7, 4},
    {17, 66, 600, 3}, {5, 9, 0, 2},  {4, 4, 4, 0},  {68, 132, 37},  {132, 72, 525, 2}};

const EmulatedProduct& find(const std::string& name) {
    for (int i = 0; i < kEmulatedProductCount; ++i)
        if (name == kEmulatedProducts[i].name) return kEmulatedProducts[i];
    return kEmulatedProducts[0];  // another kernel: the results differ
}

std::string run(const NamedProduct& named, ProductProblem& p, bool split, simt::Order order) {
    const EmulatedProduct& kernels = find(named.name);
    // As many multiprocessors as make the launch share segments or not; and fewer blocks than tiles, often.
    const jit::ProductLaunch launch = jit::product_launch(named.form.tile, p.shape.m, p.shape.n, p.shape.k,
                                                          split ? 1000 : 1, p.shape.batch);
    std::vector<float> scratch(launch.scratch_bytes / sizeof(float) + 16, kGuard);
    jit::CudaProductArgs args = p.args();
    args.scratch = scratch.data();
    simt::Launch grid;
    grid.order = order;
    grid.block.x = jit::kProductThreads;
    grid.grid = {std::min(launch.grid_x, 2u), std::min(launch.grid_y, 2u), std::min(launch.grid_z, 2u)};
    std::string error;
    if (launch.grid_x > 0)
        error = simt::run(grid, [&] { (launch.split ? kernels.segments : kernels.tiles)(&args); });
    grid.grid = {std::min(launch.close_grid_x, 2u), 1, 1};
    if (launch.close_grid_x > 0) error += simt::run(grid, [&] { kernels.close(&args); });
    if (!std::all_of(scratch.end() - 16, scratch.end(), [](float x) { return x == kGuard; }))
        error += "wrote behind the scratch memory";
    return error;
}

std::string compare(const NamedProduct& named, const ProductExtents& shape, std::uint64_t seed) {
    const jit::Program* const epilogue = named.has_epilogue ? &named.epilogue : nullptr;
    ProductProblem expected(shape, DType::f32, named.form.transposed_a, named.form.transposed_b, epilogue,
                            seed);
    ProductProblem actual = expected;
    expected.expect(epilogue);
    const bool split = seed % 2 == 1;
    std::string failure = run(named, actual, split, static_cast<simt::Order>(seed / 2 % 3));
    if (failure.empty()) failure = expected.difference(actual);
    if (failure.empty()) return failure;
    return named.name + (split ? ", split, of " : " of ") + actual.text() + ", seed " + std::to_string(seed) +
           ": " + failure;
}

void test_product(void** state) {
    const NamedProduct& named = *static_cast<const NamedProduct*>(*state);
    static std::string failure;
    failure.clear();
    std::uint64_t seed = 1;
    for (const ProductExtents& shape : kShapes)
        for (int turn = 0; turn < 4; ++turn, ++seed)
            if (failure.empty()) failure = compare(named, shape, seed);
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

// tile, grid x, grid y, grid of close, scratch
void test_launches(void**) {
    assert_int_equal(jit::product_tile(4096, 4096, 132), 128);
    assert_int_equal(jit::product_tile(1024, 768, 132), 64);
    const jit::ProductLaunch square = jit::product_launch(128, 4096, 4096, 4096, 132);
    assert_false(square.split);
    assert_int_equal(square.grid_x, 1024);
    assert_int_equal(square.grid_y, 1);
    assert_int_equal(square.close_grid_x, 0);
    assert_int_equal(square.scratch_bytes, 0);
    const jit::ProductLaunch deep =
        jit::product_launch(64, 65, 64, 1025, 132);  // a gradient of a small weight
    assert_true(deep.split);
    assert_int_equal(deep.grid_x, 2);
    assert_int_equal(deep.grid_y, 3);
    assert_int_equal(deep.close_grid_x, 17);
    assert_int_equal(deep.scratch_bytes, 3 * 65 * 64 * sizeof(float));
    const jit::ProductLaunch empty = jit::product_launch(64, 5, 9, 0, 132);
    assert_true(empty.split && empty.grid_x == 0 && empty.close_grid_x == 1);
    assert_int_equal(jit::product_launch(64, 0, 9, 7, 132).grid_x, 0);
    assert_int_equal(jit::product_tile(1024, 768, 132, 3), 128);
    const jit::ProductLaunch batch = jit::product_launch(64, 65, 64, 1025, 132, 12);
    assert_true(batch.split && batch.grid_z == 12);
    assert_int_equal(batch.close_grid_x, 12 * 65 * 64 / 256);
    assert_int_equal(batch.scratch_bytes, 12 * 3 * 65 * 64 * sizeof(float));
    assert_int_equal(jit::product_launch(64, 65, 64, 1025, 132, 66).grid_z, 66);
    assert_false(jit::product_launch(64, 65, 64, 1025, 132, 66).split);
    assert_int_equal(jit::product_launch(64, 65, 64, 1025, 132, 0).grid_x, 0);
}

}  // namespace

int main() {
    static const std::vector<NamedProduct> list = products();
    const CMUnitTest tests[] = {cmocka_unit_test(test_launches)};
    return run_rows("products", list, test_product,
                    [](const NamedProduct& row) { return row.name.c_str(); }) +
           cmocka_run_group_tests(tests, nullptr, nullptr);
}
