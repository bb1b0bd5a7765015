// What a host asks of a trainer: volta_trainer_options, checked and with every default decided.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

#include "engine/group/group.h"
#include "engine/model/model.h"
#include "engine/runtime/optimizer.h"
#include "engine/runtime/training_graph.h"

namespace volta {

// Numbers are checked: finite and in range.
struct TrainerOptions {
    explicit TrainerOptions(std::pmr::memory_resource* heap)
        : spec(heap), input_shapes(heap), state_folder(heap) {}
    TrainingSpec spec;                     // its micro_batches are those of one shard
    std::uint32_t shards = 1;              // a power of two
    std::pmr::vector<Shape> input_shapes;  // of one micro-batch
    bool packed = false;                   // rows of documents: packed_graph.h
    std::uint64_t seed = 0;
    Schedule schedule;
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, momentum = 0;
    volta_nonfinite_policy nonfinite = VOLTA_NONFINITE_STOP;
    // Of this run alone, no part of a checkpoint: they change where and when, not what is computed.
    std::uint64_t activation_budget = 0;
    std::pmr::string state_folder;  // "": optimizer state lies in memory
    GroupRef group;                 // NULL: this process computes all shards

    std::uint32_t local_shards() const { return group ? shards / group->size() : shards; }
};
// Reads and checks the caller's struct against the model. Throws INVALID_ARGUMENT naming field and value.
TrainerOptions read_trainer_options(const volta_trainer_options& options, const Model& model,
                                    std::pmr::memory_resource* heap);
// Throws INVALID_ARGUMENT with both numbers where some rank would have no shard.
void require_group_fits(const TrainerOptions& options);
// Those of the run alone, into options that have the rest. Throws INVALID_ARGUMENT.
void read_run_options(const volta_trainer_options& given, TrainerOptions& options);

}  // namespace volta
