// What a lowering asks of a backend, one struct per kind of work: shapes, places, constants. Row programs,
// copies and the like need none (step_lowering.h). Pointers are to what lives until the call returns.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/backend/lower/loop_space.h"
#include "engine/backend/lower/problem_shapes.h"
#include "engine/backend/lower/ref.h"
#include "engine/base/shape.h"
#include "engine/graph/graph.h"
#include "engine/numerics/define_convolution.h"
#include "engine/numerics/define_pairs.h"
#include "jitgen/program.h"

namespace volta {

// How a row program runs over the micro-batches of a step.
struct RowUse {
    When when = When::always;
    bool counts_rows_over_step = false;  // micro-batch i's first row is number i * (all rows of one)
    bool continues_columns = false;      // column sums of later micro-batches continue from the output
};

// What runs on finished elements of C: a program whose operand 0 is C, over batch * m rows of n columns.
struct ProductEpilogue {
    const jit::Program* program;
    const std::pmr::vector<Ref>* refs;                  // one per operand
    const std::pmr::vector<std::int64_t>* row_strides;  // likewise, in elements
    std::int64_t rows_per_micro_batch;  // row numbers count over the step; 0: from 0 each time
};

// C = A B, or C + A B from the second micro-batch on, or always; then the epilogue.
struct ProductStep {
    ProductShape shape;
    Ref a, b, c;
    DType b_dtype =
        DType::f32;  // a stored type: B, or its transpose, as engine/numerics/stored_weights.h says
    bool accumulates = false;
    bool into = false;
    const ProductEpilogue* epilogue = nullptr;  // NULL: none
    const Ref* b_sums = nullptr;  // [n], where the column sums of B are wanted; they accumulate as C does
};

// What runs on finished elements of a picture: a program whose operand 0 is the picture, over batch x
// channels x pixels, which are the loops' outer extent, rows and columns.
struct PictureEpilogue {
    const jit::Program* program;
    const std::pmr::vector<Ref>* refs;  // one per operand
    const LoopSpace* loops;
};

// A convolution of pictures x [batch, channels, rows, columns] and y [batch, filters, rows, columns], of
// which one, or the weight, is computed from the other two.
struct ConvolutionStep {
    enum class Gives : std::uint8_t { y, x, weight };
    Gives gives = Gives::y;
    define::ConvolutionSizes sizes;
    Ref x, weight, y;
    bool accumulates = false;                   // the weight's gradient, over micro-batches
    const PictureEpilogue* epilogue = nullptr;  // NULL: none
};

// y of x, [planes, rows, columns] both: what is largest in a window of the padded plane, or the sum of it.
struct WindowStep {
    enum class Gives : std::uint8_t { maximum, sum };
    Gives gives;
    std::int64_t planes;
    define::ConvolutionAxis rows, columns;
    Ref x, y;
};

struct AttentionStep {
    AttentionShape shape;
    bool backward = false;
    Ref q, k, v;
    Ref o, row_max, row_sum;  // [..., heads * head_dim], twice [batch, heads, time]; backward: read
    Ref d_o, dq, dk, dv;      // backward only; d_o has the strides of o
    Ref starts;               // i32 [batch, time]: where documents begin; only with documents
    Ref random;               // i32 [3]: seed low, seed high, step; only with dropout
    // Sequences of dropout count over the whole step: micro-batch i starts at i * shape.batch.
};

// New tokens are stored into the cache, then their queries meet it.
struct CachedAttentionStep {
    CachedAttentionShape shape;
    Ref q, k, v, o;
    Ref slots, positions;  // i32 [rows]; slot -1: no token
    Ref keys, values;      // the cache, changed in place
};

// y [rows, columns], i32: 0 .. columns - 1 in every row; with starts, column t less min(starts, t).
struct PositionStep {
    Ref y;
    bool documents = false;
    Ref starts;  // i32 [rows, columns]; only with documents
    std::int64_t rows, columns;
};

// x [tokens, columns] -> y; the first form.width columns of each head are rotated, the others copied.
struct RotaryStep {
    RotaryForm form;
    Ref x, y;       // may be one place
    Ref positions;  // i32 [tokens]
    Ref table;      // [positions, form.width]: cosines, then sines
    std::int64_t tokens, columns;
};

struct RotaryTableStep {  // define::rotary_table, where no pass has made it a constant
    Ref table;            // [limit, width]
    std::int64_t limit, width;
    double base, scale;
    bool has_frequencies = false;
    Ref frequencies;  // [width/2], in place of the base's
};

// Row ids[i] of the table for every i. Ids are inside their tables: a verified plan traces where they come
// from, and the host's are checked before a run.
struct GatherStep {
    Ref table, ids, y;  // [rows, width], i32 [count], [count, width] f32
    DType dtype;        // of the table: a stored type becomes f32, the others are copied word by word
    std::int64_t rows, width, count;
};

// y[row] = the sum of the gradients of every position that holds this id, in ascending order of position from
// +0; with a base, base + that on rows that have positions and base alone on others.
struct EmbeddingGradientStep {
    Ref ids, gradient, y;  // i32 [count], [count, width], [rows, width]
    bool has_base = false;
    Ref base;  // [rows, width], may be y
    std::int64_t rows, width, count;
};

}  // namespace volta
