#include "engine/backend/cpu/tuning_table.h"

#include "engine/backend/cpu/gemm_kernels.h"
#include "engine/base/error.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
constexpr std::int64_t kPageFloats = 1024;
constexpr std::int64_t kWideRow = 8192;
constexpr double kMostSeconds = 1e6;

void check_extent(const char* name, std::int64_t extent) {
    require(extent >= 1 && extent <= kMostExtent, "%s is %lld, it must be in 1 .. 2^40", name,
            static_cast<long long>(extent));
}

void check_seconds(const char* name, double seconds) {
    require(seconds > 0 && seconds <= kMostSeconds, "%s is %g, it must be in (0, 1e6]", name, seconds);
}

}  // namespace

std::uint8_t stride_class(std::int64_t leading_dimension) {
    const int meets = leading_dimension % kPageFloats == 0, wide = leading_dimension >= kWideRow;
    return static_cast<std::uint8_t>(meets + 2 * wide);
}

bool operator==(const TuningKey& x, const TuningKey& y) {
    return x.batch == y.batch && x.m == y.m && x.n == y.n && x.k == y.k && x.a_transposed == y.a_transposed &&
           x.b_transposed == y.b_transposed && x.a_stride == y.a_stride && x.b_stride == y.b_stride &&
           x.c_stride == y.c_stride && x.epilogue == y.epilogue && x.isa == y.isa && x.threads == y.threads;
}

TuningKey key_of(const ProductShape& shape, EpilogueKind epilogue, Isa isa, int threads) {
    TuningKey key;
    key.batch = shape.batch;
    key.m = shape.m;
    key.n = shape.n;
    key.k = shape.k;
    key.a_transposed = shape.a_transposed;
    key.b_transposed = shape.b_transposed;
    key.a_stride = stride_class(shape.lda);
    key.b_stride = stride_class(shape.ldb);
    key.c_stride = stride_class(shape.ldc);
    key.epilogue = epilogue;
    key.isa = isa;
    key.threads = threads;
    return key;
}

void check(const TuningEntry& entry) {
    const TuningKey& key = entry.key;
    check_extent("batch", key.batch);
    check_extent("m", key.m);
    check_extent("n", key.n);
    check_extent("k", key.k);
    require(key.a_stride <= 3 && key.b_stride <= 3 && key.c_stride <= 3,
            "a stride class is %d, %d or %d, it must be in 0 .. 3", key.a_stride, key.b_stride, key.c_stride);
    require(key.epilogue <= EpilogueKind::rows, "epilogue is %d, it must be in 0 .. 2",
            static_cast<int>(key.epilogue));
    require(key.isa >= Isa::scalar && key.isa <= Isa::avx512, "isa is %d, it must be in 1 .. 3",
            static_cast<int>(key.isa));
    require(key.threads >= 1 && key.threads <= 256, "threads is %d, it must be in 1 .. 256", key.threads);
    check(entry.choice);
    if (entry.choice.tile > 0) {
        const GemmTile& tile = gemm_tiles().rows[entry.choice.tile - 1];
        require(tile.isa <= key.isa, "%s is no tile of %s", tile.name, isa_name(key.isa));
    }
    require(entry.choice.pack_b != Toggle::no || !key.b_transposed,
            "pack_b=no: B is stored transposed, which no kernel reads in place");
    check_seconds("default_seconds", entry.default_seconds);
    check_seconds("tuned_seconds", entry.tuned_seconds);
}

ProductChoice TuningTable::find(const TuningKey& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const TuningEntry& entry : entries_)
        if (entry.key == key) return entry.choice;
    return {};
}

void TuningTable::set(const TuningEntry& entry) {
    check(entry);
    const std::lock_guard<std::mutex> lock(mutex_);
    ++version_;
    for (TuningEntry& known : entries_) {
        if (!(known.key == entry.key)) continue;
        known = entry;
        return;
    }
    if (entries_.size() >= kMostTuningEntries) entries_.erase(entries_.begin());
    entries_.push_back(entry);
}

std::pmr::vector<TuningEntry> TuningTable::entries(std::pmr::memory_resource* heap) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::pmr::vector<TuningEntry>(entries_.begin(), entries_.end(), heap);
}

std::uint64_t TuningTable::version() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return version_;
}

}  // namespace volta::cpu
