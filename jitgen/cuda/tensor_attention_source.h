// Attention and its gradient on tensor cores, in CUDA C, for levels that allow other bits than strict
// (docs/determinism.md): operands of products are rounded to bf16 or tf32, everything else is fp32. Blocks of
// keys have a fixed size, softmax is rescaled as they come, and every sum has one order: equal bits run by
// run.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/base/arithmetic.h"
#include "jitgen/cuda/attention_source.h"

namespace volta::jit {

inline constexpr unsigned kTensorAttentionThreads = 128;  // of NAME_forward, NAME_queries and NAME_keys

// Heads of 16, 32, .. 128 elements, with tf32 or bf16; all others have the kernels of attention_source.h.
bool has_tensor_attention(std::int64_t head_dim, Precision precision) noexcept;

// What follows the prelude of attention (attention_source.h) once per translation unit.
void append_tensor_attention_prelude(std::pmr::string& text);

// The entry points of append_attention_kernels, which take the same arguments and leave the same things:
// row_max and row_sum too are what they are there. They are launched as attention_launch() says, three of
// them with kTensorAttentionThreads. Throws Error{INTERNAL} for what has_tensor_attention() denies.
void append_tensor_attention_kernels(const CudaAttentionForm& form, Precision precision, const char* name,
                                     std::pmr::string& text);

}  // namespace volta::jit
