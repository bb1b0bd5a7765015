#include "engine/runtime/token_loss.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/model/gpt.h"
#include "engine/runtime/profile.h"
#include "engine/runtime/session.h"

namespace volta {

namespace {

constexpr std::int64_t kMostTokenIds = INT32_MAX;

}  // namespace

LanguageModel language_model(const Graph& graph) {
    const auto inputs = host_inputs(graph, graph.heap());
    require(inputs.size() == 1, "a language model has one input, this model has %zu", inputs.size());
    const Value& input = graph.value(inputs[0]);
    require(input.dtype == DType::i32 && input.shape.rank == 2,
            "a language model reads i32 [batch, time], input %s is %s %s",
            graph.producer(inputs[0]).name.c_str(), dtype_name(input.dtype), to_text(input.shape).text);
    require(!graph.outputs.empty(), "the model has no output");
    const Value& output = graph.value(graph.outputs[0].value);
    require(output.dtype == DType::f32 && output.shape.rank == 3,
            "a language model gives f32 [batch, time, vocabulary], output %s is %s %s",
            graph.outputs[0].name.c_str(), dtype_name(output.dtype), to_text(output.shape).text);
    std::int64_t context = graph.source(graph.value(inputs[0]).producer).declared[1];
    if (context < 0) context = 0x7fffffff;
    for (const Node& node : graph.nodes) {
        if (node.op == Op::position_ids)
            context = std::min(context, static_cast<std::int64_t>(node.number(Attr::limit)));
        if (node.op == Op::attention && !node.flag(Attr::causal))
            fail(VOLTA_UNSUPPORTED,
                 "the next token needs causal attention: in node %%%d a token sees later ones",
                 node.first_output);
    }
    require(context < 0x7fffffff, "the model does not say how long a sequence may be");
    require(context > 0, "input %s has no room for a token: its shape is %s",
            graph.producer(inputs[0]).name.c_str(), to_text(input.shape).text);
    require(output.shape.last() > 0 && output.shape.last() <= kMostTokenIds,
            "output %s has %lld token ids, a language model has 1 to %lld", graph.outputs[0].name.c_str(),
            static_cast<long long>(output.shape.last()), static_cast<long long>(kMostTokenIds));
    return LanguageModel{context, static_cast<std::int32_t>(output.shape.last())};
}

namespace {

// The forward graph with the loss of each position as its only output.
Graph loss_graph(const Graph& model, std::int64_t rows, std::int64_t time, std::pmr::memory_resource* heap) {
    const Graph inference = without_dropout(model, heap);
    const Shape tokens{rows, time};
    Graph graph = specialize(inference, &tokens, 1, heap);
    const ValueId logits = graph.outputs[0].value;
    graph.outputs.clear();
    const ValueId targets = graph.input("targets", DType::i32, tokens);
    graph.output("losses", graph.apply(Op::cross_entropy, {logits, targets}));
    return graph;
}

class LossRunner {
  public:
    LossRunner(const TokenLossJob& job, std::int64_t rows, std::int64_t time)
        : job_(job),
          rows_(rows),
          time_(time),
          memory_(
              job.context->plans().prepare(loss_graph(*job.graph, rows, time, job.context->structures()), {}),
              job.context->structures()) {
        job.lend_parameters(job.owner, memory_);
        if (memory_.arena_bytes() <= job.arena_bytes && memory_.workspace_bytes() <= job.workspace_bytes)
            memory_.lend_scratch(job.arena, job.workspace);
        memory_.allocate();
        const auto& plan = memory_.program().plan();
        const auto inputs = host_inputs(plan.graph, job.context->structures());
        tokens_ = memory_.at<std::int32_t>(
            memory_.find(RegionKind::input, plan.graph.producer(inputs[0]).name.c_str()));
        targets_ = memory_.at<std::int32_t>(memory_.find(RegionKind::input, "targets"));
        losses_ = memory_.at<float>(memory_.find(RegionKind::output, "losses"));
    }

    // Adds the losses of windows [first, first + count), count <= rows, to `sum`. Rows beyond them repeat the
    // first.
    double add(std::size_t start, std::int64_t count, double sum) {
        const std::size_t bytes = static_cast<std::size_t>(time_) * sizeof(std::int32_t);
        for (std::int64_t row = 0; row < rows_; ++row) {
            const std::int32_t* window =
                job_.tokens + start + static_cast<std::size_t>((row < count ? row : 0) * time_);
            std::memcpy(tokens_ + row * time_, window, bytes);
            std::memcpy(targets_ + row * time_, window + 1, bytes);
        }
        check_limits(memory_);
        memory_.run(Phase::each, 0);
        for (std::int64_t i = 0; i < count * time_; ++i) sum += static_cast<double>(losses_[i]);
        return sum;
    }

  private:
    const TokenLossJob& job_;
    std::int64_t rows_, time_;
    ProgramMemory memory_;
    std::int32_t *tokens_, *targets_;
    float* losses_;
};

}  // namespace

double mean_token_loss(const TokenLossJob& job) {
    require(job.tokens != nullptr, "tokens is NULL");
    require(job.count >= 2, "the text has %zu tokens, a loss needs at least 2", job.count);
    require(job.time > 0 && job.rows > 0, "a batch of %lld sequences of %lld tokens has no token to predict",
            static_cast<long long>(job.rows), static_cast<long long>(job.time));
    const ProfileCall call(*job.context, "evaluate");
    const FpEnvironment contract;
    const auto predictions = static_cast<std::int64_t>(job.count - 1);
    const std::int64_t windows = predictions / job.time, rest = predictions % job.time;
    double sum = 0;
    if (windows > 0) {
        LossRunner runner(job, std::min(job.rows, windows), job.time);
        for (std::int64_t first = 0; first < windows; first += job.rows) {
            job.context->stop().ask("window", static_cast<std::size_t>(first),
                                    static_cast<std::size_t>(windows));
            sum = runner.add(static_cast<std::size_t>(first * job.time), std::min(job.rows, windows - first),
                             sum);
        }
    }
    if (rest > 0) job.context->stop().ask("the last window");
    if (rest > 0) sum = LossRunner(job, 1, rest).add(static_cast<std::size_t>(windows * job.time), 1, sum);
    return sum / static_cast<double>(predictions);
}

}  // namespace volta
