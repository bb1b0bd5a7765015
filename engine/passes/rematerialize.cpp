#include "engine/passes/rematerialize.h"

#include <algorithm>
#include <numeric>

#include "engine/graph/cost.h"
#include "engine/graph/step_input.h"
#include "engine/passes/rewrite.h"

namespace volta {
namespace {

// What moving a byte costs beside an operation of a product. Machines differ; the order of choices must not.
constexpr double kOperationsPerByte = 12;
// Results that give a byte for nearly the same cost are given up in the graph's order, the first ones first:
// by the time the backward pass is there, the memory of the later ones is free again.
constexpr double kAboutAsGood = 0.8;
constexpr std::size_t kMostPrefixes = 48;

using Nodes = std::pmr::vector<NodeId>;

// What the forward pass leaves for the backward pass, which begins with the first node that depends on the
// loss's gradient.
class Kept {
  public:
    Kept(const Graph& graph, std::pmr::memory_resource* heap)
        : graph_(graph),
          content_(graph.values.size(), -1, heap),
          read_late_(graph.values.size(), false, heap),
          last_read_(graph.values.size(), -1, heap),
          bytes_(graph.nodes.size(), 0, heap) {
        backward_ = first_backward_node(heap);
        for (NodeId id = 0; id < node_count(graph); ++id) name_contents(id);
        for (NodeId id = 0; id < node_count(graph); ++id) note_reads(id);
        for (const GraphOutput& output : graph.outputs) read_late_[index_of(content(output.value))] = true;
        for (NodeId id = 0; id < backward_; ++id)
            for_each_output(id, [&](ValueId value) {
                if (read_late_[index_of(value)]) bytes_[index_of(id)] += bytes_of(value);
            });
    }

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

    bool may_repeat(NodeId id) const {
        const Node& node = graph_.node(id);
        if (id >= backward_ || is_source(node) || is_alias(node) || node.phase != Phase::each) return false;
        if (holds_over_micro_batches(node) || writes_in_place(node)) return false;
        return !is_output(node);
    }
    // The pass `recompute` gives its memory back anyway, if what it reads is kept.
    bool is_cheap(NodeId id) const {
        const Node& node = graph_.node(id);
        if (!op_row(node.op).recompute || !may_repeat(id)) return false;
        return std::all_of(node.inputs.begin(), node.inputs.end(),
                           [&](ValueId input) { return maker(input) < 0 || is_kept(maker(input)); });
    }

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
    NodeId first_backward_node(std::pmr::memory_resource* heap) const {
        std::pmr::vector<bool> depends(graph_.values.size(), false, heap);
        for (NodeId id = 0; id < node_count(graph_); ++id) {
            const Node& node = graph_.node(id);
            if (node.op == Op::input && node.name == name_of(StepInput::gradient_scale))
                depends[index_of(node.first_output)] = true;
            for (const ValueId input : node.inputs)
                if (depends[index_of(input)]) return id;
        }
        return node_count(graph_);
    }

    void name_contents(NodeId id) {
        const Node& node = graph_.node(id);
        for_each_output(id, [&](ValueId value) { content_[index_of(value)] = value; });
        if (is_alias(node)) content_[index_of(node.first_output)] = content(node.inputs[0]);
    }

    void note_reads(NodeId id) {
        const Node& node = graph_.node(id);
        if (is_alias(node)) return;
        for (const ValueId input : node.inputs) {
            const std::size_t value = index_of(content(input));
            if (id >= backward_)
                read_late_[value] = true;
            else
                last_read_[value] = id;
        }
    }

    bool is_output(const Node& node) const {
        return std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const GraphOutput& output) {
            const ValueId value = content(output.value);
            return value >= node.first_output && value < node.first_output + node.output_count;
        });
    }

    const Graph& graph_;
    std::pmr::vector<ValueId> content_;
    std::pmr::vector<bool> read_late_;  // by contents, as below
    std::pmr::vector<NodeId> last_read_;
    std::pmr::vector<std::uint64_t> bytes_;
    NodeId backward_ = 0;
};

// Results given up one after the other, and what has to be computed again for them.
class GivenUp {
  public:
    GivenUp(const Graph& graph, const Kept& kept, std::pmr::memory_resource* heap)
        : graph_(graph),
          kept_(kept),
          heap_(heap),
          is_given_up_(graph.nodes.size(), false, heap),
          is_repeated_(graph.nodes.size(), false, heap),
          dependents_(graph.nodes.size(), heap) {
        for (NodeId id = 0; id < kept.backward(); ++id)
            if (kept.is_kept(id) && kept.is_cheap(id))
                for (const ValueId input : graph.node(id).inputs)
                    if (kept.maker(input) >= 0) dependents_[index_of(kept.maker(input))].push_back(id);
    }

    struct Change {
        std::uint64_t freed = 0;
        double repeated = 0;
    };
    // What giving up `id` would change, beyond what is given up already.
    Change price(NodeId id) {
        Change change;
        const auto undo = extend(id, change);
        for (const auto& [flags, node] : undo) (*flags)[index_of(node)] = false;
        return change;
    }
    void give_up(NodeId id) {
        Change change;
        extend(id, change);
        repeated_ += change.repeated;
    }
    bool has(NodeId id) const { return is_given_up_[index_of(id)]; }

    Recomputation recomputation() const {
        Recomputation all{Allocator(heap_)};
        for (NodeId id = 0; id < kept_.backward(); ++id)
            if (has(id)) all.nodes.push_back(id);
        all.repeated = repeated_;
        return all;
    }

  private:
    using Flag = std::pair<std::pmr::vector<bool>*, NodeId>;

    // Gives up `id`, and what the pass `recompute` could not free any more; marks all that is repeated for
    // it.
    std::pmr::vector<Flag> extend(NodeId id, Change& change) {
        std::pmr::vector<Flag> done(heap_);
        Nodes open({id}, heap_);
        while (!open.empty()) {
            const NodeId next = open.back();
            open.pop_back();
            if (is_given_up_[index_of(next)]) continue;
            is_given_up_[index_of(next)] = true;
            done.emplace_back(&is_given_up_, next);
            if (!kept_.is_cheap(next)) change.freed += kept_.bytes(next);
            repeat(next, change, done);
            open.insert(open.end(), dependents_[index_of(next)].begin(), dependents_[index_of(next)].end());
        }
        return done;
    }

    void repeat(NodeId id, Change& change, std::pmr::vector<Flag>& done) {
        Nodes open({id}, heap_);
        while (!open.empty()) {
            const NodeId next = open.back();
            open.pop_back();
            if (is_repeated_[index_of(next)]) continue;
            is_repeated_[index_of(next)] = true;
            done.emplace_back(&is_repeated_, next);
            const NodeCost cost = node_cost(graph_, graph_.node(next));
            change.repeated += cost.operations + kOperationsPerByte * static_cast<double>(cost.bytes);
            for (const ValueId input : graph_.node(next).inputs) {
                const NodeId maker = kept_.maker(input);
                if (maker < 0) continue;
                const bool is_there = kept_.is_kept(maker) && !is_given_up_[index_of(maker)];
                if (is_there) continue;
                if (kept_.may_repeat(maker))
                    open.push_back(maker);
                else
                    change.freed -= std::min(change.freed, kept_.bytes_of(kept_.content(input)));
            }
        }
    }

    const Graph& graph_;
    const Kept& kept_;
    std::pmr::memory_resource* heap_;
    std::pmr::vector<bool> is_given_up_, is_repeated_;
    std::pmr::vector<Nodes> dependents_;  // cheap nodes that read the node's results
    double repeated_ = 0;
};

class Recomputations {
  public:
    Recomputations(const Graph& graph, std::pmr::memory_resource* heap)
        : graph_(graph), heap_(heap), kept_(graph, heap), candidates_(heap), found_(heap) {
        for (NodeId id = 0; id < kept_.backward(); ++id)
            if (kept_.is_kept(id) && kept_.may_repeat(id) && !kept_.is_cheap(id)) candidates_.push_back(id);
    }

    std::pmr::vector<Recomputation> run() {
        found_.emplace_back();
        if (!candidates_.empty() && kept_.backward() < node_count(graph_)) {
            add_prefixes();
            add_checkpoints();
        }
        std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
            return a.repeated != b.repeated ? a.repeated < b.repeated : a.nodes < b.nodes;
        });
        return std::move(found_);
    }

  private:
    // One result after the other is given up, the one first that frees most for what it costs.
    void add_prefixes() {
        std::uint64_t all = 0;
        for (const NodeId id : candidates_) all += kept_.bytes(id);
        const std::uint64_t stride = std::max<std::uint64_t>(all / kMostPrefixes, 1);
        GivenUp given_up(graph_, kept_, heap_);
        std::uint64_t freed = 0, next = stride;
        for (Nodes left(candidates_, heap_); !left.empty();) {
            const double bar = best_ratio(given_up, left) * kAboutAsGood;
            for (NodeId& id : left) {
                const GivenUp::Change change = given_up.price(id);
                if (ratio(change) < bar) continue;
                given_up.give_up(id);
                freed += change.freed;
                id = -1;
                if (freed < next) continue;
                found_.push_back(given_up.recomputation());
                next = freed + stride;
            }
            left.erase(std::remove_if(left.begin(), left.end(),
                                      [&](NodeId id) { return id < 0 || given_up.has(id); }),
                       left.end());
            if (bar <= 0) break;
        }
    }

    static double ratio(const GivenUp::Change& change) {
        return static_cast<double>(change.freed) / (change.repeated + 1);
    }
    double best_ratio(GivenUp& given_up, const Nodes& left) const {
        double best = 0;
        for (const NodeId id : left) best = std::max(best, ratio(given_up.price(id)));
        return best;
    }

    // All is given up but every 1st, 2nd, 3rd, 4th, 6th, 8th, ... narrow place: segments of the network, of
    // which the backward pass holds one at a time.
    void add_checkpoints() {
        const Nodes narrow = narrow_places();
        for (std::size_t stride = 1; stride <= narrow.size() && found_.size() < kMostRecomputations;
             stride += std::max<std::size_t>(1, stride / 3)) {
            GivenUp given_up(graph_, kept_, heap_);
            for (const NodeId id : candidates_) {
                const auto place = std::lower_bound(narrow.begin(), narrow.end(), id);
                const bool is_narrow = place != narrow.end() && *place == id;
                const auto number = static_cast<std::size_t>(place - narrow.begin()) + 1;
                if (!is_narrow || number % stride != 0) given_up.give_up(id);
            }
            found_.push_back(given_up.recomputation());
        }
    }

    // Nodes behind which hardly anything but their own result is alive: between two blocks of a network.
    Nodes narrow_places() const {
        Nodes narrow(heap_);
        std::pmr::vector<std::int64_t> change(graph_.nodes.size() + 1, 0, heap_);
        for (NodeId id = 0; id < kept_.backward(); ++id) {
            if (is_source(graph_.node(id)) || Kept::is_alias(graph_.node(id))) continue;
            kept_.for_each_output(id, [&](ValueId value) {
                const NodeId last = kept_.last_forward_reader(value);
                if (last < 0) return;
                change[index_of(id)] += static_cast<std::int64_t>(kept_.bytes_of(value));
                change[index_of(last)] -= static_cast<std::int64_t>(kept_.bytes_of(value));
            });
        }
        std::int64_t alive = 0;
        for (NodeId id = 0; id < kept_.backward(); ++id) {
            alive += change[index_of(id)];
            if (!std::binary_search(candidates_.begin(), candidates_.end(), id)) continue;
            const auto own = static_cast<std::int64_t>(kept_.bytes(id));
            if (alive <= own + own / 4) narrow.push_back(id);
        }
        return narrow;
    }

    const Graph& graph_;
    std::pmr::memory_resource* heap_;
    Kept kept_;
    Nodes candidates_;  // kept results that may be given up, ascending
    std::pmr::vector<Recomputation> found_;
};

class Rematerialization {
  public:
    Rematerialization(const Graph& graph, const Nodes& nodes, std::pmr::memory_resource* heap)
        : graph_(graph),
          kept_(graph, heap),
          rewrite_(graph, heap),
          again_(graph.values.size(), -1, heap),
          is_given_up_(graph.nodes.size(), false, heap) {
        for (const NodeId id : nodes) is_given_up_[index_of(id)] = true;
    }

    Graph run() {
        for (NodeId id = 0; id < node_count(graph_); ++id) {
            if (id < kept_.backward() || !reads_given_up(id)) {
                rewrite_.copy(id);
                continue;
            }
            rewrite_.replace(id, rewrite_.to.apply(with_again(id)));
        }
        return rewrite_.finish();
    }

  private:
    // Is there nothing of the forward pass's left to read?
    bool is_gone(ValueId input) const {
        const NodeId maker = kept_.maker(input);
        if (maker < 0 || maker >= kept_.backward()) return false;
        return is_given_up_[index_of(maker)] || (!kept_.is_kept(maker) && kept_.may_repeat(maker));
    }
    bool reads_given_up(NodeId id) const {
        const auto& inputs = graph_.node(id).inputs;
        return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_gone(input); });
    }

    // The node, reading what is computed again. Chains are as long as a network is deep: no recursion.
    Node with_again(NodeId id) {
        for (const ValueId input : graph_.node(id).inputs)
            if (is_gone(input)) compute(graph_.value(input).producer);
        Node node = rewrite_.renamed_copy(id);
        const auto& inputs = graph_.node(id).inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (is_gone(inputs[i])) node.inputs[i] = again_[index_of(inputs[i])];
        return node;
    }

    void compute(NodeId wanted) {
        Nodes open({wanted}, rewrite_.to.heap());
        while (!open.empty()) {
            const NodeId id = open.back();
            if (again_[index_of(graph_.node(id).first_output)] >= 0) {
                open.pop_back();
                continue;
            }
            const std::size_t before = open.size();
            for (const ValueId input : graph_.node(id).inputs)
                if (is_gone(input) && again_[index_of(input)] < 0)
                    open.push_back(graph_.value(input).producer);
            if (open.size() > before) continue;
            open.pop_back();
            const Node& old = graph_.node(id);
            Node node = rewrite_.renamed_copy(id);
            for (std::size_t i = 0; i < old.inputs.size(); ++i)
                if (is_gone(old.inputs[i])) node.inputs[i] = again_[index_of(old.inputs[i])];
            const ValueId first = rewrite_.to.apply(std::move(node));
            for (std::int32_t i = 0; i < old.output_count; ++i)
                again_[index_of(old.first_output + i)] = first + i;
        }
    }

    const Graph& graph_;
    Kept kept_;
    Rewrite rewrite_;
    std::pmr::vector<ValueId> again_;  // value -> its copy in the new graph's backward pass; -1: none yet
    std::pmr::vector<bool> is_given_up_;
};

}  // namespace

std::pmr::vector<Recomputation> recomputations(const Graph& graph, std::pmr::memory_resource* heap) {
    return Recomputations(graph, heap).run();
}

Graph rematerialize(const Graph& graph, const std::pmr::vector<NodeId>& nodes,
                    std::pmr::memory_resource* heap) {
    return Rematerialization(graph, nodes, heap).run();
}

}  // namespace volta
