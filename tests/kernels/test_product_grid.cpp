// Every point of the tuner's grid gives identical bytes: tile x K_BLOCK x M_BLOCK x N_BLOCK x loop order x
// prefetch x unroll x packing of A and B, compared with the definition. Points that are resolved to the plan
// of an earlier one run once, with one variant of operand order, epilogue, threads and leading dimensions,
// which is drawn; each problem is with `into` or without. Every 97th plan runs crossed: with all operand
// orders, with and without an epilogue (without one, the sums of B's columns), and with B packed before and
// not.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <tuple>

#include "engine/backend/cpu/gemm/cost.h"
#include "engine/backend/cpu/tuning/product_grid.h"
#include "engine/base/error.h"
#include "tests/kernels/product_problem.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::test;

// How a problem is posed: what the choice does not decide.
struct Variant {
    bool a_transposed, b_transposed, epilogue;
    int threads;
    std::int64_t pad;
    bool prepacked_b = false;
};

// A problem with its operands as every variant stores them, and the epilogue's result.
class Bench {
  public:
    Bench(std::int64_t m, std::int64_t n, std::int64_t k, bool into, std::uint64_t seed)
        : problem(1, m, n, k, into, Data::binades, seed),
          bias_(random_floats(n, seed + 9)),
          expected_sums_(bias_) {
        define::column_sums<float>(k, n, problem.b.data(), into, expected_sums_.data());
    }

    ProductShape shape(const Variant& variant) const {
        ProductShape shape;
        shape.m = problem.m;
        shape.n = problem.n;
        shape.k = problem.k;
        shape.a_transposed = variant.a_transposed;
        shape.b_transposed = variant.b_transposed;
        shape.lda = (variant.a_transposed ? problem.m : problem.k) + variant.pad;
        shape.ldb = (variant.b_transposed ? problem.k : problem.n) + variant.pad;
        shape.ldc = problem.n + variant.pad;
        return shape;
    }

    void run(const Variant& variant, const ProductChoice& choice, Engine& engine) {
        const ProductShape product_shape = shape(variant);
        const std::vector<float>& a =
            operand(problem.a, variant.a_transposed, variant.pad, problem.m, problem.k);
        const std::vector<float>& b =
            operand(problem.b, variant.b_transposed, variant.pad, problem.k, problem.n);
        const jit::RowKernel* const kernel = variant.epilogue ? &epilogue(engine.isa) : nullptr;
        CompileContext context = engine.context(variant.threads, nullptr);
        context.overrides.choice = &choice;
        context.request.sums_b = !variant.epilogue;
        context.request.prepacked = variant.prepacked_b;
        const ProductPtr product = compile_product(product_shape, kernel, context);

        const std::vector<float>& before = operand(problem.before, false, variant.pad, problem.m, problem.n);
        c_.assign(before.begin(), before.end());
        y_.assign(before.begin(), before.end());
        sums_ = bias_;
        workspace_.assign(product->workspace_bytes() / sizeof(float) + 32, 5.0f);
        float* const workspace = aligned(workspace_);
        void* operands[] = {c_.data(), bias_.data(), y_.data()};
        const std::int64_t strides[] = {product_shape.ldc, 0, product_shape.ldc};
        const Epilogue after = {kernel, {operands, strides, problem.m, problem.n, 0, 0, nullptr, 0}};
        assert_true((product->prepacked_bytes() > 0) == variant.prepacked_b);
        kept_.assign(product->prepacked_bytes() / sizeof(float) + 16, 6.0f);
        float* const kept = aligned(kept_);
        if (variant.prepacked_b) product->prepack(pool(variant.threads), b.data(), kept);
        product->run(pool(variant.threads),
                     {a.data(), variant.prepacked_b ? nullptr : b.data(), c_.data(), problem.into, workspace,
                      kernel ? &after : nullptr, kept, sums_.data()});

        if (product->sums_b()) compare(product->kernel_name(), expected_sums_, sums_, variant);
        compare(product->kernel_name(), expected(variant.pad), c_, variant);
        if (kernel) compare(product->kernel_name(), expected_epilogue(engine.isa, variant.pad), y_, variant);
        float* const end = workspace_.data() + workspace_.size();
        assert_true(std::all_of(workspace + product->workspace_bytes() / sizeof(float), end,
                                [](float x) { return x == 5.0f; }));
    }

    const Example problem;

  private:
    struct Key {
        const void* of;
        bool transposed;
        std::int64_t pad;
        bool operator<(const Key& o) const {
            return std::tie(of, transposed, pad) < std::tie(o.of, o.transposed, o.pad);
        }
    };
    std::vector<float> bias_, expected_sums_, sums_, c_, y_, workspace_, kept_;
    std::map<Key, std::vector<float>> operands_;
    std::map<std::int64_t, std::vector<float>> expected_, expected_epilogue_;
    std::map<std::int32_t, jit::RowKernelPtr> kernels_;

    static float* aligned(std::vector<float>& memory) {
        return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    }
    const std::vector<float>& operand(const std::vector<float>& logical, bool transposed, std::int64_t pad,
                                      std::int64_t rows, std::int64_t columns) {
        std::vector<float>& made = operands_[Key{logical.data(), transposed, pad}];
        if (made.empty()) made = stored(logical, 1, rows, columns, transposed, pad);
        return made;
    }
    const std::vector<float>& expected(std::int64_t pad) {
        std::vector<float>& made = expected_[pad];
        if (made.empty()) made = stored(problem.expected, 1, problem.m, problem.n, false, pad);
        return made;
    }
    const jit::RowKernel& epilogue(Isa isa) {
        jit::RowKernelPtr& kernel = kernels_[static_cast<std::int32_t>(isa)];
        if (!kernel) kernel = jit::compile(bias_relu(), isa, engine(isa).arena, heap());
        return *kernel;
    }
    const std::vector<float>& expected_epilogue(Isa isa, std::int64_t pad) {
        std::vector<float>& made = expected_epilogue_[pad];
        if (!made.empty()) return made;
        std::vector<float> c = problem.expected, y(c.size());
        void* operands[] = {c.data(), bias_.data(), y.data()};
        const std::int64_t strides[] = {problem.n, 0, problem.n};
        std::vector<char> scratch(epilogue(isa).scratch_bytes(problem.n) + 64);
        void* const aligned =
            reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
        epilogue(isa).run({operands, strides, problem.m, problem.n, 0, 0, aligned, 0});
        made = stored(y, 1, problem.m, problem.n, false, pad);
        return made;
    }

    void compare(const char* name, const std::vector<float>& want, const std::vector<float>& got,
                 const Variant& variant) const {
        const auto count = static_cast<std::int64_t>(want.size());
        if (first_difference(want.data(), got.data(), count) < 0) return;
        print_error("%s: %lld x %lld x %lld, A%s B%s%s, into %d, epilogue %d, %d threads, pad %lld\n", name,
                    static_cast<long long>(problem.m), static_cast<long long>(problem.n),
                    static_cast<long long>(problem.k), variant.a_transposed ? "^T" : "",
                    variant.b_transposed ? "^T" : "", variant.prepacked_b ? " packed before" : "",
                    problem.into, variant.epilogue, variant.threads, static_cast<long long>(variant.pad));
        assert_same_bits(name, want.data(), got.data(), count);
    }
};

// The variants, turned by the number of the point so that neighbours on every axis get different ones.
Variant variant_of(std::uint64_t point) {
    Random random(point);
    const std::uint64_t bits = random.next();
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, 1 + static_cast<int>(bits >> 8 & 1),
            static_cast<std::int64_t>(bits >> 16 & 1) * 3};
}

// The rule of a field with two or three values is one of them, so those points are covered by the others.
template <class Body>
void for_each_point(const GemmTile& tile, Body body) {
    ProductChoice choice;
    choice.tile = 1 + tile_row(tile);
    const auto each = [](const auto& values, auto& field, auto inner) {
        for (const auto value : values) {
            if (value == std::decay_t<decltype(value)>(0) && sizeof field == 1) continue;
            field = value;
            inner();
        }
    };
    each(kBlocksOfK, choice.k_block, [&] {
        each(kBlocksOfM, choice.m_block, [&] {
            each(kBlocksOfN, choice.n_block, [&] {
                each(kTileOrders, choice.order, [&] {
                    each(kPackings, choice.pack_a, [&] {
                        each(kPackings, choice.pack_b, [&] {
                            each(kPrefetches, choice.prefetch,
                                 [&] { each(kUnrolls, choice.unroll, [&] { body(choice); }); });
                        });
                    });
                });
            });
        });
    });
}

struct Counts {
    std::size_t points = 0, plans = 0, carried = 0, crossed = 0;
};
constexpr std::size_t kCrossed = 97;  // a prime: it keeps step with no axis

// One choice in every way that it can be asked for but for threads and leading dimensions.
void cross(Bench& bench, const ProductChoice& choice, Variant variant, Engine& engine) {
    for (int bits = 0; bits < 16; ++bits) {
        variant.a_transposed = (bits & 1) != 0;
        variant.b_transposed = (bits & 2) != 0;
        variant.epilogue = (bits & 4) != 0;
        variant.prepacked_b = (bits & 8) != 0;
        if (choice.pack_b == Toggle::no && variant.b_transposed && !variant.prepacked_b) continue;
        bench.run(variant, choice, engine);
    }
}

// All points of one tile on one problem; of a sample every n-th, where n keeps step with no axis: all values
// of two axes meet.
void walk(Bench& bench, const GemmTile& tile, Counts& counts) {
    Engine engine(tile.isa, false);
    std::set<PlanKey> seen;
    const auto stride = static_cast<std::size_t>(sample_stride());
    for (const std::size_t factor : {2, 3, 5, 11}) assert_true(stride == 1 || stride % factor != 0);
    for_each_point(tile, [&](const ProductChoice& choice) {
        if (++counts.points % stride != 0) return;
        Variant variant = variant_of(counts.points);
        if (choice.pack_b == Toggle::no) variant.b_transposed = false;
        const CompileContext context = engine.context(variant.threads, nullptr);
        const Planned plan = plan_product(bench.shape(variant), context, choice);
        if (!seen.insert(plan.key()).second) return;
        ++counts.plans;
        counts.carried += plan.carries();
        bench.run(variant, choice, engine);
        if (counts.plans % kCrossed != 0) return;
        ++counts.crossed;
        cross(bench, choice, variant, engine);
    });
}

void walk_isa(Isa isa, std::initializer_list<Bench*> benches) {
    if (!host_cpu().has(isa)) skip();
    Counts counts;
    for (const GemmTile& tile : gemm_tiles())
        if (tile.isa == isa)
            for (Bench* bench : benches) walk(*bench, tile, counts);
    print_message(
        "%s: %zu points, %zu different plans, %zu of them carry unfinished chains, %zu are crossed\n",
        isa_name(isa), counts.points, counts.plans, counts.carried, counts.crossed);
    assert_true(counts.plans > 500 && counts.carried > 100 && counts.crossed > 5);
}

// Segments that end inside, at and just before the end of k; parts with rows and columns left over.
void test_whole_grid(void** state) {
    const Isa isa = *static_cast<const Isa*>(*state);
    Bench wide(40, 70, 600, false, 1), tall(140, 20, 1025, true, 2), even(20, 40, 1024, true, 3);
    walk_isa(isa, {&wide, &tall, &even});
}
void test_scalar_grid(void**) {
    Bench small(9, 21, 530, true, 4);
    walk_isa(Isa::scalar, {&small});
}

// The numbers of docs/matmul_tuning.md: every value of every field, the rule too.
void test_size_of_the_grid(void**) {
    const std::size_t per_tile = std::size(kBlocksOfK) * std::size(kBlocksOfM) * std::size(kBlocksOfN) *
                                 std::size(kTileOrders) * std::size(kPrefetches) * std::size(kUnrolls) *
                                 std::size(kPackings) * std::size(kPackings);
    assert_int_equal(per_tile, 475200);
    std::size_t tiles[4] = {};
    for (const GemmTile& tile : gemm_tiles()) ++tiles[static_cast<int>(tile.isa)];
    const std::size_t avx2 = 1 + tiles[static_cast<int>(Isa::avx2)];  // and the rule
    assert_int_equal(per_tile * avx2, 4752000);
    assert_int_equal(per_tile * (avx2 + tiles[static_cast<int>(Isa::avx512)]), 9979200);
    assert_int_equal(per_tile * (1 + tiles[static_cast<int>(Isa::scalar)]), 950400);
}

void test_refusals(void**) {
    struct Case {
        const char* text;
        const char* message;
    };
    constexpr Case kCases[] = {
        {"f32_gemm_5x5_avx2", "there is no product tile named \"f32_gemm_5x5_avx2\""},
        {"k_block=-1", "k_block is '-1', it must be in 0 .. 1048576"},
        {"k_block=1048577", "k_block is '1048577', it must be in 0 .. 1048576"},
        {"m_block=x", "m_block is 'x', it must be in 0 .. 1048576"},
        {"unroll=9", "unroll is '9', it must be in 0 .. 8"},
        {"prefetch=65", "prefetch is '65', it must be in 0 .. 64"},
        {"order=sideways", "order is 'sideways', which is none of rule, columns and rows"},
        {"pack_a=maybe", "pack_a is 'maybe', which is none of rule, yes and no"},
        {"speed=9", "a product's choice has no field 'speed'"},
    };
    for (const Case& c : kCases) {
        const char* message = "accepted";
        char text[512];
        try {
            parse_choice(c.text);
        } catch (const Error& error) {
            std::snprintf(text, sizeof text, "%s", error.what());
            message = text;
        }
        assert_string_equal(message, c.message);
    }
}

volta_status status_of(const ProductShape& shape, const ProductChoice& choice, Isa isa) {
    CompileContext context = engine(isa).context(1, nullptr);
    context.overrides.choice = &choice;
    try {
        compile_product(shape, nullptr, context);
    } catch (const Error& error) {
        return error.status();
    }
    return VOLTA_OK;
}

// What a choice from code gets wrong is found before anything runs.
void test_impossible_choices_are_errors(void**) {
    ProductShape shape;
    shape.m = shape.n = shape.k = shape.lda = shape.ldb = shape.ldc = 40;
    const auto with = [](auto change) {
        ProductChoice choice;
        change(choice);
        return choice;
    };
    using C = ProductChoice;
    assert_int_equal(status_of(shape, C(), Isa::scalar), VOLTA_OK);
    assert_int_equal(status_of(shape, with([](C& c) { c.tile = 999; }), Isa::scalar), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(status_of(shape, with([](C& c) { c.tile = -1; }), Isa::scalar), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(status_of(shape, with([](C& c) { c.tile = 1; }), Isa::scalar), VOLTA_UNSUPPORTED);
    assert_int_equal(status_of(shape, with([](C& c) { c.k_block = -5; }), Isa::scalar),
                     VOLTA_INVALID_ARGUMENT);
    assert_int_equal(status_of(shape, with([](C& c) { c.n_block = kWholeExtent + 1; }), Isa::scalar),
                     VOLTA_INVALID_ARGUMENT);
    assert_int_equal(status_of(shape, with([](C& c) { c.unroll = 9; }), Isa::scalar), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(status_of(shape, with([](C& c) { c.prefetch = 100; }), Isa::scalar),
                     VOLTA_INVALID_ARGUMENT);
    assert_int_equal(status_of(shape, with([](C& c) { c.order = static_cast<TileOrder>(3); }), Isa::scalar),
                     VOLTA_INVALID_ARGUMENT);
    const ProductChoice in_place = with([](C& c) { c.pack_b = Toggle::no; });
    assert_int_equal(status_of(shape, in_place, Isa::scalar), VOLTA_OK);
    shape.b_transposed = true;
    assert_int_equal(status_of(shape, in_place, Isa::scalar), VOLTA_INVALID_ARGUMENT);
}

// Blocks of K that no grid has, but that a file may: a pass begins or ends one, two or three steps away from
// the end of a segment, so that fewer steps than a tile's tail are left of it.
void test_blocks_beside_segments(void**) {
    const GemmTiles tiles = gemm_tiles();
    for (int row = 0; row < tiles.count; ++row) {
        const Isa isa = tiles.rows[row].isa;
        if (!host_cpu().has(isa)) continue;
        for (const bool into : {false, true}) {
            Bench bench(21, 101, 1030, into, 4000 + static_cast<std::uint64_t>(row));
            for (const std::int32_t k_block : {1, 170, 509, 510, 511, 513})
                for (const bool a_transposed : {false, true})
                    for (const Toggle pack_b : {Toggle::no, Toggle::yes}) {
                        ProductChoice choice;
                        choice.tile = row + 1;
                        choice.k_block = k_block;
                        choice.pack_b = pack_b;
                        Engine& its_engine = engine(isa);
                        bench.run({a_transposed, false, false, 1, 3}, choice, its_engine);
                    }
        }
    }
}

// A choice cannot ask for memory without bound: the largest blocks of a huge product stay within their
// limits.
void test_memory_is_bounded(void**) {
    ProductShape shape;
    shape.m = 1 << 20;
    shape.n = shape.ldb = shape.ldc = 1 << 20;
    shape.k = shape.lda = (1 << 20) + 3;
    for (const char* text :
         {"k_block=all m_block=all n_block=all pack_a=yes pack_b=yes",
          "k_block=64 m_block=all n_block=all pack_a=yes pack_b=yes",
          "k_block=1000 n_block=all pack_b=no pack_a=no", "k_block=all pack_a=yes pack_b=no"}) {
        const ProductChoice choice = parse_choice(text);
        CompileContext context = engine(Isa::scalar).context(1, nullptr);
        context.overrides.choice = &choice;
        const ProductPtr product = compile_product(shape, nullptr, context);
        assert_true(product->workspace_bytes() <= std::size_t{49} << 20);
    }
}

// Text and back: every field, and the default as nothing.
void test_choice_text(void**) {
    const char* const texts[] = {
        "", "k_block=96", "f32_gemm_6x16_avx2 m_block=all prefetch=none",
        ("f32_gemm_8x48_avx512 k_block=128 m_block=64 n_block=all order=rows prefetch=8 unroll=2 pack_a=yes "
         "pack_b=no")};
    for (const char* text : texts) assert_string_equal(to_text(parse_choice(text)).text, text);
    assert_true(parse_choice("  k_block=0 order=rule ") == ProductChoice());
}

// The kernel's name tells what was chosen beside the tile.
void test_kernel_name(void**) {
    ProductShape shape;
    shape.m = shape.n = shape.k = shape.lda = shape.ldb = shape.ldc = 40;
    const ProductChoice choice = parse_choice("f32_gemm_4x4_scalar k_block=16 order=columns");
    CompileContext context = engine(Isa::scalar).context(1, nullptr);
    context.overrides.choice = &choice;
    assert_string_equal(compile_product(shape, nullptr, context)->kernel_name(),
                        "f32_gemm_4x4_scalar k_block=16 order=columns");
}
}  // namespace

int main() {
    static Isa isas[] = {Isa::avx512, Isa::avx2};
    const CMUnitTest tests[] = {
        {"whole_grid avx512", test_whole_grid, nullptr, nullptr, &isas[0]},
        {"whole_grid avx2", test_whole_grid, nullptr, nullptr, &isas[1]},
        cmocka_unit_test(test_scalar_grid),
        cmocka_unit_test(test_size_of_the_grid),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_impossible_choices_are_errors),
        cmocka_unit_test(test_blocks_beside_segments),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_choice_text),
        cmocka_unit_test(test_kernel_name),
    };
    return cmocka_run_group_tests_name("product grid", tests, nullptr, nullptr);
}
