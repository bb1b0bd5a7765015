#include "engine/model/decoder.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <string>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

// What the operators take (op_table.cpp): heads of queries and keys, width of a head.
constexpr std::int64_t kMostHeads = 32768, kMostHeadWidth = 65536;
constexpr double kMostNumber = 1e30;

void require_number(const char* name, double value, double least, double most) {
    require(value >= least && value <= most, "%s is %g; it must be from %g to %g", name, value, least, most);
}

void check_positions(const DecoderConfig& config) {
    if (config.learned_positions) return;
    require_size({"context", config.context}, 1, kMostPositions);
    require_size({"turned", config.turned}, 0, config.head_dim);
    const std::int64_t turned = config.turned > 0 ? config.turned : config.head_dim;
    require(turned % 2 == 0,
            config.turned > 0 ? "%" PRId64 " turned elements are not made of pairs"
                              : "a head of %" PRId64 " elements (dim / heads) is not made of pairs",
            turned);
    require_number("rope_base", config.rope_base, 1, kMostNumber);
    require_number("rope_scale", config.rope_scale, 0, kMostNumber);
    if (config.window_rope_base != 0)
        require_number("window_rope_base", config.window_rope_base, 1, kMostNumber);
    const std::int64_t count = config.frequencies.count;
    require(count == 0 || count == turned / 2,
            "%" PRId64 " frequencies are given for %" PRId64 " pairs of a head", count, turned / 2);
    for (std::int64_t i = 0; i < count; ++i)
        require(std::isfinite(config.frequencies.values[i]), "a frequency is %g",
                static_cast<double>(config.frequencies.values[i]));
}

void check_kinds(const DecoderConfig& config) {
    const auto last = [](auto value) { return static_cast<std::int64_t>(value); };
    require_size({"norm", last(config.norm)}, 0, last(DecoderNorm::rms_offset));
    require_size({"order", last(config.order)}, 0, last(DecoderOrder::parallel_shared));
    require_size({"activation", last(config.activation)}, 0, last(DecoderActivation::relu_squared));
    require_size({"head_norm", last(config.head_norm)}, 0, last(HeadNorm::row));
}

void check(const DecoderConfig& config) {
    require_size({"vocabulary", config.vocabulary}, 1, kMostModelSize);
    require_size({"layers", config.layers}, 1, kMostLayers);
    require_size({"dim", config.dim}, 1, kMostModelSize);
    require_size({"heads", config.heads}, 1, kMostHeads);
    require_size({"head_dim", config.head_dim}, 1, kMostHeadWidth);
    require_size({"kv_heads", config.kv_heads}, 1, config.heads);
    require(config.heads % config.kv_heads == 0, "heads %" PRId64 " is not a multiple of kv_heads %" PRId64,
            config.heads, config.kv_heads);
    require_size({"hidden", config.hidden}, 1, kMostModelSize);
    require_size({"context", config.context}, 1, kMostModelSize);
    check_kinds(config);
    check_positions(config);
    require(config.dropout >= 0 && config.dropout < 1, "dropout is %g; it must be at least 0 and below 1",
            config.dropout);
    require_number("epsilon", config.epsilon, 0, kMostNumber);
    require_size({"window", config.window}, 0, kMostModelSize);
    require_size({"full_every", config.full_every}, 0, kMostLayers);
    require_size({"full_first", config.full_first}, 0, kMostLayers);
    require_size({"unturned_every", config.unturned_every}, 0, kMostLayers);
    for (const auto& [name, value] : {std::pair{"score_scale", config.score_scale},
                                      {"score_cap", config.score_cap},
                                      {"qkv_limit", config.qkv_limit},
                                      {"logit_cap", config.logit_cap}})
        require_number(name, value, 0, kMostNumber);
    for (const auto& [name, value] : {std::pair{"embedding_scale", config.embedding_scale},
                                      {"residual_scale", config.residual_scale},
                                      {"logit_divisor", config.logit_divisor}})
        require_number(name, value, 1e-30, kMostNumber);
}

class DecoderBuilder final : TransformerBuilder {
  public:
    DecoderBuilder(const DecoderConfig& config, std::pmr::memory_resource* heap)
        : TransformerBuilder(config.layers, heap), config_(config) {}

    Graph build() {
        const ValueId tokens = graph_.input("tokens", DType::i32, {-1, -1});
        use_dropout(config_.dropout);
        const Shape vocabulary{config_.vocabulary, config_.dim};
        const ValueId embedding = graph_.parameter("token_embedding", vocabulary, normal(kDeviation));
        ValueId x = embedded(tokens, embedding);  // [batch, time, dim]
        for (layer_ = 0; layer_ < config_.layers; ++layer_) x = block(x);
        layer_ = -1;
        x = norm("norm_final", x);
        const ValueId table =
            config_.tied ? embedding : parameter("head", "weight", vocabulary, normal(kDeviation));
        graph_.output("logits", finished(head(x, table)));
        return std::move(graph_);
    }

  private:
    ValueId scaled(ValueId x, double factor) {
        if (factor == 1) return x;
        return graph_.apply(Op::mul, {x, graph_.scalar(static_cast<float>(factor))});
    }
    ValueId divided(ValueId x, double divisor) {
        if (divisor == 1) return x;
        return graph_.apply(Op::div, {x, graph_.scalar(static_cast<float>(divisor))});
    }

    ValueId embedded(ValueId tokens, ValueId embedding) {
        ValueId places = -1;
        if (config_.learned_positions)
            places =
                graph_.parameter("position_embedding", {config_.context, config_.dim}, normal(kDeviation));
        positions_ = positions(tokens, config_.context);
        if (!config_.learned_positions) {
            angles_ = angles(config_.rope_base, config_.frequencies.count > 0);
            window_angles_ = config_.window_rope_base > 0 ? angles(config_.window_rope_base, false) : angles_;
        }
        const ValueId of_tokens =
            scaled(graph_.apply(Op::gather, {embedding, tokens}), config_.embedding_scale);
        if (places < 0) return dropped(of_tokens);
        return dropped(add(of_tokens, graph_.apply(Op::gather, {places, positions_})));
    }

    // The table of cosines and sines of all positions.
    ValueId angles(double base, bool given) {
        const Attribute limit = number(Attr::limit, static_cast<double>(config_.context));
        const Attribute width = number(Attr::width, static_cast<double>(config_.turned));
        const Attribute of_base = number(Attr::base, base);
        if (!given && config_.rope_scale == 1)
            return graph_.apply(Op::rotary_table, {}, {limit, of_base, width});
        const Attribute scale = number(Attr::scale, config_.rope_scale);
        if (!given) return graph_.apply(Op::rotary_table, {}, {limit, of_base, width, scale});
        const ValueId frequencies =
            graph_.constant(DType::f32, {config_.turned / 2}, config_.frequencies.values);
        return graph_.apply(Op::rotary_table, {frequencies}, {limit, width, scale});
    }

    // A row of `width` equal numbers, for the operands that a norm does not have as parameters.
    ValueId row_of(float value, std::int64_t width) {
        const std::pmr::vector<float> row(static_cast<std::size_t>(width), value, graph_.heap());
        return graph_.constant(DType::f32, {width}, row.data());
    }

    ValueId norm(const char* part, ValueId x) {
        const std::int64_t width = graph_.shape(x).last();
        const Attribute epsilon = number(Attr::epsilon, config_.epsilon);
        switch (config_.norm) {
            case DecoderNorm::layer:
                return layer_norm(part, x, config_.epsilon);
            case DecoderNorm::layer_without_bias: {
                const ValueId weight = parameter(part, "weight", {width}, constant(1));
                return graph_.apply(Op::layer_norm, {x, weight, row_of(0, width)}, {epsilon});
            }
            case DecoderNorm::layer_without_either: {
                const ValueId ones = row_of(1, width);
                return graph_.apply(Op::layer_norm, {x, ones, row_of(0, width)}, {epsilon});
            }
            case DecoderNorm::rms:
            case DecoderNorm::rms_offset:
                break;
        }
        return rms_norm(part, x);
    }

    ValueId rms_norm(const char* part, ValueId x) {
        const bool offset = config_.norm == DecoderNorm::rms_offset;
        ValueId weight = parameter(part, "weight", {graph_.shape(x).last()}, constant(offset ? 0 : 1));
        if (offset) weight = add(weight, graph_.scalar(1));
        return graph_.apply(Op::rms_norm, {x, weight}, {number(Attr::epsilon, config_.epsilon)});
    }

    ValueId projected(const char* part, ValueId x, std::int64_t out, double deviation, bool bias) {
        return bias ? linear(part, x, out, deviation) : product(part, x, out, deviation);
    }

    ValueId columns(ValueId x, std::int64_t begin, std::int64_t end) {
        return graph_.apply(
            Op::slice, {x},
            {number(Attr::axis, graph_.shape(x).rank - 1), number(Attr::begin, static_cast<double>(begin)),
             number(Attr::end, static_cast<double>(end))});
    }
    ValueId reshaped(ValueId x, std::initializer_list<std::int64_t> shape) {
        return graph_.apply(Op::reshape, {x}, {list(Attr::shape, shape)});
    }

    // ---- attention ----
    bool turns() const {
        if (config_.learned_positions) return false;
        return config_.unturned_every == 0 || (layer_ + 1) % config_.unturned_every != 0;
    }
    bool has_window() const {
        if (config_.window == 0 || layer_ < config_.full_first) return false;
        return config_.full_every == 0 || (layer_ + 1) % config_.full_every != 0;
    }

    // The first `heads` heads of each row.
    ValueId turned(ValueId x, std::int64_t heads) {
        if (!turns()) return x;
        const ValueId table = has_window() ? window_angles_ : angles_;
        const Attribute count = number(Attr::heads, static_cast<double>(heads)),
                        pairs = number(Attr::interleaved, config_.interleaved);
        if (config_.turned == config_.head_dim)
            return graph_.apply(Op::rotary, {x, positions_, table}, {count, pairs});
        return graph_.apply(Op::rotary, {x, positions_, table},
                            {count, pairs, number(Attr::width, static_cast<double>(config_.head_dim))});
    }

    // q or k as heads, each by its norm.
    ValueId normed(const char* part, ValueId x) {
        if (config_.head_norm == HeadNorm::row) return rms_norm(part, x);
        const ValueId heads =
            reshaped(x, {-2, -2, graph_.shape(x).last() / config_.head_dim, config_.head_dim});
        return reshaped(rms_norm(part, heads), {-2, -2, -1});
    }

    ValueId attention(std::initializer_list<ValueId> operands, bool packed) {
        std::pmr::vector<ValueId> inputs(operands, graph_.heap());
        std::pmr::vector<Attribute> attributes(
            {number(Attr::heads, static_cast<double>(config_.heads)), number(Attr::causal, 1)},
            graph_.heap());
        if (!config_.learned_positions ||
            config_.kv_heads != config_.heads)  // a GPT's graph has never had it
            attributes.push_back(number(Attr::kv_heads, static_cast<double>(config_.kv_heads)));
        if (packed) attributes.push_back(number(Attr::packed, 1));
        if (config_.score_scale != 0) attributes.push_back(number(Attr::scale, config_.score_scale));
        if (config_.score_cap != 0) attributes.push_back(number(Attr::cap, config_.score_cap));
        if (has_window()) attributes.push_back(number(Attr::window, static_cast<double>(config_.window)));
        add_dropout(inputs, attributes);
        return graph_.apply(Op::attention, inputs.data(), static_cast<int>(inputs.size()), attributes.data(),
                            static_cast<int>(attributes.size()), Phase::each);
    }

    ValueId attended(ValueId x) {
        const std::int64_t q = config_.heads * config_.head_dim, k = config_.kv_heads * config_.head_dim;
        ValueId qkv = projected("qkv", x, q + 2 * k, kDeviation, config_.qkv_bias);
        if (config_.qkv_limit != 0)
            qkv =
                graph_.apply(Op::clamp, {qkv},
                             {number(Attr::low, -config_.qkv_limit), number(Attr::high, config_.qkv_limit)});
        ValueId mixed = -1;
        if (config_.head_norm == HeadNorm::none) {
            mixed = attention({turned(qkv, config_.heads + config_.kv_heads)}, true);
        } else {
            const ValueId queries = turned(normed("norm_q", columns(qkv, 0, q)), config_.heads);
            const ValueId keys = turned(normed("norm_k", columns(qkv, q, q + k)), config_.kv_heads);
            mixed = attention({queries, keys, columns(qkv, q + k, q + 2 * k)}, false);
        }
        return branch(projected("proj", mixed, config_.dim, residual_deviation(), config_.proj_bias));
    }

    // ---- feed-forward ----
    ValueId activated(ValueId x) {
        switch (config_.activation) {
            case DecoderActivation::gelu_tanh:
                return graph_.apply(Op::gelu_tanh, {x});
            case DecoderActivation::gelu_erf:
                return graph_.apply(Op::gelu_erf, {x});
            case DecoderActivation::silu:
                return graph_.apply(Op::silu, {x});
            case DecoderActivation::relu:
                return graph_.apply(Op::relu, {x});
            case DecoderActivation::tanh:
                return graph_.apply(Op::tanh, {x});
            case DecoderActivation::gelu_sigmoid:
                return graph_.apply(Op::mul, {x, graph_.apply(Op::sigmoid, {scaled(x, 1.702)})});
            case DecoderActivation::relu_squared:
                break;
        }
        const ValueId positive = graph_.apply(Op::relu, {x});
        return graph_.apply(Op::mul, {positive, positive});
    }

    ValueId fed(ValueId x) {
        if (!config_.gated) {
            const ValueId hidden =
                activated(projected("fc", x, config_.hidden, kDeviation, config_.feed_bias));
            return branch(projected("fc_proj", hidden, config_.dim, residual_deviation(), config_.feed_bias));
        }
        const ValueId factors = projected("gate_up", x, 2 * config_.hidden, kDeviation, config_.feed_bias);
        const ValueId hidden = gated(factors);
        return branch(projected("down", hidden, config_.dim, residual_deviation(), config_.feed_bias));
    }

    ValueId gated(ValueId factors) {
        if (config_.activation == DecoderActivation::silu) return graph_.apply(Op::swiglu, {factors});
        const ValueId gate = activated(columns(factors, 0, config_.hidden));
        return graph_.apply(Op::mul, {gate, columns(factors, config_.hidden, 2 * config_.hidden)});
    }

    // ---- blocks ----
    ValueId branch(ValueId x) { return scaled(x, config_.residual_scale); }

    ValueId block(ValueId x) {
        switch (config_.order) {
            case DecoderOrder::before:
                x = add(x, dropped(attended(norm("norm1", x))));
                return add(x, dropped(fed(norm("norm2", x))));
            case DecoderOrder::after:
                x = add(x, dropped(norm("norm1_after", attended(x))));
                return add(x, dropped(norm("norm2_after", fed(x))));
            case DecoderOrder::around:
                x = add(x, dropped(norm("norm1_after", attended(norm("norm1", x)))));
                return add(x, dropped(norm("norm2_after", fed(norm("norm2", x)))));
            case DecoderOrder::parallel: {
                const ValueId mixed = add(x, dropped(attended(norm("norm1", x))));
                return add(mixed, dropped(fed(norm("norm2", x))));
            }
            case DecoderOrder::parallel_shared:
                break;
        }
        const ValueId shared = norm("norm1", x);
        const ValueId mixed = add(x, dropped(attended(shared)));
        return add(mixed, dropped(fed(shared)));
    }

    ValueId finished(ValueId logits) {
        logits = divided(logits, config_.logit_divisor);
        if (config_.logit_cap == 0) return logits;
        return scaled(graph_.apply(Op::tanh, {divided(logits, config_.logit_cap)}), config_.logit_cap);
    }

    const DecoderConfig& config_;
    ValueId positions_ = -1, angles_ = -1, window_angles_ = -1;
};

// One member as text: it reads back as the same value in any locale.
template <class Value>
void append_text(std::pmr::string& text, const Value& value) {
    char digits[32];
    if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, bool>)
        append_text(text, static_cast<std::int64_t>(value));
    else
        text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
void append_text(std::pmr::string& text, const Frequencies& frequencies) {
    for (std::int64_t i = 0; i < frequencies.count; ++i) {
        if (i > 0) text += ' ';
        append_text(text, frequencies.values[i]);
    }
}

// All members as numbers, which a double holds exactly.
struct MemberNumbers {
    explicit MemberNumbers(const DecoderConfig& config) {
        each_member(config, [&](const char*, const auto& value) { add(value); });
    }
    template <class Value>
    void add(const Value& value) {
        numbers[count++] = static_cast<double>(value);
    }
    void add(const Frequencies& frequencies) {
        numbers[count++] = static_cast<double>(frequencies.count);
        for (std::int64_t i = 0; i < frequencies.count; ++i)
            numbers[count++] = static_cast<double>(frequencies.values[i]);
    }
    std::size_t count = 0;
    double numbers[kMostFrequencies + 64];
};

bool same(const DecoderConfig& a, const DecoderConfig& b) {
    const MemberNumbers of_a(a), of_b(b);
    return std::equal(of_a.numbers, of_a.numbers + of_a.count, of_b.numbers, of_b.numbers + of_b.count);
}

}  // namespace

DecoderConfig complete(const DecoderConfig& config) {
    DecoderConfig result = config;
    if (result.head_dim == 0) {
        require_size({"heads", result.heads}, 1, kMostHeads);
        require(result.dim % result.heads == 0, "dim %" PRId64 " is not a multiple of heads %" PRId64,
                result.dim, result.heads);
        result.head_dim = result.dim / result.heads;
    }
    if (result.kv_heads == 0) result.kv_heads = result.heads;
    check(result);
    if (result.turned == 0) result.turned = result.head_dim;
    return result;
}

DecoderConfig decoder_of(const GptConfig& gpt) {
    DecoderConfig config;
    config.vocabulary = gpt.vocabulary;
    config.layers = gpt.layers;
    config.dim = gpt.dim;
    config.heads = gpt.heads;
    config.hidden = 4 * gpt.dim;
    config.context = gpt.context;
    config.dropout = gpt.dropout;
    config.norm = DecoderNorm::layer;
    config.activation = DecoderActivation::gelu_tanh;
    config.gated = false;
    config.qkv_bias = config.proj_bias = config.feed_bias = true;
    config.learned_positions = true;
    return config;
}

DecoderConfig decoder_of(const LlamaConfig& llama) {
    DecoderConfig config;
    config.vocabulary = llama.vocabulary;
    config.layers = llama.layers;
    config.dim = llama.dim;
    config.heads = llama.heads;
    config.kv_heads = llama.kv_heads;
    config.hidden = llama.hidden;
    config.context = llama.context;
    config.rope_base = llama.rope_base;
    config.epsilon = llama.epsilon;
    config.tied = llama.tied;
    config.interleaved = llama.interleaved;
    return config;
}

std::optional<GptConfig> as_gpt(const DecoderConfig& config) {
    GptConfig gpt;
    gpt.vocabulary = config.vocabulary;
    gpt.layers = config.layers;
    gpt.dim = config.dim;
    gpt.heads = config.heads;
    gpt.context = config.context;
    gpt.dropout = config.dropout;
    if (config.hidden != 4 * config.dim || !same(complete(config), complete(decoder_of(gpt))))
        return std::nullopt;
    return gpt;
}

std::optional<LlamaConfig> as_llama(const DecoderConfig& config) {
    LlamaConfig llama;
    llama.vocabulary = config.vocabulary;
    llama.layers = config.layers;
    llama.dim = config.dim;
    llama.heads = config.heads;
    llama.kv_heads = config.kv_heads;
    llama.hidden = config.hidden;
    llama.context = config.context;
    llama.rope_base = config.rope_base;
    llama.epsilon = config.epsilon;
    llama.tied = config.tied;
    llama.interleaved = config.interleaved;
    if (!same(complete(config), complete(decoder_of(llama)))) return std::nullopt;
    return complete(llama);
}

Graph build_decoder(const DecoderConfig& config, const char* kind, std::pmr::memory_resource* heap) {
    const DecoderConfig whole = complete(config);
    return build_architecture(kind, [&] { return DecoderBuilder(whole, heap).build(); });
}

void describe_decoder(const DecoderConfig& config, Model& model) {
    model.set_metadata("volta.architecture", "decoder");
    const DecoderConfig whole = complete(config);
    each_member(whole, [&](const char* name, const auto& value) {
        std::pmr::string key("volta.decoder.", model.structures()), text(model.structures());
        append_text(text, value);
        model.set_metadata((key += name).c_str(), text.c_str());
    });
}

}  // namespace volta
