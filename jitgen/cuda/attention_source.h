// Attention and its gradient (docs/numerics.md, 4) in CUDA C, by tiles of 64 queries and 64 keys: time x time
// is never held. Scores are computed again by every pass that needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

namespace volta::jit {

// Element c of head h of token t of sequence b of q lies at q[(b * time + t) * q_stride + h * head_dim + c];
// so do the others by their strides, k, v, dk and dv with kv_heads. The generated text declares the same
// struct and asserts the layout.
struct CudaAttentionArgs {
    const float *q, *k, *v;
    float* o;                     // forward: written; backward: read
    float *row_max, *row_sum;     // [batch, heads, time]; forward: written; backward: read
    const float* d_o;             // backward, by o_stride
    float *dq, *dk, *dv;          // backward
    float* scratch;               // backward: as many bytes as the launch says
    const std::uint32_t* random;  // with dropout: seed (low, high) and step, read on the device
    std::int64_t q_stride, k_stride, v_stride, o_stride, dq_stride, dk_stride, dv_stride;
    std::int64_t batch, time, heads, kv_heads;  // heads is a multiple of kv_heads
    std::int64_t window;                        // with a window: keys that a query gives weight, the last
    float scale;                                // of scores
    float kept_scale;                           // DropoutRule: what kept probabilities are multiplied with
    std::uint32_t threshold;                    // DropoutRule: an element is kept if its bits are not below
    std::uint32_t last_word;                    // purpose_and_stream of the dropout
    std::uint32_t first_sequence;               // sequences of earlier micro-batches of this step
    float cap;                                  // with a cap: of scores
};

struct CudaAttentionForm {
    int head_dim = 64;  // 1 to 256
    bool causal = true;
    bool dropout = false;
    bool window = false;  // with causal
    bool cap = false;
};

inline constexpr unsigned kAttentionThreads = 256;  // of a block of every attention kernel

// "AttentionScores<false, true>": what becomes of the chains of a kernel's queries and keys.
std::pmr::string attention_scores_type(bool window, bool cap, std::pmr::memory_resource* heap);

// What attention needs of the contract's functions, once per translation unit behind the prelude of row
// kernels.
void append_attention_functions(std::pmr::string& text);

// What follows those and the prelude of products once per translation unit.
void append_attention_prelude(std::pmr::string& text);

// Entry points: NAME_forward. For the gradient NAME_terms, NAME_queries (dq) and NAME_keys (dk, dv), and
// NAME_groups where there are fewer kv heads than heads. Throws Error{INTERNAL} for a head_dim that is none.
void append_attention_kernels(const CudaAttentionForm& form, const char* name, std::pmr::string& text);

struct AttentionLaunch {
    unsigned forward_x;          // blocks of NAME_forward, NAME_queries and NAME_keys; 0: none
    unsigned terms_x, groups_x;  // 0: not launched
    std::size_t scratch_bytes;   // of the gradient
};
// `multiprocessors` of the device, 1 or more. Throws Error{UNSUPPORTED} for more than 2^24 tokens of time.
AttentionLaunch attention_launch(int head_dim, const CudaAttentionArgs& args, int multiprocessors);

}  // namespace volta::jit
