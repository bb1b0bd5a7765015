// Attention of new tokens over a cache of keys and values (docs/numerics.md, 4) in CUDA C. The cache lies as
// define::CacheLayout says (engine/numerics/define_cached_attention.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

namespace volta::jit {

// Row r is the token at positions[r] of the sequence in slots[r], or none where that is -1; no two rows are
// the same position of one slot. Element c of head h of row r of q lies at q[r * q_stride + h * head_dim +
// c]; so do the others, k and v with kv_heads. The generated text declares the same struct and asserts the
// layout.
struct CudaCachedAttentionArgs {
    const std::int32_t *slots, *positions;  // [rows], read on the device
    const float *q, *k, *v;
    float *keys, *values;  // the cache
    float* o;
    float* scratch;  // [rows, heads, capacity]: as many bytes as the launch says
    std::int64_t q_stride, k_stride, v_stride, o_stride;
    std::int64_t rows, heads, kv_heads, capacity;  // heads is a multiple of kv_heads, capacity one of 16
    std::int64_t window;                           // with a window: keys that a query gives weight, the last
    float scale;
    float cap;  // with a cap: of scores
};

struct CudaCachedAttentionForm {
    int head_dim = 64;  // 1 or more
    bool window = false, cap = false;
};

inline constexpr unsigned kCachedScoreThreads = 64;  // of a block of NAME_scores
inline constexpr unsigned kCachedThreads = 256;      // of a block of NAME_store and NAME_values

// What follows append_attention_functions once per translation unit.
void append_cached_attention_prelude(std::pmr::string& text);

// Entry points, which run in this order: NAME_store, NAME_scores, NAME_values. Or NAME_decode alone, for few
// rows over a cache that is not too long: the same results.
void append_cached_attention_kernels(const CudaCachedAttentionForm& form, const char* name,
                                     std::pmr::string& text);

// The same for every step of a generator: what positions say is read on the device.
struct CachedAttentionLaunch {
    unsigned store_x;             // blocks of kCachedThreads; 0: nothing to launch at all
    unsigned scores_x, scores_y;  // of kCachedScoreThreads
    unsigned values_x;            // of kCachedThreads
    std::size_t scratch_bytes;
};
// `multiprocessors` of the device, 1 or more.
CachedAttentionLaunch cached_attention_launch(int head_dim, const CudaCachedAttentionArgs& args,
                                              int multiprocessors);

inline constexpr std::int64_t kMostDecodeRows = 16, kMostDecodeCapacity = 4096;

// Blocks of kCachedThreads of NAME_decode, which needs no scratch memory; 0: it cannot do this, or there is
// nothing to do.
unsigned cached_decode_blocks(int head_dim, const CudaCachedAttentionArgs& args);

}  // namespace volta::jit
