#include "engine/model/bert.h"

#include <cinttypes>
#include <cmath>

#include "engine/base/error.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

constexpr double kMostNumber = 1e30;
// The score of a token that is not seen, below any other: its e^(s - max) is +0, which changes neither the
// sum nor a product's chain. Finite, so that a sequence of padding alone gives numbers.
constexpr float kUnseen = -1e30f;

void check(const BertConfig& config) {
    require_transformer_sizes(config.vocabulary, config.layers, config.dim, config.heads, config.context);
    require_size({"hidden", config.hidden}, 0, kMostModelSize);
    require_size({"segments", config.segments}, config.segment_input ? 1 : 0, kMostModelSize);
    require_size({"head", static_cast<std::int64_t>(config.head)}, VOLTA_BERT_MASKED, VOLTA_BERT_TOKENS);
    const bool classifies = config.head == BertHead::classes || config.head == BertHead::tokens;
    require_size({"classes", config.classes}, classifies ? 1 : 0, classifies ? kMostModelSize : 0);
    require(config.dropout >= 0 && config.dropout < 1, "dropout is %g; it must be at least 0 and below 1",
            config.dropout);
    require(config.epsilon >= 0 && config.epsilon <= kMostNumber, "epsilon is %g; it must be from 0 to %g",
            config.epsilon, kMostNumber);
}

class BertBuilder final : TransformerBuilder {
  public:
    BertBuilder(const BertConfig& config, std::pmr::memory_resource* heap)
        : TransformerBuilder(config.layers, heap), config_(config) {}

    Graph build() {
        const ValueId tokens = graph_.input("tokens", DType::i32, {-1, -1});
        const ValueId segments =
            config_.segment_input ? graph_.input("segments", DType::i32, {-1, -1}) : ValueId{-1};
        if (config_.mask_input) take_mask(graph_.input("mask", DType::i32, {-1, -1}));
        use_dropout(config_.dropout);
        ValueId x = embedded(tokens, segments);  // [batch, time, dim]
        for (layer_ = 0; layer_ < config_.layers; ++layer_) x = block(x);
        layer_ = -1;
        finish(x);
        return std::move(graph_);
    }

  private:
    ValueId norm(const char* part, ValueId x) { return layer_norm(part, x, config_.epsilon); }

    ValueId embedded(ValueId tokens, ValueId segments) {
        table_ = graph_.parameter("token_embedding", {config_.vocabulary, config_.dim}, normal(kDeviation));
        ValueId kinds = -1;
        if (config_.segments > 0)
            kinds =
                graph_.parameter("segment_embedding", {config_.segments, config_.dim}, normal(kDeviation));
        const ValueId places =
            graph_.parameter("position_embedding", {config_.context, config_.dim}, normal(kDeviation));
        const ValueId of_tokens = graph_.apply(Op::gather, {table_, tokens});
        const ValueId sum = kinds < 0 ? of_tokens : add(of_tokens, of_segments(kinds, segments));
        const ValueId ids = positions(tokens, config_.context);
        return dropped(norm("norm_embedding", add(sum, graph_.apply(Op::gather, {places, ids}))));
    }

    ValueId of_segments(ValueId kinds, ValueId segments) {
        return segments >= 0 ? graph_.apply(Op::gather, {kinds, segments}) : first(kinds, 0);
    }

    // Index 0 of an axis, which stays with extent 1.
    ValueId first(ValueId x, int axis) { return cut(x, axis, 0, 1); }
    ValueId cut(ValueId x, int axis, std::int64_t begin, std::int64_t end) {
        return graph_.apply(Op::slice, {x},
                            {number(Attr::axis, axis), number(Attr::begin, static_cast<double>(begin)),
                             number(Attr::end, static_cast<double>(end))});
    }
    ValueId reshaped(ValueId x, std::initializer_list<std::int64_t> shape) {
        return graph_.apply(Op::reshape, {x}, {list(Attr::shape, shape)});
    }
    ValueId axes(ValueId x, std::initializer_list<std::int64_t> order) {
        return graph_.apply(Op::transpose, {x}, {list(Attr::permutation, order)});
    }

    void take_mask(ValueId mask) {
        mask_ = reshaped(mask, {-2, 1, 1, -1});  // a key's, for all heads and queries
        unseen_ = graph_.scalar(kUnseen);
        const std::int64_t width = config_.dim / config_.heads;
        scale_ = graph_.scalar(static_cast<float>(1 / std::sqrt(static_cast<double>(width))));
    }

    // Part 0, 1 or 2 of qkv: q, k or v as [batch, heads, time, width].
    ValueId heads_of(ValueId qkv, int part) {
        const ValueId columns = cut(qkv, 2, part * config_.dim, (part + 1) * config_.dim);
        return axes(reshaped(columns, {-2, -2, config_.heads, -1}), {0, 2, 1, 3});
    }

    // The operator `attention` spelt out, over the tokens that the mask lets through.
    ValueId masked_attention(ValueId qkv) {
        const ValueId q = heads_of(qkv, 0), k = heads_of(qkv, 1), v = heads_of(qkv, 2);
        const ValueId products = graph_.apply(Op::matmul, {q, k}, {number(Attr::transpose_b, 1)});
        const ValueId scores = graph_.apply(Op::mul, {products, scale_});
        const ValueId seen = graph_.apply(Op::where, {mask_, scores, unseen_});
        const ValueId mixed = graph_.apply(Op::matmul, {dropped(graph_.apply(Op::softmax, {seen})), v});
        return reshaped(axes(mixed, {0, 2, 1, 3}), {-2, -2, -1});
    }

    ValueId attention(ValueId qkv) {
        return mask_ >= 0 ? masked_attention(qkv) : packed_attention(qkv, config_.heads, false);
    }

    ValueId block(ValueId x) {
        const std::int64_t dim = config_.dim;
        const ValueId mixed = attention(linear("qkv", x, 3 * dim, kDeviation));
        x = norm("norm1", add(x, dropped(linear("proj", mixed, dim, kDeviation))));
        const ValueId hidden = graph_.apply(Op::gelu_erf, {linear("fc", x, config_.hidden, kDeviation)});
        return norm("norm2", add(x, dropped(linear("fc_proj", hidden, dim, kDeviation))));
    }

    void finish(ValueId x) {
        if (config_.head == BertHead::hidden) return graph_.output("hidden", x);
        if (config_.head == BertHead::masked) return graph_.output("logits", predicted(x));
        if (config_.head == BertHead::tokens)
            return graph_.output("logits", linear("classifier", dropped(x), config_.classes, kDeviation));
        const ValueId start = reshaped(first(x, 1), {-2, -1});  // [batch, dim]
        const ValueId pooled = graph_.apply(config_.pools_by_relu ? Op::relu : Op::tanh,
                                            {linear("pooler", start, config_.dim, kDeviation)});
        if (config_.head == BertHead::pooled) return graph_.output("pooled", pooled);
        graph_.output("logits", linear("classifier", dropped(pooled), config_.classes, kDeviation));
    }

    ValueId predicted(ValueId x) {
        const ValueId turned = graph_.apply(Op::gelu_erf, {linear("transform", x, config_.dim, kDeviation)});
        const ValueId logits = head(norm("norm_transform", turned), table_);
        return add(logits, parameter("head", "bias", {config_.vocabulary}, constant(0)));
    }

    const BertConfig& config_;
    ValueId table_ = -1;                            // the token embedding
    ValueId mask_ = -1, unseen_ = -1, scale_ = -1;  // with a mask
};

}  // namespace

BertConfig complete(const BertConfig& config) {
    check(config);
    BertConfig result = config;
    if (result.hidden == 0) result.hidden = 4 * result.dim;
    require_size({"hidden", result.hidden}, 1, kMostModelSize);
    return result;
}

Graph build_bert(const BertConfig& config, std::pmr::memory_resource* heap) {
    const BertConfig whole = complete(config);
    return build_architecture("BERT", [&] { return BertBuilder(whole, heap).build(); });
}

void describe_bert(const BertConfig& config, Model& model) {
    const BertConfig whole = complete(config);
    describe_architecture(model, "bert",
                          {{"vocabulary", whole.vocabulary},
                           {"layers", whole.layers},
                           {"dim", whole.dim},
                           {"heads", whole.heads},
                           {"hidden", whole.hidden},
                           {"context", whole.context},
                           {"segments", whole.segments},
                           {"head", static_cast<std::int64_t>(whole.head)},
                           {"classes", whole.classes},
                           {"segment_input", whole.segment_input},
                           {"mask_input", whole.mask_input}});
    if (whole.pools_by_relu) describe_architecture(model, "bert", {{"pools_by_relu", 1}});
    describe_number(model, "bert", "dropout", whole.dropout);
    describe_number(model, "bert", "epsilon", whole.epsilon);
}

HeapPtr<Model> create_bert(const BertConfig& config, std::uint64_t seed,
                           std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                           const InitMachine& machine) {
    HeapPtr<Model> model = Model::create(build_bert(config, structures), seed, structures, tensors, machine);
    describe_bert(config, *model);
    return model;
}

}  // namespace volta
