// The third built-in architecture: an encoder, in which every token sees every other.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// What stands behind the last block x [batch, time, dim]; the values are volta_bert_head's.
enum class BertHead : std::int32_t {
    masked = VOLTA_BERT_MASKED,    // logits = matmul(norm(gelu_erf(transform(x))), token_embedding') + bias
    classes = VOLTA_BERT_CLASSES,  // logits = classifier(pooled)
    pooled = VOLTA_BERT_POOLED,    // pooled = tanh(pooler(x of token 0))
    hidden = VOLTA_BERT_HIDDEN,    // x itself
    tokens = VOLTA_BERT_TOKENS     // logits = classifier(x)
};

// Post-norm blocks, as in the original:
//
//   x = norm_embedding((gather(token_embedding, tokens) + segment) + gather(position_embedding, position_ids))
//   per block:  x = norm1(x + proj(attention(qkv(x))))
//               x = norm2(x + fc_proj(gelu_erf(fc(x))))
//
// Parameters: token_embedding [V, d], segment_embedding [segments, d], position_embedding [context, d],
// norm_embedding.weight and .bias [d], block.<i>.qkv.weight [d, 3d] and .bias, block.<i>.proj.weight [d, d]
// and .bias, block.<i>.norm1.*, block.<i>.fc.weight [d, hidden] and .bias, block.<i>.fc_proj.weight [hidden,
// d] and .bias, block.<i>.norm2.*; masked: transform.weight [d, d] and .bias, norm_transform.*, head.bias
// [V]; classes and pooled: pooler.weight [d, d] and .bias; classes and tokens: classifier.weight [d, classes]
// and .bias. Initial N(0, 0.02), norm weights 1, biases 0.
struct BertConfig {
    std::int64_t vocabulary = 0, layers = 4, dim = 512, heads = 8;
    std::int64_t hidden = 0;                   // 0: 4 dim
    std::int64_t context = 512, segments = 2;  // no segments: tokens have none, and there is no such table
    BertHead head = BertHead::masked;
    std::int64_t classes = 0;    // of BertHead::classes and tokens, else 0
    bool segment_input = false;  // input "segments"; without it every token is of segment 0
    bool mask_input = false;     // input "mask"
    bool pools_by_relu = false;  // pooled = relu(pooler(..)) instead of tanh
    double dropout = 0, epsilon = 1e-12;
};

// Zeros replaced by what they stand for, and everything checked. Throws INVALID_ARGUMENT.
BertConfig complete(const BertConfig& config);

// Inputs "tokens", "segments" and "mask", each i32 [-1, -1], all of one shape. A token whose mask is 0 is
// seen by none: the others have the bits that they have without it. The graph with a mask holds the scores
// [batch, heads, time, time], the one without uses the operator `attention`. With dropout > 0 the graph also
// has the input "step/random" and drops after the embedding, in attention, at the end of both branches, and
// before the classifier. Throws INVALID_ARGUMENT.
Graph build_bert(const BertConfig& config, std::pmr::memory_resource* heap);

// Says in the model's metadata what it is: "volta.architecture" = "bert", "volta.bert.<size>" for every
// member of the completed configuration.
void describe_bert(const BertConfig& config, Model& model);

// A model of that graph, described.
HeapPtr<Model> create_bert(const BertConfig& config, std::uint64_t seed,
                           std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                           const InitMachine& machine = {});

}  // namespace volta
