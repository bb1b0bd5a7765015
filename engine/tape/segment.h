// A part of a trace that runs as one plan: the wanted values and all that they need and that is not there
// yet.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/runtime/gateway.h"
#include "engine/runtime/program_memory.h"

namespace volta {

struct Trace;

// What a segment is to compute of a trace.
struct SegmentRequest {
    explicit SegmentRequest(std::pmr::memory_resource* heap) : wanted(heap), effects(heap) {}
    std::pmr::vector<ValueId> wanted;  // ascending, without repeats
    std::pmr::vector<NodeId> effects;  // nodes that change parameters and states
    ValueId norm = -1;                 // of gradients: nothing changes unless it is finite
    ValueId loss = -1;                 // likewise; -1: none
};

// The walk from the wanted values back: what is to be copied, and what is there.
struct NeededNodes {
    std::pmr::vector<char> nodes;      // one per node of the trace
    std::pmr::vector<ValueId> inputs;  // ascending
};
// available(value): it lies in memory, and is an input. In segment_walk.h.
template <class Available>
NeededNodes needed_nodes(const Trace& trace, const SegmentRequest& request, const Available& available);

class Segment final {
  public:
    // available(value): it lies in memory, and is an input of the segment. Throws what PlanCache::prepare
    // does, OUT_OF_MEMORY.
    template <class Available>
    Segment(Context& context, const Trace& trace, const SegmentRequest& request, std::size_t call_count,
            const Available& available)
        : Segment(context, trace, request, call_count, needed_nodes(trace, request, available)) {}

    bool is_of(const SegmentRequest& request, std::size_t call_count) const {
        return call_count_ == call_count && wanted_ == request.wanted && effects_ == request.effects;
    }

    struct Port {
        ValueId value;  // of the trace
        int region;
    };
    const std::pmr::vector<Port>& inputs() const { return inputs_; }
    const std::pmr::vector<Port>& outputs() const { return outputs_; }
    const std::pmr::vector<NodeId>& nodes() const { return nodes_; }  // of the trace
    std::uint64_t arena_bytes() const { return memory_.arena_bytes(); }
    std::uint64_t workspace_bytes() const { return memory_.workspace_bytes(); }
    ProgramMemory& memory() { return memory_; }
    const ProgramMemory& memory() const { return memory_; }
    bool updates() const { return !effects_.empty(); }
    std::uint64_t last_used = 0;  // the flush of the tape
    int norm_region() const { return norm_region_; }
    int loss_region() const { return loss_region_; }

  private:
    Segment(Context& context, const Trace& trace, const SegmentRequest& request, std::size_t call_count,
            NeededNodes&& needed);
    BorrowedProgram prepare(Context& context, const Trace& trace, const SegmentRequest& request,
                            const NeededNodes& needed);

    std::size_t call_count_;
    std::pmr::vector<ValueId> wanted_;
    std::pmr::vector<NodeId> effects_;
    std::pmr::vector<NodeId> nodes_;
    std::pmr::vector<Port> inputs_, outputs_;
    BorrowedProgram program_;  // given back after its memory
    ProgramMemory memory_;
    int norm_region_ = -1, loss_region_ = -1;
};

}  // namespace volta
