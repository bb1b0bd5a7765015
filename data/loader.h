// A loader: batches of a data set in their order, computed ahead on threads of its own (docs/data.md,
// "Loaders").
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "data/data_set.h"
#include "data/transform.h"
#include "engine/base/fork_mark.h"

namespace volta::data {

struct Position {
    std::uint64_t epoch, batch;
};

class Loader final {
  public:
    Loader(const DataSetRef& data, const volta_loader_options& options,
           const volta_transform_options& transform);
    ~Loader();
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    volta_batch next();  // struct_size is the caller's business
    Position position() const noexcept { return {head_ / batches_, head_ % batches_}; }
    void seek(const Position& to);

  private:
    // What became of one sample of a batch.
    struct Outcome {
        volta_status status;  // not OK: the batch fails
        bool is_skipped;      // the sample that the order has is damaged: text says how
        bool is_left_out;     // and nothing stands in for it
        char text[512];
    };
    // A batch being computed, ready or lent. Guarded by mutex_, but for what its rows' workers write.
    struct Slot {
        Slot(Loader& loader, std::pmr::memory_resource* heap, std::pmr::memory_resource* tensors);
        std::uint64_t number = 0;
        std::uint32_t count = 0, claimed = 0, done = 0;  // rows
        bool is_ready = false, is_failed = false;
        std::uint32_t kept = 0;                 // rows, once it is ready
        std::uint64_t skipped = 0;              // once it is ready
        Buffer pixels, weights;                 // [batch, channels, height, width]; [batch, classes]
        std::pmr::vector<std::uint32_t> order;  // the samples that the epoch's order has
        std::pmr::vector<std::uint64_t> samples;
        std::pmr::vector<std::int32_t> labels;
        std::pmr::vector<Outcome> outcomes;
        float* row(std::size_t i, std::size_t elements) noexcept {
            return static_cast<float*>(pixels.data()) + i * elements;
        }
    };
    struct Claim {
        Slot* slot;
        std::uint32_t row;
    };
    struct Thread {
        Thread(Loader& owner, std::pmr::memory_resource* heap) : loader(owner), scratch(heap) {}
        Loader& loader;
        Scratch scratch;
    };
    using Lock = std::unique_lock<std::mutex>;

    Slot& slot_of(std::uint64_t number) noexcept {
        return slots_[static_cast<std::size_t>(number % slots_.size())];
    }
    std::uint32_t epoch_of(std::uint64_t number) const noexcept {
        return static_cast<std::uint32_t>(number / batches_);
    }
    void start_threads(std::uint32_t count);
    void stop_threads() noexcept;
    static void* thread_main(void* thread);
    void work(Scratch& scratch) noexcept;
    bool claim(Claim* claim, std::uint64_t limit) noexcept;  // of batches before `limit`
    void open(std::uint64_t number) noexcept;
    void reset(Slot& slot) noexcept;
    void compute(Lock& lock, const Claim& claim, Scratch& scratch) noexcept;
    void compute_row(Slot& slot, std::uint32_t row, Scratch& scratch) noexcept;
    bool try_sample(Slot& slot, std::uint32_t row, std::uint32_t sample, Scratch& scratch,
                    Outcome& outcome) noexcept;
    void complete(Slot& slot) noexcept;
    void drop_left_out(Slot& slot) noexcept;
    void mix(Slot& slot) noexcept;
    void order_epoch(std::uint32_t epoch) noexcept;
    void restart_at(std::uint64_t number) noexcept;
    void become_child() noexcept;

    DataSetRef data_;
    Transform transform_;
    const std::uint64_t seed_;
    const std::uint32_t samples_, batch_;  // samples of an epoch and of a batch
    const bool is_shuffled_, is_full_, skips_, evaluates_;
    const std::uint64_t batches_;  // of an epoch
    const std::uint64_t queue_;
    std::pmr::memory_resource* const heap_;

    std::pmr::vector<std::uint32_t> order_;  // of order_epoch_
    std::uint64_t ordered_epoch_ = UINT64_MAX;
    std::pmr::vector<Slot>
        slots_;  // batch n is in slot n % size; one more than the queue: the one that is lent
    std::pmr::vector<Thread> threads_;
    std::pmr::vector<unsigned long> handles_;  // pthread_t of those that run
    Scratch own_;                              // of the caller of next()

    std::mutex mutex_;
    std::condition_variable work_, ready_, idle_;
    std::uint64_t head_ = 0;      // the batch that next() gives next
    std::uint64_t opened_ = 0;    // batches before this one have their slots
    std::uint64_t claiming_ = 0;  // batches before this one have no row that nobody computes
    std::uint32_t in_flight_ = 0;
    bool is_paused_ = false, stops_ = false, is_child_ = false;
    ForkMark mark_;
};

}  // namespace volta::data
