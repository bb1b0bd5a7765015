// Rows of a table by id, and the gradient of that: every id's rows added in ascending order of position. Ids
// are inside their tables: a verified plan traces where they come from, and the host's are checked before a
// run.
#include <algorithm>
#include <cstring>

#include "engine/backend/cpu/step.h"
#include "engine/numerics/stored_weights.h"

namespace volta::cpu {
namespace {

constexpr double kOperationsPerElement = 16;  // see workers_for: memory is what it waits for
constexpr std::int64_t kColumnGrain = 16;     // floats: a cache line

class GatherAction final : public Action {
  public:
    explicit GatherAction(const StepCompiler& step)
        : table_(step.input(0)),
          ids_(step.input(1)),
          to_(step.output()),
          width_(step.input_shape(0)[1]),
          count_(width_ == 0 ? 0 : step.input_shape(1).elements()) {
        workers_ = step.workers_for(static_cast<double>(count_ * width_) * kOperationsPerElement);
    }
    void run(const StepCall& call) const noexcept override {
        const float* table = call.floats(table_);
        const std::int32_t* ids = call.integers(ids_);
        float* out = call.floats(to_);
        const std::size_t bytes = static_cast<std::size_t>(width_) * sizeof(float);
        call.pool.run(workers_, [&](int worker, int count) noexcept {
            const Range mine = part_of(count_, 1, worker, count);
            for (std::int64_t i = mine.begin; i < mine.end; ++i)
                std::memcpy(out + i * width_, table + ids[i] * width_, bytes);
        });
    }
    const char* kernel_name() const noexcept override { return "gather"; }

  private:
    Ref table_, ids_, to_;
    std::int64_t width_, count_;
    int workers_;
};

// The same from a stored table: each element becomes f32.
class StoredGatherAction final : public Action {
  public:
    explicit StoredGatherAction(const StepCompiler& step)
        : table_(step.input(0)),
          ids_(step.input(1)),
          to_(step.output()),
          dtype_(step.input_value(0).dtype),
          rows_(step.input_shape(0)[0]),
          width_(step.input_shape(0)[1]),
          count_(width_ == 0 ? 0 : step.input_shape(1).elements()) {
        workers_ = step.workers_for(static_cast<double>(count_ * width_) * kOperationsPerElement);
    }
    void run(const StepCall& call) const noexcept override {
        const StoredWeights table = {dtype_, static_cast<const unsigned char*>(call.at(table_)), rows_,
                                     width_};
        const std::int32_t* ids = call.integers(ids_);
        float* out = call.floats(to_);
        call.pool.run(workers_, [&](int worker, int count) noexcept {
            const Range mine = part_of(count_, 1, worker, count);
            define::stored_embedding(mine.end - mine.begin, ids + mine.begin, table,
                                     out + mine.begin * width_);
        });
    }
    const char* kernel_name() const noexcept override { return "gather stored"; }

  private:
    Ref table_, ids_, to_;
    DType dtype_;
    std::int64_t rows_, width_, count_;
    int workers_;
};

// Positions by id, without sorting: a list per table row, built from the last position to the first, so that
// walking it ascends. Threads share the columns: every element of the table is one chain, whoever computes
// it.
class EmbeddingGradientAction final : public Action {
  public:
    explicit EmbeddingGradientAction(StepCompiler& step)
        : ids_(step.input(0)),
          gradient_(step.input(1)),
          to_(step.output()),
          rows_(step.output_shape()[0]),
          width_(step.output_shape()[1]),
          count_(step.input_shape(0).elements()),
          has_base_(step.input_count() == 3) {
        if (has_base_) base_ = step.input(2);
        first_ = step.temporary(static_cast<std::size_t>(rows_) * sizeof(std::int32_t));
        next_ = step.temporary(static_cast<std::size_t>(count_) * sizeof(std::int32_t));
        const double elements = static_cast<double>(count_ + rows_) * static_cast<double>(width_);
        workers_ = step.workers_for(elements * kOperationsPerElement);
    }

    void run(const StepCall& call) const noexcept override {
        list_positions(call);
        call.pool.run(workers_, [&](int worker, int count) noexcept {
            const Range columns = part_of(width_, kColumnGrain, worker, count);
            for (std::int64_t row = 0; row < rows_; ++row) add_row(call, row, columns);
        });
    }
    const char* kernel_name() const noexcept override { return "embedding gradient"; }

  private:
    static constexpr std::int32_t kNone = -1;

    void list_positions(const StepCall& call) const noexcept {
        const std::int32_t* ids = call.integers(ids_);
        std::int32_t *first = call.integers(first_), *next = call.integers(next_);
        std::fill_n(first, rows_, kNone);
        for (std::int64_t i = count_; i-- > 0;) {
            next[i] = first[ids[i]];
            first[ids[i]] = static_cast<std::int32_t>(i);
        }
    }

    // +0, then + the gradient of every position, ascending; then base + that, on rows that have positions.
    void add_row(const StepCall& call, std::int64_t row, Range columns) const noexcept {
        constexpr std::int64_t kBlock = 256;
        const std::int32_t* next = call.integers(next_);
        const std::int32_t start = call.integers(first_)[row];
        for (std::int64_t column = columns.begin; column < columns.end; column += kBlock) {
            const std::int64_t count = std::min<std::int64_t>(kBlock, columns.end - column);
            float* out = call.floats(to_) + row * width_ + column;
            const float* base = has_base_ ? call.floats(base_) + row * width_ + column : nullptr;
            float sum[kBlock] = {};
            for (std::int32_t i = start; i != kNone; i = next[i]) {
                const float* gradient = call.floats(gradient_) + i * width_ + column;
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

    Ref ids_, gradient_, base_, to_, first_, next_;
    std::int64_t rows_, width_, count_;
    bool has_base_;
    int workers_;
};

}  // namespace

void lower_gather(StepCompiler& step) {
    if (is_stored(step.input_value(0).dtype)) {
        step.add<StoredGatherAction>(step);
    } else {
        step.add<GatherAction>(step);
    }
}

void lower_embedding_gradient(StepCompiler& step) { step.add<EmbeddingGradientAction>(step); }

}  // namespace volta::cpu
