#include "engine/base/host_call.h"

#include <cstdio>

namespace volta {

HostException::HostException(const char* what) noexcept : thrown_(true) {
    std::snprintf(text_, sizeof text_, "%s", what != nullptr ? what : "");
}

void fail_thrown(HostFunction function, const HostException& thrown) {
    const HostFunctionRow& row = kHostFunctions[static_cast<int>(function)];
    fail(row.thrown, "the host's %s threw an exception: %s", row.name, thrown.what());
}

}  // namespace volta
