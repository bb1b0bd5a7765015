#include "engine/model/transformer.h"

#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"

namespace volta {
namespace {

struct Key {
    char text[96];
    Key(const char* architecture, const char* name) {
        std::snprintf(text, sizeof text, "volta.%s.%s", architecture, name);
    }
};

}  // namespace

void require_size(const ModelSize& size, std::int64_t least, std::int64_t most) {
    require(size.value >= least && size.value <= most,
            "%s is %" PRId64 "; it must be from %" PRId64 " to %" PRId64, size.name, size.value, least, most);
}

void require_transformer_sizes(std::int64_t vocabulary, std::int64_t layers, std::int64_t dim,
                               std::int64_t heads, std::int64_t context) {
    require_size({"vocabulary", vocabulary}, 1, kMostModelSize);
    require_size({"layers", layers}, 1, kMostLayers);
    require_size({"dim", dim}, 1, kMostModelSize);
    require_size({"heads", heads}, 1, kMostModelSize);
    require_size({"context", context}, 1, kMostModelSize);
    require(dim % heads == 0, "dim %" PRId64 " is not a multiple of heads %" PRId64, dim, heads);
}

void describe_architecture(Model& model, const char* architecture, std::initializer_list<ModelSize> sizes) {
    model.set_metadata("volta.architecture", architecture);
    char text[32];
    for (const ModelSize& size : sizes) {
        std::snprintf(text, sizeof text, "%" PRId64, size.value);
        model.set_metadata(Key(architecture, size.name).text, text);
    }
}

void describe_number(Model& model, const char* architecture, const char* name, double value) {
    char text[32];
    *std::to_chars(text, text + sizeof text - 1, value).ptr = '\0';
    model.set_metadata(Key(architecture, name).text, text);
}

double TransformerBuilder::residual_deviation() const {
    return kDeviation / std::sqrt(2.0 * static_cast<double>(layers_));
}

ValueId TransformerBuilder::parameter(const char* part, const char* what, const Shape& shape,
                                      const Init& init) {
    char name[64];
    if (layer_ < 0)
        std::snprintf(name, sizeof name, "%s.%s", part, what);
    else
        std::snprintf(name, sizeof name, "block.%" PRId64 ".%s.%s", layer_, part, what);
    return graph_.parameter(name, shape, init);
}

ValueId TransformerBuilder::weight(const char* part, ValueId x, std::int64_t out, double deviation) {
    return parameter(part, "weight", {graph_.shape(x).last(), out}, normal(deviation));
}

ValueId TransformerBuilder::product(const char* part, ValueId x, std::int64_t out, double deviation) {
    return graph_.apply(Op::matmul, {x, weight(part, x, out, deviation)});
}

ValueId TransformerBuilder::linear(const char* part, ValueId x, std::int64_t out, double deviation) {
    const ValueId w = weight(part, x, out, deviation), bias = parameter(part, "bias", {out}, constant(0));
    return add(graph_.apply(Op::matmul, {x, w}), bias);
}

ValueId TransformerBuilder::layer_norm(const char* part, ValueId x, double epsilon) {
    const Shape row{graph_.shape(x).last()};
    const ValueId scale = parameter(part, "weight", row, constant(1));
    const ValueId bias = parameter(part, "bias", row, constant(0));
    return graph_.apply(Op::layer_norm, {x, scale, bias}, {number(Attr::epsilon, epsilon)});
}

void TransformerBuilder::use_dropout(double probability) {
    dropout_ = probability;
    if (probability > 0) random_ = graph_.input(name_of(StepInput::random), DType::i32, {3});
}

ValueId TransformerBuilder::dropped(ValueId x) {
    if (random_ < 0) return x;
    return graph_.apply(Op::dropout, {x, random_}, {number(Attr::probability, dropout_), next_stream()});
}

void TransformerBuilder::add_dropout(std::pmr::vector<ValueId>& operands,
                                     std::pmr::vector<Attribute>& attributes) {
    if (random_ < 0) return;
    operands.push_back(random_);
    attributes.push_back(number(Attr::probability, dropout_));
    attributes.push_back(next_stream());
}

ValueId TransformerBuilder::packed_attention(ValueId qkv, std::int64_t heads, bool causal) {
    std::pmr::vector<ValueId> operands({qkv}, graph_.heap());
    std::pmr::vector<Attribute> attributes({number(Attr::heads, static_cast<double>(heads)),
                                            number(Attr::causal, causal), number(Attr::packed, 1)},
                                           graph_.heap());
    add_dropout(operands, attributes);
    return graph_.apply(Op::attention, operands.data(), static_cast<int>(operands.size()), attributes.data(),
                        static_cast<int>(attributes.size()), Phase::each);
}

ValueId TransformerBuilder::positions(ValueId tokens, std::int64_t context) {
    return graph_.apply(Op::position_ids, {tokens}, {number(Attr::limit, static_cast<double>(context))});
}

}  // namespace volta
