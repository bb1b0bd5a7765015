// Xbyak's align() names stderr, for a mode that is not used here: compiled for size, the call stays in the
// library, which prints nothing (tests/architecture/check_library.sh).
#pragma once

#include <xbyak/xbyak.h>

#include <cstddef>

namespace volta::jit {

// bytes: a power of two.
inline void align_code(Xbyak::CodeGenerator& code, std::size_t bytes) {
    const std::size_t beyond = reinterpret_cast<std::size_t>(code.getCurr()) & (bytes - 1);
    if (beyond != 0) code.nop(bytes - beyond);
}

}  // namespace volta::jit
