// A convolution that gives pictures: y of x and the weight, or, transposed, x of y.
#pragma once

#include "engine/backend/cpu/convolution/epilogue.h"
#include "engine/backend/cpu/convolution/picture_source.h"
#include "engine/backend/cpu/convolution/tiles.h"
#include "engine/backend/lower/steps.h"
#include "engine/base/thread_pool.h"

namespace volta::cpu {

class PictureConvolution {
  public:
    // epilogue: NULL, or the program that calls will carry.
    PictureConvolution(const ConvolutionStep& step, const jit::RowKernel* epilogue,
                       const CompileContext& context);
    // Whether it runs the epilogue, on results that are in cache; else its caller does, when all are there.
    bool runs_epilogue() const { return epilogue_ != nullptr; }

    struct Call {
        const float* source;  // x, or y
        const float* packed;  // what pack() has packed
        float* result;
        void* workspace;
        const CallEpilogue* epilogue;  // where runs_epilogue()
    };
    // Allocates nothing.
    void run(ThreadPool& pool, const Call& call) const noexcept;
    // The weight, for every run until it changes.
    void pack(ThreadPool& pool, const float* weight, float* packed) const noexcept;

    std::size_t packed_bytes() const { return static_cast<std::size_t>(packed_floats_) * sizeof(float); }
    std::size_t workspace_bytes() const { return workspace_bytes_; }
    const char* kernel_name() const { return name_; }

  private:
    // One of the interleaved pictures. Its pixels lie in runs, from one to the next of which the source goes
    // on evenly.
    struct Phase {
        Phase(const AxisPhase& rows, const AxisPhase& columns, const PictureSource& source,
              std::int64_t inputs, std::int64_t filters, std::int64_t taps_in_row,
              const CompileContext& context);
        std::int64_t width;             // pixels of a row
        std::int64_t runs, run_stride;  // elements of the source from one to the next
        std::int64_t length, step;      // pixels of a run; elements of the source from one to the next
        std::int64_t first_row, first_column, row_step, column_step;  // where results go
        std::int64_t depth, taps;                                     // of the chain; of the phase
        std::pmr::vector<std::int64_t> offsets;                       // [depth], in bytes
        std::pmr::vector<std::int64_t> kernel_taps;                   // [taps], of the weight
        ConvolutionTiles tiles;
        // Work items: runs, or tiles of the only run, so many at once.
        std::int64_t at_once, blocks;
        std::int64_t packed_begin = 0;  // of all groups
        std::int64_t packed_group() const { return tiles.packed_floats(depth); }
        std::int64_t pixels_at_once() const;
    };
    struct Item {
        const Phase* phase;
        std::int64_t group, piece, block;
    };

    void pack_piece(const Phase& phase, std::int64_t group, std::int64_t piece, const float* weight,
                    float* packed) const noexcept;
    // Of one picture.
    std::int64_t items() const;
    Item item(std::int64_t index) const noexcept;
    void run_item(const Call& call, const Item& item, std::int64_t picture, const float* planes,
                  float* scratch) const noexcept;
    void write(const Phase& phase, float* scratch, std::int64_t pixel, std::int64_t pixels, int width,
               float* to) const noexcept;
    const float* planes_of(const Call& call, std::int64_t picture) const {
        return call.source + picture * groups_ * inputs_ * source_.plane_of_source();
    }

    const bool is_transposed_;
    const std::int64_t batch_, groups_, inputs_, filters_;  // of a group
    const std::int64_t plane_, columns_, taps_;             // of the result; of the weight
    const int workers_;
    const std::int64_t most_piece_;  // floats of packed columns that stay in L2 beside the picture
    bool by_pictures_ = false;       // each worker has pictures of its own
    bool has_gaps_ = false;          // pixels that no tap meets
    bool streams_ = false;           // results by non-temporal stores: the LLC does not hold the pictures
    PictureSource source_;
    std::pmr::vector<Phase> phases_;
    jit::TransposeFunctions transposes_;
    const jit::RowKernel* epilogue_;
    std::int64_t packed_floats_ = 0, copy_floats_ = 0, scratch_floats_ = 0;
    std::int64_t tile_floats_ = 0;  // of the scratch; then the epilogue's
    std::size_t workspace_bytes_ = 0;
    char name_[64] = "conv_none";
};

}  // namespace volta::cpu
