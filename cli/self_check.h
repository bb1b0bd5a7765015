// Small computations whose bits are known: what `voltac doctor` tries on every instruction set and device.
#pragma once

#include <string>

#include "cli/support.h"

namespace voltac {

// What is tried: "logits, training, text with weights in f32, bf16, ...".
std::string self_checks();

// Those whose bits are not those of the numeric contract, in the same words and each with its digest; "" when
// none.
std::string other_bits(const Context& context);

}  // namespace voltac
