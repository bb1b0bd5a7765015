// Kernels that move words, look up rows and turn pairs, executed in the emulation, against plain loops and
// the definitions, bit for bit. Whole buffers are compared: what is not to be written keeps its bits.
#include <algorithm>
#include <cstring>

#include "engine/numerics/define_pairs.h"
#include "engine/numerics/define_training.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/cuda/embedding_source.h"
#include "jitgen/cuda/move_source.h"
#include "jitgen/cuda/rotary_source.h"
#include "jitgen/cuda/rounding_source.h"
#include "tests/cuda/entries.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;
using Words = std::vector<std::uint32_t>;

std::string failure;  // of the test at hand: no object with a destructor is alive where an assertion leaves

void passed() {
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

// At most `most` blocks: few of them walk over many elements.
void launch(const char* entry, unsigned x, unsigned y, unsigned threads, std::uint64_t seed, const void* args,
            unsigned most = 3) {
    if (x == 0 || y == 0 || !failure.empty()) return;
    simt::Launch grid;
    grid.grid = {std::min(x, most), std::min(y, most), 1};
    grid.block.x = threads;
    grid.order = static_cast<simt::Order>(seed % 3);
    failure = run_entry(entry, grid, args);
    if (!failure.empty()) failure = std::string(entry) + ": " + failure;
}

template <class T>
void same(const std::string& name, const std::vector<T>& expected, const std::vector<T>& actual) {
    for (std::size_t i = 0; i < expected.size() && failure.empty(); ++i) {
        std::uint32_t x, y;
        std::memcpy(&x, &expected[i], 4);
        std::memcpy(&y, &actual[i], 4);
        if (x == y) continue;
        char text[96];
        std::snprintf(text, sizeof text, ", element %zu: expected %08x, got %08x", i, x, y);
        failure = name + text;
    }
}

Words random_words(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    Words words(static_cast<std::size_t>(count));
    for (auto& word : words) word = static_cast<std::uint32_t>(random.next());
    return words;
}

std::vector<std::int32_t> random_ids(std::int64_t count, std::int64_t rows, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (auto& id : ids)
        id = static_cast<std::int32_t>(random.below(random.below(2) ? rows : (rows + 3) / 4));
    return ids;
}

// ---- Copies ----------------------------------------------------------------------------------------------

struct Copy {
    std::vector<std::int64_t> extent;
    std::vector<int> order;  // the output's axes in the order of the input's memory
    std::int64_t gap;        // words between the input's innermost lines
    bool tiles;
    std::int64_t out_gap = 0;  // the same of the output
};
const Copy kCopies[] = {
    {{7}, {0}, 0, false},
    {{5, 9}, {0, 1}, 3, false},
    {{5, 9}, {0, 1}, 0, false, 2},
    {{2500}, {0}, 0, false},
    {{3, 2100}, {0, 1}, 5, false},
    {{70, 45}, {1, 0}, 0, true},
    {{70, 45}, {1, 0}, 2, true},
    {{70, 45}, {1, 0}, 2, true, 3},
    {{16, 16}, {1, 0}, 0, true},
    {{3, 33, 64}, {0, 2, 1}, 1, true},
    {{2, 3, 40, 50}, {3, 1, 0, 2}, 0, true},
    {{4, 5, 6}, {2, 0, 1}, 0, false},
    {{3, 4, 2, 8}, {0, 2, 1, 3}, 0, false},
    {{2, 2, 2, 2, 2, 2, 2, 2}, {7, 3, 1, 5, 0, 2, 4, 6}, 1, false},
    {{4, 0, 3}, {0, 1, 2}, 0, false},
    {{}, {}, 0, false},
};

struct Axis {
    std::int64_t extent, in, out;  // strides in words
};

void copy_plainly(const std::vector<Axis>& axes, std::size_t k, const std::uint32_t* in, std::uint32_t* out) {
    if (k == axes.size()) {
        *out = *in;
        return;
    }
    for (std::int64_t i = 0; i < axes[k].extent; ++i)
        copy_plainly(axes, k + 1, in + i * axes[k].in, out + i * axes[k].out);
}

void test_copies(void**) {
    failure.clear();
    std::uint64_t seed = 0;
    for (const Copy& copy : kCopies) {
        const std::size_t rank = copy.extent.size();
        std::vector<Axis> axes(rank);
        std::int64_t in_size = 1, out_size = 1;
        for (std::size_t k = rank; k-- > 0;) {
            axes[k].extent = copy.extent[k];
            axes[k].out = out_size;
            out_size = out_size * copy.extent[k] + (k + 1 == rank ? copy.out_gap : 0);
            const auto axis = static_cast<std::size_t>(copy.order[k]);
            axes[axis].in = in_size;
            in_size = in_size * copy.extent[axis] + (k + 1 == rank ? copy.gap : 0);
        }
        for (int turn = 1; turn < 4; ++turn, ++seed) {
            jit::CudaCopyArgs args{};
            for (const Axis& axis : axes) args.push(axis.extent, axis.in, axis.out);
            const Words from = random_words(in_size + 1, seed), to = random_words(out_size + 9, seed + 1);
            Words expected = to, actual = to;
            copy_plainly(axes, 0, from.data(), expected.data());
            args.from = from.data();
            args.to = actual.data();
            const jit::CopyLaunch how = jit::copy_launch(args, turn);
            launch(how.tiles ? "move_tiles" : "move_copy", how.grid_x, 1, jit::kMoveThreads, seed, &args);
            if (how.tiles != copy.tiles && failure.empty()) failure = "another kernel was chosen";
            same("copy " + std::to_string(seed), expected, actual);
        }
    }
    passed();
}

// A value for every place of the output, as broadcasting reads it.
void test_broadcast(void**) {
    failure.clear();
    jit::CudaCopyArgs args{};
    args.push(3, 0, 40);
    args.push(40, 1, 1);
    const Words from = random_words(40, 5);
    Words expected, actual(124, 77);
    for (int i = 0; i < 3; ++i) expected.insert(expected.end(), from.begin(), from.end());
    expected.resize(124, 77);
    args.from = from.data();
    args.to = actual.data();
    const jit::CopyLaunch how = jit::copy_launch(args, 1);
    launch("move_copy", how.grid_x, 1, jit::kMoveThreads, 1, &args);
    same("broadcast", expected, actual);
    assert_int_equal(args.width, 32);
    passed();
}

void test_fill_and_positions(void**) {
    failure.clear();
    for (const std::int64_t count : {0, 1, 255, 1000}) {
        Words expected = random_words(count + 4, 1), actual = expected;
        std::fill_n(expected.begin(), count, 0x80000000u);
        const jit::CudaFillArgs fill{actual.data(), count, 0x80000000u, 0};
        launch("move_fill", jit::blocks_for(count, 1), 1, jit::kMoveThreads, 1, &fill);
        same("fill", expected, actual);
    }
    std::vector<std::int32_t> expected(3 * 130 + 2, -5), actual = expected;
    for (int i = 0; i < 3 * 130; ++i) expected[static_cast<std::size_t>(i)] = i % 130;
    const jit::CudaPositionArgs positions{actual.data(), 3, 130};
    launch("move_positions", jit::blocks_for(3 * 130, 1), 1, jit::kMoveThreads, 2, &positions);
    same("positions", expected, actual);
    passed();
}

// ---- Operands of products that round ---------------------------------------------------------------------

struct Rounding {
    std::int64_t batch, rows, columns, gap, from_batch_gap;
};
constexpr Rounding kRoundings[] = {{1, 1, 1, 0, 0},    {1, 3, 8, 0, 0},  {1, 7, 33, 5, 0},
                                   {3, 5, 16, 0, 0},   {2, 4, 9, 2, 7},  {1, 2, 3000, 0, 0},
                                   {1, 2, 2500, 1, 0}, {4, 1, 70, 0, 1}, {1, 0, 12, 0, 0},
                                   {1, 600, 2, 1, 0},  {2, 3, 29, 3, 4}, {1, 1, 9001, 0, 0}};

// Every kind of float, ties and what is next to them; what lies between rows keeps its bits.
void test_rounding(void**) {
    failure.clear();
    int wide = 0;  // launches that took eight elements at a time
    std::uint64_t seed = 1;
    for (const Rounding& shape : kRoundings)
        for (int turn = 0; turn < 4; ++turn, ++seed) {
            const bool aligned = turn % 2 == 0;  // else the input begins at its second element
            jit::CudaRoundingArgs args{};
            args.batch = shape.batch, args.rows = shape.rows, args.columns = shape.columns;
            args.from_row = shape.columns + shape.gap;
            args.from_batch = shape.rows * args.from_row + shape.from_batch_gap;
            args.to_row = (shape.columns + 7) / 8 * 8;
            args.to_batch = shape.rows * args.to_row;
            Words from = random_words(shape.batch * args.from_batch + 4, seed);
            for (std::size_t i = 0; i < from.size(); i += 3)
                from[i] = (from[i] & 0xffff0000u) | (0x7fffu + i / 3 % 3);  // a tie and its neighbours
            Words expected = random_words(shape.batch * args.to_batch / 2 + 5, seed + 1), actual = expected;
            const auto* const floats = reinterpret_cast<const float*>(from.data()) + !aligned;
            auto* const halves = reinterpret_cast<std::uint16_t*>(expected.data());
            for (std::int64_t b = 0; b < shape.batch; ++b)
                for (std::int64_t row = 0; row < shape.rows; ++row) {
                    std::uint16_t* const to = halves + b * args.to_batch + row * args.to_row;
                    for (std::int64_t i = 0; i < shape.columns; ++i)
                        to[i] = bf16_from_f32(floats[b * args.from_batch + row * args.from_row + i]);
                    if (shape.columns % 2 != 0) to[shape.columns] = 0;
                }
            args.from = floats;
            args.to = reinterpret_cast<std::uint16_t*>(actual.data());
            const unsigned blocks = jit::rounding_launch(args, aligned, 1 + turn);
            wide += args.wide;
            launch("rounding_bf16", blocks, 1, jit::kRoundingThreads, seed, &args);
            same("rounding " + std::to_string(seed), expected, actual);
        }
    assert_in_range(wide, 10, 24);
    passed();
}

// ---- Rows of tables --------------------------------------------------------------------------------------

void test_gather(void**) {
    failure.clear();
    for (const std::int64_t width : {1, 30, 300}) {
        const auto table = random_floats(37 * width, 3, Data::special);
        const auto ids = random_ids(9, 37, 4);
        std::vector<float> expected(static_cast<std::size_t>(9 * width + 5), -7), actual = expected;
        define::embedding(9, width, ids.data(), table.data(), expected.data());
        const jit::CudaGatherArgs args{table.data(), ids.data(), actual.data(), 9, width};
        const jit::GridSize grid = jit::gather_grid(args);
        launch("gather_f32", grid.x, grid.y, jit::kEmbeddingThreads, 1, &args);
        same("gather", expected, actual);
    }
    passed();
}

// All bits of 16, as bf16 and f16: infinities, NaNs and subnormals; and random bytes for the others.
void test_gather_stored(void**) {
    failure.clear();
    const std::pair<DType, const char*> types[] = {{DType::bf16, "gather_bf16"},
                                                   {DType::f16, "gather_f16"},
                                                   {DType::int8, "gather_int8"},
                                                   {DType::int4, "gather_int4"},
                                                   {DType::f32_panels, "gather_f32_panels"}};
    for (const auto& [dtype, entry] : types) {
        const std::int64_t rows = 35, width = dtype == DType::bf16 || dtype == DType::f16 ? 4096 : 77;
        Words bytes = random_words(3 * stored_panel_bytes(dtype, width) / 4, 8);
        if (width == 4096)
            for (std::uint32_t i = 0; i < 32768; ++i) bytes[i] = 2 * i | (2 * i + 1) << 16;
        const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
        auto ids = random_ids(17, rows, 9);
        for (int i = 0; i < 16; ++i) ids[static_cast<std::size_t>(i)] = i;  // a whole panel
        std::vector<float> expected(static_cast<std::size_t>(17 * width + 5), -7), actual = expected;
        define::stored_embedding(17, ids.data(), StoredWeights{dtype, data, rows, width}, expected.data());
        const jit::CudaGatherArgs args{data, ids.data(), actual.data(), 17, width};
        const jit::GridSize grid = jit::gather_grid(args);
        launch(entry, grid.x, grid.y, jit::kEmbeddingThreads, 2, &args);
        // A scale that is no number makes NaNs, which are all equal.
        for (auto* values : {&expected, &actual})
            for (float& x : *values)
                if (x != x) x = std::numeric_limits<float>::quiet_NaN();
        same(entry, expected, actual);
    }
    passed();
}

struct Gradient {
    std::int64_t positions, rows, width;
};
constexpr Gradient kGradients[] = {{1, 1, 1},     {0, 5, 3},      {40, 7, 33},
                                   {700, 90, 20}, {300, 4000, 3}, {257, 2, 300}};

void test_embedding_gradient(void**) {
    failure.clear();
    std::uint64_t seed = 1;
    for (const Gradient& shape : kGradients)
        for (int turn = 0; turn < 6; ++turn, ++seed) {
            const auto ids = random_ids(shape.positions, shape.rows, seed);
            const auto dy = random_floats(shape.positions * shape.width, seed, static_cast<Data>(seed % 4));
            const auto start = random_floats(shape.rows * shape.width + 3, seed + 1);
            std::vector<float> expected = start, actual = start;
            if (turn % 3 == 0)
                define::embedding_grad(shape.positions, shape.width, ids.data(), dy.data(), shape.rows, false,
                                       expected.data());
            else
                define::tied_embedding_grad(shape.positions, shape.width, ids.data(), dy.data(), shape.rows,
                                            expected.data());
            std::vector<std::int32_t> first(static_cast<std::size_t>(shape.rows), 12345),
                end = first, order(static_cast<std::size_t>(shape.positions), 12345);
            jit::CudaEmbeddingArgs args{};
            args.ids = ids.data(), args.gradient = dy.data(), args.to = actual.data();
            args.base = turn % 3 == 0 ? nullptr : turn % 3 == 1 ? actual.data() : start.data();
            args.first = first.data(), args.end = end.data(), args.order = order.data();
            args.positions = shape.positions, args.rows = shape.rows, args.width = shape.width;
            const jit::EmbeddingLaunch how = jit::embedding_launch(args, 4);
            launch("embedding_clear", how.clear_x, 1, jit::kEmbeddingThreads, seed, &args);
            launch("embedding_order", how.order_x, 1, jit::kEmbeddingThreads, seed, &args, 2);
            launch("embedding_gradient", how.gradient.x, how.gradient.y, jit::kEmbeddingThreads, seed, &args);
            for (auto* values : {&expected, &actual})
                for (float& x : *values)
                    if (x != x) x = std::numeric_limits<float>::quiet_NaN();
            same("embedding gradient " + std::to_string(seed), expected, actual);
        }
    passed();
}

// ---- Rotary positions ------------------------------------------------------------------------------------

void test_rotary(void**) {
    failure.clear();
    constexpr std::int64_t kTokens = 11, kLimit = 40;
    std::uint64_t seed = 1;
    RotaryAngles<float> angles;
    angles.base = 10000;
    for (const auto& [width, stride] :
         {std::pair<std::int64_t, std::int64_t>{2, 2}, {6, 6}, {64, 64}, {2, 3}, {20, 80}})
        for (const std::int64_t behind : {0, 1, 70})
            for (int form = 0; form < 8; ++form, ++seed) {
                const RotaryForm rotary = {3, width, form % 2 == 1, form / 2 % 2 == 1, stride};
                const bool in_place = form >= 4;
                const std::int64_t columns = rotary.columns() + behind;
                std::vector<float> table(static_cast<std::size_t>(kLimit * width));
                define::rotary_table(kLimit, width, angles, table.data());
                const auto positions = random_ids(kTokens, kLimit, seed);
                const auto x = random_floats(kTokens * columns, seed, Data::binades);
                std::vector<float> expected = x, actual = x;
                if (!in_place) std::fill(actual.begin(), actual.end(), 5.0f);
                define::rotary(kTokens, columns, rotary, positions.data(), table.data(), x.data(),
                               expected.data());
                jit::CudaRotaryArgs args{};
                args.x = in_place ? actual.data() : x.data(), args.y = actual.data();
                args.positions = positions.data(), args.table = table.data();
                args.tokens = kTokens, args.columns = columns, args.heads = rotary.heads, args.width = width;
                args.stride = stride;
                args.interleaved = rotary.interleaved, args.inverse = rotary.inverse;
                const jit::GridSize grid = jit::rotary_grid(args);
                launch("rotary_rows", grid.x, grid.y, jit::kRotaryThreads, seed, &args);
                same("rotary " + std::to_string(seed), expected, actual);
            }
    passed();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_fill_and_positions),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_gather_stored),
        cmocka_unit_test(test_embedding_gradient),
        cmocka_unit_test(test_rotary),
    };
    return cmocka_run_group_tests_name("moves", tests, nullptr, nullptr);
}
