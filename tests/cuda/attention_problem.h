// Attention problems for the tests of device kernels: operands with gaps between rows, heads that share keys,
// dropout; and how their kernels are launched in the emulation.
#pragma once

#include <string>
#include <vector>

#include "engine/numerics/define_attention.h"
#include "jitgen/cuda/attention_source.h"
#include "tests/support/simt_emulation.h"
#include "tests/support/tensors.h"

namespace volta::test {

struct AttentionCase {
    std::int64_t batch, time, heads, kv_heads;
    Data data;
};

// One problem: everything that the kernels and a definition read and write.
struct AttentionProblem {
    define::AttentionSizes size;
    define::AttentionDropout dropout;
    std::uint32_t random[3];
    std::vector<float> q, k, v, o, maxima, sums, d_o, dq, dk, dv;
};

float attention_scale(int head_dim);
AttentionProblem make_attention_problem(const jit::CudaAttentionForm& form, const AttentionCase& test,
                                        std::uint64_t seed);
jit::CudaAttentionArgs attention_args(const jit::CudaAttentionForm& form, AttentionProblem& p);

// How the kernels of one pass are launched.
struct AttentionRun {
    bool backward;
    simt::Order order;
    unsigned most_blocks;  // so that blocks walk over many tiles
    unsigned threads;      // of the kernels that walk over tiles
    int multiprocessors = 2;
};
// "" or what went wrong.
std::string run_attention(const jit::CudaAttentionForm& form, const std::string& name, AttentionProblem& p,
                          const AttentionRun& how);

}  // namespace volta::test
