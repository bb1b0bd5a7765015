#include "engine/backend/lower/limits.h"

namespace volta {
namespace {

constexpr LimitRow kRows[] = {
    {Limit::row_operands, Op::fused, Op::fused_rows, nullptr, "it has more operands than a kernel can take"},
    {Limit::epilogue_operands, Op::matmul, Op::matmul, nullptr,
     "its epilogue has more operands than a kernel can take"},
    {Limit::rotary_frequencies, Op::rotary_table, Op::rotary_table, "CUDA",
     "its frequencies are not a constant"},
    {Limit::attention_head, Op::attention, Op::attention_grad, "CUDA", "heads have more than 256 elements"},
    {Limit::documents, Op::attention, Op::attention_grad, "CUDA", "its rows hold packed documents"},
    {Limit::positions_of_documents, Op::position_ids, Op::position_ids, "CUDA",
     "its rows hold packed documents"},
};

constexpr bool rows_stand_in_order() {
    for (int i = 0; i < kLimitCount; ++i)
        if (kRows[i].limit != static_cast<Limit>(i)) return false;
    return true;
}
static_assert(sizeof kRows / sizeof *kRows == kLimitCount && rows_stand_in_order(),
              "a row per Limit, in order");

}  // namespace

bool may_differ_below_strict(const OpRow& row) {
    return row.lowering == Lowering::product || row.lowering == Lowering::convolution ||
           row.lowering == Lowering::attention || row.lowering == Lowering::attention_grad;
}

const LimitRow& limit_row(Limit limit) { return kRows[static_cast<int>(limit)]; }

}  // namespace volta
