#include "engine/backend/cpu/tuning/tuning_table.h"

#include "engine/backend/cpu/gemm/tiles.h"
#include "engine/base/error.h"

namespace volta::cpu {
namespace {

// As the default row of kMachines has them: keys of files do not change with it.
constexpr std::int64_t kPageFloats = 1024, kWideRow = 8192;
// Of the LLC: what the rules ask of tiles, of one row's axpy form and of prepacked rows.
constexpr Machine kAnyMachine = Machine();
constexpr double kCacheBounds[kMostCacheClass] = {kAnyMachine.dram_use, kAnyMachine.dram_use_of_row,
                                                  kAnyMachine.dram_use_of_panels};

}  // namespace

std::uint8_t stride_class(std::int64_t leading_dimension) {
    const int meets = leading_dimension % kPageFloats == 0, wide = leading_dimension >= kWideRow;
    return static_cast<std::uint8_t>(meets + 2 * wide);
}

bool operator==(const TuningKey& x, const TuningKey& y) {
    return static_cast<const ProductKey&>(x) == y && x.a_stride == y.a_stride && x.b_stride == y.b_stride &&
           x.c_stride == y.c_stride && x.epilogue == y.epilogue && x.isa == y.isa && x.threads == y.threads &&
           x.prepacked_b == y.prepacked_b && x.sums_b == y.sums_b && x.cache == y.cache;
}

std::uint8_t cache_class(double cache_use) {
    std::uint8_t passed = 0;
    for (const double bound : kCacheBounds) passed = static_cast<std::uint8_t>(passed + (cache_use > bound));
    return passed;
}

double cache_use_of(std::uint8_t cache_class) {
    constexpr double kInside[] = {0, 0.65, 1, 1.5};
    return kInside[cache_class];
}

TuningKey key_of(const ProductShape& shape, EpilogueKind epilogue, Isa isa, int threads,
                 const ProductUse& use) {
    TuningKey key{product_key(shape)};
    key.a_stride = stride_class(shape.lda);
    key.b_stride = stride_class(shape.ldb);
    key.c_stride = stride_class(shape.ldc);
    key.epilogue = epilogue;
    key.isa = isa;
    key.threads = threads;
    key.prepacked_b = use.prepacked;
    key.sums_b = use.sums_b;
    key.cache = cache_class(use.cache_use);
    return key;
}

void check(const TuningEntry& entry) {
    const TuningKey& key = entry.key;
    check_product(key, entry.default_seconds, entry.tuned_seconds);
    require(key.a_stride <= 3 && key.b_stride <= 3 && key.c_stride <= 3,
            "a stride class is %d, %d or %d, it must be in 0 .. 3", key.a_stride, key.b_stride, key.c_stride);
    require(key.epilogue <= EpilogueKind::rows, "epilogue is %d, it must be in 0 .. 2",
            static_cast<int>(key.epilogue));
    require(find_isa(key.isa) != nullptr, "isa is %d, it must be in 1 .. 3", static_cast<int>(key.isa));
    require(key.threads >= 1 && key.threads <= 256, "threads is %d, it must be in 1 .. 256", key.threads);
    require(key.cache <= kMostCacheClass, "cache is %d, it must be in 0 .. %d", key.cache, kMostCacheClass);
    check(entry.choice);
    if (entry.choice.tile > 0) {
        const GemmTile& tile = gemm_tiles().rows[entry.choice.tile - 1];
        require(includes(key.isa, tile.isa), "%s is no tile of %s", tile.name, isa_name(key.isa));
    }
    require(entry.choice.pack_b != Toggle::no || !key.b_transposed,
            "pack_b=no: B is stored transposed, which no kernel reads in place");
}

}  // namespace volta::cpu
