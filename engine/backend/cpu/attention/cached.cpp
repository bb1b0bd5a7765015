#include "engine/backend/cpu/attention/cached.h"

#include <algorithm>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

AttentionShape whole_sequence(const CachedAttentionShape& shape) {
    AttentionShape whole;
    whole.batch = shape.cache.slots;
    whole.time = shape.cache.capacity;
    whole.heads = shape.heads;
    whole.kv_heads = shape.cache.kv_heads;
    whole.head_dim = shape.cache.head_dim;
    whole.scale = shape.scale;
    whole.window = shape.window;
    whole.cap = shape.cap;
    return whole;
}

// Few rows are waited for, not computed: more columns keep more chains in flight.
int columns_for(const AttentionSizes& sizes, std::int64_t rows) {
    const int registers = sizes.isa == Isa::avx512 ? 32 : sizes.isa == Isa::avx2 ? 16 : 0;
    const std::int64_t chains = rows * (jit::kMaxTileColumns / jit::gemm_lanes(sizes.isa));
    return 2 * chains <= registers ? jit::kMaxTileColumns : sizes.nr;
}

// Scores prefetch the values of their keys, and values for the keys that are read next, as much as they read:
// a token waits for its keys and values, which come from DRAM a head at a time.
constexpr std::int64_t kLinesPrefetched = 4;

MacroKernel strip_of(const AttentionSizes& sizes, std::int64_t rows, jit::Triangle triangle,
                     std::int64_t lines_prefetched) {
    jit::GemmForm form;
    form.prefetch_lines = static_cast<std::uint8_t>(rows <= 12 ? lines_prefetched : 0);
    form.isa = sizes.isa;
    form.a = jit::GemmA::rows;
    form.triangle = triangle;
    form.mr = static_cast<std::uint8_t>(rows);
    return MacroKernel(form, columns_for(sizes, rows));
}

}  // namespace

CachedAttention::CachedAttention(const CachedAttentionShape& shape, double operations_per_worker,
                                 const CompileContext& context)
    : shape_(shape),
      operations_per_worker_(operations_per_worker),
      sizes_(attention_sizes(whole_sequence(shape), context)),
      softmax_(context.compiler.cache->row(attention_softmax_program(sizes_.shape, context.compiler.heap),
                                           sizes_.isa, *context.compiler.arena)),
      threads_(std::max(context.machine.threads, 1)) {
    const std::int64_t most_tokens = std::min<std::int64_t>(shape.rows, sizes_.mr);
    const std::int64_t head_tile = std::min<std::int64_t>(sizes_.group(), sizes_.mr);
    for (std::int64_t rows = 1; rows <= sizes_.mr; ++rows) {
        const bool of_tokens = rows >= 2 && rows <= most_tokens;
        const bool of_heads = rows == head_tile || rows == sizes_.group() % sizes_.mr;
        if (of_tokens || of_heads) {
            scores_[rows] = strip_of(
                sizes_, rows, jit::Triangle::none,
                of_heads ? std::min(kLinesPrefetched, ceil_div(sizes_.head_dim(), define::kCachePanel)) : 0);
            scores_[rows].add_whole_vectors(columns_for(sizes_, rows), context.compiler);
        }
        if (of_tokens) {
            triangles_[rows] = strip_of(sizes_, rows, jit::Triangle::tail, 0);
            triangles_[rows].add_columns(sizes_.head_dim(), context.compiler);
        }
        if (of_heads) {
            whole_[rows] = strip_of(sizes_, rows, jit::Triangle::none, kLinesPrefetched);
            whole_[rows].add_columns(sizes_.head_dim(), context.compiler);
        }
    }
    rows_at_ = layout_.add(sizes_.mr * sizes_.row_floats);
    statistics_at_ = layout_.add(2 * sizes_.mr);
    scratch_at_ = layout_.add_bytes(softmax_.scratch_bytes(shape.cache.capacity));
}

int CachedAttention::workers_for(double operations) const noexcept {
    const double worth = operations / operations_per_worker_;
    return worth >= threads_ ? threads_ : std::max(1, static_cast<int>(worth));
}

// Blocks end at positions that are multiples of the tile: no cut of a chain falls inside their triangle.
CachedAttention::Block CachedAttention::block_at(const CachedAttentionCall& call,
                                                 std::int64_t row) const noexcept {
    Block block = {row, 1, call.slots[row], call.positions[row]};
    const std::int64_t most = std::min(sizes_.mr - block.position % sizes_.mr, shape_.rows - row);
    while (block.rows < most && block.slot >= 0 && call.slots[row + block.rows] == block.slot &&
           call.positions[row + block.rows] == block.position + block.rows)
        ++block.rows;
    return block;
}

void CachedAttention::store_row(const CachedAttentionCall& call, std::int64_t row,
                                std::int64_t kv_head) const noexcept {
    const define::CacheLayout& cache = shape_.cache;
    const std::int64_t slot = call.slots[row], position = call.positions[row], d = cache.head_dim;
    if (slot < 0) return;
    const float* const k = call.k + row * shape_.k_stride + kv_head * d;
    const float* const v = call.v + row * shape_.v_stride + kv_head * d;
    float* const key = call.keys + cache.key_head(slot, kv_head) + cache.key(position, 0);
    float* const value = call.values + cache.value_head(slot, kv_head) + cache.value(position, 0);
    for (std::int64_t c = 0; c < d; ++c) key[c * define::kCachePanel] = k[c];
    for (std::int64_t c = 0; c < d; c += define::kCachePanel)
        std::copy_n(v + c, std::min(define::kCachePanel, d - c), value + c * cache.capacity);
}

// A token's key lies in as many lines as a head has elements, which come from DRAM.
void CachedAttention::prefetch_row(const CachedAttentionCall& call, std::int64_t row,
                                   std::int64_t kv_head) const noexcept {
    const define::CacheLayout& cache = shape_.cache;
    const std::int64_t slot = call.slots[row], position = call.positions[row], d = cache.head_dim;
    if (slot < 0) return;
    const float* const key = call.keys + cache.key_head(slot, kv_head) + cache.key(position, 0);
    const float* const value = call.values + cache.value_head(slot, kv_head) + cache.value(position, 0);
    for (std::int64_t c = 0; c < d; ++c) __builtin_prefetch(key + c * define::kCachePanel);
    for (std::int64_t c = 0; c < d; c += define::kCachePanel) __builtin_prefetch(value + c * cache.capacity);
}

CachedAttention::Work CachedAttention::work_of(const CachedAttentionCall& call) const noexcept {
    Work work;
    double keys = 0, read = 0;  // by all rows; from the cache
    std::uint64_t seen = 0;     // slots, of those that it counts
    for (std::int64_t row = 0; row < shape_.rows; ++work.blocks) {
        const Block block = block_at(call, row);
        const double end = static_cast<double>(block.position + block.rows);
        keys += static_cast<double>(block.rows) * end;
        read += end;
        if (block.slot >= 0) {
            const std::uint64_t bit = block.slot < 64 ? std::uint64_t{1} << block.slot : 0;
            const bool is_new = bit != 0 && (seen & bit) == 0;
            const bool goes_on =
                row > 0 && call.slots[row - 1] == block.slot && call.positions[row - 1] < block.position;
            work.ascends = work.ascends && (is_new || goes_on);
            seen |= bit;
        }
        row += block.rows;
    }
    const double kv_floats = static_cast<double>(shape_.cache.kv_heads * shape_.cache.head_dim);
    work.stored = static_cast<double>(shape_.rows) * kv_floats;
    // A byte from memory takes about as long as an operation: one token waits for its keys and values.
    work.operations = 4 * keys * static_cast<double>(shape_.heads * shape_.cache.head_dim) +
                      2 * sizeof(float) * read * kv_floats;
    return work;
}

// Where no row attends to a key that a later one stores, and whoever computes a head computes all of it,
// several workers store the keys and values of each block right before it, so that their lines come while
// others are read, and for all workers. Else all are stored first; one worker alone is not slower so.
void CachedAttention::run(ThreadPool& pool, const CachedAttentionCall& call) const noexcept {
    if (shape_.rows == 0 || shape_.cache.slots == 0) return;
    const std::int64_t kv_heads = shape_.cache.kv_heads;
    const Work work = work_of(call);
    const std::int64_t units = kv_heads * work.blocks;
    const std::int64_t workers = std::min<std::int64_t>(workers_for(work.operations), units);
    const bool stores_itself = workers > 1 && work.ascends && (work.blocks == 1 || kv_heads % workers == 0);
    if (!stores_itself)
        pool.run(static_cast<int>(std::min<std::int64_t>(workers_for(2 * work.stored), shape_.rows)),
                 [&](int worker, int count) noexcept {
                     const Range mine = part_of(shape_.rows, 1, worker, count);
                     for (std::int64_t row = mine.begin; row < mine.end; ++row)
                         for (std::int64_t h = 0; h < kv_heads; ++h) store_row(call, row, h);
                 });
    const std::int64_t grain = stores_itself ? work.blocks : 1;
    pool.run(static_cast<int>(workers), [&](int worker, int count) noexcept {
        float* const workspace =
            static_cast<float*>(call.workspace) + static_cast<std::size_t>(worker) * layout_.floats();
        const Range mine = part_of(units, grain, worker, count);
        for (std::int64_t head = mine.begin / work.blocks; head * work.blocks < mine.end; ++head) {
            std::int64_t unit = head * work.blocks;
            for (std::int64_t row = 0; row < shape_.rows && unit < mine.end; ++unit) {
                const Block block = block_at(call, row);
                row += block.rows;
                if (unit < mine.begin) continue;
                const Unit next = behind(block, head);
                if (stores_itself) {
                    for (std::int64_t i = block.row; i < row; ++i) store_row(call, i, head);
                    prefetch_row(call, next.row, next.kv_head);
                }
                run_block(call, block, head, keys_of(call, next), workspace);
            }
        }
    });
}

// The next block of the same head, or the first one of the next.
CachedAttention::Unit CachedAttention::behind(const Block& block, std::int64_t kv_head) const noexcept {
    const std::int64_t row = block.row + block.rows;
    return row < shape_.rows ? Unit{row, kv_head} : Unit{0, (kv_head + 1) % shape_.cache.kv_heads};
}

const float* CachedAttention::keys_of(const CachedAttentionCall& call, const Unit& unit) const noexcept {
    return call.keys + shape_.cache.key_head(std::max<std::int64_t>(call.slots[unit.row], 0), unit.kv_head);
}

void CachedAttention::run_block(const CachedAttentionCall& call, const Block& block, std::int64_t kv_head,
                                const float* next_keys, float* workspace) const noexcept {
    const std::int64_t d = shape_.cache.head_dim, group = sizes_.group();
    const std::int64_t first_head = kv_head * group;
    float* const o = call.o + block.row * shape_.o_stride + first_head * d;
    if (block.slot < 0) {
        std::fill_n(o, group * d, 0.0f);
        return;
    }
    const float* const q = call.q + block.row * shape_.q_stride + first_head * d;
    Tile tile = {};
    tile.keys = block.position + block.rows;
    tile.keys_of_head = call.keys + shape_.cache.key_head(block.slot, kv_head);
    tile.values_of_head = call.values + shape_.cache.value_head(block.slot, kv_head);
    tile.next_keys = next_keys;
    const bool one_token = block.rows == 1;
    const std::int64_t step = one_token ? sizes_.mr : 1;
    for (std::int64_t head = 0; head < group; head += step) {
        tile.rows = one_token ? std::min(step, group - head) : block.rows;
        tile.full_keys = one_token ? tile.keys : block.position;
        tile.q = q + head * d;
        tile.q_stride = one_token ? d : shape_.q_stride;
        tile.o = o + head * d;
        tile.o_stride = one_token ? d : shape_.o_stride;
        run_tile(tile, workspace);
    }
}

void CachedAttention::run_tile(const Tile& tile, float* workspace) const noexcept {
    float* const rows_of_scores = workspace + rows_at_;
    jit::GemmArgs args = {};
    args.a = tile.q;
    args.a_stride = tile.q_stride;
    args.b = tile.keys_of_head;
    args.b_stride = shape_.cache.head_dim * jit::kPanel;
    args.c = rows_of_scores;
    args.c_stride = sizes_.row_floats;
    args.steps = shape_.cache.head_dim;
    args.prefetch.target = tile.values_of_head;
    args.prefetch.stride = define::kCachePanel;
    args.prefetch.line = shape_.cache.capacity * define::kCachePanel;
    // Whole vectors: what lies behind the last key gives scores that nobody reads.
    scores_[tile.rows].run(args, round_up(tile.keys, jit::gemm_lanes(sizes_.isa)));
    softmax(tile, workspace);

    args = {};
    args.a = rows_of_scores;
    args.a_stride = sizes_.row_floats;
    args.b = tile.values_of_head;
    args.b_stride = shape_.cache.capacity * jit::kPanel;
    args.c = tile.o;
    args.c_stride = tile.o_stride;
    args.steps = tile.full_keys;
    args.prefetch.target = tile.next_keys;
    args.prefetch.stride = kLinesPrefetched * define::kCachePanel;
    args.prefetch.line = define::kCachePanel;
    const bool is_triangle = tile.full_keys < tile.keys;
    (is_triangle ? triangles_ : whole_)[tile.rows].run(args, shape_.cache.head_dim);
}

// A key that is hidden from an earlier row scores -Inf there, as in attention without a cache.
void CachedAttention::softmax(const Tile& tile, float* workspace) const noexcept {
    float *const scores = workspace + rows_at_, *const statistics = workspace + statistics_at_;
    const bool of_tokens = tile.full_keys < tile.keys;
    for (std::int64_t i = 0; of_tokens && i < tile.rows; ++i)
        std::fill(scores + i * sizes_.row_floats + tile.full_keys + i + 1,
                  scores + i * sizes_.row_floats + tile.keys, chain_without_weight(shape_.scale));
    hide_below_windows(sizes_, of_tokens ? tile.full_keys : tile.keys - 1, of_tokens ? 1 : 0, tile.rows,
                       scores);
    void* const operands[] = {scores, scores, statistics, statistics + sizes_.mr, nullptr};
    const std::int64_t strides[] = {sizes_.row_floats, sizes_.row_floats, 1, 1, 0};
    jit::RowArgs args = {};
    args.operands = operands;
    args.row_strides = strides;
    args.rows = tile.rows;
    args.columns = tile.keys;
    args.scratch = workspace + scratch_at_;
    softmax_.run(args);
}

}  // namespace volta::cpu
