// The parts of the text of attention on tensor cores; only for this folder.
#pragma once

namespace volta::jit {

const char* tensor_attention_forward_text();
const char* tensor_attention_backward_text();

}  // namespace volta::jit
