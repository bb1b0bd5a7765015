// Attention by row blocks (docs/numerics.md, 4), forward and backward. T x T is never held: a block of query
// rows at a time, on the microkernels of the products.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

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
    const std::int32_t* starts;    // [batch, time]: where the documents of tokens begin; NULL without
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
