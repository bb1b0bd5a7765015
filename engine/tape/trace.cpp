#include "engine/tape/trace.h"

#include <algorithm>

namespace volta {
namespace {

template <class T>
void truncate(std::pmr::vector<T>& vector, std::size_t size) {
    while (vector.size() > size) vector.pop_back();
}

}  // namespace

Call::Call(const Call& other, Allocator heap)
    : kind(other.kind),
      op(other.op),
      is_detached(other.is_detached),
      optimizer(other.optimizer),
      inputs(other.inputs, heap),
      attributes(other.attributes, heap),
      gradients(other.gradients, heap),
      effects(other.effects, heap),
      norm(other.norm),
      square_sums(other.square_sums),
      first(other.first),
      count(other.count),
      running(other.running),
      nodes_after(other.nodes_after),
      values_after(other.values_after),
      sources_after(other.sources_after) {}

Call::Call(Call&& other, Allocator heap)
    : kind(other.kind),
      op(other.op),
      is_detached(other.is_detached),
      optimizer(other.optimizer),
      inputs(std::move(other.inputs), heap),
      attributes(std::move(other.attributes), heap),
      gradients(std::move(other.gradients), heap),
      effects(std::move(other.effects), heap),
      norm(other.norm),
      square_sums(other.square_sums),
      first(other.first),
      count(other.count),
      running(other.running),
      nodes_after(other.nodes_after),
      values_after(other.values_after),
      sources_after(other.sources_after) {}

bool is_same(const Call& a, const Call& b) {
    return a.kind == b.kind && a.op == b.op && a.is_detached == b.is_detached && a.optimizer == b.optimizer &&
           a.inputs == b.inputs && a.attributes == b.attributes && a.first == b.first && a.count == b.count &&
           a.running == b.running && a.gradients == b.gradients && a.sources_after == b.sources_after &&
           a.values_after == b.values_after;
}

Trace::Trace(const Trace& other, std::size_t call_count, std::pmr::memory_resource* heap)
    : graph(other.graph, heap),
      sources(other.sources, heap),
      calls(other.calls, heap),
      detached(other.detached, heap),
      segments(heap) {
    cut(call_count);
}

void Trace::cut(std::size_t call_count) {
    truncate(calls, call_count);
    const bool empty = calls.empty();
    const std::size_t node_count = empty ? 0 : calls.back().nodes_after;
    const std::size_t value_count = empty ? 0 : calls.back().values_after;
    graph.cut(node_count);
    truncate(sources, empty ? 0 : calls.back().sources_after);
    while (!detached.empty() && static_cast<std::size_t>(detached.back()) >= value_count) detached.pop_back();
}

bool Trace::begins_as(const Trace& other, std::size_t call_count) const {
    if (calls.size() < call_count || other.calls.size() < call_count) return false;
    for (std::size_t i = 0; i < call_count; ++i)
        if (!is_same(calls[i], other.calls[i])) return false;
    // Sources of one beginning are of the same kinds; their shapes say the rest.
    const std::size_t source_count = call_count == 0 ? 0 : calls[call_count - 1].sources_after;
    for (std::size_t i = 0; i < source_count; ++i) {
        const TraceSource &a = sources[i], &b = other.sources[i];
        if (a.value != b.value || a.kind != b.kind || a.requires_grad != b.requires_grad ||
            a.optimizer != b.optimizer || a.index != b.index)
            return false;
        const Value &x = graph.value(a.value), &y = other.graph.value(b.value);
        if (x.dtype != y.dtype || x.shape != y.shape) return false;
    }
    return true;
}

}  // namespace volta
