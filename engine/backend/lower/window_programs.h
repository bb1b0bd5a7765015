// Row programs over the taps of windows: operand i is tap i's view of a picture. What does not fit into the
// operands of one program goes on in the next, from what that has left in its output.
#pragma once

#include <memory_resource>

#include "jitgen/program.h"

namespace volta {

// Operands: `taps` views, then the output; unless `first`, the output goes on from what it holds.
jit::Program make_window_maximum(int taps, bool first, std::pmr::memory_resource* heap);
jit::Program make_window_sum(int taps, bool first, std::pmr::memory_resource* heap);
// `taps` views of x, `taps` of flags that say which elements are inside (with `flagged`), y, the output i32:
// the number of the first tap, counted from `number` on, whose element is y's; else what it holds, `first`:
// -1. Taps are taken from the last to the first.
jit::Program make_window_choice(int taps, std::uint32_t number, bool flagged, bool first,
                                std::pmr::memory_resource* heap);
// `taps` views of choices i32, `taps` views of dy, the output: + dy where the choice is the view's tap,
// numbers[i].
jit::Program make_chosen_sum(int taps, const std::uint32_t* numbers, bool first,
                             std::pmr::memory_resource* heap);
// `taps` views of x, `taps` weights (one a row), the output: fma(weight, x, output) for each.
jit::Program make_window_product(int taps, bool first, std::pmr::memory_resource* heap);

jit::Program make_fill(double value, std::pmr::memory_resource* heap);             // 0: y
jit::Program make_quotient(jit::Access divisor, std::pmr::memory_resource* heap);  // 0: a, 1: b, 2: y = a / b

}  // namespace volta
