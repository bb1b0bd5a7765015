// Which choice tuning found for which product, on processors.
#pragma once

#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/lower/problem_shapes.h"
#include "engine/backend/tuning/tuning_table.h"
#include "engine/base/cpu_info.h"

namespace volta::cpu {

// What the rows of an operand mean for the caches: bit 0, rows that lie multiples of 4 KiB apart and so meet
// in one set; bit 1, rows so long that each step of k is a new page.
std::uint8_t stride_class(std::int64_t leading_dimension);

// Between which of the bounds at which rules change the weights of a plan lie: 0, they stay in the last
// cache, to kMostCacheClass, all come from memory.
inline constexpr std::uint8_t kMostCacheClass = 3;
std::uint8_t cache_class(double cache_use);
double cache_use_of(std::uint8_t cache_class);  // one that is well inside

// The processor and the numeric contract are those of the table.
struct TuningKey : ProductKey {
    std::uint8_t a_stride = 0, b_stride = 0, c_stride = 0;  // stride classes
    EpilogueKind epilogue = EpilogueKind::none;
    Isa isa = Isa::scalar;
    std::int32_t threads = 1;
    bool prepacked_b = false, sums_b = false;
    std::uint8_t cache = 0;  // cache class
};
bool operator==(const TuningKey& x, const TuningKey& y);
TuningKey key_of(const ProductShape& shape, EpilogueKind epilogue, Isa isa, int threads,
                 const ProductUse& use = {});

using TuningEntry = TuningEntryOf<TuningKey, ProductChoice>;
// Throws INVALID_ARGUMENT naming the value: sizes from 1 to 2^40, times finite and positive, a choice within
// its limits that a product of this key can have.
void check(const TuningEntry& entry);

using TuningTable = TuningTableOf<TuningEntry>;

// What a table holds, as compiling asks for it.
class TunedProducts final : public Tuned {
  public:
    explicit TunedProducts(const TuningTable& table) : table_(table) {}
    ProductChoice find(const ProductShape& shape, EpilogueKind epilogue, const Machine& machine,
                       const Request& use) const override {
        return table_.find(key_of(shape, epilogue, machine.isa, machine.threads, use));
    }

  private:
    const TuningTable& table_;
};

}  // namespace volta::cpu
