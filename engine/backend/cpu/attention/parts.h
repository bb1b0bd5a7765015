// What attention forward and backward share: sizes, strips of two heights, the row programs.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/attention/attention.h"
#include "engine/backend/cpu/gemm/macro_kernel.h"
#include "jitgen/program.h"

namespace volta::cpu {

// One (sequence, head): what lies where.
struct AttentionSizes {
    AttentionShape shape;
    Isa isa;
    const char* tile_name;
    int mr, nr;  // the register tile; mr is a power of two, so that no cut falls inside a triangle
    std::int64_t row_floats;   // a row of scores: all keys, padded to an odd number of cache lines
    std::int64_t head_floats;  // a row of a head, padded to whole vectors

    std::int64_t time() const { return shape.time; }
    std::int64_t head_dim() const { return shape.head_dim; }
    std::int64_t group() const { return shape.heads / shape.kv_heads; }
    // Keys that rows up to `row_end` may see.
    std::int64_t keys(std::int64_t row_end) const { return shape.causal ? row_end : shape.time; }
    // The first element of head `head` of sequence `sequence` in a tensor with this token stride.
    std::int64_t offset(std::int64_t sequence, std::int64_t head, std::int64_t stride) const {
        return sequence * shape.time * stride + head * shape.head_dim;
    }
    // Where the documents of the sequence's tokens begin; NULL: there are none.
    const std::int32_t* starts(const AttentionCall& call, std::int64_t sequence) const {
        return shape.documents ? call.starts + sequence * shape.time : nullptr;
    }
    // The row that random numbers count, of query 0.
    std::uint32_t random_row(std::uint32_t first_sequence, std::int64_t sequence, std::int64_t head) const {
        return static_cast<std::uint32_t>(((first_sequence + sequence) * shape.heads + head) * shape.time);
    }
};

// Throws INTERNAL when the shape is none; the cheapest tile.
AttentionSizes attention_sizes(const AttentionShape& shape, const CompileContext& context);

// Rows of a sequence in tiles of mr: all but the last tile are whole.
struct TwoMacroKernels {
    MacroKernel whole, last;
    // For `rows` rows in all.
    TwoMacroKernels() = default;
    TwoMacroKernels(const AttentionSizes& sizes, std::int64_t rows, jit::GemmA a, jit::Triangle triangle);
    void add_columns(std::int64_t columns, const Compiler& compiler);
    void add_whole_vectors(std::int64_t columns, const Compiler& compiler);
    const MacroKernel& of(std::int64_t rows) const {
        return !last.empty() && rows == last.rows() ? last : whole;
    }
};

// Rows t0 .. of queries times all keys that they may see: x = q k. `keys` is packed transposed,
// [head_dim][time].
void attention_scores(const AttentionSizes& sizes, const TwoMacroKernels& strips, const float* q,
                      std::int64_t q_stride, std::int64_t row, std::int64_t rows, const float* keys,
                      float* scores) noexcept;

// What stands in place of the chain x of a key that a query gives no weight: its score is -Inf.
float chain_without_weight(float scale);

// Queries at `positions` first, first + 1 .. (step 1) or all at first (step 0), `rows` of them: the keys
// below their windows have no weight.
void hide_below_windows(const AttentionSizes& sizes, std::int64_t first, std::int64_t step, std::int64_t rows,
                        float* chains) noexcept;

// Rows `row` .. of the queries of a sequence whose documents begin at starts[row] .., at most at the query's
// own key: the keys before that have no weight. NULL: there are no documents.
void hide_before_documents(const AttentionSizes& sizes, const std::int32_t* starts, std::int64_t row,
                           std::int64_t rows, float* chains) noexcept;

// Operands: 0 x in, 1 p out (in place), 2 row maximum out, 3 row sum out, 4 RandomState (with dropout).
jit::Program attention_softmax_program(const AttentionShape& shape, std::pmr::memory_resource* heap);

// Operands: 0 x in, 1 dp in, 2 row maximum, 3 row sum, 4 D, 5 p' out (in place of x), 6 dx out (in place of
// dp), 7 RandomState (with dropout).
jit::Program attention_gradient_program(const AttentionShape& shape, std::pmr::memory_resource* heap);

// D = rowsum(dO * o). Operands: 0 dO, 1 o, 2 D per row.
jit::Program attention_row_term_program(std::pmr::memory_resource* heap);

// 64-byte aligned pieces of one worker's workspace, in floats.
class WorkspaceLayout {
  public:
    std::size_t add(std::int64_t floats) {
        const std::size_t at = floats_;
        floats_ += (static_cast<std::size_t>(floats) + 15) / 16 * 16;
        return at;
    }
    std::size_t add_bytes(std::size_t bytes) { return add(static_cast<std::int64_t>((bytes + 3) / 4)); }
    std::size_t floats() const { return floats_; }

  private:
    std::size_t floats_ = 0;
};

// An Attention on the context's heap.
template <class T>
AttentionPtr make_attention(const AttentionShape& shape, const CompileContext& context) {
    void* const place = context.compiler.heap->allocate(sizeof(T), alignof(T));
    try {
        return AttentionPtr(new (place) T(shape, context),
                            AttentionDelete{context.compiler.heap, sizeof(T), alignof(T)});
    } catch (...) {
        context.compiler.heap->deallocate(place, sizeof(T), alignof(T));
        throw;
    }
}

}  // namespace volta::cpu
