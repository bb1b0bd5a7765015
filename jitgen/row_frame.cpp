#include "jitgen/row_frame.h"

#include <algorithm>

namespace volta::jit {

Frame::Frame(const RowPlan& plan, int vector_bytes, std::pmr::memory_resource* heap)
    : slots(plan.code.size(), -1, heap),
      accumulators(plan.code.size(), -1, heap),
      chunk_rows(plan.code.size(), -1, heap),
      streams(heap),
      stream_of_operand(plan.operands.size(), -1, heap),
      stream_of_kept_row(static_cast<std::size_t>(plan.kept_rows), -1, heap) {
    partial_mask = take(vector_bytes, vector_bytes);
    group_masks = take(4 * 32, vector_bytes);
    iota = take(vector_bytes, vector_bytes);
    make_slots(plan, vector_bytes);
    for (std::size_t id = 0; id < plan.code.size(); ++id) {
        if (is_row_reduction(plan.code[id].code) || plan.code[id].code == Code::column_sum)
            accumulators[id] = take(256, 64);
        if (plan.code[id].code == Code::row_sum) chunk_rows[id] = take(8, 8);
    }
    make_streams(plan);
    spills = take(0, 64);
}

int Frame::take(int bytes, int alignment) {
    const int begin = (end_ + alignment - 1) / alignment * alignment;
    end_ = begin + bytes;
    return begin;
}

// A section hands its values to others through memory: call code, row code and loops are sections.
void Frame::make_slots(const RowPlan& plan, int vector_bytes) {
    std::pmr::vector<int> section_of(plan.code.size(), -1, slots.get_allocator());
    for (std::size_t t = 0; t < plan.stages.size(); ++t)
        for (const std::int32_t id : plan.stages[t].row_code) section_of[id] = static_cast<int>(t);
    for (const std::int32_t id : plan.call_code) section_of[id] = 1 << 20;
    const auto reads = [&](const std::pmr::vector<std::int32_t>& code, int section) {
        for (const std::int32_t id : code)
            for (const std::int32_t argument : arguments_of(plan.code[id])) {
                if (plan.rates[argument] == Rate::column || plan.is_constant(argument)) continue;
                if (section_of[argument] == section || slots[argument] >= 0) continue;
                slots[argument] = take(vector_bytes, vector_bytes);
            }
    };
    reads(plan.call_code, 1 << 20);
    for (std::size_t t = 0; t < plan.stages.size(); ++t) {
        reads(plan.stages[t].row_code, static_cast<int>(t));
        reads(plan.stages[t].loop_code, -2);
    }
}

// Pointers that loops use get registers first; those of row code are read from the frame.
void Frame::make_streams(const RowPlan& plan) {
    std::pmr::vector<bool> used(plan.operands.size(), false, slots.get_allocator());
    for (const Instruction& x : plan.code)
        if (x.code == Code::load || x.code == Code::store || x.code == Code::column_sum) used[x.a] = true;
    const auto add = [&](int operand, int kept_row, bool walks) {
        const int number = static_cast<int>(streams.size());
        const int reg = number < kPointerRegisterCount ? kPointerRegisters[number] : -1;
        const int pointer_at = take(8, 8), stride_at = walks ? take(8, 8) : -1;
        streams.push_back(Stream{operand, kept_row, reg, pointer_at, stride_at});
        return number;
    };
    for (std::size_t k = 0; k < plan.operands.size(); ++k) {
        const Access access = plan.operands[k].access;
        if (used[k] && (access == Access::full || access == Access::per_column))
            stream_of_operand[k] = add(static_cast<int>(k), -1, access == Access::full);
    }
    for (int row = 0; row < plan.kept_rows; ++row) stream_of_kept_row[row] = add(-1, row, false);
    for (std::size_t k = 0; k < plan.operands.size(); ++k)
        if (used[k] && plan.operands[k].access == Access::per_row)
            stream_of_operand[k] = add(static_cast<int>(k), -1, true);
}

}  // namespace volta::jit
