// A step whose batch is several shards (docs/numerics.md, 7): each shard's forward and backward pass by one
// program, the sum of what they give by a tree, within this process and then over the ranks of a group, and
// behind it the programs of norm and update, of the parameters that this rank owns. Without a group it owns
// all.
//
// On a device the sums lie in its memory and are made there. What ranks exchange goes from device to device
// where the transport can, and else by a copy of the host's.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "engine/group/collective.h"
#include "engine/runtime/context.h"
#include "engine/runtime/device_exchange.h"
#include "engine/runtime/gradient_exchange.h"
#include "engine/runtime/program_memory.h"
#include "engine/runtime/trainer_options.h"

namespace volta {

class ShardedStep final : private LocalSums {
  public:
    // Plans, and lends `shard`, the memory of the shard's program, what is not its own: the host's inputs, of
    // which this has those of all shards that the process computes, where the results lie, and the parameters
    // that this rank of a group owns. Allocates no tensor and tells the others nothing.
    ShardedStep(Context& context, const TrainerOptions& options, ProgramMemory& shard);
    // The other ranks, before allocate(). Throws IO_ERROR, INVALID_ARGUMENT: they do not agree on what they
    // train, naming the one that differs from rank 0.
    void join(const Model& model, const TrainerOptions& options);
    // States that lie somewhere else: before allocate(); NULL for those of bills.
    ProgramMemory& update() { return *update_; }
    const ProgramMemory& update() const { return *update_; }
    void add_to(volta_bill& bill) const;
    std::uint64_t needed_bytes() const;  // of a processor, beside what `shard` needs
    void require_room() const;           // of the device, with what `shard` needs; throws OUT_OF_MEMORY
    void allocate();                     // behind `shard`

    // An input of the shard's program, for all shards of this process one after the other.
    void* staged(int region) const;
    const float* square_sums() const;  // of all gradients, in the order of the parameters

    // The step's count of targets, from counts(), one for each shard of this process, which are added as the
    // gradients are. Where `stops`, or where another rank does, all ranks throw CANCELLED.
    double add_counts(bool stops);
    double* counts() { return counts_.data(); }
    void check_inputs();  // throws INVALID_ARGUMENT: ids out of range, of any shard
    // From the inputs to loss and norm, which are in update(); nothing that the host can see has changed.
    void compute();
    // Changes the parameters; behind it all ranks have those of all.
    void apply();

    // The rank that owns a parameter's gradient and states.
    std::uint32_t owner(const char* parameter) const;
    bool is_owner(const char* parameter) const { return owner(parameter) == rank(); }
    std::uint32_t rank() const { return ranks_.rank; }
    GradientExchange::Times times() const { return times_; }  // of the latest step
    // Copies of a parameter's own state to rank 0, for a save: `to` there and where it is not the owner's.
    void fetch(const char* parameter, const void* own, void* to, std::size_t bytes);
    // Whether rank 0 has saved: throws IO_ERROR on the others where it has not.
    void agree_on_save(bool is_saved);
    void leave(const char* why) noexcept;
    Collective* collective() { return collective_ ? &*collective_ : nullptr; }  // NULL: there is one rank

  private:
    struct Summed {
        std::pmr::string name;  // of the parameter; "" for the loss
        Shape shape;
        bool is_statistic;
        int region;  // of the shard's program
        std::uint64_t offset, elements;
        std::uint32_t owner;
        std::uint64_t parameter_offset;  // in the owner's memory
    };
    bool is_on_device() const { return !shard_.program().memory().is_host(); }
    void find_inputs();
    void find_results();
    void divide();
    void lay_out();
    std::uint64_t mirrored_bytes() const;
    unsigned char* own(std::uint64_t bytes);
    unsigned char* exchanged_memory();
    void allocate_levels();
    void place_parameters();
    void plan_update(const TrainingSpec& spec);
    void place_inputs(std::uint32_t shard);
    void place_results(std::uint32_t level);
    void compute_shard(std::uint32_t shard);
    void compute_shards();
    void add_levels(std::uint32_t end, std::uint64_t offset, std::uint64_t elements,
                    ThreadPool* pool) noexcept;
    void complete(std::size_t part, ThreadPool* pool) noexcept override;
    std::size_t last_step_of(const Summed& tensor) const;
    void prepare_exchange();
    unsigned char* sum_of(const Summed& tensor) const;
    float* exchanged(const Summed& tensor) const;
    void exchange_sums();
    void exchange_on_devices();
    void exchange_norms();
    void exchange_parameters();
    void fetch(void* to, const void* from, std::uint64_t bytes);
    void send(void* to, const void* from, std::uint64_t bytes);
    void wait();

    Context& context_;
    ProgramMemory& shard_;
    const std::uint32_t shards_, local_shards_, micro_batches_;
    std::pmr::vector<Summed> summed_;  // the loss is the first
    struct {
        std::uint32_t rank, size;
    } ranks_ = {0, 1};
    std::uint64_t level_bytes_ = 0;
    // Of the parameters that this rank owns, that any does, and all of them.
    std::uint64_t parameter_bytes_ = 0, most_parameter_bytes_ = 0, all_parameter_bytes_ = 0;
    std::pmr::vector<std::uint64_t> ends_;     // of the sums of each rank, by position
    std::pmr::vector<unsigned char*> levels_;  // the sums of 1, 2, 4, ... shards; the last has the whole
    std::pmr::vector<Block> on_device_;        // those of a device
    std::optional<DeviceSum> addition_;        // and how they are added there
    std::optional<DeviceExchange> devices_;    // of a transport that reaches them
    std::pmr::vector<Block> owned_;            // what of the host's is not shared
    // What ranks exchange: the whole sums, behind them the parameters that this rank owns.
    unsigned char* exchanged_memory_ = nullptr;
    bool is_shared_ = false;           // other ranks read it
    Block mirror_;                     // of a device; the parameters of the others are in it in any case
    std::pmr::vector<int> inputs_;     // the host's
    std::pmr::vector<Block> staged_;   // one for each
    std::pmr::vector<double> counts_;  // of targets, one for each shard of this process
    std::optional<Collective> collective_;
    std::optional<GradientExchange> exchange_;
    std::pmr::vector<std::uint32_t> exchanged_;  // the parts of exchange_, in summed_
    GradientExchange::Times times_ = {};
    std::optional<ProgramMemory> squares_, update_;
    std::pmr::vector<Portion> parameters_, norms_;  // what ranks have of each other
    std::pmr::vector<void*> programs_;              // where programs have the parameters
    std::pmr::vector<DeviceExchange::Parameter> on_devices_;
};

}  // namespace volta
