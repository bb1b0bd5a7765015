// Elementwise operators as the operator table has them: what tests that walk the table need to build one.
#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/rules.h"

namespace volta::test {

// How an operator's inputs lie to each other.
enum class Operands { one, same_shape, broadcast, of_its_own };

inline Operands operands_of(const OpRow& row) {
    if (row.random) return Operands::of_its_own;
    if (row.min_inputs == 1) return Operands::one;
    if (row.shape == shape_rules::same) return Operands::same_shape;
    const bool broadcasts = row.shape == shape_rules::broadcasting || row.shape == shape_rules::comparison;
    return broadcasts ? Operands::broadcast : Operands::of_its_own;
}

// Rows that fuse, but the fused node itself.
inline std::vector<const OpRow*> elementwise_rows() {
    std::vector<const OpRow*> rows;
    for (int op = 0; op < kOpCount; ++op)
        if (const OpRow& row = op_row(static_cast<Op>(op)); row.fuses && row.op != Op::fused)
            rows.push_back(&row);
    return rows;
}
inline std::vector<const OpRow*> elementwise_rows(Operands operands) {
    std::vector<const OpRow*> rows;
    for (const OpRow* row : elementwise_rows())
        if (operands_of(*row) == operands) rows.push_back(row);
    return rows;
}

// All attributes of a row, each with its default or example.
inline std::vector<Attribute> example_attributes(const OpRow& row) {
    std::vector<Attribute> attributes;
    attributes.reserve(static_cast<std::size_t>(row.attribute_count));
    for (int i = 0; i < row.attribute_count; ++i)
        attributes.push_back(number(row.attributes[i].key, row.attributes[i].default_number));
    return attributes;
}

}  // namespace volta::test
