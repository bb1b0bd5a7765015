#include "engine/runtime/generator.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/model/gpt.h"
#include "engine/runtime/token_loss.h"

namespace volta {

namespace {

constexpr const char* kLast = "step/last";  // i32 [1]: the row whose logits are wanted

// Rewrites the graph so that only row `last` of its logits is computed, where the head is one product: rows
// are independent, so they keep their bits. Other heads give all rows.
Graph last_row_graph(const Graph& model, std::int64_t time, std::pmr::memory_resource* heap) {
    const Graph inference = without_dropout(model, heap);
    const Shape tokens{1, time};
    Graph graph = specialize(inference, &tokens, 1, heap);
    const ValueId logits = graph.outputs[0].value;
    const ValueId last = graph.input(kLast, DType::i32, Shape{1});
    const Node& head = graph.producer(logits);
    const bool is_product = head.op == Op::matmul && head.inputs.size() == 2 &&
                            !head.flag(Attr::transpose_a) && graph.shape(head.inputs[1]).rank == 2;
    const ValueId rows = is_product ? head.inputs[0] : logits;
    const ValueId weight = is_product ? head.inputs[1] : -1;
    const Attribute transpose_b = number(Attr::transpose_b, is_product ? head.number(Attr::transpose_b) : 0);

    const Shape flat{time, graph.shape(rows).last()};
    const ValueId table = graph.apply(Op::reshape, {rows}, {list(Attr::shape, flat)});
    ValueId row = graph.apply(Op::gather, {table, last});
    if (is_product) row = graph.apply(Op::matmul, {row, weight}, {transpose_b});
    graph.outputs.clear();
    graph.output("logits", row);
    return graph;
}

// A sequence is run with what follows it still unknown, so no token may look ahead.
void require_causal(const Graph& graph) {
    for (const Node& node : graph.nodes)
        if (node.op == Op::attention && !node.flag(Attr::causal))
            fail(VOLTA_UNSUPPORTED, "generating needs causal attention: in node %%%d a token sees later ones",
                 node.first_output);
}

// 16, 32, 64, ... and the context itself.
std::pmr::vector<std::int64_t> lengths_up_to(std::int64_t context, std::pmr::memory_resource* heap) {
    std::pmr::vector<std::int64_t> lengths(heap);
    for (std::int64_t length = 16; length < context; length *= 2) lengths.push_back(length);
    lengths.push_back(context);
    return lengths;
}

}  // namespace

Generator::Generator(ContextRef context, ModelRef model, const SamplerOptions& options)
    : context_(context),
      model_(std::move(model)),
      lengths_(context->structures()),
      context_length_(language_model(model_->graph).context),
      vocabulary_(language_model(model_->graph).vocabulary),
      sampler_(options, vocabulary_, context->tensors()) {
    require_causal(model_->graph);
    std::pmr::memory_resource* heap = context->structures();
    const auto extents = lengths_up_to(context_length_, heap);
    lengths_.reserve(extents.size());
    std::uint64_t arena = 0, workspace = 0;
    for (std::int64_t extent : extents) {
        const Program& program = context->plans().prepare(last_row_graph(model_->graph, extent, heap), {});
        lengths_.emplace_back(extent, program, heap);
        arena = std::max(arena, lengths_.back().memory.arena_bytes());
        workspace = std::max<std::uint64_t>(workspace, program.workspace_bytes());
    }
    arena_ = Buffer(context->tensors(), arena);
    workspace_ = Buffer(context->tensors(), workspace);
    sequence_ =
        Buffer(context->tensors(), static_cast<std::size_t>(context_length_) * sizeof(std::int32_t), true);
    logits_ = Buffer(context->tensors(), static_cast<std::size_t>(vocabulary_) * sizeof(float));
    for (Length& length : lengths_) {
        ProgramMemory& memory = length.memory;
        const Plan& plan = memory.program().plan();
        memory.lend_scratch(arena_.data(), workspace_.data());
        lend_parameters(memory, *model_);
        length.tokens_region = memory.find(
            RegionKind::input, plan.graph.producer(host_inputs(plan.graph, heap)[0]).name.c_str());
        length.last_region = memory.find(RegionKind::input, kLast);
        length.logits_region = memory.find(RegionKind::output, "logits");
        memory.lend(static_cast<std::size_t>(length.tokens_region), sequence_.data());
        memory.lend(static_cast<std::size_t>(length.logits_region), logits_.data());
        memory.add_to(bill_);
        memory.allocate(context->tensors());
    }
    bill_.activations += arena;
    bill_.workspace += workspace;
    bill_.staging += sequence_.bytes() + logits_.bytes() + Sampler::bytes_for(vocabulary_);
    bill_.total += arena + workspace + sequence_.bytes() + logits_.bytes() + Sampler::bytes_for(vocabulary_);
}

void Generator::start(const std::int32_t* tokens, std::size_t count) {
    require(tokens != nullptr && count > 0, "a sequence needs at least one token to start from");
    require(count <= static_cast<std::size_t>(context_length_),
            "the prompt has %zu tokens, the context holds %lld", count,
            static_cast<long long>(context_length_));
    for (std::size_t i = 0; i < count; ++i)
        require(tokens[i] >= 0 && tokens[i] < vocabulary_, "token %zu is %d, outside the vocabulary of %d", i,
                tokens[i], vocabulary_);
    std::memset(sequence_.data(), 0, sequence_.bytes());
    std::memcpy(sequence_.data(), tokens, count * sizeof(std::int32_t));
    used_ = static_cast<std::int64_t>(count);
    has_logits_ = false;
}

std::int32_t Generator::next() {
    if (used_ == 0) fail(VOLTA_INVALID_STATE, "no sequence has been started");
    if (used_ == context_length_)
        fail(VOLTA_INVALID_STATE, "the context of %lld tokens is full",
             static_cast<long long>(context_length_));
    const FpEnvironment contract;
    Length* length = lengths_.data();
    while (length->time < used_) ++length;
    lend_parameters(length->memory, *model_);
    *length->memory.at<std::int32_t>(length->last_region) = static_cast<std::int32_t>(used_ - 1);
    const volta_status status = length->memory.run(Phase::each, 0);
    if (status != VOLTA_OK) fail(status, "the device failed while the plan ran");
    has_logits_ = true;

    auto* sequence = static_cast<std::int32_t*>(sequence_.data());
    const std::int32_t token =
        sampler_.next(static_cast<const float*>(logits_.data()), sequence, static_cast<std::size_t>(used_),
                      static_cast<std::uint32_t>(used_));
    sequence[used_++] = token;
    return token;
}

const float* Generator::logits(std::size_t* count) const {
    if (!has_logits_) fail(VOLTA_INVALID_STATE, "no token has been drawn yet");
    *count = static_cast<std::size_t>(vocabulary_);
    return static_cast<const float*>(logits_.data());
}

}  // namespace volta
