// The cosines and sines of a decoder's positions, once for all its programs, and only as far as its sequences
// have come: a model of 131,072 positions would take seconds for all of them before its first token.
#pragma once

#include "engine/numerics/define_pairs.h"
#include "engine/runtime/decoder.h"

namespace volta {

class DecodeAngles final {
  public:
    // The tables of the model's graph (has_lent_angles), with rows for so many positions at most.
    DecodeAngles(Context& context, const Graph& model, std::int64_t capacity);

    void lend_to(DecodeProgram& program) const;
    // Fills the rows of positions below `positions`. Throws what the device of `program` reports.
    void cover(const Program& program, std::int64_t positions);
    std::uint64_t device_bytes() const { return content_.device_bytes(); }
    std::uint64_t staging_bytes() const { return content_.held_bytes() - content_.device_bytes(); }

  private:
    struct Table {
        using allocator_type = Allocator;
        explicit Table(Allocator heap) : frequencies(heap) {}
        Table(Table&& other, Allocator heap)
            : rows(other.rows),
              width(other.width),
              offset(other.offset),
              base(other.base),
              scale(other.scale),
              frequencies(std::move(other.frequencies), heap) {}
        Table(Table&&) = default;
        std::int64_t rows = 0, width = 0;
        std::size_t offset = 0;  // in bytes
        double base = 1, scale = 1;
        std::pmr::vector<float> frequencies;  // none: by the formula
    };
    void fill(const Table& table, std::int64_t last) const;

    std::pmr::vector<Table> tables_;
    Exchange content_;
    std::int64_t filled_ = 0;
};

}  // namespace volta
