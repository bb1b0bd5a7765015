// Attention forward. One tile of query rows at a time: scores, softmax and probabilities times values while
// the rows are in L1. T x T is never held.
#include "engine/backend/cpu/attention/attention.h"

#include <algorithm>
#include <new>

#include "engine/backend/cpu/attention/parts.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/pack.h"

namespace volta::cpu {
namespace {

class AttentionForward final : public Attention {
  public:
    AttentionForward(const AttentionShape& shape, const CompileContext& context)
        : sizes_(attention_sizes(shape, context)),
          softmax_(context.compiler.cache->row(attention_softmax_program(shape, context.compiler.heap),
                                               sizes_.isa, *context.compiler.arena)),
          transposes_(context.compiler.cache->transposes(sizes_.isa, *context.compiler.arena)),
          workers_(static_cast<int>(std::min<std::int64_t>(units(), std::max(context.machine.threads, 1)))) {
        const std::int64_t time = sizes_.time(), head_dim = sizes_.head_dim();
        const jit::Triangle tail = shape.causal ? jit::Triangle::tail : jit::Triangle::none;
        scores_ = TwoMacroKernels(sizes_, time, jit::GemmA::rows, jit::Triangle::none);
        scores_.add_whole_vectors(time + jit::kPanel, context.compiler);
        output_ = TwoMacroKernels(sizes_, time, jit::GemmA::rows, tail);
        output_.add_columns(head_dim, context.compiler);
        keys_at_ = layout_.add(packed_floats(time, head_dim));
        values_at_ = layout_.add(packed_floats(head_dim, time));
        rows_at_ = layout_.add(sizes_.mr * sizes_.row_floats);
        scratch_at_ = layout_.add_bytes(softmax_.scratch_bytes(time));
    }

    std::size_t workspace_bytes() const noexcept override {
        return layout_.floats() * sizeof(float) * static_cast<std::size_t>(workers_);
    }
    const char* kernel_name() const noexcept override { return sizes_.tile_name; }

    void run(ThreadPool& pool, const AttentionCall& call) const noexcept override {
        if (units() == 0 || sizes_.time() == 0) return;
        pool.run_stealing(workers_, units(), 1, [&](int worker, ThreadPool::WorkItems& items) noexcept {
            float* const workspace =
                static_cast<float*>(call.workspace) + static_cast<std::size_t>(worker) * layout_.floats();
            std::int64_t packed = -1;  // the kv head in the workspace
            for (Range piece; items.next(&piece);) {
                for (std::int64_t unit = piece.begin; unit < piece.end; ++unit) {
                    const std::int64_t kv_unit = unit / sizes_.group();
                    if (kv_unit != packed) pack(call, kv_unit, workspace);
                    packed = kv_unit;
                    run_head(call, unit, workspace);
                }
            }
        });
    }

  private:
    const AttentionSizes sizes_;
    const jit::RowKernel& softmax_;
    const jit::TransposeFunctions transposes_;
    const int workers_;
    TwoMacroKernels scores_, output_;
    WorkspaceLayout layout_;  // per worker
    std::size_t keys_at_, values_at_, rows_at_, scratch_at_;

    std::int64_t units() const { return sizes_.shape.batch * sizes_.shape.heads; }

    void pack(const AttentionCall& call, std::int64_t kv_unit, float* workspace) const {
        const AttentionShape& shape = sizes_.shape;
        const std::int64_t sequence = kv_unit / shape.kv_heads, head = kv_unit % shape.kv_heads;
        pack_b(call.k + sizes_.offset(sequence, head, shape.k_stride), shape.k_stride, true, shape.time,
               shape.head_dim, transposes_, kPanelWidths, workspace + keys_at_);
        pack_b(call.v + sizes_.offset(sequence, head, shape.v_stride), shape.v_stride, false, shape.head_dim,
               shape.time, {}, kPanelWidths, workspace + values_at_);
    }

    void run_head(const AttentionCall& call, std::int64_t unit, float* workspace) const {
        const AttentionShape& shape = sizes_.shape;
        const std::int64_t sequence = unit / shape.heads, head = unit % shape.heads;
        const float* const q = call.q + sizes_.offset(sequence, head, shape.q_stride);
        float* const o = call.o + sizes_.offset(sequence, head, shape.o_stride);
        float* const rows_of_scores = workspace + rows_at_;
        for (std::int64_t row = 0; row < shape.time; row += sizes_.mr) {
            const std::int64_t rows = std::min<std::int64_t>(sizes_.mr, shape.time - row);
            attention_scores(sizes_, scores_, q, shape.q_stride, row, rows, workspace + keys_at_,
                             rows_of_scores);
            softmax(call, unit, row, rows, workspace);

            jit::GemmArgs args = {};
            args.a = rows_of_scores;
            args.a_stride = sizes_.row_floats;
            args.b = workspace + values_at_;
            args.b_stride = shape.time * jit::kPanel;
            args.c = o + row * shape.o_stride;
            args.c_stride = shape.o_stride;
            args.steps = shape.causal ? row : shape.time;
            output_.of(rows).run(args, shape.head_dim);
        }
    }

    // All rows over the keys of the last one. A key that is hidden from an earlier row scores -Inf there: it
    // does not change the maximum, adds +0 to the sum, and its probability is read by nobody.
    void softmax(const AttentionCall& call, std::int64_t unit, std::int64_t row, std::int64_t rows,
                 float* workspace) const {
        const AttentionShape& shape = sizes_.shape;
        float* const scores = workspace + rows_at_;
        const std::int64_t keys = sizes_.keys(row + rows);
        for (std::int64_t i = 0; shape.causal && i < rows; ++i)
            std::fill(scores + i * sizes_.row_floats + row + i + 1, scores + i * sizes_.row_floats + keys,
                      chain_without_weight(shape.scale));
        const std::int64_t sequence = unit / shape.heads, head = unit % shape.heads;
        hide_below_windows(sizes_, row, 1, rows, scores);
        hide_before_documents(sizes_, sizes_.starts(call, sequence), row, rows, scores);
        const std::int64_t statistics = unit * shape.time + row;
        void* const operands[] = {scores, scores, call.row_max + statistics, call.row_sum + statistics,
                                  const_cast<RandomState*>(call.random)};
        const std::int64_t strides[] = {sizes_.row_floats, sizes_.row_floats, 1, 1, 0};
        jit::RowArgs args = {};
        args.operands = operands;
        args.row_strides = strides;
        args.rows = rows;
        args.columns = keys;
        args.first_row =
            sizes_.random_row(call.first_sequence, sequence, head) + static_cast<std::uint32_t>(row);
        args.scratch = workspace + scratch_at_;
        softmax_.run(args);
    }
};

}  // namespace

AttentionPtr compile_attention_forward(const AttentionShape& shape, const CompileContext& context) {
    return make_attention<AttentionForward>(shape, context);
}

}  // namespace volta::cpu
