// Which inputs a step may overwrite when it is the last to read them, by its operator's row.
#pragma once

#include <algorithm>

#include "engine/graph/forms.h"
#include "engine/graph/graph.h"

namespace volta {

inline bool may_overwrite(const Node& node, std::size_t slot, std::int32_t output) {
    const Overwrites& rule = op_row(node.op).overwrites;
    if ((rule.inputs >> std::min<std::size_t>(slot, 31) & 1) == 0) return false;
    // The product itself lies in one of the outputs until its epilogue has run.
    if (carries_product(node.op)) return output != product_output(node);
    return rule.output < 0 || output == rule.output;
}

}  // namespace volta
