#include "engine/runtime/trainer_options.h"

#include <cstdio>

#include "engine/base/error.h"
#include "engine/runtime/frozen.h"
#include "engine/runtime/loss.h"
#include "engine/runtime/optimizer_options.h"
#include "engine/runtime/session.h"

namespace volta {

namespace {

constexpr double kSmallestDelta = 1e-30;
constexpr std::size_t kMostClassWeights = 1000000;  // checkpoints number them with six digits

// What belongs to one loss is refused beside another: it would do nothing.
void read_loss(const volta_trainer_options& c, const LossRow& loss, TrainingSpec& spec) {
    spec.loss = c.loss;
    if (c.label_smoothing != 0 && c.loss != VOLTA_LOSS_CROSS_ENTROPY)
        fail(VOLTA_INVALID_ARGUMENT, "label_smoothing is %g, which the %s loss does not have",
             c.label_smoothing, loss.name);
    if (!(c.label_smoothing >= 0 && c.label_smoothing < 1))  // NaN fails too
        fail(VOLTA_INVALID_ARGUMENT, "label_smoothing is %g, it must be at least 0 and below 1",
             c.label_smoothing);
    spec.label_smoothing = c.label_smoothing;

    if (c.huber_delta != 0 && c.loss != VOLTA_LOSS_HUBER)
        fail(VOLTA_INVALID_ARGUMENT, "huber_delta is %g, which the %s loss does not have", c.huber_delta,
             loss.name);
    if (c.loss == VOLTA_LOSS_HUBER) spec.huber_delta = c.huber_delta == 0 ? 1 : c.huber_delta;
    if (c.loss == VOLTA_LOSS_HUBER) require_range("huber_delta", spec.huber_delta, kSmallestDelta, kLargest);

    require((c.class_weights == nullptr) == (c.class_weight_count == 0),
            "class_weights is %s and class_weight_count is %zu",
            c.class_weights == nullptr ? "NULL" : "given", c.class_weight_count);
    if (c.class_weight_count != 0 && !loss.has_weights)
        fail(VOLTA_INVALID_ARGUMENT, "class_weights are given, which the %s loss does not have", loss.name);
    if (c.class_weight_count > kMostClassWeights)
        fail(VOLTA_INVALID_ARGUMENT, "class_weight_count is %zu, at most %zu are supported",
             c.class_weight_count, kMostClassWeights);
    bool any = c.class_weight_count == 0;
    for (std::size_t i = 0; i < c.class_weight_count; ++i) {
        char name[48];
        std::snprintf(name, sizeof name, "class_weights[%zu]", i);
        require_range(name, c.class_weights[i], 0, kLargest);
        any = any || static_cast<float>(c.class_weights[i]) > 0;
    }
    require(any, "class_weights are all 0: nothing would be learned");
    if (c.class_weight_count != 0)
        spec.class_weights.assign(c.class_weights, c.class_weights + c.class_weight_count);
}

// Those of the trainer that an optimizer has.
volta_optimizer_options optimizer_options(const volta_trainer_options& c) {
    volta_optimizer_options options = VOLTA_OPTIMIZER_OPTIONS_INIT;
    options.optimizer = c.optimizer;
    options.schedule = c.schedule;
    options.steps = c.steps;
    options.warmup_steps = c.warmup_steps;
    options.learning_rate = c.learning_rate;
    options.final_learning_rate = c.final_learning_rate;
    options.beta1 = c.beta1;
    options.beta2 = c.beta2;
    options.epsilon = c.epsilon;
    options.weight_decay = c.weight_decay;
    options.decay_all_parameters = c.decay_all_parameters;
    options.momentum = c.momentum;
    options.nesterov = c.nesterov;
    options.clip_norm = c.clip_norm;
    return options;
}

}  // namespace

// An update in the backward pass knows no later micro-batches.
void read_run_options(const volta_trainer_options& c, TrainerOptions& options) {
    TrainingSpec& spec = options.spec;
    options.activation_budget = c.activation_budget;
    if (c.state_folder != nullptr) options.state_folder = c.state_folder;
    require(c.state_folder == nullptr || *c.state_folder != '\0', "state_folder is empty");
    require_choice("update_in_backward", c.update_in_backward, 1);
    spec.update_in_backward = c.update_in_backward != 0;
    if (!spec.update_in_backward) return;
    require(options.shards == 1, "update_in_backward needs one shard, shards is %u", options.shards);
    require(spec.micro_batches == 1, "update_in_backward needs one micro-batch, micro_batches is %u",
            spec.micro_batches);
}

namespace {

constexpr std::uint64_t kMostMicroBatches = 1000000, kMostShards = 1024;

// The parts of a step's batch: shards, and micro-batches of each.
void read_parts(const volta_trainer_options& c, TrainerOptions& options) {
    const std::uint64_t shards = c.shards == 0 ? 1 : c.shards;
    if (shards > kMostShards || (shards & (shards - 1)) != 0)
        fail(VOLTA_INVALID_ARGUMENT, "shards is %llu, it must be a power of two up to %llu",
             static_cast<unsigned long long>(shards), static_cast<unsigned long long>(kMostShards));
    const std::uint64_t micro_batches = c.micro_batches == 0 ? shards : c.micro_batches;
    if (micro_batches > kMostMicroBatches)
        fail(VOLTA_INVALID_ARGUMENT, "micro_batches is %llu, at most %llu are supported",
             static_cast<unsigned long long>(micro_batches),
             static_cast<unsigned long long>(kMostMicroBatches));
    if (micro_batches % shards != 0)
        fail(VOLTA_INVALID_ARGUMENT, "micro_batches is %llu, it must be a multiple of shards, which is %llu",
             static_cast<unsigned long long>(micro_batches), static_cast<unsigned long long>(shards));
    options.shards = static_cast<std::uint32_t>(shards);
    options.spec.micro_batches = static_cast<std::uint32_t>(micro_batches / shards);
}

}  // namespace

void require_group_fits(const TrainerOptions& options) {
    if (!options.group) return;
    const std::uint32_t ranks = options.group->size();
    require(ranks <= options.shards, "shards is %u, the group has %u ranks: each computes one shard at least",
            options.shards, ranks);
}

TrainerOptions read_trainer_options(const volta_trainer_options& c, const Model& model,
                                    std::pmr::memory_resource* heap) {
    const LossRow& loss = loss_row(c.loss);
    require_choice("nonfinite", c.nonfinite, VOLTA_NONFINITE_LOG);
    require_choice("packed_documents", c.packed_documents, 1);
    const OptimizerSettings settings = read_optimizer_options(optimizer_options(c));

    TrainerOptions options(heap);
    read_parts(c, options);
    read_loss(c, loss, options.spec);
    options.spec.optimizer = settings.optimizer;
    options.spec.clip_norm = settings.clip_norm;
    options.spec.decay_all_parameters = settings.decay_all_parameters;
    options.spec.has_momentum = settings.momentum != 0;
    options.spec.nesterov = settings.nesterov;
    options.spec.output_index = c.output_index;
    options.seed = c.seed;
    options.schedule = settings.schedule;
    options.beta1 = settings.beta1;
    options.beta2 = settings.beta2;
    options.epsilon = settings.epsilon;
    options.weight_decay = settings.weight_decay;
    options.momentum = settings.momentum;
    options.nonfinite = c.nonfinite;
    options.packed = c.packed_documents != 0;
    read_run_options(c, options);
    options.spec.frozen = frozen_parameters(model, c.frozen, c.frozen_count, heap);
    options.input_shapes = read_input_shapes(model.graph, c.input_shapes, c.input_extent_count, heap);
    if (options.packed)
        require(c.loss == VOLTA_LOSS_CROSS_ENTROPY && c.output_index == 0,
                "packed_documents needs the cross-entropy loss of output 0, it is the %s loss of output %d",
                loss.name, c.output_index);
    return options;
}

}  // namespace volta
