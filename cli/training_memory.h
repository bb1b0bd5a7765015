// What memory a training run may take, and what it does to take less (docs/memory.md). Results keep every
// bit.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options.h"
#include "cli/support.h"

namespace voltac {

struct TrainingMemory {
    std::uint64_t activations = 0;
    std::string state_folder;
    bool update_in_backward = false;

    // --memory, --activation-memory, --state-folder, --update-in-backward
    void declare(Options& options, Machine& machine);
    void fill(volta_trainer_options& options) const;
    // What volta_trainer_resume reads beside the checkpoint.
    volta_trainer_options of_resumed() const;
};

// "1.5 GiB", "12 bytes"
std::string memory_text(double bytes);

}  // namespace voltac
