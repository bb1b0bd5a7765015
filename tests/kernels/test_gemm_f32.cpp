// Every row of the tile table against the definition, bit for bit: every height and width of its edges, both
// ways of reading A and B, segments, unfinished chains, triangles, special values. Operands end at protected
// pages.
#include <algorithm>
#include <memory_resource>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "tests/kernels/edge_floats.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::jit;
using namespace volta::test;

constexpr GemmB kWaysOfB[] = {GemmB::panels, GemmB::tile, GemmB::rows, GemmB::pack_on_first_use};
constexpr std::int64_t kDepths[] = {0, 1, 2, 7, 511, 512, 513, 1023, 1024, 1025};

CodeArena& arena() {
    static CodeArena code(std::pmr::new_delete_resource(), false);
    return code;
}
KernelCache& cache() {
    static KernelCache kernels(std::pmr::new_delete_resource());
    return kernels;
}

// args by value: a kernel moves on in them.
void call(const GemmForm& form, GemmArgs args) { cache().gemm(form, arena())(args); }

// One call of one kernel, and the definition of what it leaves in C.
struct Case {
    GemmForm form;
    int columns;
    std::int64_t steps, first_step;
    bool into;
    std::int64_t
        split;  // > 0: the chain is left unfinished after this many steps and goes on in a second call
    Data data;
    std::uint64_t seed;
};

GemmForm form_of(Isa isa, int rows, int columns, GemmA a, GemmB b) {
    GemmForm form;
    form.isa = isa;
    form.mr = static_cast<std::uint8_t>(rows);
    set_width(form, columns);
    form.a = a;
    form.b = b;
    return form;
}

// Steps in which row i of the form takes part, of all steps 0 .. total.
std::int64_t first_of(const Case& test, int i) { return test.form.triangle == Triangle::head ? i : 0; }
std::int64_t end_of(const Case& test, int i) {
    if (test.form.triangle == Triangle::tail) return test.steps + i + 1;
    return test.steps + (test.form.triangle == Triangle::head ? test.form.mr : 0);
}

void run_case(const char* name, const Case& test) {
    const GemmForm& form = test.form;
    const int lanes = gemm_lanes(form.isa), start = form.half ? lanes : 0;
    const std::int64_t total = test.steps + (form.triangle == Triangle::none ? 0 : form.mr),
                       pad = test.seed % 4;
    const bool by_offsets = form.a == GemmA::offsets;
    const std::int64_t lda = by_offsets ? 1 + pad * 3 : (form.a == GemmA::rows ? total : form.mr) + pad,
                       ldc = test.columns + test.seed % 3;
    const std::int64_t width = gemm_width(form);
    const std::int64_t ldb = form.b == GemmB::panels ? total * kPanel + 16 * pad
                             : form.b == GemmB::tile ? width
                                                     : test.columns + pad;
    const std::int64_t panels = (start + test.columns + kPanel - 1) / kPanel;
    // The last row ends with its last element: nothing behind it may be read.
    std::vector<std::int64_t> offsets;  // in no order, some of them equal
    for (std::int64_t k = 0; by_offsets && k < total; ++k)
        offsets.push_back((k * 7919 + static_cast<std::int64_t>(test.seed)) % (2 * total / 3 + 1) * 4);
    const std::int64_t last_offset =
        offsets.empty() ? 0 : *std::max_element(offsets.begin(), offsets.end()) / 4;
    const std::int64_t a_count = form.a == GemmA::ones   ? 0
                                 : by_offsets            ? (form.mr - 1) * lda + last_offset + 1
                                 : form.a == GemmA::rows ? (form.mr - 1) * lda + total
                                                         : (total - 1) * lda + form.mr;
    const std::int64_t b_count = form.b == GemmB::panels ? (panels - 1) * ldb + total * kPanel
                                 : form.b == GemmB::tile ? total * width
                                                         : (total - 1) * ldb + test.columns;
    const std::int64_t c_count = (form.mr - 1) * ldc + test.columns;

    EdgeFloats a(random_floats(std::max<std::int64_t>(a_count, 0), test.seed, test.data));
    EdgeFloats b(random_floats(std::max<std::int64_t>(b_count, 0), test.seed + 1, test.data));
    const std::vector<float> before = random_floats(c_count, test.seed + 2, test.data);
    std::vector<float> expected = before;
    EdgeFloats c(before), chain(random_floats(form.mr * test.columns, test.seed + 3));
    EdgeFloats packed(random_floats(total * width, test.seed + 4));
    const std::int64_t prefetched_c_rows = static_cast<std::int64_t>(test.seed) % 4,
                       prefetched_c_stride = kPrefetchCColumns + pad;
    std::vector<float> prefetched_c = random_floats(
        std::max<std::int64_t>((prefetched_c_rows - 1) * prefetched_c_stride + kPrefetchCColumns, 0),
        test.seed + 5);
    EdgeFloats prefetch_c(prefetched_c);

    const auto a_at = [&](int i, std::int64_t k) {
        if (form.a == GemmA::ones) return 1.0f;
        if (by_offsets) return a.data()[i * lda + offsets[static_cast<std::size_t>(k)] / 4];
        return form.a == GemmA::rows ? a.data()[i * lda + k] : a.data()[k * lda + i];
    };
    const auto b_at = [&](std::int64_t k, int j) {
        const int column = j + start;
        return form.b != GemmB::panels ? b.data()[k * ldb + j]
                                       : b.data()[column / kPanel * ldb + k * kPanel + column % kPanel];
    };
    for (int i = 0; i < form.mr; ++i) {
        for (int j = 0; j < test.columns; ++j) {
            // Absolute k, so that the cuts fall where they fall in the whole product.
            float& element = expected[static_cast<std::size_t>(i * ldc + j)];
            const std::int64_t from = test.first_step + first_of(test, i),
                               to = test.first_step + end_of(test, i);
            if (from >=
                to) {  // a kernel without steps closes an empty chain: the driver never asks for `into` then
                element = test.into ? element + 0.0f : 0.0f;
                continue;
            }
            element = product_chain<float>(
                from, to, test.into ? &element : nullptr,
                [&](std::int64_t k) { return a_at(i, k - test.first_step); },
                [&](std::int64_t k) { return b_at(k - test.first_step, j); });
        }
    }

    GemmArgs args = {};
    args.a = a.data();
    args.a_stride = lda;
    args.a_offsets = offsets.data();
    args.b = b.data();
    args.b_stride = ldb;
    args.c = c.data();
    args.c_stride = ldc;
    args.accumulator_stride = test.columns;
    args.steps = test.steps;
    args.first_step = test.first_step;
    args.add = test.into;
    args.tail_columns = (test.columns - 1) % lanes + 1;
    args.packed = packed.data();
    args.prefetch.target = b.data();
    args.prefetch.stride = static_cast<std::int64_t>(1)
                           << 40;  // prefetching outside of any array is no fault
    args.prefetch.line = -args.prefetch.stride;
    args.prefetch.c = prefetch_c.data();
    args.prefetch.c_stride = prefetched_c_stride;
    args.prefetch.c_rows = prefetched_c_rows;
    if (test.split == 0) {
        call(form, args);
    } else {
        GemmForm first = form, second = form;
        if (form.triangle == Triangle::tail) first.triangle = Triangle::none;
        if (form.triangle == Triangle::head) second.triangle = Triangle::none;
        const std::int64_t done = test.split + (form.triangle == Triangle::head ? form.mr : 0);
        args.steps = test.split;
        args.accumulators_out = chain.data();
        call(first, args);
        if (by_offsets)
            args.a_offsets += done;
        else if (form.a != GemmA::ones)
            args.a += form.a == GemmA::rows ? done : done * lda;
        args.b += form.b == GemmB::panels ? done * kPanel : done * ldb;
        args.packed += done * width;
        args.steps = test.steps - test.split;
        args.first_step += done;
        args.add = test.into || (test.first_step + done) / 512 > test.first_step / 512;
        args.accumulators_in = chain.data();
        args.accumulators_out = nullptr;
        call(second, args);
    }
    const std::int64_t at = first_difference(expected.data(), c.data(), c_count);
    if (at >= 0)
        print_error("%s, %s, %d columns, %lld steps from %lld, split %lld, into %d, data %d, seed %llu\n",
                    name, to_text(form).text, test.columns, static_cast<long long>(test.steps),
                    static_cast<long long>(test.first_step), static_cast<long long>(test.split), test.into,
                    static_cast<int>(test.data), static_cast<unsigned long long>(test.seed));
    assert_same_bits(name, expected.data(), c.data(), c_count);
    // A line of each sixteen columns by its first float, and nothing else.
    for (std::int64_t i = 0; form.isa != Isa::scalar && i < prefetched_c_rows; ++i)
        for (int j = 0; j < kPrefetchCColumns; j += 16)
            prefetched_c[static_cast<std::size_t>(i * prefetched_c_stride + j)] = 0;
    assert_same_bits("prefetched_c", prefetched_c.data(), prefetch_c.data(),
                     static_cast<std::int64_t>(prefetched_c.size()));
    if (form.b != GemmB::pack_on_first_use) return;
    for (std::int64_t k = 0; k < total; ++k)
        for (int j = 0; j < test.columns; ++j)
            assert_int_equal(bits_of(packed.data()[k * width + j]), bits_of(b_at(k, j)));
}

Data data_of(std::uint64_t seed) { return static_cast<Data>(seed % 3); }

// What a kernel prefetches ahead changes no bit: none, one or several lines beside panels, steps of B where
// it lies, or one line instead.
void prefetch_ahead(GemmForm& form, std::uint64_t seed) {
    const bool is_packed = form.b == GemmB::panels || form.b == GemmB::tile;
    if (is_packed) form.prefetch_lines = static_cast<std::uint8_t>(seed % (form.mr > 12 ? 4 : 5));
    if (form.b != GemmB::panels) form.prefetch = static_cast<std::uint8_t>(seed % 3 * 9);
    form.repeated_prefetch = seed % 2 == 0;
    if (form.b == GemmB::rows && form.prefetch == 0) form.prefetch_lines = seed % 2;
}

// All heights and widths of the tile, both ways of reading A and B, at few depths.
void test_every_edge(const GemmTile& tile) {
    std::uint64_t seed = 1;
    for (int rows = 1; rows <= tile.mr; ++rows) {
        for (int columns = 1; columns <= tile.nr; columns += columns % 8 == 2 ? 4 : 1, ++seed) {
            for (const GemmA a : {GemmA::rows, GemmA::k_major}) {
                for (const GemmB b : kWaysOfB) {
                    GemmForm form = form_of(tile.isa, rows, columns, a, b);
                    prefetch_ahead(form, seed);
                    run_case(tile.name, {form, columns, 7, 0, seed % 2 == 0, 0, data_of(seed), seed});
                }
            }
            run_case(tile.name, {form_of(tile.isa, rows, columns, GemmA::offsets, GemmB::tile), columns, 7, 0,
                                 seed % 2 == 0, 0, data_of(seed), seed});
        }
    }
}

void test_every_depth(const GemmTile& tile) {
    std::uint64_t seed = 100;
    for (const std::int64_t steps : kDepths) {
        for (const std::int64_t first_step : {0, 300, 512}) {
            for (int n = 0; n < 8; ++n, ++seed) {
                const int rows = std::max(1, tile.mr - n % 2), columns = std::max(1, tile.nr - n);
                GemmForm form =
                    form_of(tile.isa, rows, columns, n < 4 ? GemmA::rows : GemmA::k_major, kWaysOfB[n % 4]);
                prefetch_ahead(form, seed);
                run_case(tile.name,
                         {form, columns, steps, first_step, seed % 2 == 0, 0, data_of(seed), seed});
                if (steps > 2 && (first_step + steps / 3) % 512 != 0)
                    run_case(tile.name, {form, columns, steps, first_step, seed % 2 == 0, steps / 3,
                                         data_of(seed), seed});
            }
        }
    }
}

void test_every_depth_by_offsets(const GemmTile& tile) {
    std::uint64_t seed = 200;
    for (const std::int64_t steps : kDepths)
        for (const std::int64_t first_step : {0, 300, 512})
            for (int n = 0; n < 4; ++n, ++seed) {
                const int rows = std::max(1, tile.mr - n % 2), columns = std::max(1, tile.nr - n);
                const GemmForm form = form_of(tile.isa, rows, columns, GemmA::offsets, GemmB::tile);
                run_case(tile.name,
                         {form, columns, steps, first_step, seed % 2 == 0, 0, data_of(seed), seed});
                if (steps > 2 && (first_step + steps / 3) % 512 != 0)
                    run_case(tile.name, {form, columns, steps, first_step, seed % 2 == 0, steps / 3,
                                         data_of(seed), seed});
            }
}

// Column sums: every width, cuts and unfinished chains, in one row as products use them and in several.
void test_column_sums(const GemmTile& tile) {
    std::uint64_t seed = 4000;
    for (int columns = 1; columns <= tile.nr; ++columns) {
        for (const GemmB b : kWaysOfB) {
            const int rows = ++seed % 4 == 0 ? tile.mr : 1;
            const GemmForm form = form_of(tile.isa, rows, columns, GemmA::ones, b);
            run_case(tile.name, {form, columns, 7, 0, seed % 2 == 0, 0, data_of(seed), seed});
            run_case(tile.name, {form, columns, 530, 1000, seed % 2 == 1, 100, data_of(seed), seed});
        }
    }
}

// Causal forms: every height up to the largest power of two, diagonals around the cuts.
void test_triangles(const GemmTile& tile) {
    std::uint64_t seed = 1000;
    for (int rows = 1; rows <= tile.mr; ++rows) {
        std::int64_t grain = 1;
        while (grain < rows) grain *= 2;
        if (grain > kMaxTileRows) continue;
        for (const std::int64_t diagonal : {0, 16, 496, 512, 528, 1024}) {
            for (int n = 0; n < 2; ++n, ++seed) {
                const int columns = std::max(1, tile.nr - n);
                const GemmB b = kWaysOfB[seed % 3];
                GemmForm form = form_of(tile.isa, rows, columns, GemmA::rows, b);
                form.triangle = Triangle::tail;
                run_case(tile.name, {form, columns, diagonal, 0, seed % 3 == 0, 0, data_of(seed), seed});
                form.triangle = Triangle::head;
                form.a = GemmA::k_major;
                const std::int64_t steps = (seed * 97) % 600;
                run_case(tile.name, {form, columns, steps, diagonal, false, 0, data_of(seed), seed});
                const std::int64_t split = steps / 2;
                if ((diagonal + rows + split) % 512 != 0)
                    run_case(tile.name, {form, columns, steps, diagonal, false, split, data_of(seed), seed});
            }
        }
    }
}

// Panels read from their second half, as every other tile of 24 columns does.
void test_half_panels(const GemmTile& tile) {
    if (tile.isa != Isa::avx2) return;
    std::uint64_t seed = 2000;
    for (int columns = 1; columns <= std::min(tile.nr, 48); ++columns, ++seed) {
        GemmForm form = form_of(tile.isa, tile.mr, columns, GemmA::rows, GemmB::panels);
        form.half = true;
        run_case(tile.name, {form, columns, 33, 0, false, 0, data_of(seed), seed});
    }
}

// Several tiles in one call are as many calls: tiles below each other, as products in place have them, and
// side by side, as packed ones have.
void test_several_tiles(const GemmTile& tile) {
    constexpr int kTiles = 3;
    constexpr std::int64_t kSteps = 530;  // a cut inside
    std::uint64_t seed = 3000;
    for (const GemmB b : kWaysOfB) {
        for (const bool side_by_side : {false, true}) {
            for (const bool chains : {false, true}) {
                GemmForm form = form_of(tile.isa, tile.mr, tile.nr, GemmA::rows, b);
                if (b == GemmB::panels && tile.nr % kPanel != 0) continue;  // a tile by itself
                if ((b == GemmB::panels || b == GemmB::tile) && chains)
                    form.prefetch_lines = tile.mr > 12 ? 1 : 4;
                Random random(++seed);
                const auto filled = [&](std::int64_t count) {
                    std::vector<float> data(static_cast<std::size_t>(count));
                    for (float& x : data) x = random_float(random, data_of(seed));
                    return data;
                };
                const std::int64_t rows = tile.mr * kTiles, columns = tile.nr * kTiles;
                const std::vector<float> a = filled(rows * kSteps), b_data = filled(columns * kSteps),
                                         chain = filled(rows * columns), c_before = filled(rows * columns);
                std::vector<float> c[2] = {c_before, c_before}, out[2] = {chain, chain}, packed[2];
                for (int several = 0; several < 2; ++several) {
                    packed[several].assign(b_data.size(), 0.0f);
                    GemmArgs args = {};
                    args.a = a.data();
                    args.a_stride = kSteps;
                    args.b = b_data.data();
                    args.b_stride = b == GemmB::panels ? kSteps * kPanel : columns;
                    args.c = c[several].data();
                    args.c_stride = args.accumulator_stride = columns;
                    args.accumulators_in = chains ? chain.data() : nullptr;
                    args.accumulators_out = chains ? out[several].data() : nullptr;
                    args.steps = kSteps;
                    args.add = seed % 2;
                    args.packed = packed[several].data();
                    args.prefetch.target = b_data.data();
                    args.next.a = side_by_side ? 0 : tile.mr * kSteps;
                    const bool is_packed = b == GemmB::panels || b == GemmB::tile;
                    args.next.b = !side_by_side ? 0 : is_packed ? tile.nr * kSteps : tile.nr;
                    args.next.c = args.next.accumulators = side_by_side ? tile.nr : tile.mr * columns;
                    args.next.stream = side_by_side ? tile.nr * kSteps : 0;
                    const GemmArgs first = args;
                    args.next.tiles = kTiles;
                    if (several) call(form, args);
                    for (int t = 0; t < kTiles && !several; ++t) {
                        args = first;
                        args.a += t * args.next.a;
                        args.b += t * args.next.b;
                        args.c += t * args.next.c;
                        if (chains) args.accumulators_in += t * args.next.accumulators;
                        if (chains) args.accumulators_out += t * args.next.accumulators;
                        args.packed += t * args.next.stream;
                        call(form, args);
                    }
                }
                assert_same_bits(tile.name, c[0].data(), c[1].data(), rows * columns);
                assert_same_bits(tile.name, out[0].data(), out[1].data(), rows * columns);
                assert_same_bits(tile.name, packed[0].data(), packed[1].data(),
                                 static_cast<std::int64_t>(packed[0].size()));
            }
        }
    }
}

// A chain that underflows to -0 at the end of a segment: a stored first segment keeps it, an added one does
// not.
void test_negative_zero(const GemmTile& tile) {
    GemmForm form = form_of(tile.isa, 1, 1, GemmA::rows, GemmB::panels);
    std::vector<float> a(513, 0.0f), panel(513 * kPanel, 0.0f);
    a[511] = -1e-30f;
    panel[511 * kPanel] = 1e-30f;
    float c = -0.0f;
    GemmArgs args = {};
    args.a = a.data();
    args.b = panel.data();
    args.b_stride = static_cast<std::int64_t>(panel.size());
    args.c = &c;
    args.tail_columns = 1;
    args.steps = 512;
    call(form, args);
    const bool stored = bits_of(c) == 0x80000000u;
    args.add = 1;
    c = -0.0f;
    call(form, args);
    const bool added = bits_of(c) == 0x80000000u;
    args.add = 0;
    args.steps = 513;  // -0 + (+0)
    call(form, args);
    const bool second = bits_of(c) == 0;
    assert_true(stored && added && second);
}

void test_row_equals_definition(void** state) {
    const GemmTile& tile = *static_cast<const GemmTile*>(*state);
    if (!host_cpu().has(tile.isa)) skip();
    test_every_edge(tile);
    test_every_depth(tile);
    test_every_depth_by_offsets(tile);
    test_triangles(tile);
    test_half_panels(tile);
    test_several_tiles(tile);
    test_column_sums(tile);
    test_negative_zero(tile);
}
}  // namespace

int main() {
    return run_rows("gemm_f32", gemm_tiles(), test_row_equals_definition,
                    [](const GemmTile& tile) { return tile.name; });
}
