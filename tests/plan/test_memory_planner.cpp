// The memory planner: placements never overlap, waste little, and depend on nothing but the lifetimes.
#include "engine/plan/memory_planner.h"

#include <algorithm>

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

// A rectangle of `steps` x `bytes` cut into `count` buffers that fill it: the best arena is `bytes`.
Lifetimes cut_rectangle(int count, std::int32_t steps, std::uint64_t bytes, Random& random) {
    Lifetimes lives{{bytes, 0, steps - 1}};
    while (static_cast<int>(lives.size()) < count) {
        const auto area = [](const Lifetime& of) {
            return of.bytes * static_cast<std::uint64_t>(of.last_step - of.first_step + 1);
        };
        Lifetime& life =
            *std::max_element(lives.begin(), lives.end(),
                              [&](const Lifetime& a, const Lifetime& b) { return area(a) < area(b); });
        Lifetime other = life;
        const std::uint64_t lines = life.bytes / kTensorAlignment;
        if (random.below(2) == 0 && lines > 1) {
            life.bytes = (1 + random.below(lines - 1)) * kTensorAlignment;
            other.bytes -= life.bytes;
        } else if (life.last_step > life.first_step) {
            const auto length = static_cast<std::uint64_t>(life.last_step - life.first_step);
            life.last_step = life.first_step + static_cast<std::int32_t>(random.below(length));
            other.first_step = life.last_step + 1;
        } else {
            continue;
        }
        lives.push_back(other);
    }
    return lives;
}

constexpr MemoryPlanOptions kNoSearch{0, 0, 0};

// Cut rectangles, small enough for the limit of a usual plan, are put together again; largest first alone
// leaves most of them larger.
void test_cut_rectangles_are_put_together(void**) {
    constexpr std::uint64_t kBytes = 4096 * kTensorAlignment;
    Random random(5);
    MemoryPlanOptions goal;
    goal.goal = kBytes;  // not a hundredth above it
    int larger = 0, reached = 0;
    for (int round = 0; round < 100; ++round) {
        const Lifetimes lives = cut_rectangle(5 + round % 20, 200, kBytes, random);
        larger += plan_memory(lives, kNoSearch).arena_bytes > kBytes;
        reached += plan_memory(lives, goal).arena_bytes == kBytes;
    }
    print_message("%d of 100 larger without the search\n", larger);
    assert_int_equal(reached, 100);
    assert_true(larger > 30);
}

// Whatever it is given, the search leaves a placement that holds, never a larger one, and the same one again.
void test_search_makes_nothing_worse(void**) {
    Random random(6);
    int smaller = 0;
    for (int round = 0; round < 60; ++round) {
        const char* found = nullptr;
        {
            const int count = 2 + round * 5;
            const Lifetimes lives = round % 2 == 0 ? lifetimes_of(Shape::any, count, random)
                                                   : cut_rectangle(count, 4 * count, 1 << 20, random);
            const MemoryPlan first = plan_memory(lives, kNoSearch), plan = plan_memory(lives),
                             again = plan_memory(Lifetimes(lives));
            found = fault(lives, plan);
            if (plan.arena_bytes > first.arena_bytes) found = "the search has made it larger";
            if (plan.offsets != again.offsets || plan.search_steps != again.search_steps)
                found = "the second plan is another one";
            smaller += plan.arena_bytes < first.arena_bytes;
        }
        if (found) print_error("round %d: %s\n", round, found);
        assert_null(found);
    }
    print_message("%d of 60 smaller\n", smaller);
    assert_true(smaller > 10);
}

// What is within a hundredth of the bound is left as it is, offset by offset.
void test_a_good_placement_is_kept(void**) {
    Random random(7);
    int good = 0;
    for (int round = 0; round < 40; ++round) {
        bool same = true;
        {
            const Lifetimes lives = lifetimes_of(Shape::any, 40 + round, random);
            const MemoryPlan first = plan_memory(lives, kNoSearch), plan = plan_memory(lives);
            const std::uint64_t bound = live_bytes_bound(lives);
            const bool is_good = first.arena_bytes - bound <= bound / 100;
            good += is_good;
            same = !is_good || (plan.offsets == first.offsets && plan.search_steps == 0);
        }
        assert_true(same);
    }
    assert_true(good > 5);
}

// The limit is one of steps: what is beyond it is the work of one choice.
void test_search_ends_at_its_limit(void**) {
    Random random(8);
    MemoryPlanOptions options;
    options.search_steps = 100'000;
    bool in_time = true;
    {
        const Lifetimes lives = cut_rectangle(60, 3000, 1 << 24, random);
        const MemoryPlan plan = plan_memory(lives, options);
        print_message("%llu steps\n", static_cast<unsigned long long>(plan.search_steps));
        in_time = plan.search_steps > 1000 && plan.search_steps <= options.search_steps;
    }
    assert_true(in_time);
}

// With a goal the search goes on to it from any distance, and ends there.
void test_search_ends_at_its_goal(void**) {
    Random random(9);
    bool reached = true;
    {
        const Lifetimes lives = cut_rectangle(24, 40, 1 << 18, random);
        MemoryPlanOptions options;
        options.goal = plan_memory(lives, kNoSearch).arena_bytes;
        reached = plan_memory(lives, options).search_steps == 0;
        options.goal = 1;  // below the bound: the bound
        reached = reached && plan_memory(lives, options).arena_bytes == 1 << 18;
    }
    assert_true(reached);
}

// The search takes its memory where the buffers have theirs, and gives it back.
void test_search_keeps_to_its_heap(void**) {
    struct Counted final : std::pmr::memory_resource {
        std::size_t bytes = 0, calls = 0;
        void* do_allocate(std::size_t size, std::size_t alignment) override {
            bytes += size;
            ++calls;
            return std::pmr::new_delete_resource()->allocate(size, alignment);
        }
        void do_deallocate(void* pointer, std::size_t size, std::size_t alignment) override {
            bytes -= size;
            std::pmr::new_delete_resource()->deallocate(pointer, size, alignment);
        }
        bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
            return this == &other;
        }
    };
    Random random(10);
    Counted heap;
    std::size_t calls = 0;
    {
        const Lifetimes drawn = cut_rectangle(60, 200, 1 << 18, random);
        const std::pmr::vector<Lifetime> lives(drawn, &heap);
        std::pmr::memory_resource* const usual =
            std::pmr::set_default_resource(std::pmr::null_memory_resource());
        plan_memory(lives);
        std::pmr::set_default_resource(usual);
        calls = heap.calls;
    }
    assert_int_equal(heap.bytes, 0);
    assert_true(calls > 10);
}

// Sizes and times as large as can be: what is only measured by their product may not wrap around, and the
// limit of steps per buffer neither.
void test_huge_buffers_are_put_together(void**) {
    Random random(11);
    const Lifetimes small = cut_rectangle(24, 60, 1 << 14, random);
    Lifetimes huge = small;
    for (Lifetime& life : huge) {
        life.bytes <<= 44;
        life.first_step <<= 25;
        life.last_step = ((life.last_step + 1) << 25) - 1;
    }
    MemoryPlanOptions options;
    options.search_steps_per_buffer = ~std::uint64_t{0};
    options.goal = 1;  // below the bound: the bound
    const MemoryPlan first = plan_memory(huge, kNoSearch), plan = plan_memory(huge, options);
    const char* const wrong = fault(huge, plan);
    const std::uint64_t bound = live_bytes_bound(huge);
    if (wrong != nullptr) print_error("%s\n", wrong);
    assert_null(wrong);
    assert_true(first.arena_bytes > bound);
    assert_true(plan.arena_bytes == bound);
    assert_true(plan.search_steps > 0 && plan.search_steps <= options.search_steps);
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
        cmocka_unit_test(test_placements_hold),
        cmocka_unit_test(test_known_arenas),
        cmocka_unit_test(test_waste_is_small),
        cmocka_unit_test(test_same_plan_again),
        cmocka_unit_test(test_thousands_of_buffers),
        cmocka_unit_test(test_huge_buffers_are_put_together),
        cmocka_unit_test(test_sizes_beyond_64_bits_are_refused),
        cmocka_unit_test(test_cut_rectangles_are_put_together),
        cmocka_unit_test(test_search_makes_nothing_worse),
        cmocka_unit_test(test_a_good_placement_is_kept),
        cmocka_unit_test(test_search_ends_at_its_limit),
        cmocka_unit_test(test_search_ends_at_its_goal),
        cmocka_unit_test(test_search_keeps_to_its_heap),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
