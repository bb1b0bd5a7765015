// Values that a host tensor starts with. Numbers are doubles and are rounded to f32 once.
#pragma once

#include "engine/runtime/session.h"

namespace volta {

// Throw INVALID_ARGUMENT, before anything is set, naming what an i32 tensor cannot hold.
void fill_tensor(const TensorView& tensor, double value);
void fill_arange(const TensorView& tensor, double start, double step);

}  // namespace volta
