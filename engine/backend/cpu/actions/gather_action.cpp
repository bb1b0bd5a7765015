#include "engine/backend/cpu/actions/gather_action.h"

#include <algorithm>
#include <cstring>

#include "engine/numerics/stored_weights.h"

namespace volta::cpu {
namespace {

constexpr double kOperationsPerElement = 16;  // see workers_for: memory is what it waits for
constexpr std::int64_t kColumnGrain = 16;     // floats: a cache line
constexpr std::int32_t kNone = -1;            // the end of a list of positions

std::int64_t count_of(const GatherStep& work) { return work.width == 0 ? 0 : work.count; }

int workers_of(const CpuStep& step, std::int64_t rows, std::int64_t width) {
    return step.workers_for(static_cast<double>(rows) * static_cast<double>(width) * kOperationsPerElement);
}

}  // namespace

GatherAction::GatherAction(const CpuStep& step, const GatherStep& work)
    : work_(work), count_(count_of(work)), workers_(workers_of(step, count_, work.width)) {}

void GatherAction::run(const StepCall& call) const noexcept {
    const float* table = call.floats(work_.table);
    const std::int32_t* ids = call.integers(work_.ids);
    float* out = call.floats(work_.y);
    const std::int64_t width = work_.width;
    const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
    call.pool.run(workers_, [&](int worker, int count) noexcept {
        const Range mine = part_of(count_, 1, worker, count);
        for (std::int64_t i = mine.begin; i < mine.end; ++i)
            std::memcpy(out + i * width, table + ids[i] * width, bytes);
    });
}

StoredGatherAction::StoredGatherAction(const CpuStep& step, const GatherStep& work)
    : work_(work), count_(count_of(work)), workers_(workers_of(step, count_, work.width)) {}

void StoredGatherAction::run(const StepCall& call) const noexcept {
    const StoredWeights table = {work_.dtype, static_cast<const unsigned char*>(call.at(work_.table)),
                                 work_.rows, work_.width};
    const std::int32_t* ids = call.integers(work_.ids);
    float* out = call.floats(work_.y);
    call.pool.run(workers_, [&](int worker, int count) noexcept {
        const Range mine = part_of(count_, 1, worker, count);
        define::stored_embedding(mine.end - mine.begin, ids + mine.begin, table,
                                 out + mine.begin * work_.width);
    });
}

EmbeddingGradientAction::EmbeddingGradientAction(CpuStep& step, const EmbeddingGradientStep& work)
    : work_(work),
      first_(step.temporary(static_cast<std::size_t>(work.rows) * sizeof(std::int32_t))),
      next_(step.temporary(static_cast<std::size_t>(work.count) * sizeof(std::int32_t))),
      workers_(workers_of(step, work.count + work.rows, work.width)) {}

void EmbeddingGradientAction::run(const StepCall& call) const noexcept {
    list_positions(call);
    call.pool.run(workers_, [&](int worker, int count) noexcept {
        const Range columns = part_of(work_.width, kColumnGrain, worker, count);
        for (std::int64_t row = 0; row < work_.rows; ++row) add_row(call, row, columns);
    });
}

void EmbeddingGradientAction::list_positions(const StepCall& call) const noexcept {
    const std::int32_t* ids = call.integers(work_.ids);
    std::int32_t *first = call.integers(first_), *next = call.integers(next_);
    std::fill_n(first, work_.rows, kNone);
    for (std::int64_t i = work_.count; i-- > 0;) {
        next[i] = first[ids[i]];
        first[ids[i]] = static_cast<std::int32_t>(i);
    }
}

// +0, then + the gradient of every position, ascending; then base + that, on rows that have positions.
// Most rows of a large table have none: where base is in place of the result, they are not even read.
void EmbeddingGradientAction::add_row(const StepCall& call, std::int64_t row, Range columns) const noexcept {
    constexpr std::int64_t kBlock = 256;
    const std::int32_t* next = call.integers(next_);
    const std::int32_t start = call.integers(first_)[row];
    if (start == kNone && work_.has_base && call.at(work_.base) == call.at(work_.y)) return;
    for (std::int64_t column = columns.begin; column < columns.end; column += kBlock) {
        const std::int64_t count = std::min<std::int64_t>(kBlock, columns.end - column);
        float* out = call.floats(work_.y) + row * work_.width + column;
        const float* base = work_.has_base ? call.floats(work_.base) + row * work_.width + column : nullptr;
        float sum[kBlock] = {};
        for (std::int32_t i = start; i != kNone; i = next[i]) {
            const float* gradient = call.floats(work_.gradient) + i * work_.width + column;
            for (std::int64_t j = 0; j < count; ++j) sum[j] = sum[j] + gradient[j];
        }
        if (base == nullptr)
            std::memcpy(out, sum, static_cast<std::size_t>(count) * sizeof(float));
        else if (start == kNone)
            std::memmove(out, base, static_cast<std::size_t>(count) * sizeof(float));
        else
            for (std::int64_t j = 0; j < count; ++j) out[j] = base[j] + sum[j];
    }
}

}  // namespace volta::cpu
