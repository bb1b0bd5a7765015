// The search for a product's fastest choice (docs/matmul_tuning.md). It knows no clock: how long a choice
// takes is asked from a ProductTimer, which on a real machine runs the product and in tests is a simulated
// processor.
#pragma once

#include <memory_resource>

#include "engine/backend/cpu/product.h"

namespace volta::cpu {

// Times some contenders for one product, in any order, as often as asked.
class ProductTimer {
  public:
    virtual ~ProductTimer() = default;
    // Makes these choices ready to run; what was ready before is gone. They fit the product.
    virtual void open(const ProductChoice* contenders, int count) = 0;
    virtual double run(int contender) noexcept = 0;  // once; seconds
    virtual double elapsed() const noexcept = 0;     // seconds since the timer was made: the search's budget
};

struct TunerOptions {
    int runs = 5;               // timed runs per contender, of which the median counts
    int warmup = 1;             // runs before them
    double budget_seconds = 2;  // three fifths for the races, the rest for the play-off; what runs, ends
    // Asked after every race with the share of the budget that is used. False: stop.
    bool (*progress)(void* user, double share) = nullptr;
    void* user = nullptr;
};

struct TunerResult {
    ProductChoice choice;  // the default unless it was beaten by more than 2 %
    double default_seconds = 0, tuned_seconds = 0;
    double classic_seconds = 0;  // of classic_choice(): what a fixed choice of old would give
    int contenders = 0;          // how many different plans were timed
    bool cancelled = false;
};

// The fixed choice that tuners are measured against: tile 8x8, K_BLOCK 128, M_BLOCK 64, both operands packed.
// (4x4 where there is no machine code.)
ProductChoice classic_choice(const CompileContext& context);

// Searches from the default rules: tiles first, then one axis of the grid after the other, then pairs of axes
// that depend on each other, until nothing gains or the budget is used; then the play-off. What the cost
// model expects to be far slower, and what is resolved to a plan already timed, is not timed.
TunerResult tune_product(const ProductShape& shape, bool whole_rows, const CompileContext& context,
                         ProductTimer& timer, const TunerOptions& options);

}  // namespace volta::cpu
