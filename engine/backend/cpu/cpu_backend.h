// The CPU backend: plan steps on a context's thread pool.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

// The products of a program that compile_plan() made.
void visit_products(const Executable& executable, void (*visitor)(void* user, const Product& product),
                    void* user);

// This processor, with the instruction set and the threads of a context.
Machine machine_of(const BackendContext& context) noexcept;

ExecutablePtr compile_plan(const Plan& plan, const BackendContext& context);

}  // namespace volta::cpu
