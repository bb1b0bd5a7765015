// The entry points of attention on tensor cores.
#include "jitgen/cuda/tensor_attention_source.h"

#include "engine/base/error.h"
#include "jitgen/cuda/source_text.h"

namespace volta::jit {

bool has_tensor_attention(std::int64_t head_dim, Precision precision) noexcept {
    return precision != Precision::fp32 && head_dim % 16 == 0 && head_dim >= 16 && head_dim <= 128;
}

void append_tensor_attention_kernels(const CudaAttentionForm& form, Precision precision, const char* name,
                                     std::pmr::string& text) {
    if (!has_tensor_attention(form.head_dim, precision))
        fail(VOLTA_INTERNAL, "attention kernel %s: heads of %d elements in %s have none on tensor cores",
             name, form.head_dim, precision_name(precision));
    SourceText lines(text.get_allocator().resource());
    const char *causal = form.causal ? "true" : "false", *dropout = form.dropout ? "true" : "false";
    const char* const words = precision == Precision::bf16 ? "TensorBf16" : "TensorTf32";
    lines.line("%s", "");
    lines.line("// %s: attention with heads of %d in %s.", name, form.head_dim, precision_name(precision));
    const auto kernel = [&](const char* entry, unsigned threads, const SourceTerm& body) {
        lines.line("extern \"C\" __global__ void __launch_bounds__(%u)", threads);
        lines.line("%s_%s(const VoltaAttentionArgs args) {", name, entry);
        lines.line("    %s(args);", body.text);
        lines.line("}");
    };
    const auto tensor = [&](const char* entry) {
        kernel(entry, kTensorAttentionThreads,
               term("tensor_%s<%s, %d, %s, %s>", entry, words, form.head_dim, causal, dropout));
    };
    const auto plain = [&](const char* entry) {
        kernel(entry, kAttentionThreads, term("attention_%s<%d>", entry, form.head_dim));
    };
    tensor("forward");
    plain("terms");
    tensor("queries");
    tensor("keys");
    plain("groups");
    text += lines.take();
}

}  // namespace volta::jit
