// Attention of new tokens over a cache (docs/numerics.md, 4). Keys and values lie in the cache as products
// read their packed B, so nothing is packed: a token's key and value are stored, then its query meets them.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/attention/parts.h"

namespace volta::cpu {

struct CachedAttentionCall {
    const std::int32_t *slots, *positions;  // [rows]; slot -1: no token
    const float *q, *k, *v;
    float *o, *keys, *values;
    void* workspace;
};

class CachedAttention final {
  public:
    // operations_per_worker: as in BackendContext.
    CachedAttention(const CachedAttentionShape& shape, double operations_per_worker,
                    const CompileContext& context);

    std::size_t workspace_bytes() const noexcept {
        return layout_.floats() * sizeof(float) * static_cast<std::size_t>(threads_);
    }
    const char* kernel_name() const noexcept { return sizes_.tile_name; }
    void run(ThreadPool& pool, const CachedAttentionCall& call) const noexcept;

  private:
    // Tokens of one sequence that follow each other, at most a tile of them.
    struct Block {
        std::int64_t row, rows, slot, position;  // of the first
    };
    // What a call amounts to, which decides who does what.
    struct Work {
        std::int64_t blocks = 0;
        double operations = 0, stored = 0;  // to attend; floats of keys and values
        bool ascends = true;                // of each slot's rows none stands before one of a lower position
    };
    // A block of one head of keys and values, by its first row.
    struct Unit {
        std::int64_t row, kv_head;
    };
    // A tile of query rows: tokens of one head, or heads of one token that share keys.
    struct Tile {
        std::int64_t rows, keys, full_keys;  // all that the last row sees; those that every row sees
        const float* q;
        std::int64_t q_stride;
        float* o;
        std::int64_t o_stride;
        const float *keys_of_head, *values_of_head;
        const float* next_keys;  // wanted after this tile
    };
    Block block_at(const CachedAttentionCall& call, std::int64_t row) const noexcept;
    Work work_of(const CachedAttentionCall& call) const noexcept;
    void store_row(const CachedAttentionCall& call, std::int64_t row, std::int64_t kv_head) const noexcept;
    void prefetch_row(const CachedAttentionCall& call, std::int64_t row, std::int64_t kv_head) const noexcept;
    void run_block(const CachedAttentionCall& call, const Block& block, std::int64_t kv_head,
                   const float* next_keys, float* workspace) const noexcept;
    Unit behind(const Block& block, std::int64_t kv_head) const noexcept;
    const float* keys_of(const CachedAttentionCall& call, const Unit& unit) const noexcept;
    void run_tile(const Tile& tile, float* workspace) const noexcept;
    void softmax(const Tile& tile, float* workspace) const noexcept;
    int workers_for(double operations) const noexcept;

    const CachedAttentionShape shape_;
    const double operations_per_worker_;
    const AttentionSizes sizes_;  // of a sequence that fills its slot
    const jit::RowKernel& softmax_;
    const int threads_;
    // By rows of the tile; triangles are of tokens, whole rows of heads.
    MacroKernel scores_[jit::kMaxTileRows + 1], triangles_[jit::kMaxTileRows + 1],
        whole_[jit::kMaxTileRows + 1];
    WorkspaceLayout layout_;  // per worker
    std::size_t rows_at_, statistics_at_, scratch_at_;
};

}  // namespace volta::cpu
