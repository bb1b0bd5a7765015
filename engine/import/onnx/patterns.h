// Operators that exporters write as several nodes, and that become the operator they mean. docs/onnx.md has
// the table, printed from the rows.
#pragma once

#include "engine/import/onnx/call.h"
#include "engine/import/onnx/match.h"
#include "engine/passes/rewrite.h"

namespace volta::onnx {

// Where a pattern was found.
struct Found {
    const Building& building;
    Contents& contents;
    const Letters& letters;
    ValueId end;
    ValueId value(char letter) const { return letters.value[letter - 'a']; }
    float number(char letter) const { return letters.number[letter - 'A']; }
    Extents extents(char letter) const { return building.extents(value(letter)); }
};

struct PatternRow {
    Op op;             // what it becomes
    const char* text;  // match.h
    // The results are the same, bit for bit, whatever the elements are.
    bool same_bits;
    bool (*fits)(const Found& found);
    // Its result, in the graph that is made.
    ValueId (*make)(const Found& found, Op op, Rewrite& rewrite);
    const char* written_by;
};
const PatternRow* pattern_rows(int* count);

// What was found, by row of the table.
using PatternCounts = std::pmr::vector<std::size_t>;

// Rewrites the graph that was built.
PatternCounts recognise(Building& building);

// attention_pattern.cpp: scores of heads, masks that a model has as constants.
bool fits_attention(const Found& found);
ValueId make_attention(const Found& found, Op op, Rewrite& rewrite);
bool fits_time_first(const Found& found);
ValueId make_time_first(const Found& found, Op op, Rewrite& rewrite);

}  // namespace volta::onnx
