// Which choice tuning found for which product: a context's memory of it. What a choice is, and what else of a
// product decides about it, is each backend's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "engine/backend/lower/problem_shapes.h"

namespace volta {

inline constexpr std::size_t kMostTuningEntries = 4096;

// What keys of all backends have. Products with equal keys are tuned once.
struct ProductKey {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    bool a_transposed = false, b_transposed = false;
};
inline bool operator==(const ProductKey& x, const ProductKey& y) {
    return x.batch == y.batch && x.m == y.m && x.n == y.n && x.k == y.k && x.a_transposed == y.a_transposed &&
           x.b_transposed == y.b_transposed;
}

ProductKey product_key(const ProductShape& shape);

// `Key` derives from ProductKey; a `Choice` that is made without arguments is the default rules. In the
// namespace of both: check(entry), which throws INVALID_ARGUMENT naming the value that cannot be.
template <class KeyType, class ChoiceType>
struct TuningEntryOf {
    using Key = KeyType;
    using Choice = ChoiceType;
    Key key;
    Choice choice;
    double default_seconds = 0, tuned_seconds = 0;  // medians of the play-off
};

// What check() of every backend asks: sizes from 1 to 2^40, times finite and positive.
void check_product(const ProductKey& key, double default_seconds, double tuned_seconds);

// Thread-safe.
template <class Entry>
class TuningTableOf final {
  public:
    using Key = typename Entry::Key;
    using Choice = typename Entry::Choice;
    explicit TuningTableOf(std::pmr::memory_resource* heap) : entries_(heap) {}

    // What to run for a product: the entry's choice, or the default where there is none.
    Choice find(const Key& key) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const Entry& entry : entries_)
            if (entry.key == key) return entry.choice;
        return {};
    }
    // Replaces the entry of the same key. A full table forgets its oldest entry.
    void set(const Entry& entry) {
        check(entry);
        const std::lock_guard<std::mutex> lock(mutex_);
        ++version_;
        for (Entry& known : entries_) {
            if (!(known.key == entry.key)) continue;
            known = entry;
            return;
        }
        if (entries_.size() >= kMostTuningEntries) entries_.erase(entries_.begin());
        entries_.push_back(entry);
    }
    std::pmr::vector<Entry> entries(std::pmr::memory_resource* heap) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return std::pmr::vector<Entry>(entries_.begin(), entries_.end(), heap);
    }
    // Grows with every set(): programs compiled before are older than the table.
    std::uint64_t version() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return version_;
    }

  private:
    mutable std::mutex mutex_;
    std::pmr::vector<Entry> entries_;
    std::uint64_t version_ = 0;
};

}  // namespace volta
