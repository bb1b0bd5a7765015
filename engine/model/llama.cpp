#include "engine/model/llama.h"

#include <cinttypes>

#include "engine/base/error.h"
#include "engine/base/multiples.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

// What the operators take (op_table.cpp): heads of queries and keys, width of a head.
constexpr std::int64_t kMostHeads = 32768, kMostHeadWidth = 65536;
constexpr double kMostNumber = 1e30;

void check(const LlamaConfig& config) {
    require_transformer_sizes(config.vocabulary, config.layers, config.dim, config.heads, config.context);
    require_size({"heads", config.heads}, 1, kMostHeads);
    require_size({"dim / heads", config.dim / config.heads}, 1, kMostHeadWidth);
    require_size({"kv_heads", config.kv_heads}, 0, config.heads);
    require_size({"hidden", config.hidden}, 0, kMostModelSize);
    require_size({"context", config.context}, 1, kMostPositions);
    require(config.kv_heads == 0 || config.heads % config.kv_heads == 0,
            "heads %" PRId64 " is not a multiple of kv_heads %" PRId64, config.heads, config.kv_heads);
    require(config.dim / config.heads % 2 == 0,
            "a head of %" PRId64 " elements (dim / heads) is not made of pairs", config.dim / config.heads);
    require(config.rope_base >= 1 && config.rope_base <= kMostNumber,
            "rope_base is %g; it must be from 1 to %g", config.rope_base, kMostNumber);
    require(config.epsilon >= 0 && config.epsilon <= kMostNumber, "epsilon is %g; it must be from 0 to %g",
            config.epsilon, kMostNumber);
}

class LlamaBuilder final : TransformerBuilder {
  public:
    LlamaBuilder(const LlamaConfig& config, std::pmr::memory_resource* heap)
        : TransformerBuilder(config.layers, heap), config_(config) {}

    Graph build() {
        const ValueId tokens = graph_.input("tokens", DType::i32, {-1, -1});
        const Shape vocabulary{config_.vocabulary, config_.dim};
        const ValueId embedding = graph_.parameter("token_embedding", vocabulary, normal(kDeviation));
        positions_ = positions(tokens, config_.context);
        const std::int64_t width = config_.dim / config_.heads;
        angles_ = graph_.apply(
            Op::rotary_table, {},
            {number(Attr::limit, static_cast<double>(config_.context)), number(Attr::base, config_.rope_base),
             number(Attr::width, static_cast<double>(width))});
        ValueId x = graph_.apply(Op::gather, {embedding, tokens});  // [batch, time, dim]
        for (layer_ = 0; layer_ < config_.layers; ++layer_) x = block(x);
        layer_ = -1;
        x = norm("norm_final", x);
        const ValueId table =
            config_.tied ? embedding : parameter("head", "weight", vocabulary, normal(kDeviation));
        graph_.output("logits", head(x, table));
        return std::move(graph_);
    }

  private:
    ValueId norm(const char* part, ValueId x) {
        return graph_.apply(Op::rms_norm, {x, parameter(part, "weight", {config_.dim}, constant(1))},
                            {number(Attr::epsilon, config_.epsilon)});
    }

    // q, k, v side by side; the first two turned.
    ValueId attention(ValueId qkv) {
        const auto heads = static_cast<double>(config_.heads);
        const auto kv_heads = static_cast<double>(config_.kv_heads);
        const ValueId turned = graph_.apply(
            Op::rotary, {qkv, positions_, angles_},
            {number(Attr::heads, heads + kv_heads), number(Attr::interleaved, config_.interleaved)});
        return graph_.apply(Op::attention, {turned},
                            {number(Attr::heads, heads), number(Attr::kv_heads, kv_heads),
                             number(Attr::causal, 1), number(Attr::packed, 1)});
    }

    ValueId block(ValueId x) {
        const std::int64_t dim = config_.dim, width = dim / config_.heads;
        const std::int64_t packed = (config_.heads + 2 * config_.kv_heads) * width;
        const ValueId qkv = product("qkv", norm("norm1", x), packed, kDeviation);
        x = add(x, product("proj", attention(qkv), dim, residual_deviation()));
        const ValueId factors = product("gate_up", norm("norm2", x), 2 * config_.hidden, kDeviation);
        const ValueId hidden = graph_.apply(Op::swiglu, {factors});
        return add(x, product("down", hidden, dim, residual_deviation()));
    }

    const LlamaConfig& config_;
    ValueId positions_ = -1, angles_ = -1;
};

}  // namespace

LlamaConfig complete(const LlamaConfig& config) {
    check(config);
    LlamaConfig result = config;
    if (result.kv_heads == 0) result.kv_heads = result.heads;
    if (result.hidden == 0) result.hidden = round_up(ceil_div(8 * result.dim, 3), 32);
    return result;
}

Graph build_llama(const LlamaConfig& config, std::pmr::memory_resource* heap) {
    const LlamaConfig whole = complete(config);
    return build_architecture("Llama", [&] { return LlamaBuilder(whole, heap).build(); });
}

void describe_llama(const LlamaConfig& config, Model& model) {
    const LlamaConfig whole = complete(config);
    describe_architecture(model, "llama",
                          {{"vocabulary", whole.vocabulary},
                           {"layers", whole.layers},
                           {"dim", whole.dim},
                           {"heads", whole.heads},
                           {"kv_heads", whole.kv_heads},
                           {"hidden", whole.hidden},
                           {"context", whole.context},
                           {"tied", whole.tied},
                           {"interleaved", whole.interleaved}});
    describe_number(model, "llama", "rope_base", whole.rope_base);
    describe_number(model, "llama", "epsilon", whole.epsilon);
}

HeapPtr<Model> create_llama(const LlamaConfig& config, std::uint64_t seed,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                            const InitMachine& machine) {
    HeapPtr<Model> model = Model::create(build_llama(config, structures), seed, structures, tensors, machine);
    describe_llama(config, *model);
    return model;
}

}  // namespace volta
