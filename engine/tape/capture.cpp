#include "engine/tape/capture.h"

#include <algorithm>
#include <cstdio>

#include "engine/graph/step_input.h"
#include "engine/tape/segment_walk.h"

namespace volta {
namespace {

struct Name {
    char text[24];
};
Name numbered(const char* prefix, std::size_t number) {
    Name name;
    std::snprintf(name.text, sizeof name.text, "%s%zu", prefix, number);
    return name;
}

class Capturer {
  public:
    Capturer(const Tape& tape, const CaptureNames& names, std::pmr::memory_resource* heap)
        : tape_(tape),
          trace_(tape.trace()),
          names_(names),
          result_(heap),
          renamed_(trace_.graph.values.size(), -1, heap),
          running_(heap) {}

    Capture run(const Tensor* const* outputs, std::size_t count) {
        SegmentRequest request(result_.graph.heap());
        for (std::size_t i = 0; i < count; ++i) {
            require(outputs[i] != nullptr, "output %zu is NULL", i);
            if (outputs[i]->role != Tensor::Role::result || !tape_.is_of_record(outputs[i]))
                fail(VOLTA_INVALID_STATE, "output %zu is no result of the record", i);
            request.wanted.push_back(outputs[i]->value);
        }
        for (std::size_t i = 0; i < names_.count; ++i)
            require(names_.tensors[i] != nullptr && tape_.is_of_record(names_.tensors[i]),
                    "tensor %zu, which is to be called %s, is not read by the record", i, names_.names[i]);
        std::pmr::vector<char> needed = needed_nodes(trace_, request, [](ValueId) { return false; }).nodes;
        find_norms(needed);
        for (std::size_t node = 0; node < needed.size(); ++node) {
            if (needed[node] == 0) continue;
            const Node& from = trace_.graph.nodes[node];
            if (op_row(from.op).lowering == Lowering::source && from.op != Op::constant)
                add_source(from.first_output);
            else if (from.op == Op::batch_norm_train)
                add_norm(from);
            else if (from.op != Op::batch_statistics)  // which the trainer puts there again
                copy_node(trace_.graph, static_cast<NodeId>(node), result_.graph, renamed_);
        }
        for (std::size_t i = 0; i < count; ++i)
            result_.graph.output(names_.outputs != nullptr ? names_.outputs[i] : numbered("y", i).text,
                                 renamed_[static_cast<std::size_t>(outputs[i]->value)]);
        return std::move(result_);
    }

  private:
    const char* given_name(const Tensor* leaf) const {
        for (std::size_t i = 0; i < names_.count; ++i)
            if (names_.tensors[i] == leaf) return names_.names[i];
        return nullptr;
    }

    // Running statistics are parameters; a trained norm does not read them, the model's does.
    void find_norms(std::pmr::vector<char>& needed) {
        for (const Call& call : trace_.calls) {
            if (call.kind != CallKind::apply || call.inputs.size() != 5 ||
                needed[static_cast<std::size_t>(trace_.graph.value(call.first).producer)] == 0)
                continue;
            if (call.op != Op::batch_norm_train && call.op != Op::batch_norm) continue;
            for (int i = 3; i < 5; ++i) {
                const ValueId running = call.inputs[static_cast<std::size_t>(i)];
                running_.push_back(running);
                needed[static_cast<std::size_t>(trace_.graph.value(running).producer)] = 1;
            }
        }
    }

    void add_norm(const Node& trained) {
        const auto call = std::find_if(trace_.calls.begin(), trace_.calls.end(), [&](const Call& each) {
            return each.op == Op::batch_norm_train && each.first == trained.first_output;
        });
        ValueId inputs[5];
        for (std::size_t i = 0; i < 5; ++i) inputs[i] = renamed_[static_cast<std::size_t>(call->inputs[i])];
        renamed_[static_cast<std::size_t>(trained.first_output)] =
            result_.graph.apply(Op::batch_norm, inputs, 5, call->attributes.data(),
                                static_cast<int>(call->attributes.size()), Phase::each);
    }

    void add_source(ValueId value) {
        const auto at = std::find_if(trace_.sources.begin(), trace_.sources.end(),
                                     [&](const TraceSource& source) { return source.value == value; });
        const TraceSource& source = *at;
        const Value& known = trace_.graph.value(value);
        Graph& graph = result_.graph;
        ValueId& now = renamed_[static_cast<std::size_t>(value)];
        if (source.kind == SourceKind::random) {
            now = graph.input(name_of(StepInput::random), DType::i32, Shape{3});
            return;
        }
        const Tensor* const leaf = tape_.leaves()[static_cast<std::size_t>(at - trace_.sources.begin())];
        if (source.kind != SourceKind::leaf || leaf == nullptr)
            fail(VOLTA_INTERNAL, "a result depends on an optimizer's state");
        const char* const name = given_name(leaf);
        if (source.requires_grad || std::count(running_.begin(), running_.end(), value) != 0) {
            now = graph.parameter(name != nullptr ? name : numbered("p", result_.parameters.size()).text,
                                  known.shape, Init{});
            result_.parameters.push_back(leaf);
            return;
        }
        Shape declared = known.shape;
        if (names_.open_batch && declared.rank > 0) declared[0] = -1;
        now = graph.input(name != nullptr ? name : numbered("x", inputs_++).text, known.dtype, declared);
    }

    const Tape& tape_;
    const Trace& trace_;
    const CaptureNames& names_;
    Capture result_;
    std::pmr::vector<ValueId> renamed_;
    std::pmr::vector<ValueId> running_;  // running means and variances of batch norms
    std::size_t inputs_ = 0;
};

}  // namespace

Capture capture(const Tape& tape, const Tensor* const* outputs, std::size_t output_count,
                const CaptureNames& names, std::pmr::memory_resource* heap) {
    return Capturer(tape, names, heap).run(outputs, output_count);
}

}  // namespace volta
