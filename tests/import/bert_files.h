// A small BERT and its parameters as Hugging Face writes them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/model/bert.h"
#include "tests/import/gpt_files.h"
#include "tests/import/llama_files.h"
#include "tests/support/weight_files.h"

namespace volta::test {

inline BertConfig small_bert(BertHead head) {
    BertConfig config;
    config.vocabulary = 40;
    config.layers = 2;
    config.dim = 32;
    config.heads = 4;
    config.hidden = 48;
    config.context = 16;
    config.segments = 3;
    config.head = head;
    if (head == BertHead::classes) config.classes = 5;
    return config;
}

// A tensor of Hugging Face: whole, or third `part` of the columns of ours; weights are turned.
struct BertName {
    const char *ours, *theirs;
    int part = -1;
};
constexpr BertName kBertNames[] = {
    {"token_embedding", "bert.embeddings.word_embeddings.weight"},
    {"segment_embedding", "bert.embeddings.token_type_embeddings.weight"},
    {"position_embedding", "bert.embeddings.position_embeddings.weight"},
    {"norm_embedding", "bert.embeddings.LayerNorm"},
    {"block.%d.qkv", "bert.encoder.layer.%d.attention.self.query", 0},
    {"block.%d.qkv", "bert.encoder.layer.%d.attention.self.key", 1},
    {"block.%d.qkv", "bert.encoder.layer.%d.attention.self.value", 2},
    {"block.%d.proj", "bert.encoder.layer.%d.attention.output.dense"},
    {"block.%d.norm1", "bert.encoder.layer.%d.attention.output.LayerNorm"},
    {"block.%d.fc", "bert.encoder.layer.%d.intermediate.dense"},
    {"block.%d.fc_proj", "bert.encoder.layer.%d.output.dense"},
    {"block.%d.norm2", "bert.encoder.layer.%d.output.LayerNorm"},
    {"pooler", "bert.pooler.dense"},
    {"classifier", "classifier"},
    {"transform", "cls.predictions.transform.dense"},
    {"norm_transform", "cls.predictions.transform.LayerNorm"},
    {"head.bias", "cls.predictions.bias"},
};

inline void add_bert_tensor(std::vector<PlainTensor>& tensors, const Model& model, const std::string& ours,
                            const std::string& theirs, int part) {
    const NamedTensor* tensor = model.find_parameter(ours.c_str());
    if (tensor == nullptr) return;  // another head's
    const std::int64_t columns = part < 0 ? tensor->shape.last() : tensor->shape.last() / 3;
    std::vector<float> values = turned(model, ours, std::max(part, 0) * columns, columns);
    std::vector<std::int64_t> shape{columns};
    if (tensor->shape.rank == 2) shape.push_back(tensor->shape.rows());
    if (ours.find("_embedding") != ours.npos && tensor->shape.rank == 2) {  // as they are
        values = plain(model, ours);
        shape = {tensor->shape.rows(), columns};
    }
    tensors.push_back({theirs, shape, values});
}

// The state dict of BERT in PyTorch.
inline std::vector<PlainTensor> bert_tensors(const Model& model) {
    std::vector<PlainTensor> tensors;
    for (const BertName& name : kBertNames) {
        const bool layered = std::strstr(name.ours, "%d") != nullptr;
        for (int layer = 0; layer < (layered ? 2 : 1); ++layer) {
            const std::string ours = with_layer(name.ours, layer), theirs = with_layer(name.theirs, layer);
            add_bert_tensor(tensors, model, ours, theirs, name.part);
            for (const char* what : {".weight", ".bias"})
                add_bert_tensor(tensors, model, ours + what, theirs + what, name.part);
        }
    }
    return tensors;
}

}  // namespace volta::test
