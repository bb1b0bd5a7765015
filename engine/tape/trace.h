// What was asked of a tape between two resets, as one graph and the calls that made it. Pure structure: a
// record that makes the same calls again walks along it and builds nothing.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/tape/segment.h"

namespace volta {

// What fills a source of the graph.
enum class SourceKind : std::uint8_t {
    leaf,           // a tensor of the host
    random,         // i32 [3] for operators that draw
    state,          // of an optimizer
    factors,        // of an optimizer's step: of parameters that decay
    factors_plain,  // and of those that do not
};

struct TraceSource {
    ValueId value = -1;
    SourceKind kind = SourceKind::leaf;
    bool requires_grad = false;
    std::uint32_t optimizer = 0;  // its number on the tape
    std::uint32_t index = 0;      // of the state, within the optimizer
};

enum class CallKind : std::uint8_t { apply, backward, step };

struct GradientEntry {
    std::int32_t source;  // whose gradient
    ValueId before;       // that it is added to; -1: none
    ValueId after;
};
inline bool operator==(const GradientEntry& a, const GradientEntry& b) {
    return a.source == b.source && a.before == b.before && a.after == b.after;
}

struct Call {
    using allocator_type = Allocator;
    explicit Call(Allocator heap) : inputs(heap), attributes(heap), gradients(heap), effects(heap) {}
    Call(const Call& other, Allocator heap);
    Call(Call&& other, Allocator heap);
    Call(Call&&) = default;
    Call& operator=(Call&&) = default;

    CallKind kind = CallKind::apply;
    Op op = Op::count_;
    bool is_detached = false;          // its results get no gradient
    std::uint32_t optimizer = 0;       // step
    std::pmr::vector<ValueId> inputs;  // apply: operands; backward: the loss; step: parameter, gradient, ...
    std::pmr::vector<Attribute> attributes;     // as given
    std::pmr::vector<GradientEntry> gradients;  // backward
    std::pmr::vector<NodeId> effects;           // step: nodes that change parameters and states
    ValueId norm = -1, square_sums = -1;        // step
    ValueId first = -1;                         // result
    std::int32_t count = 0;                     // results
    ValueId running = -1;                       // of batch_norm_train: see TrainedNorm
    // How far the graph had grown when the call was complete.
    std::uint32_t nodes_after = 0, values_after = 0, sources_after = 0;
};

struct Trace {
    explicit Trace(std::pmr::memory_resource* heap)
        : graph(heap), sources(heap), calls(heap), detached(heap), segments(heap) {}
    // The first `call_count` calls of another one, without its segments.
    Trace(const Trace& other, std::size_t call_count, std::pmr::memory_resource* heap);
    // Takes back everything behind the first `call_count` calls.
    void cut(std::size_t call_count);
    bool begins_as(const Trace& other, std::size_t call_count) const;

    Graph graph;
    std::pmr::vector<TraceSource> sources;
    std::pmr::vector<Call> calls;
    std::pmr::vector<ValueId> detached;
    std::pmr::vector<HeapPtr<Segment>> segments;
    std::uint64_t last_used = 0;  // the record that came along last
};

// Whether two calls that stand behind the same beginning are the same call.
bool is_same(const Call& a, const Call& b);

}  // namespace volta
