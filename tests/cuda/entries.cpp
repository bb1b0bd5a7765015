#include "tests/cuda/entries.h"

#include <memory_resource>

#include "jitgen/cuda/embedding_source.h"
#include "jitgen/cuda/move_source.h"
#include "jitgen/cuda/peak_source.h"
#include "jitgen/cuda/product_source.h"
#include "jitgen/cuda/rotary_source.h"
#include "jitgen/cuda/rounding_source.h"
#include "jitgen/cuda/row_source.h"
#include "jitgen/cuda/stored_source.h"
#include "jitgen/cuda/tensor_attention_source.h"
#include "tests/cuda/programs.h"

namespace volta::test {
namespace {

EntryFile moves() {
    std::pmr::string text(std::pmr::new_delete_resource());
    jit::append_row_prelude(text);
    jit::append_stored_prelude(text);
    jit::append_move_kernels(text);
    jit::append_embedding_kernels(text);
    jit::append_rotary_kernels(text);
    jit::append_rounding_kernel("rounding", text);
    jit::append_peak_kernel(text);
    EntryFile file = {"moves", std::string(text), {}};
    for (const char* name : {"move_copy", "move_tiles"}) file.entries.emplace_back(name, "VoltaCopyArgs");
    file.entries.emplace_back("move_fill", "VoltaFillArgs");
    file.entries.emplace_back("move_positions", "VoltaPositionArgs");
    for (const char* name :
         {"gather_f32", "gather_bf16", "gather_f16", "gather_int8", "gather_int4", "gather_f32_panels"})
        file.entries.emplace_back(name, "VoltaGatherArgs");
    for (const char* name : {"embedding_clear", "embedding_order", "embedding_gradient"})
        file.entries.emplace_back(name, "VoltaEmbeddingArgs");
    file.entries.emplace_back("rotary_rows", "VoltaRotaryArgs");
    file.entries.emplace_back("rounding_bf16", "rounding_args");
    file.entries.emplace_back("peak_multiply_adds", "VoltaPeakArgs");
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
    for (const NamedCachedAttention& named : cached_attentions()) {
        jit::append_cached_attention_kernels(named.form, named.name, text);
        for (const char* entry : {"_store", "_scores", "_values", "_decode"})
            file.entries.emplace_back(named.name + std::string(entry), "VoltaCachedAttentionArgs");
    }
    file.text = text;
    return file;
}

EntryFile tensor_attention() {
    std::pmr::string text(std::pmr::new_delete_resource());
    jit::append_row_prelude(text);
    jit::append_product_prelude(text);
    jit::append_attention_functions(text);
    jit::append_attention_prelude(text);
    jit::append_tensor_attention_prelude(text);
    EntryFile file = {"tensor_attention", "", {}};
    for (const NamedTensorAttention& named : tensor_attentions()) {
        jit::append_tensor_attention_kernels(named.form, named.precision, named.name, text);
        for (const char* entry : {"_forward", "_terms", "_queries", "_keys", "_groups"})
            file.entries.emplace_back(named.name + std::string(entry), "VoltaAttentionArgs");
    }
    file.text = text;
    return file;
}

EntryFile rows() {
    std::pmr::string text(std::pmr::new_delete_resource());
    jit::append_row_prelude(text);
    jit::append_product_prelude(text);
    jit::append_stored_prelude(text);
    jit::append_rows_product_prelude(text);
    EntryFile file = {"rows_products", "", {}};
    for (const NamedRowsProduct& named : rows_products()) {
        const jit::RowPlan plan = jit::cuda_plan(named.epilogue, std::pmr::new_delete_resource());
        jit::append_rows_product_kernel(named.form, named.has_epilogue ? &plan : nullptr, named.name.c_str(),
                                        text);
        file.entries.emplace_back(named.name + "_rows", "VoltaProductArgs");
    }
    file.text = text;
    return file;
}

}  // namespace

std::vector<EntryFile> entry_files() { return {moves(), attention(), tensor_attention(), rows()}; }

}  // namespace volta::test
