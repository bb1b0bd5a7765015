// Of a step that clips its gradients and yet keeps none (update_in_backward): the pass before, which computes
// the same gradients one after the other for the norm of all. The pass that updates is then told what to clip
// by. They run one after the other in one arena.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/runtime/program_memory.h"

namespace volta {

class NormPass final {
  public:
    // Lends `update`, the memory of the other pass, arena and workspace, and is lent its inputs and
    // parameters. Allocates no tensor.
    NormPass(const Program& program, ProgramMemory& update, std::pmr::memory_resource* structures);

    // What it adds to the other's: among it arena and workspace of both.
    void add_to(volta_bill& bill) const;
    std::uint64_t needed_bytes() const;
    std::uint64_t arena_bytes() const;
    void allocate();  // behind the other

    // From the inputs to loss, gradient_norm and square_sums, which are in results(). Nothing else has
    // changed.
    void run() const;
    const ProgramMemory& results() const { return memory_; }
    void tell_clip_factor() const;  // to the other pass
    const Program& program() const { return memory_.program(); }

  private:
    std::uint64_t workspace_bytes() const;
    void borrow();

    ProgramMemory memory_;
    ProgramMemory& update_;
    Block arena_, workspace_;
};

}  // namespace volta
