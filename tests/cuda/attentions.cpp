// Which attention kernels are written.
#include "tests/cuda/entries.h"

namespace volta::test {

const std::vector<NamedAttention>& attentions() {
    static const std::vector<NamedAttention> list = {
        {"attention_5", {5, true, false}},
        {"attention_40_all_dropout", {40, false, true}},
        {"attention_64_dropout", {64, true, true}},
        {"attention_100_all", {100, false, false}},
        {"attention_256", {256, true, false}},
        {"attention_5_window", {5, true, false, true, false}},
        {"attention_40_all_cap", {40, false, false, false, true}},
        {"attention_64_window_cap_dropout", {64, true, true, true, true}},
    };
    return list;
}

const std::vector<NamedTensorAttention>& tensor_attentions() {
    static const std::vector<NamedTensorAttention> list = {
        {"tensor_bf16_16_all", {16, false, false}, Precision::bf16},
        {"tensor_bf16_32_dropout", {32, true, true}, Precision::bf16},
        {"tensor_bf16_64", {64, true, false}, Precision::bf16},
        {"tensor_bf16_64_all_dropout", {64, false, true}, Precision::bf16},
        {"tensor_bf16_80", {80, true, false}, Precision::bf16},
        {"tensor_bf16_96_all", {96, false, false}, Precision::bf16},
        {"tensor_bf16_128", {128, true, false}, Precision::bf16},
        {"tensor_tf32_16_dropout", {16, true, true}, Precision::tf32},
        {"tensor_tf32_32_all", {32, false, false}, Precision::tf32},
        {"tensor_tf32_64", {64, true, false}, Precision::tf32},
        {"tensor_tf32_80_all", {80, false, false}, Precision::tf32},
        {"tensor_tf32_96", {96, true, false}, Precision::tf32},
        {"tensor_tf32_128_all_dropout", {128, false, true}, Precision::tf32},
        {"tensor_bf16_64_window_cap", {64, true, false, true, true}, Precision::bf16},
        {"tensor_bf16_80_window", {80, true, false, true, false}, Precision::bf16},
        {"tensor_tf32_32_window_cap_dropout", {32, true, true, true, true}, Precision::tf32},
        {"tensor_tf32_16_all_cap", {16, false, false, false, true}, Precision::tf32},
    };
    return list;
}

const std::vector<NamedCachedAttention>& cached_attentions() {
    static const std::vector<NamedCachedAttention> list = {
        {"cached_5", {5, false, false}},
        {"cached_64", {64, false, false}},
        {"cached_80", {80, false, false}},
        {"cached_5_window", {5, true, false}},
        {"cached_64_window_cap", {64, true, true}},
        {"cached_80_cap", {80, false, true}},
    };
    return list;
}

}  // namespace volta::test
