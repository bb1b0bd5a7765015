// The product microkernels in plain C++: what runs without generated code, and reads like the definition.
#include <algorithm>

#include "engine/numerics/fma32.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/gemm_f32.h"
#include "jitgen/gemm_packed.h"

namespace volta::jit {
namespace {

// One register tile's worth of chains: [kMaxTileRows, kMaxTileColumns].
struct Tile {
    const GemmForm& form;
    const GemmArgs& args;
    int columns;
    bool add;  // the next segment closed is added to C
    float chain[kMaxTileRows * kMaxTileColumns];

    float& at(int i, int j) { return chain[i * kMaxTileColumns + j]; }
    float a(int i, std::int64_t k) const {
        if (form.a == GemmA::ones) return 1.0f;
        if (form.a == GemmA::offsets)
            return args.a[i * args.a_stride + args.a_offsets[k] / static_cast<std::int64_t>(sizeof(float))];
        return form.a == GemmA::rows ? args.a[i * args.a_stride + k] : args.a[k * args.a_stride + i];
    }
    float b(std::int64_t k, int j) const {
        if (form.b == GemmB::tile) return args.b[in_tile(k, j)];
        if (form.b != GemmB::panels) return args.b[k * args.b_stride + j];
        const int column = j + (form.half ? gemm_lanes(form.isa) : 0);
        return args.b[column / kPanel * args.b_stride + k * kPanel + column % kPanel];
    }
    std::int64_t in_tile(std::int64_t k, int j) const { return k * gemm_width(form) + j; }

    // Step k of rows [from, to).
    void step(std::int64_t k, int from, int to) {
        if (form.b == GemmB::pack_on_first_use)
            for (int j = 0; j < columns; ++j) args.packed[in_tile(k, j)] = b(k, j);
        for (int i = from; i < to; ++i) {
            const float value = a(i, k);
            for (int j = 0; j < columns; ++j) at(i, j) = fma32(value, b(k, j), at(i, j));
        }
    }

    void start() {
        const bool resumed = args.accumulators_in != nullptr && form.triangle != Triangle::head;
        for (int i = 0; i < form.mr; ++i)
            for (int j = 0; j < columns; ++j)
                at(i, j) = resumed ? args.accumulators_in[i * args.accumulator_stride + j] : 0.0f;
    }

    void close() {
        for (int i = 0; i < form.mr; ++i) {
            for (int j = 0; j < columns; ++j) {
                float& c = args.c[i * args.c_stride + j];
                c = add ? c + at(i, j) : at(i, j);
                at(i, j) = 0.0f;
            }
        }
        add = true;
    }

    void leave_unfinished() {
        for (int i = 0; i < form.mr; ++i)
            for (int j = 0; j < columns; ++j)
                args.accumulators_out[i * args.accumulator_stride + j] = at(i, j);
    }
};

void run_tile(const GemmForm& form, const GemmArgs& args) {
    const int lanes = gemm_lanes(form.isa);
    const int last = form.masked ? static_cast<int>(args.tail_columns) : lanes;
    Tile tile{form, args, (form.vectors - 1) * lanes + last, args.add != 0, {}};
    tile.start();

    std::int64_t k = 0;
    const auto close_at_cut = [&] {  // before the next step: the one before it ended a segment
        if (k > 0 && (args.first_step + k) % kSegment == 0) tile.close();
    };
    if (form.triangle == Triangle::head)
        for (int s = 0; s < form.mr; ++s, ++k) tile.step(k, 0, s + 1);
    for (const std::int64_t end = k + args.steps; k < end; ++k) {
        close_at_cut();
        tile.step(k, 0, form.mr);
    }
    if (form.triangle == Triangle::tail) {
        close_at_cut();
        for (int s = 0; s < form.mr; ++s, ++k) tile.step(k, s, form.mr);
    }
    if (args.accumulators_out) {
        tile.leave_unfinished();
    } else {
        tile.close();
    }
}

}  // namespace

void gemm_f32_plain(const GemmForm& form, GemmArgs& args) noexcept {
    for (;;) {
        run_tile(form, args);
        if (--args.next.tiles == 0) return;
        args.a += args.next.a;
        args.b += args.next.b;
        args.c += args.next.c;
        if (args.accumulators_in) args.accumulators_in += args.next.accumulators;
        if (args.accumulators_out) args.accumulators_out += args.next.accumulators;
        if (form.b == GemmB::pack_on_first_use) args.packed += args.next.stream;
    }
}

void gemm_packed_plain(const PackedForm& form, const PackedArgs& args) noexcept {
    const int columns = form.panels * static_cast<int>(kStoredPanel);
    for (int i = 0; i < form.rows; ++i)
        for (int j = 0; j < columns; ++j) {
            // A segment of one panel reads like a tensor of 16 outputs and args.steps of k.
            const StoredWeights w = {form.dtype, args.b + j / kStoredPanel * args.panel_stride, kStoredPanel,
                                     args.steps};
            args.sums[i * columns + j] =
                define::stored_chain(args.a + i * args.a_stride, w, j % kStoredPanel);
        }
}

}  // namespace volta::jit
