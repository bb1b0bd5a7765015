// The search for a product's fastest choice on a GPU: there are five ways at most, and all are timed.
#pragma once

#include "engine/backend/cuda/product.h"
#include "engine/backend/tuning/timed_runs.h"

namespace volta::cuda {

using TunerResult = TunerResultOf<ProductChoice>;

// The ways through a product that differ on a device of so many multiprocessors. The first is the default
// rule.
struct Contenders {
    static constexpr int kMost = 6;
    ProductChoice choices[kMost];
    int count = 0;
    // Which of them is the fixed choice that tuning is measured against: tiles of 64, nothing shared.
    int classic = 0;
};
Contenders contenders_of(const ProductShape& shape, int multiprocessors);

// The runs of all are in turns, and who is slow leaves; the winner then meets the default once more, which
// stays unless it is beaten by more than 2 %.
TunerResult tune_product(const Contenders& contenders, ContenderTimer& timer, const TunerOptions& options);

}  // namespace volta::cuda
