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
    const std::pmr::string scores =
        attention_scores_type(form.window, form.cap, text.get_allocator().resource());
    lines.line("%s", "");
    lines.line("// %s: attention with heads of %d in %s.", name, form.head_dim, precision_name(precision));
    const auto kernel = [&](const char* entry, const SourceTerm& bounds, const SourceTerm& body) {
        lines.line("extern \"C\" __global__ void __launch_bounds__(%s)", bounds.text);
        lines.line("%s_%s(const VoltaAttentionArgs args) {", name, entry);
        lines.line("    %s(args);", body.text);
        lines.line("}");
    };
    // Blocks on a multiprocessor: three where operands and sums (words of a row and its elements, which are
    // twice the registers that one operand and one sum take) leave the registers for that, else two.
    const int registers = form.head_dim / (precision == Precision::bf16 ? 2 : 1) + form.head_dim;
    const auto tensor = [&](const char* entry, int most) {
        kernel(entry, term("%u, %d", kTensorAttentionThreads, registers <= most ? 3 : 2),
               term("tensor_%s<%s, %d, %s, %s, %s>", entry, words, form.head_dim, causal, dropout,
                    scores.c_str()));
    };
    const auto plain = [&](const char* entry) {
        kernel(entry, term("%u", kAttentionThreads), term("attention_%s<%d>", entry, form.head_dim));
    };
    tensor("forward", 96);
    plain("terms");
    tensor("queries", 96);
    tensor("keys", 64);
    plain("groups");
    text += lines.take();
}

}  // namespace volta::jit
