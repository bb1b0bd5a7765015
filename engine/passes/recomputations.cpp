// What a training step may compute again, by what it frees and costs.
#include <algorithm>

#include "engine/graph/cost.h"
#include "engine/passes/kept_results.h"
#include "engine/passes/rematerialize.h"

namespace volta {
namespace {

// Results that give a byte for nearly the same cost are given up in the graph's order, the first ones first:
// by the time the backward pass is there, the memory of the later ones is free again.
constexpr double kAboutAsGood = 0.8;
constexpr std::size_t kMostPrefixes = 48;

using Nodes = std::pmr::vector<NodeId>;

// Results given up one after the other, and what has to be computed again for them.
class GivenUp {
  public:
    GivenUp(const Graph& graph, const KeptResults& kept, std::pmr::memory_resource* heap)
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
                    // unreachable: what cannot be repeated is kept, or read in later phases only
                    change.freed -= std::min(change.freed, kept_.bytes_of(kept_.content(input)));
            }
        }
    }

    const Graph& graph_;
    const KeptResults& kept_;
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
            if (is_source(graph_.node(id)) || KeptResults::is_alias(graph_.node(id))) continue;
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
    KeptResults kept_;
    Nodes candidates_;  // kept results that may be given up, ascending
    std::pmr::vector<Recomputation> found_;
};

}  // namespace

std::pmr::vector<Recomputation> recomputations(const Graph& graph, std::pmr::memory_resource* heap) {
    return Recomputations(graph, heap).run();
}

}  // namespace volta
