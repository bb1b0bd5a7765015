// Forward, loss, backward, clipping and update as one graph with three phases. What a gradient is over
// several micro-batches is said here once (docs/numerics.md, 7): products and column sums continue (`into`),
// embedding gradients wait for all positions, everything else is added complete.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/graph/graph.h"

namespace volta {

struct TrainingSpec {
    explicit TrainingSpec(std::pmr::memory_resource* heap) : class_weights(heap), frozen(heap) {}
    volta_loss loss = VOLTA_LOSS_CROSS_ENTROPY;
    double label_smoothing = 0, huber_delta = 0;  // of the losses that have them
    std::pmr::vector<double> class_weights;       // empty: none
    volta_optimizer optimizer = VOLTA_ADAMW;
    std::uint32_t micro_batches = 1;
    double clip_norm = 0;
    bool decay_all_parameters = false;
    bool has_momentum = false, nesterov = false;  // of SGD
    bool update_in_backward = false;              // PlanOptions has it too
    int output_index = 0;
    std::pmr::vector<std::int32_t> frozen;  // parameters by their place among them, ascending

    // Updates that begin before the last gradient is there cannot wait for a norm: another pass finds it
    // before.
    bool needs_norm_pass() const { return update_in_backward && clip_norm > 0; }
};

// Sources the trainer fills in, beside the model's inputs and parameters:
//   targets              i32 or f32, one micro-batch; the host gives all of them one after the other
//   step/gradient_scale  f32 []: 1/targets (cross-entropy, or 1/their weights), 2/elements (MSE) or 1/elements
//                        of the whole step
//   step/count           f32 []: what the summed loss is divided by
//   step/factors         f32 [8, 3 or 2]: of parameters that decay; step/factors_plain: of those that do not
//   step/random          i32 [3]: seed low, seed high, step; only where the model has dropout
// Frozen parameters are constants: no gradient, no state, no update; a batch norm whose statistics are frozen
// keeps them and is computed by them.
// Outputs: loss [], gradient_norm [], square_sums [n] (one per trained parameter, in declaration order), and
// gradient/<parameter>, unless the update is made in the backward pass. States: <parameter>/m, /v or /h.
// Where a norm pass is needed norm and sums are its outputs, and step/clip_factor f32 [] is one more source.
Graph build_training_graph(const Graph& model, const TrainingSpec& spec, std::pmr::memory_resource* heap);
// The norm pass: the sources above but factors, nothing changes. Outputs: loss, gradient_norm, square_sums
// and clip_factor.
inline constexpr char kClipFactor[] = "clip_factor";
Graph build_norm_graph(const Graph& model, const TrainingSpec& spec, std::pmr::memory_resource* heap);

// A step of several shards is three graphs: each shard's, whose results are added, and behind the sum what
// makes a step of it. The shard's has the sources above but factors; outputs: loss_sum [],
// gradient/<parameter> and, for running statistics of batch norms, statistic/<parameter>.
inline constexpr char kLossSum[] = "loss_sum", kGradient[] = "gradient/", kStatistic[] = "statistic/";
Graph build_shard_graph(const Graph& model, const TrainingSpec& spec, std::pmr::memory_resource* heap);

// What the shards' results are the sum of.
struct SummedTensor {
    std::pmr::string name;  // of the parameter
    Shape shape;
    bool is_statistic;  // else a gradient
};
// Of the gradients that one rank owns, inputs gradient/<parameter>: output square_sums [n]. There is one at
// least.
Graph build_square_sums_graph(const std::pmr::vector<SummedTensor>& owned, std::pmr::memory_resource* heap);
// The update of the parameters that one rank owns. Inputs: gradient/<parameter>, statistic/<parameter>,
// loss_sum, square_sums [gradients] of all parameters, step/count, step/factors, step/factors_plain; outputs:
// loss, gradient_norm.
Graph build_update_graph(const std::pmr::vector<SummedTensor>& owned, std::int64_t gradients,
                         std::uint32_t shards, const TrainingSpec& spec, std::pmr::memory_resource* heap);

// Does weight decay apply to a parameter of this shape?
bool decays(const TrainingSpec& spec, const Shape& shape);

}  // namespace volta
