// The models of tests/golden/models, made again: a GPT with tokenizer and training state, and a small
// graph with what the GPT lacks (constants, lists, a scalar, an empty tensor, a parameter used twice).
#pragma once

#include "engine/model/model.h"

namespace volta::test {

HeapPtr<Model> make_golden_gpt(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_graph(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// Since 1.1: a tokenizer of each kind that came with it.
HeapPtr<Model> make_golden_bpe(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_stepped_bpe(std::pmr::memory_resource* structures,
                                       std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_unigram(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_sentencepiece(std::pmr::memory_resource* structures,
                                         std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_spm(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_wordpiece(std::pmr::memory_resource* structures,
                                     std::pmr::memory_resource* tensors);

// Since 1.2: weights of each stored type.
HeapPtr<Model> make_golden_bf16(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_f16(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_int8(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_int4(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_f32_panels(std::pmr::memory_resource* structures,
                                      std::pmr::memory_resource* tensors);

// Since 1.3: parameters of other levels and precisions than strict and fp32.
HeapPtr<Model> make_golden_repeatable_bf16(std::pmr::memory_resource* structures,
                                           std::pmr::memory_resource* tensors);
HeapPtr<Model> make_golden_fast_tf32(std::pmr::memory_resource* structures,
                                     std::pmr::memory_resource* tensors);

}  // namespace volta::test
