#include "engine/model/gpt.h"

#include "engine/base/error.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

void check(const GptConfig& config) {
    require_transformer_sizes(config.vocabulary, config.layers, config.dim, config.heads, config.context);
    require(config.dropout >= 0 && config.dropout < 1, "dropout is %g; it must be at least 0 and below 1",
            config.dropout);
}

class GptBuilder final : TransformerBuilder {
  public:
    GptBuilder(const GptConfig& config, std::pmr::memory_resource* heap)
        : TransformerBuilder(config.layers, heap), config_(config) {}

    Graph build() {
        const ValueId tokens = graph_.input("tokens", DType::i32, {-1, -1});
        use_dropout(config_.dropout);
        const ValueId embedding =
            graph_.parameter("token_embedding", {config_.vocabulary, config_.dim}, normal(kDeviation));
        const ValueId position =
            graph_.parameter("position_embedding", {config_.context, config_.dim}, normal(kDeviation));
        const ValueId ids = positions(tokens, config_.context);
        // x [batch, time, dim]. Two statements: nodes stand in this order.
        const ValueId of_tokens = graph_.apply(Op::gather, {embedding, tokens});
        ValueId x = dropped(add(of_tokens, graph_.apply(Op::gather, {position, ids})));
        for (layer_ = 0; layer_ < config_.layers; ++layer_) x = block(x);
        layer_ = -1;
        graph_.output("logits", head(norm("norm_final", x), embedding));
        return std::move(graph_);
    }

  private:
    ValueId norm(const char* part, ValueId x) { return layer_norm(part, x, 1e-5); }

    ValueId block(ValueId x) {
        const std::int64_t dim = config_.dim;
        const double residual = residual_deviation();
        const ValueId qkv = linear("qkv", norm("norm1", x), 3 * dim, kDeviation);
        x = add(x, dropped(linear("proj", packed_attention(qkv, config_.heads, true), dim, residual)));
        const ValueId hidden =
            graph_.apply(Op::gelu_tanh, {linear("fc", norm("norm2", x), 4 * dim, kDeviation)});
        return add(x, dropped(linear("fc_proj", hidden, dim, residual)));
    }

    const GptConfig& config_;
};

}  // namespace

Graph build_gpt(const GptConfig& config, std::pmr::memory_resource* heap) {
    check(config);
    return build_architecture("GPT", [&] { return GptBuilder(config, heap).build(); });
}

void describe_gpt(const GptConfig& config, Model& model) {
    describe_architecture(model, "gpt",
                          {{"vocabulary", config.vocabulary},
                           {"layers", config.layers},
                           {"dim", config.dim},
                           {"heads", config.heads},
                           {"context", config.context}});
    describe_number(model, "gpt", "dropout", config.dropout);
}

HeapPtr<Model> create_gpt(const GptConfig& config, std::uint64_t seed, std::pmr::memory_resource* structures,
                          std::pmr::memory_resource* tensors, const InitMachine& machine) {
    HeapPtr<Model> model = Model::create(build_gpt(config, structures), seed, structures, tensors, machine);
    describe_gpt(config, *model);
    return model;
}

}  // namespace volta
