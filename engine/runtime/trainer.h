// Training: one plan per step, its own copies of the parameters, and everything a checkpoint needs to go on
// bit for bit.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/runtime/norm_pass.h"
#include "engine/runtime/program_memory.h"
#include "engine/runtime/session.h"
#include "engine/runtime/sharded_step.h"
#include "engine/runtime/token_stream.h"
#include "engine/runtime/trainer_options.h"
#include "engine/runtime/training_plan.h"

namespace volta {

struct StepReport {
    std::uint64_t step = 0;
    float loss = 0, gradient_norm = 0;
    double learning_rate = 0;
    double wait_seconds = 0, exchange_seconds = 0;  // of a group
};

class Trainer final {
  public:
    // Copies graph, tokenizer, metadata and parameters; `model` itself is only remembered for update_model,
    // so a host that releases it right away pays for the parameters once. Of a model with adapters the base
    // is kept, and its parameters stay where they are.
    Trainer(const ContextRef& context, const ModelRef& model, TrainerOptions options);
    // Goes on from the model's training state. `given` may be NULL; if not, it must agree with the
    // checkpoint. Throws INVALID_STATE: the model is no checkpoint; INVALID_ARGUMENT naming the option and
    // both values.
    static HeapPtr<Trainer> resume(const ContextRef& context, const ModelRef& model,
                                   const volta_trainer_options* given, const GroupRef& group);

    // Of a step's batch, those that this process reads. Throws INVALID_ARGUMENT where inputs have none.
    struct Rows {
        std::uint64_t first, count;
    };
    Rows rows() const;
    StepReport step(const TensorView* const* inputs, std::size_t input_count, const TensorView& targets);
    void extend(std::uint64_t steps);  // plans so many in all, from which the schedule follows from now on
    void set_tokens(const std::int32_t* tokens, std::size_t count);
    StepReport step_tokens();
    double evaluate_tokens(const std::int32_t* tokens, std::size_t count);
    void update_model();  // throws INVALID_STATE: the model has been released
    void save(const char* path);
    void save_sharded(const char* folder);  // each rank a part
    Hash128 hash() const;                   // of the current parameters

    std::uint64_t current_step() const { return step_; }
    const TrainerOptions& options() const { return options_; }
    volta_trainer_options c_options() const;  // lends input_shapes, class_weights, frozen
    struct Lent {
        const float* data;
        std::size_t elements;
    };
    Lent parameter(const char* name) const;
    Lent gradient(const char* name) const;
    volta_bill bill() const;
    const char* plan_text();
    const Program& program() const { return memory_.program(); }

  private:
    StepReport run_step();
    void lend_base(const Model& model);
    void lend_states();
    void run_phases();
    void run_two_passes(StepReport& report);
    void run_shards(StepReport& report);
    double agree_on_count();
    // What the update reads and writes: states and factors.
    ProgramMemory& update_memory() { return sharded_ ? sharded_->update() : memory_; }
    const ProgramMemory& update_memory() const { return sharded_ ? sharded_->update() : memory_; }
    // Where loss and norm are.
    const ProgramMemory& result_memory() const { return norm_ ? norm_->results() : update_memory(); }
    // An input or the targets, as the host gives them, of all shards that this process computes.
    void* given(int region) const { return sharded_ ? sharded_->staged(region) : memory_.at<void>(region); }
    std::uint64_t given_bytes(int region) const;
    // The sum of weights of targets, which begin at `targets`.
    double count_targets(const void* targets) const;
    [[noreturn]] void tear(volta_status status, const char* what);
    void require_whole() const;  // throws what has left the parameters half updated
    void write_step_inputs(double count, double learning_rate, double beta1_product, double beta2_product);
    void read_results(StepReport& report) const;
    void check_finite(const StepReport& report);
    void note_arithmetic();
    const void* fetch_state(std::size_t region);  // of shards' update
    void list_states(TrainingState& state, std::pmr::vector<Buffer>* copies);
    void restore(const TrainingState& state);
    void capture(TrainingState& state);
    int region(RegionKind kind, const char* name) const;
    // What a region holds, and the model with its parameters, for the host to read until the next step.
    const void* fetch(int region) const;
    const Model& described() const;
    Lent lend(int region) const;

    ContextRef context_;
    std::weak_ptr<Model> model_;
    mutable Model description_;  // graph, tokenizer, metadata, arithmetic; its parameters lie where
                                 // described() found them
    TrainerOptions options_;
    const TrainingPrograms programs_;
    ProgramMemory memory_;
    std::optional<NormPass> norm_;             // where there is one, it knows loss and norm
    std::optional<ShardedStep> sharded_;       // of several shards; memory_ is then that of one
    ScratchFile states_;                       // of optimizer state, where there is a folder for it
    mutable std::pmr::vector<Block> fetched_;  // one per region, filled where fetch() needs a copy
    std::pmr::vector<Block> fetched_states_;   // of the update of shards
    std::pmr::vector<int> input_regions_;      // model inputs, in order
    std::pmr::vector<int> parameter_regions_;  // one per model parameter; -1: the loss does not depend on it
    std::pmr::vector<std::pmr::string> trained_;  // parameters with a gradient, in the order of square_sums
    std::pmr::vector<std::int64_t> extents_;      // options_.input_shapes, flat
    std::pmr::vector<const char*> frozen_;        // names, which lie in description_
    int targets_region_ = -1;
    std::optional<TokenStream> stream_;
    std::uint64_t stream_bytes_ = 0;
    Hash128 stream_hash_;
    std::uint64_t step_ = 0;
    std::optional<Error> torn_;  // why some parameters may have made one step more than others
    double beta1_product_ = 1, beta2_product_ = 1;
    struct Resumed {  // of the checkpoint's stream, until the host has given the same tokens again
        std::uint64_t epoch = 0, cursor = 0;
        Hash128 hash;
    };
    std::optional<Resumed> resumed_;
    std::pmr::string plan_text_;
};

}  // namespace volta
