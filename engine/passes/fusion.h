// Groups of nodes that become one node with a body: the part that both fusing passes share.
#pragma once

#include "engine/passes/rewrite.h"

namespace volta {

// What fits into one kernel: jit::kMaxOperands addresses, and code of a reasonable size.
inline constexpr std::size_t kMostFusedInputs = 16, kMostFusedResults = 4, kMostFusedOps = 32;

// Elementwise work that a body may hold. Phase update is left alone: there it matters what comes before a
// write.
bool is_fusable(const Node& node);
// An operator along the last axis that a body may hold, or a node with such a body.
bool works_on_rows(const Node& node);
// Can the node run on blocks of rows and columns of its result, as an epilogue does?
bool has_row_operands(const Graph& graph, const Node& node);
// Can it run on blocks of channels and pixels of its result [batch, channels, spatial]?
bool has_plane_operands(const Graph& graph, const Node& node);

// A partition of the graph's nodes into groups; each starts as one node. A group stands where its last member
// stood, so it may only form if everyone else who reads its values comes later.
class Fusion {
  public:
    Fusion(const Graph& graph, std::pmr::memory_resource* heap);

    NodeId head(NodeId id) const;  // the group's first member: groups with a product start with it
    bool is_needed(NodeId id) const { return needed_[index_of(id)]; }
    // Joins the groups of `a` and `b`, if the result is one node of the same phase and shape. False: it is
    // not.
    bool join(NodeId a, NodeId b);
    // The graph with every group as one node. Nodes that nobody needs are left out.
    Graph build();

  private:
    struct Combined;
    Combined combine(const std::pmr::vector<NodeId>& members) const;
    bool reads_whole_values(NodeId id, const std::pmr::vector<NodeId>& members) const;
    bool is_read_outside(ValueId value, const std::pmr::vector<NodeId>& members, NodeId* first) const;

    const Graph& graph_;
    std::pmr::memory_resource* heap_;
    std::pmr::vector<bool> needed_;
    std::pmr::vector<std::pmr::vector<NodeId>> readers_;  // of a value, ascending; needed ones only
    std::pmr::vector<bool> is_output_;
    std::pmr::vector<NodeId> group_;                      // of a node: its group's first member
    std::pmr::vector<std::pmr::vector<NodeId>> members_;  // of a group, ascending; empty for other nodes
};

}  // namespace volta
