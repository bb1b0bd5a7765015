// The plan: how a graph runs. Ordered steps, every byte placed, nothing left to decide. A plan is data: it
// prints, hashes and verifies the same on every machine and for every backend.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

#include "engine/base/arithmetic.h"
#include "engine/base/hash.h"
#include "engine/graph/graph.h"
#include "engine/plan/step_order.h"

namespace volta {

// Memory that outlives a run or belongs to the host. Region 0 is the arena, region 1 the constants.
enum class RegionKind : std::uint8_t { arena, constants, input, output, parameter, state, gradient };

struct Region {
    RegionKind kind;
    std::pmr::string name;     // of the source or output; "" for arena and constants
    std::uint64_t bytes;       // of the whole: inputs hold all micro-batches
    std::int32_t source = -1;  // input/parameter/state: the graph's value; output/gradient: likewise
};

// Where a value lies: micro_stride bytes are added per micro-batch (inputs of a step, stacks).
struct Place {
    std::int32_t region = -1;
    std::uint64_t offset = 0;  // bytes; a multiple of kTensorAlignment in arena and constants
    std::uint64_t micro_stride = 0;
};

struct Step {
    NodeId node;  // of Plan::graph
    Phase phase;  // the node's, or each for work of reduce that one micro-batch completes
};

// Ids that an i32 input may hold: the host's data is checked against it before a run (gather, targets).
struct InputLimit {
    std::int32_t region;
    std::int32_t low, high;  // inclusive
};

struct PlanBill {  // bytes by class; workspace is the backend's and is added by the gateway
    std::uint64_t parameters, gradients, optimizer_state, activations, inputs, outputs, constants;
};

struct PlanOptions {
    std::uint32_t micro_batches = 1;
    Arithmetic arithmetic;
    // A parameter changes as soon as its gradient is complete and nobody reads it any more. Needs one
    // micro-batch, and updates that wait for nothing else.
    bool update_in_backward = false;
    StepOrder order = StepOrder::graph;
    // Results that stay readable after the run in regions of their own (kind gradient): by graph output name
    // prefix "gradient/". All other graph outputs become regions of kind output.
};

struct Plan {
    explicit Plan(Graph&& owned)
        : graph(std::move(owned)),
          steps(graph.heap()),
          places(graph.heap()),
          regions(graph.heap()),
          limits(graph.heap()),
          text(graph.heap()) {}
    Graph graph;  // after the passes
    std::uint32_t micro_batches = 1;
    Arithmetic arithmetic;
    bool update_in_backward = false;
    std::pmr::vector<Step> steps;    // phase each, then reduce, then update
    std::pmr::vector<Place> places;  // one per value of the graph
    std::pmr::vector<Region> regions;
    std::pmr::vector<InputLimit> limits;
    std::pmr::string text;  // print(): made once
    PlanBill bill = {};
    Hash128 hash;  // of `text`
};

// Orders, places and bills. `graph` has been through the passes and is verified.
HeapPtr<Plan> make_plan(Graph&& graph, const PlanOptions& options, std::pmr::memory_resource* heap);

// The plan, or one of the same graph whose steps are in an order that needs less memory. options: the plan's.
HeapPtr<Plan> in_less_memory(HeapPtr<Plan> plan, const PlanOptions& options, std::pmr::memory_resource* heap);

// Checks every plan, in release builds too: order (a value is written before it is read, in-place writers
// come after all other readers, phases ascend), lifetimes (no step writes memory of a value that is still to
// be read), overlaps, alignment, arena and region bounds. Throws Error{INTERNAL} naming step and rule.
void verify(const Plan& plan);

// Steps, values, offsets, bill: stable text, complete (equal text, equal plan).
std::pmr::string print(const Plan& plan, std::pmr::memory_resource* heap);

// The first line in which two plans differ, with both; "" when equal.
std::pmr::string first_divergence(const Plan& a, const Plan& b, std::pmr::memory_resource* heap);

}  // namespace volta
