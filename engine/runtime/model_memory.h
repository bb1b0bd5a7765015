// Where programs find a model's parameters: on the host's memory the model's own bytes, which no step of a
// session writes; on a device a copy, shared by all programs of one owner and written anew when the model
// changes.
#pragma once

#include "engine/model/model.h"
#include "engine/runtime/program_memory.h"

namespace volta {

class ModelMemory final {
  public:
    // Allocates the copies that the context's device needs. Throws OUT_OF_MEMORY; UNSUPPORTED as a device
    // does.
    ModelMemory(Context& context, const Model& model);
    // Points every parameter region of `memory` at the parameters as they are now.
    void lend_to(ProgramMemory& memory, const Model& model);
    void add_to(volta_bill& bill) const;

  private:
    Memory& memory_;
    std::pmr::vector<Block> copies_;         // one per parameter of the model; none on the host's memory
    std::pmr::vector<std::size_t> by_name_;  // the model's parameters, ascending
    std::uint64_t version_ = 0;              // of the model, in the copies
    bool is_filled_ = false;
};

}  // namespace volta
