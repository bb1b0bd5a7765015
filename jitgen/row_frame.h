// Where a row kernel keeps what is not in a vector register: the stack frame, and the pointers that walk over
// rows.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "jitgen/row_plan.h"

namespace volta::jit {

// One pointer of the kernel: to the row at hand of an operand, or to a kept row of scratch.
struct Stream {
    int operand;     // -1: a kept row
    int kept_row;    // -1: an operand
    int reg;         // index of a general register; -1: the pointer lies in the frame
    int pointer_at;  // frame offset of the pointer, used where reg is -1
    int stride_at;   // frame offset of the bytes from row to row; -1: the pointer stays
};

// Offsets from rsp, which is a multiple of 64 while the kernel runs.
struct Frame {
    Frame(const RowPlan& plan, int vector_bytes, std::pmr::memory_resource* heap);

    static constexpr int kSavedStack = 0, kArgs = 8, kRows = 16, kTotalBytes = 24, kMainEnd = 32,
                         kChunkEnd = 40, kChunkAt = 48, kSegmentRows = 56, kStored = 64, kRowIndex = 72,
                         kVectorEnd = 80, kNextRow = 88,
                         kFirst = 96;  // 8 bytes each; kFirst: the end of these
    int partial_mask = 0;              // of the last columns mod lanes
    int group_masks = 0;               // of the last columns mod 32, one per vector of a group
    int iota = 0;                      // first_column + 0, 1, 2, ...
    std::pmr::vector<int> slots;       // per value of Rate::call or row that another section reads; -1: none
    std::pmr::vector<int> accumulators;  // per reduction: 256 bytes, where registers are short; -1: none
    std::pmr::vector<int> chunk_rows;    // per row sum: the pointer to its chunk results; -1: none
    std::pmr::vector<Stream> streams;
    std::pmr::vector<int> stream_of_operand, stream_of_kept_row;  // -1: none
    int spills = 0;  // the rest; as many slots as the registers asked for

  private:
    int take(int bytes, int alignment);
    void make_slots(const RowPlan& plan, int vector_bytes);
    void make_streams(const RowPlan& plan);
    int end_ = kFirst;
};

// rbx, rbp, rsi, rdi, r8 ... r15 hold pointers; rax, rcx (the column, in bytes) and rdx are the loops' own.
inline constexpr int kPointerRegisters[] = {3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
inline constexpr int kPointerRegisterCount = 12;

}  // namespace volta::jit
