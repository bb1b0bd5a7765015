// Failure inside the engine: one exception type with fixed-size text, so that reporting a failure
// allocates nothing of our own. engine/base/guard.h is the only place that turns it into a status.
#pragma once

#include <exception>

#include "include/volta.h"

namespace volta {

class Error final : public std::exception {
  public:
    Error(volta_status status, const char* text) noexcept;
    volta_status status() const noexcept { return status_; }
    const char* what() const noexcept override { return text_; }

  private:
    volta_status status_;
    char text_[512];  // one line, cut with "..." when longer
};

// Throws Error{status, printf-formatted text}: one clear sentence, no trailing period.
[[noreturn]] void fail(volta_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Throws INVALID_ARGUMENT with the formatted text unless `condition` holds.
void require(bool condition, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace volta
