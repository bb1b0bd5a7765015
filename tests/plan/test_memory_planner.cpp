// The memory planner: placements never overlap, waste little, and depend on nothing but the lifetimes.
#include "engine/plan/memory_planner.h"

#include "tests/support/errors.h"
#include "tests/support/growth.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;
using Lifetimes = std::pmr::vector<Lifetime>;

enum class Shape { any, equal, chain, nested, empty_ones };
constexpr struct {
    const char* name;
    Shape shape;
    int count;
} kCases[] = {
    {"none", Shape::any, 0},
    {"one", Shape::any, 1},
    {"few", Shape::any, 7},
    {"many", Shape::any, 700},
    {"equal sizes", Shape::equal, 300},
    {"a chain", Shape::chain, 300},
    {"nested", Shape::nested, 300},
    {"empty ones", Shape::empty_ones, 100},
};

// Sizes over five binades; lifetimes as a training step has them: some short, some over the whole backward
// pass.
Lifetimes lifetimes_of(Shape shape, int count, Random& random) {
    Lifetimes lives;
    for (int i = 0; i < count; ++i) {
        Lifetime life{static_cast<std::uint64_t>(1 + random.below(64 << random.below(6))), 0, 0};
        const auto step = static_cast<std::int32_t>(random.below(count));
        life.first_step = step;
        life.last_step = step + static_cast<std::int32_t>(random.below(random.below(4) == 0 ? count : 4));
        if (shape == Shape::equal) life.bytes = 256;
        if (shape == Shape::chain) life = {life.bytes, i, i + 1};
        if (shape == Shape::nested) life = {life.bytes, i, 2 * count - i};
        if (shape == Shape::empty_ones && i % 2 == 0) life.bytes = 0;
        lives.push_back(life);
    }
    return lives;
}

bool overlap(const Lifetimes& lives, const MemoryPlan& plan, std::size_t a, std::size_t b) {
    const bool in_time =
        lives[a].first_step <= lives[b].last_step && lives[b].first_step <= lives[a].last_step;
    return in_time && plan.offsets[a] < plan.offsets[b] + lives[b].bytes &&
           plan.offsets[b] < plan.offsets[a] + lives[a].bytes;
}

// What is wrong with the plan; NULL: nothing.
const char* fault(const Lifetimes& lives, const MemoryPlan& plan) {
    std::uint64_t sum = 0;
    for (std::size_t a = 0; a < lives.size(); ++a) {
        sum += padded(lives[a].bytes);
        if (plan.offsets[a] % kTensorAlignment != 0) return "a buffer is not aligned";
        if (plan.offsets[a] + lives[a].bytes > plan.arena_bytes) return "a buffer reaches beyond the arena";
        for (std::size_t b = 0; b < a; ++b)
            if (overlap(lives, plan, a, b)) return "two buffers overlap";
    }
    if (plan.arena_bytes > sum) return "the arena is larger than all buffers together";
    if (plan.arena_bytes < live_bytes_bound(lives)) return "the arena is smaller than what is alive at once";
    return nullptr;
}

void test_placements_hold(void**) {
    Random random(1);
    for (const auto& test : kCases) {
        for (int round = 0; round < 20; ++round) {
            const char* found = nullptr;
            {
                const Lifetimes lives = lifetimes_of(test.shape, test.count, random);
                found = fault(lives, plan_memory(lives));
            }
            if (found) print_error("%s, round %d: %s\n", test.name, round, found);
            assert_null(found);
        }
    }
}

// Buffers that are never alive together share; a stack of nested ones is packed without a hole.
void test_known_arenas(void**) {
    const std::uint64_t chain = plan_memory({{128, 0, 1}, {64, 1, 2}, {128, 2, 3}, {64, 3, 4}}).arena_bytes;
    const std::uint64_t apart = plan_memory({{1000, 0, 1}, {900, 2, 3}, {1024, 4, 5}}).arena_bytes;
    const std::uint64_t nested = plan_memory({{64, 0, 9}, {128, 1, 8}, {192, 2, 7}}).arena_bytes;
    // What dies leaves a gap for what comes: nothing goes above the 576 bytes of the first three.
    const std::uint64_t gaps =
        plan_memory({{256, 0, 9}, {192, 0, 3}, {128, 0, 9}, {64, 4, 9}, {128, 4, 9}}).arena_bytes;
    assert_int_equal(chain, 192);
    assert_int_equal(apart, 1024);
    assert_int_equal(nested, 384);
    assert_int_equal(gaps, 576);
}

// Random training-like lifetimes end near what no placement can go below.
void test_waste_is_small(void**) {
    Random random(2);
    double worst = 0, total = 0;
    for (int round = 0; round < 20; ++round) {
        const Lifetimes lives = lifetimes_of(Shape::any, 500, random);
        const double waste = static_cast<double>(plan_memory(lives).arena_bytes) /
                                 static_cast<double>(live_bytes_bound(lives)) -
                             1;
        worst = waste > worst ? waste : worst;
        total += waste;
    }
    print_message("waste over the bound: %.2f %% on average, %.2f %% at most\n", total / 20 * 100,
                  worst * 100);
    assert_true(total / 20 < 0.05 && worst < 0.15);
}

// Which of two equal buffers comes first depends on their order alone.
void test_same_plan_again(void**) {
    Random random(3);
    bool same = true;
    {
        const Lifetimes lives = lifetimes_of(Shape::equal, 400, random);
        const MemoryPlan a = plan_memory(lives), b = plan_memory(Lifetimes(lives));
        same = a.offsets == b.offsets && a.arena_bytes == b.arena_bytes;
    }
    assert_true(same);
}

// Each is placed beside those before it: the square of their number, no more.
void test_thousands_of_buffers(void**) {
    Random random(4);
    const Lifetimes few = lifetimes_of(Shape::any, 5000 / test::kGrowthStep, random);
    const Lifetimes lives = lifetimes_of(Shape::any, 5000, random);
    const double growth = test::growth([&] { plan_memory(few); }, [&] { plan_memory(lives); });
    print_message("%zu buffers: %.1f times as long as %zu\n", lives.size(), growth, few.size());
    assert_true(growth < test::kMostWithTheSquare);
}

void test_sizes_beyond_64_bits_are_refused(void**) {
    const std::uint64_t huge = ~std::uint64_t{0} - 100;
    const Failure one = failure_of([&] { plan_memory({{~std::uint64_t{0}, 0, 1}}); });
    const Failure two = failure_of([&] { plan_memory({{huge, 0, 1}, {huge, 0, 1}}); });
    assert_failure(one, VOLTA_UNSUPPORTED, "too large");
    assert_failure(two, VOLTA_UNSUPPORTED, "2^64");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_placements_hold),      cmocka_unit_test(test_known_arenas),
        cmocka_unit_test(test_waste_is_small),       cmocka_unit_test(test_same_plan_again),
        cmocka_unit_test(test_thousands_of_buffers), cmocka_unit_test(test_sizes_beyond_64_bits_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
