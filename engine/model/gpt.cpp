#include "engine/model/gpt.h"

#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {
namespace {

constexpr std::int64_t kMostIds = INT32_MAX;
constexpr std::int64_t kMostLayers = 512;  // 12 parameters each: within what a file may hold
constexpr double kDeviation = 0.02;

void check(const GptConfig& config) {
    const struct {
        const char* name;
        std::int64_t value, most;
    } sizes[] = {{"vocabulary", config.vocabulary, kMostIds},
                 {"layers", config.layers, kMostLayers},
                 {"dim", config.dim, kMostIds},
                 {"heads", config.heads, kMostIds},
                 {"context", config.context, kMostIds}};
    for (const auto& size : sizes)
        require(size.value >= 1 && size.value <= size.most,
                "%s is %" PRId64 "; it must be from 1 to %" PRId64, size.name, size.value, size.most);
    require(config.dim % config.heads == 0, "dim %" PRId64 " is not a multiple of heads %" PRId64, config.dim,
            config.heads);
    require(config.dropout >= 0 && config.dropout < 1, "dropout is %g; it must be at least 0 and below 1",
            config.dropout);
}

class GptBuilder {
  public:
    GptBuilder(const GptConfig& config, std::pmr::memory_resource* heap) : config_(config), graph_(heap) {}

    Graph build() {
        tokens_ = graph_.input("tokens", DType::i32, {-1, -1});
        if (config_.dropout > 0) random_ = graph_.input(kRandomInput, DType::i32, {3});
        const Init normal = {VOLTA_INIT_NORMAL, kDeviation, 0};
        const ValueId embedding =
            graph_.parameter("token_embedding", {config_.vocabulary, config_.dim}, normal);
        const ValueId position =
            graph_.parameter("position_embedding", {config_.context, config_.dim}, normal);
        const ValueId ids = graph_.apply(Op::position_ids, {tokens_},
                                         {number(Attr::limit, static_cast<double>(config_.context))});
        // x [batch, time, dim]
        ValueId x = graph_.apply(Op::add, {graph_.apply(Op::gather, {embedding, tokens_}),
                                           graph_.apply(Op::gather, {position, ids})});
        x = dropped(x);
        for (layer_ = 0; layer_ < config_.layers; ++layer_) x = block(x);
        layer_ = -1;
        const ValueId logits =
            graph_.apply(Op::matmul, {norm("norm_final", x), embedding}, {number(Attr::transpose_b, 1)});
        graph_.output("logits", logits);
        return std::move(graph_);
    }

  private:
    struct Name {
        char text[64];
    };
    // "block.3.qkv.weight"; outside the blocks "norm_final.weight".
    Name name_of(const char* part, const char* what) const {
        Name name;
        if (layer_ < 0)
            std::snprintf(name.text, sizeof name.text, "%s.%s", part, what);
        else
            std::snprintf(name.text, sizeof name.text, "block.%" PRId64 ".%s.%s", layer_, part, what);
        return name;
    }

    ValueId norm(const char* part, ValueId x) {
        const Shape shape{config_.dim};
        const ValueId scale =
            graph_.parameter(name_of(part, "weight").text, shape, {VOLTA_INIT_CONSTANT, 1, 0});
        const ValueId bias = graph_.parameter(name_of(part, "bias").text, shape, {VOLTA_INIT_CONSTANT, 0, 0});
        return graph_.apply(Op::layer_norm, {x, scale, bias});
    }

    ValueId linear(const char* part, ValueId x, std::int64_t out, double deviation) {
        const std::int64_t in = graph_.shape(x).last();
        const ValueId weight =
            graph_.parameter(name_of(part, "weight").text, {in, out}, {VOLTA_INIT_NORMAL, deviation, 0});
        const ValueId bias = graph_.parameter(name_of(part, "bias").text, {out}, {VOLTA_INIT_CONSTANT, 0, 0});
        return graph_.apply(Op::add, {graph_.apply(Op::matmul, {x, weight}), bias});
    }

    // Every random node has a stream of its own, numbered as they are made.
    ValueId dropped(ValueId x) {
        if (random_ < 0) return x;
        return graph_.apply(
            Op::dropout, {x, random_},
            {number(Attr::probability, config_.dropout), number(Attr::stream, next_stream_++)});
    }

    ValueId attention(ValueId qkv) {
        const Attribute heads = number(Attr::heads, static_cast<double>(config_.heads));
        const Attribute causal = number(Attr::causal, 1), packed = number(Attr::packed, 1);
        if (random_ < 0) return graph_.apply(Op::attention, {qkv}, {heads, causal, packed});
        return graph_.apply(Op::attention, {qkv, random_},
                            {heads, causal, packed, number(Attr::probability, config_.dropout),
                             number(Attr::stream, next_stream_++)});
    }

    ValueId block(ValueId x) {
        const std::int64_t dim = config_.dim;
        // Two branches per layer are added to x: its variance stays that of one layer.
        const double residual = kDeviation / std::sqrt(2.0 * static_cast<double>(config_.layers));
        const ValueId qkv = linear("qkv", norm("norm1", x), 3 * dim, kDeviation);
        x = graph_.apply(Op::add, {x, dropped(linear("proj", attention(qkv), dim, residual))});
        const ValueId hidden =
            graph_.apply(Op::gelu_tanh, {linear("fc", norm("norm2", x), 4 * dim, kDeviation)});
        return graph_.apply(Op::add, {x, dropped(linear("fc_proj", hidden, dim, residual))});
    }

    const GptConfig& config_;
    Graph graph_;
    ValueId tokens_ = -1, random_ = -1;
    std::int64_t layer_ = -1;
    std::uint32_t next_stream_ = 0;
};

}  // namespace

Graph build_gpt(const GptConfig& config, std::pmr::memory_resource* heap) {
    check(config);
    try {
        return GptBuilder(config, heap).build();
    } catch (const Error& error) {
        if (error.status() != VOLTA_SHAPE_MISMATCH) throw;
        fail(VOLTA_INVALID_ARGUMENT, "the sizes of this GPT are too large: %s", error.what());
    }
}

HeapPtr<Model> create_gpt(const GptConfig& config, std::uint64_t seed, std::pmr::memory_resource* structures,
                          std::pmr::memory_resource* tensors, const InitMachine& machine) {
    HeapPtr<Model> model = Model::create(build_gpt(config, structures), seed, structures, tensors, machine);
    model->set_metadata("volta.architecture", "gpt");
    const struct {
        const char* key;
        std::int64_t value;
    } sizes[] = {{"volta.gpt.vocabulary", config.vocabulary},
                 {"volta.gpt.layers", config.layers},
                 {"volta.gpt.dim", config.dim},
                 {"volta.gpt.heads", config.heads},
                 {"volta.gpt.context", config.context}};
    char text[64];
    for (const auto& size : sizes) {
        std::snprintf(text, sizeof text, "%" PRId64, size.value);
        model->set_metadata(size.key, text);
    }
    // The shortest text that reads back as this double, whatever the host's locale.
    *std::to_chars(text, text + sizeof text - 1, config.dropout).ptr = '\0';
    model->set_metadata("volta.gpt.dropout", text);
    return model;
}

}  // namespace volta
