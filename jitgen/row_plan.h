// How a Program is executed, whatever executes it: which instructions run once per call, once per row or once
// per column, how row reductions cut it into stages, and which values a later stage reads back instead of
// recomputing. The interpreter and the emitter follow the same plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "jitgen/program.h"

namespace volta::jit {

// What a value varies with, from least to most.
enum class Rate : std::uint8_t { call, row, column };

// One pass over the columns of a row. `row_code` runs once before it.
struct Stage {
    explicit Stage(std::pmr::memory_resource* heap) : row_code(heap), loop_code(heap) {}
    std::pmr::vector<std::int32_t> row_code;   // values of Rate::row; in the last stage also stores per row
    std::pmr::vector<std::int32_t> loop_code;  // values of Rate::column and reductions; then the stores
};

// Whether values that cost more than a load are kept in scratch rows for later stages, or computed again.
enum class Keep : bool { nothing, costly };

struct RowPlan {
    RowPlan(const Program& program, std::pmr::memory_resource* heap, Keep keep = Keep::costly);

    std::pmr::vector<Instruction> code;  // of the program, with bits and from_bits looked through
    std::pmr::vector<Operand> operands;
    std::uint32_t streams;
    std::pmr::vector<Rate> rates;              // per instruction
    std::pmr::vector<std::int32_t> call_code;  // values of Rate::call but constants
    std::pmr::vector<Stage> stages;            // at least one
    std::pmr::vector<std::int32_t>
        kept_row;  // per value: the scratch row that keeps it for later stages; -1: none
    std::pmr::vector<std::int32_t>
        first_stage;  // per value of Rate::column: the stage that computes it first
    int kept_rows = 0;
    int row_sums = 0;
    bool column_sums = false;

    bool is_constant(std::int32_t id) const { return code[id].code == Code::constant; }
    bool is_kept_by(std::int32_t id, int stage) const {
        return kept_row[id] >= 0 && first_stage[id] == stage;
    }
    bool is_reloaded(std::int32_t id, int stage) const {
        return kept_row[id] >= 0 && first_stage[id] < stage;
    }
};

// The arguments of an instruction that are values; at most three. `operand` arguments are not among them.
struct Arguments {
    std::int32_t ids[3];
    int count;
    const std::int32_t* begin() const { return ids; }
    const std::int32_t* end() const { return ids + count; }
};
Arguments arguments_of(const Instruction& instruction);

bool is_row_reduction(Code code);

// The scratch memory of one call, in bytes: kept rows, then per row sum one float per chunk of 4096 columns.
inline constexpr std::int64_t kSumChunk = 4096;   // docs/numerics.md, 3
inline constexpr std::int64_t kSumSegment = 512;  // rows per segment of a column sum; docs/numerics.md, 2.1
std::size_t kept_row_bytes(std::int64_t columns) noexcept;   // of one kept row; whole groups of 32 elements
std::size_t chunk_row_bytes(std::int64_t columns) noexcept;  // of one row sum
std::size_t scratch_bytes(const RowPlan& plan, std::int64_t columns) noexcept;

}  // namespace volta::jit
