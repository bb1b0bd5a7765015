// The sampler against the plain reading of docs/numerics.md, 8: full sorts, one step after the other.
#include "engine/runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/numerics/canonical.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/random.h"
#include "tests/support/tensors.h"

namespace {

using namespace volta;

std::int32_t oracle(const SamplerOptions& o, std::vector<float> x, const std::vector<std::int32_t>& history,
                    std::uint32_t position) {
    const auto count = static_cast<std::int32_t>(x.size());
    const auto penalty = static_cast<float>(o.repetition_penalty);
    std::vector<bool> seen(x.size(), false);
    for (std::int32_t id : history) seen[static_cast<std::size_t>(id)] = true;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (seen[i] && penalty != 1) x[i] = x[i] > 0 ? x[i] / penalty : x[i] * penalty;
    const auto best = static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
    if (static_cast<float>(o.temperature) == 0) return best;
    for (float& value : x) value = value / static_cast<float>(o.temperature);
    std::vector<std::int32_t> order(x.size());
    for (std::int32_t i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = i;
    const auto by_value = [&](std::int32_t a, std::int32_t b) {
        return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
    };
    std::stable_sort(order.begin(), order.end(), by_value);
    std::vector<bool> kept(x.size(), true);
    for (std::size_t rank = 0; o.top_k > 0 && rank < order.size(); ++rank)
        kept[static_cast<std::size_t>(order[rank])] = rank < static_cast<std::size_t>(o.top_k);
    const float m = *std::max_element(x.begin(), x.end());
    ScalarMachine<float> machine;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = kept[i] ? exp(machine, x[i] - m) : 0.0f;
    for (float& e : x)
        if (!(e >= static_cast<float>(o.min_p))) e = 0;
    if (o.top_p > 0 && o.top_p < 1) {
        double total = 0, sum = 0;
        for (float e : x) total += static_cast<double>(e);
        std::stable_sort(order.begin(), order.end(), [](std::int32_t a, std::int32_t b) { return a < b; });
        std::stable_sort(order.begin(), order.end(), by_value);
        bool open = true;
        for (std::int32_t id : order) {
            sum += static_cast<double>(x[static_cast<std::size_t>(id)]);
            if (!open) x[static_cast<std::size_t>(id)] = 0;
            if (sum >= o.top_p * total) open = false;
        }
    }
    std::vector<float> running(1, 0.0f);
    const auto block_sum = [&](std::int32_t first) {
        return row_sum<float>(std::min(256, count - first),
                              [&](std::int64_t i) { return x[static_cast<std::size_t>(first + i)]; });
    };
    for (std::int32_t first = 0; first < count; first += 256)
        running.push_back(running.back() + block_sum(first));
    const auto word = random_block({o.seed, 0, Purpose::sampling, 0}, position, 0).word[0];
    const float target = unit_uniform(machine, word) * running.back();
    std::int32_t last = 0;
    for (std::size_t k = 0; k + 1 < running.size(); ++k) {
        float sum = running[k];
        for (std::int32_t id = static_cast<std::int32_t>(k) * 256;
             id < std::min(static_cast<std::int32_t>(k + 1) * 256, count); ++id) {
            if (x[static_cast<std::size_t>(id)] > 0) last = id;
            sum = sum + x[static_cast<std::size_t>(id)];
            if (running[k + 1] > target && sum > target) return id;
        }
        if (running[k + 1] > target) return last;
    }
    return last;
}

void test_sampler_equals_oracle(void**) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    int mistakes = 0;
    const SamplerOptions kOptions[] = {
        {0, 0, 0, 0, 1, 1},        {1, 0, 0, 0, 1, 2},
        {0.8, 5, 0, 0, 1, 3},      {1.3, 0, 0.9, 0, 1, 4},
        {1, 0, 0, 0.2, 1, 5},      {0.7, 40, 0.5, 0.01, 1.3, 6},
        {2, 1, 0, 0, 1, 7},        {1, 1000, 1, 1, 0.5, ~std::uint64_t{0}},
        {1, 0, 1e-9, 0, 1, 8},     {1, 0, 1 - 1e-16, 0, 1, 9},
        {3, 600, 0.999, 0, 1, 10}, {1e-60, 3, 0, 0, 1, 11},
        {0, 0, 0, 0, 1.3, 12},
    };
    jit::CodeArena arena(heap, false), refused(heap, true);
    std::vector<InitMachine> machines = {{}};
    for (const Isa isa : {Isa::avx2, Isa::avx512})
        if (host_cpu().has(isa)) machines.push_back({isa, &arena, nullptr});
    machines.push_back({machines.back().isa, &refused, nullptr});
    for (std::int32_t vocabulary : {1, 2, 29, 255, 256, 257, 1000})
        for (const SamplerOptions& options : kOptions) {
            std::deque<Sampler> samplers;
            for (const InitMachine& machine : machines)
                samplers.emplace_back(vocabulary, heap, heap, machine).prepare(options);
            for (std::uint32_t position = 1; position < 40; ++position) {
                std::vector<float> logits =
                    test::random_floats(vocabulary, position * 31 + static_cast<std::uint32_t>(vocabulary));
                for (float& logit : logits) logit = std::floor(logit * 24) / 4;  // many ties
                std::vector<std::int32_t> history = {0, vocabulary - 1, vocabulary / 2, 0};
                const std::int32_t expected = oracle(options, logits, history, position);
                for (Sampler& sampler : samplers)
                    mistakes += sampler.next(options, logits.data(), history.data(), history.size(),
                                             position) != expected;
            }
        }
    assert_int_equal(mistakes, 0);
}

// 1023 weights of 2^-54 and one of 1: the small ones count in the sum of all, and are lost behind the large
// one. So the walk from the largest on never has enough, and keeps all.
void test_all_are_kept_where_rounding_never_has_enough(void**) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    const SamplerOptions options = {1, 0, 1 - 1e-16, 0, 1, 5};
    std::vector<float> logits(1024, -37.5f);
    logits.back() = 0;
    Sampler sampler(1024, heap, heap);
    sampler.prepare(options);
    int mistakes = 0;
    for (std::uint32_t position = 1; position < 40; ++position) {
        std::vector<float> given = logits;
        mistakes += sampler.next(options, given.data(), nullptr, 0, position) !=
                    oracle(options, logits, {}, position);
    }
    assert_int_equal(mistakes, 0);
}

void test_draws_follow_the_weights(void**) {
    SamplerOptions options;
    options.temperature = 1;
    options.seed = 9;
    Sampler sampler(4, std::pmr::new_delete_resource(), std::pmr::new_delete_resource());
    const float logits[] = {0, std::log(2.0f), std::log(3.0f), std::log(4.0f)};
    int counts[4] = {};
    for (std::uint32_t position = 0; position < 20000; ++position)
        counts[sampler.next(options, logits, nullptr, 0, position)] += 1;
    for (int id = 0; id < 4; ++id) assert_true(std::abs(counts[id] - 2000 * (id + 1)) < 200);
}

void test_nan_and_infinity(void**) {
    SamplerOptions options;
    options.temperature = 1;
    Sampler sampler(3, std::pmr::new_delete_resource(), std::pmr::new_delete_resource());
    const float inf = std::numeric_limits<float>::infinity();
    const float certain[] = {1, inf, 2}, masked[] = {-inf, -inf, 5}, bad[] = {1, std::nanf(""), 2};
    assert_int_equal(sampler.next(options, certain, nullptr, 0, 1), 1);
    assert_int_equal(sampler.next(options, masked, nullptr, 0, 1), 2);
    std::string text;
    try {
        sampler.next(options, bad, nullptr, 0, 7);
    } catch (const Error& error) {
        text = error.what();
    }
    assert_string_equal(text.c_str(), "the logit of token 1 at position 7 is NaN");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_sampler_equals_oracle),
                                cmocka_unit_test(test_all_are_kept_where_rounding_never_has_enough),
                                cmocka_unit_test(test_draws_follow_the_weights),
                                cmocka_unit_test(test_nan_and_infinity)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
