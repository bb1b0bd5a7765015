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

constexpr std::int32_t kBlock = 256;     // weights whose sum is taken at once
constexpr std::int32_t kHeapShare = 32;  // top-k of a smaller share of the vocabulary goes by a heap

void require_range(const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high))
        fail(VOLTA_INVALID_ARGUMENT, "%s is %g, it must be in %g .. %g", name, value, low, high);
}

bool has_nan(const float* x, std::int32_t count) {
    int found = 0;
    for (std::int32_t i = 0; i < count; ++i) found |= x[i] != x[i];
    return found != 0;
}

// The lowest id of the largest value; none is NaN. By lanes first: one maximum would be a chain of `count`
// steps.
std::int32_t find_largest(const float* x, std::int32_t count) {
    constexpr std::int32_t kLanes = 32;
    float lanes[kLanes];
    std::fill_n(lanes, kLanes, -INFINITY);
    std::int32_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::int32_t lane = 0; lane < kLanes; ++lane)
            lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    float largest = *std::max_element(lanes, lanes + kLanes);
    for (; i < count; ++i) largest = std::max(largest, x[i]);
    return static_cast<std::int32_t>(std::find(x, x + count, largest) - x);
}

// Operands: the largest value and min-p, then the values, which become weights.
jit::Program make_weights(std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int numbers = b.input(jit::Access::single), values = b.input(jit::Access::full);
    const int weights = b.output(jit::Access::full);
    const jit::Real x = b.load(values), none = b.real(0);
    const jit::Real weight = b.select(b.equal(x, b.real(-INFINITY)), none, exp(b, x - b.load(numbers, 0)));
    b.store(weights, b.select(b.less_equal(b.load(numbers, 1), weight), weight, none));
    return b.finish();
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

Sampler::Sampler(std::int32_t vocabulary, std::pmr::memory_resource* tensors,
                 std::pmr::memory_resource* structures, const InitMachine& machine)
    : vocabulary_(vocabulary),
      values_(tensors, static_cast<std::size_t>(vocabulary) * sizeof(float)),
      order_(tensors, static_cast<std::size_t>(vocabulary) * sizeof(std::int32_t)),
      x_(static_cast<float*>(values_.data())),
      ids_(static_cast<std::int32_t*>(order_.data())),
      structures_(structures),
      machine_(machine) {}

void Sampler::prepare(const SamplerOptions& options) {
    const bool by_kernel =
        machine_.isa != Isa::scalar && machine_.arena != nullptr && machine_.arena->available();
    if (weigh_ || !by_kernel || static_cast<float>(options.temperature) == 0) return;
    jit::RowKernelPtr kernel =
        jit::compile(make_weights(structures_), machine_.isa, *machine_.arena, structures_);
    scratch_ = Buffer(structures_, kernel->scratch_bytes(vocabulary_));
    weigh_ = std::move(kernel);
}

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
    const auto better = [this](std::int32_t a, std::int32_t b) {
        return x_[a] > x_[b] || (x_[a] == x_[b] && a < b);
    };
    std::int32_t worst = 0;
    if (k < vocabulary_ / kHeapShare) {  // a heap of those that stay: most of the others are compared once
        for (std::int32_t i = 0; i < k; ++i) ids_[i] = i;
        std::make_heap(ids_, ids_ + k, better);
        for (std::int32_t i = k; i < vocabulary_; ++i) {
            if (!(x_[i] > x_[ids_[0]])) continue;
            std::pop_heap(ids_, ids_ + k, better);
            ids_[k - 1] = i;
            std::push_heap(ids_, ids_ + k, better);
        }
        worst = ids_[0];
    } else {
        for (std::int32_t i = 0; i < vocabulary_; ++i) ids_[i] = i;
        std::nth_element(ids_, ids_ + k - 1, ids_ + vocabulary_, better);
        worst = ids_[k - 1];
    }
    drop_behind(worst, -INFINITY);
}

// Whatever comes behind this id: value descending, id ascending.
void Sampler::drop_behind(std::int32_t last, float dropped) {
    const float least = x_[last];
    for (std::int32_t i = 0; i < vocabulary_; ++i)
        x_[i] = x_[i] > least || (x_[i] == least && i <= last) ? x_[i] : dropped;
}

// Values become weights; what is dropped, or below min-p, weighs +0.
void Sampler::weigh(float largest) {
    const auto floor = static_cast<float>(options_.min_p);
    if (weigh_) {
        float numbers[] = {largest, floor};
        void* operands[] = {numbers, x_, x_};
        const std::int64_t strides[] = {0, vocabulary_, vocabulary_};
        jit::RowArgs args = {};
        args.operands = operands;
        args.row_strides = strides;
        args.rows = 1;
        args.columns = vocabulary_;
        return jit::run_block(*weigh_, args, 0, 1, 0, vocabulary_, scratch_.data());
    }
    ScalarMachine<float> machine;
    for (std::int32_t i = 0; i < vocabulary_; ++i) {
        const float weight = x_[i] == -INFINITY ? 0.0f : exp(machine, x_[i] - largest);
        x_[i] = weight >= floor ? weight : 0.0f;
    }
}

// Walks the weights of the first ids in descending order, ids ascending among equals, to the first whose
// running sum is `enough`; -1: none. A heap gives the order, so that only its head is ever sorted.
std::int32_t Sampler::last_of_top_p(std::int32_t count, double enough) {
    const auto worse = [this](std::int32_t a, std::int32_t b) {
        return x_[a] < x_[b] || (x_[a] == x_[b] && a > b);
    };
    std::make_heap(ids_, ids_ + count, worse);
    double sum = 0;
    for (std::int32_t* end = ids_ + count; end != ids_;) {
        std::pop_heap(ids_, end, worse);
        sum += static_cast<double>(x_[*--end]);
        if (sum >= enough) return *end;
    }
    return -1;
}

void Sampler::keep_top_p() {
    if (options_.top_p == 0 || options_.top_p == 1) return;
    double total = 0;
    for (std::int32_t i = 0; i < vocabulary_; ++i) total += static_cast<double>(x_[i]);
    const double enough = options_.top_p * total;
    // All weights below this are half of what may be missing at most, so that the walk ends before them; if
    // rounding says otherwise, it takes all.
    const double least = (total - enough) / 2 / vocabulary_;
    std::int32_t count = 0;
    for (std::int32_t i = 0; i < vocabulary_; ++i) {
        ids_[count] = i;
        count += static_cast<double>(x_[i]) >= least;
    }
    std::int32_t last = last_of_top_p(count, enough);
    if (last < 0) {
        for (std::int32_t i = 0; i < vocabulary_; ++i) ids_[i] = i;
        last = last_of_top_p(vocabulary_, enough);
    }
    if (last >= 0) drop_behind(last, 0.0f);
}

// Inverse transform over blocks of 256 weights: a fixed order of sums that a GPU can follow too.
std::int32_t Sampler::draw(std::uint32_t position) {
    const auto block_sum = [this](std::int32_t first) {
        return row_sum<float>(std::min(kBlock, vocabulary_ - first),
                              [&](std::int64_t i) { return x_[first + i]; });
    };
    auto* const sums = static_cast<float*>(order_.data());  // of blocks
    float total = 0;
    for (std::int32_t first = 0; first < vocabulary_; first += kBlock)
        total = total + (sums[first / kBlock] = block_sum(first));
    const RandomPlace place{options_.seed, 0, Purpose::sampling, 0};
    const std::uint32_t word = random_block(place, position, 0).word[0];
    ScalarMachine<float> machine;
    const float target = unit_uniform(machine, word) * total;

    float before = 0;
    std::int32_t last_kept = 0;
    for (std::int32_t first = 0; first < vocabulary_; first += kBlock) {
        const float after = before + sums[first / kBlock];
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
    if (has_nan(logits, vocabulary_))
        fail(VOLTA_NOT_FINITE, "the logit of token %d at position %u is NaN",
             static_cast<int>(std::find_if(logits, logits + vocabulary_, [](float x) { return x != x; }) -
                              logits),
             position);
    const auto temperature = static_cast<float>(options_.temperature);
    if (temperature == 0 && options_.repetition_penalty == 1) return find_largest(logits, vocabulary_);
    std::memcpy(x_, logits, values_.bytes());
    penalise(history, history_count);
    if (temperature == 0) return find_largest(x_, vocabulary_);
    for (std::int32_t i = 0; i < vocabulary_; ++i) x_[i] = x_[i] / temperature;
    keep_top_k();
    const std::int32_t best = find_largest(x_, vocabulary_);
    if (!std::isfinite(x_[best])) return best;  // all weight is on it: exp(Inf - Inf) has no value
    weigh(x_[best]);
    keep_top_p();
    return draw(position);
}

}  // namespace volta
