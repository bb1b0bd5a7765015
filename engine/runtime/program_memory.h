// The memory a program runs in: one address per region of its plan, owned here or lent by someone else, in
// the memory of the context's device. The bill is known before anything is allocated, and what is allocated
// is the bill to the byte.
//
// What the host reads and writes is at host() and at(): inputs and outputs. On a device of its own memory
// these are copies, which run() sends before the plan's first phase and fetches after the phase that wrote
// them: inputs lie together, and outputs do, so that each way takes one copy. Everything else is reached by
// load() and store().
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/runtime/exchange.h"

namespace volta {

class ProgramMemory final {
  public:
    // Every region is owned until lend() says otherwise; nothing is allocated before allocate().
    ProgramMemory(const Program& program, std::pmr::memory_resource* structures);

    // The region's memory belongs to someone else and takes no part in the bill. `address` may be NULL until
    // run. Of inputs and outputs it is the host's side that is lent: run() gathers and scatters them through
    // memory of its own, but those above kGathered bytes are copied from and to where they are. Other
    // addresses are the device's.
    void lend(std::size_t region, void* address);
    static constexpr std::size_t kGathered = std::size_t{1} << 20;
    // The same, of any region, by an address of the device's memory: nothing moves.
    void lend_in_place(std::size_t region, void* address);
    // An input or output lies at `offset` in bytes that programs share, which are no part of the bill. All
    // inputs of a program that are placed are in one exchange, all outputs in one.
    void place(std::size_t region, const Exchange& exchange, std::size_t offset);
    // Arena and workspace of another, larger memory are used: programs that never run at the same time share.
    void lend_scratch(void* arena, void* workspace);

    // Adds this memory's share to the bill's classes and its total.
    void add_to(volta_bill& bill) const;
    // What allocate() would allocate.
    std::uint64_t needed_bytes() const { return owned_bytes(); }
    void require_room() const;  // throws as allocate() does
    // Allocates what is owned: states zeroed, constants filled, the rest uninitialised. Throws OUT_OF_MEMORY
    // before anything is allocated if the device has less than this memory needs, naming the largest parts.
    void allocate();

    // The region of a source or output by kind and name; -1: none.
    int find(RegionKind kind, const char* name) const;
    // In the device's memory, for lending on.
    void* address(std::size_t region) const { return addresses_[region]; }
    // An input or output as the host sees it; on the host's own memory, any region.
    void* host(std::size_t region) const { return hosts_[region]; }
    template <class T>
    T* at(int region) const {
        return static_cast<T*>(hosts_[static_cast<std::size_t>(region)]);
    }
    // Between a region and as many bytes of the host. Throw what the device reports.
    void load(std::size_t region, void* to) const;
    void store(std::size_t region, const void* from);
    // What the region holds, for the host to read: in place, or in `copy`, which it makes or fills again.
    const void* fetch(std::size_t region, Block& copy) const;
    std::uint64_t arena_bytes() const;
    std::uint64_t workspace_bytes() const { return program_->workspace_bytes(); }
    void* workspace() const { return workspace_address_; }

    // The first micro-batch of the runs that follow, counted in the step of which they compute a part.
    void begin_at(std::uint32_t micro_batch) { first_micro_batch_ = micro_batch; }
    // Of the runs that follow; on the host's own memory. NULL: nobody does.
    void observe(StepObserver* observer) { observer_ = observer; }
    // Throws what the device reports.
    void run(Phase phase, std::uint32_t micro_index) const;
    // All phases of a training step. The update changes nothing unless the first float of each region of
    // `finite` is that (-1: none). Of `training` the caller says who is asked whether it goes on, and learns
    // after a failure whether the update had begun. Outputs are here when this returns; the update may go on.
    void run_training(const std::array<int, 2>& finite, TrainingRun& training) const;
    // Packs the parameters that the program has prepacked, from where they are now.
    void keep() noexcept { program_->keep(state(0)); }
    const Program& program() const { return *program_; }

  private:
    enum Way : std::uint8_t { kToDevice, kToHost, kWays };
    // How a region's bytes get from one side to the other.
    enum class Route : std::uint8_t { none, packed, placed, direct };
    Route route(std::size_t region) const;
    Way way(std::size_t region) const;
    // Bytes of the regions that are packed, which begin at multiples of kTensorAlignment; their places go to
    // `offsets` unless it is NULL.
    std::size_t pack(Way which, std::pmr::vector<std::size_t>* offsets) const;
    bool is_split(std::size_t region) const;  // the host has a side of its own
    std::uint64_t owned_bytes() const;
    void fill_constants();
    struct Phases {
        Phase first, last;
    };
    static constexpr Phases kNone = {Phase::update, Phase::each};
    bool moves(std::size_t region, Way which, Phases phases) const;
    bool send() const;  // whether anything was to be sent
    void fetch(Phases phases) const;
    RunState state(std::uint32_t micro_index) const {
        RunState state = {addresses_.data(), workspace_address_, micro_index, kept_.data()};
        state.first_micro_batch = first_micro_batch_;
        state.observer = observer_;
        return state;
    }
    template <class Run>  // volta_status()
    void run_split(bool sends, Phases fetched, const Run& run) const;

    const Program* program_;
    std::pmr::vector<void*> addresses_;  // one per region, in the device's memory
    std::pmr::vector<void*> hosts_;      // and the host's; the same where nothing is split
    std::pmr::vector<bool> lent_;        // the host's side of what is split, else the region
    std::pmr::vector<bool> placed_;
    std::pmr::vector<bool> in_place_;        // nobody moves it
    std::pmr::vector<std::size_t> offsets_;  // of what is packed or placed, in its exchange
    Exchange packed_[kWays];                 // owned
    const Exchange* shared_[kWays] = {};     // where the placed ones are; NULL: none
    std::pmr::vector<Block> owned_;
    Block kept_, workspace_;
    void* workspace_address_ = nullptr;
    bool workspace_lent_ = false;
    std::uint32_t first_micro_batch_ = 0;
    StepObserver* observer_ = nullptr;
    bool fetches_ = false;  // some phase ends with a copy to the host
};

}  // namespace volta
