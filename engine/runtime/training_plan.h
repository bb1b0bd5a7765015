// From a model and the options of a trainer to the program of its step: the one that fits in the memory that
// there is. And what it would cost, for hosts that ask before they train.
#pragma once

#include "engine/model/model.h"
#include "engine/runtime/program_memory.h"
#include "engine/runtime/trainer_options.h"

namespace volta {

// What a training step runs; with shards, what computes one.
struct TrainingPrograms {
    const Program& step;
    const Program* norm;  // before it, where there is a norm pass (norm_pass.h); else NULL
};
// The fastest programs that fit in activation_budget, and in what the host has left for plans. Throws
// UNSUPPORTED, OUT_OF_MEMORY with what is needed at least.
TrainingPrograms prepare_training(Context& context, const Model& model, const TrainerOptions& options);

// Does the trainer read the parameter where its model has it?
bool is_in_place(const NamedTensor& parameter, const Program& program);
// What a trainer of the program takes no memory for: a base's parameters, and states in a file, whose
// addresses are NULL.
void lend_others(const Model& model, const TrainerOptions& options, ProgramMemory& memory);

// What a training step costs (volta_training_cost).
struct TrainingCost {
    double operations = 0, repeated_operations = 0, bytes = 0, seconds = 0;
    std::uint64_t smallest_activations = 0;
};
// Plans what a trainer would, and adds its bill. Allocates no tensor. speed and cost may be NULL.
void estimate_training(Context& context, const Model& model, const TrainerOptions& options, volta_bill& bill,
                       const volta_machine_speed* speed, TrainingCost* cost);

// A step of a training plan, for those who draw it.
enum class PlanPart : std::uint8_t { forward, backward, update };
struct PlanStep {
    const char* operation;
    std::uint64_t alive;  // bytes of the arena that hold something while it runs
    PlanPart part;
};
// The steps of the plans that a trainer would make, in order; with shards, of the plan that computes one.
std::pmr::vector<PlanStep> plan_steps(Context& context, const Model& model, const TrainerOptions& options);

}  // namespace volta
