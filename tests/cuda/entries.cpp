#include "tests/cuda/entries.h"

#include <memory_resource>

#include "jitgen/cuda/cached_attention_source.h"
#include "jitgen/cuda/embedding_source.h"
#include "jitgen/cuda/move_source.h"
#include "jitgen/cuda/product_source.h"
#include "jitgen/cuda/rotary_source.h"
#include "jitgen/cuda/row_source.h"
#include "jitgen/cuda/stored_source.h"

namespace volta::test {
namespace {

EntryFile moves() {
    std::pmr::string text(std::pmr::new_delete_resource());
    jit::append_row_prelude(text);
    jit::append_stored_prelude(text);
    jit::append_move_kernels(text);
    jit::append_embedding_kernels(text);
    jit::append_rotary_kernels(text);
    EntryFile file = {"moves", std::string(text), {}};
    for (const char* name : {"move_copy", "move_tiles"}) file.entries.emplace_back(name, "VoltaCopyArgs");
    file.entries.emplace_back("move_fill", "VoltaFillArgs");
    file.entries.emplace_back("move_positions", "VoltaPositionArgs");
    for (const char* name : {"gather_f32", "gather_bf16", "gather_f16", "gather_int8", "gather_int4"})
        file.entries.emplace_back(name, "VoltaGatherArgs");
    for (const char* name : {"embedding_clear", "embedding_order", "embedding_gradient"})
        file.entries.emplace_back(name, "VoltaEmbeddingArgs");
    file.entries.emplace_back("rotary_rows", "VoltaRotaryArgs");
    return file;
}

EntryFile attention() {
    std::pmr::string text(std::pmr::new_delete_resource());
    jit::append_row_prelude(text);
    jit::append_product_prelude(text);
    jit::append_attention_functions(text);
    jit::append_attention_prelude(text);
    EntryFile file = {"attention", "", {}};
    for (const NamedAttention& named : attentions()) {
        jit::append_attention_kernels(named.form, named.name, text);
        for (const char* entry : {"_forward", "_terms", "_queries", "_keys", "_groups"})
            file.entries.emplace_back(named.name + std::string(entry), "VoltaAttentionArgs");
    }
    jit::append_cached_attention_prelude(text);
    for (const int head_dim : cached_head_dims()) {
        const std::string name = "cached_" + std::to_string(head_dim);
        jit::append_cached_attention_kernels(head_dim, name.c_str(), text);
        for (const char* entry : {"_store", "_scores", "_values"})
            file.entries.emplace_back(name + entry, "VoltaCachedAttentionArgs");
    }
    file.text = text;
    return file;
}

}  // namespace

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

std::vector<EntryFile> entry_files() { return {moves(), attention()}; }

}  // namespace volta::test
