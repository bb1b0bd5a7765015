#include "engine/import/other_tensors.h"

#include <algorithm>
#include <iterator>

namespace volta {
namespace {

using Neutral = OtherTensor::Neutral;

// Asked from the first to the last.
constexpr OtherTensor kOthers[] = {
    {"rope_freqs", "scales rotary positions", Neutral::ones},
    {"rope_factors_", "scales rotary positions", Neutral::ones},
    {"lora_", "belongs to an adapter (LoRA), which must be merged into its model first"},
    {".qweight", "is quantised in a way that is not read"},
    {".qzeros", "is quantised in a way that is not read"},
    {".g_idx", "is quantised in a way that is not read"},
    {".absmax", "is quantised in a way that is not read"},
    {".quant_", "is quantised in a way that is not read"},
    {".SCB", "is quantised in a way that is not read"},
    {"weight_scale", "is quantised in a way that is not read"},
    {"input_scale", "is quantised in a way that is not read"},
    {"weight_zero_point", "is quantised in a way that is not read"},
    {"sinks", "adds a sink to what a head attends to"},
    {"q_norm", "normalises queries"},
    {"k_norm", "normalises keys"},
    {"q_layernorm", "normalises queries"},
    {"k_layernorm", "normalises keys"},
    {"sub_norm", "is a norm inside a branch"},
    {"post_attention_norm", "is a norm behind attention"},
    {"post_ffw_norm", "is a norm behind the feed-forward"},
    {"pre_feedforward_layernorm", "is a norm of another place"},
    {"post_feedforward_layernorm", "is a norm behind the feed-forward"},
    {"attn_norm_2", "is a second norm of a layer"},
    {"_exps", "belongs to a mixture of experts"},
    {"_shexp", "belongs to a mixture of experts"},
    {"ffn_gate_inp", "belongs to a mixture of experts"},
    {"experts", "belongs to a mixture of experts"},
    {"sparse_moe", "belongs to a mixture of experts"},
    {"crossattention", "attends to another sequence"},
    {"ln_cross_attn", "attends to another sequence"},
    {"distance_embedding", "holds relative positions"},
    {"attn_rel_b", "holds relative positions"},
    {"relative_attention_bias", "holds relative positions"},
    {"layer_scale", "scales what a layer gives", Neutral::ones},
    {"_scale", "scales what a layer gives", Neutral::ones, true},
    {".scale", "scales what a layer gives", Neutral::ones, true},
    {".bias", "is added to what the model computes", Neutral::zeros, true},
};

constexpr std::int64_t kMostNeutral = std::int64_t{1} << 20;  // values that are looked at

}  // namespace

OtherTensors other_tensors() { return {std::begin(kOthers), std::end(kOthers)}; }

const OtherTensor* find_other_tensor(const WeightTensor& tensor) {
    for (const OtherTensor& other : kOthers)
        if (std::string_view(tensor.name).find(other.part) != std::string_view::npos &&
            (!other.vector || tensor.shape.rank == 1))
            return &other;
    return nullptr;
}

bool is_neutral(const WeightTensor& tensor, Neutral neutral) {
    const StoredType& type = *tensor.type;
    const std::int64_t values = tensor.shape.elements();
    if (neutral == Neutral::none || type.widen == nullptr || values > kMostNeutral) return false;
    const float wanted = neutral == Neutral::ones ? 1.0f : 0.0f;
    float block[kMostBlockValues];
    for (std::int64_t at = 0; at < values; at += type.block_values) {
        type.widen(tensor.data + at / type.block_values * type.block_bytes, 1, block);
        if (!std::all_of(block, block + type.block_values, [&](float value) { return value == wanted; }))
            return false;
    }
    return true;
}

}  // namespace volta
