#include "engine/graph/verify.h"

#include <algorithm>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/attributes.h"

namespace volta {
namespace {

// One walk over a graph; `broken` names the node and the rule.
class Verifier {
  public:
    explicit Verifier(const Graph& checked) : graph_(checked) {}

    void run() {
        std::size_t next_source = 0;
        ValueId next_value = 0;
        for (id_ = 0; id_ < static_cast<NodeId>(graph_.nodes.size()); ++id_) {
            const Node& node = graph_.node(id_);
            if (!(node.op < Op::count_)) broken(node, "there is no such operator");
            if (node.phase > Phase::update) broken(node, "there is no such phase");
            next_value = check_outputs(node, next_value);
            if (op_row(node.op).lowering == Lowering::source) {
                check_source(node, &next_source);
            } else {
                check_operator(node);
                check_phases(node);
                check_in_place(node);
            }
        }
        if (next_value != static_cast<ValueId>(graph_.values.size()))
            fail(VOLTA_INTERNAL, "graph: %zu values, but the nodes write %d", graph_.values.size(),
                 next_value);
        if (next_source != graph_.sources.size())
            fail(VOLTA_INTERNAL, "graph: %zu sources are described, %zu exist", graph_.sources.size(),
                 next_source);
        check_names();
        check_readers_of_overwritten();
    }

  private:
    [[noreturn]] void broken(const Node& node, const char* rule) const {
        fail(VOLTA_INTERNAL, "graph: node %d (%s): %s", id_,
             node.op < Op::count_ ? op_row(node.op).name : "?", rule);
    }

    // Values are numbered by their producers, so each has exactly one.
    ValueId check_outputs(const Node& node, ValueId next) const {
        if (node.first_output != next || node.output_count < 1 ||
            node.output_count > static_cast<ValueId>(graph_.values.size()) - next)
            broken(node, "its outputs are not the next values");
        for (ValueId id = next; id < next + node.output_count; ++id)
            if (graph_.value(id).producer != id_) broken(node, "another node claims to write its output");
        return next + node.output_count;
    }

    void check_source(const Node& node, std::size_t* next_source) const {
        if (!node.inputs.empty() || node.output_count != 1 || !node.attributes.empty() ||
            !node.body.ops.empty())
            broken(node, "a source has one output and nothing else");
        const Value& value = graph_.value(node.first_output);
        if (node.op == Op::constant) {
            const bool exists =
                node.data >= 0 && node.data < static_cast<std::int32_t>(graph_.constants.size());
            if (!exists ||
                static_cast<std::int64_t>(graph_.constants[static_cast<std::size_t>(node.data)].size()) !=
                    value.shape.elements())
                broken(node, "its data are not there");
            return;
        }
        if (*next_source >= graph_.sources.size() || graph_.sources[*next_source].node != id_)
            broken(node, "it is not described as a source");
        const Shape& declared = graph_.sources[(*next_source)++].declared;
        bool fits = declared.rank == value.shape.rank;
        for (int axis = 0; fits && axis < declared.rank; ++axis) {
            const bool is_open =
                declared[axis] == -1 && node.op == Op::input;  // stands as 1 until specialized
            fits = value.shape[axis] == (is_open ? 1 : declared[axis]);
        }
        if (!fits) broken(node, "its shape is not the declared one");
    }

    // Arity and attributes by the row, types by a fresh inference.
    void check_operator(const Node& node) const {
        std::pmr::memory_resource* const heap = graph_.heap();
        std::pmr::vector<TypedShape> inputs(heap), results(heap);
        for (const ValueId input : node.inputs)
            if (input < 0 || input >= node.first_output) broken(node, "an input stands behind it");
        for (const ValueId input : node.inputs)
            inputs.push_back({graph_.value(input).dtype, graph_.shape(input)});
        try {
            check_inputs(graph_, node);
            check_attributes(node, op_row(node.op), node.attributes);
            for (const BodyOp& op : node.body.ops) {
                if (!(op.op < Op::count_)) broken(node, "there is no such operator in its body");
                check_attributes(node, op_row(op.op), op.attributes);
            }
            op_row(node.op).shape(node, inputs.data(), static_cast<int>(inputs.size()), results);
        } catch (const Error& error) {
            if (error.status() == VOLTA_INTERNAL) throw;
            broken(node, error.what());
        }
        const bool carries_body = op_row(node.op).has_body;
        if (!carries_body && !node.body.ops.empty()) broken(node, "it carries a body");
        if (static_cast<std::int32_t>(results.size()) != node.output_count)
            broken(node, "it has a wrong number of outputs");
        for (std::int32_t i = 0; i < node.output_count; ++i) {
            const Value& value = graph_.value(node.first_output + i);
            const TypedShape& result = results[static_cast<std::size_t>(i)];
            if (value.dtype != result.dtype || value.shape != result.shape)
                broken(node, "its output is not what its inputs give");
        }
    }

    void check_attributes(const Node& node, const OpRow& row,
                          const std::pmr::vector<Attribute>& attributes) const {
        std::pmr::vector<Attribute> complete(attributes, graph_.heap());
        complete_attributes(row, complete);
        if (complete != attributes) broken(node, "its attributes are not complete and in order");
    }

    // Whether a value of Phase::each still holds after the last micro-batch.
    static bool persists(const Node& node) {
        const OpRow& row = op_row(node.op);
        return row.lowering == Lowering::source || row.micro_batches != MicroBatches::last ||
               node.flag(Attr::accumulate);
    }

    void check_phases(const Node& node) const {
        // What joins the micro-batches runs in each of them; running statistics may also run once, of a whole
        // batch.
        if (persists(node) && node.phase != Phase::each &&
            !(node.op == Op::running_statistics && node.phase == Phase::reduce))
            broken(node, "it accumulates outside of phase each");
        for (const ValueId input : node.inputs) {
            const Node& producer = graph_.producer(input);
            if (op_row(producer.op).lowering == Lowering::source) continue;
            if (producer.phase > node.phase) broken(node, "it reads a value of a later phase");
            if (producer.phase == Phase::each && node.phase != Phase::each && !persists(producer))
                broken(node, "it reads a value that does not outlive its micro-batch");
        }
    }

    // Output i overwrites a source: every other reader must be able to run before. Updates run once a step;
    // what else writes in place is part of every run.
    void check_in_place(const Node& node) const {
        const bool is_update = op_row(node.op).lowering == Lowering::update;
        for (const std::int8_t index : op_row(node.op).in_place) {
            if (index < 0) continue;
            const ValueId target = node.inputs[static_cast<std::size_t>(index)];
            const Op source = graph_.producer(target).op;
            if (source != Op::parameter && source != Op::state)
                broken(node, "it overwrites neither parameter nor state");
            if (is_update && node.phase != Phase::update)
                broken(node, "it overwrites outside of phase update");
            if (!is_update && node.phase != Phase::each) broken(node, "it overwrites outside of phase each");
            if (std::count(node.inputs.begin(), node.inputs.end(), target) != 1)
                broken(node, "it reads what it overwrites twice");
        }
    }

    // Of every node that overwrites, in the time of one walk: a step of training has an update for each
    // parameter.
    void check_readers_of_overwritten() {
        std::pmr::vector<Readers> readers(graph_.values.size(), graph_.heap());
        std::pmr::vector<bool> is_output(graph_.values.size(), false, graph_.heap());
        for (id_ = 0; id_ < static_cast<NodeId>(graph_.nodes.size()); ++id_)
            for (const ValueId input : graph_.node(id_).inputs)
                readers[static_cast<std::size_t>(input)].last[static_cast<int>(graph_.node(id_).phase)] = id_;
        for (const GraphOutput& output : graph_.outputs)
            is_output[static_cast<std::size_t>(output.value)] = true;
        for (id_ = 0; id_ < static_cast<NodeId>(graph_.nodes.size()); ++id_) {
            const Node& node = graph_.node(id_);
            for (const std::int8_t index : op_row(node.op).in_place) {
                if (index < 0) continue;
                const auto target = static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(index)]);
                for (int phase = static_cast<int>(node.phase); phase < kPhases; ++phase)
                    if (readers[target].last[phase] > id_)
                        broken(node, "a later node reads what it overwrites");
                if (is_output[target]) broken(node, "it overwrites an output of the graph");
            }
        }
    }

    void check_names() const {
        std::pmr::vector<std::string_view> names(graph_.heap());
        for (const SourceInfo& source : graph_.sources) names.emplace_back(graph_.node(source.node).name);
        check_unique(names, "sources");
        names.clear();
        for (const GraphOutput& output : graph_.outputs) {
            if (output.value < 0 || output.value >= static_cast<ValueId>(graph_.values.size()))
                fail(VOLTA_INTERNAL, "graph: the output \"%s\" names no value", output.name.c_str());
            names.emplace_back(output.name);
        }
        check_unique(names, "outputs");
    }

    // Sorts the names, which end with a zero.
    static void check_unique(std::pmr::vector<std::string_view>& names, const char* what) {
        std::sort(names.begin(), names.end());
        const auto twice = std::adjacent_find(names.begin(), names.end());
        if (twice != names.end()) fail(VOLTA_INTERNAL, "graph: two %s are named \"%s\"", what, twice->data());
    }

    static constexpr int kPhases = static_cast<int>(Phase::update) + 1;
    struct Readers {  // of a value
        NodeId last[kPhases] = {-1, -1, -1};
    };

    const Graph& graph_;
    NodeId id_ = 0;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace volta
