// What is known of integers and masks whose extents are open: how an element depends on its place. It is said
// by the operators that made them, not read off a sample: 0, 1, 2 ... of a Range, the triangle of a Trilu or
// of a comparison of two such, and the first part of a constant that is all of that kind.
#pragma once

#include <cstdint>

namespace volta::onnx {

struct OpenForm {
    enum class Kind {
        none,
        fill,      // all elements are equal
        columns,   // element [..., j] is j
        rows,      // element [..., i, 0] is i
        triangle,  // element [..., i, j] is one number where j - i <= offset, else another
    };
    Kind kind = Kind::none;
    std::int64_t offset = 0;
};

class Call;
struct KnownPair;
// Of a result that was computed for two choices of the open extents.
// A part of a constant that ends where it ends, and not where the extent does, becomes as long.
OpenForm open_form(Call& call, KnownPair& result);

}  // namespace volta::onnx
