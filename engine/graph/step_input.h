// Inputs whose names begin with "step/" are the engine's own: one value for a whole step, filled in by
// whoever runs it, never by the host.
#pragma once

#include <cstdint>

namespace volta {

enum class StepInput : std::uint8_t {
    random,          // i32 [3]: seed low, seed high, step
    gradient_scale,  // f32 []: what a loss's gradient is multiplied with
    count,           // f32 []: the targets that the mean loss is taken over
    factors,         // f32 [n]: the optimizer's
    factors_plain,   // the same without weight decay
    clip_factor,     // f32 []: what gradients are multiplied with, where their norm is known before
    position,        // i32 [tokens, 1]: of each row's token in its sequence
    slot,            // i32 [tokens, 1]: which sequence; -1: no token
    logit_row,       // i32 [rows]: which rows' logits are wanted
    count_
};
const char* name_of(StepInput input);  // "step/random"

bool is_step_input(const char* name);

}  // namespace volta
