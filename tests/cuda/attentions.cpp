// Which attention kernels are written.
#include "tests/cuda/entries.h"

namespace volta::test {

const std::vector<NamedAttention>& attentions() {
    static const std::vector<NamedAttention> list = {
        {"attention_5", {5, true, false}},          {"attention_40_all_dropout", {40, false, true}},
        {"attention_64_dropout", {64, true, true}}, {"attention_100_all", {100, false, false}},
        {"attention_256", {256, true, false}},
    };
    return list;
}

const std::vector<int>& cached_head_dims() {
    static const std::vector<int> list = {5, 64, 80};
    return list;
}

}  // namespace volta::test
