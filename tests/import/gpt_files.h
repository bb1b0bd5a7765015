// A small GPT and its parameters as other programs write them.
#pragma once

#include <string>
#include <vector>

#include "engine/model/gpt.h"
#include "tests/support/weight_files.h"

namespace volta::test {

inline GptConfig small_gpt() {
    GptConfig config;
    config.vocabulary = 40;
    config.layers = 2;
    config.dim = 32;
    config.heads = 4;
    config.context = 16;
    return config;
}

// Norm weights and biases start as constants: numbers of their own instead, so that none is mistaken.
inline void scatter(Model& model) {
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        if (model.parameters[i].shape.rank != 1) continue;
        float* values = model.mutable_parameter(i);
        for (std::int64_t j = 0; j < model.parameters[i].shape.elements(); ++j)
            values[j] = static_cast<float>((j * 37 + static_cast<std::int64_t>(i) * 11) % 101) / 64.0f - 0.5f;
    }
}

struct Renamed {
    const char *ours, *theirs;
};
// With %d for the layer, in the order of Volta's parameters.
constexpr Renamed kGpt2Names[] = {
    {"token_embedding", "wte.weight"},
    {"position_embedding", "wpe.weight"},
    {"block.%d.norm1.weight", "h.%d.ln_1.weight"},
    {"block.%d.norm1.bias", "h.%d.ln_1.bias"},
    {"block.%d.qkv.weight", "h.%d.attn.c_attn.weight"},
    {"block.%d.qkv.bias", "h.%d.attn.c_attn.bias"},
    {"block.%d.proj.weight", "h.%d.attn.c_proj.weight"},
    {"block.%d.proj.bias", "h.%d.attn.c_proj.bias"},
    {"block.%d.norm2.weight", "h.%d.ln_2.weight"},
    {"block.%d.norm2.bias", "h.%d.ln_2.bias"},
    {"block.%d.fc.weight", "h.%d.mlp.c_fc.weight"},
    {"block.%d.fc.bias", "h.%d.mlp.c_fc.bias"},
    {"block.%d.fc_proj.weight", "h.%d.mlp.c_proj.weight"},
    {"block.%d.fc_proj.bias", "h.%d.mlp.c_proj.bias"},
    {"norm_final.weight", "ln_f.weight"},
    {"norm_final.bias", "ln_f.bias"},
};

inline std::string with_layer(const char* pattern, int layer) {
    std::string name = pattern;
    const std::size_t at = name.find("%d");
    if (at != name.npos) name.replace(at, 2, std::to_string(layer));
    return name;
}

// The state dict of GPT-2 in PyTorch, every name behind `prefix`.
inline std::vector<PlainTensor> gpt2_tensors(const Model& model, int layers, const std::string& prefix) {
    std::vector<PlainTensor> tensors;
    for (const Renamed& names : kGpt2Names) {
        const bool layered = std::strstr(names.ours, "%d") != nullptr;
        for (int layer = 0; layer < (layered ? layers : 1); ++layer) {
            const NamedTensor& ours = *model.find_parameter(with_layer(names.ours, layer).c_str());
            const auto* values = static_cast<const float*>(ours.data);
            tensors.push_back({prefix + with_layer(names.theirs, layer),
                               {ours.shape.extent, ours.shape.extent + ours.shape.rank},
                               {values, values + ours.shape.elements()}});
        }
    }
    return tensors;
}

}  // namespace volta::test
