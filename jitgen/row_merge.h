// Instructions of a Program that the processor does in one: found by their form, replaced only where every
// bit of the result is proved to stay the same.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "jitgen/row_plan.h"

namespace volta::jit {

enum class Merged : std::uint8_t {
    none,
    maximum,    // MAXPS(a, b): a > b ? a : b
    minimum,    // MINPS(a, b): a < b ? a : b
    minus_abs,  // -|a|: the sign bit set
    scale       // VSCALEFPS(a, b): a * 2^b, AVX-512 only
};

class Merger {
  public:
    Merger(const RowPlan& plan, bool wide, std::pmr::memory_resource* heap);

    struct Result {
        Merged kind;
        Arguments arguments;  // what is read instead of the instruction's own arguments
    };
    Result merge(std::int32_t id) const;

  private:
    Result merge_select(std::int32_t id) const;
    void find_scales(std::pmr::memory_resource* heap);
    bool is_at_most_zero(std::int32_t id) const;
    bool is_constant(std::int32_t id, float value) const;

    const RowPlan& plan_;
    struct Scale {
        std::int32_t product, significand, exponent;
    };
    std::pmr::vector<Scale> scales_;
};

}  // namespace volta::jit
