// Functions of volta.h end in a status and the calling thread's text.
#pragma once

#include "engine/base/guard.h"

namespace volta::api {

// Stores the calling thread's text and returns `status`.
volta_status set_last_error(volta_status status, const char* text) noexcept;

template <class Body>
volta_status guarded(Body&& body) noexcept {
    return to_status(set_last_error, body);
}

using volta::unfailing;

}  // namespace volta::api
