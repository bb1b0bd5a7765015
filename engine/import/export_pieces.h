// A model's parameters as another program's file holds them: the key maps of import, read from right to left.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "engine/import/architecture.h"

namespace volta {

// One tensor of the file: columns of a parameter, turned or not; of a stored parameter, outputs.
struct Piece {
    std::pmr::string name;
    const NamedTensor* parameter;
    ColumnSpan span;
    bool transposed;
    std::int64_t pairs = 0;  // not 0: rows of each so many are two halves there, and neighbours in the file

    Shape shape() const;  // of the file's tensor
    // Rows [first, first + count) of the file's tensor, one behind the other; a vector is one row.
    void read_rows(std::int64_t first, std::int64_t count, float* out) const;
    // The row, or of a vector the element, of the parameter's part that is row `row` of the file's.
    std::int64_t source_of(std::int64_t row) const {
        if (pairs == 0) return row;
        const std::int64_t place = row % pairs;
        return row - place + place / 2 + place % 2 * (pairs / 2);
    }
};

// Every piece of every parameter once: by the first rule for it, where old files have a second name. Throws
// UNSUPPORTED for a parameter that the naming has not.
std::pmr::vector<Piece> pieces_of(const Model& model, const Naming& naming, const Architecture& architecture,
                                  std::pmr::memory_resource* heap);

inline constexpr std::int64_t kPieceRows = 32;  // at a time: what one cache line and more holds

}  // namespace volta
