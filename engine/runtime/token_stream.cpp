#include "engine/runtime/token_stream.h"

#include <atomic>
#include <cstring>

#include "engine/base/error.h"
#include "engine/numerics/random.h"

namespace volta {

namespace {

std::uint64_t most_samples(std::size_t count, std::int64_t time) {
    return (count - 1) / static_cast<std::uint64_t>(time);
}

}  // namespace

std::uint64_t TokenStream::bytes_for(std::size_t count, std::int64_t time) {
    return sizeof(std::int32_t) * (count + most_samples(count, time));
}

TokenStream::TokenStream(const std::int32_t* tokens, std::size_t count, std::int64_t time,
                         std::int32_t vocabulary, std::uint64_t seed, std::pmr::memory_resource* tensors)
    : time_(time), count_(count), seed_(seed) {
    require(tokens != nullptr, "tokens is NULL");
    if (count < static_cast<std::uint64_t>(time) + 1)
        fail(VOLTA_INVALID_ARGUMENT, "the text has %zu tokens, one window of %lld needs %lld", count,
             static_cast<long long>(time), static_cast<long long>(time) + 1);
    if (count > 0x7fffffffu)
        fail(VOLTA_INVALID_ARGUMENT, "the text has %zu tokens, at most 2147483647 are supported", count);
    for (std::size_t i = 0; i < count; ++i)
        if (tokens[i] < 0 || tokens[i] >= vocabulary)
            fail(VOLTA_INVALID_ARGUMENT, "token %zu is %d, outside the vocabulary of %d", i, tokens[i],
                 vocabulary);
    tokens_ = Buffer(tensors, count * sizeof(std::int32_t));
    order_ = Buffer(tensors, most_samples(count, time) * sizeof(std::int32_t));
    std::memcpy(tokens_.data(), tokens, tokens_.bytes());
    start_epoch(0);
}

void TokenStream::start_epoch(std::uint64_t epoch) {
    if (epoch >> 32)
        fail(VOLTA_INVALID_ARGUMENT, "epoch %llu is beyond 2^32", static_cast<unsigned long long>(epoch));
    const auto step = static_cast<std::uint32_t>(epoch);
    const std::uint64_t slack = count_ - static_cast<std::uint64_t>(time_);  // offsets that leave one sample
    const std::uint64_t offsets =
        slack < static_cast<std::uint64_t>(time_) ? slack : static_cast<std::uint64_t>(time_);
    // Row 1 of the purpose draws the offset, row 0 the shuffle.
    const RandomPlace place{seed_, step, Purpose::data_order, 0};
    // No samples until the epoch is whole: a child that another thread forks on the way begins it anew.
    cursor_ = samples_ = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    offset_ = random_below(place, 0, 1, offsets);
    const std::uint64_t samples = (count_ - 1 - offset_) / static_cast<std::uint64_t>(time_);
    auto* order = static_cast<std::int32_t*>(order_.data());
    for (std::uint64_t i = 0; i < samples; ++i) order[i] = static_cast<std::int32_t>(i);
    shuffle(place, order, samples);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    epoch_ = epoch;
    samples_ = samples;
}

void TokenStream::set(std::uint64_t epoch, std::uint64_t cursor) {
    if (epoch != epoch_) start_epoch(epoch);
    if (cursor > samples_)
        fail(VOLTA_INVALID_ARGUMENT,
             "the data cursor %llu is beyond the %llu samples of epoch %llu: is this the same text",
             static_cast<unsigned long long>(cursor), static_cast<unsigned long long>(samples_),
             static_cast<unsigned long long>(epoch));
    cursor_ = cursor;
}

void TokenStream::next(std::int64_t rows, std::int32_t* inputs, std::int32_t* targets) {
    const auto* tokens = static_cast<const std::int32_t*>(tokens_.data());
    const auto* order = static_cast<const std::int32_t*>(order_.data());
    const auto time = static_cast<std::size_t>(time_);
    for (std::int64_t row = 0; row < rows; ++row) {
        if (cursor_ == samples_) start_epoch(epoch_ + 1);
        const std::int32_t* sample = tokens + offset_ + static_cast<std::size_t>(order[cursor_++]) * time;
        std::memcpy(inputs + static_cast<std::size_t>(row) * time, sample, time * sizeof(std::int32_t));
        std::memcpy(targets + static_cast<std::size_t>(row) * time, sample + 1, time * sizeof(std::int32_t));
    }
}

void TokenStream::skip(std::int64_t rows) {
    for (std::int64_t row = 0; row < rows; ++row) {
        if (cursor_ == samples_) start_epoch(epoch_ + 1);
        ++cursor_;
    }
}

}  // namespace volta
