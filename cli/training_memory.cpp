#include "cli/training_memory.h"

namespace voltac {

void TrainingMemory::declare(Options& options, Machine& machine) {
    options.bytes("--memory", machine.memory,
                  "most of the bill: activations are computed again until it fits; what does not is refused "
                  "(default: what there is)");
    options.bytes(
        "--activation-memory", activations,
        "most of the bill's activations: the backward pass computes again what is not kept; same bits "
        "(default: the fastest)");
    options.choice("--step-order", machine.step_order, {"graph", "memory"},
                   "of a step's operations: as the network has them, or so that they need less memory, where "
                   "another order does; same bits (default: graph)");
    options.text("--state-folder", state_folder,
                 "a folder on a disk for a mapped file of the optimizer's moments (default: in memory)");
    options.flag("--update-in-backward", update_in_backward,
                 "update a parameter as soon as its gradient is there, which then needs no memory; without "
                 "--accumulate; "
                 "with --clip each step computes its gradients twice, first for their norm");
}

void TrainingMemory::fill(volta_trainer_options& options) const {
    options.activation_budget = activations;
    options.state_folder = state_folder.empty() ? nullptr : state_folder.c_str();
    options.update_in_backward = update_in_backward;
}

volta_trainer_options TrainingMemory::of_resumed() const {
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    fill(options);
    return options;
}

std::string memory_text(double bytes) {
    constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
    return formatted(unit == 0 ? "%.0f %s" : "%.4g %s", bytes, kUnits[unit]);
}

}  // namespace voltac
