// The generated products, executed in the emulation, against the definition
// (engine/numerics/define_products.h) bit for bit: all orders of operands, odd shapes, segments of 512 split
// over blocks or not, accumulation into c, special values, and row programs as epilogues.
#include <algorithm>
#include <cstdio>
#include <memory_resource>

#include "engine/numerics/define_products.h"
#include "jitgen/cuda/product_launch.h"
#include "jitgen/interpreter.h"
#include "tests/cuda/emulated_kernels.h"
#include "tests/cuda/programs.h"
#include "tests/support/simt_emulation.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

struct Shape3 {
    std::int64_t m, n, k;
};
constexpr Shape3 kShapes[] = {{1, 1, 1},      {3, 5, 7},      {65, 70, 9},    {64, 64, 512},
                              {33, 130, 513}, {5, 9, 0},      {17, 66, 1300}, {130, 3, 520},
                              {1, 200, 511},  {200, 1, 1025}, {129, 129, 8}};

const EmulatedProduct& find(const std::string& name) {
    for (int i = 0; i < kEmulatedProductCount; ++i)
        if (name == kEmulatedProducts[i].name) return kEmulatedProducts[i];
    return kEmulatedProducts[0];  // another kernel: the results differ
}

constexpr float kGuard = -7777.0f;

// One problem: everything that the kernel and the definition read, and where they write.
struct Problem {
    Shape3 shape;
    bool into, split;
    simt::Order order;
    std::vector<float> a, b, c;
    std::int64_t a_stride, b_stride, c_stride;
    std::vector<std::vector<float>> operands;  // of the epilogue, [m, c_stride] each
    std::vector<void*> bases;
    std::vector<std::int64_t> strides;
};

Problem make_problem(const NamedProduct& named, const Shape3& shape, std::uint64_t seed) {
    const auto data = static_cast<Data>(seed % 7 % 4);
    Problem p{};
    p.shape = shape;
    p.into = seed % 4 == 0;
    p.split = seed % 2 == 1;
    p.order = static_cast<simt::Order>(seed / 2 % 3);
    const auto gap = static_cast<std::int64_t>(seed % 5);
    p.a_stride = (named.form.transposed_a ? shape.m : shape.k) + gap;
    p.b_stride = (named.form.transposed_b ? shape.k : shape.n) + gap;
    p.c_stride = shape.n + gap;
    p.a = random_floats((named.form.transposed_a ? shape.k : shape.m) * p.a_stride, seed, data);
    p.b = random_floats((named.form.transposed_b ? shape.n : shape.k) * p.b_stride, seed + 1, data);
    p.c = random_floats(shape.m * p.c_stride, seed + 2);
    const std::size_t operands = named.has_epilogue ? named.epilogue.operands.size() : 0;
    for (std::size_t k = 0; k < operands; ++k) {
        p.operands.push_back(random_floats(std::max<std::int64_t>(shape.m * p.c_stride, 8), seed + 3 + k));
        p.strides.push_back(named.epilogue.operands[k].access == jit::Access::per_row ? 1 : p.c_stride);
    }
    for (auto& operand : p.operands) p.bases.push_back(operand.data());
    return p;
}

// By the definition and the interpreter.
void expect(const NamedProduct& named, Problem& p) {
    define::product<float>(p.shape.m, p.shape.n, p.shape.k, {p.a.data(), p.a_stride, named.form.transposed_a},
                           {p.b.data(), p.b_stride, named.form.transposed_b}, p.into, p.c.data(), p.c_stride);
    if (!named.has_epilogue) return;
    p.bases[0] = p.c.data();
    const jit::RowKernelPtr kernel = jit::interpret(named.epilogue, heap());
    std::vector<char> scratch(kernel->scratch_bytes(p.shape.n) + 64);
    jit::RowArgs args{p.bases.data(), p.strides.data(), p.shape.m, p.shape.n, 40, 1000, nullptr, 0};
    args.scratch = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    kernel->run(args);
}

std::string run(const NamedProduct& named, Problem& p) {
    const EmulatedProduct& kernels = find(named.name);
    // As many multiprocessors as make the launch share segments or not; and fewer blocks than tiles, often.
    const jit::ProductLaunch launch =
        jit::product_launch(named.form.tile, p.shape.m, p.shape.n, p.shape.k, p.split ? 1000 : 1);
    std::vector<float> scratch(launch.scratch_bytes / sizeof(float) + 16, kGuard);
    jit::CudaProductArgs args{};
    args.a = p.a.data(), args.b = p.b.data(), args.c = p.c.data(), args.scratch = scratch.data();
    args.a_stride = p.a_stride, args.b_stride = p.b_stride, args.c_stride = p.c_stride;
    args.m = p.shape.m, args.n = p.shape.n, args.k = p.shape.k;
    args.into = p.into;
    args.keep = 1;
    std::copy(p.bases.begin(), p.bases.end(), args.epilogue.operands);
    std::copy(p.strides.begin(), p.strides.end(), args.epilogue.row_strides);
    args.epilogue.first_row = 40;
    args.epilogue.first_column = 1000;
    simt::Launch grid;
    grid.order = p.order;
    grid.block.x = jit::kProductThreads;
    grid.grid.x = std::min(launch.grid_x, 2u);
    grid.grid.y = std::min(launch.grid_y, 2u);
    std::string error;
    if (launch.grid_x > 0)
        error = simt::run(grid, [&] { (launch.split ? kernels.segments : kernels.tiles)(&args); });
    grid.grid.x = std::min(launch.close_grid_x, 2u);
    grid.grid.y = 1;
    if (launch.close_grid_x > 0) error += simt::run(grid, [&] { kernels.close(&args); });
    if (!std::all_of(scratch.end() - 16, scratch.end(), [](float x) { return x == kGuard; }))
        error += "wrote behind the scratch memory";
    return error;
}

std::string compare(const NamedProduct& named, const Shape3& shape, std::uint64_t seed) {
    Problem expected = make_problem(named, shape, seed), actual = make_problem(named, shape, seed);
    expect(named, expected);
    std::string failure = run(named, actual);
    const auto same = [&](const std::vector<float>& x, const std::vector<float>& y, const char* what) {
        const std::int64_t at = first_difference(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
        if (at < 0 || !failure.empty()) return;
        char text[160];
        std::snprintf(text, sizeof text, "%s, element %lld: expected %a, got %a", what,
                      static_cast<long long>(at), static_cast<double>(x[static_cast<std::size_t>(at)]),
                      static_cast<double>(y[static_cast<std::size_t>(at)]));
        failure = text;
    };
    same(expected.c, actual.c, "c");
    for (std::size_t k = 1; k < expected.operands.size(); ++k)
        same(expected.operands[k], actual.operands[k], "an operand of the epilogue");
    if (failure.empty()) return failure;
    return named.name + (actual.split ? ", split," : "") + " of " + std::to_string(shape.m) + " x " +
           std::to_string(shape.n) + " x " + std::to_string(shape.k) + ", seed " + std::to_string(seed) +
           ": " + failure;
}

void test_product(void** state) {
    const NamedProduct& named = *static_cast<const NamedProduct*>(*state);
    static std::string failure;
    failure.clear();
    std::uint64_t seed = 1;
    for (const Shape3& shape : kShapes)
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
}

}  // namespace

int main() {
    static const std::vector<NamedProduct> list = products();
    const CMUnitTest tests[] = {cmocka_unit_test(test_launches)};
    return run_rows("products", list, test_product,
                    [](const NamedProduct& row) { return row.name.c_str(); }) +
           cmocka_run_group_tests(tests, nullptr, nullptr);
}
