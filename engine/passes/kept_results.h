// What the forward pass of a training step leaves for the backward pass, which begins with the first node
// that depends on the loss's gradient.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/passes/rewrite.h"

namespace volta {

class KeptResults {
  public:
    KeptResults(const Graph& graph, std::pmr::memory_resource* heap);

    NodeId backward() const { return backward_; }
    // The value that first had this content: aliases have another's.
    ValueId content(ValueId value) const { return content_[index_of(value)]; }
    // The node that computes what `value` holds; -1: nothing does, it is a source.
    NodeId maker(ValueId value) const {
        const NodeId producer = graph_.value(content(value)).producer;
        return is_source(graph_.node(producer)) ? -1 : producer;
    }
    // Bytes of the node's results that wait for the backward pass.
    std::uint64_t bytes(NodeId id) const { return bytes_[index_of(id)]; }
    bool is_kept(NodeId id) const { return bytes(id) > 0; }
    NodeId last_forward_reader(ValueId value) const { return last_read_[index_of(value)]; }

    // Is the node's result a function of its inputs alone, and nobody's but the step's?
    bool may_repeat(NodeId id) const;
    // The pass `recompute` gives its memory back anyway, if what it reads is kept.
    bool is_cheap(NodeId id) const;

    static bool is_alias(const Node& node) { return op_row(node.op).lowering == Lowering::alias; }

    template <class Visit>
    void for_each_output(NodeId id, Visit visit) const {
        const Node& node = graph_.node(id);
        for (std::int32_t i = 0; i < node.output_count; ++i) visit(node.first_output + i);
    }
    std::uint64_t bytes_of(ValueId value) const {
        return tensor_bytes(graph_.value(value).dtype, graph_.value(value).shape);
    }

  private:
    NodeId first_backward_node(std::pmr::memory_resource* heap) const;
    void name_contents(NodeId id);
    void note_reads(NodeId id);
    bool is_output(const Node& node) const;

    const Graph& graph_;
    std::pmr::vector<ValueId> content_;
    std::pmr::vector<bool> read_late_;  // by contents, as below
    std::pmr::vector<NodeId> last_read_;
    std::pmr::vector<std::uint64_t> bytes_;
    NodeId backward_ = 0;
};

}  // namespace volta
