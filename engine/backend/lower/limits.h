// What kernels cannot take: the sentences of refusals, and the remarks of docs/capabilities.md.
#pragma once

#include "engine/graph/op.h"

namespace volta {

enum class Limit : std::uint8_t {
    row_operands,
    epilogue_operands,
    rotary_frequencies,
    attention_head,
    documents,
    positions_of_documents,
    count_
};
inline constexpr int kLimitCount = static_cast<int>(Limit::count_);

struct LimitRow {
    Limit limit;
    Op first, last;       // the operators that can meet it
    const char* backend;  // StepLowering::backend_name(); NULL: of every backend
    const char* why;      // "<operator>: <why> on <backend> at level <level>"
};
const LimitRow& limit_row(Limit limit);

// Is it a step of which levels below strict promise no bits of the contract on a device that has other
// kernels for it? Those may add in an order of their own, and round operands to the context's precision. All
// other steps are those of strict at every level.
bool may_differ_below_strict(const OpRow& row);

}  // namespace volta
