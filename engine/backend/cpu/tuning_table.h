// Which choice tuning found for which product: a context's memory of it. Thread-safe.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "engine/backend/cpu/product.h"

namespace volta::cpu {

// What the rows of an operand mean for the caches: bit 0, rows that lie multiples of 4 KiB apart and so meet
// in one set; bit 1, rows so long that each step of k is a new page.
std::uint8_t stride_class(std::int64_t leading_dimension);

// Products with equal keys are tuned once. The processor and the numeric contract are those of the table.
struct TuningKey {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    bool a_transposed = false, b_transposed = false;
    std::uint8_t a_stride = 0, b_stride = 0, c_stride = 0;  // stride classes
    EpilogueKind epilogue = EpilogueKind::none;
    Isa isa = Isa::scalar;
    std::int32_t threads = 1;
};
bool operator==(const TuningKey& x, const TuningKey& y);
TuningKey key_of(const ProductShape& shape, EpilogueKind epilogue, Isa isa, int threads);

struct TuningEntry {
    TuningKey key;
    ProductChoice choice;
    double default_seconds = 0, tuned_seconds = 0;  // medians of the play-off
};
// Throws INVALID_ARGUMENT naming the value: sizes from 1 to 2^40, times finite and positive, a choice within
// its limits that a product of this key can have.
void check(const TuningEntry& entry);

inline constexpr std::size_t kMostTuningEntries = 4096;

class TuningTable final {
  public:
    explicit TuningTable(std::pmr::memory_resource* heap) : entries_(heap) {}

    // What to run for a product: the entry's choice, or the default where there is none.
    ProductChoice find(const TuningKey& key) const;
    // Replaces the entry of the same key. A full table forgets its oldest entry.
    void set(const TuningEntry& entry);
    std::pmr::vector<TuningEntry> entries(std::pmr::memory_resource* heap) const;
    // Grows with every set(): programs compiled before are older than the table.
    std::uint64_t version() const;

  private:
    mutable std::mutex mutex_;
    std::pmr::vector<TuningEntry> entries_;
    std::uint64_t version_ = 0;
};

}  // namespace volta::cpu
