// A plan on a GPU: its actions in order, recorded as one graph per run once the same addresses come back. A
// training step is one run: the device looks whether the update may change anything, and the host reads the
// loss while the update goes on.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cuda/step.h"

namespace volta::cuda {

// Throws as Device::compile.
ExecutablePtr compile_plan(const Plan& plan, const CompileTools& tools);

// The products of an executable of this backend that are not cuBLASLt's.
void visit_products(const Executable& executable, void (*visitor)(void* user, const Product& product),
                    void* user);

}  // namespace volta::cuda
