// Attention by row blocks (docs/numerics.md, 4), forward and backward. T x T is never held: a block of query
// rows at a time, on the microkernels of the products.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/product.h"

namespace volta::cpu {

struct AttentionShape {
    std::int64_t batch = 0, time = 0;      // sequences; queries and keys per sequence
    std::int64_t heads = 0, kv_heads = 0;  // heads is a multiple of kv_heads
    std::int64_t head_dim = 0;
    bool causal = true;
    float scale = 0;     // the factor itself, never 0 here
    double dropout = 0;  // probability; its stream and counters as in docs/numerics.md, 8
    std::uint32_t stream = 0;
    // Elements between consecutive tokens of one sequence. Head h of q starts h * head_dim after the token's
    // first element; the same for k, v (kv_heads of them) and o. Sequences follow each other at time *
    // stride.
    std::int64_t q_stride = 0, k_stride = 0, v_stride = 0, o_stride = 0;
    std::int64_t dq_stride = 0, dk_stride = 0, dv_stride = 0;  // backward outputs
};

struct RandomState {  // of the step, read at run time
    std::uint32_t seed_low, seed_high, step;
};

struct AttentionCall {
    const float *q, *k, *v;
    float* o;                      // forward: written; backward: read
    float* row_max;                // [batch, heads, time]; forward: written; backward: read
    float* row_sum;                // [batch, heads, time]; forward: written; backward: read
    const float* d_o;              // backward, stride o_stride
    float *dq, *dk, *dv;           // backward
    const RandomState* random;     // NULL without dropout
    std::uint32_t first_sequence;  // sequences of earlier micro-batches of this step
    void* workspace;
};

class Attention {
  public:
    virtual ~Attention() = default;
    virtual std::size_t workspace_bytes() const noexcept = 0;
    virtual void run(ThreadPool& pool, const AttentionCall& call) const noexcept = 0;
    virtual const char* kernel_name() const noexcept = 0;
};
struct AttentionDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;
    void operator()(Attention* attention) const noexcept {
        attention->~Attention();
        heap->deallocate(attention, size, alignment);
    }
};
using AttentionPtr = std::unique_ptr<Attention, AttentionDelete>;

AttentionPtr compile_attention_forward(const AttentionShape& shape, const CompileContext& context);
AttentionPtr compile_attention_backward(const AttentionShape& shape, const CompileContext& context);

}  // namespace volta::cpu
