// Trainer options as named numbers and back: one table, used to write a checkpoint, to read it, and to say in
// which option a resume contradicts it.
#pragma once

#include "engine/model/model.h"
#include "engine/runtime/trainer.h"

namespace volta {

// Appends every option of the configuration (not progress) under its name of volta_trainer_options.
void describe_options(const TrainerOptions& options, TrainingState& state);

// The options of a checkpoint, checked against the model like those of a caller.
TrainerOptions options_of_checkpoint(const TrainingState& state, const Model& model,
                                     std::pmr::memory_resource* heap);

// Throws INVALID_ARGUMENT naming the first option in which they differ, with both values.
void require_same_options(const TrainerOptions& given, const TrainerOptions& checkpoint, const Model& model,
                          std::pmr::memory_resource* heap);

void add_number(TrainingState& state, const char* name, double value);
void add_integer(TrainingState& state, const char* name, std::uint64_t value);
// Throws CORRUPT_MODEL when the checkpoint lacks it.
double number_of(const TrainingState& state, const char* name);
std::uint64_t integer_of(const TrainingState& state, const char* name);
void sort_by_name(TrainingState& state);

}  // namespace volta
