// Calls of the functions that the host gave. A C++ host may throw from any of them, and no frame of the
// library, nor of C between them, is made for that: each call goes through call_host(), in the host's own
// floating-point environment, and what it throws ends there. What it means then is a row of the table below.
#pragma once

#include <exception>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"

namespace volta {

enum class HostFunction {
    allocate,
    release,
    log,
    on_text,
    progress,
    parallel_for,
    should_stop,
    function,
    exchange,
    visit,
    count
};

struct HostFunctionRow {
    const char* name;  // as in volta.h
    volta_status
        thrown;  // what the library's call reports; VOLTA_OK: it goes on as if the function had returned
};
inline constexpr HostFunctionRow kHostFunctions[] = {
    {"allocator's allocate", VOLTA_OUT_OF_MEMORY},  // a refusal, as NULL is
    {"allocator's release", VOLTA_OK},              // runs where objects end, which cannot fail
    {"log", VOLTA_OK},                              // the line is lost; nothing depends on it
    {"on_text", VOLTA_CANCELLED},                   // it did not say that it wants more
    {"progress", VOLTA_CANCELLED},
    {"parallel_for", VOLTA_CANCELLED},  // the caller computes what it left out
    {"should_stop", VOLTA_CANCELLED},
    {"function", VOLTA_CANCELLED},  // of volta_compile
    {"exchange", VOLTA_IO_ERROR},   // of a group: what it had to bring is not there
    {"visit", VOLTA_CANCELLED},     // of volta_trainer_estimate_steps
};
static_assert(sizeof kHostFunctions / sizeof kHostFunctions[0] == static_cast<int>(HostFunction::count),
              "a row for each function");

inline volta_status thrown_status(HostFunction function) {
    return kHostFunctions[static_cast<int>(function)].thrown;
}

// What a function of the host threw.
class HostException final {
  public:
    HostException() noexcept {}
    explicit HostException(const char* what) noexcept;
    explicit operator bool() const noexcept { return thrown_; }
    const char* what() const noexcept { return text_; }

  private:
    bool thrown_ = false;
    char text_[160];  // only where thrown_: calls of the allocator do not pay for it
};

template <class Call>
HostException call_host(Call&& call) noexcept {
    const HostCallback host_environment;
    try {
        call();
        return HostException();
    } catch (const std::exception& thrown) {
        return HostException(thrown.what());
    } catch (...) {
        return HostException("an object that is no std::exception");
    }
}

// Throws what the row says of a function that threw.
[[noreturn]] void fail_thrown(HostFunction function, const HostException& thrown);

}  // namespace volta
