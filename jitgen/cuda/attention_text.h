// The parts of attention's text; only for this folder.
#pragma once

namespace volta::jit {

const char* attention_forward_text();
const char* attention_backward_text();

}  // namespace volta::jit
