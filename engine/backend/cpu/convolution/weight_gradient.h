// The gradient of a convolution's weight: C [channels * taps, filters] of the pictures' pixels, transposed
// into the weight. Chains run over the pixels of all pictures, some pictures (a chunk) at a time. Threads
// share the results out among them; or, where those are few and chunks end with segments, the chunks: a
// thread computes all results of its segments, which are then added in their order.
#pragma once

#include "engine/backend/cpu/convolution/picture_source.h"
#include "engine/backend/cpu/convolution/tiles.h"
#include "engine/backend/lower/steps.h"
#include "engine/base/thread_pool.h"

namespace volta::cpu {

class WeightGradient {
  public:
    WeightGradient(const ConvolutionStep& step, const CompileContext& context);

    struct Call {
        const float *x, *dy;
        float* weight;
        bool into;  // the chains are added to what it holds
        void* workspace;
    };
    // Allocates nothing.
    void run(ThreadPool& pool, const Call& call) const noexcept;

    std::size_t workspace_bytes() const { return workspace_bytes_; }
    const char* kernel_name() const { return name_; }

  private:
    struct Chunk {  // pictures, and where their chains are
        std::int64_t first, count, step, depth;
    };
    Chunk chunk_at(std::int64_t first) const noexcept;
    void run_by_results(ThreadPool& pool, const Call& call) const noexcept;
    void run_by_chunks(ThreadPool& pool, const Call& call) const noexcept;
    void pack_dy(const Call& call, const Chunk& chunk, std::int64_t index, float* packed) const noexcept;
    void copy_planes(const Call& call, const Chunk& chunk, Range planes, float* copy) const noexcept;
    void run_item(const Call& call, const Chunk& chunk, std::int64_t index, float* copy) const noexcept;
    // Of one chunk, each of its segments to results of its own.
    void run_segments(const Call& call, const Chunk& chunk, const float* packed, const float* copy,
                      float* segments) const noexcept;
    // Of a group: [channels * taps, filters] from the weight's layout and back.
    void transpose_results(const Call& call, std::int64_t group, Range rows) const noexcept;
    void transpose_weights(const Call& call, std::int64_t group, Range rows) const noexcept;
    std::int64_t result_count() const { return groups_ * channels_ * taps_ * filters_; }
    std::int64_t chunk_segments() const { return pictures_at_once_ * pixels_ / kSegment; }  // chunks shared
    int packs() const { return chunks_at_once_ > 0 ? workers_ : 1; }
    int copies() const { return copies_once_ ? 1 : workers_; }
    float* packed(const Call& call) const { return static_cast<float*>(call.workspace); }
    float* results(const Call& call) const { return packed(call) + packs() * packed_floats_; }
    float* chains(const Call& call) const { return results(call) + chain_floats_; }  // behind as many results
    float* copies(const Call& call) const { return results(call) + results_floats_; }
    float* segments(const Call& call) const { return copies(call) + copies() * copy_floats_; }

    const std::int64_t batch_, groups_, channels_, filters_, taps_, pixels_;  // of a group; of a picture
    const int workers_;
    PictureSource source_;
    std::pmr::vector<std::int64_t> offsets_;  // of the pixels of a chunk, in bytes
    std::pmr::vector<std::int64_t> taps_at_;  // elements from the first tap
    const GemmTile& tile_;
    const std::int64_t pictures_at_once_;
    const std::int64_t chunks_at_once_;  // 0: threads share the results
    const std::int64_t channels_at_once_;
    ConvolutionTiles tiles_;  // of channels
    std::int64_t tap_parts_ = 1;
    bool copies_once_ = false;  // one copy for all threads, not a few channels for each
    std::int64_t packed_floats_ = 0, chain_floats_ = 0, results_floats_ = 0, copy_floats_ = 0;
    jit::TransposeFunctions transposes_;
    std::size_t workspace_bytes_ = 0;
    char name_[64] = "conv_none";
};

}  // namespace volta::cpu
