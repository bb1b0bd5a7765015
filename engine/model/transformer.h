// What the builders of architectures share: the names of a block's parameters, how they start, and the words
// by which a model's file says what it is.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory_resource>

#include "engine/base/error.h"
#include "engine/model/model.h"

namespace volta {

// One size of a configuration, as the host and the file name it.
struct ModelSize {
    const char* name;
    std::int64_t value;
};
inline constexpr std::int64_t kMostModelSize = INT32_MAX;
inline constexpr std::int64_t kMostLayers = 512;  // at most 12 parameters each: within what a file may hold

// Throws INVALID_ARGUMENT "<name> is <value>; it must be from <least> to <most>".
void require_size(const ModelSize& size, std::int64_t least, std::int64_t most);
// What every transformer has: vocabulary, layers, dim, heads, context. dim is a multiple of heads.
void require_transformer_sizes(std::int64_t vocabulary, std::int64_t layers, std::int64_t dim,
                               std::int64_t heads, std::int64_t context);

// Metadata "volta.architecture" = `architecture`, then "volta.<architecture>.<name>" = the value.
void describe_architecture(Model& model, const char* architecture, std::initializer_list<ModelSize> sizes);
// The shortest text that reads back as this double, whatever the host's locale.
void describe_number(Model& model, const char* architecture, const char* name, double value);

class TransformerBuilder {
  public:
    static constexpr double kDeviation = 0.02;

    TransformerBuilder(std::int64_t layers, std::pmr::memory_resource* heap)
        : graph_(heap), layers_(layers) {}

  protected:
    static Init normal(double deviation) { return {VOLTA_INIT_NORMAL, deviation, 0}; }
    static Init constant(double value) { return {VOLTA_INIT_CONSTANT, value, 0}; }
    // Two branches per layer are added to x: with this deviation its variance stays that of one layer.
    double residual_deviation() const;

    // "block.3.qkv.weight"; outside the blocks, where layer_ is negative, "norm_final.weight".
    ValueId parameter(const char* part, const char* what, const Shape& shape, const Init& init);
    // x W with "<part>.weight" [in, out], N(0, deviation).
    ValueId product(const char* part, ValueId x, std::int64_t out, double deviation);
    // x W + b with "<part>.bias" [out], zeros.
    ValueId linear(const char* part, ValueId x, std::int64_t out, double deviation);
    ValueId add(ValueId a, ValueId b) { return graph_.apply(Op::add, {a, b}); }
    // Over the last axis, with "<part>.weight" ones and "<part>.bias" zeros.
    ValueId layer_norm(const char* part, ValueId x, double epsilon);
    // With a probability > 0 the graph gets the trainer's input "step/random", and dropped() drops.
    void use_dropout(double probability);
    ValueId dropped(ValueId x);
    // Gives an operator what it drops by: the last operand, and a stream of its own.
    void add_dropout(std::pmr::vector<ValueId>& operands, std::pmr::vector<Attribute>& attributes);
    // q, k and v side by side in one value, as many heads of each.
    ValueId packed_attention(ValueId qkv, std::int64_t heads, bool causal);
    // 0 .. time-1 for each sequence of tokens, at most `context` of them.
    ValueId positions(ValueId tokens, std::int64_t context);
    // x [..., dim] against the rows of a table [vocabulary, dim].
    ValueId head(ValueId x, ValueId table) {
        return graph_.apply(Op::matmul, {x, table}, {number(Attr::transpose_b, 1)});
    }

    Graph graph_;
    std::int64_t layers_, layer_ = -1;

  private:
    ValueId weight(const char* part, ValueId x, std::int64_t out, double deviation);
    // Every random node has a stream of its own, numbered as they are made.
    Attribute next_stream() { return number(Attr::stream, next_stream_++); }

    double dropout_ = 0;
    ValueId random_ = -1;
    std::uint32_t next_stream_ = 0;
};

// Runs a builder of checked sizes: what overflows all the same is the caller's fault and says so.
template <class Build>
Graph build_architecture(const char* kind, Build build) {
    try {
        return build();
    } catch (const Error& error) {
        if (error.status() != VOLTA_SHAPE_MISMATCH) throw;
        fail(VOLTA_INVALID_ARGUMENT, "the sizes of this %s are too large: %s", kind, error.what());
    }
}

}  // namespace volta
