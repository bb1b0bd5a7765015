// What a product's blocks are, as tests ask for it.
#pragma once

#include "engine/backend/cpu/gemm/partition.h"
#include "engine/backend/cpu/gemm/product.h"

namespace volta::test {
using namespace volta::cpu;

// A blocked schedule with the cuts of its threads.
struct Planned : Schedule {
    ThreadTiles tiles;
    std::int64_t parts() const { return tiles.count(); }
    std::int64_t column_begin(std::int64_t j) const { return tiles.column_begin(j); }
    std::int64_t most_rows() const { return tiles.most_rows(); }
    bool carries() const { return carries_accumulators(tiles.shape.k); }
    PlanKey key() const { return key_of(tiles.shape, *this); }
};
inline Planned plan_product(const ProductShape& shape, const CompileContext& context,
                            const ProductChoice& choice) {
    const cpu::Problem problem = problem_of(shape, EpilogueKind::none, context.request);
    Planned planned{blocked_schedule(problem, context, choice), {}};
    planned.tiles = ThreadTiles(problem.shape, planned);
    return planned;
}

}  // namespace volta::test
