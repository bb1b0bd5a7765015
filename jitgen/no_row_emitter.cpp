// Where there is no emitter for the processor, every kernel is interpreted.
#include "jitgen/row_emitter.h"

namespace volta::jit {

RowKernelPtr emit_row_kernel(const Program&, Isa, CodeArena&, std::pmr::memory_resource*) { return nullptr; }

}  // namespace volta::jit
