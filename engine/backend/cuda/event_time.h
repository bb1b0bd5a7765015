// Time by the device's own clock.
#pragma once

#include <algorithm>

#include "engine/backend/cuda/device.h"

namespace volta::cuda {

// Milliseconds of the device between two events around what `body`, a function returning volta_status, puts
// into the stream; never 0. Throws the Gpu's failure.
template <class Body>
float milliseconds_of(Gpu& gpu, Event& begin, Event& end, Body&& body) {
    gpu.require(begin.record());
    gpu.require(body());
    gpu.require(end.record());
    gpu.require(end.wait());
    float milliseconds = 0;
    gpu.require(end.milliseconds_since(begin, &milliseconds));
    return std::max(milliseconds, 1e-4f);
}

}  // namespace volta::cuda
