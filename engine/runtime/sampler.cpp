#include "engine/runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"
#include "engine/numerics/canonical.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/random.h"

namespace volta {

namespace {

constexpr std::int32_t kBlock = 256;  // weights whose sum is taken at once

void require_range(const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high))
        fail(VOLTA_INVALID_ARGUMENT, "%s is %g, it must be in %g .. %g", name, value, low, high);
}

}  // namespace

void check(const SamplerOptions& options) {
    require_range("temperature", options.temperature, 0, 1000);
    require_range("top_p", options.top_p, 0, 1);
    require_range("min_p", options.min_p, 0, 1);
    require_range("repetition_penalty", options.repetition_penalty, 1e-3, 1e3);
    if (options.top_k < 0) fail(VOLTA_INVALID_ARGUMENT, "top_k is %d, it must be 0 or more", options.top_k);
}

std::uint64_t Sampler::bytes_for(std::int32_t vocabulary) {
    return 2 * sizeof(float) * static_cast<std::uint64_t>(vocabulary);
}

Sampler::Sampler(std::int32_t vocabulary, std::pmr::memory_resource* tensors)
    : vocabulary_(vocabulary),
      values_(tensors, static_cast<std::size_t>(vocabulary) * sizeof(float)),
      order_(tensors, static_cast<std::size_t>(vocabulary) * sizeof(std::int32_t)),
      x_(static_cast<float*>(values_.data())),
      ids_(static_cast<std::int32_t*>(order_.data())) {}

// Every distinct token of the sequence is penalised once.
void Sampler::penalise(const std::int32_t* history, std::size_t count) {
    const auto r = static_cast<float>(options_.repetition_penalty);
    if (r == 1.0f) return;
    std::fill(ids_, ids_ + vocabulary_, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t id = history[i];
        if (ids_[id]++ == 0) x_[id] = x_[id] > 0 ? x_[id] / r : x_[id] * r;
    }
}

// Exactly k stay: value descending, id ascending. The others become -Inf, so that their weight is +0.
void Sampler::keep_top_k() {
    const std::int32_t k = options_.top_k;
    if (k == 0 || k >= vocabulary_) return;
    for (std::int32_t i = 0; i < vocabulary_; ++i) ids_[i] = i;
    const auto better = [this](std::int32_t a, std::int32_t b) {
        return x_[a] > x_[b] || (x_[a] == x_[b] && a < b);
    };
    std::nth_element(ids_, ids_ + k, ids_ + vocabulary_, better);
    for (std::int32_t i = k; i < vocabulary_; ++i) x_[ids_[i]] = -INFINITY;
}

// Walks the weights in descending order, ids ascending among equals, and keeps up to and including the first
// whose running sum reaches p of the total. A heap gives the order, so that only its head is ever sorted.
void Sampler::keep_top_p() {
    if (options_.top_p == 0 || options_.top_p == 1) return;
    double total = 0;
    for (std::int32_t i = 0; i < vocabulary_; ++i) {
        total += static_cast<double>(x_[i]);
        ids_[i] = i;
    }
    const auto worse = [this](std::int32_t a, std::int32_t b) {
        return x_[a] < x_[b] || (x_[a] == x_[b] && a > b);
    };
    std::make_heap(ids_, ids_ + vocabulary_, worse);
    double sum = 0;
    std::int32_t* end = ids_ + vocabulary_;
    while (end != ids_) {
        std::pop_heap(ids_, end, worse);
        sum += static_cast<double>(x_[*--end]);
        if (sum >= options_.top_p * total) break;
    }
    for (std::int32_t* dropped = ids_; dropped != end; ++dropped) x_[*dropped] = 0.0f;
}

// Inverse transform over blocks of 256 weights: a fixed order of sums that a GPU can follow too.
std::int32_t Sampler::draw(std::uint32_t position) const {
    const auto block_sum = [this](std::int32_t first) {
        return row_sum<float>(std::min(kBlock, vocabulary_ - first),
                              [&](std::int64_t i) { return x_[first + i]; });
    };
    float total = 0;
    for (std::int32_t first = 0; first < vocabulary_; first += kBlock) total = total + block_sum(first);
    const RandomPlace place{options_.seed, 0, Purpose::sampling, 0};
    const std::uint32_t word = random_block(place, position, 0).word[0];
    ScalarMachine<float> machine;
    const float target = unit_uniform(machine, word) * total;

    float before = 0;
    std::int32_t last_kept = 0;
    for (std::int32_t first = 0; first < vocabulary_; first += kBlock) {
        const float after = before + block_sum(first);
        if (after > target) {
            float sum = before;
            for (std::int32_t id = first; id < std::min(first + kBlock, vocabulary_); ++id) {
                if (x_[id] > 0) last_kept = id;
                sum = sum + x_[id];
                if (sum > target) return id;
            }
            return last_kept;
        }
        for (std::int32_t id = first; id < std::min(first + kBlock, vocabulary_); ++id)
            if (x_[id] > 0) last_kept = id;
        before = after;
    }
    return last_kept;
}

std::int32_t Sampler::next(const SamplerOptions& options, const float* logits, const std::int32_t* history,
                           std::size_t history_count, std::uint32_t position) {
    options_ = options;
    std::memcpy(x_, logits, values_.bytes());
    for (std::int32_t i = 0; i < vocabulary_; ++i)
        if (x_[i] != x_[i])
            fail(VOLTA_NOT_FINITE, "the logit of token %d at position %u is NaN", i, position);
    penalise(history, history_count);
    std::int32_t best = 0;
    if (options_.temperature == 0) {
        for (std::int32_t i = 1; i < vocabulary_; ++i)
            if (x_[i] > x_[best]) best = i;  // ties take the lowest id
        return best;
    }
    const auto temperature = static_cast<float>(options_.temperature);
    for (std::int32_t i = 0; i < vocabulary_; ++i) x_[i] = x_[i] / temperature;
    keep_top_k();
    for (std::int32_t i = 1; i < vocabulary_; ++i)
        if (x_[i] > x_[best]) best = i;
    const float m = x_[best];
    if (!std::isfinite(m)) return best;  // all weight is on it: exp(Inf - Inf) has no value
    ScalarMachine<float> machine;
    for (std::int32_t i = 0; i < vocabulary_; ++i)
        x_[i] = x_[i] == -INFINITY ? 0.0f : exp(machine, x_[i] - m);
    const auto floor = static_cast<float>(options_.min_p);
    for (std::int32_t i = 0; i < vocabulary_; ++i)
        if (!(x_[i] >= floor)) x_[i] = 0.0f;
    keep_top_p();
    return draw(position);
}

}  // namespace volta
