// Attention backward. Probabilities are computed again from the saved maxima and sums, for a block of query
// rows at a time; dq is finished with its rows, dk and dv keep their unfinished chains in scratch between
// blocks.
#include <algorithm>
#include <new>

#include "engine/backend/cpu/attention/attention.h"
#include "engine/backend/cpu/attention/parts.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/pack.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kBlockFloats = 32 * 1024;    // of scores, and as many of their gradients: both in L2
constexpr std::int64_t kGrain = jit::kMaxTileRows;  // blocks start where triangles and segments may

std::int64_t rows_of_a_block(const AttentionSizes& sizes) {
    const std::int64_t fitting = std::min(kBlockFloats / sizes.row_floats, sizes.time() + kGrain - 1);
    return std::max(kGrain, fitting / kGrain * kGrain);
}

class AttentionBackward final : public Attention {
  public:
    AttentionBackward(const AttentionShape& shape, const CompileContext& context)
        : sizes_(attention_sizes(shape, context)),
          gradient_(row_kernel(attention_gradient_program(shape, context.compiler.heap), context)),
          row_term_(row_kernel(attention_row_term_program(context.compiler.heap), context)),
          transposes_(context.compiler.cache->transposes(sizes_.isa, *context.compiler.arena)),
          workers_(static_cast<int>(std::min<std::int64_t>(units(), std::max(context.machine.threads, 1)))),
          block_rows_(rows_of_a_block(sizes_)) {
        make_strips(context);
        lay_out();
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
            for (Range piece; items.next(&piece);)
                for (std::int64_t unit = piece.begin; unit < piece.end; ++unit)
                    run_kv_head(call, unit, workspace);
        });
    }

  private:
    const AttentionSizes sizes_;
    const jit::RowKernel &gradient_, &row_term_;
    const jit::TransposeFunctions transposes_;
    const int workers_;
    const std::int64_t block_rows_;
    TwoMacroKernels scores_, d_q_;  // rows of queries
    TwoMacroKernels whole_,
        diagonal_;            // rows of keys: blocks behind the diagonal, and the block that starts on it
    WorkspaceLayout layout_;  // per worker
    struct {
        std::size_t keys_t, values_t, keys;  // packed: [head_dim][time] twice, [time][head_dim]
        std::size_t q, d_o;                  // packed rows of the block
        std::size_t p, dx;                   // [mc, row_floats]: scores become p', dp becomes dx
        std::size_t term;                    // D, [time]
        std::size_t chain_k, chain_v;        // unfinished chains, [time, head_floats]
        std::size_t other_k, other_v;        // complete results of a further query head of the group
        std::size_t scratch;
    } at_;

    // One query head, and where its results go.
    struct Head {
        std::int64_t unit;  // over all sequences and heads
        std::uint32_t random_row;
        const float *q, *o, *d_o;
        float* dq;
        float *dk, *dv;
        std::int64_t dk_stride, dv_stride;
        const std::int32_t* starts;  // of documents; NULL: none
        const RandomState* random;
        const float *row_max, *row_sum;
        float* workspace;
    };

    std::int64_t units() const { return sizes_.shape.batch * sizes_.shape.kv_heads; }

    const jit::RowKernel& row_kernel(const jit::Program& program, const CompileContext& context) const {
        return context.compiler.cache->row(program, sizes_.isa, *context.compiler.arena);
    }

    void make_strips(const CompileContext& context) {
        using jit::GemmA;
        using jit::Triangle;
        const std::int64_t time = sizes_.time(), head_dim = sizes_.head_dim();
        const bool causal = sizes_.shape.causal;
        scores_ = TwoMacroKernels(sizes_, time, GemmA::rows, Triangle::none);
        scores_.add_whole_vectors(time + jit::kPanel, context.compiler);
        d_q_ = TwoMacroKernels(sizes_, time, GemmA::rows, causal ? Triangle::tail : Triangle::none);
        d_q_.add_columns(head_dim, context.compiler);
        whole_ = TwoMacroKernels(sizes_, time, GemmA::k_major, Triangle::none);
        whole_.add_columns(head_dim, context.compiler);
        if (!causal) return;
        diagonal_ = TwoMacroKernels(sizes_, time, GemmA::k_major, Triangle::head);
        diagonal_.add_columns(head_dim, context.compiler);
    }

    void lay_out() {
        const std::int64_t time = sizes_.time(), head_dim = sizes_.head_dim();
        const std::int64_t chains = time * sizes_.head_floats, others = sizes_.group() > 1 ? chains : 0;
        at_.keys_t = layout_.add(packed_floats(time, head_dim));
        at_.values_t = layout_.add(packed_floats(time, head_dim));
        at_.keys = layout_.add(packed_floats(head_dim, time));
        at_.q = layout_.add(packed_floats(head_dim, block_rows_));
        at_.d_o = layout_.add(packed_floats(head_dim, block_rows_));
        at_.p = layout_.add(block_rows_ * sizes_.row_floats);
        at_.dx = layout_.add(block_rows_ * sizes_.row_floats);
        at_.term = layout_.add(time);
        at_.chain_k = layout_.add(chains);
        at_.chain_v = layout_.add(chains);
        at_.other_k = layout_.add(others);
        at_.other_v = layout_.add(others);
        at_.scratch =
            layout_.add_bytes(std::max(gradient_.scratch_bytes(time), row_term_.scratch_bytes(head_dim)));
    }

    // A kv head with all query heads of its group, in ascending order: their complete results are added.
    void run_kv_head(const AttentionCall& call, std::int64_t unit, float* workspace) const {
        const AttentionShape& shape = sizes_.shape;
        const std::int64_t sequence = unit / shape.kv_heads, kv_head = unit % shape.kv_heads;
        const float* const k = call.k + sizes_.offset(sequence, kv_head, shape.k_stride);
        const float* const v = call.v + sizes_.offset(sequence, kv_head, shape.v_stride);
        pack_b(k, shape.k_stride, true, shape.time, shape.head_dim, transposes_, kPanelWidths,
               workspace + at_.keys_t);
        pack_b(v, shape.v_stride, true, shape.time, shape.head_dim, transposes_, kPanelWidths,
               workspace + at_.values_t);
        pack_b(k, shape.k_stride, false, shape.head_dim, shape.time, {}, kPanelWidths, workspace + at_.keys);
        float* const dk = call.dk + sizes_.offset(sequence, kv_head, shape.dk_stride);
        float* const dv = call.dv + sizes_.offset(sequence, kv_head, shape.dv_stride);
        for (std::int64_t g = 0; g < sizes_.group(); ++g) {
            Head head = head_of(call, sequence, kv_head * sizes_.group() + g, workspace);
            head.dk = g == 0 ? dk : workspace + at_.other_k;
            head.dv = g == 0 ? dv : workspace + at_.other_v;
            head.dk_stride = g == 0 ? shape.dk_stride : sizes_.head_floats;
            head.dv_stride = g == 0 ? shape.dv_stride : sizes_.head_floats;
            run_head(head);
            if (g == 0) continue;
            add_rows(head.dk, dk, shape.dk_stride);
            add_rows(head.dv, dv, shape.dv_stride);
        }
    }

    Head head_of(const AttentionCall& call, std::int64_t sequence, std::int64_t index,
                 float* workspace) const {
        const AttentionShape& shape = sizes_.shape;
        Head head = {};
        head.unit = sequence * shape.heads + index;
        head.random_row = sizes_.random_row(call.first_sequence, sequence, index);
        head.q = call.q + sizes_.offset(sequence, index, shape.q_stride);
        head.o = call.o + sizes_.offset(sequence, index, shape.o_stride);
        head.d_o = call.d_o + sizes_.offset(sequence, index, shape.o_stride);
        head.dq = call.dq + sizes_.offset(sequence, index, shape.dq_stride);
        head.starts = sizes_.starts(call, sequence);
        head.random = call.random;
        head.row_max = call.row_max + head.unit * shape.time;
        head.row_sum = call.row_sum + head.unit * shape.time;
        head.workspace = workspace;
        return head;
    }

    void add_rows(const float* from, float* to, std::int64_t stride) const {
        for (std::int64_t t = 0; t < sizes_.time(); ++t)
            for (std::int64_t c = 0; c < sizes_.head_dim(); ++c)
                to[t * stride + c] = to[t * stride + c] + from[t * sizes_.head_floats + c];
    }

    void run_head(const Head& head) const {
        const AttentionShape& shape = sizes_.shape;
        row_terms(head);
        for (std::int64_t begin = 0; begin < shape.time; begin += block_rows_) {
            const std::int64_t end = std::min(begin + block_rows_, shape.time);
            for (std::int64_t row = begin; row < end; row += sizes_.mr)
                run_rows(head, begin, row, std::min<std::int64_t>(sizes_.mr, end - row));
            float* const q = head.workspace + at_.q;
            float* const d_o = head.workspace + at_.d_o;
            pack_b(head.q + begin * shape.q_stride, shape.q_stride, false, shape.head_dim, end - begin, {},
                   kPanelWidths, q);
            pack_b(head.d_o + begin * shape.o_stride, shape.o_stride, false, shape.head_dim, end - begin, {},
                   kPanelWidths, d_o);
            key_sums(begin, end, head.workspace + at_.dx, q, head.workspace + at_.chain_k, head.dk,
                     head.dk_stride);
            key_sums(begin, end, head.workspace + at_.p, d_o, head.workspace + at_.chain_v, head.dv,
                     head.dv_stride);
        }
    }

    void row_terms(const Head& head) const {
        const std::int64_t stride = sizes_.shape.o_stride;
        void* const operands[] = {const_cast<float*>(head.d_o), const_cast<float*>(head.o),
                                  head.workspace + at_.term};
        const std::int64_t strides[] = {stride, stride, 1};
        jit::RowArgs args = {};
        args.operands = operands;
        args.row_strides = strides;
        args.rows = sizes_.time();
        args.columns = sizes_.head_dim();
        args.scratch = head.workspace + at_.scratch;
        row_term_.run(args);
    }

    // A tile of query rows of the block that starts at `begin`: p' and dx over the keys of its last row (what
    // stands behind an earlier row's own keys is read by nobody), and dq.
    void run_rows(const Head& head, std::int64_t begin, std::int64_t row, std::int64_t rows) const {
        const AttentionShape& shape = sizes_.shape;
        float* const p = head.workspace + at_.p + (row - begin) * sizes_.row_floats;
        float* const dx = head.workspace + at_.dx + (row - begin) * sizes_.row_floats;
        attention_scores(sizes_, scores_, head.q, shape.q_stride, row, rows, head.workspace + at_.keys_t, p);
        attention_scores(sizes_, scores_, head.d_o, shape.o_stride, row, rows, head.workspace + at_.values_t,
                         dx);
        hide_below_windows(sizes_, row, 1, rows, p);
        hide_before_documents(sizes_, head.starts, row, rows, p);
        gradients(head, row, rows, p, dx);

        jit::GemmArgs args = {};
        args.a = dx;
        args.a_stride = sizes_.row_floats;
        args.b = head.workspace + at_.keys;
        args.b_stride = shape.time * jit::kPanel;
        args.c = head.dq + row * shape.dq_stride;
        args.c_stride = shape.dq_stride;
        args.steps = shape.causal ? row : shape.time;
        d_q_.of(rows).run(args, shape.head_dim);
    }

    void gradients(const Head& head, std::int64_t row, std::int64_t rows, float* p, float* dx) const {
        void* const operands[] = {p,
                                  dx,
                                  const_cast<float*>(head.row_max + row),
                                  const_cast<float*>(head.row_sum + row),
                                  head.workspace + at_.term + row,
                                  p,
                                  dx,
                                  const_cast<RandomState*>(head.random)};
        const std::int64_t stride = sizes_.row_floats,
                           strides[] = {stride, stride, 1, 1, 1, stride, stride, 0};
        jit::RowArgs args = {};
        args.operands = operands;
        args.row_strides = strides;
        args.rows = rows;
        args.columns = sizes_.keys(row + rows);
        args.first_row = head.random_row + static_cast<std::uint32_t>(row);
        args.scratch = head.workspace + at_.scratch;
        gradient_.run(args);
    }

    // d[j][c] += sum over the block's rows t of s[t][j] * b[t][c], as chains over the absolute t: `s` is p'
    // or dx of rows begin .. end, `b` their packed rows of dO or q. Chains that end at a cut or with the
    // sequence are closed.
    void key_sums(std::int64_t begin, std::int64_t end, const float* s, const float* b, float* chains,
                  float* d, std::int64_t d_stride) const {
        const bool closes = end == sizes_.time() || end % jit::kSegment == 0;
        const std::int64_t keys = sizes_.keys(end);
        for (std::int64_t j = 0; j < keys; j += sizes_.mr) {
            const std::int64_t rows = std::min<std::int64_t>(sizes_.mr, keys - j);
            const bool starts_here = sizes_.shape.causal && j >= begin;  // on the diagonal
            const std::int64_t start = sizes_.shape.causal ? j : 0, first = starts_here ? j : begin;
            jit::GemmArgs args = {};
            args.a = s + (first - begin) * sizes_.row_floats + j;
            args.a_stride = sizes_.row_floats;
            args.b = b + (first - begin) * jit::kPanel;
            args.b_stride = (end - begin) * jit::kPanel;
            args.c = d + j * d_stride;
            args.c_stride = d_stride;
            args.accumulators_in =
                first % jit::kSegment == 0 || starts_here ? nullptr : chains + j * sizes_.head_floats;
            args.accumulators_out = closes ? nullptr : chains + j * sizes_.head_floats;
            args.accumulator_stride = sizes_.head_floats;
            args.steps = end - first - (starts_here ? rows : 0);
            args.first_step = first;
            args.add = first / jit::kSegment > start / jit::kSegment;
            (starts_here ? diagonal_ : whole_).of(rows).run(args, sizes_.head_dim());
        }
    }
};

}  // namespace

AttentionPtr compile_attention_backward(const AttentionShape& shape, const CompileContext& context) {
    return make_attention<AttentionBackward>(shape, context);
}

}  // namespace volta::cpu
